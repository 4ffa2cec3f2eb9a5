"""What the loop needs of a model: evaluate tokens, know how many it holds, forget the last ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float32]
"""One row of logits, shape (vocabulary,)."""

LogitRows = NDArray[np.float32]
"""Rows of logits, shape (rows, vocabulary)."""


class LanguageModel(Protocol):
    """A causal language model with a KV cache that can be cut back.

    Invariant: `tokens` are the ids whose keys and values the cache holds, also after an exception.
    """

    @property
    def vocabulary_size(self) -> int:
        """Columns of a row of logits (the padded size the network was built with)."""
        ...

    @property
    def tokens(self) -> Sequence[int]:
        """The ids held in the KV cache, in order; a live view, not to be changed."""
        ...

    @property
    def length(self) -> int:
        """How many tokens the KV cache holds."""
        ...

    @property
    def capacity(self) -> int:
        """Most tokens the KV cache can hold."""
        ...

    def evaluate(self, tokens: Sequence[int], rows: int | None = None) -> LogitRows:
        """Append `tokens` to the cache and return the logits that follow the last `rows` of them.

        Args:
            tokens: ids to append, at positions `length`, `length + 1`, ...
            rows: how many of the last tokens need logits; None for all of them, 0 for none.

        Returns:
            float32, shape (rows, vocabulary_size); a view that the next call overwrites.

        Raises:
            ValueError: `length + len(tokens)` exceeds `capacity`, or `rows` exceeds what the model can put out.
        """
        ...

    def truncate(self, length: int) -> None:
        """Forget every token from position `length` on. `length` must not exceed the present length."""
        ...


@runtime_checkable
class BranchingModel(LanguageModel, Protocol):
    """A language model that can go on from one text in several ways at once (tree attention).

    After `evaluate_tree` the model holds branches until `keep` chooses one, or `truncate` cuts back to the text before
    them: meanwhile `length` counts every token of every branch, `tokens` lists them in the order they were given, and
    nothing else may be called.
    """

    def evaluate_tree(self, tokens: Sequence[int], parents: Sequence[int], rows: int | None = None) -> LogitRows:
        """Add a tree of tokens behind the text; each attends to the text and to its own ancestors alone.

        A later call may go on from the branches of earlier ones.

        Args:
            tokens: ids.
            parents: of each token, the index of the one it follows, which comes before it: counted over all tokens
                added since the branches began; -1 for the last token of the text.
            rows: how many of the last tokens need logits; None for all.

        Returns:
            As `evaluate`.

        Raises:
            ValueError: as `evaluate`, or more branches than the model holds sequences.
        """
        ...

    def keep(self, path: Sequence[int]) -> None:
        """Make the tokens of these indices, each following the one before, part of the text, and forget the others."""
        ...


def keep_common_prefix(model: LanguageModel, text: Sequence[int]) -> int:
    """Cut the cache back to the longest prefix it shares with `text`; return its length.

    One token of `text` is always left to evaluate, so that there are logits to go on from.
    """
    limit = min(model.length, max(len(text) - 1, 0))
    held = model.tokens
    shared = next((i for i in range(limit) if held[i] != text[i]), limit)
    model.truncate(shared)
    return shared
