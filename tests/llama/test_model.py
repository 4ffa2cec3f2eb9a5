from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pytest

from localspec.errors import LocalspecError, ModelFileError, OutOfMemoryError, UsageError
from localspec.llama import model as model_module
from localspec.llama.context import Context
from localspec.llama.context_options import ContextOptions
from localspec.llama.model import LoadCancelledError, Model, ModelOptions
from tests.pairs.gguf_files import TinyModel


def test_a_model_says_what_it_is(smollm2_model: Model) -> None:
    assert smollm2_model.architecture == "llama"
    assert smollm2_model.description == "llama 256M Q4_1"
    assert smollm2_model.parameters == 134_515_008
    assert smollm2_model.vocabulary_size == 49_152
    assert smollm2_model.trained_context == 8192
    assert smollm2_model.layers == 30
    assert smollm2_model.width == 576
    assert smollm2_model.sliding_window == 0
    assert not smollm2_model.is_hybrid
    assert not smollm2_model.is_recurrent
    assert 0 < smollm2_model.size_bytes < smollm2_model.path.stat().st_size
    assert smollm2_model.metadata["general.basename"] == "smollm2"


def test_the_chat_template_comes_whole(smollm2_model: Model) -> None:
    template = smollm2_model.chat_template

    assert template is not None
    assert template == smollm2_model.metadata["tokenizer.chat_template"]
    assert template.rstrip().endswith("{% endif %}")


def test_a_model_without_a_template_has_none(tmp_path: Path) -> None:
    with Model(tiny(tmp_path)) as model:
        assert model.chat_template is None


def test_its_weights_lie_in_one_copy(smollm2_model: Model) -> None:
    assert {buffer.use for buffer in smollm2_model.buffers} == {"model"}
    assert sum(buffer.size_bytes for buffer in smollm2_model.buffers) == pytest.approx(
        smollm2_model.size_bytes, rel=0.01
    )


def test_progress_rises_to_the_end(smollm2_path: Path) -> None:
    parts: list[float] = []

    def note(part: float) -> bool:
        parts.append(part)
        return True

    with Model(smollm2_path, progress=note):
        assert parts == sorted(parts)
        assert parts[-1] == 1.0
        assert len(parts) > 5


def test_loading_stops_when_asked(smollm2_path: Path) -> None:
    asked = 0

    def stop_at_the_third(_part: float) -> bool:
        nonlocal asked
        asked += 1
        return asked < 3

    with pytest.raises(LoadCancelledError):
        Model(smollm2_path, progress=stop_at_the_third)
    assert asked == 3


def test_what_a_progress_callback_raises_comes_out(smollm2_path: Path) -> None:
    def interrupted(_part: float) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Model(smollm2_path, progress=interrupted)


def test_closing_twice_frees_once_and_use_after_is_an_error(smollm2_path: Path) -> None:
    model = Model(smollm2_path)
    model.close()
    model.close()

    with pytest.raises(RuntimeError, match="closed"):
        _ = model.description


def test_closing_a_model_closes_its_contexts_first(smollm2_path: Path) -> None:
    with Model(smollm2_path) as model:
        context = Context(model, ContextOptions(length=256))
        context.evaluate([1, 2])

    with pytest.raises(RuntimeError, match="closed"):
        context.evaluate([3])
    context.close()


def test_the_vocabulary_alone_loads_without_the_weights(smollm2_path: Path) -> None:
    with Model(smollm2_path, ModelOptions(vocabulary_only=True)) as model:
        assert model.vocabulary_size == 49_152
        assert model.buffers == ()


def test_mapped_and_read_weights_compute_the_same(smollm2_path: Path) -> None:
    rows = []
    for memory_map in (True, False):
        with (
            Model(smollm2_path, ModelOptions(memory_map=memory_map)) as model,
            Context(model, ContextOptions(length=256)) as context,
        ):
            assert ("CPU_Mapped" in {buffer.place for buffer in model.buffers}) == memory_map
            rows.append(context.evaluate([1, 2, 3], 1)[0].copy())

    assert np.array_equal(*rows)


