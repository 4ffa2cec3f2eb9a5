"""No guesses: speculation off, in the same loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from localspec.decoding.rounds import Draft, Turn


class NoDrafter:
    """Always answers with an empty draft."""

    name = "none"

    def prepare(self, text: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Nothing to catch up with."""

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:  # noqa: ARG002 - the Protocol's arguments
        """An empty draft."""
        return Draft()

    def agree(self, text: Sequence[int], length: int) -> None:
        """Nothing to forget."""
