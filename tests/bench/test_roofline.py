"""Bytes and operations of a token, from headers: real files, and made-up ones with what real ones may have."""

from __future__ import annotations

from pathlib import Path

import pytest

from localspec.bench.roofline import TokenWork, work_of_file
from localspec.pairs.gguf_bytes import LocalFile
from localspec.pairs.gguf_reading import read_header
from tests.pairs.gguf_files import U32, Entry, TinyModel, TinyTensor, gguf


def written(path: Path, model: TinyModel, tensors: list[TinyTensor] | None = None) -> Path:
    path.write_bytes(gguf(model.entries(), model.tensors() if tensors is None else tensors))
    return path


@pytest.fixture
def tiny(tmp_path: Path) -> tuple[TinyModel, TokenWork]:
    model = TinyModel()
    return model, work_of_file(written(tmp_path / "tiny.gguf", model))


def test_a_table_that_is_also_the_output_is_read_whole(tiny: tuple[TinyModel, TokenWork]) -> None:
    model, work = tiny
    assert work.weight_bytes == work.file_bytes == sum(tensor.bytes for tensor in model.tensors())
    assert (work.table_bytes, work.resting_bytes) == (0, 0)


def test_with_an_output_of_its_own_a_token_reads_one_row_of_the_table(tmp_path: Path) -> None:
    model = TinyModel()
    output = TinyTensor("output.weight", (64, len(model.tokens)))
    work = work_of_file(written(tmp_path / "untied.gguf", model, [*model.tensors(), output]))
    table = 64 * len(model.tokens) * 4
    assert work.table_bytes == table
    assert work.weight_bytes == work.file_bytes - table + 64 * 4


def test_every_weight_that_is_read_is_multiplied_and_added_once(tiny: tuple[TinyModel, TokenWork]) -> None:
    model, work = tiny
    matrices = sum(tensor.bytes // 4 for tensor in model.tensors() if len(tensor.shape) > 1)
    assert work.operations == 2 * matrices


def test_only_the_experts_that_are_asked_are_read(tmp_path: Path, tiny: tuple[TinyModel, TokenWork]) -> None:
    dense = tiny[1]
    entries: list[Entry] = [("llama.expert_count", U32, 8), ("llama.expert_used_count", U32, 2)]
    model = TinyModel(extra=entries)
    experts = TinyTensor("blk.0.ffn_up_exps.weight", (64, 32, 8))
    shared = TinyTensor("blk.0.ffn_up_shexp.weight", (64, 32))
    work = work_of_file(written(tmp_path / "mixture.gguf", model, [*model.tensors(), experts, shared]))
    assert work.weight_bytes - dense.weight_bytes == experts.bytes // 4 + shared.bytes
    assert work.resting_bytes == experts.bytes * 3 // 4
    assert work.operations - dense.operations == 2 * 64 * 32 * (2 + 1)
    assert (work.expert_count, work.experts_used) == (8, 2)


def test_layers_that_guess_further_ahead_rest(tmp_path: Path) -> None:
    model = TinyModel(layers=2, extra=[("llama.nextn_predict_layers", U32, 1)])
    work = work_of_file(written(tmp_path / "ahead.gguf", model))
    last = sum(tensor.bytes for tensor in model.tensors() if tensor.name.startswith("blk.1."))
    assert work.resting_bytes == last
    assert work.weight_bytes == work.file_bytes - last


def test_all_parts_of_a_split_model_count(tmp_path: Path) -> None:
    model = TinyModel()
    first, second = model.tensors()[:5], model.tensors()[5:]
    written(tmp_path / "whole.gguf", model)
    path = written(tmp_path / "part-00001-of-00002.gguf", model, first)
    (tmp_path / "part-00002-of-00002.gguf").write_bytes(gguf([], second))
    assert work_of_file(path) == work_of_file(tmp_path / "whole.gguf")


def test_a_real_file(smollm2_path: Path) -> None:
    work = work_of_file(smollm2_path)
    assert work.weight_bytes == read_header(LocalFile(smollm2_path)).tensor_bytes
    # 134.5 million weights, 30 layers of 3 key-value heads of 64 numbers.
    assert work.operations == pytest.approx(2 * 134.5e6, rel=0.01)
    assert work.kv_bytes == 2 * 30 * 3 * 64 * 2


def test_context_costs_its_keys_and_values_and_a_wide_pass_reads_once(smollm2_path: Path) -> None:
    work = work_of_file(smollm2_path)
    assert work.bytes_at(1000) - work.bytes_at(0) == 1000 * work.kv_bytes
    assert work.bound(0, 1e9) == pytest.approx(1e9 / work.weight_bytes)
    assert work.bound(1000, 1e9) < work.bound(0, 1e9)
    assert work.intensity(100, 8) == pytest.approx(8 * work.intensity(100))
