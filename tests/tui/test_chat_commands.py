"""What a person asks the chat for by a word, a key or the mouse, and what comes of it in the app as a whole."""

import json
import sqlite3
from pathlib import Path

import pytest

from localspec import locations
from localspec.conversations.store import ConversationStore
from localspec.errors import HistoryError
from localspec.settings import Sources
from localspec.settings.choice import choice_of_files
from localspec.settings.kept import kept_settings
from localspec.tui.explanations import EXPLANATIONS, Figure
from localspec.tui.screens.settings import SettingsScreen
from localspec.tui.widgets.notice import Notice
from localspec.tui.widgets.readout import Readout
from localspec.tui.widgets.setting_field import SettingField
from localspec.tui.widgets.transcript import Transcript
from tests.conversations.talks import keep
from tests.tui.conftest import Chatting, Start
from tests.tui.scripted_engine import PAIR, ScriptedEngine

CODE = "Two blocks:\n\n```py\nfirst = 1\n```\n\n```sh\nsecond\n```\n"


def told(chatting: Chatting) -> str:
    """What the app has told lately, in passing."""
    return "\n".join(notification.message for notification in chatting.app._notifications)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    file = tmp_path / "my notes.txt"
    file.write_text("the secret is 42\n")
    return file


async def test_each_block_of_code_is_copied_by_its_number_and_by_a_click_on_its_head(start: Start):
    async with start(ScriptedEngine([CODE])) as chatting:
        await chatting.ready()
        await chatting.ask("Go")
        await chatting.type("/code 1")
        assert chatting.app.clipboard == "first = 1\n"
        row = next(y for y, text in enumerate(chatting.screen.split("\n")) if "/code 2" in text)
        await chatting.pilot.click(Transcript, offset=(10, row - chatting.chat.transcript.region.y))
        await chatting.until(lambda: chatting.app.clipboard == "second\n")
        await chatting.type("/code 3")
        await chatting.until(lambda: "numbered 1 to 2" in told(chatting))


async def test_the_chosen_message_is_the_one_that_is_copied_and_answered_anew(start: Start):
    async with start(ScriptedEngine(["First.", "Second.", "Third."])) as chatting:
        await chatting.ready()
        await chatting.ask("One")
        await chatting.ask("Two")
        await chatting.press("alt+up", "alt+up", "alt+up", "ctrl+y")
        assert chatting.app.clipboard == "First."
        await chatting.press("ctrl+r")
        await chatting.until(lambda: chatting.texts == ["One", "Third."])


async def test_the_conversation_is_copied_and_written_to_files_of_both_kinds(start: Start, tmp_path: Path):
    async with start() as chatting:
        await chatting.ready()
        await chatting.ask("Where?")
        await chatting.type("/copy-all")
        assert "Where?" in chatting.app.clipboard
        assert "It is **Paris**." in chatting.app.clipboard
        text, data = tmp_path / "talk.md", tmp_path / "talk.json"
        for file in (text, data):
            await chatting.type(f"/export {file}")
            await chatting.until(file.exists)
        assert text.read_text() == chatting.app.clipboard
        await chatting.until(lambda: f"The conversation is in {data}" in told(chatting))
        assert "It is **Paris**." in json.dumps(json.loads(data.read_text()))


@pytest.mark.parametrize("quote", ['"', "'"])
async def test_a_quoted_name_of_a_file_to_write_is_the_name_between_the_quotes(
    start: Start, tmp_path: Path, quote: str
):
    async with start() as chatting:
        await chatting.ready()
        await chatting.ask("Where?")
        file = tmp_path / "my talk.json"
        await chatting.type(f"/export {quote}{file}{quote}")
        await chatting.until(lambda: f"The conversation is in {file}." in told(chatting))
        assert "It is **Paris**." in json.dumps(json.loads(file.read_text()))


