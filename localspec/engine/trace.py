"""An answer with every guess explained: what the rule noted, with texts in place of ids."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import numpy as np

from localspec.chat.events import AnswerEnd, AnswerRound
from localspec.chat.session import ChatSession
from localspec.decoding.distributions import Distribution
from localspec.decoding.tracing import JudgedGuess, JudgedRound, WatchedRejection
from localspec.engine.messages import TraceAnswer
from localspec.engine.traces import AnswerTrace, TokenChance, TracedGuess, TracedRound
from localspec.llama.tokenizer import Tokenizer


def trace(
    session: ChatSession, tokenizer: Tokenizer, request: TraceAnswer, cancelled: Callable[[], bool]
) -> AnswerTrace:
    """Answer `request` under the rejection rule and note how each guess was judged.

    Raises:
        LocalspecError: as `ChatSession.answer`.
    """
    seed = request.request.sampling.seed
    rule = WatchedRejection(secrets.randbits(32) if seed is None else seed)
    words = _Words(tokenizer, request.likeliest)
    rounds: list[TracedRound] = []
    text = ""
    end = None
    for event in session.answer(request.request, cancelled, rule):
        if isinstance(event, AnswerRound) and rule.last is not None:
            rounds.append(words.round(rule.last, event, text))
            text += "".join(token.text for token in event.tokens)
        elif isinstance(event, AnswerEnd):
            end = event
    assert end is not None  # the last event of every answer that does not raise
    return AnswerTrace(tuple(rounds), end)


class _Words:
    """Puts texts to ids."""

    def __init__(self, tokenizer: Tokenizer, likeliest: int) -> None:
        self._tokenizer = tokenizer
        self._likeliest = likeliest

    def round(self, judged: JudgedRound, shown: AnswerRound, before: str) -> TracedRound:
        return TracedRound(
            before=before,
            drafted=tuple(self._text(token) for token in judged.drafted),
            guesses=tuple(self._guess(guess) for guess in judged.guesses),
            own=self._chance(judged.token, judged.source.probability(judged.token)),
            source=self._top(judged.source),
            u=judged.u,
            origins=tuple(token.origin for token in shown.tokens),
        )

    def _guess(self, guess: JudgedGuess) -> TracedGuess:
        sure = self._chance(guess.token, 1.0)
        return TracedGuess(
            guess=self._chance(guess.token, guess.q_of_token),
            p=guess.p_of_token,
            u=guess.u,
            kept=guess.kept,
            chance=guess.chance,
            target=self._top(guess.p),
            draft=(sure,) if guess.q is None else self._top(guess.q),
        )

    def _top(self, distribution: Distribution) -> tuple[TokenChance, ...]:
        ids, probabilities = distribution.support()
        order = np.argsort(-probabilities, kind="stable")[: self._likeliest]
        return tuple(self._chance(int(ids[i]), float(probabilities[i])) for i in order)

    def _chance(self, token: int, probability: float) -> TokenChance:
        return TokenChance(token, self._text(token), probability)

    def _text(self, token: int) -> str:
        # With the names of control tokens: the end of an answer is a guess like any other.
        return self._tokenizer.piece_bytes(token, special=True).decode("utf-8", "replace")
