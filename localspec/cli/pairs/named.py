"""The pair that a person names on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localspec.errors import UsageError
from localspec.pairs import demo

if TYPE_CHECKING:
    from localspec.pairs.catalog import Catalog
    from localspec.pairs.pair import Pair


def named_pair(catalog: Catalog, name: str) -> Pair:
    """The pair of that name.

    Raises:
        UsageError: there is none, or it is the demo, which is not on the hub.
    """
    if name == demo.NAME:
        raise UsageError(
            "The demo pair is no pair of the hub",
            "It comes with the program: a small model and its own requantized copy.",
            "Talk to it: localspec chat --pair demo",
        )
    return catalog.pair(name)
