"""The errors a person can cause or meet: each says what happened, why, and what to do next."""

from __future__ import annotations

INTERRUPTED = 130
"""Exit code of a program that Ctrl-C ended, as shells count it."""


class LocalspecError(Exception):
    """A failure told in words.

    Attributes:
        title: what happened, one line, no full stop.
        message: why, in one or two sentences.
        hint: what to do next; may be empty.
        exit_code: 1 when the thing failed, 2 when the call was wrong.
    """

    exit_code = 1

    def __init__(self, title: str, message: str = "", hint: str = "") -> None:
        super().__init__(title, message, hint)
        self.title = title
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return "\n".join(part for part in (self.title, self.message, self.hint) if part)


class UsageError(LocalspecError):
    """The call itself is wrong: an impossible setting, a missing file, two flags that exclude each other."""

    exit_code = 2


class ModelFileError(LocalspecError):
    """A model file is missing, is not a GGUF, is cut short, or is of a kind llama.cpp cannot load."""


class PairMismatchError(LocalspecError):
    """Target and draft do not share a tokenizer, so no draft could be checked. Names the first difference."""


class DownloadError(LocalspecError):
    """A model file could not be fetched from the hub, or is not the one it should be."""


class HubUnreachableError(DownloadError):
    """The hub does not answer, or must not be asked."""


class DownloadStoppedError(DownloadError):
    """The person stopped a download. What came is kept, and the next pull goes on from there."""

    exit_code = 130


class OutOfMemoryError(LocalspecError):
    """Weights, KV cache or compute buffers did not fit."""


class ContextFullError(LocalspecError):
    """The prompt alone is longer than the context, or a turn would not fit."""


class EngineDiedError(LocalspecError):
    """The child process that holds the models ended without being asked to. The conversation is kept."""


class HistoryError(LocalspecError):
    """The file that keeps the conversations cannot be read or written, or does not hold what is asked for."""


class FileExistsAlreadyError(LocalspecError):
    """A file would be overwritten that nobody said could be."""
