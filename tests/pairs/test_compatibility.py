"""Which drafts fit which targets: llama.cpp's own rule, told with its exact reason, and few bytes read to know it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from localspec.errors import PairMismatchError
from localspec.llama import library
from localspec.llama import vocabulary as llama_vocabulary
from localspec.pairs import compatibility, vocabulary
from localspec.pairs.compatibility import Reason, mismatch, read_pair, too_large
from localspec.pairs.gguf_reading import read_header
from tests.pairs.gguf_files import STRING, U32, TinyModel, tokens
from tests.pairs.test_gguf_reading import Bytes


def header(model):
    return read_header(Bytes(model.bytes()))


def reason(target, draft):
    """Why they do not fit, after a check that reading them side by side comes to the same."""
    found = mismatch(header(target), header(draft))
    with pytest.raises(PairMismatchError) as caught:
        read_pair(Bytes(target.bytes()), Bytes(draft.bytes()))
    assert found.words[1:] in caught.value.message
    return found.reason, found.words


def renamed(number, text, count=300):
    names = tokens(count)
    names[number] = text
    return names


def test_models_with_the_same_tokenizer_fit():
    pair = read_pair(Bytes(TinyModel(layers=2).bytes()), Bytes(TinyModel().bytes()))
    assert mismatch(pair.target, pair.draft) is None
    assert pair.target.number("block_count") == 2


@pytest.mark.parametrize(("target", "draft"), [(300, 428), (428, 300), (300, 300)])
def test_up_to_128_tokens_of_padding_are_allowed(target, draft):
    assert mismatch(header(TinyModel(tokens=tokens(target))), header(TinyModel(tokens=tokens(draft)))) is None


def test_more_than_128_tokens_of_difference_are_refused():
    found, words = reason(TinyModel(tokens=tokens(429)), TinyModel(tokens=tokens(300)))
    assert found is Reason.SIZE
    assert words == "the target has 429 tokens, the draft 300; they may differ by 128 at most"


def test_the_first_differing_token_is_named():
    found, words = reason(TinyModel(tokens=renamed(280, "<|im_end|>")), TinyModel(tokens=renamed(290, "x")))
    assert found is Reason.TOKEN
    assert words == "token 280 is '<|im_end|>' in the target and '<|special_24|>' in the draft"


@pytest.mark.parametrize(("number", "fits"), [(4, True), (5, False)])
def test_tokens_are_compared_from_the_sixth_on(number, fits):
    assert (mismatch(header(TinyModel(tokens=renamed(number, "other"))), header(TinyModel())) is None) is fits


def test_a_token_that_would_move_the_cursor_is_shown_harmless():
    _, words = reason(TinyModel(tokens=renamed(280, "\x1b[2J\n")), TinyModel(tokens=tokens(300)))
    assert words.isprintable()


def test_another_tokenizer_type_is_refused():
    found, words = reason(TinyModel(), TinyModel(tokenizer="llama"))
    assert found is Reason.TOKENIZER_TYPE
    assert words == "the target's tokenizer is byte-pair encoding (BPE), the draft's is SentencePiece (SPM)"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"bos": 258}, Reason.BEGINNING),
        ({"add_bos": False}, Reason.BEGINNING),
        ({"eos": 258}, Reason.END),
        ({"add_eos": False}, Reason.END),
    ],
)
def test_other_ends_of_the_text_are_refused_where_they_are_added(change, expected):
    target = TinyModel(add_bos=True, add_eos=True)
    assert reason(target, replace(target, **change))[0] is expected


def test_other_ends_of_the_text_do_not_matter_where_they_are_not_added():
    assert mismatch(header(TinyModel(bos=256, eos=257)), header(TinyModel(bos=258, eos=259))) is None


@pytest.mark.parametrize(
    ("draft", "expected", "word"),
    [
        (TinyModel(architecture="mamba"), Reason.HYBRID, "taken back"),
        (TinyModel(architecture="jamba"), Reason.HYBRID, "taken back"),
        (TinyModel(architecture="bert"), Reason.NOT_ALONE, "embedding model"),
        (TinyModel(architecture="eagle3"), Reason.NOT_ALONE, "draft head"),
        (TinyModel(extra=[("general.type", STRING, "adapter")]), Reason.NOT_ALONE, "'adapter'"),
        (TinyModel(extra=[("split.count", U32, 3)]), Reason.SPLIT, "one of 3 parts"),
    ],
)
def test_models_that_cannot_take_part_are_refused(draft, expected, word):
    found, words = reason(TinyModel(), draft)
    assert found is expected
    assert word in words


def test_hybrid_models_whose_states_llama_cpp_keeps_are_allowed():
    assert mismatch(header(TinyModel(architecture="qwen35")), header(TinyModel(architecture="lfm2"))) is None


def test_a_file_without_a_vocabulary_is_refused():
    empty = TinyModel()
    empty.tokens = []
    assert reason(TinyModel(), empty)[0] is Reason.SIZE


def test_a_draft_as_large_as_its_target_is_told():
    assert too_large(header(TinyModel(layers=1)), header(TinyModel(layers=1))).reason is Reason.TOO_LARGE
    assert too_large(header(TinyModel(layers=12)), header(TinyModel(layers=1))) is None


def qwen_like(**changes):
    """A header as long as Qwen2.5's: 151,936 tokens of 6 letters, 151,387 merges of 10."""
    names = tokens() + [f"t{number:05}" for number in range(260, 151_936)]
    return TinyModel(tokens=names, merges=["abcd efghi"] * 151_387, width=2, heads=1, **changes)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"add_bos": True}, "beginning of text"), ({"eos": 9, "add_eos": True}, "end of text")],
)
def test_a_mismatch_at_the_very_end_of_two_large_headers_costs_less_than_ten_megabytes(change, words):
    target, draft = Bytes(qwen_like(**change).bytes()), Bytes(qwen_like().bytes())
    assert len(target.content) > 5_500_000
    with pytest.raises(PairMismatchError, match=words):
        read_pair(target, draft)
    assert target.fetched + draft.fetched < 9_500_000


