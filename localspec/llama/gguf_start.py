"""The first bytes of a model file, looked at before llama.cpp sees it: a wrong file deserves plain words."""

from __future__ import annotations

import struct
from pathlib import Path

from localspec.errors import ModelFileError, UsageError

PRUNED_KEY = "localspec.pruned"
"""Metadata of a copy with fewer layers: which part of its source it is, in words. Other programs ignore it."""

_VERSIONS = (2, 3)


def check_gguf_start(path: Path) -> None:
    """Check that `path` is a file that starts as a GGUF does.

    Raises:
        UsageError: there is no such file, it cannot be read, or it is something else: the call named a wrong file.
        ModelFileError: a GGUF of a version that llama.cpp does not read.
    """
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a folder, not a model file", "", "Name the .gguf file in it.")
        if path.exists() and not path.is_file():
            # A pipe without a writer would keep us waiting for ever.
            raise UsageError(f"{path} is not a model file", "It is a device or a pipe.", "Name a .gguf file.")
        with path.open("rb") as file:
            start = file.read(8)
    except FileNotFoundError as error:
        raise UsageError(f"There is no model file {path}", "", "Check the path.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"The model file {path} cannot be read", f"{reason}.", "Check the path and its rights."
        ) from error
    if start[:4] != b"GGUF":
        raise UsageError(f"{path.name} is not a GGUF file", _what_it_starts_with(start), "Choose a .gguf model.")
    if len(start) < 8:
        raise ModelFileError(
            f"The model file {path.name} is incomplete", "It ends inside its header.", "Download it again."
        )
    (version,) = struct.unpack("<I", start[4:])
    if version not in _VERSIONS:
        swapped = struct.unpack(">I", start[4:])[0] in _VERSIONS
        why = (
            "It is in big-endian byte order." if swapped else f"It is GGUF version {version}; llama.cpp reads 2 and 3."
        )
        raise ModelFileError(f"The model file {path.name} cannot be read here", why, "Download a current copy.")


def _what_it_starts_with(start: bytes) -> str:
    if not start:
        return "It is empty."
    if start.startswith(b"version "):
        return "It is a Git LFS pointer: the text that stands for the real file."
    if start.lstrip().lower().startswith((b"<!doctyp", b"<html")):
        return "It is a web page: the download went wrong."
    return f"It starts with {start[:4]!r}, a GGUF with b'GGUF'."
