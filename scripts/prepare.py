"""Makes `.venv` in the checkout with the program, what it needs, and a llama.cpp built for this machine; once.

Only the standard library is used, and what the checkout itself brings: nothing else is there yet.
Called by `scripts/setup`, which finds a Python that is new enough. Arguments: the extras to install.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from build_choice import choose_backend, cmake_arguments, look_at_machine  # noqa: E402 - after the path is set
from localspec.errors import LocalspecError, UsageError  # noqa: E402
from one_at_a_time import one_at_a_time  # noqa: E402
from steps import Workplace, say  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The release that was tested. pyproject.toml says which others may do, for those who install the program themselves.
BINDINGS: Final = "llama-cpp-python==0.3.36"
_ASKED: Final = ("LOCALSPEC_BACKEND", "CMAKE_ARGS")
_PIP: Final = ("-m", "pip", "--disable-pip-version-check", "--no-input")


@dataclass(frozen=True, slots=True)
class Installation:
    """What `.venv` holds, as its stamp tells it, or what it should hold.

    Attributes:
        root: the checkout; its path is written into the installed program, so a moved one is installed again.
        project: digest of what pyproject.toml says to install.
        extras: the extras that are installed.
        bindings: the requirement that was built.
        asked: what the person asked of the build, by variable; those not set are absent.
    """

    root: str
    project: str
    extras: tuple[str, ...]
    bindings: str = BINDINGS
    asked: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, stamp: Path) -> Self | None:
        """The installation a stamp tells of; None when there is none, or none that can be read."""
        try:
            values: dict[str, Any] = json.loads(stamp.read_text())
            return cls(**{**values, "extras": tuple(values["extras"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def after(self, present: Installation | None) -> Installation:
        """This, with what `present` has and this call does not speak of: other extras, what was asked of the build."""
        if present is None:
            return self
        extras = tuple(sorted({*present.extras, *self.extras}))
        return replace(self, extras=extras, asked=self.asked or present.asked)

    def write(self, stamp: Path) -> None:
        """Writes the stamp whole or not at all."""
        partial = stamp.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(self), indent=2))
        partial.replace(stamp)


@dataclass(frozen=True, slots=True)
class Work:
    """What has to be done to get from one installation to another."""

    build: bool
    install: bool


def work_left(present: Installation | None, wanted: Installation) -> Work:
    """Decides what to do to get from `present` (None: nothing known) to `wanted`."""
    if present is None:
        return Work(build=True, install=True)
    build = (present.bindings, present.asked) != (wanted.bindings, wanted.asked)
    return Work(build=build, install=build or present != wanted)


def wanted_installation(root: Path, extras: Sequence[str], environment: Mapping[str, str]) -> Installation:
    """What this call asks for.

    Raises:
        UsageError: an extra that pyproject.toml does not have.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text())
    known = project["project"]["optional-dependencies"]
    for extra in extras:
        if extra not in known:
            raise UsageError(f"There is no extra named {extra}", f"pyproject.toml has: {', '.join(known)}.")
    what_counts = json.dumps([project["build-system"], project["project"]], sort_keys=True)
    asked = {name: environment[name] for name in _ASKED if environment.get(name)}
    digest = hashlib.sha256(what_counts.encode()).hexdigest()
    return Installation(str(root), digest, tuple(sorted(extras)), asked=asked)


