"""Machines and texts without models: what passes cost, how sure a draft is, and whether it is right."""

from __future__ import annotations

from localspec.decoding.draft_length import LONGEST_DRAFT

_WIDTHS = range(1, LONGEST_DRAFT + 2)

CPU_STEPS = [
    *(1.0, 1.6, 1.72, 1.85, 2.8, 2.9, 2.95, 2.8, 3.5, 3.6, 3.55, 3.55),
    *(4.5,) * 4,
    *(5.3,) * 4,
    *(6.0,) * 4,
    *(6.8,) * 4,
    *(7.5,) * 4,
]
"""Seconds by width on a CPU whose kernels take four rows at once (a laptop, Q8_0, measured; T(1) = 1)."""

CUDA_CLIFF = [1.0 + 0.02 * (width - 1) if width <= 8 else 2.2 + 0.03 * (width - 8) for width in _WIDTHS]
"""On a GPU whose kernel for few rows ends at eight."""

FLAT = [1.0 + 0.004 * (width - 1) for width in _WIDTHS]
"""Where memory is all that counts."""

LINEAR = [1.0 + 0.9 * (width - 1) for width in _WIDTHS]
"""Where arithmetic is all that counts: little can be won."""
