"""A model that says what a test wants, and a tokenizer whose pieces a test chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.language_model import LogitRows

CONTROLS = ("<|im_start|>", "<|im_end|>", "<s>")
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


class PieceTokenizer:
    """Bytes, longer pieces (the longest match wins), and control tokens. Structurally a `chat.tokenizer.Tokenizer`.

    Args:
        pieces: texts or bytes that are one token.
        adds_space: put a space before a text and after a control token, as SentencePiece vocabularies do.
    """

    def __init__(self, pieces: Iterable[str | bytes] = (), *, adds_space: bool = False, add_bos: bool = False) -> None:
        longer = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
        self.pieces = [bytes([byte]) for byte in range(256)] + longer
        self.special_texts = CONTROLS
        self.start, self.end, self.bos = (len(self.pieces) + index for index in range(3))
        self.size = len(self.pieces) + len(CONTROLS)
        self.end_tokens = frozenset({self.end})
        self.bos_text = "<s>"
        self.eos_text = "<|im_end|>"
        self.add_bos = add_bos
        self._adds_space = adds_space
        self._ids = {piece: index for index, piece in enumerate(self.pieces)}
        self._longest = max(map(len, self.pieces))

    def encode(self, text: str, *, parse_special: bool, add_special: bool) -> list[int]:
        ids = [self.bos] if add_special and self.add_bos else []
        raw = ""
        while text:
            control = next((c for c in CONTROLS if parse_special and text.startswith(c)), None)
            if control is None:
                raw, text = raw + text[0], text[1:]
                continue
            ids += [*self._raw(raw), len(self.pieces) + CONTROLS.index(control)]
            raw, text = "", text[len(control) :]
        return ids + self._raw(raw)

    def decode(self, ids: Sequence[int]) -> str:
        return b"".join(map(self.piece_bytes, ids)).decode("utf-8", "replace")

    def piece_bytes(self, token: int) -> bytes:
        return self.pieces[token] if token < len(self.pieces) else b""

    def shown(self, ids: Iterable[int]) -> str:
        """With the control tokens visible."""
        return self.shown_bytes(ids).decode("utf-8", "replace")

    def shown_bytes(self, ids: Iterable[int]) -> bytes:
        """As `shown`, when the ids may end inside a character."""
        count = len(self.pieces)
        return b"".join(self.pieces[i] if i < count else CONTROLS[i - count].encode() for i in ids)

    def _raw(self, text: str) -> list[int]:
        data = (b" " if self._adds_space and text else b"") + text.encode()
        ids = []
        while data:
            length = next(n for n in range(min(self._longest, len(data)), 0, -1) if data[:n] in self._ids)
            ids.append(self._ids[data[:length]])
            data = data[length:]
        return ids


Next = Callable[[Sequence[int]], int]
"""The token that follows a text."""


class ScriptedModel:
    """A `LanguageModel` that is certain of the token `following` names. Counts what it evaluates."""

    def __init__(self, following: Next, vocabulary: int, capacity: int = 4000) -> None:
        self.following = following
        self.vocabulary_size = vocabulary
        self.capacity = capacity
        self.evaluated = 0
        self.before_pass: Callable[[int], None] = lambda _count: None
        self._held: list[int] = []

    @property
    def tokens(self) -> Sequence[int]:
        return self._held

    @property
    def length(self) -> int:
        return len(self._held)

    def evaluate(self, tokens: Sequence[int], rows: int | None = None) -> LogitRows:
        wanted = len(tokens) if rows is None else rows
        if self.length + len(tokens) > self.capacity or wanted > LONGEST_DRAFT + 1:
            raise ValueError(f"{len(tokens)} tokens do not fit")
        self.before_pass(len(tokens))
        self._held.extend(tokens)
        self.evaluated += len(tokens)
        result = np.zeros((wanted, self.vocabulary_size), np.float32)
        for row in range(wanted):
            result[row, self.following(self._held[: self.length - wanted + 1 + row])] = 50.0
        return result

    def truncate(self, length: int) -> None:
        assert 0 <= length <= self.length
        del self._held[length:]


def script(tokenizer: PieceTokenizer, *answers: Sequence[int]) -> Next:
    """Say `answers` in turn, one for each assistant's turn in the text, then end."""
    opening = [tokenizer.start, *tokenizer.encode("assistant\n", parse_special=False, add_special=False)]

    def following(text: Sequence[int]) -> int:
        starts = (place for place, token in enumerate(text) if token == tokenizer.start)
        places = [place for place in starts if list(text[place : place + len(opening)]) == opening]
        said = len(text) - places[-1] - len(opening)
        answer = answers[min(len(places), len(answers)) - 1]
        return answer[said] if said < len(answer) else tokenizer.end

    return following


def wrong_sometimes(right: Next, every: int) -> Next:
    """A draft that misses each `every`-th position."""
    return lambda text: 0 if len(text) % every == 0 else right(text)
