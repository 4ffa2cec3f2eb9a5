"""Pairs of a target and a smaller copy of itself: which models can be pruned, and how such a pair is kept."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from localspec import locations
from localspec.errors import DownloadError, LocalspecError, UsageError
from localspec.llama.gguf_start import PRUNED_KEY
from localspec.pairs.catalog import load_catalog
from localspec.pairs.choosing import first_choice, paths_of
from localspec.pairs.gguf_bytes import LocalFile
from localspec.pairs.gguf_header import GgufHeader
from localspec.pairs.gguf_reading import read_header
from localspec.pairs.listing import show_pair
from localspec.pairs.memory_fit import Memory
from localspec.pairs.progress import Meter, never
from localspec.pairs.prunable import bytes_for_trying, droppable_layers, file_types
from localspec.pairs.pruned import named_target, pruned_draft_of, pruned_name, pruned_path, remember_pruned
from localspec.pairs.pull import prepare
from localspec.pairs.remove import remove_pair
from localspec.pairs.words import details_rows
from tests.pairs.gguf_files import ARRAY, STRING, U32, TinyModel

MEMORY = Memory("memory", 10**11, 10**11)
METER = Meter(lambda _: None, never)


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for kind in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"LOCALSPEC_{kind}_DIR", str(tmp_path / kind.lower()))


def header_of(folder: Path, **values: object) -> GgufHeader:
    path = folder / "tiny.gguf"
    path.write_bytes(TinyModel(**values).bytes())  # type: ignore[arg-type] # as the test says
    return read_header(LocalFile(path))


def test_every_layer_of_an_ordinary_model_can_be_dropped(tmp_path: Path) -> None:
    header = header_of(tmp_path, layers=6)
    assert droppable_layers(header) == range(6)
    extra = [("llama.leading_dense_block_count", U32, 1), ("llama.nextn_predict_layers", U32, 1)]
    assert droppable_layers(header_of(tmp_path, layers=6, extra=extra)) == range(1, 5)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"layers": 2}, "2 only"),
        ({"layers": 6, "extra": [(PRUNED_KEY, STRING, "a part")]}, "pruned copy already"),
        ({"layers": 6, "extra": [("split.count", U32, 3)]}, "one of 3 parts"),
        ({"layers": 6, "extra": [("general.type", STRING, "mmproj")]}, "not a model"),
        ({"layers": 6, "extra": [("llama.feed_forward_length_each", (ARRAY, U32), [8] * 6)]}, "each layer by itself"),
        ({"layers": 6, "architecture": "mamba"}, "cannot be taken back"),
    ],
)
def test_what_cannot_be_pruned_is_refused_with_the_reason(
    tmp_path: Path, values: dict[str, object], words: str
) -> None:
    with pytest.raises(LocalspecError) as refused:
        droppable_layers(header_of(tmp_path, **values))
    assert words in str(refused.value)


def test_weights_are_requantized_where_that_makes_them_smaller(tmp_path: Path) -> None:
    header = header_of(tmp_path, layers=4)
    assert file_types(header) == (None, "Q8_0", "Q4_0")
    assert header.file_size < bytes_for_trying(header) < 2 * header.file_size


def made(tmp_path: Path, name: str = "Big Model.Q8_0.gguf") -> Path:
    target = tmp_path / name
    target.write_bytes(TinyModel(layers=6).bytes())
    return target


def kept(target: Path) -> str:
    named = named_target(str(target), METER)
    name = pruned_name(named, load_catalog())
    pruned_path(name).parent.mkdir(parents=True, exist_ok=True)
    pruned_path(name).write_bytes(TinyModel(layers=4).bytes())
    remember_pruned(name, named, 4, "It pays.")
    return name


def test_a_kept_pair_is_found_shown_and_deleted_but_never_its_target(tmp_path: Path) -> None:
    target = made(tmp_path)
    name = kept(target)
    assert name == "big-model.q8_0-pruned"
    catalog = load_catalog()
    pair = catalog.pair(name)
    assert pair.is_pruned
    assert paths_of(pair, METER) == (target, pruned_path(name))
    details = show_pair(pair, MEMORY)
    assert details.state.pulled
    assert details.problem is None
    rows = dict(details_rows(details))
    assert "a file of this machine" in rows["draft"]
    assert "localspec prune" in rows["source"]
    removed = remove_pair(pair, catalog)
    assert removed.forgotten
    assert removed.files[0].kept_because == "localspec did not make it"
    assert target.exists()
    assert not pruned_path(name).exists()
    assert name not in load_catalog().pairs


@pytest.mark.parametrize(
    "name",
    [
        "model.bin", "sha256-0a1b2c", " big .gguf", "model...v2.gguf", "quote \" backslash \\.gguf", f"{'x' * 80}.gguf",
        "\u5168\u89d2\u3000\u7a7a\u767d/big.gguf", "a\u00a0b\u202fc.gguf", "\u0645\u06cc\u200c\u0631\u0648\u0645.gguf",
    ],
)  # fmt: skip
def test_a_file_of_any_name_that_can_be_shown_makes_a_pair_that_is_there_the_next_time(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    target = made(tmp_path, name)
    name = kept(target)
    pair = load_catalog().pair(name)
    assert paths_of(pair, METER)[0] == target
    assert dict(details_rows(show_pair(pair, MEMORY)))["target"].endswith(str(target))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems allow no such names")
@pytest.mark.parametrize("name", [b"caf\xe9.gguf", b"\x1b[31mred.gguf", b"two\nlines.gguf", "\u202egnp.gguf".encode()])
def test_a_file_that_no_catalog_could_name_is_refused_before_any_work(tmp_path: Path, name: bytes) -> None:
    target = made(tmp_path, os.fsdecode(name))
    with pytest.raises(UsageError, match="cannot be a part of a pair"):
        named_target(str(target), METER)
    load_catalog()


def test_a_folder_of_drafts_that_no_catalog_could_name_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = made(tmp_path)
    monkeypatch.setenv("LOCALSPEC_CACHE_DIR", str(tmp_path / "\u202ecache"))
    with pytest.raises(UsageError, match="LOCALSPEC_CACHE_DIR"):
        named_target(str(target), METER)


def test_the_draft_of_a_target_is_found_by_the_targets_path(tmp_path: Path) -> None:
    target = made(tmp_path)
    assert pruned_draft_of(target) is None
    name = kept(target)
    assert pruned_draft_of(target) == pruned_path(name)
    assert pruned_draft_of(made(tmp_path, "other.gguf")) is None
    pruned_path(name).unlink()
    assert pruned_draft_of(target) is None


def test_the_same_target_gets_the_same_name_and_another_one_of_that_name_another(tmp_path: Path) -> None:
    target = made(tmp_path)
    assert kept(target) == kept(target)
    (tmp_path / "elsewhere").mkdir()
    assert kept(made(tmp_path / "elsewhere")) == "big-model.q8_0-pruned-2"


def test_such_a_pair_runs_only_where_it_is_named(tmp_path: Path) -> None:
    kept(made(tmp_path))
    assert first_choice(load_catalog(), MEMORY).best is None


def test_a_target_that_has_changed_or_gone_is_told_and_never_looked_for_on_the_hub(tmp_path: Path) -> None:
    target = made(tmp_path)
    name = kept(target)
    pair = load_catalog().pair(name)
    target.write_bytes(b"GGUF")
    with pytest.raises(LocalspecError, match="not on this machine"):
        paths_of(pair, METER)
    with pytest.raises(DownloadError, match="not on the hub"):
        prepare(pair, MEMORY, METER)


def test_recommended_sampling_goes_along(tmp_path: Path) -> None:
    catalog = load_catalog()
    like = next(pair for pair in catalog.pairs.values() if pair.sampling.temperature is not None)
    target = made(tmp_path)
    named = replace(named_target(str(target), METER), like=like)
    pruned_path("x-pruned").parent.mkdir(parents=True)
    pruned_path("x-pruned").write_bytes(b"GGUF")
    remember_pruned("x-pruned", named, 4, "")
    assert load_catalog().pair("x-pruned").sampling == like.sampling


def test_a_persons_own_catalog_may_name_files_of_this_machine(tmp_path: Path) -> None:
    target = made(tmp_path)
    own = locations.catalog_file()
    own.parent.mkdir(parents=True)
    text = f'[files.mine]\npath = "{target.as_posix()}"\n[pairs.my-pair]\ntarget = "mine"\ndraft = "mine"\n'
    own.write_text(text)
    assert paths_of(load_catalog().pair("my-pair"), METER) == (target, target)
    own.write_text(text.replace(str(target.parent.as_posix()), "."))
    with pytest.raises(UsageError, match="whole path"):
        load_catalog()


@pytest.mark.parametrize(
    ("called", "words"), [("nothing.gguf", "no file"), ("nobody-knows-it", "no file, pair or model")]
)
def test_a_target_that_does_not_exist_is_told(called: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        named_target(called, METER)


def test_a_target_that_was_not_pulled_is_told() -> None:
    name = next(iter(load_catalog().pairs))
    with pytest.raises(LocalspecError, match="not on this machine") as told:
        named_target(name, METER)
    assert f"localspec pull {name}" in told.value.hint
