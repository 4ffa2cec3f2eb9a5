"""The heart: draft, verify, accept, roll back (DESIGN section 2; Leviathan 2023, Algorithm 1)."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence

from localspec.decoding.drafters import Drafter
from localspec.decoding.language_model import BranchingModel, LanguageModel, LogitRows
from localspec.decoding.rounds import Draft, Finish, Round, Turn, origins_of
from localspec.decoding.sampling import distributions_after


def speculate(target: LanguageModel, drafter: Drafter, text: Sequence[int], turn: Turn) -> Generator[Round, None, None]:
    """Continue `text` round by round until an end token, a limit or a cancel.

    Whenever the generator is suspended or over (also by `close()` or an exception) the target's cache holds the text
    so far, emitted tokens included, less its last token, and the drafter's cache holds a prefix of that.

    Args:
        target: holds all of `text` but its last token. Drafts that are trees need a `BranchingModel`.
        drafter: the source of guesses; `NoDrafter` is speculation off.
        text: prompt and answer so far, at least one token.
        turn: settings of this answer.

    Yields:
        One Round for each target pass. The last one has `finish` set, unless the answer was cancelled.

    Raises:
        ValueError: the target does not hold `text` less its last token, or the context has no room for one pass.
        TypeError: a draft is a tree, and the target no `BranchingModel`.
    """
    if target.length != len(text) - 1:
        raise ValueError(f"the target must hold the {len(text)} tokens of the text but the last, not {target.length}")
    if len(text) > target.capacity:
        raise ValueError(f"a text of {len(text)} tokens leaves no room in a context of {target.capacity}")
    tokens = list(text)
    finish = Finish.LENGTH if turn.max_tokens == 0 else None
    try:
        while finish is None and not turn.cancelled():
            finished = _one_round(target, drafter, tokens, len(tokens) - len(text), turn)
            if finished is None:
                return
            tokens.extend(finished.tokens)
            _roll_back(target, drafter, tokens)
            turn.draft_length.observe(finished)
            finish = finished.finish
            yield finished
    finally:
        _roll_back(target, drafter, tokens)


def _one_round(
    target: LanguageModel, drafter: Drafter, tokens: Sequence[int], emitted: int, turn: Turn
) -> Round | None:
    """Draft, verify and accept after `tokens`, leaving the roll-back to the caller; None when cancelled."""
    began = time.perf_counter()
    draft = drafter.draft(tokens, _room(target, tokens, emitted, turn), turn)
    if turn.cancelled():
        return None
    verifying = time.perf_counter()
    rows, width = _evaluate(target, tokens[-1], draft)
    verified = time.perf_counter()
    p = distributions_after(rows, tokens, draft, turn.sampling)
    verdict = turn.rule.verify(draft, p, len(tokens))
    if draft.lookahead and width > len(draft.tokens) + 1:
        draft.lookahead.read(rows[len(draft.tokens) + 1 :])
    kept = _until_end((*(draft.tokens[i] for i in verdict.path), verdict.token), turn.end_tokens)
    path = verdict.path[: len(kept)]
    if _branches(draft):
        _branching(target).keep((0, *(i + 1 for i in path)))
    refused = bool(draft.children(path[-1] if path else -1))
    return Round(
        drafted=draft.tokens,
        path=path,
        tokens=kept,
        origins=origins_of(len(draft.tokens), len(path), len(kept), refused=refused),
        sources=draft.sources,
        predictions=draft.predictions,
        passes=draft.passes,
        target_seconds=verified - verifying,
        seconds=time.perf_counter() - began,
        finish=_finish(kept[-1], emitted + len(kept), len(tokens) + len(kept), target.capacity, turn),
        parents=draft.parents,
        lookahead=width - len(draft.tokens) - 1,
    )


def _branches(draft: Draft) -> bool:
    """Whether it takes tree attention to verify it."""
    return bool(draft.parents) or draft.lookahead is not None


def _branching(target: LanguageModel) -> BranchingModel:
    if not isinstance(target, BranchingModel):
        raise TypeError("a draft that is a tree needs a target that can branch")
    return target


def _evaluate(target: LanguageModel, last: int, draft: Draft) -> tuple[LogitRows, int]:
    """The target's rows after the text's last token, after each guess and after what rides along, and their number."""
    tokens = (last, *draft.tokens)
    if not _branches(draft):
        return target.evaluate(tokens), len(tokens)
    parents = draft.parents or range(-1, len(draft.tokens) - 1)
    if draft.lookahead and target.length + len(tokens) + len(draft.lookahead.tokens) <= target.capacity:
        tokens += draft.lookahead.tokens
        parents = (*parents, *draft.lookahead.parents)
    rows = _branching(target).evaluate_tree(tokens, (-1, *(parent + 1 for parent in parents)))
    return rows, len(tokens)


def _room(target: LanguageModel, tokens: Sequence[int], emitted: int, turn: Turn) -> int:
    """The longest chain that neither the context nor the token limit cuts: n guesses can emit n + 1 tokens."""
    room = min(turn.draft_length.longest, target.capacity - len(tokens))
    return room if turn.max_tokens is None else min(room, turn.max_tokens - emitted - 1)


def _until_end(tokens: tuple[int, ...], end_tokens: frozenset[int]) -> tuple[int, ...]:
    """The tokens up to and with the first end-of-generation token."""
    for i, token in enumerate(tokens):
        if token in end_tokens:
            return tokens[: i + 1]
    return tokens


def _finish(last: int, emitted: int, length: int, capacity: int, turn: Turn) -> Finish | None:
    if last in turn.end_tokens:
        return Finish.END
    if turn.max_tokens is not None and emitted >= turn.max_tokens:
        return Finish.LENGTH
    return Finish.CONTEXT if length > capacity else None


def _roll_back(target: LanguageModel, drafter: Drafter, tokens: Sequence[int]) -> None:
    """Cut both caches back to the agreed text less its last token."""
    length = len(tokens) - 1
    if target.length > length:
        target.truncate(length)
    drafter.agree(tokens, length)
