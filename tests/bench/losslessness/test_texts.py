"""Texts with and without speculation: rounding is told from errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from localspec.bench.losslessness.findings import Divergence, Findings, Texts
from localspec.bench.losslessness.texts import Pair, compare_text, together
from localspec.bench.losslessness.words import lines_of
from localspec.decoding.language_model import LogitRows
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.llama.context import Context
from localspec.llama.tokenizer import Tokenizer

GREEDY = SamplingSettings(temperature=0.0)
WARM = SamplingSettings(temperature=0.8, seed=5)
PROMPT = "<|im_start|>user\nName three fruits.<|im_end|>\n<|im_start|>assistant\n"


class Bent:
    """A real target whose passes of several tokens are wrong by `error` logits in the likeliest token of each row."""

    def __init__(self, target: Context, error: float) -> None:
        self._target = target
        self._error = error

    def __getattr__(self, name: str) -> object:
        return getattr(self._target, name)

    def evaluate(self, tokens: Sequence[int], rows: int | None = None) -> LogitRows:
        found = self._target.evaluate(tokens, rows)
        if len(tokens) > 1 and found.size:
            found = found.copy()
            found[np.arange(len(found)), found.argmax(axis=1)] -= self._error
        return found


@pytest.fixture
def prompt(smollm2_tokenizer: Tokenizer) -> list[int]:
    return smollm2_tokenizer.encode(PROMPT, parse_special=True, add_special=True)


def pair(target: Context | Bent, draft: Context) -> Pair:
    return Pair(target, draft, frozenset(), draft_length=3, max_tokens=20)  # type: ignore[arg-type] # it is one to the loop


@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "coupled"])
def test_a_real_pair_writes_the_same_but_for_rounding(
    smollm2_target: Context, smollm2_draft: Context, prompt: list[int], sampling: SamplingSettings
) -> None:
    texts, off = compare_text(pair(smollm2_target, smollm2_draft), "fruits", prompt, sampling)
    assert texts.fine
    assert texts.accepted > 0
    assert len(off) == 20
    assert together([texts, texts]).prompts == 2


def test_wide_passes_that_compute_something_else_are_not_called_rounding(
    smollm2_target: Context, smollm2_draft: Context, prompt: list[int]
) -> None:
    texts, _ = compare_text(pair(Bent(smollm2_target, 8.0), smollm2_draft), "fruits", prompt, GREEDY)
    (parted,) = texts.divergences
    assert not texts.fine
    assert parted.same_at_width
    assert parted.logit_change > 5
    assert parted.width > 1


def test_a_near_tie_in_a_wide_pass_is_explained_by_rounding(
    smollm2_target: Context, smollm2_draft: Context, prompt: list[int]
) -> None:
    """A hundredth of a logit decides nothing here or is a tie; both are fine."""
    texts, _ = compare_text(pair(Bent(smollm2_target, 0.01), smollm2_draft), "fruits", prompt, GREEDY)
    assert texts.fine


@pytest.mark.parametrize("explained", [True, False])
@pytest.mark.parametrize("gap", [0.25, None])
def test_a_divergence_is_told_in_80_columns_with_its_reason(explained: bool, gap: float | None) -> None:
    parted = Divergence("translate-1", 46, 48, 9, 12.345, gap, 0.612, same_at_width=False, explained=explained)
    texts = [Texts("coupled", 0.8, 4, 190, 113, (parted,)), Texts("greedy", 0.0, 4, 192, 100)]
    lines = lines_of(Findings(("target", "draft"), texts))
    assert max(map(len, lines)) <= 80
    told = "\n".join(lines)
    assert ("near tie" in told) == explained
    assert ("NOT explain" in told) != explained
    assert lines[-1].endswith("--json.")
