"""A file read from front to back in few and bounded reads, from the disk or in ranges over the network."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Protocol

from localspec.errors import ModelFileError

if TYPE_CHECKING:
    from pathlib import Path

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")

# The largest vocabulary known to us, 262,144 tokens with 514,906 merges, makes a header of 16 MB.
MOST_HEADER_BYTES = 64 << 20
_FIRST_READ = 64 << 10
_LARGEST_READ = 1 << 20


class RangedFile(Protocol):
    """Bytes of a file by their position."""

    @property
    def name(self) -> str:
        """How to name it to the person."""

    @property
    def size(self) -> int:
        """Bytes of the whole file."""

    def read(self, offset: int, length: int) -> bytes:
        """Bytes `offset` to `offset + length`, fewer only at the end of the file.

        Raises:
            LocalspecError: it cannot be read.
        """


class LocalFile:
    """A file on this machine, opened for each read: nothing to close."""

    def __init__(self, path: Path) -> None:
        """Look at the file.

        Raises:
            ModelFileError: it is not there or not a file.
        """
        self._path = path
        try:
            self._size = path.stat().st_size
            if not path.is_file():
                raise ModelFileError(f"{path} is not a file", "", "Name a .gguf file.")
        except OSError as error:
            raise ModelFileError(f"{path} cannot be read", f"{error.strerror}.", "Check the path.") from error

    @property
    def name(self) -> str:
        """The file's own name."""
        return self._path.name

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        """Bytes of it; see RangedFile."""
        try:
            with self._path.open("rb") as file:
                file.seek(offset)
                return file.read(length)
        except OSError as error:
            raise ModelFileError(f"{self._path} cannot be read", f"{error.strerror}.", "Check the path.") from error


class ByteCursor:
    """A position in a RangedFile, with what was read ahead of it.

    Reads ahead double from 64 KB to 1 MB while the walk is sequential, so that a header costs few requests and a jump
    over what is not needed wastes little. Every failure is a ModelFileError; none costs more than MOST_HEADER_BYTES.
    """

    def __init__(self, file: RangedFile) -> None:
        self.file = file
        self._buffer = b""
        self._start = 0  # of the buffer, in the file
        self._at = 0  # in the buffer
        self._read_ahead = _FIRST_READ
        self._fetched = 0

    @property
    def position(self) -> int:
        """Bytes from the start of the file."""
        return self._start + self._at

    def refuse(self, why: str) -> ModelFileError:
        """The error to raise: this file is not one to load."""
        return ModelFileError(
            f"{self.file.name} is not a sound GGUF file", f"{why}.", "Get the file again, or another one."
        )

    def take(self, length: int) -> bytes:
        """The next `length` bytes."""
        self._need(length)
        begin = self._at
        self._at += length
        return self._buffer[begin : self._at]

    def u32(self) -> int:
        """The next unsigned 32-bit integer."""
        return int(_U32.unpack(self.take(4))[0])

    def u64(self) -> int:
        """The next unsigned 64-bit integer."""
        return int(_U64.unpack(self.take(8))[0])

    def string(self, longest: int) -> bytes:
        """The next string: its length as 64 bits, then its bytes."""
        length = self.u64()
        if length > longest:
            raise self.refuse(f"A string at byte {self.position} claims {length:,} bytes, more than {longest:,}")
        return self.take(length)

    def strings(self, count: int, longest: int) -> list[bytes]:
        """The next `count` strings. One loop without calls: a vocabulary has 100,000 and more."""
        found: list[bytes] = []
        buffer, at, unpack = self._buffer, self._at, _U64.unpack_from
        for _ in range(count):
            if at + 8 > len(buffer) or at + 8 + unpack(buffer, at)[0] > len(buffer):
                self._at = at
                found.append(self.string(longest))
                buffer, at = self._buffer, self._at
                continue
            end = at + 8 + unpack(buffer, at)[0]
            found.append(buffer[at + 8 : end])
            at = end
        self._at = at
        return found

    def skip_strings(self, count: int, longest: int) -> None:
        """Go over the next `count` strings: nothing says how long they are together, so each length must be read."""
        buffer, at, unpack = self._buffer, self._at, _U64.unpack_from
        for _ in range(count):
            if at + 8 > len(buffer) or at + 8 + unpack(buffer, at)[0] > len(buffer):
                self._at = at
                self.string(longest)
                buffer, at = self._buffer, self._at
                continue
            at += 8 + unpack(buffer, at)[0]
        self._at = at

    def seek(self, position: int) -> None:
        """Go to `position`, forwards or back, without reading what lies between."""
        if not 0 <= position <= self.file.size:
            raise self.refuse(f"It ends before byte {position:,}: it has {self.file.size:,}")
        if self._start <= position <= self._start + len(self._buffer):
            self._at = position - self._start
            return
        self._buffer, self._start, self._at = b"", position, 0
        self._read_ahead = _FIRST_READ

    def _need(self, length: int) -> None:
        """Have `length` bytes in the buffer from the position on."""
        missing = length - (len(self._buffer) - self._at)
        if missing <= 0:
            return
        if self.position + length > self.file.size:
            raise self.refuse(f"It is cut short: it ends inside its header, at byte {self.file.size:,}")
        wanted = max(missing, self._read_ahead)
        self._fetched += wanted
        if self._fetched > MOST_HEADER_BYTES:
            raise self.refuse(f"Its header is longer than {MOST_HEADER_BYTES >> 20} MB")
        kept = self._buffer[self._at :]
        self._start, self._at = self.position, 0
        fresh = self.file.read(self._start + len(kept), min(wanted, self.file.size - self._start - len(kept)))
        self._buffer = kept + fresh
        self._read_ahead = min(2 * self._read_ahead, _LARGEST_READ)
        if len(fresh) < missing:
            raise self.refuse("It became shorter while it was read")
