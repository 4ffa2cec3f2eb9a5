"""The draft model reads prompts once, never outgrows its context or vocabulary, and stops when told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from localspec.decoding.acceptance import Rejection
from localspec.decoding.draft_length import FixedLength
from localspec.decoding.drafters.model import ModelDrafter
from localspec.decoding.drafters.model_source import draft_sampling
from localspec.decoding.language_model import keep_common_prefix
from localspec.decoding.prefill import prefill
from localspec.decoding.rounds import Draft, never
from localspec.decoding.sampling import to_distribution
from tests.decoding.answers import Polls, turn
from tests.decoding.scenarios import FAR, PLAIN, TARGET
from tests.decoding.table_model import TableModel

PROMPT = [1, 2, 3, 4]


def test_a_prompt_is_read_in_chunks_up_to_what_is_there() -> None:
    model = TableModel(TARGET)
    model.evaluate(PROMPT[:1], 0)

    assert list(prefill(model, [1, 2, 3, 4, 5, 6], never, chunk=2)) == [3, 5, 6]
    assert list(model.tokens) == [1, 2, 3, 4, 5, 6]
    assert model.calls[1:] == [((2, 3), 0), ((4, 5), 0), ((6,), 0)]
    assert list(prefill(model, [1, 2, 3], never)) == []


def test_reading_a_prompt_stops_between_chunks() -> None:
    model = TableModel(TARGET)

    assert list(prefill(model, [1] * 10, Polls(lambda poll: poll == 2), chunk=2)) == [2, 4]
    assert model.length == 4


@pytest.mark.parametrize(
    ("held", "text", "shared"),
    [
        ([], [1, 2, 3], 0),
        ([1, 2], [1, 2, 3], 2),
        ([1, 2, 3], [1, 2, 3], 2),
        ([1, 2, 3, 4, 5], [1, 2, 3], 2),
        ([1, 2, 3], [1, 2, 4, 5], 2),
        ([1, 2, 3], [4, 2, 3], 0),
        ([1, 2, 3], [1], 0),
        ([1], [], 0),
    ],
)
def test_the_common_prefix_is_kept_less_one_token_to_evaluate(held: list[int], text: list[int], shared: int) -> None:
    model = TableModel(TARGET)
    model.evaluate(held, 0)

    assert keep_common_prefix(model, text) == shared
    assert list(model.tokens) == text[:shared]


def test_what_two_turns_share_is_read_once() -> None:
    model = TableModel(TARGET)
    drafter = ModelDrafter(model, 7)
    drafter.prepare(PROMPT, never)
    drafter.prepare([*PROMPT, 5, 6], never)
    drafter.prepare([1, 2, 6, 6], never)

    assert [tokens for tokens, _ in model.calls] == [(1, 2, 3), (4, 5), (6,)]


def test_a_cancelled_prompt_is_a_prefix() -> None:
    model = TableModel(TARGET)
    ModelDrafter(model, 7).prepare(PROMPT, lambda: True)

    assert model.length == 0


@pytest.mark.parametrize("text", [[1, 2, 9, 4], [1, 2, 3, 9]])
def test_nothing_is_drafted_after_an_id_the_draft_model_lacks(text: list[int]) -> None:
    model = TableModel(TARGET)
    drafter = ModelDrafter(model, 20)
    drafter.prepare(text, never)

    assert drafter.draft(text, 4, turn()) == Draft()
    assert list(model.tokens) == text[: model.length]
    # Once the text is another, it drafts again.
    drafter.prepare(PROMPT, never)
    assert len(drafter.draft(PROMPT, 4, turn()).tokens) == 4


def test_q_is_0_beyond_the_common_vocabulary() -> None:
    """The draft's likeliest tokens are ids that the target lacks: it must not guess them."""
    table = FAR.copy()
    table[:, 5:] += 20
    settings = replace(turn(sampling=PLAIN), rule=Rejection(0))
    draft = ModelDrafter(TableModel(table), 5).draft(PROMPT, 16, settings)

    assert max(draft.tokens) < 5
    for q in draft.distributions:
        assert q is not None
        assert q.support()[0].max() < 5
        assert q.support()[1].sum() == pytest.approx(1)


@pytest.mark.parametrize("temperature", [0.1, 0.3, 0.8, 1.0, 1.5, 5.0])
def test_where_nothing_is_cut_off_q_leaves_out_only_what_is_hardly_ever_drawn(temperature: float) -> None:
    """At every temperature alike: tokens 100,000 times less likely than the likeliest."""
    logits = np.linspace(0, 200, 4000, dtype=np.float32)
    settings = replace(PLAIN, temperature=temperature)
    p = to_distribution(logits, settings)

    q = to_distribution(logits, draft_sampling(settings))

    kept, _ = q.support()
    wanted = [token for token in range(4000) if p.probability(token) >= 1e-5 * p.probability(3999)]
    assert abs(len(kept) - len(wanted)) <= 1
    assert draft_sampling(replace(settings, top_k=5)) == replace(settings, top_k=5)


def test_q_is_what_the_tokens_are_drawn_from() -> None:
    """A thousand first guesses have the distribution that is claimed for them: within 5.5 standard deviations."""
    model = TableModel(FAR)
    drafter = ModelDrafter(model, 7)
    drafter.prepare(PROMPT, never)
    settings = replace(turn(sampling=replace(PLAIN, top_p=0.9, temperature=0.7)), rule=Rejection(0))
    counts, q = np.zeros(7), None
    for _ in range(1000):
        draft = drafter.draft(PROMPT, 1, settings)
        drafter.agree(PROMPT, len(PROMPT) - 1)
        q = draft.distributions[0]
        counts[draft.tokens[0]] += 1
    assert q is not None
    claimed = np.array([q.probability(token) for token in range(7)])
    assert np.all(np.abs(counts - 1000 * claimed) <= 5.5 * np.sqrt(1000 * claimed * (1 - claimed)))


@pytest.mark.parametrize("after", range(4))
def test_a_cancel_stops_the_draft_after_the_token_at_hand(after: int) -> None:
    drafter = ModelDrafter(TableModel(TARGET), 7)
    polls = Polls(lambda poll: poll >= after)

    assert len(drafter.draft(PROMPT, 16, turn(draft_length=16, cancelled=polls)).tokens) == after + 1


def test_a_draft_stops_after_an_end_token() -> None:
    drafter = ModelDrafter(TableModel(TARGET), 7)
    whole = drafter.draft(PROMPT, 8, turn(draft_length=8)).tokens
    drafter.agree(PROMPT, len(PROMPT) - 1)

    ended = drafter.draft(PROMPT, 8, turn(draft_length=8, end_tokens=[whole[2]])).tokens

    assert ended == whole[: whole.index(whole[2]) + 1]


@pytest.mark.parametrize("limit", [-3, 0, 1, 5])
def test_a_draft_is_never_longer_than_the_limit(limit: int) -> None:
    drafter = ModelDrafter(TableModel(TARGET), 7)

    draft = drafter.draft(PROMPT, limit, replace(turn(), draft_length=FixedLength(16)))

    assert len(draft.tokens) == len(draft.distributions) == max(limit, 0)
