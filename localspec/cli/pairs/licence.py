"""On which terms the weights of a pair may be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localspec.pairs.pair import Pair


def licence_words(pair: Pair) -> str:
    """The licence and where its terms stand."""
    if not pair.licence:
        repos = " and ".join(dict.fromkeys(file.repo for file in pair.files))
        return f"not known to localspec: see the page of {repos} on the hub"
    return f"{pair.licence}, {pair.terms}" if pair.terms else pair.licence
