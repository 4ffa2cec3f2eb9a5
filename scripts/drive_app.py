#!/usr/bin/env python3
"""Drive the app as nobody sane would, for as long as wanted, and look that nothing is lost, grows or breaks.

    python scripts/drive_app.py [--minutes 30] [--seed N] [--keep FOLDER]

It starts `localspec chat` on the demo pair, on a terminal of its own that it resizes from 20x5 to 250x80, and does what
chance says: every key of the app, text and pastes in any script, control characters, the mouse, slash commands, dialogs
opened and left, conversations opened and deleted, comparisons, and kills of the engine. In the first quarter of the
time it also leaves the program, or kills it, and resumes; after that one process lives on, so that its memory can be
judged.

All along it checks that the program lives and takes text; that no traceback and no control character of a text reaches
the terminal; that each question that was taken is in the file of conversations within seconds, with every character,
and stays there; and that no answer loses a word. At the end: that the program leaves with code 0, the terminal as it
was and no process behind it, that the file is whole, and that memory did not grow.

It prints what it did. On a violation it says which, the last things it did, and what the screen showed, and ends with
code 1; the same seed makes the same choices, though the machine's speed decides what they meet. It needs the demo model
(the extra `demo`) and pexpect (the extra `test`), and writes to a temporary folder of its own, or to `--keep FOLDER`.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import sys
import tempfile
import time
from collections import Counter, deque
from pathlib import Path

from driving.hands import Hands
from driving.program import Program
from driving.watch import ViolationError, Watch

_ALLOWED_GROWTH = 1.0
"""Megabytes a minute; what Python's allocator does by itself within a few minutes can be more in a short run."""

_MINUTES_TO_JUDGE = 10
"""How long a process must have lived for its memory to be judged."""

_LEAVES = ("ctrl+q", "ctrl+c", "mouse", "ctrl+p", "palette")
"""What may have made the program leave, when it left well."""

_LAST = 30


_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Drive:
    """One drive, from the first start to the last look."""

    def __init__(self, folder: Path, minutes: float, seed: int) -> None:
        """Prepare."""
        self.did: Counter[str] = Counter()
        self.last: deque[str] = deque(maxlen=_LAST)
        self.watch = Watch(folder)
        self._folder = folder
        self._seconds = minutes * 60
        self._dice = random.Random(seed)  # noqa: S311 - chance, not a secret
        self._log = (folder / "acts.txt").open("w", encoding="utf-8")
        self._began = time.monotonic()
        (folder / "note.txt").write_text("A whale is no fish.\n", encoding="utf-8")
        self._start()

    def run(self) -> None:
        """Drive until the time is over.

        Raises:
            ViolationError: something is wrong.
        """
        looked = 0.0
        while (elapsed := time.monotonic() - self._began) < self._seconds:
            self.hands.may_quit = elapsed < self._seconds / 4
            if self.hands.may_quit and self._dice.random() < 0.01:
                self._leave()
            self._note(self.hands.act())
            if not self.program.alive:
                self._left()
            if time.monotonic() - looked > 3:
                looked = time.monotonic()
                self.watch.look(self.program)
        self._end(self.program.quit())
        self.watch.look_at_file()
        self.watch.look_at_the_end()

    def summary(self) -> str:
        """What was done, in a few lines."""
        asked = self.watch.asked
        acts = ", ".join(f"{name} {count}" for name, count in self.did.most_common())
        forgiven = Counter(each.forgiven for each in asked if each.forgiven)
        kept = sum(bool(each.seen_in) for each in asked)
        return (
            f"{sum(self.did.values())} acts in {(time.monotonic() - self._began) / 60:.1f} minutes: {acts}\n"
            f"{len(asked)} questions, {kept} of them in the file, {dict(forgiven)}; "
            f"{len(self.watch.answers)} answers\n"
            f"{len(self.watch.processes)} processes; {self.watch.growth()[1]}"
        )

    def _start(self, *options: str) -> None:
        self.program = Program(self._folder, (100, 30), *options)
        self.hands = Hands(self.program, self.watch, self._dice)
        self.watch.begin_process()
        if not self.program.wait_for(lambda lines: any(line.startswith("│ > ") for line in lines), 60):
            raise ViolationError("the program does not start")

    def _leave(self) -> None:
        """Leave well, or be killed; then resume."""
        killed = self._dice.random() < 0.5
        self._note("kill -9" if killed else "ctrl+q")
        if killed:
            self.program.kill()
            self.watch.forgive_the_last_second()
            self._end(True, killed=True)
        else:
            self._end(self.program.quit())
        self._start(*self._dice.choice(((), ("--resume",))))

    def _left(self) -> None:
        """The program ended while it was driven: was it asked to?"""
        if self.program.code or not any(word in act for act in list(self.last)[-12:] for word in _LEAVES):
            raise ViolationError(f"the program ended with code {self.program.code}")
        self._end(True)
        self._start("--resume")

    def _end(self, ended: bool, *, killed: bool = False) -> None:
        """Look at what the program left."""
        if not ended:
            raise ViolationError("the program does not leave")
        if not killed and self.program.code:
            raise ViolationError(f"the program ended with code {self.program.code}")
        if not killed and not self.program.terminal_restored:
            raise ViolationError("the terminal is not as it was")
        if orphans := self.program.orphans(20):
            raise ViolationError(f"processes are left: {orphans}")
        self.program.close()

    def _note(self, act: str) -> None:
        self.did[act.partition(":")[0]] += 1
        self.last.append(act)
        self._log.write(f"{time.monotonic() - self._began:8.2f} {act}\n")
        self._log.flush()

    def close(self) -> None:
        """End what is still there."""
        self._log.close()
        self.program.kill()
        for process in self.program.orphans(3):
            process.kill()
        self.program.close()


def main() -> int:
    """Drive, and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", type=Path, default=None)
    arguments = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if arguments.seed is None else arguments.seed
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print(f"seed {seed}, {arguments.minutes:g} minutes", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        drive = Drive(folder, arguments.minutes, seed)
        violation = ""
        try:
            drive.run()
            growth = drive.watch.growth()[0]
            if arguments.minutes >= _MINUTES_TO_JUDGE and growth > _ALLOWED_GROWTH:
                violation = f"memory grows by {growth:.2f} MB a minute"
        except ViolationError as error:
            violation = str(error)
        finally:
            screen = drive.program.lines
            if violation:
                drive.program.abort()
            written = drive.program.written
            (folder / "written.txt").write_text(written, encoding="utf-8")
            drive.close()
    print(drive.summary())
    if not violation:
        print("Nothing was lost, nothing broke.")
        return 0
    print(f"\nVIOLATION (seed {seed}): {violation}\n\nThe last things done:")
    print("\n".join(drive.last))
    print("\nThe screen:\n" + "\n".join(screen))
    print(f"\nWritten last:\n{_ESCAPES.sub('', written)[-3000:]}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
