"""Sizes as people read them."""

from __future__ import annotations


def gigabytes(size: int) -> str:
    """A number of bytes in decimal units, as disks and the hub count: "812 MB", "4.7 GB"."""
    return f"{size / 1e9:.1f} GB" if size >= 999_500_000 else f"{size / 1e6:.0f} MB"
