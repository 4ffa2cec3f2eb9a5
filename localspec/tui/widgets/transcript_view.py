"""Messages in a column: their lines, made when they are needed, and how high each of them is or probably is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from localspec.chat.events import AnswerRound, Role
from localspec.chat.thinking import CLOSING, OPENING, split_thinking
from localspec.tui.rendering.lines import BLANK, Line
from localspec.tui.rendering.markdown import markdown_lines
from localspec.tui.rendering.origins import OriginsView
from localspec.tui.rendering.streamed import StreamedMarkdown
from localspec.tui.widgets.transcript_entry import (
    Look,
    Shown,
    behind_bar,
    end_lines,
    head_line,
    question_lines,
    reading_line,
    thinking_head,
    thinking_lines,
)


class MessageView:
    """One message. Its lines are made for a look and can be let go.

    Attributes:
        shown: the message as of now.
        height: in lines; a guess while it has none.
        live: whether it is still being written.
    """

    def __init__(self, shown: Shown) -> None:
        self.shown = shown
        self.live = shown.writing
        self.height = 1
        self.origins: OriginsView | None = None
        """Its tokens, when they are shown."""
        self.origins_from = 0
        """The line on which they begin."""
        self._lines: list[Line] | None = None
        self._stream: _Streamed | None = None
        self._rounds: list[AnswerRound] = []

    @property
    def is_rendered(self) -> bool:
        """Whether its height is no guess."""
        return self._lines is not None

    @property
    def lines(self) -> list[Line]:
        """Its lines; none before `render`."""
        return self._lines or []

    def forget(self) -> None:
        """Let the lines go; the height stays."""
        self._lines = None
        self.origins = None
        self._stream = None

    def guess_height(self, width: int) -> None:
        """How high it probably is, without rendering it."""
        text = self.shown.entry.text
        self.height = 3 + len(self.shown.entry.attachments) + text.count("\n") + len(text) // max(width, 1)

    def letters_before(self, line: int) -> int:
        """How much of its text is above a line; it is the same however it is wrapped."""
        return sum(_letters(each) for each in self.lines[:line])

    def line_after(self, letters: int) -> int:
        """The line on which the text goes on after so many letters."""
        for index, line in enumerate(self.lines):
            letters -= _letters(line)
            if letters < 0:
                return index
        return max(len(self.lines) - 1, 0)

    def render(self, look: Look) -> None:
        """Make its lines."""
        if self.shown.entry.role is Role.USER:
            lines = [head_line(self.shown, look), *question_lines(self.shown.entry, look), BLANK]
        elif self.live:
            self._stream = _Streamed(look, self.shown.entry.text, self._earlier(look))
            self._stream.append(self._rounds)
            lines = self._live_lines(look)
        else:
            lines = self._answer(look)
        self._lines, self.height = lines, len(lines)

    def _earlier(self, look: Look) -> Sequence[AnswerRound]:
        """The rounds of the text that was there when it began to be shown; they are wanted only where tokens are."""
        rounds = (look.rounds_of(self.shown.entry.id) or ()) if look.origins and self.shown.entry.text else ()
        count = len(self._rounds)
        return rounds[:-count] if count and list(rounds[-count:]) == self._rounds else rounds

    def append(self, rounds: Sequence[AnswerRound], look: Look) -> None:
        """Take what an answer has got more than what it was shown with."""
        self.live = True
        self._rounds.extend(rounds)
        if self._stream is None:
            self.render(look)
            return
        self._stream.append(rounds)
        self._lines = self._live_lines(look)
        self.height = len(self._lines)

    def settle(self, shown: Shown, look: Look) -> None:
        """Nothing more comes."""
        self.shown = shown
        self.live = False
        body = self._stream.finished() if self._stream else None
        self._stream = None
        self._rounds = []
        self._lines = self._answer(look, said=body)
        self.height = len(self._lines)

    def _live_lines(self, look: Look) -> list[Line]:
        assert self._stream is not None
        head = [head_line(self.shown, look)]
        body, self.origins, before = self._stream.lines()
        self.origins_from = len(head) + before
        return [*head, *body, BLANK]

    def _answer(self, look: Look, *, said: list[Line] | None = None) -> list[Line]:
        entry, facts = self.shown.entry, self.shown.entry.facts
        lines = [head_line(self.shown, look)]
        thought, text = split_thinking(entry.text)
        if thought and not (look.origins and look.thinking):
            lines.extend(thinking_lines(thought, facts.thinking_seconds if facts else None, look))
        rounds = look.rounds_of(entry.id) if look.origins else ()
        self.origins = None
        if rounds is None:
            lines.append(reading_line(look))
        if rounds:
            self.origins = OriginsView(look.width, look.palette, thinking=look.thinking)
            self.origins.append(rounds)
            self.origins_from = len(lines)
            lines.extend(self.origins.lines)
        else:
            lines.extend(markdown_lines(text, look.width, look.palette) if said is None else said)
        return [*lines, *end_lines(facts, look), BLANK]


class _Streamed:
    """The lines of an answer that is being written."""

    def __init__(self, look: Look, text: str, earlier: Sequence[AnswerRound]) -> None:
        self._look = look
        self._seconds = 0.0
        self._thinking = _StreamedThinking(look)
        self._said = StreamedMarkdown(look.width, look.palette)
        self._origins = OriginsView(look.width, look.palette, thinking=look.thinking) if look.origins else None
        thought, said = split_thinking(text)
        self._is_thinking = bool(thought) and not said
        self._thinking.append(thought)
        self._said.append(said)
        if self._origins:
            self._origins.append(earlier)

    def append(self, rounds: Sequence[AnswerRound]) -> None:
        said = thought = ""
        for each in rounds:
            if any(token.thinking for token in each.tokens):
                self._seconds += each.seconds
            for token in each.tokens:
                self._is_thinking = token.thinking
                if token.thinking:
                    thought += token.text
                else:
                    said += token.text
        self._thinking.append(thought)
        if self._origins:
            self._origins.append(rounds)
        else:
            self._said.append(said if self._said.text or not self._thinking.text else said.lstrip("\n"))

    def finished(self) -> list[Line] | None:
        """The lines of what was said, when these were shown."""
        if self._origins:
            return None
        self._said.finish()
        return self._said.lines

    def lines(self) -> tuple[list[Line], OriginsView | None, int]:
        """The lines, and when they show tokens these and how many lines are before them."""
        lines: list[Line] = []
        if self._thinking.text and not (self._origins and self._look.thinking):
            lines.append(thinking_head(self._seconds, self._look, going_on=self._is_thinking))
            lines.extend(self._thinking.lines() if self._look.thinking else ())
            lines.append(BLANK)
        return [*lines, *(self._origins or self._said).lines], self._origins, len(lines)


class _StreamedThinking:
    """The lines of a thinking part that is being written."""

    def __init__(self, look: Look) -> None:
        self.text = ""
        self._look = look
        self._fed = 0
        self._markdown = StreamedMarkdown(look.width - 2, look.palette, numbered=False)
        self._settled: list[Line] = []

    def append(self, text: str) -> None:
        self.text += text
        if not text or not self._look.thinking:
            return
        bare = self.text.lstrip()
        if not self._fed and OPENING.startswith(bare):
            return
        thought = bare.removeprefix(OPENING).lstrip().replace(CLOSING, "")
        self._markdown.append(thought[self._fed :])
        self._fed = max(self._fed, len(thought))

    def lines(self) -> list[Line]:
        lines = self._markdown.lines
        begun = len(self._settled)
        self._settled.extend(behind_bar(lines[begun : self._markdown.settled], self._look.palette))
        return [*self._settled, *behind_bar(lines[len(self._settled) :], self._look.palette)]


class Column:
    """Messages one below the other."""

    def __init__(self) -> None:
        self.views: list[MessageView] = []
        self._bottoms: list[int] = []

    @property
    def height(self) -> int:
        """Of all, in lines."""
        return self._bottoms[-1] if self._bottoms else 0

    def measure(self, first: int = 0) -> None:
        """Take up the heights of the messages from `first` on."""
        del self._bottoms[first:]
        top = self._bottoms[-1] if self._bottoms else 0
        self._bottoms.extend(list(accumulate((view.height for view in self.views[first:]), initial=top))[1:])

    def top(self, index: int) -> int:
        """The line on which a message begins."""
        return self._bottoms[index - 1] if index else 0

    def at(self, line: int) -> tuple[int, int]:
        """The message that a line belongs to, and which of its lines it is; beyond the last one: (how many, 0)."""
        index = bisect_right(self._bottoms, line)
        return (index, line - self.top(index)) if index < len(self.views) else (index, 0)

    def find(self, id: str) -> int | None:  # noqa: A002 - as in `Entry`
        """The message of that entry."""
        return next((index for index, view in enumerate(self.views) if view.shown.entry.id == id), None)


def _letters(line: Line) -> int:
    return 0 if line.joint is None else len(line.text.replace(" ", ""))
