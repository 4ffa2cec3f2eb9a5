"""What a conversation is held with, where the pair, a flag or the person wants something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from localspec.chat.events import Role
from localspec.conversations.conversation import About, Conversation
from localspec.conversations.store import ConversationStore
from localspec.settings import Sources, choice
from localspec.settings.kept import keep_settings, kept_settings
from localspec.tui.run import _conversation
from localspec.tui.screens.settings import SettingsScreen
from localspec.tui.widgets.setting_field import SettingField
from tests.conversations.talks import keep, said
from tests.tui.conftest import Chatting, Start
from tests.tui.scripted_engine import PAIR
from tests.tui.test_chat_commands import change_setting, told

KEPT_AS = str(PAIR.target.path.absolute())


def held(**settings: Any) -> Conversation:
    """A conversation of which only the settings were kept."""
    return Conversation(About(settings=settings))


async def field_of(chatting: Chatting, name: str) -> SettingField:
    """Open the settings and look at one."""
    await chatting.press("f3")
    await chatting.until(lambda: isinstance(chatting.app.screen, SettingsScreen) and chatting.app.screen.focused)
    return next(each for each in chatting.app.screen.query(SettingField) if each.key.name == name)


async def leave(chatting: Chatting) -> None:
    await chatting.press("escape")
    await chatting.until(lambda: chatting.app.screen is chatting.chat)


def systems_asked_with(chatting: Chatting) -> list[str]:
    """The system prompt of the last request, if it had any."""
    return [message.text for message in chatting.engine.requests[-1].messages if message.role is Role.SYSTEM]


@pytest.mark.parametrize(
    ("name", "value"), [("drafter", "pruned"), ("of_later", 1), ("acceptance", "of later"), ("top_k", [1])]
)
async def test_what_cannot_be_had_is_told_and_left_out_and_the_rest_counts(start: Start, name: str, value: object):
    async with start(conversation=held(**{name: value, "temperature": 0.25})) as chatting:
        await chatting.ready()
        assert name.replace("_", " ") in told(chatting)
        await chatting.ask("Why?")
        assert chatting.engine.requests[-1].sampling.temperature == 0.25
        assert chatting.engine.requests[-1].speculation.drafter == "hybrid"
        field = await field_of(chatting, "temperature")
        assert field.value == 0.25


async def test_a_draft_of_the_targets_own_layers_is_asked_only_where_it_is_loaded(
    start: Start, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(choice, "pruned_draft_of", lambda _: Path("own.gguf"))
    async with start(conversation=held(drafter="pruned")) as chatting:
        await chatting.ready()
        assert "F3" in told(chatting)
        assert chatting.chat.answering.settings.drafter == "hybrid"
    keep_settings(KEPT_AS, {"drafter": "pruned"})
    async with start(conversation=held(drafter="pruned")) as chatting:
        await chatting.ready()
        assert told(chatting) == ""
        assert chatting.chat.answering.settings.drafter == "pruned"
        assert chatting.engine.loads[-1].draft.path == Path("own.gguf")


@pytest.mark.parametrize(
    "settings", [{"drafter": "pruned"}, {"drafter": "tree", "acceptance": "block"}], ids=["no draft", "contradiction"]
)
async def test_speculation_is_not_turned_on_with_what_cannot_be(start: Start, settings: dict[str, object]):
    async with start(conversation=held(speculation=False, **settings)) as chatting:
        await chatting.ready()
        assert told(chatting) == ""
        await chatting.press("ctrl+s")
        assert told(chatting)
        assert not chatting.chat.answering.settings.speculation
        await field_of(chatting, "drafter")
        await leave(chatting)


async def test_a_flag_is_not_overruled_by_what_the_conversation_was_held_with(start: Start):
    conversation = held(temperature=0.8, max_tokens=9)
    async with start(conversation=conversation, flags={"temperature": 0.0}) as chatting:
        await chatting.ready()
        field = await field_of(chatting, "temperature")
        assert (field.value, field.origin) == (0.0, "command line")
        await leave(chatting)
        field = await field_of(chatting, "max_tokens")
        assert (field.value, field.origin) == (9, "conversation")
        await leave(chatting)
        await change_setting(chatting, "top_k", "5")
        await chatting.ask("Why?")
        assert chatting.engine.requests[-1].sampling.temperature == 0.0
        assert chatting.engine.requests[-1].sampling.top_k == 5
    assert "temperature" not in kept_settings(KEPT_AS).values


async def test_a_system_prompt_among_the_settings_counts_here_in_the_next_one_and_in_the_next_run(start: Start):
    async with start() as chatting:
        await chatting.ready()
        await chatting.ask("One")
        assert systems_asked_with(chatting) == []
        await change_setting(chatting, "system", "brief")
        await chatting.ask("Two")
        assert systems_asked_with(chatting) == ["brief"]
        await chatting.press("ctrl+n")
        await chatting.until(lambda: chatting.texts == [])
        await chatting.ask("Three")
        assert systems_asked_with(chatting) == ["brief"]
    async with start() as chatting:
        await chatting.ready()
        await chatting.ask("Four")
        assert systems_asked_with(chatting) == ["brief"]
        field = await field_of(chatting, "system")
        assert (field.value, field.origin) == ("brief", "changed here")


async def test_a_system_prompt_of_one_conversation_is_shown_there_and_does_not_become_the_pairs(start: Start):
    keep_settings(KEPT_AS, {"system": "brief"})
    async with start() as chatting:
        await chatting.ready()
        await chatting.type("/system Rhyme.")
        field = await field_of(chatting, "system")
        assert (field.value, field.origin) == ("Rhyme.", "conversation")
        await leave(chatting)
        await change_setting(chatting, "top_k", "5")
        await chatting.ask("One")
        assert systems_asked_with(chatting) == ["Rhyme."]
        await chatting.press("ctrl+n")
        await chatting.until(lambda: chatting.texts == [])
        await chatting.ask("Two")
        assert systems_asked_with(chatting) == ["brief"]
    assert kept_settings(KEPT_AS).values == {"system": "brief", "top_k": 5}


@pytest.mark.parametrize(("flags", "system"), [({}, "Be brief."), ({"system": "Rhyme."}, "Rhyme.")])
def test_a_system_prompt_named_by_a_flag_counts_in_a_resumed_conversation(
    tmp_path: Path, flags: dict[str, object], system: str
):
    store = ConversationStore(tmp_path / "history.sqlite3")
    conversation = said("Why?", "Because.")
    conversation.about = About(system="Be brief.")
    keep(store, conversation)
    assert _conversation(store, Sources(flags, {}, {}), "").about.system == system
