"""The figures beside the conversation are those of an answer that is shown: the last one, or the chosen one."""

import re

import pytest

from tests.tui.conftest import Chatting, Start
from tests.tui.scripted_engine import ScriptedEngine

SHORT, LONG = "one two three", " ".join(f"word{number}" for number in range(20))


def tokens(chatting: Chatting) -> int:
    """How many tokens the answer has whose figures are shown."""
    return int(re.search(r"(\d+) in \d+ passes", chatting.screen).group(1))


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine([SHORT, LONG])


async def test_a_chosen_answer_shows_its_own_figures_and_esc_those_of_the_last(start: Start, engine: ScriptedEngine):
    async with start(engine) as chatting:
        await chatting.ready()
        await chatting.ask("Few")
        await chatting.ask("Many")
        assert tokens(chatting) == 20
        await chatting.press("alt+up", "alt+up", "alt+up")
        await chatting.until(lambda: "the chosen answer" in chatting.screen)
        assert tokens(chatting) == 3
        await chatting.press("escape")
        await chatting.until(lambda: "the chosen answer" not in chatting.screen)
        assert tokens(chatting) == 20


async def test_a_chosen_question_shows_the_figures_of_its_answer(start: Start, engine: ScriptedEngine):
    async with start(engine) as chatting:
        await chatting.ready()
        await chatting.ask("Few")
        await chatting.ask("Many")
        chatting.chat.transcript.selected = chatting.chat.answering.talk.conversation.path[0].id
        await chatting.until(lambda: tokens(chatting) == 3)


async def test_on_one_line_too_it_is_said_that_the_answer_was_chosen(start: Start, engine: ScriptedEngine):
    async with start(engine, size=(80, 24)) as chatting:
        await chatting.ready()
        await chatting.ask("Few")
        await chatting.press("alt+up")
        await chatting.until(lambda: re.search(r"chosen: +\d+\.\d tok/s", chatting.screen))


async def test_who_asks_anew_sees_the_figures_of_what_comes(start: Start, engine: ScriptedEngine):
    async with start(engine) as chatting:
        await chatting.ready()
        await chatting.ask("Few")
        chatting.chat.transcript.selected = chatting.chat.answering.talk.conversation.path[-1].id
        await chatting.ask("Many")
        await chatting.until(lambda: "the chosen answer" not in chatting.screen)
        assert tokens(chatting) == 20


async def test_a_branch_comes_with_the_figures_of_its_own_answer(start: Start, engine: ScriptedEngine):
    async with start(engine) as chatting:
        await chatting.ready()
        await chatting.ask("Why?")
        await chatting.press("ctrl+r")
        await chatting.until(lambda: chatting.texts[-1] == LONG)
        await chatting.idle()
        assert tokens(chatting) == 20
        await chatting.press("alt+left")
        await chatting.until(lambda: tokens(chatting) == 3)


async def test_a_conversation_that_is_resumed_comes_with_the_figures_of_its_last_answer(
    start: Start, engine: ScriptedEngine
):
    async with start(engine) as chatting:
        await chatting.ready()
        await chatting.ask("Few")
        before = chatting.screen
        chatting.services.saver.flush(10)
        kept = chatting.services.store.open(chatting.chat.answering.talk.about.id)
    async with start(ScriptedEngine(), conversation=kept) as chatting:
        await chatting.ready()
        assert tokens(chatting) == 3
        rounds = "●●◇"
        assert rounds in before
        assert rounds in chatting.screen
