"""Which rule judges whose guesses, said in one place: settings, engine and benchmarks ask there."""

import pytest

from localspec.decoding.acceptance import rule_for
from localspec.decoding.drafter_names import CHOSEN, DRAFTERS, LOOKED_UP, NEEDS_MODEL, WORDS, without_model
from localspec.decoding.rules import (
    ACCEPTANCE_RULES,
    LOSSY_RULES,
    NOT_THE_TARGETS,
    contradiction,
    labelled,
    lossy_words,
)
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.errors import UsageError
from localspec.settings import merge

SAMPLED, GREEDY = SamplingSettings(temperature=0.8, seed=1), SamplingSettings(temperature=0, seed=1)


@pytest.mark.parametrize("drafter", DRAFTERS)
def test_the_automatic_rule_is_exact_for_every_drafter_and_rejection_where_a_place_has_several_guesses(drafter) -> None:
    rule = rule_for("auto", SAMPLED, drafter)
    assert rule.lossless
    assert rule.name == ("rejection" if drafter in {"tree", "lookahead"} else "block")
    assert rule_for("auto", GREEDY, drafter).name == "greedy"


@pytest.mark.parametrize("name", ACCEPTANCE_RULES)
@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("sampling", [SAMPLED, GREEDY])
def test_settings_refuse_what_the_rules_refuse_and_nothing_else(name: str, drafter: str, sampling) -> None:
    wrong = contradiction(name, drafter, sampling.temperature)
    flags = {"acceptance": name, "drafter": drafter, "temperature": sampling.temperature}
    if wrong is None:
        rule_for(name, sampling, drafter)
        assert merge(flags).acceptance == name
        return
    assert (name, sampling) in {("greedy", SAMPLED), ("block", SAMPLED)}
    with pytest.raises(UsageError) as refused:
        merge(flags)
    assert (refused.value.title, refused.value.message, refused.value.hint) == wrong
    with pytest.raises(ValueError, match=wrong.title[1:]):
        rule_for(name, sampling, drafter)


def test_block_of_trees_is_refused_with_the_reason_and_a_way_out() -> None:
    with pytest.raises(UsageError) as refused:
        merge({"acceptance": "block", "drafter": "tree"})
    assert refused.value.title == "Block acceptance cannot judge trees"
    assert "several guesses for the same place" in refused.value.message
    assert "rejection" in refused.value.hint
    assert merge({"acceptance": "block", "drafter": "tree", "speculation": False}).drafter == "tree"


def test_a_lossy_rule_is_labelled_and_an_exact_one_is_not() -> None:
    for name in ACCEPTANCE_RULES[2:]:
        assert rule_for(name, SAMPLED).lossless is (name not in LOSSY_RULES)
        assert (NOT_THE_TARGETS in labelled(name)) is (name in LOSSY_RULES)
    assert lossy_words("typical") == "typical acceptance: NOT the target's distribution"


def test_without_a_draft_model_the_lookup_of_a_drafter_remains() -> None:
    remains = {drafter: without_model(drafter) for drafter in DRAFTERS}
    assert not NEEDS_MODEL.intersection(remains.values())
    assert {drafter for drafter in DRAFTERS if remains[drafter] == "ngram"} == {"ngram", "hybrid", "tree", "cascade"}
    assert (remains[CHOSEN], remains["lookahead"], remains["model"]) == (CHOSEN, "lookahead", "none")
    assert set(DRAFTERS) > LOOKED_UP
    assert WORDS.keys() == set(DRAFTERS)
