"""`localspec match`: which drafts on this machine fit a model, and for each other one the exact reason."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from localspec.cli.pairs.layout import print_json, print_words, sentence
from localspec.cli.pairs.wanted import add_cache_options, wanted
from localspec.errors import UsageError
from localspec.pairs.sizes import gigabytes

if TYPE_CHECKING:
    from localspec.pairs.match import Candidate

_DESCRIPTION = """\
Judge every GGUF on this machine (in the hub's cache, in the folders of
llama.cpp and LM Studio, and in localspec's own) as a draft for a model, by the
headers of the files. Leaves with 0 also when none fits."""

_EPILOG = """\
example:
  localspec match big.gguf

--json prints one object, "schema": 1: target, context, kv_type, and
candidates, those that fit first, for each path, name, bytes, fits, reason (a
word or two), words (a sentence), memory (what both take, in bytes)."""

_DEFAULT_CONTEXT = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `localspec match`."""
    parser.usage = "localspec match TARGET.gguf [options]"
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument("target", metavar="TARGET.gguf", type=Path, help="GGUF file of the model that is to answer")
    parser.add_argument("--json", action="store_true", help='print one JSON object, "schema": 1')
    add_cache_options(parser, f"{_DEFAULT_CONTEXT}")


def run(arguments: argparse.Namespace) -> int:
    """Print what fits and what does not.

    Raises:
        UsageError: there is no such file.
        ModelFileError: it is not a sound GGUF.
    """
    target: Path = arguments.target.expanduser()
    if not target.is_file():
        raise UsageError(f"There is no file {target}", "", "Name the GGUF file of a model.")
    asked = wanted(arguments, _DEFAULT_CONTEXT)
    from localspec.pairs.as_json import candidate_values  # noqa: PLC0415 - wrong calls are answered without it
    from localspec.pairs.machine_memory import machine_memory  # noqa: PLC0415 - as above
    from localspec.pairs.match import match_drafts  # noqa: PLC0415 - as above

    candidates = match_drafts(target, machine_memory(), asked)
    if arguments.json:
        told = {"target": str(target), "context": asked.context, "kv_type": asked.kv_type}
        print_json(told | {"candidates": [candidate_values(candidate) for candidate in candidates]})
    else:
        print_words(_as_words(target, candidates))
    return 0


def _as_words(target: Path, candidates: list[Candidate]) -> list[str]:
    fitting = [candidate for candidate in candidates if candidate.fits]
    others = [candidate for candidate in candidates if not candidate.fits]
    lines: list[str] = []
    if fitting:
        lines += sentence(f"These can guess for {target.name}, the smallest first:")
        for candidate in fitting:
            lines += _told(candidate, f"with the target it {candidate.fit.words}" if candidate.fit else "")
        lines += ["", "Talk: localspec chat --target TARGET.gguf --draft DRAFT.gguf"]
    else:
        lines += sentence(f"No other model on this machine can guess for {target.name}.")
    if others:
        lines += ["", "These cannot:" if fitting else "Not these:"]
        for candidate in others:
            lines += _told(candidate, f"{candidate.reason}: {candidate.words}")
    return lines


def _told(candidate: Candidate, words: str) -> list[str]:
    called = f" ({candidate.name})" if candidate.name else ""
    head = f"{candidate.path.name}, {gigabytes(candidate.bytes)}{called}"
    return [*sentence(head, "  "), *sentence(words, "    "), *sentence(str(candidate.path), "    ")]
