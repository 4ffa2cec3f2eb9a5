"""The set-up, run for real in a small checkout: a real shell, venv and pip, against packages in a folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from prepare import BINDINGS, ROOT
from tests.scripts.packages import only_from, write_source_package, write_wheel

_PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "localspec"
dependencies = ["llama-cpp-python"]
[project.optional-dependencies]
demo = []
test = ["further"]
"""
_BACKEND = """
import pathlib, zipfile
def build_editable(folder, config_settings=None, metadata_directory=None):
    file = "localspec-0.1-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder) / file, "w") as wheel:
        wheel.writestr("localspec.pth", str(pathlib.Path.cwd()))
        wheel.writestr("localspec-0.1.dist-info/METADATA", '''Metadata-Version: 2.1
Name: localspec
Version: 0.1
Requires-Dist: llama-cpp-python
Provides-Extra: demo
Provides-Extra: test
Requires-Dist: further; extra == "test"
''')
        tag = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
        wheel.writestr("localspec-0.1.dist-info/WHEEL", tag)
        wheel.writestr("localspec-0.1.dist-info/RECORD", "")
    return file
"""
_PROGRAM = """
import json, llama_cpp, localspec, sys
print(json.dumps([sys.argv[1:], localspec.__file__, llama_cpp.BUILT_WITH]))
"""


