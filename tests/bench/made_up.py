"""Made-up records of a benchmark, with every figure chosen."""

from __future__ import annotations

from localspec.bench.document import Document
from localspec.bench.records import Record, RoundFigures
from localspec.decoding.statistics import DecodingStatistics

MODELS = {
    "pair": {
        "target": {"file": "big.gguf", "name": "Big", "description": "big 1B", "bytes": 1000, "parameters": 500,
                   "device": "CPU", "gpu_layers": -1, "sha256": "a" * 64},
        "draft": {"file": "small.gguf", "name": "Small", "description": "small 1B", "bytes": 100, "parameters": 50,
                  "device": "CPU", "gpu_layers": -1, "sha256": "b" * 64},
        "context": 4096, "threads": 2, "kv_type": "f16", "flash_attention": "auto",
    }
}  # fmt: skip
ENVIRONMENT = {
    "localspec": "0", "python": "3", "devices": [{"name": "CPU", "description": "A processor"}],
    "machine": {"processor": "P", "physical_cores": 2, "logical_cores": 2, "system": "S", "memory_bytes": 10**9},
    "llama_cpp": {"version": "1", "bindings": "2", "features": {"CPU": {"AVX2": "1"}}}, "energy": "Not told.",
}  # fmt: skip


def record(  # noqa: PLR0917 - what differs between records
    arm: str = "off",
    prompt: str = "code-1",
    speed: float = 10.0,
    run: int = 0,
    turn: int = 0,
    kind: str = "code",
    rounds: tuple[tuple[int, int], ...] = ((0, 0), (0, 0)),
    tokens: tuple[int, ...] | None = None,
    **changes: object,
) -> Record:
    """One generation of the given tokens/s; `rounds` are (drafted, accepted)."""
    emitted = sum(accepted + 1 for _, accepted in rounds)
    seconds = emitted / speed
    each = round(seconds / len(rounds), 6)
    longest = max(drafted for drafted, _ in rounds)
    values: dict[str, object] = {
        "arm": arm,
        "category": kind,
        "prompt_id": prompt,
        "turn": turn,
        "run": run,
        "began": 1000.0 + run,
        "seed": 1,
        "acceptance_rule": "greedy",
        "finish": "length",
        "prompt_tokens": 20,
        "reused_tokens": 3,
        "prompt_seconds": 0.25,
        "time_to_first_token": 0.5,
        "token_ids": tokens or tuple(range(emitted)),
        "rounds": tuple(
            RoundFigures(drafted, accepted, accepted + 1, each, round(each / 2, 6), 0.0) for drafted, accepted in rounds
        ),
        "statistics": DecodingStatistics(
            rounds=len(rounds),
            emitted=emitted,
            drafted=sum(drafted for drafted, _ in rounds),
            accepted=sum(accepted for _, accepted in rounds),
            drafted_at=tuple(sum(drafted > i for drafted, _ in rounds) for i in range(longest)),
            accepted_at=tuple(sum(accepted > i for _, accepted in rounds) for i in range(longest)),
            origins=(("plain", emitted),),
            seconds=seconds,
            target_seconds=seconds / 2,
            draft_seconds=0.0,
        ),
    }
    return Record(**{**values, **changes})  # type: ignore[arg-type] # the fields above


def document(records: tuple[Record, ...], **changes: object) -> Document:
    """A benchmark of arms off and 2 of the pair in MODELS."""
    arm = {"pair": "pair", "sampling": {"temperature": 0.0, "seed": 1}, "speculation": {"enabled": True}}
    values: dict[str, object] = {
        "plan": {
            "arms": dict.fromkeys(("off", "2", *(each.arm for each in records)), arm),
            "tasks": {each.prompt_id: f"digest of {each.prompt_id}" for each in records},
            "tasks_name": "built in",
            "runs": 1,
            "max_tokens": 16,
            "system": "",
        },
        "environment": ENVIRONMENT,
        "models": MODELS,
        "memory": {
            "pair": {"weight_bytes": 900, "kv_bytes": 1, "bytes_per_second": 1e5, "measured": True, "how": "so"}
        },
        "pass_times": {"pair": {"target": [[1, 0.1], [2, 0.11], [3, 0.12]], "draft": [[1, 0.02]]}},
        "records": records,
        "complete": True,
        "left_out": {},
        "made": "2026-01-01T00:00:00+0000",
    }
    return Document(**{**values, **changes})  # type: ignore[arg-type] # the fields above


def benchmark(gain: float = 2.0, prompts: int = 4) -> tuple[Record, ...]:
    """Two kinds, some prompts of each, arms off and 2; the latter `gain` times as fast."""
    made = []
    for kind in ("code", "story"):
        for number in range(prompts):
            speed = 10.0 + number
            made.append(record("off", f"{kind}-{number}", speed, kind=kind))
            made.append(record("2", f"{kind}-{number}", speed * gain, kind=kind, rounds=((2, 2), (2, 1), (2, 0))))
    return tuple(made)
