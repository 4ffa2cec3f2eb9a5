"""Which part of an answer is the model thinking to itself, between `<think>` and `</think>`."""

from __future__ import annotations

OPENING = "<think>"
CLOSING = "</think>"


def leaves_thinking_open(prompt: str) -> bool:
    """Whether a prompt ends by opening the thinking part, as some templates do: the answer then begins inside it."""
    return prompt.rstrip().endswith(OPENING)


def split_thinking(text: str) -> tuple[str, str]:
    """What of an answer was thought, without its tags, and what was said.

    An answer that begins inside the thinking part, because its prompt opened it, shows that only by the closing tag.
    """
    thought, closing, said = text.partition(CLOSING)
    opened = thought.lstrip().startswith(OPENING)
    if not opened and (not closing or OPENING in thought):
        return "", text
    return thought.lstrip().removeprefix(OPENING).strip(), said.lstrip("\n")


class ThinkingMarker:
    """Follows an answer piece by piece. Only an opening tag at the very start counts: a later one is just mentioned.

    Attributes:
        thinking: whether the text taken so far ends inside the thinking part.

    Args:
        opened: whether the prompt already opened it.
    """

    def __init__(self, *, opened: bool) -> None:
        self.thinking = opened
        self._begun = opened
        self._recent = ""

    def undecided(self, beginning: str) -> bool:
        """Whether an answer that begins so, with nothing of it taken yet, may still turn out to open the part."""
        return not self._begun and OPENING.startswith(beginning.lstrip())

    def take(self, text: str) -> tuple[str, str]:
        """Take the next piece of the answer: what of it is thought (tags included), and what is said after that."""
        if not text:
            return "", ""
        if not self._begun:
            self._begun = True
            self.thinking = text.lstrip().startswith(OPENING)
        if not self.thinking:
            return "", text
        seen = self._recent + text
        place = seen.find(CLOSING)
        if place < 0:
            self._recent = seen[-(len(CLOSING) - 1) :]
            return text, ""
        self.thinking = False
        end = place + len(CLOSING) - len(self._recent)
        return text[:end], text[end:]
