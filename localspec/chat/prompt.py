"""The text that goes to the models, and the token ids it stands for, kept from turn to turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from localspec.chat.events import Message, Role
from localspec.chat.guarding import ControlTexts, choose_barrier, without_lone_surrogates
from localspec.chat.template import ChatTemplate
from localspec.chat.thinking import CLOSING, OPENING
from localspec.chat.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered conversation.

    Attributes:
        rendered: the template's text, barriers included, up to where the assistant begins to speak.
        continued: what the assistant's unfinished message says so far, without barriers; "" for a new one.
        barrier: the character that marks where a typed control text was broken.
    """

    rendered: str
    continued: str
    barrier: str


class PromptWriter:
    """Renders conversations so that nothing a person typed can become a control token."""

    def __init__(self, template: ChatTemplate, tokenizer: Tokenizer) -> None:
        self._template = template
        self._controls = ControlTexts(tokenizer.special_texts, seen_by_template=(OPENING, CLOSING))
        self._bos = tokenizer.bos_text if tokenizer.add_bos else ""

    def write(self, messages: Sequence[Message]) -> Prompt:
        """Render `messages`; when the last is the assistant's, it is to be continued.

        Raises:
            LocalspecError: the template refuses the conversation.
        """
        clean = [replace(message, text=without_lone_surrogates(message.text)) for message in messages]
        barrier = choose_barrier([self._template.source, *(message.text for message in clean)])
        continued = clean.pop().text if clean[-1].role is Role.ASSISTANT else ""
        guarded = [
            replace(
                message,
                text=self._controls.guard(message.text, barrier, by_assistant=message.role is Role.ASSISTANT),
            )
            for message in clean
        ]
        rendered = self._template.render(guarded)
        if self._bos and not rendered.startswith(self._bos):
            rendered = self._bos + rendered
        return Prompt(rendered, continued, barrier)

    def text(self, prompt: Prompt, answer: str = "") -> str:
        """The prompt's whole text, barriers included, with the first part of an answer to it."""
        spoken = prompt.continued + answer
        return prompt.rendered + self._controls.guard(spoken, prompt.barrier, by_assistant=True, complete=False)


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    """The first `characters` of the text are the first `tokens` ids."""

    characters: int
    tokens: int


class Transcript:
    """Remembers which ids a text was really made of, at the places where a turn ended.

    A model does not always write a text in the ids that a tokenizer would choose for it. The KV cache holds what it
    really wrote; tokenising the conversation anew each turn would miss that, and evaluate the answer again.

    Args:
        tokenizer: of the target.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._text = ""
        self._barrier = ""
        self._tokens: list[int] = []
        self._checkpoints: list[_Checkpoint] = []
        first = tokenizer.encode("a", parse_special=False, add_special=False)
        self._adds_space = b"".join(map(tokenizer.piece_bytes, first)).startswith(b" ")

    def encode(self, text: str, barrier: str) -> list[int]:
        """The ids of `text`: those remembered for its longest known beginning, then the tokenizer's for the rest."""
        known = next((point for point in reversed(self._checkpoints) if self._holds(point, text, barrier)), None)
        ids = self._tokens[: known.tokens] if known else []
        rest = text[known.characters :] if known else text
        for piece in filter(None, rest.split(barrier)):
            ids += self._continued(piece) if ids else self._parsed(piece)
        return ids

    def remember(self, text: str, barrier: str, tokens: Sequence[int]) -> None:
        """Note that `text` is made of `tokens`, as the cache holds them."""
        kept = [point for point in self._checkpoints if self._holds(point, text, barrier)]
        kept = [point for point in kept if self._tokens[: point.tokens] == list(tokens[: point.tokens])]
        self._text, self._barrier, self._tokens = text, barrier, list(tokens)
        self._checkpoints = [*kept, _Checkpoint(len(text), len(tokens))]

    def _holds(self, point: _Checkpoint, text: str, barrier: str) -> bool:
        return barrier == self._barrier and text[: point.characters] == self._text[: point.characters]

    def _parsed(self, piece: str) -> list[int]:
        # One character alone can only be a control text that a person typed (see ControlTexts.guard).
        return self._tokenizer.encode(piece, parse_special=len(piece) > 1, add_special=False)

    def _continued(self, piece: str) -> list[int]:
        """The ids of text that goes on after other text: without the space some tokenizers put before a text."""
        if not self._adds_space:
            return self._parsed(piece)
        line_end = self._tokenizer.encode("\n", parse_special=False, add_special=False)
        ids = self._tokenizer.encode("\n" + piece, parse_special=len(piece) > 1, add_special=False)
        return ids[len(line_end) :] if ids[: len(line_end)] == line_end else self._parsed(piece)
