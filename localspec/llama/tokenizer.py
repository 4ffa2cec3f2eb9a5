"""Text to token ids and back, by the vocabulary of a model."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cached_property
from itertools import compress, repeat
from typing import Any

import numpy as np

from localspec.llama.bindings import low
from localspec.llama.model import Model

# LLAMA_TOKEN_ATTR_CONTROL and LLAMA_TOKEN_ATTR_UNKNOWN: what parse_special lets through.
_SPECIAL = 1 << 3 | 1 << 0
_NO_TOKEN = -1


class Tokenizer:
    """The tokenizer of `model`, usable as long as the model is open."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._vocabulary: Any = model.vocabulary_pointer
        self._pieces: dict[tuple[int, bool], bytes] = {}

    def encode(self, text: str, *, parse_special: bool, add_special: bool) -> list[int]:
        """Turn text into ids (`llama_tokenize`).

        Args:
            text: any text. Lone surrogates, which UTF-8 cannot hold, become U+FFFD.
            parse_special: turn the texts of control tokens into those tokens: for a template's own text, never for
                what a person typed.
            add_special: put the beginning and end tokens around it that the model was trained with.
        """
        data = _utf8(text)
        # A token stands for one byte or more; beginning, end and a leading space may come on top.
        room = len(data) + 8
        while True:
            ids = np.empty(room, np.int32)
            pointer = ids.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
            count = low.llama_tokenize(self._live(), data, len(data), pointer, room, add_special, parse_special)
            if count >= 0:
                return list(ids[:count].tolist())
            if -count <= room:
                raise ValueError(f"llama.cpp could not turn {len(data)} bytes of text into tokens")
            room = -count

    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids into text; control tokens leave no trace, bytes that are not UTF-8 become U+FFFD."""
        return b"".join(map(self.piece_bytes, ids)).decode("utf-8", "replace")

    def piece_bytes(self, token: int, special: bool = False) -> bytes:
        """The bytes a token stands for (`llama_token_to_piece`); of a control token only when `special`.

        Raises:
            ValueError: the id is not in the vocabulary.
        """
        piece = self._pieces.get((token, special))
        if piece is None:
            piece = self._pieces[token, special] = self._piece(token, special)
        return piece

    def _piece(self, token: int, special: bool) -> bytes:
        if not 0 <= token < self._model.vocabulary_size:
            raise ValueError(f"token {token} is not in the vocabulary of {self._model.vocabulary_size}")
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = low.llama_token_to_piece(self._live(), token, buffer, size, 0, special)
            if length >= 0:
                return buffer.raw[:length]
            size = -length

    def text_of(self, token: int) -> str:
        """A token's text as the vocabulary writes it, such as "<|im_end|>"; empty for id -1, "no such token"."""
        if token == _NO_TOKEN:
            return ""
        return str(low.llama_vocab_get_text(self._live(), token).decode("utf-8", "replace"))

    @cached_property
    def special_texts(self) -> tuple[str, ...]:
        """Texts that `parse_special` turns into control tokens, longest first."""
        ids = range(self._model.vocabulary_size)
        attributes = map(low.llama_vocab_get_attr, repeat(self._live()), ids)
        texts = {self.text_of(token) for token, marks in zip(ids, attributes, strict=True) if marks & _SPECIAL}
        return tuple(sorted(texts - {""}, key=lambda text: (-len(text), text)))

    @cached_property
    def end_tokens(self) -> frozenset[int]:
        """Every id that ends an answer (`llama_vocab_is_eog`)."""
        ids = range(self._model.vocabulary_size)
        return frozenset(compress(ids, map(low.llama_vocab_is_eog, repeat(self._live()), ids)))

    @cached_property
    def bos(self) -> int:
        """Id of the beginning-of-text token, -1 for none."""
        return int(low.llama_vocab_bos(self._live()))

    @cached_property
    def eos(self) -> int:
        """Id of the end-of-text token, -1 for none."""
        return int(low.llama_vocab_eos(self._live()))

    @cached_property
    def add_bos(self) -> bool:
        """Whether a text starts with the beginning token."""
        return bool(low.llama_vocab_get_add_bos(self._live()))

    @cached_property
    def add_eos(self) -> bool:
        """Whether a text ends with the end token."""
        return bool(low.llama_vocab_get_add_eos(self._live()))

    @cached_property
    def bos_text(self) -> str:
        """Text of the beginning token, as chat templates write it."""
        return self.text_of(self.bos)

    @cached_property
    def eos_text(self) -> str:
        """Text of the end token, as chat templates write it."""
        return self.text_of(self.eos)

    def _live(self) -> Any:
        """The vocabulary, which lives in the model: RuntimeError, not a crash, once that is closed."""
        return self._vocabulary if self._model.pointer else None


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Through UTF-16, two surrogates that make a pair become the character they mean.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
