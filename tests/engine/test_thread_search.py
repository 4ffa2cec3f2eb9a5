"""Which number of threads is taken, and that trying leaves the model as it was."""

from __future__ import annotations

import itertools

import pytest

from localspec.decoding.rounds import never
from localspec.engine.thread_search import STEPS, SWEEPS, VERIFICATIONS, over_default, quickest, try_threads
from localspec.llama.context import Context
from localspec.llama.threads import default_threads, thread_counts

QUIET = [{1: 1.5, 4: 1.0, 8: 0.8}] * 7


def test_the_quickest_number_is_taken() -> None:
    assert quickest(QUIET, default=4) == 8
    assert over_default(QUIET, default=4) == {1: 1.5, 4: 1.0, 8: 0.8}


@pytest.mark.parametrize(
    "others",
    [
        [1.0] * 7,
        [0.98] * 7,
        [1.02] * 7,
        [0.7, 1.3, 0.7, 1.3, 0.7, 1.3, 0.7],
        [0.1, 1.0, 1.01, 1.0, 0.99, 1.0, 1.01],
    ],
)
def test_a_tie_within_the_noise_keeps_the_default(others: list[float]) -> None:
    assert quickest([{4: 1.0, 8: other} for other in others], default=4) == 4


def test_one_pause_does_not_hide_what_is_quicker() -> None:
    assert quickest([*QUIET, {1: 1.5, 4: 1.0, 8: 20.0}], default=4) == 8


def test_the_default_is_the_first_to_try_and_no_number_comes_twice() -> None:
    counts = thread_counts()
    assert counts[0] == default_threads()
    assert len(set(counts)) == len(counts)
    assert min(counts) >= 1


@pytest.mark.parametrize("passes", [VERIFICATIONS, STEPS])
def test_a_real_model_is_tried_and_its_text_stays(smollm2_target: Context, passes: object) -> None:
    smollm2_target.evaluate((1, 2, 3), rows=0)
    before = smollm2_target.snapshot()
    heard: list[float] = []
    found = try_threads(smollm2_target, (1,), passes, never, heard.append)  # type: ignore[arg-type] # one of the two
    assert found is not None
    assert all(set(sweep) == {1} and min(sweep.values()) > 0 for sweep in found)
    assert 3 <= len(found) == len(heard) <= SWEEPS
    assert smollm2_target.snapshot() == before
    smollm2_target.set_threads(1)
    assert smollm2_target.options.threads == 1


def test_a_cancel_ends_the_trying_between_two_passes(smollm2_target: Context) -> None:
    count = itertools.count()
    assert try_threads(smollm2_target, (1,), STEPS, lambda: next(count) == 3, lambda _: None) is None
    assert smollm2_target.length == 0
