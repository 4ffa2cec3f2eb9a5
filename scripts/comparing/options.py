"""What the person asked for, checked before anything is loaded."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from comparing.prompts import BUILT_IN, read_all_tasks
from comparing.server_arms import DEFAULT_ARMS, ServerArm, parse_server_arms
from comparing.server_binary import VARIABLE
from localspec.bench.arms import Arm, parse_arms
from localspec.bench.task_files import Task
from localspec.decoding.acceptance import rule_for
from localspec.engine.messages import LoadPair
from localspec.errors import UsageError
from localspec.locations import models_folder
from localspec.settings import Settings, from_flags

SETTINGS = ("target", "draft", "threads", "context", "top_k", "top_p", "min_p", "seed", "kv_type", "flash_attention")
"""Settings of localspec that are options here; all others have their defaults, whatever config.toml says."""

_LAST_SEED = 2**32 - 2
"""The next one asks the server to draw a seed of its own."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the person asked for, checked; nothing is loaded yet.

    Attributes:
        settings: of localspec.
        loading: the pair.
        server_arms: settings of the server.
        localspec_arms: settings of localspec.
        tasks: what is asked.
        task_names: names of the files they come from.
        temperatures: at which each is asked.
        tokens: most of an answer.
        runs: how often.
        json: file to write; None for none.
        server_options: more options for every server.
    """

    settings: Settings
    loading: LoadPair
    server_arms: tuple[ServerArm, ...]
    localspec_arms: tuple[Arm, ...]
    tasks: tuple[Task, ...]
    task_names: tuple[str, ...]
    temperatures: tuple[float, ...]
    tokens: int
    runs: int
    json: Path | None
    server_options: tuple[str, ...]


def parser_of(description: str) -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = models_folder()
    parser.add_argument("--target", default=str(folder / "qwen2.5-coder-1.5b-instruct-q8_0.gguf"), metavar="FILE")
    parser.add_argument("--draft", default=str(folder / "qwen2.5-coder-0.5b-instruct-q4_0.gguf"), metavar="FILE")
    parser.add_argument("--server", type=Path, metavar="FILE", help=f"llama-server (default: {VARIABLE}, the package)")
    parser.add_argument("--server-arms", default=DEFAULT_ARMS, metavar="ARMS", help="(default: %(default)s)")
    parser.add_argument("--localspec-arms", default="off,on", metavar="ARMS", help="as of `localspec bench --arms`")
    parser.add_argument("--server-options", default="", metavar="TEXT", help="more options for every server")
    parser.add_argument("--tasks", action="append", metavar="FILE", help=f"prompts, repeatable (default: {BUILT_IN})")
    parser.add_argument("--categories", default="", metavar="NAMES", help="only these, separated by commas")
    parser.add_argument("--per-category", type=_count, metavar="N", help="only the first N prompts of each")
    parser.add_argument("--temperature", default="0,0.8", metavar="LIST", help="(default: %(default)s)")
    parser.add_argument("--tokens", type=_count, default=128, metavar="N", help="most of an answer (default: 128)")
    parser.add_argument("--runs", type=_count, default=1, metavar="N", help="how often everything is done (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples and figures")
    defaults = {"threads": 2, "context": 4096, "seed": 1, "flash-attention": "auto", "kv-type": "f16"}
    for name, default in {**defaults, "top-k": 40, "top-p": 0.95, "min-p": 0.05}.items():
        parser.add_argument(f"--{name}", default=str(default), metavar="X", help=f"(default: {default})")
    return parser


def wanted_by(arguments: argparse.Namespace) -> Wanted:
    """Check everything that can be wrong before anything is loaded.

    Raises:
        UsageError: something is.
    """
    settings = Settings(**from_flags({name: getattr(arguments, name) for name in SETTINGS}))  # type: ignore[arg-type] # each went through its kind
    assert settings.target is not None
    assert settings.draft is not None
    if (settings.seed or 0) + arguments.runs > _LAST_SEED:
        raise UsageError(f"llama-server takes seeds up to {_LAST_SEED} only", "Each run has the next seed.")
    names = tuple(arguments.tasks or [BUILT_IN])
    path: Path | None = arguments.json
    if path is not None and (not path.absolute().parent.is_dir() or path.is_dir()):
        raise UsageError(f"{path} cannot be written", "There is no such folder, or it is one.")
    wanted = Wanted(
        settings=settings,
        loading=settings.loading(settings.target, settings.draft),
        server_arms=parse_server_arms(arguments.server_arms),
        localspec_arms=parse_arms(arguments.localspec_arms),
        tasks=read_all_tasks(names, [*filter(None, arguments.categories.split(","))], arguments.per_category),
        task_names=tuple(Path(name).name for name in names),
        temperatures=_temperatures(arguments.temperature),
        tokens=arguments.tokens,
        runs=arguments.runs,
        json=path,
        server_options=_words(arguments.server_options),
    )
    for arm in wanted.localspec_arms:
        _check_arm(arm, wanted)
    return wanted


def _check_arm(arm: Arm, wanted: Wanted) -> None:
    if arm.pair is not None or arm.temperature is not None:
        raise UsageError(f"The arm {arm.name} cannot be", "Pair and temperature are the same for both programs here.")
    for temperature in wanted.temperatures:
        try:
            rule_for(
                arm.speculation(wanted.settings.speculating(with_draft=True)).acceptance,
                replace(wanted.settings.sampling(), temperature=temperature),
            )
        except ValueError as error:
            words = str(error)
            raise UsageError(f"The arm {arm.name} cannot be", f"{words[:1].upper()}{words[1:]}.") from error


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError("--server-options cannot be read", f"{error}.", "Close the quotation mark.") from error


def _temperatures(text: str) -> tuple[float, ...]:
    try:
        found = tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError:
        found = ()
    if not found or not all(0 <= each < float("inf") for each in found):
        raise UsageError("--temperature must be numbers, 0 or more, separated by commas", f"Not {text!r}.")
    return found


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError("must be a whole number, 1 or more")
    return number
