"""The draft model of a tree reads nothing twice, holds a prefix of the text after every round, and stops when told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import le

import numpy as np
import pytest

from localspec.decoding.acceptance import AcceptanceRule, Block, rule_for
from localspec.decoding.draft_length import FixedLength
from localspec.decoding.drafters.drafting import Found, Lookup
from localspec.decoding.drafters.ngram import NgramLookup
from localspec.decoding.drafters.tree import TreeDrafter
from localspec.decoding.language_model import LogitRows
from localspec.decoding.loop import speculate
from localspec.decoding.rounds import Draft, Finish, never
from tests.decoding.answers import Pair, Polls, turn
from tests.decoding.scenarios import CLOSE, FAR, PLAIN, TARGET
from tests.decoding.table_model import Failure, Table, TableError, TableModel
from tests.decoding.test_limits import VOCABULARY, successors
from tests.decoding.trees import Continues, Shape, Shaped

PROMPT = (3, 1, 2)
LENGTH = 30
SAMPLING = replace(PLAIN, seed=4)
RULES = ["coupled", "rejection"]


def pair(
    draft: TableModel | None = None, target: TableModel | None = None, lookup: Lookup | None = None
) -> Pair[TableModel]:
    draft, target = draft or TableModel(FAR), target or TableModel(TARGET)
    return Pair(target, TreeDrafter(draft, 7, lookup or NgramLookup()), list(PROMPT), draft)


def answer(of: Pair[TableModel], rule: str | AcceptanceRule = "coupled", **changes: object) -> list[int]:
    made = rule_for(rule, SAMPLING) if isinstance(rule, str) else rule
    return of.answer(replace(turn(made, SAMPLING, 8, max_tokens=LENGTH), **changes))  # type: ignore[arg-type]


def finish_after(stopped: Pair[TableModel]) -> list[int]:
    """Go on where it stopped, as the next request would, and return the whole answer."""
    stopped.target.failure = None
    assert stopped.draft is not None
    stopped.draft.failure = None
    answer(stopped, max_tokens=LENGTH - (len(stopped.text) - len(PROMPT)))
    return stopped.text[len(PROMPT) :]


class CountsReading(TableModel):
    """Notes how many tokens it reads."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.read = 0
        self.branched = 0

    def evaluate(self, tokens: Sequence[int], rows: int | None = None) -> LogitRows:
        self.read += len(tokens)
        return super().evaluate(tokens, rows)

    def evaluate_tree(self, tokens: Sequence[int], parents: Sequence[int], rows: int | None = None) -> LogitRows:
        self.read += len(tokens)
        self.branched += 1
        return super().evaluate_tree(tokens, parents, rows)

    def keep(self, path: Sequence[int]) -> None:
        assert path
        super().keep(path)


@pytest.mark.parametrize("rule", RULES)
def test_what_the_text_took_of_a_branch_is_not_read_again(rule: str) -> None:
    draft = CountsReading(CLOSE)
    watched = Pair(TableModel(TARGET), TreeDrafter(draft, 7, None), list(PROMPT), draft)
    watched.read_prompt()
    unread, kept_beside, draft.read = 1, 0, 0
    for finished in watched.listen(turn(rule_for(rule, SAMPLING), SAMPLING, 8, max_tokens=60)):
        # What it was behind, and each of its guesses once at most.
        assert draft.read <= unread + len(finished.drafted)
        unread, draft.read = len(watched.text) - draft.length, 0
        # The token of the target's own; and the last guess that was kept, if nothing followed it.
        assert unread <= 2
        kept_beside += finished.path != tuple(range(finished.accepted))
    assert kept_beside > 1
    assert draft.branched > 3


def test_a_branch_that_was_kept_is_held_afterwards() -> None:
    """The second guess and what followed it were read beside the spine; the text took them."""
    wanted = successors()
    wrong_at_first = wanted.copy()
    wrong_at_first[3, 9], wrong_at_first[3, 4] = 10.0, 9.5
    draft = TableModel(wrong_at_first)
    made = Pair(TableModel(wanted), TreeDrafter(draft, VOCABULARY, None), [1, 2, 3], draft)
    made.read_prompt()

    settings = replace(turn(max_tokens=9), draft_length=Shaped(shape=Shape(3, 3, 0)))
    finished = next(made.listen(settings))

    assert finished.drafted[:1] == (9,)
    assert finished.tokens[:3] == (4, 5, 6)
    assert list(draft.tokens) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("rule", RULES)
def test_a_cancel_at_any_poll_leaves_both_caches_equal_to_the_text(rule: str) -> None:
    asked, whole = Polls(), pair()
    given = answer(whole, rule, cancelled=asked)
    assert asked.count > 20

    for first in range(asked.count):
        stopped = pair()
        got = answer(stopped, rule, cancelled=Polls(partial(le, first)))
        assert got == given[: len(got)]
        if rule == "coupled":
            assert finish_after(stopped) == given


@pytest.mark.parametrize("kept", [0, 1, 2, None], ids=["nothing kept", "one kept", "two kept", "cache lost"])
@pytest.mark.parametrize("failing", ["target", "draft"])
def test_a_failure_of_any_evaluation_leaves_both_caches_equal_to_the_text(failing: str, kept: int | None) -> None:
    given = answer(pair())
    evaluation, failed = 1, True
    while failed:
        failure = Failure(evaluation, kept)
        stopped = pair(
            TableModel(FAR, failure=failure if failing == "draft" else None),
            TableModel(TARGET, failure=failure if failing == "target" else None),
        )
        try:
            answer(stopped)
            failed = False
        except TableError:
            if kept is None and failing == "target":
                stopped.check_draft()
            else:
                stopped.check()
        got = stopped.text[len(PROMPT) :]
        assert got == given[: len(got)]
        assert finish_after(stopped) == given
        evaluation += 1
    assert evaluation > 8


