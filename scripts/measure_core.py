#!/usr/bin/env python3
"""Measure the core on a real pair: the cost of our own code, what fixed draft lengths are worth, memory.

Both sides of every comparison alternate, prompt by prompt, in one process; figures are medians and their ratios. It
drives `localspec.llama` and `localspec.decoding` directly, without chat or engine, so that nothing else is in the way.

    python scripts/measure_core.py plain     speculation off against a bare loop of llama_decode and argmax
    python scripts/measure_core.py python    our own time per round, by sampling settings
    python scripts/measure_core.py lengths   fixed draft lengths against off, by kind of text
    python scripts/measure_core.py memory    resident memory of target and draft, against weights and KV cache
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import sys
import time
from dataclasses import replace
from functools import reduce
from pathlib import Path

import numpy as np

from localspec.decoding.acceptance import rule_for
from localspec.decoding.draft_length import FixedLength
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.model import ModelDrafter
from localspec.decoding.drafters.none import NoDrafter
from localspec.decoding.language_model import keep_common_prefix
from localspec.decoding.loop import speculate
from localspec.decoding.prefill import prefill
from localspec.decoding.rounds import Round, Turn, never
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.statistics import DecodingStatistics
from localspec.llama.bindings import low
from localspec.llama.context import Context
from localspec.llama.context_options import ContextOptions
from localspec.llama.model import Model
from localspec.llama.tokenizer import Tokenizer
from localspec.locations import models_folder

CODE_TO_REWRITE = """def total(items, tax):
    t = 0
    for i in range(len(items)):
        if items[i]["qty"] > 0:
            t = t + items[i]["price"] * items[i]["qty"]
    t = t + t * tax
    return t


def biggest(items):
    b = None
    for i in range(len(items)):
        if b is None or items[i]["price"] > b["price"]:
            b = items[i]
    return b
"""

SMALL_CLASS_TO_REWRITE = """class Stack:
    def __init__(self):
        self.data = []

    def push(self, value):
        self.data.append(value)

    def pop(self):
        if len(self.data) == 0:
            raise IndexError("pop from empty stack")
        value = self.data[-1]
        del self.data[-1]
        return value

    def size(self):
        return len(self.data)
