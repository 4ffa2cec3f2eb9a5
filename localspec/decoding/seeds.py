"""Seeds made of one seed, so that no two sources of random numbers in an answer draw the same ones."""

from __future__ import annotations

_STEP = 0x9E3779B97F4A7C15
"""Odd, so that 2^64 numbers have seeds of their own (SplitMix64: Steele 2014)."""


def seed_of(seed: int, number: int) -> int:
    """The seed of another source of random numbers than the one that `seed` itself is for.

    Args:
        seed: 0 <= seed < 2^64.
        number: of the source; 1 or more.
    """
    return (seed + number * _STEP) % 2**64