def test_other_vocabularies_are_told_apart_by_their_first_bytes():
    target, draft = Bytes(qwen_like().bytes()), Bytes(TinyModel(tokens=tokens(50_000)).bytes())
    with pytest.raises(PairMismatchError, match="151,936 tokens"):
        read_pair(target, draft)
    assert target.fetched + draft.fetched < 200_000


@pytest.mark.parametrize(
    "model",
    [
        TinyModel(),
        TinyModel(bos=None, eos=None, add_bos=None),
        TinyModel(bos=None, pre="llama-bpe", add_bos=None),
        TinyModel(bos=None, pre="tekken", add_bos=None),
        TinyModel(bos=None, pre="glm4", add_bos=None),
        TinyModel(bos=99_999, eos=3, add_eos=True),
        TinyModel(tokenizer="gemma4", add_bos=False),
        TinyModel(tokens=renamed(270, "", 280)),
    ],
)
def test_what_a_header_leaves_out_is_what_llama_cpp_takes_for_granted(model, tmp_path):
    llama_cpp = pytest.importorskip("llama_cpp")
    path = tmp_path / "tiny.gguf"
    path.write_bytes(model.bytes())
    # Its log is ours in the whole process: a test that set another one would leave those after it without.
    library.initialise()
    parameters = llama_cpp.llama_model_default_params()
    parameters.vocab_only = True
    loaded = llama_cpp.llama_model_load_from_file(str(path).encode(), parameters)
    vocab = llama_cpp.llama_model_get_vocab(loaded)
    ours = header(model)
    size = len(ours.tokens)
    begin, end = vocabulary.beginning(ours.metadata, size), vocabulary.end(ours.metadata, size)
    theirs = (
        llama_cpp.llama_vocab_bos(vocab),
        llama_cpp.llama_vocab_get_add_bos(vocab),
        llama_cpp.llama_vocab_eos(vocab),
        llama_cpp.llama_vocab_get_add_eos(vocab),
        llama_cpp.llama_vocab_get_text(vocab, size - 10),
    )
    llama_cpp.llama_model_free(loaded)
    none = -1
    assert theirs == (
        none if begin.id is None else begin.id,
        begin.added,
        none if end.id is None else end.id,
        end.added,
        vocabulary.token_text(ours.tokens, size - 10),
    )


def test_the_check_before_the_download_and_the_one_before_loading_allow_the_same() -> None:
    from_headers = (compatibility.MOST_SIZE_DIFFERENCE, compatibility.FIRST_COMPARED)

    assert from_headers == (llama_vocabulary._MOST_SIZE_DIFFERENCE, llama_vocabulary._FIRST_COMPARED)
