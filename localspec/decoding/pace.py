"""How fast text was written lately, whatever the machine did meanwhile."""

from __future__ import annotations


class Pace:
    """Tokens written in the time of a pass over one token, of about the last so many tokens.

    Both are taken at the same moment: a machine that slows down slows both, and the pace stays what it was. Kept in
    tokens a second, that of a cool machine would ask too much of every guess on a hot one. Replayed on traces of 32
    prompts, with passes that take up to a third longer half of the time, hybrid drafts so reach 1.23 instead of 1.20
    times the speed of none at temperature 0.8, and 1.31 instead of 1.30 at 0.

    Args:
        memory: tokens that are remembered.
        tokens: that count as written before.
        speed: at which those were written, 1 being the speed of no guesses.

    Attributes:
        tokens: how many are remembered by now.
    """

    def __init__(self, memory: float, tokens: float, speed: float) -> None:
        self._memory = memory
        self.tokens = tokens
        self._times = tokens / speed

    @property
    def speed(self) -> float:
        """How many times as fast as without guesses it was; 1 or more, as guesses can be left."""
        return max(1.0, self.tokens / self._times)

    def wrote(self, tokens: int, times: float) -> None:
        """Learn from tokens that took so many times the time of a pass over one."""
        self.tokens += tokens
        self._times += times
        if self.tokens > self._memory:
            self._times *= self._memory / self.tokens
            self.tokens = self._memory
