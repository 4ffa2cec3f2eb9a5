"""A conversation as a tree: an edited question or a regenerated answer is a sibling, and nothing is overwritten."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from localspec.chat.events import Message, Role
from localspec.decoding.draft_length import WantedLength
from localspec.decoding.statistics import DecodingStatistics

_TITLE_LENGTH = 60


def new_id() -> str:
    """An id that no other entry or conversation has."""
    return uuid.uuid4().hex


def title_from(text: str) -> str:
    """A title for a conversation that begins with this question: its first line, cut at a word."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if len(line) <= _TITLE_LENGTH:
        return line
    cut = line[:_TITLE_LENGTH].rpartition(" ")[0] or line[:_TITLE_LENGTH]
    return cut.rstrip(" ,.;:") + "…"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text that came with a question.

    Attributes:
        name: what the person sees of it: a file's name, or what a paste is called.
        text: all of it.
    """

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """What is known of an answer beyond its text.

    Attributes:
        finish: a `Finish` value, or "failed" (`error` says why); "writing" while it comes, and for ever when the
            program was killed meanwhile.
        error: what went wrong, in words; "" when nothing did.
        target: file name of the model that answered.
        draft: file name of the model that guessed; "" for none.
        statistics: counts and times of the decoding.
        time_to_first_token: seconds; None when no token came.
        off_tokens_per_second: measured speed without speculation on this machine, when it was known.
        thinking_seconds: how long the thinking part took; None when there was none.
        context_used: tokens of the context taken at its end.
        context_size: tokens the context can hold.
        seed: the seed that was used.
        acceptance: the acceptance rule that was used, never "auto".
        lossless: whether that rule keeps the target's distribution.
        drafter: where guesses came from, one of `drafter_names.DRAFTERS` but never "auto"; "" while unknown.
        draft_length: as it was asked for, a number or "auto"; None while unknown.
        why: on the source that was chosen and on the guesses of an automatic draft length, in words; "" when there is
            nothing to say.
    """

    finish: str = "writing"
    error: str = ""
    target: str = ""
    draft: str = ""
    statistics: DecodingStatistics = field(default_factory=DecodingStatistics)
    time_to_first_token: float | None = None
    off_tokens_per_second: float | None = None
    thinking_seconds: float | None = None
    context_used: int = 0
    context_size: int = 0
    seed: int | None = None
    acceptance: str = ""
    lossless: bool = True
    drafter: str = ""
    draft_length: WantedLength | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a conversation, where it stands in the tree.

    Attributes:
        id: unique for ever; made here, so that an entry can be kept in memory while a disk is full.
        parent: id of the entry it follows; None for a first one.
        role: USER or ASSISTANT; the system prompt belongs to the conversation.
        text: what the person typed or the model wrote, its thinking part included.
        created: seconds since 1970.
        attachments: what came with a question.
        facts: of an answer; None for a question.
    """

    id: str
    parent: str | None
    role: Role
    text: str
    created: float
    attachments: tuple[Attachment, ...] = ()
    facts: AnswerFacts | None = None

    @property
    def message(self) -> Message:
        """As the model reads it."""
        return Message(self.role, with_attachments(self.text, self.attachments))


@dataclass(frozen=True, slots=True)
class About:
    """What is known of a conversation beside its entries.

    Attributes:
        id: unique for ever.
        title: what it is called in lists; "" until the first question names it.
        created: seconds since 1970.
        system: the system prompt; "" leaves it to the model's template.
        pair: name of the pair it was last held with; "" when none was.
        settings: what was set for this conversation, by name of the key, as plain JSON values.
        drop_oldest: whether the oldest turns may be left out when the context is full.
    """

    id: str = field(default_factory=new_id)
    title: str = ""
    created: float = field(default_factory=time.time)
    system: str = ""
    pair: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    drop_oldest: bool = False


