"""Texts with and without speculation: rounding is told from errors, in chains and in trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from localspec.bench.losslessness.branching import Branching
from localspec.bench.losslessness.divergence import catch_up, row_after, row_in_pass
from localspec.bench.losslessness.findings import Divergence, Findings, Texts
from localspec.bench.losslessness.texts import Pair, Plain, compare_text, plain_text, siblings, together
from localspec.bench.losslessness.words import lines_of
from localspec.chat.guessing import Guesser, Guessing
from localspec.decoding.draft_length import STOP, Offers
from localspec.decoding.language_model import LogitRows
from localspec.decoding.rounds import Round
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.sources import drafters_of, why_refused
from localspec.errors import UsageError
from localspec.llama.context import Context
from localspec.llama.context_options import MOST_BRANCHES, ContextOptions
from localspec.llama.model import Model
from localspec.llama.tokenizer import Tokenizer

GREEDY = SamplingSettings(temperature=0.0)
WARM = SamplingSettings(temperature=0.8, seed=5)
PROMPT = "<|im_start|>user\nName three fruits.<|im_end|>\n<|im_start|>assistant\n"
SOURCES = ("model", "ngram", "hybrid", "tree", "lookahead", "cascade")


class Bent:
    """A real target whose passes of several tokens are wrong by `error` logits in the likeliest token of each row.

    Of a pass over a tree those rows alone are that follow a guess which is not the first for its place.
    """

    def __init__(self, target: Context, error: float) -> None:
        self._target = target
        self._error = error

    def __getattr__(self, name: str) -> object:
        return getattr(self._target, name)

    def evaluate(self, tokens: Sequence[int], rows: int | None = None) -> LogitRows:
        found = self._target.evaluate(tokens, rows)
        return self._bent(found, range(len(found))) if len(tokens) > 1 and found.size else found

    def evaluate_tree(self, tokens: Sequence[int], parents: Sequence[int], rows: int | None = None) -> LogitRows:
        found = self._target.evaluate_tree(tokens, parents, rows)
        return self._bent(found, [i for i, parent in enumerate(parents) if parent in parents[:i]])

    def _bent(self, found: LogitRows, rows: Sequence[int]) -> LogitRows:
        found = found.copy()
        at = np.array(rows, int)
        found[at, found[at].argmax(axis=1)] -= self._error
        return found


@pytest.fixture
def prompt(smollm2_tokenizer: Tokenizer) -> list[int]:
    return smollm2_tokenizer.encode(PROMPT, parse_special=True, add_special=True)


def opened(model: Model) -> Iterator[Context]:
    """One thread: two wait for each other whenever the machine has other work."""
    with Context(model, ContextOptions(length=512, threads=1, branches=MOST_BRANCHES)) as context:
        yield context


@pytest.fixture
def target(smollm2_model: Model) -> Iterator[Context]:
    yield from opened(smollm2_model)


@pytest.fixture
def draft(smollm2_draft_model: Model) -> Iterator[Context]:
    yield from opened(smollm2_draft_model)


def pair(target: Context | Bent, *draft: Context, draft_length: int | None = None, max_tokens: int = 20) -> Pair:
    contexts: list[Context] = [target, *draft]  # type: ignore[list-item] # it is one to the loop
    guesser = Guesser(Guessing(drafters_of(contexts), refused=why_refused(contexts)))
    return Pair(contexts[0], guesser, frozenset(), draft_length, max_tokens)


@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "coupled"])
def test_a_real_pair_writes_the_same_but_for_rounding_whoever_guesses(
    target: Context, draft: Context, prompt: list[int], sampling: SamplingSettings
) -> None:
    writing = pair(target, draft)
    off = plain_text(writing, "fruits", prompt, sampling)
    assert len(off.tokens) == 20
    for drafter in SOURCES:
        texts = compare_text(writing, drafter, off)
        assert texts.fine, (drafter, texts)
        assert texts.drafter == drafter
        assert 0 <= texts.siblings_accepted <= texts.siblings < max(texts.drafted, 1)
        assert (texts.siblings > 0) <= (drafter in {"tree", "lookahead"})
        if drafter not in {"ngram", "lookahead"}:
            assert texts.accepted > 0
    assert together([texts, texts]).prompts == 2


def test_trees_branch_in_every_draft_and_the_target_keeps_paths_beside_the_spine(
    target: Context, draft: Context, prompt: list[int]
) -> None:
    writing = pair(target, draft, max_tokens=40)
    rounds = [each for sampling in (GREEDY, WARM) for each in writing.write(prompt, sampling, "tree") if each.drafted]
    wide = [each for each in rounds if len(each.drafted) > 1]
    assert len(wide) > len(rounds) / 2
    assert sum(bool(siblings(each)) for each in wide) > 0.9 * len(wide)
    assert any(each.path != tuple(range(each.accepted)) for each in rounds)


def test_what_cannot_guess_is_refused(target: Context, draft: Context, prompt: list[int]) -> None:
    with pytest.raises(UsageError, match="pruned"):
        pair(target, draft).write(prompt, GREEDY, "pruned")


@pytest.mark.parametrize("drafter", ["model", "tree", "lookahead"])
def test_a_row_is_found_again_where_it_stood_in_its_pass(
    target: Context, draft: Context, prompt: list[int], drafter: str
) -> None:
    """So a divergence is looked into at the row that decided, also behind a second guess."""
    writing = pair(target, draft, max_tokens=12 if drafter == "lookahead" else 30)
    text = list(prompt)
    behind_siblings = 0
    for each in writing.write(prompt, WARM, drafter):
        for kept in range(each.accepted + 1):
            after = [*text, *each.tokens[:kept]]
            wide, narrow = row_in_pass(target, text, each, kept), row_after(target, after)
            assert np.abs(wide - narrow).max() < 1.0
            behind_siblings += each.path[:kept] != tuple(range(kept))
        text += each.tokens
        catch_up(target, text)
        assert list(target.tokens) == text[:-1]
    assert behind_siblings > 0 or drafter != "tree"


@pytest.mark.parametrize("drafter", ["model", "tree"])
def test_wide_passes_that_compute_something_else_are_not_called_rounding(
    target: Context, draft: Context, prompt: list[int], drafter: str
) -> None:
    writing = pair(Bent(target, 8.0), draft, max_tokens=60)
    texts = compare_text(writing, drafter, plain_text(writing, "fruits", prompt, WARM))
    (parted,) = texts.divergences
    assert not texts.fine
    assert parted.same_at_width
    assert parted.logit_change > 5
    assert parted.width > 1


def test_a_text_that_ends_where_the_other_goes_on_is_not_called_rounding(
    target: Context, draft: Context, prompt: list[int]
) -> None:
    writing = pair(target, draft)
    off = plain_text(writing, "fruits", prompt, GREEDY)
    short = Plain(off.name, off.prompt, off.sampling, off.tokens[:7])
    (parted,) = compare_text(writing, "model", short).divergences
    assert (parted.place, parted.explained) == (7, False)


def test_a_near_tie_in_a_wide_pass_is_explained_by_rounding(target: Context, draft: Context, prompt: list[int]) -> None:
    """A hundredth of a logit decides nothing here or is a tie; both are fine."""
    writing = pair(Bent(target, 0.01), draft)
    assert compare_text(writing, "model", plain_text(writing, "fruits", prompt, GREEDY)).fine


def test_a_sibling_is_a_guess_behind_another_for_its_place() -> None:
    plain = Round((), (), (1,), (), (), (), (), 0.0, 0.0)
    assert siblings(plain) == []
    assert siblings(replace(plain, drafted=(1, 2, 3))) == []
    assert siblings(replace(plain, drafted=(1, 2, 3, 4, 5), parents=(-1, 0, -1, 2, 0))) == [2, 4]


def test_at_most_half_of_a_branching_draft_is_on_its_spine() -> None:
    plan = Branching(8).tree_plan(31, leaves_out=False)
    for _ in range(4):
        assert plan.choose(Offers(unread=1)).step
        plan.drawn(0.99, likeliest=True)
    assert plan.choose(Offers(unread=1)) == STOP
    assert plan.adds([0.1] * 9) == 4
    assert Branching(8).tree_plan(31, leaves_out=False).choose(Offers(0, [0] * 9)).looked_up == 4


@pytest.mark.parametrize("explained", [True, False])
@pytest.mark.parametrize("gap", [0.25, None])
def test_a_divergence_is_told_in_80_columns_with_its_reason(explained: bool, gap: float | None) -> None:
    parted = Divergence("translate-1", 46, 48, 9, 12.345, gap, 0.612, same_at_width=False, explained=explained)
    texts = [
        Texts("lookahead", "coupled", 0.8, 4, 190, 1130, 113, 1000, 99, (parted,)),
        Texts("tree", "greedy", 0.0, 4, 192, 200, 100),
    ]
    lines = lines_of(Findings(("target", "draft"), texts))
    assert max(map(len, lines)) <= 80
    told = "\n".join(lines)
    assert ("near tie" in told) == explained
    assert ("NOT explain" in told) != explained
    assert lines[-1].endswith("--json.")


def test_texts_in_which_nothing_was_guessed_are_said_to_show_nothing() -> None:
    told = "\n".join(lines_of(Findings(("target", ""), [Texts("ngram", "greedy", 0.0, 2, 64, 0, 0)])))
    assert "these texts show nothing of ngram" in told
