"""What the screens share: the engine, the kept conversations, and what was set before the program ran."""

from __future__ import annotations

from dataclasses import dataclass

from localspec.conversations.conversation import Attachment, Conversation
from localspec.conversations.saver import Saver
from localspec.conversations.store import ConversationStore
from localspec.settings import Sources
from localspec.tui.engine_link import EngineLink
from localspec.tui.engine_state import EngineState
from localspec.tui.prompt_history import PromptHistory


@dataclass(frozen=True, slots=True)
class Services:
    """One of each, for as long as the app runs.

    Attributes:
        link: jobs for the engine.
        engine: which pair is wanted and loaded.
        store: reads conversations.
        saver: writes them, in a thread of its own.
        history: prompts of earlier runs.
        sources: flags, variables and config.toml.
    """

    link: EngineLink
    engine: EngineState
    store: ConversationStore
    saver: Saver
    history: PromptHistory
    sources: Sources


@dataclass(frozen=True, slots=True)
class Opening:
    """What the app opens with.

    Attributes:
        conversation: an earlier one, or a new one.
        attachments: for the first question.
    """

    conversation: Conversation
    attachments: tuple[Attachment, ...] = ()
