from __future__ import annotations

import os
from pathlib import Path

import pytest

from localspec.errors import LocalspecError, ModelFileError, UsageError
from localspec.llama.bindings import low
from localspec.llama.context import Context
from localspec.llama.context_options import ContextOptions
from localspec.llama.gguf_start import PRUNED_KEY
from localspec.llama.model import Model
from localspec.llama.quantize import FILE_TYPES, TENSOR_TYPES, prune, quantize
from localspec.llama.vocabulary import first_vocabulary_difference


def test_a_copy_is_another_model_with_the_same_tokenizer(
    smollm2_path: Path, smollm2_draft_path: Path, smollm2_target: Context, smollm2_draft: Context
) -> None:
    assert smollm2_draft_path.stat().st_size < smollm2_path.stat().st_size
    rows = [context.evaluate([1, 4093, 198], 1)[0] for context in (smollm2_target, smollm2_draft)]
    assert rows[0].shape == rows[1].shape
    assert abs(rows[0] - rows[1]).max() > 0.01


def test_progress_rises_to_the_end_and_nothing_else_is_left(smollm2_path: Path, tmp_path: Path) -> None:
    parts: list[float] = []
    copy = tmp_path / "new folder" / "copy.gguf"
    quantize(smollm2_path, copy, "q4_0", progress=parts.append)

    assert parts == sorted(parts)
    assert parts[-1] == 1.0
    assert list(copy.parent.iterdir()) == [copy]


def test_the_embeddings_can_be_of_a_type_of_their_own(smollm2_path: Path, tmp_path: Path) -> None:
    small, large = tmp_path / "small.gguf", tmp_path / "large.gguf"
    quantize(smollm2_path, small, "Q4_0", output_type="Q4_0", embedding_type="q4_0")
    quantize(smollm2_path, large, "Q4_0", output_type="F16", embedding_type="F16")

    # SmolLM2 uses its embeddings (49152 x 576) for the output too: 4.5 bits a weight against 16.
    assert large.stat().st_size - small.stat().st_size == pytest.approx(49_152 * 576 * 11.5 / 8, rel=0.01)
    with Model(small) as model, Context(model, ContextOptions(length=64, threads=1)) as context:
        assert context.evaluate([1, 2], 1).shape == (1, 49_152)


def test_an_existing_copy_is_replaced_only_by_a_whole_one(smollm2_path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(b"the old one")
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(smollm2_path.read_bytes()[:60_000_000])

    with pytest.raises(ModelFileError, match="could not be requantized"):
        quantize(damaged, copy, "Q4_0")
    assert copy.read_bytes() == b"the old one"
    assert sorted(tmp_path.iterdir()) == [copy, damaged]

    quantize(smollm2_path, copy, "Q4_0")
    assert copy.read_bytes()[:4] == b"GGUF"


def test_wrong_names_and_places_are_told(smollm2_path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.gguf"
    with pytest.raises(UsageError, match="no file type 'Q9'"):
        quantize(smollm2_path, copy, "Q9")
    with pytest.raises(UsageError, match="no tensor type 'Q9'"):
        quantize(smollm2_path, copy, "Q8_0", output_type="Q9")
    with pytest.raises(UsageError, match="There is no model file"):
        quantize(tmp_path / "nothing.gguf", copy, "Q8_0")
    not_a_folder = tmp_path / "file"
    not_a_folder.write_bytes(b"")
    with pytest.raises(LocalspecError, match="could not be written"):
        quantize(smollm2_path, not_a_folder / "copy.gguf", "Q8_0")
    assert not copy.exists()


def test_a_full_disk_is_told(smollm2_path: Path, tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    (tmp_path / f".copy.gguf.{os.getpid()}.part").symlink_to(full)

    with pytest.raises(LocalspecError, match="The disk may be full"):
        quantize(smollm2_path, tmp_path / "copy.gguf", "Q4_0")
    assert list(tmp_path.iterdir()) == []


def test_the_types_are_llama_cpps_own() -> None:
    assert FILE_TYPES["Q4_K_M"] == low.LLAMA_FTYPE_MOSTLY_Q4_K_M
    assert TENSOR_TYPES["Q8_0"] == low.GGML_TYPE_Q8_0


def test_a_pruned_copy_has_fewer_layers_the_same_tokenizer_and_says_what_it_is(
    smollm2_path: Path, smollm2_model: Model, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.gguf"
    prune(smollm2_path, copy, [12, 3, 13], "made for a test, " + "x" * 200)
    with Model(copy) as model, Context(model, ContextOptions(length=64, threads=1)) as context:
        assert model.layers == smollm2_model.layers - 3
        assert model.size_bytes < smollm2_model.size_bytes
        assert first_vocabulary_difference(smollm2_model, model) is None
        assert model.metadata[PRUNED_KEY].startswith("made for a test, x")
        assert context.evaluate([1, 2], 1).shape == (1, 49_152)
    assert list(tmp_path.iterdir()) == [copy]


def test_a_copy_that_lacks_no_layer_computes_the_same(
    smollm2_path: Path, smollm2_target: Context, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.gguf"
    prune(smollm2_path, copy, [], "")
    with Model(copy) as model, Context(model, ContextOptions(length=64, threads=1)) as context:
        assert (context.evaluate([1, 4093], 1) == smollm2_target.evaluate([1, 4093], 1)).all()


def test_a_pruned_copy_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no model file"):
        prune(tmp_path / "nothing.gguf", tmp_path / "copy.gguf", [1], "")
    text = tmp_path / "text.gguf"
    text.write_text("text")
    with pytest.raises(UsageError, match="not a GGUF"):
        prune(text, tmp_path / "copy.gguf", [1], "")
    assert list(tmp_path.iterdir()) == [text]
