"""What is going on with the pairs, and what a person can do meanwhile."""

from __future__ import annotations

from enum import Enum, auto


class Phase(Enum):
    """What is going on."""

    LOOKING = auto()
    """The list is being made."""
    BROWSING = auto()
    WAITING = auto()
    """The hub is asked and headers are read, or files that were never checked are hashed: nothing is written."""
    PLANNED = auto()
    """The person is shown what a pull will do."""
    PULLING = auto()
    STOPPING = auto()
    """A pull closes its file; that takes as long as the hub is silent, so nobody must wait for it."""
    ASKING = auto()
    """The person is asked whether to delete."""
    DELETING = auto()

    @property
    def browses(self) -> bool:
        """Whether the person can go to another pair."""
        return self in {Phase.LOOKING, Phase.BROWSING}

    def offers(self, action: str) -> bool:
        """Whether the action can be done now; one that no phase names always can."""
        return action in _OFFERED[self] or action not in _NAMED


_OFFERED: dict[Phase, tuple[str, ...]] = {
    Phase.LOOKING: ("leave",),
    Phase.BROWSING: ("choose", "check", "delete", "leave"),
    Phase.WAITING: ("abandon",),
    Phase.PLANNED: ("pull", "back"),
    Phase.PULLING: ("stop",),
    Phase.STOPPING: ("leave",),
    Phase.ASKING: ("delete_now", "back"),
    Phase.DELETING: (),
}
_NAMED = frozenset(action for actions in _OFFERED.values() for action in actions)