async def test_a_file_that_is_there_is_written_over_only_when_asked_to(start: Start, notes: Path):
    async with start() as chatting:
        await chatting.ready()
        await chatting.ask("Where?")
        await chatting.type(f"/export {notes}")
        await chatting.until(lambda: "is there already" in chatting.screen)
        await chatting.press("c")
        await chatting.until(lambda: chatting.app.screen is chatting.chat)
        assert notes.read_text() == "the secret is 42\n"
        await chatting.type(f"/export {notes}")
        await chatting.until(lambda: "is there already" in chatting.screen)
        await chatting.press("o")
        await chatting.until(lambda: "Paris" in notes.read_text())


async def test_a_file_is_attached_by_its_name_and_goes_along(start: Start, notes: Path):
    async with start() as chatting:
        await chatting.ready()
        await chatting.type(f"/attach {notes}")
        await chatting.until(lambda: "my notes.txt" in chatting.screen)
        await chatting.ask("What is the secret?")
        assert "the secret is 42" in chatting.engine.requests[-1].messages[-1].text
        await chatting.type("/attach nowhere.txt")
        await chatting.until(lambda: "nowhere.txt" in told(chatting))


async def test_the_system_prompt_is_set_shown_and_read_from_the_next_answer_on(start: Start):
    async with start() as chatting:
        await chatting.ready()
        await chatting.type("/system Be brief.")
        await chatting.ask("Why?")
        assert chatting.engine.requests[-1].messages[0].text == "Be brief."
        await chatting.type("/system")
        await chatting.until(lambda: "Be brief." in chatting.screen.split("System prompt")[-1])
        await chatting.press("escape")


async def test_a_title_is_given_and_kept(start: Start):
    async with start() as chatting:
        await chatting.ready()
        await chatting.ask("Why?")
        await chatting.type("/rename Of reasons")
        await chatting.until(lambda: "Of reasons" in chatting.screen.split("\n")[0])
        assert chatting.services.saver.flush(10)
        assert chatting.services.store.latest().title == "Of reasons"


async def test_colours_and_the_panel_are_as_they_were_left(start: Start):
    async with start() as chatting:
        await chatting.ready()
        await chatting.type("/theme localspec-light")
        await chatting.press("f2")
        assert chatting.app.theme == "localspec-light"
        assert not chatting.chat.query_one(Readout).display
        await chatting.type("/theme nothing")
        await chatting.until(lambda: "There is no theme nothing" in told(chatting))
    assert json.loads(locations.preferences_file().read_text()) == {"theme": "localspec-light", "readout": False}


async def test_the_figures_are_gone_through_and_esc_goes_back_to_writing(start: Start):
    async with start(ScriptedEngine([CODE])) as chatting:
        await chatting.ready()
        await chatting.ask("Go")
        await chatting.type("/figures")
        beginning = EXPLANATIONS[Figure.SPEED][:25]
        await chatting.until(lambda: beginning in chatting.screen)
        await chatting.press("down")
        assert EXPLANATIONS[Figure.SPEED_UP][:25] in chatting.screen
        await chatting.press("escape", *"typed")
        assert beginning not in chatting.screen
        assert "> typed" in chatting.screen


async def test_a_changed_setting_counts_from_the_next_answer_and_is_kept_for_the_pair(start: Start):
    async with start() as chatting:
        await chatting.ready()
        await change_setting(chatting, "temperature", "0.25")
        await chatting.ask("Go")
        assert chatting.engine.requests[-1].sampling.temperature == 0.25
        assert len(chatting.engine.loads) == 1
        choice = chatting.services.engine.choice
        assert choice is not None
    assert kept_settings(choice.kept_as).values["temperature"] == 0.25


async def test_a_setting_of_the_machine_loads_the_models_again_and_the_conversation_stays(start: Start):
    async with start() as chatting:
        await chatting.ready()
        await chatting.ask("One")
        await change_setting(chatting, "context", "2048")
        await chatting.until(lambda: len(chatting.engine.loads) == 2)
        assert chatting.engine.loads[-1].context == 2048
        await chatting.ready()
        await chatting.ask("Two")
        assert chatting.texts[::2] == ["One", "Two"]


