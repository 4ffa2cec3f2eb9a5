from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec.chat.tokenizer import Tokenizer as ChatTokenizer
from localspec.llama.model import Model, ModelOptions
from localspec.llama.tokenizer import Tokenizer

TEXTS = [
    "",
    " ",
    "Hello, world!\n",
    "  leading and trailing  ",
    "漢字とかな交じり文。한국어. العربية",
    "👩‍👩‍👧‍👦 and 🏳️‍🌈, e\u0301 and \u200b",
    "nul \0 in between",
    "\ufeffbyte order mark, \x1b[31m escape \x7f",
    "tab\tand\r\nWindows lines",
    "𐍈 𓀀 astral text 🜁",
]


@pytest.fixture(scope="module")
def gemma(gemma_path: Path) -> Iterator[Tokenizer]:
    """A tokenizer of the other great kind (SPM), which marks a word's beginning instead of bytes."""
    with Model(gemma_path, ModelOptions(vocabulary_only=True)) as model:
        yield Tokenizer(model)


def plain(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, parse_special=False, add_special=False)


def test_it_is_what_a_conversation_needs(smollm2_tokenizer: Tokenizer) -> None:
    tokenizer: ChatTokenizer = smollm2_tokenizer

    assert (tokenizer.bos_text, tokenizer.eos_text, tokenizer.add_bos) == ("<|im_start|>", "<|im_end|>", False)
    assert tokenizer.end_tokens == {0, 2, 4}
    assert {"<|im_start|>", "<|im_end|>", "<|endoftext|>"} <= set(tokenizer.special_texts)
    assert len(tokenizer.special_texts) == 17


@pytest.mark.parametrize("text", TEXTS)
def test_text_comes_back_as_it_went(smollm2_tokenizer: Tokenizer, text: str) -> None:
    assert smollm2_tokenizer.decode(plain(smollm2_tokenizer, text)) == text


@pytest.mark.parametrize("text", TEXTS)
def test_text_comes_back_from_a_tokenizer_of_the_other_kind(gemma: Tokenizer, text: str) -> None:
    assert gemma.decode(plain(gemma, text)) == text


def test_what_a_person_typed_is_never_a_control_token(smollm2_tokenizer: Tokenizer) -> None:
    for text in smollm2_tokenizer.special_texts:
        typed = plain(smollm2_tokenizer, text)
        parsed = smollm2_tokenizer.encode(text, parse_special=True, add_special=False)

        assert len(parsed) == 1
        assert smollm2_tokenizer.text_of(parsed[0]) == text
        assert parsed[0] not in typed
        assert smollm2_tokenizer.decode(typed) == text


def test_a_control_token_shows_only_when_asked(smollm2_tokenizer: Tokenizer) -> None:
    assert smollm2_tokenizer.piece_bytes(2) == b""
    assert smollm2_tokenizer.piece_bytes(2, special=True) == b"<|im_end|>"
    assert smollm2_tokenizer.decode([2, *plain(smollm2_tokenizer, "hi"), 2]) == "hi"


def test_the_beginning_is_added_where_the_model_wants_it(gemma: Tokenizer) -> None:
    assert gemma.add_bos
    assert gemma.encode("hi", parse_special=False, add_special=True) == [gemma.bos, *plain(gemma, "hi")]
    assert gemma.text_of(gemma.bos) == gemma.bos_text == "<bos>"
    assert gemma.encode("", parse_special=True, add_special=True) == [gemma.bos]


def test_lone_surrogates_become_the_replacement_character(smollm2_tokenizer: Tokenizer) -> None:
    for text, shown in (("\ud800", "\ufffd"), ("a\udc80b", "a\ufffdb"), ("\ud83d\ude00", "😀")):
        assert smollm2_tokenizer.decode(plain(smollm2_tokenizer, text)) == shown


def test_a_huge_paste_is_only_long(smollm2_tokenizer: Tokenizer) -> None:
    for paste in ("the quick brown fox " * 50_000, "漢" * 300_000, "7" * 300_000, "x" * 200_000):
        assert smollm2_tokenizer.decode(plain(smollm2_tokenizer, paste)) == paste


def test_an_id_beyond_the_vocabulary_is_an_error(smollm2_tokenizer: Tokenizer) -> None:
    for token in (-1, 49_152):
        with pytest.raises(ValueError, match="not in the vocabulary"):
            smollm2_tokenizer.piece_bytes(token)
    assert smollm2_tokenizer.text_of(-1) == ""


def test_a_closed_model_has_no_tokenizer(smollm2_path: Path) -> None:
    with Model(smollm2_path, ModelOptions(vocabulary_only=True)) as model:
        tokenizer = Tokenizer(model)

    for use in (lambda: plain(tokenizer, "x"), lambda: tokenizer.piece_bytes(5), lambda: tokenizer.end_tokens):
        with pytest.raises(RuntimeError, match="closed"):
            use()