class Conversation:
    """The tree, and which of its branches is shown.

    Attributes:
        about: its title, settings and the like; replaced whole when any of it changes.
    """

    def __init__(self, about: About | None = None, entries: Iterable[Entry] = (), head: str | None = None) -> None:
        """Begin one, or take up one that was kept.

        Args:
            about: as kept.
            entries: of all branches, parents first.
            head: id of the last entry of the branch to show.
        """
        self.about = about or About()
        self._entries: dict[str, Entry] = {entry.id: entry for entry in entries}
        self._head = head

    @property
    def head(self) -> Entry | None:
        """The last entry of the branch that is shown."""
        return self._entries[self._head] if self._head else None

    @property
    def path(self) -> list[Entry]:
        """The branch that is shown, first entry first."""
        return self.path_to(self._head)

    def path_to(self, id: str | None) -> list[Entry]:  # noqa: A002 - as in `Entry`
        """The entries from the beginning to this one; none for None."""
        branch: list[Entry] = []
        entry = self._entries[id] if id else None
        while entry is not None:
            branch.append(entry)
            entry = self._entries[entry.parent] if entry.parent else None
        return branch[::-1]

    @property
    def entries(self) -> list[Entry]:
        """All entries of all branches, in the order they were made."""
        return list(self._entries.values())

    @property
    def messages(self) -> tuple[Message, ...]:
        """What a model reads to go on with the branch that is shown."""
        return self.messages_to(self._head)

    def messages_to(self, id: str | None) -> tuple[Message, ...]:  # noqa: A002 - as in `Entry`
        """What a model reads: the system prompt, if any, and all up to this entry, unanswered questions left out.

        Two questions in a row, or an empty answer, are not what a template expects.
        """
        said = [entry for entry in self.path_to(id) if entry.text or entry.attachments]
        kept = [
            entry
            for entry, following in zip(said, [*said[1:], None], strict=True)
            if following is None or entry.role is not following.role
        ]
        system = (Message(Role.SYSTEM, self.about.system),) if self.about.system else ()
        return (*system, *(entry.message for entry in kept))

    def __getitem__(self, id: str) -> Entry:  # noqa: A002 - as in `Entry`
        """The entry of that id.

        Raises:
            KeyError: there is none.
        """
        return self._entries[id]

    def add(
        self,
        role: Role,
        text: str,
        *,
        parent: str | None,
        attachments: tuple[Attachment, ...] = (),
        facts: AnswerFacts | None = None,
    ) -> Entry:
        """Put an entry after `parent` (None: at the beginning) and show the branch that ends with it."""
        entry = Entry(new_id(), parent, role, text, time.time(), attachments, facts)
        self._entries[entry.id] = entry
        self._head = entry.id
        if not self.about.title and role is Role.USER:
            named = title_from(text or (attachments[0].name if attachments else ""))
            self.about = replace(self.about, title=named)
        return entry

    def change(self, id: str, *, text: str, facts: AnswerFacts | None) -> Entry:  # noqa: A002 - as in `Entry`
        """Give an entry another text and facts: an answer grows while it is written."""
        entry = replace(self._entries[id], text=text, facts=facts)
        self._entries[id] = entry
        return entry

    def siblings(self, id: str) -> list[Entry]:  # noqa: A002 - as in `Entry`
        """The entry and its alternatives: all that follow the same parent, in the order they were made."""
        parent = self._entries[id].parent
        return [entry for entry in self._entries.values() if entry.parent == parent]

    def show(self, id: str) -> None:  # noqa: A002 - as in `Entry`
        """Show the branch through this entry, down to the newest entry below it."""
        self._head = id
        while children := [entry for entry in self._entries.values() if entry.parent == self._head]:
            self._head = children[-1].id


def with_attachments(text: str, attachments: Sequence[Attachment]) -> str:
    """What the model reads of a question: each attachment in a fence of its own before what was typed."""
    parts = [f"{file.name}:\n{fenced(file.text)}" for file in attachments]
    return "\n\n".join(filter(None, [*parts, text]))


def fenced(text: str) -> str:
    """The text between fences that it does not hold itself."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}"