@pytest.mark.parametrize("rule", RULES)
def test_closing_after_any_round_leaves_both_caches_equal_to_the_text(rule: str) -> None:
    whole = pair()
    answer(whole, rule)

    for rounds in range(len(whole.rounds) + 1):
        stopped = pair()
        stopped.read_prompt()
        settings = turn(rule_for(rule, SAMPLING), SAMPLING, 8, max_tokens=LENGTH)
        listening = speculate(stopped.target, stopped.drafter, PROMPT, settings)
        for _ in range(rounds):
            stopped.text.extend(next(listening).tokens)
        listening.close()
        stopped.check()


def test_logits_that_are_no_numbers_end_in_words_with_both_caches_equal_to_the_text() -> None:
    table = FAR.copy()
    table[answer(pair())[7]] = np.nan
    stopped = pair(TableModel(table))

    with pytest.raises(ValueError, match="usable logit"):
        answer(stopped)

    stopped.check()


def test_block_verification_is_refused() -> None:
    with pytest.raises(TypeError, match="block acceptance judges chains"):
        answer(pair(), Block(0))


@pytest.mark.parametrize("place", range(10))
def test_nothing_follows_an_end_token(place: int) -> None:
    """Wherever it stands in the tree, on the spine or beside it; and there the answer ends."""
    end = 3 + place
    draft = TableModel(successors())
    made = Pair(TableModel(successors()), TreeDrafter(draft, VOCABULARY, Continues([end, 7, 8])), [0, 1, 2], draft)

    got = made.answer(replace(turn(end_tokens=[end], max_tokens=30), draft_length=FixedLength(9)))

    assert got == list(range(3, end + 1))
    assert made.rounds[-1].finish is Finish.END
    for finished in made.rounds:
        draft_of = Draft(finished.drafted, parents=finished.parents)
        ends = [i for i, token in enumerate(finished.drafted) if token == end]
        assert not any(draft_of.children(i) for i in ends)


@pytest.mark.parametrize("capacity", range(3, 20))
def test_neither_context_overflows(capacity: int) -> None:
    """Branches take room in the draft model's context that a chain would not."""
    for of_draft, of_target in ((capacity, 100), (100, capacity), (capacity, capacity)):
        made = pair(TableModel(FAR, capacity=of_draft), TableModel(TARGET, capacity=of_target))
        answer(made)


def test_ids_that_the_draft_model_lacks_are_guessed_but_not_read() -> None:
    """A lookup finds them in the text."""
    draft = TableModel(FAR[:5, :5])
    for finds in ([6, 1, 2], [1, 6, 2], [1, 2, 6]):
        made = pair(draft, lookup=Continues(finds))
        answer(made)
        assert any(6 in finished.drafted for finished in made.rounds)


class FindsAtTheStart:
    """A lookup that finds tokens after the text alone."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens = tokens

    def prepare(self, text: Sequence[int]) -> None:
        """Nothing to hold."""

    def find(self, text: Sequence[int], drafted: Sequence[int], limit: int) -> Found:  # noqa: ARG002 - the Protocol's
        return Found() if drafted else Found(self._tokens[:limit], [9] * len(self._tokens[:limit]))

    def agree(self, length: int) -> None:
        """Nothing to forget."""


def first_draft(finds: Sequence[int], shape: Shape, table: Table = FAR) -> Draft:
    drafter = TreeDrafter(TableModel(table), 7, FindsAtTheStart(finds))
    drafter.prepare(PROMPT, never)
    return drafter.draft(PROMPT, 12, replace(turn(sampling=PLAIN), draft_length=Shaped(shape=shape)))


def test_what_was_looked_up_is_a_branch_of_its_own() -> None:
    other = int(FAR[2].argsort()[-2])
    draft = first_draft([other, 6, 6], Shape(1, 0, 4))

    assert draft.tokens[1:3] == (other, 6)
    assert draft.sources == ("model", "ngram", "ngram", "model", "ngram")
    assert draft.parents == (-1, -1, 1, -1, 2)
    # The model's second guess was that token: it is not there twice, and the third takes its place.
    assert draft.tokens[3] == FAR[2].argsort()[-3]


def test_it_goes_on_behind_the_models_guess_where_both_agree() -> None:
    other = int(FAR[2].argsort()[-2])
    draft = first_draft([other, 6, 5], Shape(1, 0, 3, trust=0.39))

    assert draft.tokens[1:3] == (other, int(FAR[2].argsort()[-3]))
    assert draft.tokens[3] == 6
    assert draft.sources == ("model", "model", "model", "ngram")
    assert draft.parents == (-1, -1, -1, 1)


def test_siblings_come_in_the_order_of_the_models_preference() -> None:
    draft = first_draft([], Shape(1, 0, 4))

    assert [draft.tokens[i] for i in draft.children(-1)] == FAR[2].argsort()[::-1][: len(draft.children(-1))].tolist()


def test_drafts_are_alike_on_a_vocabulary_that_is_wide() -> None:
    """Only the likeliest of a whole vocabulary are looked at, quickly; they are the same."""
    wide = np.full((5000, 5000), -9.0, np.float32)
    wide[:7, :7] = FAR
    drafter = TreeDrafter(TableModel(wide), 5000, None)
    drafter.prepare(PROMPT, never)

    draft = drafter.draft(PROMPT, 12, replace(turn(), draft_length=Shaped(shape=Shape(3, 3, 4))))

    assert draft.tokens == first_draft([], Shape(3, 3, 4)).tokens