"""

PROMPTS = {
    "code": [
        "Write a Python function that merges overlapping intervals, with type hints and a docstring.",
        "Write a Python class for an LRU cache with O(1) get and put.",
        "Write a Python function that parses a CSV line with quoted fields.",
    ],
    "json": [
        "Give a JSON array of six planets; each object has name, diameter_km, moons and rings. Only the JSON.",
        "Give a JSON object describing a web server configuration with four virtual hosts. Only the JSON.",
        "Give a JSON array of five employees; each has id, name, email, department and skills. Only the JSON.",
    ],
    "rewrite": [
        f"Rewrite this code with type hints, changing nothing else:\n\n```python\n{CODE_TO_REWRITE}```",
        f"Add a docstring to every method of this code and repeat it whole:\n\n```python\n{SMALL_CLASS_TO_REWRITE}```",
        f"Rename the variable t to subtotal in this code and repeat it whole:\n\n```python\n{CODE_TO_REWRITE}```",
    ],
    "explain": [
        "Explain how a hash table works and what happens on a collision.",
        "Explain the difference between a process and a thread.",
        "Explain what happens when a browser opens a web page.",
    ],
}


class Pair:
    """A loaded target and draft."""

    def __init__(self, target: Path, draft: Path, threads: int | None, length: int) -> None:
        options = ContextOptions(length=length, threads=threads)
        self.models = (Model(target), Model(draft))
        self.target = Context(self.models[0], options)
        self.draft = Context(self.models[1], options)
        self.tokenizer = Tokenizer(self.models[0])

    def prompt(self, text: str) -> list[int]:
        """The tokens of a ChatML prompt, which both families at hand were trained on."""
        markup = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
        return self.tokenizer.encode(markup, parse_special=True, add_special=True)

    def drafter(self, length: int) -> Drafter:
        """The draft model, or nothing for length 0."""
        return ModelDrafter(self.draft, self.target.vocabulary_size) if length else NoDrafter()

    def decode(self, prompt: list[int], turn: Turn, drafter: Drafter) -> list[Round]:
        """Read the prompt, then decode; only the decoding is in the rounds."""
        keep_common_prefix(self.target, prompt)
        for _ in prefill(self.target, prompt[:-1], never):
            pass
        drafter.prepare(prompt, never)
        return list(speculate(self.target, drafter, prompt, turn))


def counted(rounds: list[Round]) -> DecodingStatistics:
    """The statistics of these rounds."""
    return reduce(DecodingStatistics.plus, rounds, DecodingStatistics())


def turn_of(sampling: SamplingSettings, length: int, tokens: int) -> Turn:
    """A turn of exactly `tokens` tokens: end tokens are written like any other."""
    return Turn(sampling, rule_for("auto", sampling), FixedLength(length), max_tokens=tokens)


def bare_seconds(context: Context, prompt: list[int], tokens: int) -> float:
    """Seconds of a loop of nothing but `llama_decode`, `llama_get_logits_ith` and argmax."""
    keep_common_prefix(context, prompt)
    for _ in prefill(context, prompt[:-1], never):
        pass
    pointer, size = context.pointer, context.vocabulary_size
    token = (low.llama_token * 1)(prompt[-1])
    began = time.perf_counter()
    for _ in range(tokens):
        batch = low.llama_batch_get_one(token, 1)
        if low.llama_decode(pointer, batch) != 0:
            sys.exit("llama_decode failed")
        address = ctypes.cast(low.llama_get_logits_ith(pointer, -1), ctypes.POINTER(ctypes.c_float * size))
        token[0] = int(np.ctypeslib.as_array(address.contents).argmax())
    seconds = time.perf_counter() - began
    low.llama_memory_seq_rm(low.llama_get_memory(pointer), 0, len(prompt) - 1, -1)
    return seconds


def measure_plain(pair: Pair, tokens: int, runs: int) -> None:
    """Speculation off against the bare loop."""
    greedy = SamplingSettings(temperature=0)
    prompts = [pair.prompt(texts[0]) for texts in PROMPTS.values()]
    ours, bare = [], []
    for run in range(runs + 1):
        for prompt in prompts:
            counts = counted(pair.decode(prompt, turn_of(greedy, 0, tokens), NoDrafter()))
            seconds = bare_seconds(pair.target, prompt, tokens)
            if run:
                ours.append(counts.emitted / counts.seconds)
                bare.append(tokens / seconds)
    ratios = [a / b for a, b in zip(ours, bare, strict=True)]
    print(f"off {statistics.median(ours):.2f} tokens/s, bare loop {statistics.median(bare):.2f} tokens/s")
    print(f"ratio of medians {statistics.median(ours) / statistics.median(bare):.4f}")
    print(f"median of the {len(ratios)} paired ratios {statistics.median(ratios):.4f}")


def measure_python(pair: Pair, tokens: int, runs: int) -> None:
    """Our own time per round: the round's wall time less both models' passes."""
    sampled = SamplingSettings(temperature=0.8, top_k=0, top_p=1, min_p=0, seed=1)
    settings = {
        "T = 0, off": (SamplingSettings(temperature=0), 0),
        "T = 0, 4 drafted": (SamplingSettings(temperature=0), 4),
        "T = 0.8, 4 drafted": (sampled, 4),
        "T = 0.8, top-k 40, 4 drafted": (replace(sampled, top_k=40), 4),
        "T = 0.8, top-k 40, top-p 0.95, min-p 0.05, 4 drafted": (SamplingSettings(seed=1), 4),
    }
    print(f"vocabulary {pair.target.vocabulary_size}")
    for name, (sampling, length) in settings.items():
        milliseconds = []
        for _ in range(runs):
            for texts in PROMPTS.values():
                prompt = pair.prompt(texts[0])
                for finished in pair.decode(prompt, turn_of(sampling, length, tokens), pair.drafter(length)):
                    if len(finished.drafted) == length:
                        own = finished.seconds - finished.target_seconds - finished.draft_seconds
                        milliseconds.append(own * 1e3)
        quarter = statistics.quantiles(milliseconds, n=4)
        print(
            f"{name}: median {quarter[1]:.3f} ms, quartiles {quarter[0]:.3f} to {quarter[2]:.3f} ({len(milliseconds)})"
        )


def measure_lengths(pair: Pair, tokens: int, runs: int, lengths: list[int], temperature: float) -> None:
    """Fixed lengths against off, alternating prompt by prompt."""
    sampling = SamplingSettings(temperature=temperature, top_k=0, top_p=1, min_p=0, seed=1)
    arms = [0, *lengths]
    for length in arms:
        pair.decode(pair.prompt("Hello"), turn_of(sampling, length, 16), pair.drafter(length))
    for kind, texts in PROMPTS.items():
        speeds: dict[int, list[float]] = {length: [] for length in arms}
        rounds: dict[int, list[Round]] = {length: [] for length in arms}
        same = True
        for _ in range(runs):
            for text in texts:
                prompt = pair.prompt(text)
                written = {}
                for length in arms:
                    answer = pair.decode(prompt, turn_of(sampling, length, tokens), pair.drafter(length))
                    rounds[length] += answer
                    counts = counted(answer)
                    speeds[length].append(counts.emitted / counts.seconds)
                    written[length] = [token for finished in answer for token in finished.tokens]
                same = same and all(text == written[0] for text in written.values())
        off = statistics.median(speeds[0])
        line = [f"{kind:8s} off {off:5.2f} tok/s ({in_words(counted(rounds[0]))})"]
        for length in lengths:
            speed = statistics.median(speeds[length])
            line.append(f"length {length}: {speed:5.2f} tok/s {speed / off:.2f}x ({in_words(counted(rounds[length]))})")
        print("\n  ".join(line) + f"\n  same text: {'yes' if same else 'no'}", flush=True)


def in_words(counts: DecodingStatistics) -> str:
    """What a round was made of."""
    parts = {"target": counts.target_seconds, "draft": counts.draft_seconds, "own": counts.other_seconds}
    spent = ", ".join(f"{name} {seconds / counts.rounds * 1e3:.1f}" for name, seconds in parts.items())
    kept = "" if counts.acceptance is None else f"kept {counts.acceptance:.0%}, "
    return f"{kept}tau {counts.tau:.2f}, ms a round: {spent}"


def measure_memory(target: Path, draft: Path, threads: int | None, length: int) -> None:
    """Resident memory of this process after reading a prompt and decoding, against files and KV caches."""
    before = resident()
    pair = Pair(target, draft, threads, length)
    prompt = pair.prompt(PROMPTS["rewrite"][0] * 3)
    pair.decode(prompt, turn_of(SamplingSettings(temperature=0), 4, 64), pair.drafter(4))
    pair.decode(prompt, turn_of(SamplingSettings(top_k=0, top_p=1, min_p=0), 4, 64), pair.drafter(4))
    taken = resident() - before
    weights = target.stat().st_size + draft.stat().st_size
    caches = sum(
        buffer.size_bytes for part in (pair.target, pair.draft) for buffer in part.buffers if buffer.use == "KV"
    )
    over = taken - weights - caches
    parts = {"resident": taken, "= weights": weights, "+ KV": caches, "+ other": over}
    print(", ".join(f"{name} {size / 2**20:.0f} MiB" for name, size in parts.items()))


def resident() -> int:
    """Bytes of this process that are in memory, file-backed pages included (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Parse, load, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["plain", "python", "lengths", "memory"])
    parser.add_argument("--target", type=Path, default=models_folder() / "qwen2.5-coder-1.5b-instruct-q8_0.gguf")
    parser.add_argument("--draft", type=Path, default=models_folder() / "qwen2.5-coder-0.5b-instruct-q4_0.gguf")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--lengths", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--temperature", type=float, default=0)
    parser.add_argument("--context", type=int, default=4096)
    options = parser.parse_args()
    if options.what == "memory":
        measure_memory(options.target, options.draft, options.threads, options.context)
        return
    pair = Pair(options.target, options.draft, options.threads, options.context)
    if options.what == "plain":
        measure_plain(pair, options.tokens, options.runs)
    elif options.what == "python":
        measure_python(pair, options.tokens, options.runs)
    else:
        measure_lengths(pair, options.tokens, options.runs, options.lengths, options.temperature)


if __name__ == "__main__":
    main()
