"""Seeds made of one seed, so that no two sources of random numbers in an answer draw the same ones."""

from __future__ import annotations

import hashlib


def seed_of(seed: int, source: str) -> int:
    """The seed of another source of random numbers than the one that `seed` itself is for.

    Args:
        seed: 0 <= seed < 2^64.
        source: what it is for. Other words give other seeds, and so does the seed of a seed: that two are equal is as
            unlikely as that two random numbers of 64 bits are.
    """
    digest = hashlib.blake2b(source.encode(), digest_size=8, key=seed.to_bytes(8, "little")).digest()
    return int.from_bytes(digest, "little")
