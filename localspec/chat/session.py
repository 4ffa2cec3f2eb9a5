"""A conversation with a target and its drafters: each answer reads only what is new, and leaves clean caches."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from localspec.chat.answer import AnswerInProgress
from localspec.chat.events import (
    AnswerEnd,
    AnswerEvent,
    AnswerRequest,
    AnswerRound,
    Message,
    PromptProgress,
)
from localspec.chat.fitting import Fitted, fit
from localspec.chat.guessing import AnswerGuesses, Guesser, Guessing
from localspec.chat.prompt import Prompt, PromptWriter, Transcript
from localspec.chat.stream import AnswerStream
from localspec.chat.template import ChatTemplate
from localspec.chat.thinking import CLOSING, OPENING, ThinkingMarker, leaves_thinking_open
from localspec.chat.tokenizer import Tokenizer
from localspec.decoding.acceptance import AcceptanceRule
from localspec.decoding.drafters import Drafter
from localspec.decoding.language_model import LanguageModel, keep_common_prefix
from localspec.decoding.loop import speculate
from localspec.decoding.prefill import prefill
from localspec.decoding.rounds import Finish, Round, Turn, never
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.errors import LocalspecError, UsageError


class ChatSession:
    """Answers requests, one at a time.

    Between answers, however the last one ended, the target's cache holds a prefix of the conversation as it was kept,
    and so does every drafter's.
    """

    def __init__(
        self,
        target: LanguageModel,
        tokenizer: Tokenizer,
        template: ChatTemplate,
        guessing: Guessing | None = None,
        interruptions: tuple[type[Exception], ...] = (),
    ) -> None:
        """Begin with whatever the caches hold.

        Args:
            target: the model whose text it is.
            tokenizer: the target's.
            template: renders conversations.
            guessing: what requests may ask for; None for no guesses.
            interruptions: what a model raises when a cancel ends one of its passes half-way.
        """
        self._target = target
        self._tokenizer = tokenizer
        self._guesser = Guesser(guessing or Guessing())
        self._interruptions = interruptions
        self._writer = PromptWriter(template, tokenizer)
        self._template_stop = template.stop
        self._transcript = Transcript(tokenizer)
        self._tags = _thinking_tokens(tokenizer)
        self._left_out: tuple[Message, ...] = ()

    def answer(
        self, request: AnswerRequest, cancelled: Callable[[], bool] = never, rule: AcceptanceRule | None = None
    ) -> Generator[AnswerEvent, None, None]:
        """Answer the last message, or continue it when it is the assistant's.

        The texts of the tokens, and the text of the end event, are what is new: a continued message is not repeated.
        Abandoning the iterator is a cancel without an end event.

        Args:
            request: conversation and settings.
            cancelled: polled between passes.
            rule: judges the guesses in place of the request's own rule.

        Yields:
            PromptProgress while the prompt is read, an AnswerRound for each round, one AnswerEnd.

        Raises:
            UsageError: impossible settings or an empty conversation.
            ContextFullError: the prompt does not fit.
            LocalspecError: the template refuses the conversation, or a model failed.
        """
        began = time.perf_counter()
        sampling, guesses = self._guesses(request, cancelled, rule)
        turn = Turn(
            sampling=sampling,
            rule=guesses.rule,
            draft_length=guesses.length,
            end_tokens=self._tokenizer.end_tokens,
            max_tokens=request.max_tokens,
            cancelled=cancelled,
        )
        fitted = fit(request, self._target.capacity, self._encode, self._left_out)
        answer = self._begin(fitted, request)
        reused = self._keep_shared(fitted.tokens)
        reading = time.perf_counter()
        prompt_seconds = 0.0
        first_token = None
        try:
            yield from self._read(fitted.tokens, reused, guesses.drafter, cancelled)
            prompt_seconds = time.perf_counter() - reading
            if not cancelled():
                with closing(self._write(answer, fitted.tokens, guesses, turn)) as rounds:
                    for shown in rounds:
                        first_token = first_token or time.perf_counter() - began
                        yield shown
        except self._interruptions:
            prompt_seconds = prompt_seconds or time.perf_counter() - reading
        finally:
            self._settle(fitted, answer)
            chosen = guesses.finish()
        drafter = chosen.source if chosen else guesses.drafter.name
        yield AnswerEnd(
            finish=answer.finish or (Finish.LENGTH if request.max_tokens == 0 else Finish.CANCELLED),
            text=answer.text,
            prompt_tokens=len(fitted.tokens),
            reused_tokens=reused,
            prompt_seconds=prompt_seconds,
            time_to_first_token=first_token,
            statistics=answer.statistics,
            seed=turn.sampling.seed or 0,
            acceptance=turn.rule.name,
            lossless=turn.rule.lossless,
            context_used=self._target.length,
            context_size=self._target.capacity,
            dropped_messages=fitted.dropped,
            drafter=drafter,
            draft_length=request.speculation.draft_length if guesses.drafter.name != "none" else 0,
            outlook=guesses.outlook(drafter),
            chosen=chosen,
        )

    def _guesses(
        self, request: AnswerRequest, cancelled: Callable[[], bool], rule: AcceptanceRule | None
    ) -> tuple[SamplingSettings, AnswerGuesses]:
        """The sampling of one answer, with a seed drawn when the request names none, and its guesses."""
        _require_possible(request)
        sampling = request.sampling
        if sampling.seed is None:
            sampling = replace(sampling, seed=secrets.randbits(32))
        try:
            return sampling, self._guesser.begin(request, sampling, cancelled, rule)
        except ValueError as error:
            words = str(error)
            raise UsageError(
                "These settings cannot be used", f"{words[:1].upper()}{words[1:]}.", "Change that setting."
            ) from error

    def _encode(self, messages: Sequence[Message]) -> tuple[Prompt, list[int]]:
        prompt = self._writer.write(messages)
        return prompt, self._transcript.encode(self._writer.text(prompt), prompt.barrier)

    def _begin(self, fitted: Fitted, request: AnswerRequest) -> AnswerInProgress:
        prompt = fitted.prompt
        self._left_out = fitted.left_out
        self._transcript.remember(self._writer.text(prompt), prompt.barrier, fitted.tokens)
        marker = ThinkingMarker(opened=leaves_thinking_open(prompt.rendered))
        marker.take(prompt.continued)
        stream = AnswerStream(self._visible_bytes, (*request.stop, *self._template_stop), marker)
        return AnswerInProgress(stream, self._tokenizer.end_tokens)

    def _visible_bytes(self, token: int) -> bytes:
        """The bytes of a token; of control tokens only the tags of the thinking part leave any."""
        return self._tags.get(token) or self._tokenizer.piece_bytes(token)

    def _keep_shared(self, tokens: Sequence[int]) -> int:
        """Cut every cache back to what it shares with the new prompt; return how much the target holds of it."""
        shared = keep_common_prefix(self._target, tokens)
        for drafter in self._guesser.drafters.values():
            drafter.agree(tokens, shared)
        return shared

    def _read(
        self, tokens: Sequence[int], reused: int, drafter: Drafter, cancelled: Callable[[], bool]
    ) -> Iterator[PromptProgress]:
        """Read the prompt on both models."""
        total = len(tokens) - 1 - reused
        yield PromptProgress(reused, 0, total)
        for held in prefill(self._target, tokens[:-1], cancelled):
            yield PromptProgress(reused, held - reused, total)
        if not cancelled():
            drafter.prepare(tokens, cancelled)

    def _write(
        self, answer: AnswerInProgress, tokens: Sequence[int], guesses: AnswerGuesses, turn: Turn
    ) -> Generator[AnswerRound, None, None]:
        """Write the answer round by round, until it ends or a stop string appears in it."""
        with closing(speculate(self._target, guesses.drafter, tokens, turn)) as rounds:
            while answer.finish is None and (finished := _next_round(rounds)) is not None:
                guesses.observe(finished)
                yield answer.take(finished, self._target.length)

    def _settle(self, fitted: Fitted, answer: AnswerInProgress) -> None:
        """Cut every cache back to what was kept of the answer, and remember the ids it was really written in."""
        ids, text = answer.whole_tokens()
        kept = [*fitted.tokens, *ids]
        prompt = fitted.prompt
        self._transcript.remember(self._writer.text(prompt, text), prompt.barrier, kept)
        self._target.truncate(min(self._target.length, len(kept)))
        for drafter in self._guesser.drafters.values():
            drafter.agree(kept, len(kept))


def _require_possible(request: AnswerRequest) -> None:
    if not request.messages:
        raise UsageError("There is nothing to answer", "The conversation is empty.", "Type a message.")
    if "" in request.stop:
        raise UsageError("A stop string is empty", "An empty string is found everywhere.", "Leave it out.")
    if request.max_tokens is not None and request.max_tokens < 0:
        raise UsageError("The token limit is negative", f"It is {request.max_tokens}.", "Use 0 or more.")


def _next_round(rounds: Iterator[Round]) -> Round | None:
    """The next round, or None when the answer is over.

    Raises:
        LocalspecError: the model put out what no token can be drawn from.
    """
    try:
        return next(rounds, None)
    except ValueError as error:
        raise LocalspecError(
            "The answer cannot go on",
            f"No token can be drawn from what the model put out: {error}.",
            "Take back a logit bias that forbids too much; else try another file of the model, or the CPU.",
        ) from error


def _thinking_tokens(tokenizer: Tokenizer) -> dict[int, bytes]:
    """The thinking tags that are single tokens: as control tokens they would leave no text."""
    encoded = {tag: tokenizer.encode(tag, parse_special=True, add_special=False) for tag in (OPENING, CLOSING)}
    return {ids[0]: tag.encode() for tag, ids in encoded.items() if len(ids) == 1}
