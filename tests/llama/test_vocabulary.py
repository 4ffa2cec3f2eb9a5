from __future__ import annotations

from pathlib import Path

import pytest

from localspec.llama.model import Model, ModelOptions
from localspec.llama.vocabulary import first_vocabulary_difference
from tests.pairs.gguf_files import TinyModel, tokens


def difference(folder: Path, target: TinyModel, draft: TinyModel) -> str | None:
    """What llama.cpp's own vocabularies of two files differ in."""
    opened = []
    for name, tiny in (("target", target), ("draft", draft)):
        path = folder / f"{name}.gguf"
        path.write_bytes(tiny.bytes())
        opened.append(Model(path, ModelOptions(vocabulary_only=True)))
    try:
        return first_vocabulary_difference(*opened)
    finally:
        for model in opened:
            model.close()


def changed(number: int, text: str) -> list[str]:
    words = tokens()
    words[number] = text
    return words


def test_a_requantized_copy_fits(smollm2_model: Model, smollm2_draft_model: Model) -> None:
    assert first_vocabulary_difference(smollm2_model, smollm2_draft_model) is None


def test_the_bench_pair_fits_and_a_stranger_does_not(
    bench_target_path: Path, bench_draft_path: Path, smollm2_model: Model
) -> None:
    only = ModelOptions(vocabulary_only=True)
    with Model(bench_target_path, only) as target, Model(bench_draft_path, only) as draft:
        assert first_vocabulary_difference(target, draft) is None
        assert first_vocabulary_difference(target, smollm2_model) == (
            "the target's vocabulary has 151936 tokens, the draft's 49152; at most 128 apart would do"
        )


def test_the_first_differing_token_is_named_with_both_texts(tmp_path: Path) -> None:
    words = changed(90, "other")
    words[200] = "later"

    assert difference(tmp_path, TinyModel(), TinyModel(tokens=words)) == (
        f"token 90 is {tokens()[90]!r} for the target and 'other' for the draft"
    )


def test_texts_are_written_so_that_they_can_be_seen(tmp_path: Path) -> None:
    told = difference(tmp_path, TinyModel(tokens=changed(90, "a\nb\x1b")), TinyModel(tokens=changed(90, "\u200b")))

    assert told == "token 90 is 'a\\nb\\x1b' for the target and '\\u200b' for the draft"


def test_the_first_five_tokens_may_differ(tmp_path: Path) -> None:
    assert difference(tmp_path, TinyModel(), TinyModel(tokens=changed(4, "other"))) is None
    assert difference(tmp_path, TinyModel(), TinyModel(tokens=changed(5, "other"))) is not None


@pytest.mark.parametrize(("more", "fits"), [(128, True), (129, False)])
def test_sizes_may_differ_by_padding_only(tmp_path: Path, more: int, fits: bool) -> None:
    told = difference(tmp_path, TinyModel(), TinyModel(tokens=tokens(260 + more)))

    assert (told is None) == fits
    assert (
        fits or told == f"the target's vocabulary has 260 tokens, the draft's {260 + more}; at most 128 apart would do"
    )


def test_the_tokens_put_around_a_text_must_agree(tmp_path: Path) -> None:
    adding = TinyModel(add_bos=True)

    assert difference(tmp_path, adding, TinyModel(add_bos=False)) == (
        "the target adds a beginning-of-text token to a text, the draft does not"
    )
    assert difference(tmp_path, TinyModel(add_eos=False), TinyModel(add_eos=True)) == (
        "the draft adds a end-of-text token to a text, the target does not"
    )
    assert difference(tmp_path, adding, TinyModel(add_bos=True, bos=258)) == (
        "the beginning-of-text token is 256 for the target and 258 for the draft"
    )
    assert difference(tmp_path, TinyModel(bos=256), TinyModel(bos=258)) is None


def test_the_kind_of_tokenizer_must_agree(gemma_path: Path, smollm2_model: Model) -> None:
    with Model(gemma_path, ModelOptions(vocabulary_only=True)) as gemma:
        assert first_vocabulary_difference(smollm2_model, gemma) == (
            "the target's tokenizer is of type BPE, the draft's of type SPM"
        )
