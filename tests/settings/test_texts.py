"""Settings as one types them into a field, and the named ways to sample."""

from __future__ import annotations

import math

import pytest

from localspec.errors import UsageError
from localspec.settings import KEYS, Settings
from localspec.settings.keys import SAMPLING
from localspec.settings.overrides import CHANGEABLE
from localspec.settings.presets import PRESETS
from localspec.settings.texts import text_of, value_of_text, words_of_default
from tests.settings.test_overrides import EVERY

KEY = {key.name: key for key in KEYS}


@pytest.mark.parametrize("settings", [EVERY, Settings()])
@pytest.mark.parametrize("name", CHANGEABLE)
def test_every_value_comes_back_from_its_text(name: str, settings: Settings) -> None:
    value = getattr(settings, name)
    text = text_of(value)
    assert "\n" not in text
    assert value_of_text(KEY[name], text) == value


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("temperature", " 0.5 ", 0.5),
        ("seed", "", None),
        ("seed", " ", None),
        ("system", r"a\nb\\n", "a\nb\\n"),
        ("system", r"C:\dir", r"C:\dir"),
        ("stop", "", ()),
        ("stop", r"\n\n", ("\n\n",)),
        ("stop", " ", (" ",)),
        ("stop", '["a", "b\\n"]', ("a", "b\n")),
        ("logit_bias", "5=-inf, 7=1.5", ((5, -math.inf), (7, 1.5))),
        ("context", "", None),
        ("speculation", "off", False),
    ],
)
def test_what_is_typed_means_what_it_seems_to(name: str, text: str, value: object) -> None:
    assert value_of_text(KEY[name], text) == value


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("temperature", "", "temperature must be a number, 0 or more, not ''"),
        ("draft_length", "99", "draft length must be auto or a whole number from 0 to 31, not '99'"),
        ("stop", '["a', 'stop must be one text, or a list such as ["one", "two"]'),
        ("stop", '["a", ""]', "stop must be texts that are not empty, not ['a', '']"),
        ("logit_bias", "5", "logit bias must be token ids with a bias"),
    ],
)
def test_what_is_impossible_is_refused_by_the_name_on_the_screen(name: str, text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        value_of_text(KEY[name], text)
    assert caught.value.title.startswith(words)


def test_a_setting_with_no_value_of_its_own_says_what_happens_then() -> None:
    for name in CHANGEABLE:
        if getattr(Settings(), name) is None:
            assert words_of_default(KEY[name]), name


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_a_preset_decides_all_that_draws_tokens_with_possible_values(preset: object) -> None:
    values = preset.over(EVERY)
    assert set(values) == {key.name for key in KEYS if key.group == SAMPLING} - {"seed"}
    assert all(KEY[name].kind.read(value) == value for name, value in values.items() if name != "logit_bias")
