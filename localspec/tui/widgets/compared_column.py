"""One side of a comparison: what it is, what it does, its text, its figures."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localspec.chat.events import AnswerEnd
from localspec.decoding.rounds import Finish
from localspec.terminal import visible
from localspec.tui.comparing import Phase, Side
from localspec.tui.difference import Difference
from localspec.tui.glyphs import glyphs

_HOW_IT_ENDED = {
    Finish.END: "ended by the model",
    Finish.STOP: "ended by a stop text",
    Finish.LENGTH: "cut: long enough to compare",
    Finish.CONTEXT: "cut: the context is full",
    Finish.CANCELLED: "stopped",
}


class ComparedColumn(Vertical):
    """One side. It shows what it is told, text scrolled to its end until the person scrolls."""

    DEFAULT_CSS = """
    ComparedColumn {
        width: 1fr;
        height: 1fr;
        padding: 0 1;
        & > .name { text-style: bold; height: auto; }
        & > .phase { height: 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
        & > VerticalScroll { height: 1fr; min-height: 1; scrollbar-size-vertical: 1; }
        & > VerticalScroll > Static { min-height: 100%; }
        & > .figures { height: auto; border-top: solid $foreground 30%; }
    }
    """

    def __init__(self, *, id: str) -> None:  # noqa: A002 - textual's word
        super().__init__(id=id)
        self._heading = Static(classes="name", markup=False)
        self._phase = Static(classes="phase", markup=False)
        self._text = Static(markup=False)
        self._scroll = VerticalScroll(self._text)
        self._figures_line = Static(classes="figures", markup=False)
        self._shown = ""

    def compose(self) -> ComposeResult:
        """Name, phase, text, figures."""
        yield self._heading
        yield self._phase
        yield self._scroll
        yield self._figures_line

    def show_name(self, name: str) -> None:
        """Say which side it is."""
        self._heading.update(Content(visible(name)))

    def show_side(self, side: Side, speeds: Sequence[float]) -> None:
        """Show text and figures as they are now.

        Args:
            side: what there is to show.
            speeds: its tokens per second, run by run.
        """
        self._phase.update(Content(_doing(side)))
        text = visible("".join(side.tokens))
        if text != self._shown:
            if not self._shown or not text.startswith(self._shown):
                self._scroll.anchor()
            self._shown = text
            self._text.update(Content(text))
        self._figures_line.update(_figures(side, speeds))

    def show_difference(self, side: Side, difference: Difference) -> None:
        """Mark where the text parts from the other one, and scroll there."""
        whole = "".join(side.tokens)
        before, rest = visible(whole[: difference.character]), visible(whole[difference.character :])
        word = rest[: len(rest) - len(rest.lstrip())] + (rest.split(maxsplit=1) or [""])[0]
        marked = (word, "bold reverse") if word else ("ends here", "italic")
        self._text.update(Content.assemble(before, (glyphs().pointer, "bold"), marked, rest[len(word) :]))
        self._shown = before + rest
        self._scroll.release_anchor()
        self.call_after_refresh(self._show_place, before)

    def _show_place(self, before: str) -> None:
        line = len(Content(before + glyphs().pointer).wrap(max(self._text.size.width, 2)))
        self._scroll.scroll_to(y=line - self._scroll.size.height // 2, animate=False)


def _doing(side: Side) -> str:
    """What a side is doing, in words."""
    if side.phase is Phase.LOADING:
        loading = side.loading
        return f"{loading.words}, {loading.fraction:.0%}" if loading else "loading its models"
    if side.phase is Phase.READING:
        reading = side.reading
        done = f", {reading.evaluated:,} of {reading.total:,} tokens" if reading and reading.total else ""
        return f"reading the question{done}"
    if side.phase is Phase.DONE and side.end is not None:
        return _HOW_IT_ENDED[side.end.finish]
    return {
        Phase.WAITING: "waits for its turn",
        Phase.WRITING: "writing",
        Phase.STOPPED: "stopped: this run does not count",
        Phase.FAILED: "failed: this run does not count",
    }.get(side.phase, "not asked in this run")


def _figures(side: Side, speeds: Sequence[float]) -> Content:
    """Speed, guesses and first token of the answer; the speed of a whole answer is the median of the runs."""
    counted = side.statistics
    now = counted.tokens_per_second
    if now is None:
        return Content("\n\n")
    dot = glyphs().dot
    many = side.phase is Phase.DONE and len(speeds) > 1
    speed = f"{median(speeds) if many else now:.1f} tok/s"
    means = (
        f" median of {len(speeds)} runs" if many else f" {dot} {counted.emitted:,} tokens in {counted.seconds:.1f} s"
    )
    guesses = (
        "nothing guessed"
        if counted.acceptance is None
        else f"kept {counted.acceptance:.0%} of {counted.drafted:,} {dot} {counted.tau:.2f} tokens a round"
    )
    return Content.assemble((speed, "bold"), f"{means}\n{guesses}\n{_beginning(side.end) if side.end else ''}")


def _beginning(end: AnswerEnd) -> str:
    """The first token, and whether the prompt had to be read for it."""
    if end.time_to_first_token is None:
        return "no token"
    # The last token of a prompt is read by the first round.
    known = end.reused_tokens >= end.prompt_tokens - 1
    prompt = "prompt known" if known else "prompt known in part" if end.reused_tokens else "prompt read"
    return f"first token {end.time_to_first_token:.2f} s {glyphs().dot} {prompt}"
