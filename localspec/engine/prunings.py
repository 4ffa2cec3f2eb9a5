"""Trying drafts made of the target's own layers: what is asked, and what came of it. Sent over the engine's pipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from localspec.decoding.sampling_settings import SamplingSettings


@dataclass(frozen=True, slots=True)
class Cut:
    """What a draft keeps of its target.

    Attributes:
        dropped: numbers of the layers that are left out, from 0, rising.
        file_type: the type its weights are requantized to ("Q4_0", ...); None leaves them as they are.
    """

    dropped: tuple[int, ...]
    file_type: str | None = None


@dataclass(frozen=True, slots=True)
class BeginPruning:
    """Let the target write the texts that drafts of its layers are judged by, and tell what its passes cost.

    Attributes:
        prompts: what it answers; drafts are judged by these answers.
        check_prompts: the same, for judging the best ones once more by texts that they were not chosen by.
        tokens: most tokens of an answer.
        sampling: how they are drawn, by target and draft.
        folder: an empty folder to write drafts to; who made it removes it.
        device: of the drafts, as in `ModelSettings`.
        gpu_layers: of the drafts, as in `ModelSettings`.
    """

    prompts: tuple[str, ...]
    check_prompts: tuple[str, ...]
    tokens: int
    sampling: SamplingSettings
    folder: Path
    device: str | None = None
    gpu_layers: int = -1


@dataclass(frozen=True, slots=True)
class PruningProgress:
    """`fraction` of `what` is done: "writing the texts", "requantizing to Q4_0"."""

    what: str
    fraction: float


@dataclass(frozen=True, slots=True)
class PruningBegun:
    """Ready to try drafts.

    Attributes:
        curve: T(1), T(2), ..., the seconds of a pass of the target over so many tokens.
        tokens: places at which a draft is judged.
        check_tokens: the same, of the texts for judging once more.
        bytes: size of the target's weights.
    """

    curve: tuple[float, ...]
    tokens: int
    check_tokens: int
    bytes: int


@dataclass(frozen=True, slots=True)
class JudgeCut:
    """Make a draft, judge it, and remove it.

    Attributes:
        cut: what it keeps.
        check: judge it by the answers to the `check_prompts`.
    """

    cut: Cut
    check: bool = False


@dataclass(frozen=True, slots=True)
class JudgedCut:
    """What a draft is worth.

    Attributes:
        cut: what it keeps.
        bytes: size of its weights.
        agreement: the chance that a guess of it is kept, given that those before it were: the mean of sum min(p, q)
            over the places of the target's own texts (Leviathan 2023, Corollary 3.6). At temperature 0, where p and q
            are certain, that is the share of places at which both have the same likeliest token.
        step: seconds of a guess over those of a pass of the target over one token, measured in turn.
        trouble: why llama.cpp cannot use it, the other figures being 0 then; else "".
        steady: whether the quickest passes took the same time; if not, other programs were busy, and `step` is rough.
    """

    cut: Cut
    bytes: int
    agreement: float
    step: float
    trouble: str = ""
    steady: bool = True


@dataclass(frozen=True, slots=True)
class KeepCut:
    """Make a draft once more, as a file that stays.

    Attributes:
        cut: what it keeps.
        destination: in the folder of `BeginPruning`.
        note: what it is, for its metadata.
    """

    cut: Cut
    destination: Path
    note: str


@dataclass(frozen=True, slots=True)
class KeptCut:
    """It is there.

    Attributes:
        bytes: size of the file.
    """

    bytes: int
