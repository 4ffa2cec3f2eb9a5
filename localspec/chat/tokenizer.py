"""What a conversation needs of a tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Tokenizer(Protocol):
    """Text to token ids and back, for one vocabulary."""

    @property
    def special_texts(self) -> tuple[str, ...]:
        """The texts of the control tokens, such as "<|im_end|>"."""
        ...

    @property
    def end_tokens(self) -> frozenset[int]:
        """The ids that end an answer."""
        ...

    @property
    def bos_text(self) -> str:
        """Text of the token that begins a text; "" when there is none."""
        ...

    @property
    def eos_text(self) -> str:
        """Text of the token that ends a text; "" when there is none."""
        ...

    @property
    def add_bos(self) -> bool:
        """Whether the model wants a text to begin with the BOS token."""
        ...

    def encode(self, text: str, *, parse_special: bool, add_special: bool) -> list[int]:
        """Ids of `text`.

        Args:
            text: valid Unicode (no lone surrogates).
            parse_special: whether the text of a control token becomes that token.
            add_special: whether to add BOS and the like where the model wants them.
        """
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Text of `ids`."""
        ...

    def piece_bytes(self, token: int) -> bytes:
        """The bytes one token adds to a text; part of a character is possible."""
        ...
