"""What was learned about the guesses of a pair, kept from one conversation to the next."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from localspec import locations
from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.draft_length import DraftLength, FixedLength
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.source_speeds import SourceSpeeds
from localspec.engine.costs_file import identity_of
from localspec.records import write_whole

SCHEMA = 1
"""A file of another one is taken for none."""

_DAMAGED = (OSError, ValueError, TypeError, KeyError, RecursionError)
"""What reading a file that is none of ours can raise."""


class PairLearning:
    """Makes the draft-length rules of a loaded pair. What they learn is shared: one part at temperature 0, one above.

    Args:
        models: the files of target and draft; another file is another pair.
        costs: recalls or measures what passes cost, unless cancelled; None where guesses could not be taken back.
    """

    def __init__(self, models: Sequence[Path], costs: Callable[[Callable[[], bool]], PassCosts | None]) -> None:
        self._costs = costs
        self._file = _file_of(models)
        self._knowledge = {"greedy": Knowledge(), "sampled": Knowledge()}
        self._speeds = {"greedy": SourceSpeeds(), "sampled": SourceSpeeds()}
        self._recall()

    def rule(self, sampling: SamplingSettings, cancelled: Callable[[], bool]) -> DraftLength:
        """The rule of one answer. Costs may have to be measured first; when that is cancelled nothing is guessed."""
        costs = self._costs(cancelled)
        if costs is None:
            return FixedLength(0)
        return AdaptiveLength(costs, self._knowledge[_kind(sampling)], greedy=sampling.temperature == 0)

    def speeds(self, sampling: SamplingSettings, begins: bool) -> SourceSpeeds:
        """What is known of the sources at this temperature; `begins`: with this answer another conversation does."""
        if begins:
            for speeds in self._speeds.values():
                speeds.begin_conversation()
        return self._speeds[_kind(sampling)]

    def keep(self) -> None:
        """Write down what is known; where that cannot be, it is known until the end of the process."""
        if self._file is None:
            return
        known = {kind: knowledge.state() for kind, knowledge in self._knowledge.items()}
        sources = {kind: speeds.state() for kind, speeds in self._speeds.items()}
        with suppress(OSError):
            content = json.dumps({"schema": SCHEMA, **known, "sources": sources}, allow_nan=False)
            write_whole(self._file, content.encode())

    def _recall(self) -> None:
        """Take over what was kept; a missing or foreign file holds nothing, a damaged one what is sound in it."""
        if self._file is None:
            return
        with suppress(*_DAMAGED):
            found = json.loads(self._file.read_bytes())
            if found["schema"] != SCHEMA:
                return
            for kind, knowledge in self._knowledge.items():
                with suppress(*_DAMAGED):
                    knowledge.restore(found[kind])
            for kind, speeds in self._speeds.items():
                with suppress(*_DAMAGED):
                    speeds.restore(found["sources"][kind])


def _kind(sampling: SamplingSettings) -> str:
    """At temperature 0 other guesses are kept, and more of them."""
    return "greedy" if sampling.temperature == 0 else "sampled"


def _file_of(models: Sequence[Path]) -> Path | None:
    """Where it is kept; None when the models cannot be read again."""
    try:
        identities = [identity_of(path) for path in models]
    except OSError:
        return None
    name = hashlib.sha256("+".join(identities).encode()).hexdigest()[:32]
    return locations.learned_folder() / f"{name}.json"
