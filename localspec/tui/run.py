"""Runs the app from its first frame to its last write."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from localspec import locations
from localspec.conversations.conversation import About, Attachment, Conversation
from localspec.conversations.saver import Saver
from localspec.conversations.store import ConversationStore
from localspec.engine.client import EngineClient
from localspec.errors import LocalspecError, UsageError
from localspec.settings import Sources, merge
from localspec.terminal import visible
from localspec.tui.app import ChatApp
from localspec.tui.engine_link import EngineLink
from localspec.tui.engine_state import EngineState
from localspec.tui.prompt_history import PromptHistory
from localspec.tui.services import Opening, Services

_FAREWELL_SECONDS = 5.0


def run_app(sources: Sources, attachments: Sequence[Attachment] = (), resume: str | None = None) -> int:
    """Chat until the person leaves.

    Args:
        sources: what was set before the program ran.
        attachments: what goes along with the first question.
        resume: None for a new conversation, "" for the latest one, else words that find one.

    Returns:
        0 when all is kept, 1 when something could not be saved.

    Raises:
        UsageError: an impossible setting, or no conversation is found.
        LocalspecError: the app could not start.
        Exception: what ended the app, a mistake of ours; all that was said is kept.
    """
    if sys.__stdin__ is None or not os.isatty(sys.__stdin__.fileno()):
        raise UsageError("The app needs a keyboard", "Standard input is no terminal.", "Ask with -p, or use --plain.")
    store = ConversationStore(locations.history_file())
    opening = Opening(_conversation(store, sources, resume), tuple(attachments))
    link = EngineLink(EngineClient())
    saver = Saver(store)
    services = Services(link, EngineState(link), store, saver, PromptHistory(locations.asked_prompts_file()), sources)
    app = ChatApp(services, opening)
    try:
        error = app.run()
    finally:
        link.close()
        saved = saver.close(_FAREWELL_SECONDS)
    if app.mistake is not None:
        raise app.mistake
    if error is not None:
        raise error
    if not saved:
        _tell_lost(saver)
    return 0 if saved and not app.return_code else app.return_code or 1


def _conversation(store: ConversationStore, sources: Sources, resume: str | None) -> Conversation:
    """The conversation to open with."""
    settings = merge(*sources)
    if resume is None:
        return Conversation(About(system=settings.system))
    found = next(iter(store.search(resume, 1)), None) if resume else store.latest()
    if found is None:
        about = f" about {resume!r}" if resume else ""
        raise UsageError(f"There is no conversation{about} to resume", "", "Leave --resume out to begin one.")
    conversation = store.open(found.id)
    if "system" in sources.flags:
        conversation.about = replace(conversation.about, system=settings.system)
    return conversation


def _tell_lost(saver: Saver) -> None:
    trouble = saver.trouble or LocalspecError("The last words could not be saved in time")
    print(visible(f"{trouble}\n{saver.pending} messages are not on the disk."), file=sys.stderr)