@dataclass(frozen=True)
class Checkout:
    """A copy of the scripts around a program that only says what it was called with."""

    root: Path
    index: Path

    @property
    def log(self) -> str:
        return (self.root / "build" / "setup.log").read_text()

    @property
    def builds(self) -> int:
        return self.log.count(f" {BINDINGS}\n")

    @property
    def stamp(self) -> Path:
        return self.root / ".venv" / "localspec-setup.json"

    def start(
        self, script: str, *arguments: str, folder: Path | None = None, **variables: str
    ) -> subprocess.Popen[str]:
        inherited = {
            name: value for name, value in os.environ.items() if name not in {"CMAKE_ARGS", "LOCALSPEC_BACKEND"}
        }
        return subprocess.Popen(
            [self.root / "scripts" / script, *arguments],
            cwd=folder or self.root,
            env={**inherited, **only_from(self.index), "PYTHON": sys.executable, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, script: str, *arguments: str, folder: Path | None = None, **variables: str) -> tuple[int, str, str]:
        process = self.start(script, *arguments, folder=folder, **variables)
        output, errors = process.communicate(timeout=120)
        assert "Traceback" not in errors
        return process.returncode, output, errors

    def chat(self, *arguments: str, folder: Path | None = None, **variables: str) -> tuple[list[str], Path, str]:
        code, output, errors = self.run("chat", *arguments, folder=folder, **variables)
        assert code == 0, errors
        called_with, program, built_with = json.loads(output)
        return called_with, Path(program), built_with

    def moved(self, root: Path) -> Checkout:
        shutil.copytree(self.root, root, symlinks=True)
        return Checkout(root, self.index)


def fresh_checkout(folder: Path) -> Checkout:
    root = folder / "a checkout"
    shutil.copytree(ROOT / "scripts", root / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "localspec").mkdir()
    for name in ("__init__.py", "errors.py"):
        shutil.copy(ROOT / "localspec" / name, root / "localspec" / name)
    (root / "localspec" / "__main__.py").write_text(_PROGRAM)
    (root / "pyproject.toml").write_text(_PROJECT)
    (root / "backend.py").write_text(_BACKEND)
    index = folder / "index"
    name, version = BINDINGS.split("==")
    write_source_package(index, name, version, "llama_cpp", needs="needed")
    write_wheel(index, "needed", "1.0", {"needed.py": b""})
    write_wheel(index, "further", "1.0", {"further.py": b""})
    return Checkout(root, index)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout after its first `scripts/chat`; tests that change it take a moved copy."""
    checkout = fresh_checkout(tmp_path_factory.mktemp("made"))
    checkout.chat()
    return checkout


def test_a_clean_checkout_chats_from_any_folder_and_the_second_time_at_once(made: Checkout, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    before = made.log

    called_with, program, built_with = made.chat("-p", "two words", folder=tmp_path)

    assert called_with == ["chat", "-p", "two words"]
    assert program == made.root / "localspec" / "__init__.py"
    assert "-DLLAVA_BUILD=OFF" in built_with
    assert made.log == before


def test_a_moved_checkout_runs_its_own_program_without_a_new_build(made: Checkout, tmp_path: Path) -> None:
    moved = made.moved(tmp_path / "moved to here")

    assert moved.chat()[1] == moved.root / "localspec" / "__init__.py"
    assert moved.builds == made.builds == 1


def test_an_asked_build_replaces_the_one_there_and_stays(made: Checkout, tmp_path: Path) -> None:
    checkout = made.moved(tmp_path / "checkout")

    assert checkout.chat(CMAKE_ARGS="-DMINE=1")[2].endswith("-DMINE=1")
    assert checkout.chat()[2].endswith("-DMINE=1")


def test_an_extra_is_added_to_those_there(made: Checkout, tmp_path: Path) -> None:
    checkout = made.moved(tmp_path / "checkout")
    python = checkout.root / ".venv" / "bin" / "python"

    assert checkout.run("setup", "test")[0] == 0

    assert subprocess.run([python, "-c", "import further"], check=False).returncode == 0
    assert json.loads(checkout.stamp.read_text())["extras"] == ["demo", "test"]


def test_a_venv_made_by_hand_keeps_its_llama_cpp(made: Checkout, tmp_path: Path) -> None:
    checkout = made.moved(tmp_path / "checkout")
    checkout.stamp.unlink()

    code, _, errors = checkout.run("setup")

    assert code == 0, errors
    assert checkout.builds == made.builds


def test_a_damaged_venv_is_made_anew(made: Checkout, tmp_path: Path) -> None:
    checkout = made.moved(tmp_path / "checkout")
    python = checkout.root / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")

    assert checkout.chat()[0] == ["chat"]
    assert checkout.builds == made.builds


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_after_an_interrupted_build_the_same_command_goes_on(
    made: Checkout, tmp_path: Path, end: signal.Signals
) -> None:
    checkout = made.moved(tmp_path / "checkout")
    process = checkout.start("setup", "demo", CMAKE_ARGS="-DMINE=1", TEST_BUILD="hangs")
    while "build hangs" not in checkout.log:
        assert process.poll() is None
        time.sleep(0.1)

    os.killpg(process.pid, end)
    errors = process.communicate(timeout=60)[1]

    assert process.returncode == (130 if end == signal.SIGINT else -end)
    assert "Traceback" not in errors
    assert not checkout.stamp.exists()
    assert checkout.chat(CMAKE_ARGS="-DMINE=1")[2].endswith("-DMINE=1")


def test_two_at_once_build_once(made: Checkout, tmp_path: Path) -> None:
    checkout = made.moved(tmp_path / "checkout")

    both = [checkout.start("setup", "demo", CMAKE_ARGS="-DMINE=1") for _ in range(2)]
    errors = [process.communicate(timeout=120)[1] for process in both]

    assert [process.returncode for process in both] == [0, 0], errors
    assert checkout.builds == made.builds + 1
    assert any("waiting" in words for words in errors)


def test_a_build_that_fails_says_why_and_where_to_look(made: Checkout, tmp_path: Path) -> None:
    checkout = made.moved(tmp_path / "checkout")

    code, output, errors = checkout.run("chat", CMAKE_ARGS="-DMINE=1", TEST_BUILD="fails")

    assert code == 1
    assert output == ""
    assert "did not compile" in errors
    assert "CMake Error: no" in errors
    assert str(checkout.root / "build" / "setup.log") in errors


def test_a_package_that_cannot_be_had_is_named(made: Checkout, tmp_path: Path) -> None:
    checkout = made.moved(tmp_path / "checkout")

    code, _, errors = checkout.run("setup", "demo", CMAKE_ARGS="-DMINE=1", PIP_FIND_LINKS=tmp_path.as_uri())

    assert code == 1
    assert BINDINGS in errors


def test_no_compiler_is_told(made: Checkout, tmp_path: Path) -> None:
    checkout = made.moved(tmp_path / "checkout")

    code, _, errors = checkout.run("setup", CMAKE_ARGS="-DMINE=1", CXX="/nowhere/c++")

    assert code == 1
    assert "No C++ compiler works here" in errors
    assert "CXX=/nowhere/c++" in errors


def test_an_old_python_is_told(tmp_path: Path) -> None:
    checkout = fresh_checkout(tmp_path)
    old = tmp_path / "python3.9"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)

    code, _, errors = checkout.run("setup", "demo", PYTHON=str(old))

    assert code == 1
    assert f"PYTHON={old} is not a Python 3.11 or newer" in errors


def test_a_newer_python_beside_an_old_one_is_found(tmp_path: Path) -> None:
    checkout = fresh_checkout(tmp_path)
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").write_text("#!/bin/sh\nexit 1\n")
    (folder / "python3.11").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for program in folder.iterdir():
        program.chmod(0o755)

    code, _, errors = checkout.run("setup", "nothing", PYTHON="", PATH=f"{folder}:/usr/bin:/bin")

    assert (code, errors.splitlines()[0]) == (2, "There is no extra named nothing")


def test_a_python_without_ensurepip_is_told(tmp_path: Path) -> None:
    checkout = fresh_checkout(tmp_path)
    (checkout.root / "scripts" / "sitecustomize.py").write_text(
        "import importlib.util as u\nreal = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'ensurepip' else real(name, *rest)\n"
    )

    code, _, errors = checkout.run("setup", "demo", PYTHONPATH=str(checkout.root / "scripts"))

    assert code == 1
    assert "This Python has no ensurepip module" in errors
    assert "python3-venv" in errors
