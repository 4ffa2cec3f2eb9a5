"""How a token is drawn, as a person sets it: plain data, without the arrays it is applied to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How a token is drawn from logits; the defaults are llama.cpp's own.

    Applied in llama.cpp's order: logit bias, penalties, top-k, top-p, min-p, temperature.

    Attributes:
        temperature: 0 always takes the likeliest token.
        top_k: keep the k likeliest tokens; 0 keeps all.
        top_p: keep the likeliest tokens until their mass reaches p; 1 keeps all.
        min_p: keep the tokens at least min_p times as likely as the likeliest; 0 keeps all.
        repetition_penalty: divides positive and multiplies negative logits of tokens in the window; 1 is off.
        presence_penalty: taken off the logit of every token in the window, once.
        frequency_penalty: taken off the logit of a token in the window, once per occurrence.
        penalty_window: how many of the last tokens the penalties look at, the prompt's included; 0 turns them off,
            -1 looks at all.
        logit_bias: (token id, bias) pairs added to the logits; minus infinity forbids a token.
        seed: start of every random draw; None draws one for each answer.

    Raises:
        ValueError: a setting is outside its range; the words name it.
    """

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    penalty_window: int = 64
    logit_bias: tuple[tuple[int, float], ...] = ()
    seed: int | None = None

    def __post_init__(self) -> None:
        _require(
            self.temperature >= 0 and math.isfinite(self.temperature), "temperature", "0 or more", self.temperature
        )
        _require(self.top_k >= 0, "top-k", "0 (off) or more", self.top_k)
        _require(0 < self.top_p <= 1, "top-p", "above 0 and at most 1 (off)", self.top_p)
        _require(0 <= self.min_p <= 1, "min-p", "between 0 (off) and 1", self.min_p)
        _require(
            self.repetition_penalty > 0 and math.isfinite(self.repetition_penalty),
            "repetition penalty",
            "above 0 (1 is off)",
            self.repetition_penalty,
        )
        _require(math.isfinite(self.presence_penalty), "presence penalty", "a finite number", self.presence_penalty)
        _require(math.isfinite(self.frequency_penalty), "frequency penalty", "a finite number", self.frequency_penalty)
        _require(self.penalty_window >= -1, "penalty window", "-1 (all), 0 (off) or more", self.penalty_window)
        for token, bias in self.logit_bias:
            _require(
                token >= 0 and not math.isnan(bias) and bias < math.inf,
                "logit bias",
                "a token id and a bias below infinity",
                f"{token}={bias}",
            )
        _require(self.seed is None or 0 <= self.seed < 2**64, "seed", "between 0 and 2^64 - 1", self.seed)

    @property
    def truncates(self) -> bool:
        """Whether any token can be cut off."""
        return self.top_k > 0 or self.top_p < 1 or self.min_p > 0

    @property
    def penalises(self) -> bool:
        """Whether any penalty is on, so that the recent tokens matter."""
        return self.penalty_window != 0 and (
            self.repetition_penalty != 1 or self.presence_penalty != 0 or self.frequency_penalty != 0
        )

    def window(self, text: Sequence[int], drafted: Sequence[int] = ()) -> Sequence[int]:
        """The tokens the penalties look at when the next one follows `text` and `drafted`; empty when all are off."""
        if not self.penalises:
            return ()
        if self.penalty_window < 0:
            return [*text, *drafted]
        missing = max(self.penalty_window - len(drafted), 0)
        return [*text[max(len(text) - missing, 0) :], *drafted][-self.penalty_window :]


def _require(fine: bool, name: str, range_: str, value: object) -> None:
    if not fine:
        raise ValueError(f"{name} must be {range_}, not {value}")
