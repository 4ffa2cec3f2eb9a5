"""The settings of the pair that runs: what is told, what is refused, and what the screen leaves with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from localspec.decoding.rules import ACCEPTANCE_RULES
from localspec.settings import KEYS, Settings, Sources
from localspec.settings.choice import Choice, choice_of_files
from localspec.settings.kept import keep_settings
from localspec.settings.keys import MACHINE
from localspec.tui.screens.settings import SettingsScreen
from localspec.tui.widgets.setting_field import SettingField
from tests.tui.screens.host import Shown, showing


@pytest.fixture
def choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Choice:
    """Files with a setting from every place."""
    monkeypatch.setenv("LOCALSPEC_DATA_DIR", str(tmp_path))
    target = tmp_path / "big.gguf"
    keep_settings(str(target), {"top_p": 0.5})
    sources = Sources({"target": target, "draft": tmp_path / "small.gguf", "top_k": 7}, {"min_p": 0.1}, {"seed": 3})
    return choice_of_files(sources, draft_always=True)


def field_of(shown: Shown[Any], name: str) -> SettingField:
    return next(field for field in shown.app.screen.query(SettingField) if field.key.name == name)


async def type_into(shown: Shown[Any], name: str, text: str) -> None:
    editor = field_of(shown, name).query_one(Input)
    editor.focus()
    editor.value = ""
    await shown.pilot.pause()
    await shown.press(*(f"{'full_stop' if one == '.' else 'minus' if one == '-' else one}" for one in text))


async def test_every_setting_that_can_change_here_has_a_row_with_its_value_and_where_it_comes_from(
    choice: Choice,
) -> None:
    async with showing(SettingsScreen(choice, {"temperature": 0.25}), (80, 60)) as shown:
        rows = {field.key.name: field for field in shown.app.screen.query(SettingField)}
        assert set(rows) == {key.name for key in KEYS} - {"pair", "target", "draft", "stats"}
        lines = {" ".join(line.strip("│ ").split()) for line in shown.text.splitlines()}
        assert {"temperature 0.25 conversation", "top k 7 command line", "min p 0.1 environment"} <= lines
        assert {"top p 0.5 changed here", "seed 3 config.toml", "penalty window 64 default"} <= lines
        assert "Settings of big.gguf" in shown.text


async def test_what_is_typed_is_judged_at_once_in_the_words_of_the_command_line(choice: Choice) -> None:
    async with showing(SettingsScreen(choice)) as shown:
        await type_into(shown, "temperature", "hot")
        assert "✗ temperature must be a number, 0 or more, not 'hot'" in shown.text
        await shown.press("ctrl+s")
        assert shown.results == []
        await type_into(shown, "temperature", "0.5")
        assert "✗" not in shown.text
        await shown.press("ctrl+s")
        assert shown.results[0] is not None
        assert shown.results[0].temperature == 0.5


async def test_an_impossible_value_out_of_sight_is_gone_to(choice: Choice) -> None:
    async with showing(SettingsScreen(choice)) as shown:
        await type_into(shown, "threads", "0")
        field_of(shown, "speculation").take_focus()
        await shown.press("ctrl+s")
        assert shown.app.screen.focused is field_of(shown, "threads").query_one(Input)


async def test_settings_that_contradict_each_other_are_told_before_saving(choice: Choice) -> None:
    async with showing(SettingsScreen(choice)) as shown:
        await shown.press("down", "down", "down", "enter", "down", "enter")
        assert field_of(shown, "acceptance").value == "greedy"
        assert "✗ Greedy acceptance needs temperature 0" in shown.text
        await shown.press("ctrl+s")
        assert shown.results == []
        await type_into(shown, "temperature", "0")
        await shown.press("ctrl+s")
        assert shown.results[0] is not None
        assert (shown.results[0].acceptance, shown.results[0].temperature) == ("greedy", 0.0)


async def test_where_guesses_come_from_and_how_many_is_said_in_words(choice: Choice) -> None:
    async with showing(SettingsScreen(choice)) as shown:
        assert (field_of(shown, "drafter").value, field_of(shown, "draft_length").value) == ("hybrid", "auto")
        assert "hybrid: the draft model and the text" in shown.text
        await shown.press("down", "enter")
        assert "ngram: the text itself" in shown.text
        await shown.press("up", "enter")
        await type_into(shown, "draft_length", "32")
        assert "draft length must be auto or a whole number from 0 to 31, not '32'" in shown.text
        await type_into(shown, "draft_length", "5")
        await shown.press("ctrl+s")
        assert shown.results[0] is not None
        assert (shown.results[0].drafter, shown.results[0].draft_length) == ("ngram", 5)


async def test_typical_acceptance_is_labelled_wherever_it_shows(choice: Choice) -> None:
    async with showing(SettingsScreen(choice)) as shown:
        await shown.press("down", "down", "down", "enter")
        assert "typical: NOT the target's distribution" in shown.text
        await shown.press(*["down"] * ACCEPTANCE_RULES.index("typical"), "enter")
        assert field_of(shown, "acceptance").value == "typical"
        await shown.press("down")
        assert "typical: NOT the target's distribution" in shown.text
        assert "! typical acceptance: NOT the target's distribution" in shown.text


@pytest.mark.parametrize("key", [key for key in KEYS if key.name not in {"pair", "target", "draft", "stats"}])
def test_exactly_the_settings_of_the_machine_load_the_models_again(key: Any, choice: Choice) -> None:
    other: dict[str, Any] = {"kv_type": "q8_0", "flash_attention": "off", "device": "cpu", "draft_device": "cpu"}
    changed = choice.with_settings(_changed(choice.settings, key.name, other.get(key.name)))
    assert (changed.loading != choice.loading) == (key.group == MACHINE)


async def test_a_change_that_loads_the_models_again_says_so_and_no_other_does(choice: Choice) -> None:
    async with showing(SettingsScreen(choice)) as shown:
        await type_into(shown, "temperature", "0.5")
        assert "Saving loads the models again" not in shown.text
        await type_into(shown, "context", "2048")
        assert "Saving loads the models again, for context." in shown.text
        await shown.press("ctrl+s")
        assert shown.results[0] is not None
        assert choice.with_settings(shown.results[0]).loading.context == 2048


async def test_reset_shows_what_there_would_be_without_the_app_and_saving_it_forgets_what_was_kept(
    choice: Choice,
) -> None:
    async with showing(SettingsScreen(choice)) as shown:
        await type_into(shown, "temperature", "1.5")
        await shown.press("ctrl+r")
        assert field_of(shown, "temperature").value == 0.8
        assert field_of(shown, "top_p").value == 0.95
        assert field_of(shown, "top_k").value == 7
        await shown.press("ctrl+s")
        assert shown.results == [choice.without_kept]
        assert choice.keeping(choice.without_kept).layers.kept == {}


async def test_a_preset_changes_only_how_tokens_are_drawn(choice: Choice) -> None:
    async with showing(SettingsScreen(choice)) as shown:
        await type_into(shown, "max_tokens", "9")
        await shown.press("f7")
        creative = {name: field_of(shown, name).value for name in ("temperature", "top_p", "max_tokens", "seed")}
        assert creative == {"temperature": 1.2, "top_p": 0.98, "max_tokens": 9, "seed": 3}
        await shown.press("f5")
        assert (field_of(shown, "temperature").value, field_of(shown, "top_p").value) == (0.0, 0.95)
        await shown.press("f6")
        assert field_of(shown, "temperature").value == 0.8


async def test_leaving_or_saving_nothing_changes_nothing(choice: Choice) -> None:
    async with showing(SettingsScreen(choice)) as shown:
        await type_into(shown, "temperature", "1.5")
        await shown.press("escape")
        assert shown.results == [None]
    async with showing(SettingsScreen(choice)) as shown:
        await shown.press("ctrl+s")
        assert shown.results == [None]


async def test_the_keyboard_alone_reaches_and_changes_every_row_on_80_columns_and_24_lines(choice: Choice) -> None:
    async with showing(SettingsScreen(choice)) as shown:
        seen = []
        for _ in shown.app.screen.query(SettingField):
            focused = shown.app.screen.focused
            assert focused is not None
            field = next(widget for widget in focused.ancestors if isinstance(widget, SettingField))
            seen.append(field.key.name)
            assert shown.app.screen.find_widget(field).visible_region.height == 1
            assert field.key.help[:30] in " ".join(shown.text.replace("│", "").split())
            await shown.press("down")
        assert seen == [key.name for key in KEYS if key.name not in {"pair", "target", "draft", "stats"}]
        await shown.press("space")
        assert field_of(shown, "speculation").value is False
        await shown.press("up", "enter", "up", "enter")
        assert field_of(shown, "flash_attention").value == "off"
        rows = shown.text.splitlines()
        assert (len(rows), max(map(len, rows))) == (24, 80)


async def test_texts_of_several_lines_and_several_texts_stay_what_they_are(choice: Choice) -> None:
    overrides: Mapping[str, Any] = {
        "system": "One.\nTwo \\ three.",
        "stop": ["\n\n", "[end]"],
        "logit_bias": ["5=-inf"],
    }
    async with showing(SettingsScreen(choice, overrides)) as shown:
        assert not any(field.edited or field.problem for field in shown.app.screen.query(SettingField))
        await type_into(shown, "temperature", "0.5")
        await shown.press("ctrl+s")
        assert shown.results[0] is not None
        assert shown.results[0].system == "One.\nTwo \\ three."
        assert shown.results[0].stop == ("\n\n", "[end]")


async def test_a_name_with_markup_or_controls_is_shown_as_it_is(tmp_path: Path) -> None:
    target = tmp_path / "[red]x\x1b.gguf"
    async with showing(SettingsScreen(choice_of_files(Sources({"target": target}, {}, {})))) as shown:
        assert "Settings of [red]x␛.gguf" in shown.text


def _changed(settings: Settings, name: str, other: Any) -> Settings:
    """The settings with another value of one of them."""
    value = getattr(settings, name)
    if other is None:
        other = not value if isinstance(value, bool) else "x" if isinstance(value, str) else 5
        if name in {"stop", "logit_bias"}:
            other = ("x",) if name == "stop" else ((5, 1.0),)
    values = {key.name: getattr(settings, key.name) for key in KEYS} | {name: other}
    return Settings(**values)
