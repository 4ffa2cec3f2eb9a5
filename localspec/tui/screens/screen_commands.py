"""Commands about the screen itself: what it shows, its colours, help, and the way out."""

from __future__ import annotations

from localspec.tui.screens.conversation_commands import ConversationCommands
from localspec.tui.widgets.readout import Readout


class ScreenCommands(ConversationCommands):
    """The actions that change what is seen, and nothing of what is said."""

    def action_toggle_origins(self) -> None:
        """Show who wrote each token, or the text as it is meant."""
        self._rounds.try_again()
        self.transcript.origins = not self.transcript.origins

    def action_fold_thinking(self) -> None:
        """Show or fold what the model thought."""
        self.transcript.show_thinking = not self.transcript.show_thinking

    def action_toggle_readout(self) -> None:
        """Show or hide the figures."""
        self.toggle_class("-without-readout")

    def action_explain_readout(self) -> None:
        """Go through the figures."""
        self.remove_class("-without-readout")
        self.query_one(Readout).focus()

    def action_help(self) -> None:
        """Show keys and commands."""
        from localspec.tui.screens.help import HelpScreen  # noqa: PLC0415 - the first frame has no time for it

        self.app.push_screen(HelpScreen())

    def action_palette(self) -> None:
        """Find a command by its name."""
        self.app.action_command_palette()

    async def action_quit(self) -> None:
        """Leave."""
        await self.app.action_quit()

    def action_theme(self, name: str = "") -> None:
        """Change the colours; without a name, the palette shows what there is."""
        if name in self.app.available_themes:
            self.app.theme = name
        elif name:
            self.notify(f"There is no theme {name}: {', '.join(sorted(self.app.available_themes))}.", markup=False)
        else:
            self.app.search_themes()
