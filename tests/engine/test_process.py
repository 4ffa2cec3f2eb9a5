"""The child process itself: however the program starts, ends or dies, it comes and goes with it."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from localspec import locations
from localspec.engine import process
from localspec.engine.client import EngineClient
from localspec.engine.messages import LoadPair
from localspec.engine.process import huge_pages

REPOSITORY = Path(__file__).parents[2]

# A program without a main guard, as the most careless caller would write it.
PROGRAM = """
import sys
from pathlib import Path
from localspec.engine.client import EngineClient
from localspec.engine.messages import LoadPair, ModelSettings
from localspec.errors import LocalspecError
with open(sys.argv[1], "a") as marks:
    marks.write("ran ")
with EngineClient() as client:
    try:
        list(client.load(LoadPair(ModelSettings(Path("nothing.gguf")))))
    except LocalspecError as error:
        print(type(error).__name__)
"""


def gone(pid: int) -> bool:
    """Whether a process has ended (a zombie nobody reaps, as after the death of its parent in a container, has)."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until(true: Callable[[], bool], seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


@pytest.mark.parametrize("way", ["-c", "file", "stdin", "-m", "other folder"])
def test_the_engine_starts_from_any_kind_of_program_and_does_not_run_it_again(way: str, tmp_path: Path) -> None:
    marks, program = tmp_path / "marks", tmp_path / "program.py"
    program.write_text(PROGRAM)
    # A file that would be imported in place of the real module if the current folder were searched.
    (tmp_path / "numpy.py").write_text("raise SystemExit('the wrong numpy')")
    call, folder, stdin = {
        "-c": (["-P", "-c", PROGRAM], tmp_path, None),
        "file": ([str(program)], REPOSITORY, None),
        "stdin": (["-P", "-"], tmp_path, PROGRAM),
        "-m": (["-m", "program"], tmp_path, None),
        "other folder": (["-P", str(program)], tmp_path, None),
    }[way]
    if way in ("file", "-m"):
        (tmp_path / "numpy.py").unlink()
    result = subprocess.run(
        [sys.executable, *call, str(marks)],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert (result.stdout, result.stderr, result.returncode) == ("UsageError\n", "", 0)
    assert marks.read_text() == "ran "


@pytest.mark.parametrize(
    ("module", "foreign"),
    [
        ("localspec.engine.client", ("llama_cpp", "localspec.llama", "localspec.decoding.loop", "textual", "jinja2")),
        ("localspec.engine.worker", ("textual", "huggingface_hub", "localspec.cli", "localspec.pairs", "pytest")),
    ],
)
def test_neither_side_imports_what_belongs_to_the_other(module: str, foreign: tuple[str, ...]) -> None:
    program = f"import sys, {module}; print([name for name in {foreign!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout == "[]\n"


@pytest.mark.parametrize("busy", ["idle", "loading", "reading", "writing"])
def test_no_child_is_left_when_the_program_is_killed(busy: str, smollm2: Path) -> None:
    program = f"""
import sys, time
from pathlib import Path
from localspec.chat.events import AnswerRequest, Message, Role
from localspec.engine.client import EngineClient
from localspec.engine.messages import LoadPair, ModelSettings
model = ModelSettings(Path({str(smollm2)!r}))
client = EngineClient()
client.start()
print(client.pid, flush=True)
loading = client.load(LoadPair(model, model, threads=1, context=2048))
next(loading)
if {busy!r} != "loading":
    list(loading)
    request = AnswerRequest((Message(Role.USER, "word " * (1500 if {busy!r} == "reading" else 1)),))
    events = client.answer(request)
    for _ in range(dict(idle=0, reading=1, writing=5)[{busy!r}]):
        next(events)
print("ready", flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert parent.stdout.readline() == "ready\n"
        assert not gone(child)
        parent.kill()
    assert wait_until(lambda: gone(child))


def test_a_program_that_ends_without_closing_leaves_nothing_behind() -> None:
    program = (
        "from localspec.engine.client import EngineClient\n"
        "client = EngineClient(); client.start(); print(client.pid, flush=True); {end}"
    )
    for end in ("", "raise SystemExit(3)", "import os; os._exit(0)"):
        result = subprocess.run(
            [sys.executable, "-c", program.format(end=end)], capture_output=True, text=True, timeout=60, check=False
        )
        assert result.stderr == ""
        assert wait_until(lambda pid=int(result.stdout): gone(pid))


def test_starts_and_ends_leave_no_files_threads_or_zombies_behind() -> None:
    me = psutil.Process()

    def counted() -> tuple[int, int, int]:
        return me.num_fds(), threading.active_count(), len(me.children())

    with EngineClient():
        pass
    before = counted()
    for _ in range(4):
        with EngineClient() as client:
            client.restart()
        killed = EngineClient()
        killed.start()
        os.kill(killed.pid or 0, signal.SIGKILL)
        killed.close()
    assert counted() == before


def test_a_child_that_hangs_is_killed_at_the_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_PATIENCE_SECONDS", 0.5)
    client = EngineClient()
    client.start()
    pid = client.pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    closing = threading.Thread(target=client.close)
    closing.start()
    closing.join(30)
    assert not closing.is_alive()
    assert wait_until(lambda: gone(pid))


def test_a_close_that_is_interrupted_leaves_no_child_that_hangs() -> None:
    client = EngineClient()
    client.start()
    pid = client.pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,)).start()
    with pytest.raises(KeyboardInterrupt):
        client.close()
    assert wait_until(lambda: gone(pid))


def test_a_close_in_the_middle_of_a_load_ends_it(pair: LoadPair) -> None:
    client = EngineClient()
    client.start()
    pid = client.pid
    assert pid
    loading = client.load(pair)
    next(loading)
    client.close()
    assert gone(pid)


def test_old_logs_are_removed_and_each_start_has_its_own() -> None:
    for _ in range(12):
        client = EngineClient()
        client.start()
        os.kill(client.pid or 0, signal.SIGKILL)
        client.close()
    logs = list(locations.log_folder().glob("engine-*.log"))
    assert 1 < len(logs) <= 10


def test_what_start_up_files_print_does_not_disturb_the_replies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pair: LoadPair
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('hello from a start-up file')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with EngineClient() as client:
        assert list(client.load(pair))


def test_a_log_folder_that_cannot_be_written_is_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LOCALSPEC_DATA_DIR", str(tmp_path / "file"))
    with pytest.raises(Exception, match="log cannot be written") as caught:
        EngineClient().start()
    assert "LOCALSPEC_DATA_DIR" in str(caught.value)


@pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage").exists() or platform.libc_ver()[0] != "glibc",
    reason="no large pages are given to those who ask",
)
def test_the_weights_lie_in_memory_that_asks_for_large_pages(ready: EngineClient, smollm2: Path) -> None:
    mappings = Path(f"/proc/{ready.pid}/smaps").read_text().split("VmFlags:")
    # The flags of a mapping follow its size, and begin what is left of the next.
    sizes = [int(re.search(r"^Size:\s+(\d+) kB", mapping, re.MULTILINE)[1]) * 1024 for mapping in mappings[:-1]]
    flags = [mapping.partition("\n")[0].split() for mapping in mappings[1:]]
    asking = sum(size for size, found in zip(sizes, flags, strict=True) if "hg" in found)
    assert asking > smollm2.stat().st_size / 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is asked")
@pytest.mark.parametrize(
    ("set_by_the_person", "wanted"),
    [
        ("", {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
        ("glibc.malloc.check=0", {"GLIBC_TUNABLES": "glibc.malloc.check=0:glibc.malloc.hugetlb=1"}),
        ("glibc.malloc.hugetlb=0", {}),
    ],
)
def test_what_a_person_asks_of_the_c_library_stays(set_by_the_person: str, wanted: dict[str, str]) -> None:
    assert huge_pages(set_by_the_person) == wanted
