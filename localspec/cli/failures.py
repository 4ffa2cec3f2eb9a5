"""A failure as a person reads it."""

from __future__ import annotations

from localspec.errors import LocalspecError


def words_of(error: LocalspecError) -> str:
    """What happened, why, and what to do next, the latter two set in."""
    first, *others = [part for part in (error.title, error.message, error.hint) if part]
    return "\n".join([f"localspec: {first}", *(f"  {line}" for part in others for line in part.splitlines())])
