"""The lookahead branch of lookahead decoding (Fu et al. 2024, arXiv 2402.02057, sections 3.1 and 3.2).

Jacobi iteration guesses several future tokens at once and improves all of them in every pass. The window keeps the last
N - 1 iterations over W columns. A token of an older iteration and the tokens that later ones put behind it, one place
further on each, form an n-gram that the model itself wrote in parallel. The n-grams are what the method is after.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import NamedTuple


class WindowShape(NamedTuple):
    """How much of the future is looked at.

    Attributes:
        columns: W, places that are guessed at once; 1 or more.
        size: N, tokens of an n-gram; 3 or more.
    """

    columns: int
    size: int

    @property
    def tokens(self) -> int:
        """Tokens it adds to the target's pass once it is filled; the text's last is there anyway."""
        return self.columns * (self.size - 1) - 1


class Comb(NamedTuple):
    """The window as tokens of a pass.

    Attributes:
        tokens: ids: the oldest iteration as a chain, then the younger ones.
        parents: of each, the index of the one it follows; -1 for the text's last token.
        rows: how many of the last tokens the next iteration is read from.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    rows: int


class JacobiWindow:
    """The last iterations, oldest first. The first column of the oldest is the text's last token, which is not held.

    It begins, as the authors' implementation does, with one iteration of W + N - 3 tokens, which loses a column with
    each one that is added until there are N - 1. From then on every pass drops the oldest, and its columns move on by
    one place. So they do also when several tokens were accepted, as in the authors' implementation
    (ALWAYS_FWD_ONE): what was guessed for another place is soon improved, what is thrown away has to be begun anew.

    Args:
        shape: W and N.
        fresh: a token to begin with, called once for each.
    """

    def __init__(self, shape: WindowShape, fresh: Callable[[], int]) -> None:
        self.shape = shape
        self._levels: list[list[int]] = [[fresh() for _ in range(shape.columns + shape.size - 3)]]

    @property
    def is_filled(self) -> bool:
        """Whether the next pass brings n-grams."""
        return len(self._levels) == self.shape.size - 1

    def comb(self) -> Comb:
        """The tokens to evaluate: each column is a branch off the oldest iteration, and a chain from there on."""
        oldest, *younger = self._levels
        tokens, parents = list(oldest), list(range(-1, len(oldest) - 1))
        above = range(-1, len(oldest))
        for level in younger:
            start = len(tokens)
            tokens += level
            parents += above
            above = range(start, len(tokens))
        return Comb(tuple(tokens), tuple(parents), len(self._levels[-1]))

    def advance(
        self, last: int, following: Sequence[int], end_tokens: Container[int], fresh: Callable[[], int]
    ) -> list[tuple[int, ...]]:
        """Take over what the model puts after the youngest iteration.

        Args:
            last: the text's last token when the pass was made.
            following: of each token of the youngest iteration, the one that follows it.
            end_tokens: kept out of the window, as in the authors' implementation: what follows one is another text.
            fresh: a token to stand in for such a one.

        Returns:
            The n-grams that are complete now, one for each column; none while the window is being filled.
        """
        levels = self._levels
        ngrams = [] if not self.is_filled else list(zip((last, *levels[0]), *levels[1:], following, strict=True))
        youngest = [fresh() if token in end_tokens else token for token in following]
        if self.is_filled:
            self._levels = [levels[1][1:], *levels[2:], youngest]
        elif len(levels) == 1:
            self._levels = [levels[0][1:], youngest]
        else:
            self._levels = [*(level[1:] for level in levels), youngest[1:]]
        return ngrams
