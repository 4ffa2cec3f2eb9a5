"""Settings as plain JSON values, there and back."""

from __future__ import annotations

import json
import math

import pytest

from localspec.errors import UsageError
from localspec.settings import KEYS, Settings
from localspec.settings.overrides import CHANGEABLE, differences, plain, value_of, with_overrides

EVERY = Settings(
    speculation=False,
    drafter="ngram",
    draft_length=5,
    acceptance="typical",
    temperature=1.5,
    top_k=7,
    top_p=0.5,
    min_p=0.0,
    repetition_penalty=1.1,
    presence_penalty=-0.5,
    frequency_penalty=0.5,
    penalty_window=-1,
    logit_bias=((5, -math.inf), (7, 0.1)),
    seed=2**64 - 1,
    system="Grüße",
    max_tokens=9,
    stop=("\n\n", "end"),
    drop_oldest=True,
    stats=True,
    context=512,
    threads=3,
    device="cpu",
    draft_device="cpu",
    gpu_layers=0,
    draft_gpu_layers=4,
    kv_type="q8_0",
    flash_attention="off",
)


def test_every_setting_but_the_models_comes_back_from_json() -> None:
    told = json.dumps(differences(EVERY, Settings()), allow_nan=False)
    assert set(json.loads(told)) == {key.name for key in KEYS} - {"pair", "target", "draft"}
    assert with_overrides(Settings(), json.loads(told)) == EVERY
    assert with_overrides(EVERY, differences(Settings(), EVERY)) == Settings()


def test_equal_settings_differ_in_nothing() -> None:
    assert differences(EVERY, EVERY) == {}
    assert with_overrides(EVERY, {}) == EVERY


@pytest.mark.parametrize("name", CHANGEABLE)
def test_every_value_is_read_back_as_it_was_told(name: str) -> None:
    assert value_of(name, plain(getattr(EVERY, name))) == getattr(EVERY, name)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"temperature": "hot"}, "temperature must be a number, 0 or more, not 'hot'"),
        ({"temperature": None}, "temperature must be a number, 0 or more, not None"),
        ({"top_k": True}, "top_k must be a whole number, 0 or more, not True"),
        ({"kv_type": "q9"}, "kv_type must be one of f32, "),
        ({"colour": 1}, "There is no setting 'colour' that can be changed here"),
        ({"target": "x.gguf"}, "There is no setting 'target' that can be changed here"),
        ({"acceptance": "greedy"}, "Greedy acceptance needs temperature 0"),
    ],
)
def test_an_impossible_override_is_refused_in_the_words_of_the_command_line(
    overrides: dict[str, object], words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        with_overrides(Settings(), overrides)
    assert caught.value.title.startswith(words)
