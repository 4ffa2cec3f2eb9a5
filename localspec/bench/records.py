"""What a benchmark writes down of each generation, as data and as JSON.

A record in JSON has the fields of `Record`, with `rounds` as one list for each field of `RoundFigures`, `statistics` as
in `localspec chat --json`, and `tokens_per_second` and `lossless` beside them. Times are in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from localspec.decoding.rules import LOSSY_RULES
from localspec.decoding.statistics import DecodingStatistics


@dataclass(frozen=True, slots=True)
class RoundFigures:
    """One round of a generation.

    Attributes:
        drafted: tokens guessed; in a tree, those of its longest branch.
        accepted: guesses kept.
        emitted: tokens written.
        seconds: wall time.
        target_seconds: of those, in the target's pass.
        draft_seconds: of those, in the draft's passes.
        corrected: whether it ended with the target's own token in place of guesses it refused; None in documents of
            before it was written down.
    """

    drafted: int
    accepted: int
    emitted: int
    seconds: float
    target_seconds: float
    draft_seconds: float
    corrected: bool | None = None

    @property
    def refused(self) -> bool:
        """Whether guesses were refused behind the kept ones.

        Not where a draft was longer than what was kept, and no more: the kept branch of a tree may be a short one, and
        an answer may end inside its draft. Documents of before tell no more than that.
        """
        return self.accepted < self.drafted if self.corrected is None else self.corrected


@dataclass(frozen=True, slots=True)
class Record:
    """One generation.

    Attributes:
        arm: name of the arm.
        category: kind of the task.
        prompt_id: id of the task.
        turn: 0 for the first turn of the conversation.
        run: 0 for the first run.
        began: when, in seconds of the system's clock.
        seed: of its random draws.
        acceptance_rule: as used, never "auto".
        finish: why it ended.
        prompt_tokens: length of the prompt.
        reused_tokens: of those, known from before: the earlier turns, and what all prompts begin with.
        prompt_seconds: reading the prompt, on both models.
        time_to_first_token: from the request to the first token; None when there was none.
        token_ids: what the loop emitted.
        rounds: what happened, round by round.
        statistics: counts and times of the decoding.
        joules: energy of the processor from request to end; None where the platform does not tell.
        drafter: the source that guessed, never "auto"; "" in documents of before it was written down.
    """

    arm: str
    category: str
    prompt_id: str
    turn: int
    run: int
    began: float
    seed: int
    acceptance_rule: str
    finish: str
    prompt_tokens: int
    reused_tokens: int
    prompt_seconds: float
    time_to_first_token: float | None
    token_ids: tuple[int, ...]
    rounds: tuple[RoundFigures, ...]
    statistics: DecodingStatistics
    joules: float | None = None
    drafter: str = ""

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What no other record of the benchmark shares: arm, task, run and turn."""
        return self.arm, self.prompt_id, self.run, self.turn

    @property
    def tokens_per_second(self) -> float | None:
        """Emitted tokens over decode seconds."""
        return self.statistics.tokens_per_second


def as_json(record: Record) -> dict[str, Any]:
    """The record as JSON values."""
    plain = asdict(record)
    plain["token_ids"] = list(record.token_ids)
    plain["rounds"] = {
        name: [_rounded(getattr(each, name)) for each in record.rounds] for name in RoundFigures.__dataclass_fields__
    }
    plain["tokens_per_second"] = record.tokens_per_second
    plain["lossless"] = record.acceptance_rule not in LOSSY_RULES
    plain["statistics"] = statistics_as_json(record.statistics)
    return plain


def _rounded(value: float | None) -> float | None:
    return round(value, 6) if isinstance(value, float) else value


def from_json(values: Mapping[str, Any]) -> Record:
    """The record in JSON values that `as_json` made.

    Raises:
        KeyError, TypeError, ValueError: they are of another form.
    """
    known = {name: values[name] for name in Record.__dataclass_fields__ if name in values or name != "drafter"}
    names = [name for name in RoundFigures.__dataclass_fields__ if name in values["rounds"] or name != "corrected"]
    rounds = tuple(RoundFigures(*row) for row in zip(*(values["rounds"][name] for name in names), strict=True))
    counts = values["statistics"]
    statistics = DecodingStatistics(
        **{name: counts[name] for name in _COUNTS},
        **{name: counts[name] for name in _PREDICTED if name in counts},
        drafted_at=tuple(counts["drafted_at"]),
        accepted_at=tuple(counts["accepted_at"]),
        origins=tuple((origin, count) for origin, count in counts["origins"].items() if count),
        by_source=tuple(
            (source, each["drafted"], each["accepted"]) for source, each in counts.get("by_source", {}).items()
        ),
    )
    return Record(**{**known, "token_ids": tuple(values["token_ids"]), "rounds": rounds, "statistics": statistics})


_COUNTS = ("rounds", "emitted", "drafted", "accepted", "seconds", "target_seconds", "draft_seconds")
_PREDICTED = ("judged", "judged_kept", "judged_expected")
"""As `_COUNTS`; documents of before there were predictions have none."""


def statistics_as_json(statistics: DecodingStatistics) -> dict[str, Any]:
    """Counts, times and the figures that follow from them."""
    return {
        **{name: getattr(statistics, name) for name in _COUNTS},
        "other_seconds": statistics.other_seconds,
        **statistics.as_json(),
    }


def summed(statistics: Iterable[DecodingStatistics]) -> DecodingStatistics:
    """The statistics of several generations together."""
    parts = list(statistics)
    origins: dict[str, int] = {}
    for part in parts:
        for origin, count in part.origins:
            origins[origin] = origins.get(origin, 0) + count
    guesses: dict[str, tuple[int, int]] = {}
    for part in parts:
        for source, drafted, accepted in part.by_source:
            before = guesses.get(source, (0, 0))
            guesses[source] = (before[0] + drafted, before[1] + accepted)
    return DecodingStatistics(
        **{name: sum(getattr(part, name) for part in parts) for name in (*_COUNTS, *_PREDICTED)},
        drafted_at=_columns(part.drafted_at for part in parts),
        accepted_at=_columns(part.accepted_at for part in parts),
        origins=tuple(origins.items()),
        by_source=tuple((source, *both) for source, both in guesses.items()),
    )


def _columns(rows: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    rows = list(rows)
    longest = max(map(len, rows), default=0)
    return tuple(sum(row[i] for row in rows if i < len(row)) for i in range(longest))
