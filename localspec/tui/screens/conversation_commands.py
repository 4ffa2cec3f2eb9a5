"""Commands about what was said: copies, files, titles, other conversations."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from textual import work

from localspec.chat.events import Role
from localspec.chat.thinking import split_thinking
from localspec.conversations.conversation import Conversation, Entry
from localspec.conversations.export import export_to
from localspec.conversations.markdown import as_markdown
from localspec.errors import FileExistsAlreadyError, HistoryError, LocalspecError
from localspec.terminal import visible
from localspec.tui.attachments import file_to_write, read_attachment
from localspec.tui.clipboard import copy
from localspec.tui.rendering.markdown import code_blocks
from localspec.tui.screens.chat_base import WRITE_SECONDS, ChatBase
from localspec.tui.screens.dialogs import Ask, AskText
from localspec.tui.widgets.composer import Composer


class ConversationCommands(ChatBase):
    """The actions that need no engine."""

    def action_previous_message(self) -> None:
        """Choose the message before."""
        self.transcript.action_choose(-1)

    def action_next_message(self) -> None:
        """Choose the message after."""
        self.transcript.action_choose(1)

    def action_copy_answer(self) -> None:
        """Copy the chosen message, or the last answer."""
        entry = self.chosen() or self.answering.talk.last_answer
        if entry is None:
            self.notify("There is nothing to copy yet.")
        else:
            copy(self.app, visible(_said(entry)), "the message")

    def action_copy_code(self, number: str = "") -> None:
        """Copy a block of code of the chosen answer, or of the last one that has any."""
        chosen = self.chosen()
        entries = [chosen] if chosen else reversed(self.answering.talk.conversation.path)
        entry = next((entry for entry in entries if code_blocks(_said(entry))), None)
        if entry is None:
            self.notify("There is no block of code yet.")
            return
        count = len(code_blocks(_said(entry)))
        if number and not (number.isdecimal() and 1 <= int(number) <= count):
            self.notify(f"The blocks of code of this answer are numbered 1 to {count}.", severity="warning")
        else:
            self.copy_block(entry.id, int(number) if number else count)

    def copy_block(self, entry_id: str, number: int) -> None:
        """Copy the block of that number, from 1, of an answer."""
        blocks = code_blocks(_said(self.answering.talk.conversation[entry_id]))
        # A control character that a model put into code would act where it is pasted.
        copy(self.app, visible(blocks[number - 1].text), f"block {number} of {len(blocks)}")

    def action_copy_conversation(self) -> None:
        """Copy all of the branch that is shown."""
        copy(self.app, as_markdown(self.answering.talk.conversation), "the conversation")

    @work
    async def action_attach(self, name: str = "") -> None:
        """Attach a text file."""
        name = name or await self._text("Attach which text file?")
        loaded = self.services.engine.loaded
        if name:
            try:
                self.query_one(Composer).attach(read_attachment(name, context=loaded.context_size if loaded else None))
            except LocalspecError as error:
                self.notify(str(error), severity="error", markup=False)
        self.query_one(Composer).focus()

    @work
    async def action_export(self, name: str = "") -> None:
        """Write the conversation to a file."""
        name = name or await self._text("Export to which file? (.md or .json)")
        if not name.strip():
            return
        try:
            path = file_to_write(name)
            try:
                await self._export_to(path, overwrite=False)
            except FileExistsAlreadyError:
                chosen = await self.app.push_screen_wait(
                    Ask(f"{path} is there already.", {"o": "overwrite it", "c": "cancel"})
                )
                if chosen != "o":
                    return
                await self._export_to(path, overwrite=True)
            self.notify(f"The conversation is in {path}.", markup=False)
        except LocalspecError as error:
            self.notify(str(error), severity="error", markup=False)

    async def _export_to(self, path: Path, *, overwrite: bool) -> None:
        # JSON of a long conversation, with every token, takes seconds.
        await asyncio.to_thread(
            export_to, path, self.answering.talk.conversation, self.kept_rounds, overwrite=overwrite
        )

    @work
    async def action_new(self) -> None:
        """Begin another conversation."""
        if await self.quiet():
            self.show_conversation(self.new_conversation())
            self.query_one(Composer).focus()

    @work
    async def action_conversations(self, words: str = "") -> None:
        """Find a conversation and show it."""
        from localspec.tui.screens.conversations import ConversationsScreen  # noqa: PLC0415 - the first frame has no time for it

        screen = ConversationsScreen(
            self.services.store, self.services.saver, words, current=self.answering.talk.about.id
        )
        found = await self.app.push_screen_wait(screen)
        if (title := screen.renamed.get(self.answering.talk.about.id)) is not None:
            self.answering.talk.tell_about(replace(self.answering.talk.about, title=title))
        if found is not None and await self.quiet():
            await self.open_conversation(found)

    async def open_conversation(self, conversation_id: str) -> None:
        """Show a conversation that was kept."""
        try:
            conversation = await asyncio.to_thread(self._kept, conversation_id)
        except HistoryError as error:
            self.notify(str(error), severity="error", markup=False)
        else:
            # An answer may have been asked for while it was read.
            if await self.quiet():
                self.show_conversation(conversation)
        self.query_one(Composer).focus()

    def _kept(self, conversation_id: str) -> Conversation:
        """The conversation as the disk has it, in a thread: another program may hold the file for seconds."""
        self.services.saver.flush(WRITE_SECONDS)
        self.services.saver.reopen(conversation_id)
        return self.services.store.open(conversation_id)

    @work
    async def action_rename(self, title: str = "") -> None:
        """Give the conversation another title."""
        talk = self.answering.talk
        title = title or await self._text("Rename the conversation", talk.about.title)
        if title.strip():
            talk.tell_about(replace(talk.about, title=title.strip()))

    @work
    async def action_system(self, text: str = "") -> None:
        """Show or set the system prompt."""
        talk = self.answering.talk
        given: str | None = text or await self.app.push_screen_wait(
            AskText("System prompt (empty: the model's own)", talk.about.system, multi_line=True)
        )
        if given is not None:
            talk.tell_about(replace(talk.about, system=given.strip()))
            self.notify("The system prompt counts from the next answer on.")

    def chosen(self) -> Entry | None:
        """The message that the person chose, if any."""
        chosen = self.transcript.selected
        return self.answering.talk.conversation[chosen] if chosen else None

    async def _text(self, title: str, value: str = "") -> str:
        """What the person writes; "" when nothing."""
        return await self.app.push_screen_wait(AskText(title, value)) or ""


def _said(entry: Entry) -> str:
    """What was said, without what a model thought before."""
    return split_thinking(entry.text)[1] if entry.role is Role.ASSISTANT else entry.text
