"""`localspec calibrate`: its options, and what was found."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from localspec import locations
from localspec.cli.setting_options import add_settings
from localspec.settings import KEYS, Sources, from_environment, from_file, from_flags
from localspec.settings.keys import DRAFTING, MACHINE, MODELS

if TYPE_CHECKING:
    from localspec.engine.calibrations import Calibration
    from localspec.engine.client import EngineClient
    from localspec.terminal import Terminal

_DESCRIPTION = """\
Measure what passes of your pair cost on this machine: of the target by the
number of tokens in them, of the draft a step; and, unless you name --threads,
how many threads each model is quickest with. The figures are kept; from them
the automatic draft length decides what is worth guessing. It measures a few of
them by itself before a first answer; this measures all of them, in half a
minute to a few. Do nothing else on the machine meanwhile.

A change of the models, the threads, the device, the KV type, flash attention
or the build of llama.cpp is noticed, and measured anew."""

_EPILOG = """\
--json prints one object, "schema": 1: target, draft (threads, threads_tried,
seconds by width, before), target_curve, draft_step, best, pays_from, text,
spread, share, kv_type, flash_attention, build, processors, not_kept.

examples:
  localspec calibrate --pair demo
  localspec calibrate --target big.gguf --draft small.gguf --threads 4"""

_MEANINGLESS = frozenset(key.name for key in KEYS if key.group not in {MODELS, MACHINE})
"""Settings that passes cost the same with."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `localspec calibrate`: its own, then the settings of models and machine."""
    parser.usage = "localspec calibrate [--pair NAME] [options]"
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    own = parser.add_argument_group("what to do")
    own.add_argument("--quick", action="store_true", help="a few widths in some seconds, and no search for threads")
    own.add_argument("--json", action="store_true", help="print one JSON object")
    add_settings(parser, _MEANINGLESS, {"threads": "the best are looked for"})


def run(arguments: argparse.Namespace) -> int:
    """Measure, keep and tell.

    Raises:
        LocalspecError: no pair can be loaded, a model failed, or it cannot take guesses back.
    """
    given = {name: value for name, value in vars(arguments).items() if name not in _MEANINGLESS}
    environment = {**from_environment(os.environ), **DRAFTING}
    sources = Sources(from_flags(given), environment, from_file(locations.settings_file()))
    # numpy and the messages of the engine come in only now: wrong calls and --help are answered without them.
    from localspec.bench.calibrating.as_json import calibration_as_json  # noqa: PLC0415 - as said
    from localspec.bench.calibrating.words import calibration_lines  # noqa: PLC0415 - as said
    from localspec.bench.plots import glyphs_for  # noqa: PLC0415 - as said
    from localspec.cli.answering import load  # noqa: PLC0415 - as said
    from localspec.cli.models import choose_models  # noqa: PLC0415 - as said
    from localspec.engine.client import EngineClient  # noqa: PLC0415 - as said
    from localspec.terminal import Terminal, visible_json  # noqa: PLC0415 - as said

    terminal = Terminal(sys.stdout, sys.stderr)
    choice = choose_models(sources, terminal, draft_always=True)
    loading = replace(choice.loading, costs=False)
    with EngineClient() as client:
        loaded = load(client, loading, terminal)
        found = _calibrate(client, terminal, quick=arguments.quick)
    if arguments.json:
        terminal.write(visible_json(calibration_as_json(found, loaded, loading)))
    else:
        terminal.write("\n".join(calibration_lines(found, loaded, loading, glyphs_for(sys.stdout.encoding))))
    terminal.end_answer()
    return 0


def _calibrate(client: EngineClient, terminal: Terminal, *, quick: bool) -> Calibration:
    from localspec.cli.echo import EchoOff  # noqa: PLC0415 - as in `run`
    from localspec.engine.calibrations import Calibrate, CalibrationProgress  # noqa: PLC0415 - as in `run`

    found: Calibration | None = None
    try:
        with EchoOff():
            for event in client.calibrate(Calibrate(quick)):
                if isinstance(event, CalibrationProgress):
                    terminal.status(f"Measuring {event.what}: {event.fraction:.0%}")
                else:
                    found = event
    finally:
        terminal.clear_status()
    assert found is not None  # the last event of a calibration that did not fail
    return found