@pytest.mark.parametrize("device", ["cpu", "CPU", "none"])
def test_a_model_can_be_kept_off_every_gpu(smollm2_path: Path, device: str) -> None:
    with Model(smollm2_path, ModelOptions(device=device)) as model:
        assert not model.uses_gpu
        assert all(buffer.place.startswith("CPU") for buffer in model.buffers)


def test_an_unknown_device_is_the_callers_mistake(smollm2_path: Path) -> None:
    with pytest.raises(UsageError, match="no device 'TPU0'"):
        Model(smollm2_path, ModelOptions(device="TPU0"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "It is empty"),
        (b"PK\x03\x04 a zip archive", "is not a GGUF file"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        (b"GGU", "is not a GGUF file"),
    ],
)
def test_a_file_of_another_kind_is_the_callers_mistake(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)

    with pytest.raises(UsageError, match=words) as caught:
        Model(path)
    assert caught.value.exit_code == 2


def test_a_missing_file_and_a_folder_are_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no model file"):
        Model(tmp_path / "nothing.gguf")
    with pytest.raises(UsageError, match="is a folder"):
        Model(tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        Model(tmp_path / "a\0b.gguf")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = Path("/dev/zero")
    if kind == "pipe":
        path = tmp_path / "pipe.gguf"
        os.mkfifo(path)
    with pytest.raises(UsageError, match="is not a model file"):
        Model(path)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (b"GGUF\x03", "ends inside its header"),
        (b"GGUF" + struct.pack("<I", 99), "GGUF version 99"),
        (b"GGUF" + struct.pack(">I", 3), "big-endian"),
    ],
)
def test_a_gguf_that_cannot_be_read_here_is_told_why(tmp_path: Path, start: bytes, words: str) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(start)

    with pytest.raises(ModelFileError, match=words) as caught:
        Model(path)
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("kept", [12, 2000, 1_000_000, 50_000_000, -1000])
def test_a_truncated_model_is_an_error_in_words(smollm2_path: Path, tmp_path: Path, kept: int) -> None:
    path = tmp_path / "short.gguf"
    path.write_bytes(smollm2_path.read_bytes()[:kept])

    with pytest.raises(ModelFileError, match=r"llama\.cpp says: ") as caught:
        Model(path)
    assert "incomplete or damaged" in caught.value.title


def test_an_unknown_architecture_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="unknown model architecture: 'weather'"):
        Model(tiny(tmp_path, architecture="weather"))


def test_missing_weights_are_named(tmp_path: Path) -> None:
    complete = TinyModel()
    lacking = tmp_path / "lacking.gguf"
    lacking.write_bytes(complete.bytes().replace(b"ffn_down", b"ffn_dawn"))

    with pytest.raises(ModelFileError, match="ffn_down"):
        Model(lacking)


def test_a_model_larger_than_the_free_memory_is_refused(smollm2_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module, "available_bytes", lambda: 50_000_000)

    with pytest.raises(OutOfMemoryError, match=r"It takes 0\.1 GB, and 0\.1 GB are free|free"):
        Model(smollm2_path)
    Model(smollm2_path, ModelOptions(vocabulary_only=True)).close()


def test_a_header_with_a_wrong_byte_anywhere_is_refused_in_words(tmp_path: Path, smollm2_path: Path) -> None:
    start = smollm2_path.read_bytes()[:4000]
    path = tmp_path / "changed.gguf"
    for place in range(8, 4000, 133):
        changed = bytearray(start)
        changed[place] ^= 0xFF
        path.write_bytes(changed)
        with pytest.raises(LocalspecError, match=r"llama\.cpp says: \S"):
            Model(path)


def tiny(folder: Path, architecture: str = "llama") -> Path:
    path = folder / "tiny.gguf"
    path.write_bytes(TinyModel(architecture=architecture).bytes())
    return path
