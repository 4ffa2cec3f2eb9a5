"""What goes wrong with branches leaves the text true: refusals, faults in the midst of a pass, and cancels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localspec.decoding.language_model import BranchingModel
from localspec.errors import LocalspecError, UsageError
from localspec.llama.batch import TokenBatch
from localspec.llama.bindings import low
from localspec.llama.context import Context, EvaluationCancelledError
from localspec.llama.context_options import MOST_BRANCHES, MOST_ROWS, ContextOptions
from localspec.llama.model import Model
from tests.llama.branches.trees import TREE, holds, last_row, of_a_branch, read, some_tokens
from tests.llama.tiny_recurrent import write_lfm2, write_mamba


def test_as_many_branches_as_a_draft_has_guesses_and_one_more_is_refused(context: Context, text: list[int]) -> None:
    model: BranchingModel = context
    model.evaluate(text[:20], 0)
    wide = [-1, *[0] * (MOST_ROWS - 1)]
    assert model.evaluate_tree(some_tokens(MOST_ROWS), wide).shape == (MOST_ROWS, 49_152)
    with pytest.raises(ValueError, match="more than 31 branches"):
        model.evaluate_tree([1], [0])
    model.evaluate_tree([1], [MOST_ROWS - 1])
    model.keep([0, MOST_ROWS - 1, MOST_ROWS])
    assert holds(context, [*text[:20], *some_tokens(1), some_tokens(MOST_ROWS)[-1], 1])
    with pytest.raises(ValueError, match="more than 31 branches"):
        model.evaluate_tree([1] * 32, [-1] * 32)
    assert context.length == 23
    context.evaluate([3])


@pytest.mark.parametrize(
    ("tokens", "parents", "words"),
    [
        ([1, 2], [-1], "are not the parents"),
        ([1, 2], [-1, 1], "are not the parents"),
        ([1, 2], [-2, 0], "are not the parents"),
        ([1, 49_152], [-1, 0], "not in the vocabulary"),
        ([1] * (MOST_ROWS + 1), range(-1, MOST_ROWS), "rows of logits"),
        ([1] * 600, range(-1, 599), "do not fit"),
    ],
)
def test_an_impossible_tree_changes_nothing(
    context: Context, tokens: list[int], parents: Sequence[int], words: str
) -> None:
    context.evaluate([5, 6], 0)
    with pytest.raises(ValueError, match=words):
        context.evaluate_tree(tokens, parents, None if len(tokens) < 600 else 1)
    assert holds(context, [5, 6])
    context.evaluate([7])


def test_while_branches_are_held_the_text_cannot_go_on(context: Context) -> None:
    context.evaluate([5, 6], 0)
    context.evaluate_tree([7, 8, 9], [-1, -1, 0])
    for use in (lambda: context.evaluate([1]), context.snapshot):
        with pytest.raises(ValueError, match="branches are held"):
            use()
    for path in ([1, 2], [2], [3], [-1], [0, 0]):
        with pytest.raises(ValueError, match="is no path"):
            context.keep(path)
    with pytest.raises(ValueError, match="where its branches begin"):
        context.truncate(3)
    assert list(context.tokens) == [5, 6, 7, 8, 9]
    context.keep([0, 2])
    assert holds(context, [5, 6, 7, 9])


def interrupted(*_arguments: Any) -> int:
    raise KeyboardInterrupt


def interrupted_when_done(*arguments: Any) -> int:
    DECODE_TREE(*arguments)
    raise KeyboardInterrupt


def at_a_wrong_place(batch: TokenBatch, context: Any, tokens: Any, places: Any, *others: Any) -> int:
    return DECODE_TREE(batch, context, tokens, [(position + 5, each) for position, each in places], *others)


DECODE_TREE = TokenBatch.decode_tree
FAULTS = [
    (interrupted, KeyboardInterrupt),
    (interrupted_when_done, KeyboardInterrupt),
    (at_a_wrong_place, LocalspecError),
]


@pytest.mark.parametrize("grown", [False, True])
@pytest.mark.parametrize(("fault", "error"), FAULTS)
def test_after_a_fault_the_text_is_what_it_was_before_the_branches(  # noqa: PLR0917 # fixtures, and what varies
    context: Context,
    alone: Context,
    text: list[int],
    fault: Callable[..., int],
    error: type[BaseException],
    grown: bool,
) -> None:
    tokens = some_tokens(len(TREE))
    read(context, text[:20])
    if grown:
        context.evaluate_tree(tokens[:3], TREE[:3])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TokenBatch, "decode_tree", fault)
        with pytest.raises(error):
            context.evaluate_tree(tokens[3 * grown :], TREE[3 * grown :])
    assert holds(context, text[:20])

    rows = context.evaluate_tree(tokens, TREE).copy()
    assert np.array_equal(rows[9], last_row(alone, [*text[:20], *of_a_branch(tokens, TREE, 9)]))


@pytest.mark.parametrize("polls", [0, 300])
def test_a_cancelled_tree_leaves_the_text_true(
    smollm2_model: Model, alone: Context, text: list[int], polls: int
) -> None:
    """Also when some micro-batches went through, of whose sequences llama.cpp itself takes back only the first."""
    left = polls

    def after_a_while() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    tokens, parents = some_tokens(MOST_ROWS), [-1, 0, *[1] * 20, *range(2, 12)]
    options = ContextOptions(length=512, threads=1, branches=MOST_BRANCHES, micro_batch=20)
    with Context(smollm2_model, options) as context:
        read(context, text[:20])
        context.cancelled = after_a_while
        with pytest.raises(EvaluationCancelledError):
            context.evaluate_tree(tokens, parents)
        assert holds(context, text[:20])
        context.cancelled = None
        context.evaluate_tree(tokens, parents)
        context.keep([0, 1, 11, 31])
        kept = [*text[:20], tokens[0], tokens[1], tokens[11], tokens[31]]
        assert np.array_equal(context.evaluate([9])[0], last_row(alone, [*kept, 9]))


@pytest.mark.parametrize("failing", ["llama_memory_seq_rm", "llama_memory_seq_cp"])
def test_an_interrupted_choice_leaves_the_text_true(
    context: Context, text: list[int], failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(context, text[:20])
    context.evaluate_tree(some_tokens(len(TREE)), TREE)
    real = getattr(low, failing)
    with monkeypatch.context() as patch:
        calls = []

        def once(*arguments: Any) -> Any:
            calls.append(arguments)
            if len(calls) == 1:
                raise KeyboardInterrupt
            return real(*arguments)

        patch.setattr(low, failing, once)
        with pytest.raises(KeyboardInterrupt):
            context.keep([0, 7, 9])
    assert holds(context, text[:20])


def test_what_cannot_branch_says_why(smollm2_model: Model, tmp_path: Path) -> None:
    with Context(smollm2_model, ContextOptions(length=64, threads=1)) as plain:
        require_refused(plain, "made without branches")
    for write in (write_mamba, write_lfm2):
        with (
            Model(write(tmp_path / "model.gguf")) as model,
            Context(model, ContextOptions(length=64, threads=1, branches=MOST_BRANCHES)) as context,
        ):
            require_refused(context, "a state has no branches")
    with pytest.raises(UsageError, match="in 32 ways"):
        ContextOptions(branches=MOST_BRANCHES + 1)


def test_a_cache_cut_to_the_window_does_not_branch(gemma_path: Path) -> None:
    options = ContextOptions(length=64, threads=1, branches=MOST_BRANCHES, full_window_cache=False)
    with Model(gemma_path) as model, Context(model, options) as context:
        require_refused(context, "sliding window")


def require_refused(context: Context, words: str) -> None:
    assert not context.can_branch
    assert words in (context.why_no_branches or "")
    assert low.llama_n_seq_max(context.pointer) == 1
    context.evaluate([5, 6], 0)
    with pytest.raises(ValueError, match=words):
        context.evaluate_tree([1], [-1])
    assert holds(context, [5, 6])
