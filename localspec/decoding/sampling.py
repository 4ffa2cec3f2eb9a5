"""The person's sampling settings, applied to logits in llama.cpp's order."""

from __future__ import annotations

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
        penalty_window: how many of the last tokens the penalties look at, prompt included; 0 turns them off, -1 looks at all.
        logit_bias: (token id, bias) pairs added to the logits; minus infinity forbids a token.
        seed: start of every random draw; None draws one for each answer.
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