@dataclass(frozen=True, slots=True)
class SetUp:
    """One run of the set-up at a workplace: the top of the checkout, alone there."""

    place: Workplace

    @property
    def python(self) -> Path:
        """The interpreter of `.venv`."""
        return self.place.folder / ".venv" / "bin" / "python"

    def carry_out(self, wanted: Installation, *, build: bool) -> None:
        """Gets to `wanted`. Each step keeps what an interrupted run left whole, so all may be repeated."""
        self._make_venv()
        if build and (wanted.asked or self._bindings_fault()):
            wheel = self._built_wheel(wanted)
            self._pip("installing llama.cpp", "install", "--no-deps", "--force-reinstall", str(wheel))
        extras = f"[{','.join(wanted.extras)}]" if wanted.extras else ""
        self._pip("installing localspec and what it needs", "install", "--editable", f".{extras}")
        if fault := self._bindings_fault():
            raise LocalspecError(
                "llama.cpp was built but does not load",
                fault,
                f"Remove .venv and build in {self.place.folder}, then run the same command again.",
            )

    def _make_venv(self) -> None:
        if not self._fault("-c", "import sys; sys.exit(sys.version_info < (3, 11))"):
            if self._fault(*_PIP, "--version"):
                self.place.run("adding pip to .venv", str(self.python), "-m", "ensurepip", "--upgrade")
            return
        for module in ("venv", "ensurepip"):
            if importlib.util.find_spec(module) is None:
                raise LocalspecError(
                    f"This Python has no {module} module",
                    f"{sys.executable} cannot make a virtual environment without it.",
                    "Debian, Ubuntu: sudo apt install python3-venv · or set PYTHON to another Python, 3.11 or newer.",
                )
        self.place.run("making .venv", sys.executable, "-m", "venv", "--clear", str(self.place.folder / ".venv"))

    def _built_wheel(self, wanted: Installation) -> Path:
        """The wheel of the bindings, built for this machine unless an earlier run got that far."""
        machine = look_at_machine(self.place.environment)
        backend = choose_backend(machine, wanted.asked.get("LOCALSPEC_BACKEND", ""))
        arguments = cmake_arguments(machine, backend, wanted.asked.get("CMAKE_ARGS", ""))
        digest = hashlib.sha256(f"{wanted.bindings} {arguments}".encode()).hexdigest()[:16]
        folder = self.place.folder / "build" / "wheels" / digest
        if not (done := list(folder.glob("*.whl"))):
            say("\n".join(filter(None, [backend.note, f"CMAKE_ARGS={arguments}"])))
            partial = folder.with_suffix(".partial")
            # pip's cache knows a wheel by name and version, not by CMAKE_ARGS: one built for another machine or
            # backend would be taken for this one, so the cache is left out.
            self._pip(
                f"building llama.cpp for {backend.name}: about 5 minutes on 2 cores, once",
                *("wheel", "--verbose", "--no-deps", "--no-cache-dir", "--wheel-dir", str(partial), wanted.bindings),
                CMAKE_ARGS=arguments,
            )
            partial.rename(folder)
            done = list(folder.glob("*.whl"))
        return done[0]

    def _bindings_fault(self) -> str:
        """Why the bindings cannot be used, "" when they can."""
        name, version = BINDINGS.split("==")
        return self._fault(
            "-c",
            f"import importlib.metadata as m, llama_cpp; assert m.version('{name}') == '{version}', 'not {BINDINGS}'",
        )

    def _fault(self, *arguments: str) -> str:
        """The last thing the interpreter of `.venv` said when it failed on `arguments`, "" when it did not."""
        try:
            run = subprocess.run([self.python, *arguments], capture_output=True, text=True, check=False)
        except OSError as error:
            return str(error)
        said = run.stderr.strip() or f"exit code {run.returncode}"
        return said.splitlines()[-1] if run.returncode else ""

    def _pip(self, title: str, *arguments: str, **variables: str) -> None:
        self.place.run(title, str(self.python), *_PIP, *arguments, **variables)


def prepare(root: Path, extras: Sequence[str], environment: Mapping[str, str]) -> None:
    """Sees to it that `.venv` under `root` holds what is wanted. Fast when it does.

    Raises:
        LocalspecError: it could not be done.
    """
    stamp = root / ".venv" / "localspec-setup.json"
    asked_now = wanted_installation(root, extras, environment)

    def compare() -> tuple[Work, Installation]:
        present = Installation.read(stamp) if (root / ".venv" / "bin" / "python").exists() else None
        wanted = asked_now.after(present)
        return work_left(present, wanted), wanted

    if not compare()[0].install:
        return
    words = "another set-up is at work in this checkout: waiting for it"
    with one_at_a_time(root / "build" / "setup.lock", lambda: say(words)) as lock:
        work, wanted = compare()
        if not work.install:
            return
        stamp.unlink(missing_ok=True)
        # PIP_USER would have pip install beside the environment it is run in.
        place = Workplace(root, root / "build" / "setup.log", {**environment, "PIP_USER": "0"}, lock)
        SetUp(place).carry_out(wanted, build=work.build)
        wanted.write(stamp)


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0 fine, 1 it failed, 2 the call was wrong, 130 interrupted."""
    try:
        prepare(ROOT, arguments, os.environ)
    except LocalspecError as error:
        say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted: the same command goes on from here")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
