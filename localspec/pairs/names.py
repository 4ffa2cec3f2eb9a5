"""Which names may become paths. What the catalog, the hub or a person names must not reach outside its folder."""

from __future__ import annotations

import re

_PAIR = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")
_FILE_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9 _.,+=@()-]{0,199}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def is_pair_name(name: str) -> bool:
    """Lower-case letters, digits, dots, dashes and underscores: easy to type, safe in a file name."""
    return _PAIR.fullmatch(name) is not None and ".." not in name


def pair_name_of(name: str, longest: int) -> str:
    """A pair's name, or the beginning of one, made of another name; "" when that has nothing to make one of."""
    allowed = re.sub(r"\.{2,}", ".", re.sub(r"[^a-z0-9._-]+", "-", name.lower()))
    return allowed.strip(".-_")[:longest].rstrip(".")


def is_repo(name: str) -> bool:
    """`owner/name` as the hub allows it; "--" is the hub cache's own separator and is not allowed by the hub either."""
    return _REPO.fullmatch(name) is not None and not any(part in name for part in ("..", "--"))


def is_revision(name: str) -> bool:
    """A commit, branch or tag; the hub's cache makes a path of it."""
    return _REVISION.fullmatch(name) is not None and not any(part in name for part in ("..", "//")) and name[-1] != "/"


def is_gguf_path(name: str) -> bool:
    """A relative path to a GGUF with forward slashes, no part of which climbs, hides or means a device to Windows."""
    parts = name.split("/")
    return name.lower().endswith(".gguf") and all(
        _FILE_PART.fullmatch(part) and part[-1] not in ". " and not _is_device(part) for part in parts
    )


def is_sha256(text: str) -> bool:
    """64 lower-case hexadecimal digits."""
    return _SHA256.fullmatch(text) is not None


def is_commit(text: str) -> bool:
    """40 lower-case hexadecimal digits: a commit, or the git hash of a small file."""
    return _COMMIT.fullmatch(text) is not None


def _is_device(part: str) -> bool:
    stem = part.split(".", maxsplit=1)[0].rstrip().upper()
    return stem in {"CON", "PRN", "AUX", "NUL"} or re.fullmatch(r"(COM|LPT)[0-9]", stem) is not None


def shown(text: str, longest: int = 60) -> str:
    """A name out of a file, fit for a message: quoted, short, and nothing in it that a terminal would obey."""
    return f"'{harmless(text, longest)}'"


def harmless(text: str, longest: int) -> str:
    """Words of another program, fit for a message: one line, short, and nothing in it that a terminal would obey."""
    short = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in short)
