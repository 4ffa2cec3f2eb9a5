"""The first row of the screen: which models answer, where they run or what keeps them, and which conversation it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len, set_cell_size

from localspec.terminal import visible
from localspec.tui.engine_state import EngineState, Stage
from localspec.tui.glyphs import Glyphs, glyphs
from localspec.tui.widgets.figure_texts import percent
from localspec.tui.widgets.rows import Row, Rows, Spans, cells

_NAME = "localspec"
_GAP = 3
_SHORTEST_TITLE = 12
_SHORTEST_MODEL = 8


@dataclass(frozen=True, slots=True)
class Heading:
    """What the title bar says.

    Attributes:
        target: name of the target; "" for none.
        draft: name of the draft; "" for none.
        state: what the engine does or where the models run.
        trouble: whether `state` is something that a person must do something about.
        conversation: its title; "" for a new one.
    """

    target: str = ""
    draft: str = ""
    state: str = ""
    trouble: bool = False
    conversation: str = ""


def heading_of(engine: EngineState, conversation: str) -> Heading:
    """What to say of an engine.

    Args:
        engine: as it is.
        conversation: title of the conversation that is shown.
    """
    loading = engine.choice.loading if engine.choice else None
    return Heading(
        target=loading.target.path.stem if loading else "",
        draft=loading.draft.path.stem if loading and loading.draft else "",
        state=_state(engine),
        trouble=engine.stage is Stage.FAILED or engine.refusal is not None,
        conversation=conversation,
    )


def _state(engine: EngineState) -> str:
    match engine.stage:
        case Stage.CHOOSING:
            return "no pair loaded"
        case Stage.LOADING:
            progress = engine.progress
            return f"{progress.words}: {percent(progress.fraction)}" if progress else "loading"
        case Stage.MEASURING:
            return "measuring this machine"
        case Stage.FAILED:
            return "engine down"
        case Stage.READY:
            loaded = engine.loaded
            if loaded is None:
                return ""
            cpu = loaded.target.device == "CPU"
            return _on_cpu(loaded.threads) if cpu else loaded.target.device


def _on_cpu(threads: int) -> str:
    return "CPU, 1 thread" if threads == 1 else f"CPU, {threads} threads"


class TitleBar(Rows):
    """One row; names and titles are cut, the longest first, never the state."""

    PREFIX = "title-bar"

    DEFAULT_CSS = """
    TitleBar {
        height: 1;
        padding: 0 1;
        background: $panel;
        color: $foreground;

        & > .title-bar--name { color: $primary; text-style: bold; }
        & > .title-bar--muted { color: $text-muted; }
        & > .title-bar--bad { color: $text-error; text-style: bold reverse; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"title-bar--{style}" for style in ("plain", "name", "muted", "bad")}

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - as in Widget
        super().__init__(id=id, classes=classes)
        self._heading = Heading()

    def update(self, heading: Heading) -> None:
        """Say this from now on."""
        self._heading = heading
        self._write()

    def on_resize(self) -> None:
        """Cut for another width."""
        self._write()

    def _write(self) -> None:
        self.show_rows([Row(title_spans(self._heading, self.size.width, glyphs()))])


def title_spans(heading: Heading, width: int, signs: Glyphs) -> Spans:
    """The row at this width."""
    state: Spans = ((heading.state, "bad" if heading.trouble else "muted"),) if heading.state else ()
    name: Spans = ((_NAME, "name"),)
    target, draft, title = (_one_line(text) for text in (heading.target, heading.draft, heading.conversation))
    pair, short = _pair(target, draft, signs), _pair(target, _beyond(target, draft, signs), signs)
    named, nameless = [_joined(name, pair, state), _joined(name, short, state)], [_joined(short, state)]
    gap = _GAP if title else 0
    whole, part = cell_len(title) + gap, min(cell_len(title), _SHORTEST_TITLE) + gap
    for lefts, least in ((named, whole), (named, part), (nameless, part), (named, 0), (nameless, 0)):
        for left in lefts:
            if width - cells(left) >= least:
                return _with_title(left, title, width, signs)
    room = width - cells(state) - _GAP if state else width
    cut_pair = _cut_pair(target, _beyond(target, draft, signs), room, signs)
    return _joined(cut_pair, state) if cut_pair else tuple((cut(text, width, signs), style) for text, style in state)


def cut(text: str, width: int, signs: Glyphs) -> str:
    """The text, with an ellipsis in place of what is beyond so many cells."""
    if cell_len(text) <= width:
        return text
    room = width - cell_len(signs.ellipsis)
    return set_cell_size(text, room).rstrip() + signs.ellipsis if room > 0 else ""


def cut_inside(name: str, width: int, signs: Glyphs) -> str:
    """A file's name, with an ellipsis in its middle: how it is quantised stands at the end."""
    if cell_len(name) <= width:
        return name
    end = set_cell_size(name[::-1], width // 3)[::-1].strip()
    room = width - cell_len(signs.ellipsis) - cell_len(end)
    return set_cell_size(name, room).rstrip() + signs.ellipsis + end if room > 0 else ""


def _pair(target: str, draft: str, signs: Glyphs) -> Spans:
    if not target:
        return ()
    return ((target, "plain"), (f" {signs.arrow} ", "muted"), (draft, "plain")) if draft else ((target, "plain"),)


def _cut_pair(target: str, draft: str, room: int, signs: Glyphs) -> Spans:
    """The pair in so many cells: the names share what there is; when that is little, the draft goes, then all."""
    between = cell_len(f" {signs.arrow} ")
    half = (room - between) // 2
    if draft and half >= _SHORTEST_MODEL:
        shorter = min(cell_len(draft), half)
        return _pair(cut_inside(target, room - between - shorter, signs), cut_inside(draft, shorter, signs), signs)
    return _pair(cut_inside(target, room, signs), "", signs) if room >= _SHORTEST_MODEL else ()


def _beyond(target: str, draft: str, signs: Glyphs) -> str:
    """The draft's name without the words with which the target's begins too."""
    words, others = draft.split("-"), target.split("-")
    same = next((i for i, word in enumerate(words) if others[i : i + 1] != [word]), 0)
    return signs.ellipsis + "-".join(words[same:]) if same else draft


def _with_title(left: Spans, title: str, width: int, signs: Glyphs) -> Spans:
    """The title at the right end, as much as there is room for."""
    room = width - cells(left) - _GAP
    if room < min(cell_len(title), _SHORTEST_TITLE):
        return left
    shown = cut(title, room, signs)
    return (*left, (" " * (width - cells(left) - cell_len(shown)), "plain"), (shown, "muted"))


def _joined(*parts: Spans) -> Spans:
    row: Spans = ()
    for part in parts:
        if part:
            row = (*row, (" " * _GAP, "plain"), *part) if row else part
    return row


def _one_line(text: str) -> str:
    """Other people's text, safe and on one line."""
    return " ".join(visible(text).split())
