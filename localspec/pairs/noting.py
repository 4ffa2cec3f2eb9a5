"""The words for a person when something that must be noted about pairs cannot be written."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from localspec import locations
from localspec.errors import LocalspecError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def noting(refused: str) -> Iterator[None]:
    """Around what writes to the data folder.

    Args:
        refused: what to say when the system refuses it: "The pair mine cannot be remembered".

    Raises:
        LocalspecError: it did.
    """
    try:
        yield
    except OSError as error:
        raise LocalspecError(
            refused,
            f"{error}.",
            f"Make room in {locations.data_folder()} and check its rights, or set LOCALSPEC_DATA_DIR to another "
            "folder; then do the same again.",
        ) from error
