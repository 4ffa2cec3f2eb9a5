from __future__ import annotations

import gc
import logging
import subprocess
import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped] # its stubs are a package of their own
import pytest

from localspec.llama.context import Context
from localspec.llama.context_options import ContextOptions
from localspec.llama.log import LogLine
from localspec.llama.memory import Buffer, buffers_in, gigabytes
from localspec.llama.model import Model
from localspec.llama.tokenizer import Tokenizer
from tests.pairs.gguf_files import TinyModel

MIB = 1024 * 1024

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts and limits memory in this way")


def resident() -> int:
    return int(psutil.Process().memory_info().rss)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_allocations_are_read_from_the_log() -> None:
    lines = [
        LogLine(logging.INFO, "load_tensors:   CPU_REPACK model buffer size =   264.98 MiB"),
        LogLine(logging.INFO, "llama_kv_cache:        CPU KV buffer size =    90.00 MiB"),
        LogLine(logging.INFO, "llama_context: n_ctx = 4096"),
        LogLine(logging.INFO, "sched_reserve:      CUDA0 compute buffer size =    17.51 MiB"),
    ]

    assert buffers_in(lines) == (
        Buffer("CPU_REPACK", "model", round(264.98 * MIB)),
        Buffer("CPU", "KV", 90 * MIB),
        Buffer("CUDA0", "compute", round(17.51 * MIB)),
    )


def test_a_size_is_told_in_words() -> None:
    assert gigabytes(4_683_073_536) == "4.7 GB"


@linux_only
@pytest.mark.parametrize(("kind", "cycles", "bound"), [("tiny", 100, 5 * MIB), ("smollm2", 20, 30 * MIB)])
def test_models_come_and_go_without_a_trace(
    smollm2_path: Path, tmp_path: Path, kind: str, cycles: int, bound: int
) -> None:
    """Left behind in each cycle, the tiny one would add up to more than 100 MiB and SmolLM2 to 2 GiB."""
    path = smollm2_path
    if kind == "tiny":
        path = tmp_path / "tiny.gguf"
        path.write_bytes(TinyModel().bytes())

    def cycle() -> None:
        with Model(path) as model, Context(model, ContextOptions(length=256, threads=1)) as context:
            context.evaluate(Tokenizer(model).encode("Hello", parse_special=True, add_special=True), 1)

    for _ in range(4):
        cycle()
    gc.collect()
    memory, files = resident(), open_files()
    for _ in range(cycles):
        cycle()
    gc.collect()

    assert open_files() == files
    assert resident() - memory < bound


@linux_only
def test_a_forgotten_model_is_freed_with_its_last_user(smollm2_path: Path) -> None:
    Context(Model(smollm2_path), ContextOptions(length=256)).evaluate([1], 1)
    gc.collect()
    memory = resident()
    context = Context(Model(smollm2_path), ContextOptions(length=256))
    assert resident() - memory > 60 * MIB
    del context
    gc.collect()

    assert resident() - memory < 30 * MIB


@linux_only
@pytest.mark.parametrize(
    ("room", "part", "words"),
    [
        (50 * MIB, "model", "Not enough memory for the model"),
        (30 * MIB, "context", "Not enough memory for a context of 4096 tokens"),
    ],
)
def test_memory_that_the_system_refuses_is_told_in_words(smollm2_path: Path, room: int, part: str, words: str) -> None:
    program = """
import resource, sys
from pathlib import Path
import psutil  # type: ignore[import-untyped] # its stubs are a package of their own
from localspec.errors import OutOfMemoryError
from localspec.llama.context import Context
from localspec.llama.context_options import ContextOptions
from localspec.llama.library import initialise
from localspec.llama.model import Model

def limit():
    size = psutil.Process().memory_info().vms + int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (size, size))

initialise()
if sys.argv[3] == "model":
    limit()
try:
    model = Model(Path(sys.argv[1]))
    if sys.argv[3] == "context":
        limit()
    Context(model, ContextOptions(length=4096, threads=1))
except OutOfMemoryError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(smollm2_path), str(room), part], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(words)
    assert "llama.cpp says: " in done.stdout


@linux_only
def test_target_and_draft_take_little_more_than_their_files(bench_target_path: Path, bench_draft_path: Path) -> None:
    """In a process of its own: weights once, the KV cache, and 250 MiB for all the rest."""
    program = """
import sys
from pathlib import Path
from localspec.llama.context import Context
from localspec.llama.context_options import ContextOptions
from localspec.llama.model import Model

contexts = [Context(Model(Path(path)), ContextOptions(length=4096, threads=1)) for path in sys.argv[1:]]
for context in contexts:
    context.evaluate(list(range(100, 140)), 17)
kv = sum(buffer.size_bytes for context in contexts for buffer in context.buffers if buffer.use == "KV")
lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(kv, 1024 * sum(int(lines[key].split()[0]) for key in ("RssAnon", "RssFile")))
"""
    paths = [str(bench_target_path), str(bench_draft_path)]
    done = subprocess.run([sys.executable, "-c", program, *paths], capture_output=True, text=True, check=True)
    kv, taken = map(int, done.stdout.split())

    assert taken <= bench_target_path.stat().st_size + bench_draft_path.stat().st_size + kv + 250 * MIB
