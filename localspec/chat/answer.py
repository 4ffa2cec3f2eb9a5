"""One answer as it is written: rounds of token ids in, rounds of text out."""

from __future__ import annotations

from dataclasses import replace

from localspec.chat.events import AnswerRound, AnswerToken
from localspec.chat.stream import AnswerStream, Piece
from localspec.decoding.rounds import Finish, Origin, Round
from localspec.decoding.statistics import DecodingStatistics


class AnswerInProgress:
    """Puts the rounds of an answer together.

    Attributes:
        statistics: counts and times of the rounds so far.
        finish: why the answer ended; None while it goes on.
    """

    def __init__(self, stream: AnswerStream, end_tokens: frozenset[int]) -> None:
        """Begin with nothing written.

        Args:
            stream: turns tokens into text.
            end_tokens: ids that end an answer and are no text.
        """
        self.statistics = DecodingStatistics()
        self.finish: Finish | None = None
        self._stream = stream
        self._end_tokens = end_tokens
        self._ids: list[int] = []

    @property
    def text(self) -> str:
        """What was let out so far."""
        return self._stream.text

    def take(self, finished: Round, context_used: int) -> AnswerRound:
        """Add a round; what it holds beyond a stop string is left out."""
        pieces: list[Piece] = []
        for token in finished.tokens:
            pieces.append(self._piece(token))
            if self._stream.stopped:
                finished = _cut(finished, len(pieces))
                break
        self.finish = finished.finish
        self.statistics = self.statistics.plus(finished)
        if self.finish is not None and not self._stream.stopped:
            pieces[-1] = _joined(pieces[-1], self._stream.finish())
        return AnswerRound(
            tokens=tuple(
                AnswerToken(token, piece.text, origin, piece.thinking)
                for token, piece, origin in zip(finished.tokens, pieces, finished.origins, strict=True)
            ),
            drafted=len(finished.drafted),
            path=finished.path,
            sources=finished.sources,
            seconds=finished.seconds,
            context_used=context_used,
            target_seconds=finished.target_seconds,
            draft_seconds=finished.draft_seconds,
            predicted=tuple(each.acceptance for each in finished.predictions),
            parents=finished.parents,
        )

    def whole_tokens(self) -> tuple[list[int], str]:
        """The tokens that lie wholly inside the text, and the text they make: all of it but half a token at its end."""
        count, characters = self._stream.whole_tokens()
        return self._ids[:count], self.text[:characters]

    def _piece(self, token: int) -> Piece:
        if token in self._end_tokens:
            return Piece("", thinking=False)
        self._ids.append(token)
        return self._stream.push(token)


def _cut(finished: Round, length: int) -> Round:
    """The round as if the answer had ended with its first `length` tokens."""
    origins = finished.origins[:length]
    return replace(
        finished,
        tokens=finished.tokens[:length],
        origins=origins,
        path=finished.path[: origins.count(Origin.DRAFT)],
        finish=Finish.STOP,
    )


def _joined(piece: Piece, rest: Piece) -> Piece:
    return Piece(piece.text + rest.text, piece.thinking if piece.text or not rest.text else rest.thinking)
