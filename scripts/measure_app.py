#!/usr/bin/env python3
"""Measure the app on a real pair, on a terminal of its own: its first frame, its keys, and what it costs the engine.

    python scripts/measure_app.py speed      tokens/s in the app against `localspec chat --json`, alternating
    python scripts/measure_app.py keys       how long a key takes to be echoed while tokens stream
    python scripts/measure_app.py start      from the start of the program to its first frame
    python scripts/measure_app.py long       tokens/s over a long answer, quarter by quarter

It needs the bench pair (scripts/fetch_models.py) and writes to folders of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pexpect  # type: ignore[import-untyped] # its stubs are a package of their own

from localspec.conversations.conversation import Entry
from localspec.conversations.store import ConversationStore
from localspec.errors import HistoryError
from localspec.locations import models_folder

ROWS, COLUMNS = 40, 120
PROMPT = "Write a Python class for a priority queue with push, pop and peek, and explain each method in a sentence."
LONG_PROMPT = "Write a very long and detailed guide to growing vegetables, month by month, with lists and advice."
_WINDOW = 20_000
ECHOED = "ѫ"
"""A character that no answer holds."""


class App:
    """The program on a pseudo-terminal that is read as fast as it is written."""

    def __init__(self, folder: Path, *options: str) -> None:
        """Start it."""
        self.began = time.perf_counter()
        self.first_frame: float | None = None
        self._store = ConversationStore(folder / "history.sqlite3")
        self._seen = ""
        self._marks: dict[str, float] = {}
        self._child = pexpect.spawn(
            sys.executable,
            ["-P", "-m", "localspec", "chat", *options],
            dimensions=(ROWS, COLUMNS),
            env={**os.environ, "LOCALSPEC_DATA_DIR": str(folder), "TERM": "xterm-256color", "COLORTERM": "truecolor"},
        )
        self._child.delaybeforesend = None  # pexpect would wait 50 ms before each key
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, keys: str) -> None:
        """Press keys."""
        self._child.send(keys)

    def wait_for(self, seen: Callable[[str], object], seconds: float = 300) -> float:
        """Wait until what was written to the terminal satisfies `seen`; the moment it did."""
        deadline = time.perf_counter() + seconds
        while not seen(self._seen):
            if time.perf_counter() > deadline or not self._child.isalive():
                raise SystemExit(
                    "the app did not come to this:\n" + re.sub(r"\x1b[^a-zA-Z]*[a-zA-Z]", " ", self._seen[-2000:])
                )
            time.sleep(0.0005)
        return time.perf_counter()

    def forget(self) -> None:
        """Look only at what is written from now on."""
        self._seen = ""

    def last_answer(self) -> Entry | None:
        """The newest answer that is over, as it was kept."""
        try:
            latest = self._store.latest()
            head = self._store.open(latest.id).head if latest else None
        except HistoryError:
            return None
        return head if head and head.facts and head.facts.finish != "writing" else None

    def wait_for_answer(self, seconds: float = 900) -> Entry:
        """Wait until an answer is over."""
        deadline = time.perf_counter() + seconds
        while (answer := self.last_answer()) is None:
            if time.perf_counter() > deadline:
                raise SystemExit("no answer was kept")
            time.sleep(2)
        return answer

    def rounds(self, answer: Entry) -> list[tuple[int, float]]:
        """Tokens and seconds of each round."""
        return [(len(each.tokens), each.seconds) for each in self._store.rounds(answer.id)]

    def quit(self) -> None:
        """Leave as a person does."""
        self.send("\x11")
        self._child.expect(pexpect.EOF, timeout=30) if not self._reader.is_alive() else self._reader.join(30)
        self._child.close(force=True)

    def _read(self) -> None:
        while True:
            try:
                read = os.read(self._child.child_fd, 65536).decode("utf-8", "replace")
            except OSError:
                return
            # A window's worth: what takes part of the processor here is missing there.
            self._seen = (self._seen + read)[-_WINDOW:]
            if self.first_frame is None and "localspec" in self._seen and "speculation" in self._seen:
                self.first_frame = time.perf_counter() - self.began


def pair_options(arguments: argparse.Namespace) -> list[str]:
    """The pair and the settings of every measurement."""
    folder = models_folder()
    target = arguments.target or folder / "qwen2.5-coder-1.5b-instruct-q8_0.gguf"
    draft = arguments.draft or folder / "qwen2.5-coder-0.5b-instruct-q4_0.gguf"
    options = ["--target", str(target), "--draft", str(draft), "--temperature", "0"]
    if arguments.threads:
        options += ["--threads", str(arguments.threads)]
    return options


def measure_speed(arguments: argparse.Namespace) -> None:
    """Alternate the app and one answer without it; medians and their ratio."""
    options = [*pair_options(arguments), "--max-tokens", str(arguments.tokens)]
    inside, outside = [], []
    for run in range(arguments.runs):
        for which in ("app", "json") if run % 2 == 0 else ("json", "app"):
            if which == "app":
                with tempfile.TemporaryDirectory() as folder:
                    app = App(Path(folder), *options)
                    app.wait_for(lambda seen: "CPU, " in seen)
                    app.send(PROMPT + "\r")
                    facts = app.wait_for_answer().facts
                    app.quit()
                assert facts is not None
                inside.append(facts.statistics.tokens_per_second or 0.0)
            else:
                done = subprocess.run(
                    [sys.executable, "-P", "-m", "localspec", "chat", "--json", "-p", PROMPT, *options],
                    check=True, capture_output=True, text=True,
                )  # fmt: skip
                outside.append(json.loads(done.stdout)["timings"]["tokens_per_second"])
        print(f"run {run + 1}: app {inside[-1]:.2f} tok/s, --json {outside[-1]:.2f} tok/s", flush=True)
    ratio = statistics.median(inside) / statistics.median(outside)
    paired = statistics.median(a / b for a, b in zip(inside, outside, strict=True))
    print(f"medians: app {statistics.median(inside):.2f}, --json {statistics.median(outside):.2f}: {ratio:.3f}")
    print(f"median of the ratios run by run: {paired:.3f}")


def measure_keys(arguments: argparse.Namespace) -> None:
    """Press a key again and again while an answer streams."""
    options = [*pair_options(arguments), "--max-tokens", "2000"]
    delays = []
    with tempfile.TemporaryDirectory() as folder:
        app = App(Path(folder), *options)
        app.wait_for(lambda seen: "CPU, " in seen)
        app.send(LONG_PROMPT + "\r")
        app.wait_for(lambda seen: "of late" in seen)
        for number in range(arguments.presses):
            time.sleep(0.13 + 0.01 * (number % 7))
            app.forget()
            pressed = time.perf_counter()
            app.send(ECHOED)
            delays.append(app.wait_for(lambda seen: ECHOED in seen, 10) - pressed)
        app.quit()
    delays.sort()
    middle, late = delays[len(delays) // 2], delays[int(len(delays) * 0.95)]
    print(
        f"{len(delays)} keys: median {middle * 1000:.1f} ms, p95 {late * 1000:.1f} ms, worst {delays[-1] * 1000:.1f} ms"
    )


def measure_start(arguments: argparse.Namespace) -> None:
    """Start the program again and again."""
    frames = []
    for _ in range(arguments.runs):
        with tempfile.TemporaryDirectory() as folder:
            app = App(Path(folder), *pair_options(arguments))
            app.wait_for(lambda seen: "CPU, " in seen)
            frames.append(app.first_frame or 0.0)
            app.quit()
    print(
        f"first frame after {', '.join(f'{frame:.2f}' for frame in frames)} s: median {statistics.median(frames):.2f} s"
    )


def measure_long(arguments: argparse.Namespace) -> None:
    """One long answer, and the speed in each quarter of it."""
    options = [*pair_options(arguments), "--max-tokens", "2000", "--context", "4096", "--no-speculation"]
    with tempfile.TemporaryDirectory() as folder:
        app = App(Path(folder), *options)
        app.wait_for(lambda seen: "CPU, " in seen)
        app.send(LONG_PROMPT + "\r")
        rounds = app.rounds(app.wait_for_answer())
        app.quit()
    quarter = max(len(rounds) // 4, 1)
    for number in range(4):
        part = rounds[number * quarter : (number + 1) * quarter]
        tokens, seconds = sum(count for count, _ in part), sum(time for _, time in part)
        print(f"quarter {number + 1}: {tokens} tokens, {tokens / seconds:.2f} tok/s")


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measures = {"speed": measure_speed, "keys": measure_keys, "start": measure_start, "long": measure_long}
    parser.add_argument("what", choices=measures)
    parser.add_argument("--target", type=Path)
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--presses", type=int, default=100)
    arguments = parser.parse_args()
    measures[arguments.what](arguments)


if __name__ == "__main__":
    main()
