"""The words that make an arm, and what an arm is compared with."""

import pytest

from localspec.bench.arms import Arm, baseline_of, parse_arms
from localspec.chat.events import SpeculationSettings
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.errors import UsageError


def test_words_joined_by_plus_make_one_arm() -> None:
    assert parse_arms("off, on,3,4+coupled+t0.8,model,pair=qwen+2") == (
        Arm("off", speculates=False),
        Arm("on"),
        Arm("3", draft_length=3),
        Arm("4+coupled+t0.8", draft_length=4, acceptance="coupled", temperature=0.8),
        Arm("model", drafter="model"),
        Arm("pair=qwen+2", pair="qwen", draft_length=2),
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("off,telepathy", "no arm 'telepathy'"),
        ("off,", "no arm ''"),
        ("32", "no arm '32'"),
        ("t-1", "no arm 't-1'"),
        ("pair=", "no arm 'pair='"),
        ("3+4", "names its draft length twice"),
        ("off+3", "contradicts itself"),
        ("off,off", "named twice"),
    ],
)
def test_an_arm_that_cannot_be_is_refused_in_words(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        parse_arms(text)


def test_what_there_is_instead_is_listed() -> None:
    with pytest.raises(UsageError) as caught:
        parse_arms("telepathy")
    for word in ("off", "0 to 31", "model", "coupled", "typical", "t0.8", "pair=NAME"):
        assert word in caught.value.message


def test_an_arm_changes_only_what_it_names() -> None:
    settings, sampling = SpeculationSettings(draft_length=5, acceptance="coupled"), SamplingSettings(top_k=7)
    (arm,) = parse_arms("2+t0.5")
    assert arm.speculation(settings) == SpeculationSettings(draft_length=2, acceptance="coupled")
    assert arm.sampling(sampling) == SamplingSettings(top_k=7, temperature=0.5)
    (off,) = parse_arms("off")
    assert not off.speculation(settings).enabled


def test_an_arm_is_compared_with_the_off_that_is_most_like_it() -> None:
    arms = parse_arms("off,off+t0.8,3,3+t0.8,3+coupled+t0.8,off+coupled+t0.8,pair=x,pair=x+off")
    named = {arm.name: base.name if (base := baseline_of(arm, arms)) else None for arm in arms}
    assert named == {
        "off": None,
        "off+t0.8": None,
        "3": "off",
        "3+t0.8": "off+t0.8",
        "3+coupled+t0.8": "off+coupled+t0.8",
        "off+coupled+t0.8": None,
        "pair=x": "pair=x+off",
        "pair=x+off": None,
    }


def test_without_off_the_first_arm_is_the_baseline() -> None:
    two, three = arms = parse_arms("2,3")
    assert baseline_of(three, arms) == two
    assert baseline_of(two, arms) is None
