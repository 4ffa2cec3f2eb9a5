"""No pair can be used, or none is loaded yet: the reason stays on the screen, and a question waits for the pair."""

from __future__ import annotations

import threading
from collections.abc import Generator

import pytest

from localspec.chat.events import AnswerRequest
from localspec.conversations.conversation import About, Conversation
from localspec.engine.messages import Loaded, LoadPair, LoadProgress
from localspec.errors import EngineDiedError, LocalspecError
from localspec.settings import choice
from localspec.settings.choice import choice_of_files
from localspec.settings.kept import keep_settings
from localspec.tui.screens.pairs import PairsScreen
from localspec.tui.widgets.composer import Composer
from localspec.tui.widgets.notice import Notice
from tests.tui.conftest import Chatting, Start
from tests.tui.scripted_engine import PAIR, ScriptedEngine
from tests.tui.test_chat_commands import told


@pytest.fixture
def _refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pair that was named was not pulled."""

    def refuse(*_: object, **__: object) -> None:
        raise LocalspecError(
            "The pair big is not on this machine", "It was not pulled.", "Fetch it: localspec pull big"
        )

    monkeypatch.setattr(choice, "first_choice_without_asking", refuse)


class HangingLoad(ScriptedEngine):
    """Its first load ends when the engine does."""

    def __init__(self) -> None:
        super().__init__()
        self.gone = threading.Event()

    def load(self, pair: LoadPair) -> Generator[LoadProgress | Loaded, None, None]:
        """Hang the first time."""
        if not self.loads:
            self.loads.append(pair)
            yield LoadProgress("target", 0.5)
            self.gone.wait(60)
            raise EngineDiedError("The engine was stopped")
        yield from super().load(pair)

    def close(self) -> None:
        """End."""
        self.gone.set()
        super().close()


async def ask_without_a_pair(chatting: Chatting, question: str) -> Notice:
    """Ask when the reason why there is none is on the screen."""
    notice = chatting.chat.query_one(Notice)
    await chatting.until(lambda: "not on this machine" in notice.words)
    await chatting.type(question)
    await chatting.until(lambda: "waiting for a pair" in chatting.screen)
    return notice


async def take_the_named_files(chatting: Chatting) -> None:
    """As a person does."""
    await chatting.press("f4")
    await chatting.until(
        lambda: isinstance(chatting.app.screen, PairsScreen) and PAIR.target.path.name in chatting.screen
    )
    await chatting.press("enter")
    await chatting.until(lambda: chatting.app.screen is chatting.chat)


async def answered_by_the_named_files(chatting: Chatting) -> AnswerRequest:
    """What is asked of them, once they are taken and the question that waited is answered."""
    await take_the_named_files(chatting)
    await chatting.until(lambda: chatting.engine.requests)
    await chatting.idle()
    (request,) = chatting.engine.requests
    return request


@pytest.mark.usefixtures("_refused")
async def test_the_reason_outlives_a_question_which_the_pair_that_is_chosen_then_answers(start: Start):
    async with start() as chatting:
        notice = await ask_without_a_pair(chatting, "Early?")
        assert "localspec pull big" in notice.words
        assert "Your question waits" in notice.words
        await chatting.type("Another?")
        assert chatting.chat.query_one(Composer).text == "Another?"
        chatting.chat.query_one(Composer).clear()
        await take_the_named_files(chatting)
        await chatting.until(lambda: chatting.texts[-1] == "It is **Paris**.")
        await chatting.idle()
        assert chatting.texts == ["Early?", "It is **Paris**."]
        assert notice.words == ""


@pytest.mark.usefixtures("_refused")
async def test_a_question_that_waits_can_be_given_up_and_the_reason_stays(start: Start):
    async with start() as chatting:
        notice = await ask_without_a_pair(chatting, "Early?")
        await chatting.press("escape")
        await chatting.idle()
        assert chatting.texts == ["Early?"]
        await chatting.until(lambda: "Your question waits" not in notice.words)
        assert "not on this machine" in notice.words


@pytest.mark.usefixtures("_refused")
@pytest.mark.parametrize("key", ["f3", "f6", "f10", "ctrl+g", "ctrl+s"])
async def test_what_cannot_be_done_without_a_pair_says_so_and_the_question_waits_on(start: Start, key: str):
    async with start() as chatting:
        await ask_without_a_pair(chatting, "Early?")
        await chatting.press(key)
        await chatting.until(lambda: told(chatting))
        assert chatting.chat.answering.waiting


@pytest.mark.parametrize("by", ["the same pair anew", "another pair"])
async def test_a_question_that_waits_for_a_load_is_answered_after_another_one(start: Start, by: str):
    async with start(HangingLoad()) as chatting:
        await chatting.until(lambda: chatting.engine.loads)
        await chatting.type("Early?")
        await chatting.until(lambda: "waiting for the models" in chatting.screen)
        if by == "the same pair anew":
            await chatting.press("f10")
        else:
            files = chatting.services.sources._replace(file={"context": 2048})
            assert await chatting.chat.quiet(keep_waiting=True)
            chatting.chat.use(choice_of_files(files, draft_always=True))
            chatting.engine.gone.set()
        await chatting.until(lambda: chatting.texts[-1] == "It is **Paris**.")
        await chatting.idle()
        assert len(chatting.engine.loads) == 2


@pytest.mark.usefixtures("_refused")
@pytest.mark.parametrize("begun_anew", [False, True])
async def test_what_is_asked_before_the_pair_is_known_is_answered_with_its_settings(start: Start, begun_anew: bool):
    keep_settings(str(PAIR.target.path.absolute()), {"temperature": 0.25, "system": "Be brief."})
    async with start() as chatting:
        if begun_anew:
            await chatting.press("ctrl+n")
        await ask_without_a_pair(chatting, "Early?")
        request = await answered_by_the_named_files(chatting)
        assert request.sampling.temperature == 0.25
        assert [message.text for message in request.messages] == ["Be brief.", "Early?"]


@pytest.mark.usefixtures("_refused")
async def test_what_a_conversation_was_held_with_outlives_a_question_before_the_pair_is_known(start: Start):
    held = Conversation(About(system="Rhyme.", settings={"temperature": 0.5}))
    async with start(conversation=held) as chatting:
        await ask_without_a_pair(chatting, "Early?")
        request = await answered_by_the_named_files(chatting)
        assert request.sampling.temperature == 0.5
        assert request.messages[0].text == "Rhyme."
        assert chatting.services.saver.flush(10)
        kept = chatting.services.store.open(held.about.id).about
        assert (kept.settings["temperature"], kept.pair) == (0.5, str(PAIR.target.path.absolute()))
