"""What a search for layers to drop came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localspec.bench.pruning.search import WORTH_KEEPING, Tried
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.prunings import Cut, PruningBegun


@dataclass(frozen=True, slots=True)
class PruningResult:
    """All that was found out.

    Attributes:
        target: its file's name.
        layers: how many it has.
        sampling: how texts were written and guesses are drawn.
        begun: what the texts and passes are like.
        tried: what was judged, in order.
        finalists: the best of them judged by other texts, best first; none where llama.cpp can use no draft.
        seconds: how long it took.
    """

    target: str
    layers: int
    sampling: SamplingSettings
    begun: PruningBegun
    tried: Sequence[Tried]
    finalists: Sequence[Tried]
    seconds: float

    @property
    def best(self) -> Tried | None:
        """The best draft, as the other texts judge it."""
        return self.finalists[0] if self.finalists else None

    @property
    def pays(self) -> bool:
        """Whether it is predicted to be quicker than no guesses, by more than the measuring errs."""
        return self.best is not None and self.best.speed_up >= WORTH_KEEPING


def cut_words(cut: Cut) -> str:
    """The layers that are left out, neighbours together: "3, 7-9"; "none"."""
    runs: list[list[int]] = []
    for layer in cut.dropped:
        if runs and layer == runs[-1][-1] + 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs) or "none"


def part_words(result: PruningResult, cut: Cut) -> str:
    """What a draft is of the target, for its file's metadata."""
    count = len(cut.dropped)
    part = f"{result.target} without {count} of {result.layers} layers" if count else f"all layers of {result.target}"
    return f"{part}, requantized to {cut.file_type}" if cut.file_type else part


def note_of(result: PruningResult) -> str:
    """What the best draft is, in a sentence for its file and its pair."""
    assert result.best is not None  # there is a draft to speak of
    judged, best = result.best.judged, result.best.best
    temperature = f"{result.sampling.temperature:g}"
    return (
        f"{part_words(result, judged.cut)}: {judged.agreement:.0%} of guesses kept at temperature {temperature}, "
        f"predicted {best.speed_up:.2f} times as fast as none with {best.drafted} a round"
    )