async def change_setting(chatting: Chatting, name: str, text: str) -> None:
    """As a person does: open the settings, go there, write, save."""
    await chatting.press("f3")
    await chatting.until(lambda: isinstance(chatting.app.screen, SettingsScreen) and chatting.app.screen.focused)
    field = next(each for each in chatting.app.screen.query(SettingField) if each.key.name == name)
    field.query("Input").first().focus()
    await chatting.press("ctrl+u", "ctrl+k", *("full_stop" if letter == "." else letter for letter in text), "ctrl+s")
    await chatting.until(lambda: chatting.app.screen is chatting.chat)


async def test_another_pair_goes_on_with_the_conversation(start: Start):
    async with start() as chatting:
        await chatting.ready()
        await chatting.ask("One")
        files = {"target": Path("other-q8_0.gguf"), "draft": PAIR.draft.path}
        chatting.chat.use(choice_of_files(Sources(files, {}, {}), draft_always=True))
        await chatting.ready()
        await chatting.ask("Two")
        assert [message.text for message in chatting.engine.requests[-1].messages][-3:-1] == [
            "One",
            "It is **Paris**.",
        ]
        assert "other-q8_0" in chatting.screen.split("\n")[0]
        assert chatting.engine.starts == 1


async def test_a_full_disk_is_told_costs_no_word_and_is_told_no_more_when_it_is_free(
    start: Start, monkeypatch: pytest.MonkeyPatch
):
    async with start() as chatting:
        await chatting.ready()
        store = chatting.services.store
        with monkeypatch.context() as full:

            def refuse(*_: object) -> None:
                raise HistoryError("The conversations cannot be kept", "The disk is full.", "Free some room.") from (
                    sqlite3.OperationalError("database or disk is full")
                )

            full.setattr(type(store), "save_entry", refuse)
            await chatting.ask("Keep this")
            notice = chatting.chat.query_one(Notice)
            await chatting.until(lambda: "The disk is full" in notice.words)
            assert "Every word is still here" in notice.words
            assert "Paris" in chatting.screen
        await chatting.until(lambda: notice.words == "")
        assert chatting.services.saver.flush(10)
        kept = store.open(chatting.chat.answering.talk.about.id)
        assert [entry.text for entry in kept.path] == ["Keep this", "It is **Paris**."]


async def test_a_conversation_that_was_deleted_here_and_brought_back_by_another_window_is_kept_again(
    start: Start, tmp_path: Path
):
    async with start() as chatting:
        await chatting.ready()
        await chatting.ask("One")
        conversation = chatting.chat.answering.talk.conversation
        await chatting.press("ctrl+n")
        await chatting.until(lambda: chatting.texts == [])
        chatting.services.saver.delete(conversation.about.id)
        assert chatting.services.saver.flush(10)
        keep(ConversationStore(tmp_path / "history.sqlite3"), conversation)
        await chatting.chat.open_conversation(conversation.about.id)
        await chatting.ask("Two")
        assert chatting.services.saver.flush(10)
        kept = chatting.services.store.open(conversation.about.id)
        assert [entry.text for entry in kept.path][::2] == ["One", "Two"]


async def test_of_many_messages_only_those_in_view_are_drawn_and_one_answers_rounds_read(
    start: Start, monkeypatch: pytest.MonkeyPatch
):
    async with start(ScriptedEngine(["Short."])) as chatting:
        await chatting.ready()
        talk = chatting.chat.answering.talk
        for number in range(250):
            talk.begin_answer(talk.ask(f"Question {number}"), PAIR)
            talk.settle()
        assert chatting.services.saver.flush(10)
        read: list[str] = []
        rounds = type(chatting.services.store).rounds
        monkeypatch.setattr(
            type(chatting.services.store), "rounds", lambda store, entry: (read.append(entry), rounds(store, entry))[1]
        )
        await chatting.press("ctrl+n")
        await chatting.until(lambda: chatting.texts == [])
        await chatting.chat.open_conversation(talk.about.id)
        await chatting.until(lambda: "Question 249" in chatting.screen)
        views = chatting.chat.transcript.column.views
        assert len(views) == 500
        assert sum(view.is_rendered for view in views) < 40
        await chatting.until(lambda: read)
        assert len(read) == 1
