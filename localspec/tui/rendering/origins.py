"""Who wrote it: an answer token by token, each in the manner of its origin, told apart by more than colour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.segment import Segment
from rich.style import Style

from localspec.chat.events import AnswerRound, AnswerToken
from localspec.decoding.drafter_names import LOOKED_UP
from localspec.decoding.rounds import Origin
from localspec.terminal import VisibleStream
from localspec.tui.rendering.lines import BLANK, TAB, Line, breaks, wrapped
from localspec.tui.rendering.palette import Palette

_NAMES = {
    Origin.DRAFT: "accepted guess",
    "ngram": "found in the text",
    "lookahead": "found in earlier passes",
    Origin.CORRECTION: "correction",
    Origin.BONUS: "bonus",
    Origin.PLAIN: "without a guess",
}


@dataclass(frozen=True, slots=True)
class _Token:
    """A token, where it stands: `place` counts from 0 within its round."""

    token: AnswerToken
    round: AnswerRound
    number: int
    place: int

    @property
    def manner(self) -> str:
        """A key of `_NAMES`: of an accepted guess that was looked up its source, of any other token its origin."""
        if self.token.origin is not Origin.DRAFT:
            return self.token.origin
        source = self.round.sources[self.round.path[self.place]]
        return source if source in LOOKED_UP else Origin.DRAFT

    def style(self, palette: Palette) -> Style:
        """How it is shown."""
        return palette.looked_up if self.manner in LOOKED_UP else palette.origin(self.token.origin)

    @property
    def guesser(self) -> str:
        """Who made the guess that it is, and how sure that was, in words."""
        who = _NAMES[self.manner] if self.manner in LOOKED_UP else "by the model"
        predicted = self.round.predicted
        return f"{who} at {predicted[self.round.path[self.place]]:.0%}".replace("%", " %") if predicted else who


class OriginsView:
    """The lines of an answer that shows who wrote each token; it may grow.

    Only the last line is wrapped again when more comes.
    """

    def __init__(self, width: int, palette: Palette, *, thinking: bool = True) -> None:
        """Begin empty.

        Args:
            width: in cells.
            palette: how it is shown.
            thinking: whether the thinking part is shown.
        """
        self._width = max(width, 2)
        self._palette = palette
        self._thinking = thinking
        self._stream = VisibleStream()
        self._tokens: list[_Token] = []
        self._rounds = 0
        self._lines: list[Line] = []
        self._owners: list[list[int]] = []
        """For each line, the token that each of its segments is of."""
        self._open: list[tuple[int, Segment]] = []

    @property
    def lines(self) -> list[Line]:
        """The text, then the legend."""
        return [*self._lines, *([BLANK] if self._lines else []), *self._legend()]

    @property
    def tokens(self) -> int:
        """How many tokens can be pointed at."""
        return len(self._tokens)

    def append(self, rounds: Iterable[AnswerRound]) -> None:
        """Take the next rounds."""
        for each in rounds:
            self._rounds += 1
            for place, token in enumerate(each.tokens):
                self._tokens.append(_Token(token, each, self._rounds, place))
                if self._thinking or not token.thinking:
                    self._put(len(self._tokens) - 1, self._stream.feed(token.text))
        self._wrap()

    def token_at(self, line: int, character: int) -> int | None:
        """The token at a character of a line; None where none is."""
        if not 0 <= line < len(self._lines):
            return None
        place = 0
        for owner, segment in zip(self._owners[line], self._lines[line].segments, strict=True):
            place += len(segment.text)
            if character < place:
                return owner
        return None

    def line_of(self, token: int) -> int:
        """The line on which a token begins; that of the one before it when it has no text."""
        return next((line for line, owners in enumerate(self._owners) if owners and owners[-1] >= token), 0)

    def pointed(self, line: int, token: int) -> Line | None:
        """A line with one token marked; None where the token is not on it."""
        if not 0 <= line < len(self._lines) or token not in self._owners[line]:
            return None
        segments = [
            Segment(segment.text, self._palette.pointed) if owner == token else segment
            for owner, segment in zip(self._owners[line], self._lines[line].segments, strict=True)
        ]
        return replace(self._lines[line], segments=tuple(segments))

    def describe(self, token: int) -> str:
        """Where a token comes from, in one line."""
        at = self._tokens[token]
        kept = "all" if at.round.drafted == at.round.accepted else f"{at.round.accepted}"
        guessed = f"guessed {at.round.drafted}, kept {kept}" if at.round.drafted else "nothing guessed"
        if at.token.origin is Origin.DRAFT:
            what = f"this is the {_ordinal(at.place + 1)} guess, {at.guesser}, kept"
        else:
            what = {
                Origin.CORRECTION: f"this is the target's own, in place of the {_ordinal(at.place + 1)} guess",
                Origin.BONUS: "this is the target's own, after a draft that was kept whole",
                Origin.PLAIN: "this is the target's own",
            }[at.token.origin]
        return f"round {at.number:,}: {guessed}; {what}"

    def _put(self, token: int, text: str) -> None:
        style = self._tokens[token].style(self._palette)
        first, *following = text.expandtabs(TAB).split("\n")
        self._add(token, first, style)
        for row in following:
            self._wrap()
            self._open = []
            self._lines.append(Line(()))
            self._owners.append([])
            self._add(token, row, style)

    def _add(self, token: int, text: str, style: object) -> None:
        bare = text.lstrip(" ")
        if len(bare) < len(text):
            # A blank before a word is part of its token, but underlined it would join the words to one line.
            self._open.append((token, Segment(" " * (len(text) - len(bare)), self._palette.plain)))
        if bare:
            self._open.append((token, Segment(bare, style)))  # type: ignore[arg-type]

    def _wrap(self) -> None:
        """Wrap the open text, which begins with the last line; what stays open is the last of the lines it makes."""
        if not self._open:
            return
        if self._lines:
            del self._lines[-1], self._owners[-1]
        text = "".join(segment.text for _, segment in self._open)
        starts = [0, *breaks(text, self._width)]
        stops = [*starts[1:], len(text)]
        ends = [start + len(text[start:stop].rstrip(" ")) for start, stop in zip(starts, stops, strict=True)]
        ends[-1] = len(text)
        cut: list[tuple[int, Segment]] = []
        for cut, end, stop in zip(_cuts(self._open, zip(starts, ends, strict=True)), ends, stops, strict=True):
            joint = "\n" if stop == len(text) else " " * (end < stop)
            self._lines.append(Line(tuple(segment for _, segment in cut), joint=joint))
            self._owners.append([owner for owner, _ in cut])
        self._open = cut

    def _legend(self) -> list[Line]:
        if not self._tokens:
            return []
        counts = Counter(each.manner for each in self._tokens)
        runs: list[Segment] = []
        examples = {each.manner: each for each in self._tokens}
        for manner, words in _NAMES.items():
            if counts[manner]:
                share = f" {counts[manner]:,} ({100 * counts[manner] / len(self._tokens):.0f} %)   "
                name = words.replace(" ", "\u00a0")
                runs += [
                    Segment(name, examples[manner].style(self._palette)),
                    Segment(share.replace(" (", "\u00a0(").replace(" %", "\u00a0%"), self._palette.muted),
                ]
        return [replace(line, joint=None) for line in wrapped(runs, self._width)]


def _cuts(
    parts: Sequence[tuple[int, Segment]], spans: Iterable[tuple[int, int]]
) -> Iterator[list[tuple[int, Segment]]]:
    """The parts between two characters, for spans in order: an answer may be one line of ten thousand tokens."""
    first = begin = 0
    for start, end in spans:
        while first < len(parts) and begin + len(parts[first][1].text) <= start:
            begin += len(parts[first][1].text)
            first += 1
        cut = []
        place = begin
        at = first
        while at < len(parts) and place < end:
            owner, segment = parts[at]
            cut.append((owner, Segment(segment.text[max(start - place, 0) : end - place], segment.style)))
            place += len(segment.text)
            at += 1
        yield cut


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
