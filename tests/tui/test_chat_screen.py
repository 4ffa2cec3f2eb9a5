import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from localspec.chat.events import Role
from localspec.conversations.conversation import Attachment
from localspec.engine.messages import Loaded, LoadPair, LoadProgress
from localspec.errors import ContextFullError, OutOfMemoryError
from localspec.tui.engine_state import Stage
from localspec.tui.screens.compare import CompareScreen
from localspec.tui.screens.help import HelpScreen
from localspec.tui.widgets.composer import Composer
from localspec.tui.widgets.conversation_list import ConversationList
from localspec.tui.widgets.notice import Notice
from localspec.tui.widgets.transcript import Transcript
from tests.tui.conftest import Start
from tests.tui.screen_text import MARKUP_TRAPS
from tests.tui.scripted_engine import ScriptedEngine
from tests.tui.test_chat_commands import told

LONG = " ".join(f"word{number}" for number in range(60))


async def test_a_question_is_answered_and_both_are_on_the_screen(start: Start):
    async with start() as chatting:
        await chatting.ready()
        await chatting.ask("What is the capital of France?")
        assert "What is the capital of France?" in chatting.screen
        assert "It is Paris." in chatting.screen
        assert chatting.texts == ["What is the capital of France?", "It is **Paris**."]


async def test_a_question_may_be_asked_before_the_models_are_loaded(start: Start):
    async with start() as chatting:
        await chatting.ask("Early?")
        assert chatting.texts == ["Early?", "It is **Paris**."]


async def test_stop_keeps_what_came(start: Start):
    async with start(ScriptedEngine([LONG], held=True)) as chatting:
        await chatting.ready()
        await chatting.type("Go")
        chatting.engine.step(3)
        await chatting.until(lambda: "word7" in chatting.texts[-1])
        await chatting.press("escape")
        await chatting.idle()
        assert LONG.startswith(chatting.texts[-1])
        assert chatting.chat.answering.talk.last_answer.facts.finish == "cancelled"
        assert "word7" in chatting.screen


async def test_a_stopped_answer_can_be_continued(start: Start):
    async with start(ScriptedEngine([LONG, " and more"], held=True)) as chatting:
        await chatting.ready()
        await chatting.type("Go")
        chatting.engine.step(2)
        await chatting.until(lambda: chatting.texts[-1].count("word") == 7)
        await chatting.press("escape")
        await chatting.idle()
        chatting.engine.go_on()
        await chatting.press("f6")
        await chatting.until(lambda: chatting.texts[-1].endswith(" and more"))
        await chatting.idle()
        assert len(chatting.texts) == 2
        assert chatting.engine.requests[-1].messages[-1].role is Role.ASSISTANT
        assert " and more" in chatting.screen


async def test_regenerating_makes_a_branch_and_the_first_answer_can_be_seen_again(start: Start):
    async with start(ScriptedEngine(["First answer.", "Second answer."])) as chatting:
        await chatting.ready()
        await chatting.ask("Why?")
        await chatting.press("ctrl+r")
        await chatting.until(lambda: chatting.texts[-1] == "Second answer.")
        await chatting.idle()
        assert "2/2" in chatting.screen
        await chatting.press("alt+left")
        await chatting.until(lambda: "First answer." in chatting.screen)
        assert "1/2" in chatting.screen


async def test_an_edited_question_branches_off_and_both_stay(start: Start):
    async with start(ScriptedEngine(["First.", "Second."])) as chatting:
        await chatting.ready()
        await chatting.ask("Old question")
        await chatting.press("f7")
        await chatting.until(lambda: chatting.app.screen is not chatting.chat)
        await chatting.press("end", *"!", "enter")
        await chatting.until(lambda: chatting.texts[-1] == "Second.")
        assert chatting.texts[0] == "Old question!"
        assert chatting.chat.answering.talk.conversation.entries[0].text == "Old question"


async def test_speculation_is_turned_off_and_on_by_a_key_and_by_words(start: Start):
    async with start() as chatting:
        await chatting.ready()
        await chatting.press("ctrl+s")
        await chatting.ask("One")
        assert not chatting.engine.requests[-1].speculation.enabled
        await chatting.type("/speculation on")
        await chatting.ask("Two")
        assert chatting.engine.requests[-1].speculation.enabled


