"""`localspec bench compare`."""

from __future__ import annotations

from pathlib import Path

from localspec.bench.comparison import compare
from localspec.bench.document import read_document
from localspec.bench.tables import comparison_lines
from localspec.cli.pairs.layout import print_words


def compare_files(first: Path, second: Path) -> int:
    """Print what two documents of `--json` say together.

    Raises:
        UsageError: one cannot be read, or they cannot be compared.
    """
    comparison = compare(read_document(first), read_document(second))
    print_words(comparison_lines(comparison, (str(first), str(second))))
    return 0
