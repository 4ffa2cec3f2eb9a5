"""The pool of n-grams: what it keeps, what it forgets, and the tree of candidates it makes."""

from __future__ import annotations

import random

import pytest

from localspec.decoding.drafters.candidate_choice import choose, survivals
from localspec.decoding.drafters.lookahead_levels import LOOKAHEAD_PRIORS, Order, Standing, level
from localspec.decoding.drafters.ngram_pool import Candidate, Ngram, NgramPool, candidate_tree, first_branch


def tokens_after(pool: NgramPool, token: int) -> list[tuple[int, ...]]:
    return [each.tokens for each in pool.after(token)]


def test_the_most_recent_come_first_and_the_others_go() -> None:
    pool = NgramPool(per_token=2, most=10)
    for last in (5, 6, 7):
        pool.find((1, 2, last), 3)

    assert tokens_after(pool, 1) == [(1, 2, 7), (1, 2, 6)]


def test_what_is_seen_again_is_recent_again() -> None:
    pool = NgramPool(per_token=2, most=10)
    for last in (5, 6, 5, 7):
        pool.find((1, 2, last), 3)

    assert tokens_after(pool, 1) == [(1, 2, 7), (1, 2, 5)]


def test_of_all_ngrams_the_one_seen_least_recently_goes() -> None:
    pool = NgramPool(per_token=4, most=3)
    for first in (1, 2, 3, 1, 4):
        pool.write((first, 9), 5)

    assert len(pool) == 3
    assert tokens_after(pool, 2) == []
    assert tokens_after(pool, 1) == [(1, 9)]


def test_it_stays_within_its_bounds_whatever_comes() -> None:
    draw = random.Random(0)
    pool = NgramPool(per_token=3, most=20)
    for length in range(1, 2000):
        add = pool.find if draw.random() < 0.5 else pool.write
        add([draw.randrange(9) for _ in range(draw.randrange(2, 6))], length)
        if draw.random() < 0.01:
            pool.cut(length - draw.randrange(30))
        assert len(pool) == sum(len(pool.after(first)) for first in range(9)) <= 20
        assert all(len(pool.after(first)) <= 3 for first in range(9))


def test_a_cut_forgets_what_was_learned_later_and_nothing_else() -> None:
    pool = NgramPool(per_token=4, most=10)
    pool.write((1, 2), 5)
    pool.find((1, 3), 6)
    pool.write((1, 3), 8)
    pool.find((1, 4), 8)

    pool.cut(7)

    assert [(each.tokens, each.found, each.written) for each in pool.after(1)] == [((1, 3), [6], []), ((1, 2), [], [5])]


def test_candidates_share_what_they_have_in_common() -> None:
    tree = candidate_tree([Ngram((1, 2, 3), [4]), Ngram((1, 2, 5), [4]), Ngram((1, 6, 7), [4])], ())

    assert [(each.token, each.parent) for each in tree] == [(2, -1), (3, 0), (5, 0), (6, -1), (7, 3)]


def test_what_speaks_for_it_more_is_tried_first() -> None:
    found, written = Ngram((1, 2, 3), found=[9]), Ngram((1, 4, 5), written=[5])

    tree = candidate_tree([found, written], ())

    assert [each.token for each in tree] == [4, 5, 2, 3]
    assert [each.written for each in tree] == [True, True, False, False]
    assert tree[0].level == level(Standing.WRITTEN, Order.FIRST, 0)
    assert tree[1].level == level(Standing.WRITTEN, Order.ALONE, 1)
    assert tree[2].level == level(Standing.FOUND, Order.LATER, 0)


def test_what_was_found_again_stands_above_what_was_written_once() -> None:
    found, written = Ngram((1, 2, 3), found=[8, 9]), Ngram((1, 4, 5), written=[5])

    assert [each.token for each in candidate_tree([written, found], ())] == [2, 3, 4, 5]
    again = Ngram((1, 4, 5), written=[5, 7])
    assert [each.token for each in candidate_tree([found, again], ())] == [4, 5, 2, 3]


def test_nothing_follows_an_end_token() -> None:
    tree = candidate_tree([Ngram((1, 2, 3, 4), [4])], {3})

    assert [each.token for each in tree] == [2, 3]


def test_no_token_has_two_guesses_that_are_the_same() -> None:
    draw = random.Random(1)
    ngrams = [Ngram((0, *(draw.randrange(3) for _ in range(3))), [1]) for _ in range(60)]

    tree = candidate_tree(ngrams, ())

    assert len({(each.parent, each.token) for each in tree}) == len(tree)
    assert all(each.parent < i for i, each in enumerate(tree))


def test_the_first_branch_is_a_chain() -> None:
    tree = candidate_tree([Ngram((1, 2, 3), [4]), Ngram((1, 2, 5), [4]), Ngram((1, 6, 7), [4])], ())

    assert [each.token for each in first_branch(tree)] == [2, 3]
    assert first_branch([]) == []


def test_a_pool_that_knows_nothing_has_no_candidates() -> None:
    assert candidate_tree(NgramPool(2, 5).after(3), ()) == []


TREE = [Candidate(2, -1, 0, False), Candidate(3, 0, 1, False), Candidate(5, 0, 2, False), Candidate(6, -1, 1, False)]


def test_the_chance_of_a_guess_counts_those_before_it() -> None:
    chances = survivals(TREE, [0.5, 0.4, 0.25].__getitem__)

    assert chances == pytest.approx([0.5, 0.5 * 0.4, 0.5 * 0.6 * 0.25, 0.5 * 0.4])
    assert sum(chances[:1] + chances[3:]) <= 1


def test_there_are_as_many_levels_as_priors() -> None:
    levels = {level(standing, order, depth) for standing in Standing for order in Order for depth in (0, 1, 5)}

    assert levels == set(range(len(LOOKAHEAD_PRIORS)))


@pytest.mark.parametrize("room", [0, 1, 2, 4])
def test_what_is_chosen_is_a_tree_that_fits(room: int) -> None:
    chances = survivals(TREE, [0.5, 0.4, 0.25].__getitem__)

    chosen = choose(chances, [0.01 * width for width in range(9)], room).indices

    assert len(chosen) == room
    assert all(TREE[i].parent in (-1, *chosen) for i in chosen)


def test_only_what_is_worth_its_cost_is_chosen() -> None:
    chances = [0.5, 0.2, 0.2, 0.05]

    assert choose(chances, [1, 1.1, 1.2, 1.3, 1.4], 9).indices == (0, 1, 2)
    assert choose(chances, [1, 1.6, 1.7, 1.8, 1.9], 9).indices == (0, 1, 2), "the first does not pay, three do"
    assert choose(chances, [1, 2.0, 3.0, 4.0, 5.0], 9).indices == ()
    assert choose(chances, [1, 1.1, 1.2], 9).value == pytest.approx(0.7 - 1.2)
