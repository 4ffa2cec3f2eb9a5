"""Files and long pastes that go along with a question."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from localspec.conversations.conversation import Attachment
from localspec.errors import UsageError
from localspec.terminal import visible

MOST_BYTES = 10_000_000
"""More than any context holds, and little enough to read, show and keep without a thought."""

_BYTES_A_TOKEN = 8
"""Bytes of text a token covers at the very most, over a whole file: 3 to 5 is common."""

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
"""What a text in each encoding may begin with; the longer mark first where one begins with another."""

_KNOWN = (
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"\x1f\x8b", "compressed"),
    (b"GGUF", "a model"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
)


def described(attachment: Attachment) -> str:
    """How much it is: "4,512 lines, 180 kB"."""
    lines = len(attachment.text.splitlines())
    return f"{lines:,} line{'' if lines == 1 else 's'}, {_size(len(attachment.text.encode('utf-8', 'replace')))}"


def read_attachment(named: str, *, context: int | None = None) -> Attachment:
    """Read the text file a person named: typed, quoted, or dragged into the terminal.

    It waits for the disk, never for a pipe or a device.

    Args:
        named: a path, with ~ and quotes and escaped spaces and file:// as they come.
        context: tokens the model can read at once, when that is known.

    Raises:
        UsageError: there is no such file, it is none that can be read, it is not text, or it is too long.
    """
    path = _path(named)
    most = MOST_BYTES if context is None else min(MOST_BYTES, context * _BYTES_A_TOKEN)
    try:
        with _opened(path) as file:
            content = file.read(most + 1)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise UsageError("There is no such file", f"Nothing is at {_name(path)}.", "Check the path.") from None
    except OSError as error:
        raise UsageError("The file cannot be read", f"{_name(path)}: {error.strerror}.") from None
    text = _text(content[:-1] if len(content) > most else content, path, cut=len(content) > most)
    if len(content) > most:
        raise _too_long(path, max(size, len(content)), context)
    return Attachment(path.name, text.replace("\r\n", "\n"))


def file_to_write(named: str) -> Path:
    """The path of a file that a person named and that need not be there: typed or quoted, with ~ for a home folder.

    Raises:
        UsageError: there is no such home folder.
    """
    return _expanded(_unquoted(named.strip()))


def _unquoted(named: str) -> str:
    """What stands between quotes, if it does."""
    quoted = len(named) > 2 and named[0] == named[-1] and named[0] in "'\""
    return named[1:-1] if quoted else named


def _expanded(name: str) -> Path:
    """The path a person wrote, with ~ for a home folder.

    Raises:
        UsageError: there is no such home folder.
    """
    try:
        return Path(name).expanduser()
    except RuntimeError:
        raise UsageError(
            "There is no such folder", f"{_name(Path(name))} begins with ~, and that user has no home folder.",
            "Write the whole path, or ./~name for a file of that name.",
        ) from None  # fmt: skip


def _path(named: str) -> Path:
    """The first reading of what was typed that is there; else the plainest."""
    named = named.strip()
    if not named:
        raise UsageError("No file was named", "Write its path after /attach.")
    if named.startswith("file://"):
        place = unquote(urlsplit(named).path)
        return Path(re.sub(r"^/(?=[A-Za-z]:)", "", place))
    readings = list(dict.fromkeys([_unquoted(named), named]))
    if len(readings) == 1 and os.name != "nt":
        readings.append(re.sub(r"\\(.)", r"\1", named))
    paths = [_expanded(reading) for reading in readings]
    return next((path for path in paths if _is_there(path)), paths[0])


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _opened(path: Path) -> BinaryIO:
    """The regular file at `path`, opened."""
    try:
        # Without O_NONBLOCK, opening a pipe waits until somebody writes into it.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except ValueError:
        raise UsageError("There is no such file", "A path cannot hold a null character.") from None
    except PermissionError:
        if path.is_dir():  # Windows says so of every folder
            raise _folder(path) from None
        raise
    kind = os.fstat(handle).st_mode
    if stat.S_ISREG(kind):
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(kind):
        raise _folder(path)
    raise UsageError("This is no file", f"{_name(path)} is a device or a pipe.", "Name a text file.")


def _folder(path: Path) -> UsageError:
    return UsageError("This is a folder", f"{_name(path)} holds files; one can be attached.", "Name a text file in it.")


def _text(content: bytes, path: Path, *, cut: bool) -> str:
    """The content as text; `cut` says that its end is missing, perhaps in the middle of a character."""
    encoding = next((encoding for mark, encoding in _MARKS if content.startswith(mark)), "utf-8")
    kind = next((kind for mark, kind in _KNOWN if content.startswith(mark)), "")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        if not cut or error.start < len(content) - 4:
            raise _not_text(path, kind or "not UTF-8 text") from None
        text = ""
    if "\0" in text or kind:
        raise _not_text(path, kind or "binary")
    return text


def _not_text(path: Path, kind: str) -> UsageError:
    return UsageError(
        "Only text can be attached", f"{_name(path)} is {kind}.", "Save what it says as a text file in UTF-8."
    )


def _too_long(path: Path, size: int, context: int | None) -> UsageError:
    if context is not None and context * _BYTES_A_TOKEN < MOST_BYTES:
        why = f"it cannot fit into the context of {context:,} tokens."
    else:
        why = f"{_size(MOST_BYTES)} is the most that can be attached."
    return UsageError(
        "The file is too long", f"{_name(path)} has {_size(size)}: {why}", "Attach the part that matters."
    )


def _size(size: int) -> str:
    """A number of bytes, in the units of `gigabytes`, down to single ones."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1e3:.0f} kB" if size < 999_500 else f"{size / 1e6:.1f} MB"


def _name(path: Path) -> str:
    return visible(str(path)).replace("\n", "␊")
