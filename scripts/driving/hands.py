"""What a person without patience does to the program: anything, in any order, and now and then a question."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress

import psutil  # type: ignore[import-untyped] # its stubs are a package of their own

from driving.keys import hostile, key, mouse, pasted, words
from driving.program import Program
from driving.watch import Asked, ViolationError, Watch
from localspec.tui.actions import ACTIONS

_SIZES = ((20, 5), (40, 10), (80, 24), (60, 20), (100, 30), (120, 40), (160, 20), (200, 50), (250, 80))
_ROOM = (80, 24)
"""What a question needs, so that the driver can see whether it was taken."""

_OTHER_KEYS = (
    "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "tab", "shift+tab", "backspace", "enter",
    "escape", "space", "alt+left", "alt+right", "alt+up", "alt+down", "shift+left", "shift+right", "ctrl+home",
    "ctrl+end", "ctrl+k", "ctrl+u", "ctrl+w", "ctrl+a", "ctrl+e", "ctrl+z", "alt+a", "alt+z", "f11", "f12",
)  # fmt: skip

_BETWEEN_INTERRUPTS = 6.0
"""Seconds between two Ctrl+C: within two of the program's own, the second one leaves."""


class Hands:
    """Does one thing after the other to a program, and tells what it did.

    Attributes:
        may_quit: whether it presses the keys that leave.
        refused: how many questions had to be sent twice, as an answer was being written.
    """

    def __init__(self, program: Program, watch: Watch, dice: random.Random) -> None:
        """Begin.

        Args:
            program: what is driven.
            watch: told what was asked.
            dice: decides.
        """
        self.program = program
        self.may_quit = False
        self.refused = 0
        self._watch = watch
        self._dice = dice
        self._size = (program.screen.columns, program.screen.rows)
        self._interrupted = 0.0
        self._acts: dict[Callable[[], str], int] = {
            self._press_action: 14, self._press: 14, self._type: 6, self._paste: 4, self._command: 8,
            self._mouse: 8, self._resize: 8, self._ask: 18, self._wait: 8, self._kill_engine: 2,
            self._restart_engine: 2, self._dialog: 8, self._compare: 2, self._delete: 1,
            self._begin_anew: 3, self._rubbish: 1,
        }  # fmt: skip

    def act(self) -> str:
        """Do something; what it was, in words."""
        (act,) = self._dice.choices(list(self._acts), list(self._acts.values()))
        name = act.__name__.strip("_")
        return f"{name}: {act()}"

    def _press_action(self) -> str:
        names = [name for action in ACTIONS for name in action.keys if self.may_quit or action.name != "quit"]
        return self._press_key(self._dice.choice(names))

    def _press(self) -> str:
        if self._dice.random() < 0.1 and time.monotonic() - self._interrupted > _BETWEEN_INTERRUPTS:
            self._interrupted = time.monotonic()
            return self._press_key("ctrl+c")
        return " ".join(self._press_key(self._dice.choice(_OTHER_KEYS)) for _ in range(self._dice.randint(1, 6)))

    def _type(self) -> str:
        text = words(self._dice, self._dice.randint(1, 8))
        self.program.send(text)
        return repr(text)

    def _paste(self) -> str:
        text = words(self._dice, self._dice.choice((1, 20, 300))) + hostile(self._dice)
        if self._dice.random() < 0.2:
            text = "\r".join(text for _ in range(self._dice.choice((10, 3000))))
        self.program.send(pasted(text))
        return f"{len(text)} characters, {text[:40]!r}"

    def _command(self) -> str:
        arguments = {
            "speculation": ("", "on", "off", "perhaps"), "code": ("", "1", "99", "x"),
            "attach": ("", "none", "note.txt"),
            "conversations": ("", "whale", '"'), "rename": ("", "Título 標題", "[bold]x"), "system": ("", "Be brief."),
            "export": ("", "out.md", "out.json", "no/such/folder.md"), "theme": ("", "textual-light", "nord", "none"),
        }  # fmt: skip
        slash = self._dice.choice([each.slash for each in ACTIONS if each.slash and each.slash != "quit"])
        argument = self._dice.choice(arguments.get(slash, ("", "", "too much")))
        text = f"/{slash} {argument}".strip() if self._dice.random() < 0.9 else f"/{words(self._dice, 1)}"
        self._go_to_chat()
        self.program.send(text + "\r")
        return text

    def _mouse(self) -> str:
        moved = mouse(self._dice, *self._size)
        self.program.send(moved)
        return repr(moved)

    def _resize(self) -> str:
        sizes = [self._dice.choice(_SIZES) for _ in range(self._dice.choice((1, 1, 2, 6)))]
        for size in sizes:
            self._set_size(*size)
            time.sleep(self._dice.choice((0, 0.02, 0.3)))
        return str(sizes)

    def _wait(self) -> str:
        seconds = self._dice.choice((0.1, 0.5, 1, 2, 4))
        time.sleep(seconds)
        return f"{seconds} s"

    def _ask(self) -> str:
        marker = f"q{len(self._watch.asked):05}{self._dice.randrange(16**4):04x}"
        text, attached = self._question(marker)
        if min(self._size[0] - _ROOM[0], self._size[1] - _ROOM[1]) < 0:
            self._set_size(*_ROOM)
        if not self._write(marker, text, attached) or not self._send(marker):
            return "the program is gone"
        self._watch.asked.append(Asked(marker, text, attached, time.monotonic()))
        return f"{marker} {text[:60]!r}" + (f" with {len(attached)} characters attached" if attached else "")

    def _question(self, marker: str) -> tuple[str, str]:
        """A text to send, and one to paste that is too large for it."""
        kind = self._dice.random()
        text = f"{marker} {words(self._dice, self._dice.randint(1, 12))}"
        if kind < 0.2:
            text += "\n" + words(self._dice, 5) + "\n\n- " + words(self._dice, 3)
        elif kind < 0.35:
            text += hostile(self._dice).replace("\r\n", "\n").replace("\r", "\n")
        elif kind < 0.4:
            return text, "\n".join(f"{marker} line {number}" for number in range(2500))
        return text, ""

    def _write(self, marker: str, text: str, attached: str) -> bool:
        """Bring the text into the composer, from wherever the program is; False when it is gone."""
        for _ in range(6):
            self._go_to_chat()
            emptied = self._clear()
            if not self.program.alive:
                return False
            if not emptied:
                continue
            self.program.send(pasted(text.replace("\n", "\r")) if "\n" in text or not text.isprintable() else text)
            if self.program.wait_for(lambda lines: marker in _composer(lines), 10):
                time.sleep(0.3)
                if attached:
                    self.program.send(pasted(attached))
                    time.sleep(0.3)
                return True
        if not self.program.alive:
            return False
        raise ViolationError(f"the chat takes no text: {marker} is not in the composer")

    def _send(self, marker: str) -> bool:
        """Press Enter until the text was taken; False when the program is gone."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            self.program.send(key("enter"))
            if self._empty(4):
                return True
            if not self.program.alive:
                return False
            self.refused += 1
            self._escape()
            time.sleep(0.35)
        raise ViolationError(f"{marker} cannot be sent")

    def _go_to_chat(self) -> None:
        """Close whatever is open: Escape always leads back."""
        for _ in range(self._dice.randint(2, 4)):
            self._escape()

    def _escape(self) -> None:
        """Press Escape, so that what follows is not taken together with it."""
        self.program.send(key("escape"))
        self.program.wait_until_read()
        time.sleep(0.15)

    def _clear(self) -> bool:
        """Empty the composer; whether it is seen to be empty."""
        for name in ("alt+a", "backspace"):
            # An escape character and what follows it too soon are read as one key.
            time.sleep(0.3)
            self.program.send(key(name))
        for _ in range(8):
            time.sleep(0.15)
            if not any("takes the last one away" in line for line in self.program.lines):
                break
            self.program.send(key("backspace"))
        return self._empty(5)

    def _empty(self, seconds: float) -> bool:
        """Whether the composer becomes empty in time, and stays so: a field that grows shows less for a moment."""
        emptied = self.program.wait_for(lambda lines: _is_empty(_composer(lines)), seconds)
        time.sleep(0.2)
        return emptied and _is_empty(_composer(self.program.lines))

    def _kill_engine(self) -> str:
        engine = self.program.engine
        if engine is None:
            return "there is none"
        kind = self._dice.choice((signal.SIGSEGV, signal.SIGKILL, signal.SIGSTOP))
        with suppress(psutil.NoSuchProcess):
            engine.send_signal(kind)
            if kind is signal.SIGSTOP:
                time.sleep(self._dice.choice((0.5, 3)))
                engine.kill()
        return kind.name

    def _restart_engine(self) -> str:
        return self._press_key("f10")

    def _dialog(self) -> str:
        """Open one, do something in it, and leave it or not."""
        name = self._dice.choice(("f5", "f3", "f4", "f1", "ctrl+p", "f7", "ctrl+o"))
        self._go_to_chat()
        done = [self._press_key(name)]
        time.sleep(self._dice.choice((0.05, 0.5, 1)))
        for _ in range(self._dice.randint(0, 5)):
            done.append(self._press_key(self._dice.choice(("up", "down", "tab", "pagedown", "enter", "f2", "space"))))
            if self._dice.random() < 0.2:
                done.append(self._type())
        if self._dice.random() < 0.6:
            done.append(self._press_key("escape"))
        return " ".join(done)

    def _compare(self) -> str:
        self._go_to_chat()
        done = [self._press_key("ctrl+g")]
        for _ in range(self._dice.randint(1, 5)):
            time.sleep(self._dice.choice((0.1, 1, 4)))
            done.append(self._press_key(self._dice.choice(("alt+s", "space", "tab", "down", "f1"))))
            letter = self._dice.choice("rse ")
            self.program.send(letter)
            done.append(letter)
        if self._dice.random() < 0.8:
            done.append(self._press_key("escape"))
        return " ".join(done)

    def _delete(self) -> str:
        """Delete a conversation, the way the list offers it."""
        self._go_to_chat()
        self._press_key("f5")
        time.sleep(1)
        for _ in range(self._dice.randint(1, 4)):
            self._press_key("down")
        self._watch.last_delete = time.monotonic()
        self._press_key("delete")
        time.sleep(0.5)
        return self._press_key("d" if self._dice.random() < 0.7 else "escape")

    def _begin_anew(self) -> str:
        self._go_to_chat()
        return self._press_key("ctrl+n")

    def _rubbish(self) -> str:
        """What a cat, or a bad line, sends."""
        sent = self._dice.choice(
            (b"\xff\xfe\x80", b"\x1b[", b"\x1b[999;999R", b"\x1b[200~cut", b"\x1b[<0;9M", b"\x1b\x1b\x1b")
        )
        self.program.send(sent)
        if b"200~" in sent:
            self.program.send("\x1b[201~")
        return repr(sent)

    def _press_key(self, name: str) -> str:
        self.program.send(key(name) if len(name) > 1 else name)
        time.sleep(self._dice.choice((0, 0, 0.02, 0.15)))
        return name

    def _set_size(self, columns: int, rows: int) -> None:
        self._size = (columns, rows)
        self.program.resize(columns, rows)


def _composer(lines: list[str]) -> str:
    """What the field at the bottom shows, its frame included; "" when it is not to be seen."""
    starts = [number for number, line in enumerate(lines) if line.startswith("│ > ")]
    return "\n".join(lines[starts[-1] :]) if starts else ""


def _is_empty(composer: str) -> bool:
    shown = composer.partition("\n")[0].strip("│> ")
    return shown.startswith("Ask something")
