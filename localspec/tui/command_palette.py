"""The command palette: every action with its key, the newest conversations, and the colours."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

from textual import work
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.command import CommandInput, CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.css.query import NoMatches
from textual.types import IgnoreReturnCallbackType

from localspec.conversations.listing import Listed
from localspec.errors import HistoryError
from localspec.terminal import visible
from localspec.tui.actions import ACTIONS, Action
from localspec.tui.screens.closing import ClosesOnce
from localspec.tui.services import Services
from localspec.tui.widgets.line_input import LineInput

_RECENT = 30
_NOT_HERE = frozenset({"send", "palette", "theme"})
"""Actions that make no sense in the palette, or that it offers in another way."""


@runtime_checkable
class Chat(Protocol):
    """What of the chat's screen is used here; over another screen the palette offers the colours alone."""

    services: Services

    async def carry_out(self, action: Action, argument: str = "") -> None:
        """Do what an action is for."""

    async def open_conversation(self, conversation_id: str) -> None:
        """Show a conversation that was kept."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A line of the palette.

    Attributes:
        name: what is shown and searched; may be other people's text.
        run: what choosing it does.
        help: a sentence about it.
        key: stands behind the name; "" for none.
    """

    name: str
    run: IgnoreReturnCallbackType
    help: str
    key: str = ""


class OfferProvider(Provider):
    """Finds what can be done now."""

    async def startup(self) -> None:
        """Begin to read the newest conversations.

        Not more: Textual cancels this when a key is typed before it is over, and has nothing to offer from then on.
        """
        self._recent: Sequence[Listed] = ()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        """Read them, in a thread; a file that cannot be read offers none."""
        if isinstance(self.screen, Chat):
            try:
                self._recent = await asyncio.to_thread(self.screen.services.store.list, _RECENT)
            except HistoryError as error:
                self.app.notify(str(error), severity="error", markup=False)

    async def discover(self) -> Hits:
        """Everything, while nothing is typed."""
        await asyncio.shield(self._reading)
        for offer in self._offers():
            yield DiscoveryHit(_shown(offer), offer.run, text=offer.name, help=_help(offer))

    async def search(self, query: str) -> Hits:
        """What matches."""
        await asyncio.shield(self._reading)
        matcher = self.matcher(query)
        for offer in self._offers():
            score, places = matcher.fuzzy_search.match(query, offer.name)
            if score > 0:
                shown = _shown(offer)
                for place in places:
                    shown = shown.stylize(matcher.match_style, place, place + 1)
                yield Hit(score, shown, offer.run, text=offer.name, help=_help(offer))

    def _offers(self) -> Iterator[Offer]:
        """Actions, then conversations, then colours."""
        chat = self.screen
        if isinstance(chat, Chat):
            for action in ACTIONS:
                if action.name not in _NOT_HERE:
                    yield Offer(_name(action), partial(chat.carry_out, action), action.help, self._key(action))
            for listed in self._recent:
                name = f"open: {_line(listed.title or 'without a title')}"
                yield Offer(name, partial(chat.open_conversation, listed.id), _line(listed.snippet))
        for theme in sorted(self.app.available_themes):
            yield Offer(f"colours: {theme}", partial(setattr, self.app, "theme", theme), "Change the colours.")

    def _key(self, action: Action) -> str:
        return self.app.get_key_display(Binding(action.keys[0], action.name)) if action.keys else ""


_search = inspect.unwrap(CommandPalette._gather_commands)  # noqa: SLF001 - no public name, and what fails is in there


class _SearchLine(CommandInput, LineInput):
    """Where the words are written. As in `ClosesOnce`, Textual knows the kind by the first base."""


class Palette(CommandPalette, ClosesOnce[None]):
    """Textual's own, but for what is still to come when it closes, or the app with it.

    A search that is not over, one that a key typed after Escape begins, and the words that nothing was found, half a
    second later: all of them look for the list, which may be gone, and that ended the app.
    """

    @work(exclusive=True, group=CommandPalette._GATHER_COMMANDS_GROUP)  # noqa: SLF001 - as said
    async def _gather_commands(self, search_value: str) -> None:
        with suppress(NoMatches):
            await _search(self, search_value)

    def compose(self) -> ComposeResult:
        """Textual's parts, but for a line to write in that draws no control character."""
        for widget in super().compose():
            if isinstance(widget, CommandInput):
                yield _SearchLine(id=widget.id, placeholder=widget.placeholder, select_on_focus=False)
            else:
                yield widget

    def _action_command_list(self, action: str) -> None:
        """Go through the list, unless it has no lines yet: there a page key raises."""
        if any(commands.scrollable_content_region for commands in self.query(CommandList)):
            super()._action_command_list(action)

    def _action_cursor_down(self) -> None:
        """Open the list, or go on in it, once it is there."""
        if self.query(CommandList):
            super()._action_cursor_down()

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close it."""
        self._stop_no_matches_countdown()
        self._stop_busy_countdown()
        return super().dismiss(result)


def providers() -> set[type[Provider]]:
    """What the app's palette asks."""
    return {OfferProvider}


def _name(action: Action) -> str:
    """Its title, and its word for those who type it here."""
    return f"{action.title}  /{action.slash}" if action.slash else action.title


def _shown(offer: Offer) -> Content:
    title, gap, word = offer.name.partition("  /")
    return Content.assemble(title, (f"{gap}{word}", "$foreground 65%"), f"  {offer.key}" if offer.key else "")


def _help(offer: Offer) -> str:
    """As content, which the palette takes as it is: Textual's escapes miss some of what it reads as markup."""
    return Content(offer.help)  # type: ignore[return-value] # as said


def _line(text: str) -> str:
    return visible(text).replace("\n", " ").replace("\t", " ")
