"""Made-up facts of a pair on a machine, for what only arranges them."""

from __future__ import annotations

from localspec.bench.bandwidth import Bandwidth
from localspec.bench.explaining.facts import Arm, Facts, Guesses
from localspec.bench.roofline import TokenWork
from localspec.decoding.rounds import Origin
from localspec.decoding.statistics import DecodingStatistics
from localspec.engine.messages import BatchTime, BatchTimes, Loaded, LoadedModel
from localspec.engine.traces import TokenChance, TracedGuess, TracedRound

TARGET = LoadedModel("Big", "qwen2 1.5B Q8_0", 1_888_000_000, 1_540_000_000, 151936, 32768, "CPU")
DRAFT = LoadedModel("Small", "qwen2 0.5B Q4_0", 354_000_000, 494_000_000, 151936, 32768, "CPU")


def chance(text: str, probability: float) -> TokenChance:
    return TokenChance(abs(hash(text)) % 1000, text, probability)


def guess(text: str, q: float, p: float, u: float) -> TracedGuess:
    return TracedGuess(
        guess=chance(text, q),
        p=p,
        u=u,
        kept=u * q < p,
        chance=0.75,
        target=(chance(" bear", 0.6), chance(text, p), chance(" rare", 0.0001)),
        draft=(chance(text, q), chance(" bear", 0.1)),
    )


CORRECTED = TracedRound(
    before="Once upon a time there was a",
    drafted=(" small", " fox", "\n", " the"),
    guesses=(guess(" small", 0.4, 0.5, 0.9), guess(" fox", 0.8, 0.2, 0.5)),
    own=chance(" bear", 0.9),
    source=(chance(" bear", 0.9), chance(" wolf", 0.1)),
    u=0.321,
    origins=(Origin.DRAFT, Origin.CORRECTION),
)

WHOLE = TracedRound(
    before="Once upon a time there was a small bear",
    drafted=(" who", " 熊"),
    guesses=(guess(" who", 0.6, 0.7, 0.2), guess(" 熊", 0.5, 0.5, 0.8)),
    own=chance("<|im_end|>", 0.75),
    source=(chance("<|im_end|>", 0.75),),
    u=0.654,
    origins=(Origin.DRAFT, Origin.DRAFT, Origin.BONUS),
)


def statistics(rounds: int, emitted: int, seconds: float) -> DecodingStatistics:
    return DecodingStatistics(rounds=rounds, emitted=emitted, seconds=seconds, target_seconds=seconds * 0.7)


def facts(**changes: object) -> Facts:
    """The bench pair on two cores, as once measured; three of four guesses kept."""
    values: dict[str, object] = {
        "loaded": Loaded(TARGET, DRAFT, 4096, 2, 3.0),
        "target": TokenWork(1_888_581_632, 1_640_623_712, 247_959_552, 0, 28_672, 3_087_138_816),
        "draft": TokenWork(354_715_136, 278_139_896, 76_575_744, 0, 12_288, 987_922_432),
        "bandwidth": Bandwidth(28e9, 2, measured=True, how="each thread adds up numbers"),
        "context": 120,
        "temperature": 0.8,
        "pass_seconds": tuple(0.111 * each for each in (1, 1.03, 1.22, 1.49, 2.16, 2.25, 2.02, 2.3, 2.5)),
        "draft_step": 0.03,
        "guesses": (Guesses("code", (CORRECTED,)), Guesses("story", (WHOLE,))),
        "traced_length": 4,
        "arms": (Arm(0, statistics(144, 144, 16.8)), Arm(2, statistics(62, 144, 12.5))),
        "batch": BatchTimes(
            tuple(
                BatchTime(count, width, 0.111 * (1 + 0.1 * count * width))
                for count in (1, 4, 16)
                for width in (1, 2, 3)
            ),
            tuple(BatchTime(count, 1, 0.03 * (1 + 0.02 * count)) for count in (1, 4, 16)),
        ),
        "replay": (CORRECTED, WHOLE),
        "replay_temperature": 0.8,
        "notes": (),
    }
    return Facts(**{**values, **changes})  # type: ignore[arg-type] # the fields above
