"""The statistical test of one rule: draws from real rows, then the same test on rules with planted errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass

from localspec.bench.losslessness.assignment import Assignment
from localspec.bench.losslessness.findings import Caught, Draws
from localspec.bench.losslessness.manners import Manner, guessed
from localspec.bench.losslessness.places import Place
from localspec.bench.losslessness.planted import control_of, judges_together
from localspec.bench.losslessness.real_rows import control_places, evenly
from localspec.bench.losslessness.sequences import PLACES, Tally, draw, judge, tasks_for
from localspec.bench.losslessness.telling import tell, tell_progress
from localspec.bench.losslessness.texts import CHAIN_LENGTH
from localspec.errors import LocalspecError

SEED = 20230530
_AS_SET = 4 * PLACES
_UNCUT = PLACES


@dataclass(frozen=True, slots=True)
class Drawing:
    """Where from, and how often.

    Attributes:
        pool: processes to draw in.
        told: the assignment.
        as_set: places under the person's settings.
        uncut: the same with nothing cut off.

    Raises:
        LocalspecError: there are too few places.
    """

    pool: ProcessPoolExecutor
    told: Assignment
    as_set: Sequence[Place]
    uncut: Sequence[Place]

    def __post_init__(self) -> None:
        most = max(len(self.as_set), len(self.uncut))
        if most < 2 * PLACES:
            raise LocalspecError(
                "There are too few places to draw from",
                f"The target left itself a choice at {most} places only.",
                "Give a higher temperature.",
            )

    def look(self, rule: str, manner: Manner) -> None:
        """Test a rule on drafts of that manner, and show what the test is worth."""
        chosen = evenly(self.as_set, _AS_SET)
        # Settings that hardly leave a choice give few places; then rows with nothing cut off take their part.
        places = guessed([*chosen, *evenly(self.uncut, _AS_SET + _UNCUT - len(chosen))], manner)
        sequences = self.told.tree_sequences if manner.branching else self.told.sequences
        tell("draws", asdict(self._test(f"drawing from real rows, {rule}", rule, places, sequences)))
        among = self.as_set if len(self.as_set) >= 2 * PLACES else self.uncut
        control = control_of(rule, branching=manner.branching)
        # Errors are planted in how guesses are judged that a draft model drew; one may be made up.
        drawn = Manner(drawn=True, looked_up=manner.branching, branching=manner.branching)
        together = judges_together(rule)
        made = guessed(control_places(among, together=together, branching=manner.branching), drawn)
        for each in dict.fromkeys((control.right, *control.errors)):
            planted = each != control.right
            what = f"planting errors: {each}" if planted else f"drawing where errors would show, {each}"
            found = self._test(what, each, made, self.told.control_sequences)
            tell("caught", asdict(_caught(found, planted=planted)))

    def _test(self, what: str, rule: str, places: Sequence[Place], sequences: int) -> Draws:
        length = self.told.draft_length or CHAIN_LENGTH
        tasks = tasks_for(places, rule, sequences, draft_length=length, seed=SEED)
        tallies = [Tally(Counter()) for _ in places]
        waiting = {self.pool.submit(draw, task): task for task in tasks}
        for done, finished in enumerate(as_completed(waiting), 1):
            for offset, tally in enumerate(finished.result()):
                tallies[waiting[finished].first + offset].add(tally)
            tell_progress(what, done, len(tasks))
        return judge(places, tallies, rule)


def _caught(found: Draws, *, planted: bool) -> Caught:
    """As `Draws.fine` says: that is the judgement under test."""
    return Caught(
        rule=found.rule,
        drafts=found.drafts,
        planted=planted,
        found=not found.fine,
        drawn=sum(position.drawn for position in found.positions),
        impossible=sum(position.impossible for position in found.positions),
        smallest=found.smallest,
    )
