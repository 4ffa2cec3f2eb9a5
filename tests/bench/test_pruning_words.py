"""What is told of a search, in words and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from localspec import locations
from localspec.bench.pruning.as_json import pruning_as_json
from localspec.bench.pruning.result import PruningResult, cut_words, note_of
from localspec.bench.pruning.search import Space
from localspec.bench.pruning.words import pruning_lines
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.prunings import Cut, JudgedCut, PruningBegun
from localspec.pairs.pair import ModelFile, Pair
from tests.bench.test_pruning_search import FLAT, STEEP

SPACE = Space(range(28), (None, "Q4_0"), FLAT)
JUDGED = (
    JudgedCut(Cut((), "Q4_0"), 900_000_000, 0.95, 0.6),
    JudgedCut(Cut((14,)), 1_840_000_000, 0.93, 0.97),
    JudgedCut(Cut((15,)), 0, 0.0, 0.0, "llama.cpp says: no."),
    JudgedCut(Cut((3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23), "Q4_0"), 600_000_000, 0.7, 0.3),
)


def result(curve: tuple[float, ...] = FLAT, temperature: float = 0.8) -> PruningResult:
    space = replace(SPACE, curve=curve)
    tried = tuple(space.tried(each) for each in JUDGED)
    return PruningResult(
        target="big-model-instruct-q8_0.gguf",
        layers=28,
        sampling=SamplingSettings(temperature=temperature),
        begun=PruningBegun(curve, 256, 250, 1_900_000_000),
        tried=tried,
        finalists=(tried[0], tried[3]),
        seconds=99.0,
    )


def kept() -> Pair:
    draft = ModelFile("big-pruned.draft", "", "", "big-pruned.gguf", 9, path=str(locations.pruned_folder() / "b.gguf"))
    return Pair("big-pruned", "", "", "", "", 1, replace(draft, path="/big.gguf"), draft, 4096, source="remembered")


def test_it_fits_80_columns_and_says_what_paid_and_where_it_is() -> None:
    lines = pruning_lines(result(), kept())
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "It pays." in text
    assert "localspec chat --pair big-pruned" in text
    assert "llama.cpp says: no." in text
    assert "14: 93%" in text
    assert "sum min(p, q) at temperature 0.8" in " ".join(text.split())


def test_where_nothing_pays_it_says_so_and_that_nothing_was_written() -> None:
    text = " ".join(" ".join(pruning_lines(result(STEEP, temperature=0), None)).split())
    assert "Nothing pays on this machine." in text
    assert "Nothing was written. --keep-best keeps" in text
    assert "the same likeliest token" in text
    unusable = replace(result(), finalists=())
    assert not unusable.pays
    assert "none of these drafts" in "\n".join(pruning_lines(unusable, None))


def test_the_object_has_the_promised_keys() -> None:
    told = json.loads(json.dumps(pruning_as_json(result(), kept())))
    assert told["schema"] == 1
    assert set(told) == {
        "schema", "target", "sampling", "places", "check_places", "curve", "tried", "finalists", "pays", "pair", "path",
        "seconds",
    }  # fmt: skip
    assert set(told["tried"][0]) == {
        "dropped", "file_type", "bytes", "agreement", "step", "drafted", "speed_up", "trouble", "steady",
    }  # fmt: skip
    assert told["tried"][2]["trouble"]
    assert (told["pays"], told["pair"], Path(told["path"]).name) == (True, "big-pruned", "b.gguf")
    nothing = pruning_as_json(result(STEEP), None)
    assert (nothing["pays"], nothing["pair"], nothing["path"]) == (False, None, None)


def test_it_says_when_other_programs_disturbed_it() -> None:
    quiet = result()
    assert "rough" not in "\n".join(pruning_lines(quiet, None))
    unsteady = [replace(each, judged=replace(each.judged, steady=False)) for each in quiet.finalists]
    assert "Take this as rough" in "\n".join(pruning_lines(replace(quiet, finalists=unsteady), None))


@pytest.mark.parametrize(
    ("dropped", "words"), [((), "none"), ((4,), "4"), ((4, 5, 6), "4-6"), ((1, 4, 5, 9), "1, 4-5, 9")]
)
def test_layers_are_told_as_people_write_them(dropped: tuple[int, ...], words: str) -> None:
    assert cut_words(Cut(dropped)) == words


def test_the_note_of_a_pair_says_what_was_predicted() -> None:
    assert note_of(result()).startswith(
        "all layers of big-model-instruct-q8_0.gguf, requantized to Q4_0: 95% of guesses"
    )