async def test_who_wrote_it_shows_marks_and_a_legend_for_past_answers_too(start: Start):
    legend = re.compile(
        r"accepted\sguess\s27\s\(45\s%\)\s+found\sin\sthe\stext\s9\s\(15\s%\)\s+correction\s18\s\(30\s%\)"
        r"[^\n]*\n\s*bonus\s6\s\(10\s%\)"
    )
    async with start(ScriptedEngine([LONG])) as chatting:
        await chatting.ready()
        await chatting.ask("Go")
        assert not legend.search(chatting.screen)
        await chatting.press("ctrl+t")
        await chatting.until(lambda: legend.search(chatting.screen))
        await chatting.press("ctrl+t")
        assert not legend.search(chatting.screen)


async def test_an_engine_that_dies_in_mid_answer_costs_no_word_and_comes_back_on_a_key(start: Start):
    async with start(ScriptedEngine([LONG], dies_after=2)) as chatting:
        await chatting.ready()
        await chatting.ask("Go")
        assert chatting.texts[-1].count("word") == 7
        assert chatting.services.engine.stage is Stage.FAILED
        notice = chatting.chat.query_one(Notice)
        assert "SEGV" in notice.words
        assert "F10" in notice.words
        await chatting.press("f10")
        await chatting.ready()
        assert notice.words == ""
        await chatting.ask("Again")
        assert chatting.texts[-1] == LONG
        assert chatting.engine.starts == 2


async def test_a_question_to_a_dead_engine_starts_it_again(start: Start):
    async with start(ScriptedEngine([LONG], dies_after=0)) as chatting:
        await chatting.ready()
        await chatting.ask("Go")
        await chatting.ask("Again")
        assert chatting.texts[-1] == LONG


async def test_models_that_do_not_load_are_told_and_the_app_stays(start: Start):
    engine = ScriptedEngine(load_errors=[OutOfMemoryError("The models do not fit", "8 GB are free.", "F4.")])
    async with start(engine) as chatting:
        await chatting.until(lambda: chatting.services.engine.stage is Stage.FAILED)
        await chatting.until(lambda: "The models do not fit" in chatting.screen)
        await chatting.press("f10")
        await chatting.ready()
        await chatting.ask("Now?")
        assert chatting.texts[-1] == "It is **Paris**."


async def test_what_is_to_be_known_of_the_models_is_told_when_they_are_loaded(start: Start):
    class Noted(ScriptedEngine):
        def load(self, pair: LoadPair) -> Iterator[LoadProgress | Loaded]:
            for event in super().load(pair):
                yield replace(event, notes=("It has no chat [b]template[/b].",)) if isinstance(event, Loaded) else event

    async with start(Noted()) as chatting:
        await chatting.ready()
        await chatting.until(lambda: "It has no chat [b]template[/b]." in told(chatting), 5)


async def test_a_full_context_lets_the_person_choose(start: Start):
    full = ContextFullError("The context is full", "It holds 4,096 tokens.")
    async with start(ScriptedEngine(["First.", full, "Second."])) as chatting:
        await chatting.ready()
        await chatting.ask("One")
        await chatting.type("Two")
        await chatting.until(lambda: "oldest turns" in chatting.screen)
        await chatting.press("g")
        await chatting.until(lambda: chatting.texts[-1] == "Second.")
        assert chatting.engine.requests[-1].drop_oldest
        assert chatting.chat.answering.talk.about.drop_oldest


async def test_what_is_typed_while_an_answer_streams_stays_in_the_composer(start: Start):
    async with start(ScriptedEngine([LONG], held=True)) as chatting:
        await chatting.ready()
        await chatting.type("Go")
        chatting.engine.step(1)
        await chatting.until(lambda: chatting.texts[-1])
        await chatting.type("Next")
        assert chatting.chat.query_one(Composer).text == "Next"
        assert len(chatting.engine.requests) == 1
        chatting.engine.go_on()
        await chatting.idle()
        await chatting.press("enter")
        await chatting.idle()
        assert chatting.texts[-2] == "Next"


async def test_conversations_are_kept_found_and_resumed_with_their_settings(start: Start):
    async with start(ScriptedEngine(["About cats.", "About dogs."])) as chatting:
        await chatting.ready()
        await chatting.press("ctrl+s")
        await chatting.ask("Tell me of cats")
        await chatting.press("ctrl+n")
        await chatting.until(lambda: chatting.texts == [])
        await chatting.press("ctrl+s")
        await chatting.ask("Tell me of dogs")
        await chatting.press("f5")
        await chatting.until(lambda: "Tell me of cats" in chatting.screen)
        await chatting.press(*"cats")
        found = chatting.app.screen.query_one(ConversationList)
        await chatting.until(lambda: [listed.title for listed in found._listed] == ["Tell me of cats"])
        await chatting.press("enter")
        await chatting.until(lambda: chatting.texts == ["Tell me of cats", "About cats."])
        assert not chatting.chat.answering.settings.speculation


