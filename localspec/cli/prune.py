"""`localspec prune`: its options, and what the search found."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from localspec import locations
from localspec.cli.setting_options import add_settings
from localspec.errors import UsageError
from localspec.settings import KEYS, from_environment, from_file, from_flags, merge
from localspec.settings.keys import MACHINE, SAMPLING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from localspec.engine.messages import LoadPair
    from localspec.pairs.progress import PullProgress
    from localspec.settings import Settings
    from localspec.terminal import Terminal

_DESCRIPTION = """\
Make a draft of a model's own layers: with fewer of them it is smaller and
quicker, shares the tokenizer, and needs no download. Which layers to drop is
looked for by leaving them out, one by one and then together, as they are and
requantized, and by judging each such draft by texts that the model wrote
itself. What counts is the predicted speed-up with what passes cost here, not
agreement alone. Where nothing pays, it says so, and keeps nothing.

TARGET is the path of a GGUF, or the name of a pair or model that was pulled.
What is kept is a pair called TARGET-pruned, for `chat --pair`, `list`, `show`,
`bench --arms off,on,pair=NAME`, `rm` and the app. Do nothing else meanwhile."""

_EPILOG = """\
The sampling options say how its guesses will be drawn: at temperature 0 a
guess is kept where both models have the same likeliest token, above it with
the chance sum min(p, q).

It needs room on the disk of the cache folder for the model once more, and for
it in the types it is requantized to; all of that is removed in the end, also
on Ctrl-C.

--json prints one object, "schema": 1: target, sampling, places, check_places,
curve, tried and finalists (dropped, file_type, bytes, agreement, step, drafted,
speed_up, trouble, steady), pays, pair, path, seconds.

examples:
  localspec prune big.gguf
  localspec prune qwen2.5-coder-7b --quick --temperature 0"""

_MEANINGLESS = frozenset(key.name for key in KEYS if key.group not in {SAMPLING, MACHINE} or key.name == "seed")
"""Settings that a search has no use for: its texts are the same each time."""

_MINUTES, _QUICK_MINUTES = 10.0, 1.5
_MOST_MINUTES = 100_000
_TOKENS, _QUICK_TOKENS = 64, 24
_CONTEXT = 512
"""Tokens, unless the person says how many: prompts and answers are short."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `localspec prune`: its own, then the settings of sampling and machine."""
    parser.usage = "localspec prune TARGET [options]"
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument("target", metavar="TARGET", help="a GGUF, or the name of a pair or model that was pulled")
    own = parser.add_argument_group("what to do")
    own.add_argument("--quick", action="store_true", help=f"shorter texts, and {_QUICK_MINUTES:g} minutes")
    own.add_argument("--minutes", metavar="X", help=f"how long to search at most (default: {_MINUTES:g})")
    own.add_argument("--keep-best", action="store_true", help="keep the best draft also when it does not pay here")
    own.add_argument("--json", action="store_true", help="print one JSON object")
    add_settings(parser, _MEANINGLESS, {"context": f"{_CONTEXT}"})


def run(arguments: argparse.Namespace) -> int:
    """Search, keep what pays, and tell.

    Raises:
        UsageError: there is no such model, or a setting is impossible.
        LocalspecError: no layer of it can be dropped, there is no room, or the models failed.
    """
    minutes = _minutes(arguments.minutes, _QUICK_MINUTES if arguments.quick else _MINUTES)
    given = {name: value for name, value in vars(arguments).items() if name not in _MEANINGLESS}
    sources = from_flags(given), from_environment(os.environ), from_file(locations.settings_file())
    merge(*sources)  # what is impossible is told before anything is read
    # The catalog, numpy and the messages of the engine come in only now: --help is answered without them.
    from localspec.bench.pruning.as_json import pruning_as_json  # noqa: PLC0415 - as said
    from localspec.bench.pruning.running import Wish, find_best, keep_best, trial_folder  # noqa: PLC0415 - as said
    from localspec.bench.pruning.words import pruning_lines  # noqa: PLC0415 - as said
    from localspec.cli.answering import load  # noqa: PLC0415 - as said
    from localspec.cli.echo import EchoOff  # noqa: PLC0415 - as said
    from localspec.engine.client import EngineClient  # noqa: PLC0415 - as said
    from localspec.pairs.gguf_bytes import LocalFile  # noqa: PLC0415 - as said
    from localspec.pairs.gguf_reading import read_header  # noqa: PLC0415 - as said
    from localspec.pairs.progress import Meter, never  # noqa: PLC0415 - as said
    from localspec.pairs.prunable import droppable_layers  # noqa: PLC0415 - as said
    from localspec.pairs.pruned import named_target  # noqa: PLC0415 - as said
    from localspec.terminal import Terminal, visible_json  # noqa: PLC0415 - as said

    terminal = Terminal(sys.stdout, sys.stderr)
    target = named_target(arguments.target, Meter(_reporting(terminal), never))
    header = read_header(LocalFile(target.path))
    droppable_layers(header)
    recommended = {name: value for name, value in asdict(target.sampling).items() if value is not None}
    settings = merge(*sources, pair_defaults=recommended)
    wish = Wish(
        sampling=replace(settings.sampling(), seed=None),
        tokens=_QUICK_TOKENS if arguments.quick else _TOKENS,
        seconds=minutes * 60,
        device=settings.draft_device,
        gpu_layers=settings.draft_gpu_layers,
    )
    pair = None
    # The engine ends before the folder goes: it may be writing to it.
    with trial_folder(header) as folder, EngineClient() as client:
        load(client, _loading(settings, target.path), terminal)
        try:
            with EchoOff():
                result = find_best(client, header, wish, folder, _telling(terminal))
                if result.best is not None and (result.pays or arguments.keep_best):
                    pair = keep_best(client, result, target, folder, _telling(terminal))
        finally:
            terminal.clear_status()
    if arguments.json:
        terminal.write(visible_json(pruning_as_json(result, pair)))
    else:
        terminal.write("\n".join(pruning_lines(result, pair)))
    terminal.end_answer()
    return 0


def _minutes(given: str | None, default: float) -> float:
    if given is None:
        return default
    try:
        minutes = float(given)
    except ValueError:
        minutes = 0.0
    if not 0 < minutes < _MOST_MINUTES:
        raise UsageError(f"--minutes must be a number above 0, not {given!r}")
    return minutes


def _loading(settings: Settings, target: Path) -> LoadPair:
    """The target alone; texts are short."""
    loading = settings.loading(target, None)
    return replace(loading, context=settings.context or _CONTEXT, costs=False)


def _telling(terminal: Terminal) -> Callable[[str], None]:
    return lambda words: terminal.status(f"{words[0].upper()}{words[1:]}")


def _reporting(terminal: Terminal) -> Callable[[PullProgress], None]:
    return lambda progress: terminal.status(progress.words)
