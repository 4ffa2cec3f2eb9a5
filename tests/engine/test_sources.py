"""Every source of guesses on a real pair: the text of no speculation; what cannot be is refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.chat.events import AnswerEnd, AnswerRequest, Message, Role, SpeculationSettings
from localspec.decoding.rounds import never
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.messages import LoadPair, ModelSettings
from localspec.engine.pair import LoadedPair
from localspec.engine.sources import drafters_of, why_refused
from localspec.errors import UsageError
from localspec.llama.context import Context
from localspec.llama.context_options import ContextOptions

SAID = "Count from one to nine in words, twice."
SOURCES = ("ngram", "model", "hybrid", "tree", "lookahead", "cascade", "auto")


@pytest.fixture(scope="module")
def loaded(
    smollm2_path: Path, smollm2_draft_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LoadedPair]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCALSPEC_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        settings = LoadPair(ModelSettings(smollm2_path), ModelSettings(smollm2_draft_path), context=512, threads=1)
        pair = LoadedPair(settings, lambda _: None, never)
        yield pair
        pair.close()


def answered(loaded: LoadedPair, drafter: str, **settings: object) -> AnswerEnd:
    speculation = SpeculationSettings(drafter=drafter, draft_length="auto")
    request = AnswerRequest((Message(Role.USER, SAID),), SamplingSettings(temperature=0), speculation, max_tokens=24)
    *_, end = loaded.answered(replace(request, **settings), never)
    return end


def test_every_source_writes_what_none_writes_one_after_the_other(loaded: LoadedPair) -> None:
    without = answered(loaded, "none")
    for drafter in (*SOURCES, *SOURCES[::-2]):
        end = answered(loaded, drafter)
        assert end.text == without.text, drafter
        assert end.drafter == drafter or (drafter == "auto" and end.chosen is not None)


@pytest.mark.parametrize("length", ["auto", 4])
def test_they_take_turns_above_temperature_0_and_with_a_fixed_length_too(loaded: LoadedPair, length) -> None:
    for drafter in SOURCES:
        end = answered(
            loaded,
            drafter,
            sampling=SamplingSettings(temperature=0.8, seed=3),
            speculation=SpeculationSettings(drafter=drafter, draft_length=length),
        )
        assert end.lossless
        assert end.statistics.emitted > 0
        assert end.drafter != "auto"


def test_layers_that_were_not_pruned_do_not_pass_for_the_targets_own(loaded: LoadedPair) -> None:
    with pytest.raises(UsageError, match="pruned cannot guess here"):
        answered(loaded, "pruned")


def test_where_a_text_cannot_branch_trees_and_lookahead_are_refused_with_the_reason(loaded: LoadedPair) -> None:
    model = loaded.contexts[0].model
    with Context(model, ContextOptions(length=64, threads=1)) as plain:
        assert [drafter.name for drafter in drafters_of([plain])] == ["ngram"]
        refused = why_refused([plain])
    assert refused.keys() == {"tree", "lookahead"}
    assert "without branches" in refused["tree"]