async def test_compare_runs_both_and_the_chat_goes_on(start: Start):
    async with start(ScriptedEngine([LONG])) as chatting:
        await chatting.ready()
        await chatting.ask("Go")
        await chatting.press("ctrl+g")
        await chatting.until(lambda: isinstance(chatting.app.screen, CompareScreen))
        await chatting.until(lambda: len(chatting.engine.requests) == 3)
        assert [request.speculation.enabled for request in chatting.engine.requests[1:]] == [False, True]
        await chatting.until(lambda: "same text" in chatting.screen.lower() or "identical" in chatting.screen.lower())
        await chatting.press("escape")
        await chatting.until(lambda: chatting.app.screen is chatting.chat)
        await chatting.ask("And now?")
        assert len(chatting.texts) == 4


async def test_what_is_copied_is_what_was_said_and_steers_no_terminal(start: Start):
    answer = "<think>```py\nno\n```</think>Here:\n\n```py\nprint('\x1b[2J')\n```\n"
    async with start(ScriptedEngine([answer])) as chatting:
        await chatting.ready()
        await chatting.ask("Go")
        await chatting.press("f8")
        assert chatting.app.clipboard == "print('\u241b[2J')\n"
        await chatting.press("ctrl+y")
        assert "Here:" in chatting.app.clipboard
        assert "no" not in chatting.app.clipboard.split("Here:")[0]
        assert "\x1b" not in chatting.app.clipboard


@pytest.mark.parametrize("keys", [("ctrl+c", "ctrl+c"), ("ctrl+q",)])
async def test_the_app_is_left_by_a_key_and_everything_is_kept(start: Start, keys: tuple[str, ...]):
    async with start() as chatting:
        await chatting.ready()
        await chatting.ask("Keep me")
        await chatting.press(*keys)
        await chatting.until(lambda: not chatting.app.is_running or chatting.app._exit)
        store, about = chatting.services.store, chatting.chat.answering.talk.about
    assert [entry.text for entry in store.open(about.id).path] == ["Keep me", "It is **Paris**."]


async def test_help_comes_and_goes_by_a_key(start: Start):
    async with start(size=(120, 60)) as chatting:
        await chatting.press("f1")
        await chatting.until(lambda: isinstance(chatting.app.screen, HelpScreen))
        await chatting.press("escape")
        await chatting.until(lambda: chatting.app.screen is chatting.chat)


async def test_attachments_go_along_with_the_first_question(start: Start):
    async with start(attachments=(Attachment("notes.txt", "the secret is 42"),)) as chatting:
        await chatting.ready()
        assert "notes.txt" in chatting.screen
        await chatting.ask("What is the secret?")
        assert "the secret is 42" in chatting.engine.requests[-1].messages[-1].text
        assert "notes.txt" in chatting.screen


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50), (250, 80), (40, 12)])
async def test_it_works_at_every_size(start: Start, size: tuple[int, int]):
    async with start(ScriptedEngine([LONG]), size=size) as chatting:
        await chatting.ready()
        await chatting.ask("Go")
        assert "word59" in chatting.screen
        assert "tok/s" in chatting.screen


async def test_resizing_while_an_answer_streams_loses_nothing(start: Start):
    async with start(ScriptedEngine([LONG], held=True)) as chatting:
        await chatting.ready()
        await chatting.type("Go")
        for number, size in enumerate(((80, 24), (200, 50), (60, 20), (120, 40))):
            chatting.engine.step(4)
            await chatting.until(lambda: chatting.texts[-1].count("word") >= 10 * (number + 1))  # noqa: B023 - at once
            await chatting.pilot.resize_terminal(*size)
        chatting.engine.go_on()
        await chatting.idle()
        assert chatting.texts[-1] == LONG
        assert "word59" in chatting.screen


async def test_idle_is_calm(start: Start):
    async with start() as chatting:
        await chatting.ready()
        await chatting.ask("Go")
        await chatting.until(lambda: not chatting.chat._ticking)
        before = chatting.screen
        await chatting.pilot.pause(1.2)
        assert chatting.screen == before


@pytest.mark.parametrize("trap", MARKUP_TRAPS)
async def test_a_token_that_is_pointed_at_stays_text(start: Start, trap: str) -> None:
    async with start() as chatting:
        chatting.chat.transcript.post_message(Transcript.TokenPointed(f"token {trap}"))
        await chatting.until(lambda: f"token {trap}" in chatting.screen)
