"""A hurried or unlucky person: keys that overtake each other, an engine that hangs or dies at the wrong moment."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from textual import events

from localspec.chat.events import AnswerEvent, AnswerRequest
from localspec.conversations.saver import Saver
from localspec.conversations.store import ConversationStore
from localspec.errors import EngineDiedError, LocalspecError
from localspec.tui.engine_state import Stage
from localspec.tui.screens.chat import ChatScreen
from localspec.tui.screens.dialogs import Ask
from localspec.tui.widgets.composer import Composer
from tests.tui.conftest import Chatting, Start
from tests.tui.scripted_engine import ScriptedEngine

LONG = " ".join(f"word{number}" for number in range(60))


class HangingEngine(ScriptedEngine):
    """Does not stop when it is told to; only its end ends what it does."""

    def cancel(self) -> None:
        """Hang."""

    def _play(self, script: str, request: AnswerRequest) -> Iterator[AnswerEvent]:
        for event in super()._play(script, request):
            if not self.alive:
                raise EngineDiedError("The engine was stopped", "", "Start it again.")
            yield event


class DyingEngine(ScriptedEngine):
    """Dies of being told to stop."""

    def cancel(self) -> None:
        self.dies_after = 2
        super().cancel()


class MistakenEngine(ScriptedEngine):
    """Its first answer is a mistake of ours."""

    def answer(self, request: AnswerRequest) -> Generator[AnswerEvent, None, None]:
        if not self.requests:
            self.requests.append(request)
            raise RuntimeError("odd")
        yield from super().answer(request)


async def writing(chatting: Chatting) -> None:
    """Ask, and come to the middle of the answer."""
    await chatting.ready()
    await chatting.type("Go")
    chatting.engine.step(2)
    await chatting.until(lambda: "word6" in chatting.texts[-1])


async def test_a_question_sent_before_the_one_before_was_taken_up_overwrites_no_answer(start: Start):
    async with start(ScriptedEngine([LONG, "Second."], held=True)) as chatting:
        await chatting.ready()
        composer = chatting.chat.query_one(Composer)
        for text in ("first", "second"):
            composer.set_text(text)
            composer.send()
        await chatting.pilot.pause()
        assert composer.text == "second"
        chatting.engine.go_on()
        await chatting.idle()
        assert chatting.texts == ["first", LONG]


async def test_an_answer_that_is_wanted_while_another_is_written_comes_after_it(start: Start):
    async with start(ScriptedEngine([LONG, "Second."], held=True)) as chatting:
        await writing(chatting)
        chatting.chat.begin_answer(chatting.chat.answering.talk.ask("Next?"))
        chatting.engine.go_on()
        await chatting.idle()
        assert chatting.texts == ["Go", LONG, "Next?", "Second."]


KEYS = ("ctrl+n", "ctrl+r", "f6", "alt+left", "ctrl+g")


@pytest.mark.parametrize("first", KEYS)
@pytest.mark.parametrize("second", KEYS)
async def test_two_keys_in_a_row_while_an_answer_is_written_act_one_after_the_other(
    start: Start, first: str, second: str
):
    async with start(ScriptedEngine([LONG, "Second."], held=True)) as chatting:
        await writing(chatting)
        for key in (first, second):
            chatting.app.post_message(events.Key(key, None))  # none waits for the one before
        await chatting.pilot.pause(0.1)
        chatting.engine.go_on()
        await chatting.until(lambda: not chatting.app.workers or chatting.app.screen is not chatting.chat)
        while chatting.app.screen is not chatting.chat:
            await chatting.press("escape")
        await chatting.ready()
        await chatting.idle()
        asked = [text for text in chatting.texts if text]
        assert asked[:1] in ([], ["Go"])
        await chatting.ask("Still there?")
        assert chatting.texts[-2:] == ["Still there?", "Second."]


async def test_a_branch_is_shown_at_once_by_its_command_too_while_an_answer_is_written(start: Start):
    async with start(ScriptedEngine([LONG])) as chatting:
        await chatting.ready()
        await chatting.ask("Go")
        chatting.engine.held = True
        await chatting.press("ctrl+r")
        chatting.engine.step(1)
        await chatting.until(lambda: "word3" in chatting.texts[-1])
        began = time.monotonic()
        await chatting.type("/previous")
        await chatting.until(lambda: chatting.texts[-1] == LONG)
        assert time.monotonic() - began < 8  # it had waited ten seconds for itself


async def test_compare_survives_an_engine_that_dies_of_being_stopped(start: Start):
    async with start(DyingEngine([LONG], held=True)) as chatting:
        await writing(chatting)
        await chatting.press("ctrl+g")
        await chatting.until(lambda: chatting.services.engine.stage is Stage.FAILED)
        await chatting.pilot.pause()
        assert isinstance(chatting.app.screen, ChatScreen)
        assert chatting.texts[-1].count("word") == 7


async def test_an_engine_that_hangs_is_replaced_on_a_key_and_the_answer_counts_as_stopped(start: Start):
    async with start(HangingEngine([LONG], held=True)) as chatting:
        await writing(chatting)
        await chatting.press("escape")
        assert chatting.chat.answering.busy
        await chatting.press("f10")
        await chatting.idle()
        await chatting.ready()
        assert chatting.engine.starts == 2
        assert chatting.chat.answering.talk.last_answer.facts.finish == "cancelled"
        assert chatting.texts[-1].count("word") == 7
        await chatting.ask("Again")
        assert chatting.texts[-1] == LONG


async def test_a_mistake_of_ours_in_an_answer_is_told_and_the_next_one_comes(start: Start):
    async with start(MistakenEngine([LONG])) as chatting:
        await chatting.ready()
        await chatting.ask("Go")
        assert "RuntimeError" in chatting.chat.answering.talk.last_answer.facts.error
        await chatting.ask("Again")
        assert chatting.texts[-1] == LONG


@pytest.mark.parametrize("name", ["~nosuchuser/x.md", "a" * 300, "a\0b", "/", "~"])
@pytest.mark.parametrize("command", ["export", "attach"])
async def test_no_name_of_a_file_ends_the_app(start: Start, command: str, name: str):
    async with start() as chatting:
        await chatting.ready()
        await chatting.ask("Go")
        await chatting.type(f"/{command} {name}")
        await chatting.until(lambda: any(notice.severity == "error" for notice in chatting.app._notifications))


async def test_what_is_told_cannot_steer_the_terminal_and_is_no_markup(start: Start):
    async with start() as chatting:
        await chatting.ready()
        await chatting.type("/theme \x1b]0;x\x07[red]x[/]")
        [told] = chatting.app._notifications
        assert "␛]0;x␇[red]x[/]" in told.message
        assert not told.markup


async def test_a_person_can_leave_from_any_dialog(start: Start):
    async with start() as chatting:
        await chatting.ready()
        assert "^q quit" in chatting.screen
        await chatting.type("/rename")
        await chatting.press("ctrl+q")
        await chatting.until(lambda: chatting.app._exit)


async def test_a_conversation_deleted_in_another_window_is_kept_whole_when_it_goes_on(start: Start, tmp_path: Path):
    async with start(ScriptedEngine(["One.", "Two."])) as chatting:
        await chatting.ready()
        await chatting.ask("First?")
        about = chatting.chat.answering.talk.about
        assert chatting.services.saver.flush(5)
        ConversationStore(tmp_path / "history.sqlite3").delete(about.id)
        await chatting.ask("Second?")
        await chatting.until(lambda: chatting.services.saver.flush(0.1))
        kept = chatting.services.store.open(about.id)
        assert [entry.text for entry in kept.path] == ["First?", "One.", "Second?", "Two."]


async def test_leaving_in_mid_answer_keeps_what_came_as_a_stopped_answer(start: Start):
    async with start(ScriptedEngine([LONG], held=True)) as chatting:
        await writing(chatting)
        id_ = chatting.chat.answering.talk.about.id
        await chatting.press("ctrl+q")
    [_, answer] = chatting.services.store.open(id_).path
    assert answer.text.count("word") == 7
    assert answer.facts is not None
    assert answer.facts.finish == "cancelled"


async def test_leaving_asks_first_when_something_could_not_be_saved(start: Start, monkeypatch: pytest.MonkeyPatch):
    async with start() as chatting:
        await chatting.ready()
        monkeypatch.setattr(Saver, "trouble", property(lambda _: LocalspecError("The disk is full")))
        await chatting.press("ctrl+q")
        await chatting.until(lambda: isinstance(chatting.app.screen, Ask))
        await chatting.press("s")
        assert chatting.app.screen is chatting.chat
        await chatting.press("ctrl+q", "ctrl+q")
        await chatting.until(lambda: chatting.app._exit)
