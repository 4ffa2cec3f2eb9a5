"""Who guesses in an answer: as the request names it, or chosen; and a source that cannot be is refused in words."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import replace

import pytest

from localspec.chat.events import Message, Role, SpeculationSettings
from localspec.chat.guessing import Guessing
from localspec.chat.session import ChatSession
from localspec.chat.template import ChatTemplate
from localspec.chat.why import why_drafted_so, why_this_source
from localspec.decoding import verdict
from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.drafters.cascade import CascadeDrafter
from localspec.decoding.drafters.drafting import SourcesDrafter
from localspec.decoding.drafters.hybrid import HybridDrafter
from localspec.decoding.drafters.model_source import ModelSource
from localspec.decoding.drafters.ngram import NgramDrafter, NgramLookup
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.source_choice import Chosen, Promise
from localspec.decoding.source_speeds import SourceSpeeds
from localspec.errors import UsageError
from tests.chat.scripted import CHATML, CONTROLS
from tests.chat.talk import Talk

CHOOSING = SpeculationSettings(drafter="auto", draft_length="auto")


@dataclasses.dataclass
class ChoosingTalk(Talk):
    """A talk whose session has a draft model, a lookup and both, and chooses."""

    with_draft: bool = True
    learns: bool = True
    with_cascade: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        widths = range(1, 33)
        lookup, model = NgramLookup(), ModelSource(self.draft, self.tokenizer.size)
        drafters = [NgramDrafter(lookup)]
        if self.with_draft:
            drafters += [SourcesDrafter("model", model, None), HybridDrafter(model, lookup)]
        if self.with_cascade:
            drafters.append(CascadeDrafter(self.draft, NgramDrafter(lookup), self.tokenizer.size))
        costs = PassCosts(dict.fromkeys(widths, 0.1), dict.fromkeys(widths, 0.001) if self.with_draft else {})
        knowledge, self.speeds, self.began = Knowledge(), SourceSpeeds(), []

        def speeds(_: SamplingSettings, begins: bool) -> SourceSpeeds:
            self.began.append(begins)
            return self.speeds

        self.session = ChatSession(
            self.target,
            self.tokenizer,
            ChatTemplate(CHATML, CONTROLS),
            Guessing(
                drafters,
                lambda _, __: AdaptiveLength(costs, knowledge, greedy=True),
                speeds if self.learns else None,
                {"tree": "big.gguf sums the text up in a state, and a state has no branches"},
            ),
        )


def test_the_source_that_promises_most_is_used_and_the_answer_says_which_and_why() -> None:
    talk = ChoosingTalk(["Hello there" * 8], miss_every=50)
    end, _ = talk.say("hi", speculation=CHOOSING)
    assert end.drafter == "hybrid"
    assert end.statistics.accepted > 0
    assert end.chosen is not None
    assert {promise.source for promise in end.chosen.promises} == {"hybrid", "none"}
    assert why_drafted_so(end).startswith("hybrid chosen: ")


def test_the_text_is_that_of_no_speculation() -> None:
    answers = ["Hello there" * 5, "abcab ab" * 4]
    plain, choosing = Talk(answers), ChoosingTalk(answers)
    for said in ("hi", "again"):
        without, _ = plain.say(said, speculation=SpeculationSettings(enabled=False))
        assert choosing.say(said, speculation=CHOOSING)[0].text == without.text


def test_without_a_draft_model_the_lookup_is_what_remains() -> None:
    end, _ = ChoosingTalk(["Hello there" * 8], with_draft=False).say("hi", speculation=CHOOSING)
    assert end.drafter == "ngram"


@pytest.mark.parametrize("changes", [{"draft_length": 3}, {}])
def test_where_nothing_can_be_promised_the_usual_source_is_used(changes: dict) -> None:
    talk = ChoosingTalk(["Hello there" * 3], learns=bool(changes))
    end, _ = talk.say("hi", speculation=replace(CHOOSING, **changes))
    assert (end.drafter, end.chosen) == ("hybrid", None)


def test_a_source_that_falls_behind_no_speculation_is_not_used_again() -> None:
    talk = ChoosingTalk(["abcab" * 6])
    for _ in range(60):
        talk.speeds.begin_conversation()
        talk.speeds.take("hybrid", 9.0, 64, 120.0)
    end, _ = talk.say("hi", speculation=CHOOSING)
    assert (end.drafter, end.statistics.drafted) == ("none", 0)
    assert why_drafted_so(end).startswith("nothing guessed: ")


def test_a_named_source_teaches_what_it_is_worth_too() -> None:
    talk = ChoosingTalk(["Hello there" * 20])
    before = talk.speeds.expected("model", 1.3)
    talk.say("hi", speculation=replace(CHOOSING, drafter="model"))
    assert talk.speeds.expected("model", 1.3) != before


def test_a_conversation_begins_with_its_first_answer_and_with_no_other() -> None:
    talk = ChoosingTalk(["ab", "abc"])
    talk.say("hi", speculation=CHOOSING)
    talk.say("again", speculation=CHOOSING)
    assert talk.began == [True, False]


def test_a_source_that_is_not_possible_here_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError) as refused:
        ChoosingTalk(["ab"]).say("hi", speculation=replace(CHOOSING, drafter="tree"))
    assert refused.value.title == "tree cannot guess here"
    assert "a state has no branches" in refused.value.message


def test_block_of_trees_is_refused_by_the_session_too() -> None:
    request = ChoosingTalk(["ab"]).request(
        "hi", sampling=SamplingSettings(), speculation=replace(CHOOSING, drafter="tree", acceptance="block")
    )
    with pytest.raises(UsageError, match="Block acceptance cannot judge trees"):
        list(ChoosingTalk(["ab"]).session.answer(request))


def test_above_temperature_0_each_draft_is_judged_by_the_rule_of_its_source() -> None:
    end, _ = ChoosingTalk(["Hello there" * 4]).say(
        "hi", sampling=SamplingSettings(temperature=0.5, seed=1), speculation=CHOOSING
    )
    assert (end.acceptance, end.lossless) == ("block", True)


def test_the_words_tell_what_was_expected_what_came_and_who_else_wrote() -> None:
    promises = (Promise("hybrid", 1.31), Promise("tree", 1.2), Promise("lookahead", 1.0), Promise("none", 1.0))
    assert why_this_source(Chosen("hybrid", promises, 1.28, ("tree",), ())) == (
        "hybrid chosen: 1.31 times as fast as without guesses expected (tree 1.20, lookahead 1.00), came 1.28, "
        "tried for a moment tree"
    )
    assert why_this_source(Chosen("tree", promises, 1.1, (), ("hybrid",))).endswith(
        "left, as slower than expected, hybrid"
    )
    assert why_this_source(None) == ""


@pytest.mark.parametrize(
    ("speculation", "max_tokens"),
    [
        (SpeculationSettings(enabled=False), 8),
        (SpeculationSettings(drafter="model", draft_length=2), 8),
        (SpeculationSettings(drafter="auto", draft_length=2), 8),
        (CHOOSING, 0),
        (replace(CHOOSING, drafter="model"), 0),
    ],
)
def test_answers_that_teach_nothing_of_the_sources_make_nothing_be_forgotten(
    speculation: SpeculationSettings, max_tokens: int
) -> None:
    talk = ChoosingTalk(["Hello there" * 3])
    before = talk.speeds.state()
    talk.say("hi", speculation=speculation, max_tokens=max_tokens)
    assert talk.began == []
    assert talk.speeds.state() == before


def test_a_continued_answer_belongs_to_its_conversation() -> None:
    talk = ChoosingTalk(["ab", "abc"])
    talk.messages = [Message(Role.USER, "hi"), Message(Role.ASSISTANT, "a")]
    list(talk.session.answer(replace(talk.request("x"), messages=tuple(talk.messages), speculation=CHOOSING)))
    assert talk.began == [False]


def test_no_two_sources_of_random_numbers_in_an_answer_draw_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outer rule would judge guesses by the very numbers they were drawn with."""
    seeds: list[int] = []

    class Watched(random.Random):
        def __init__(self, seed: int) -> None:
            seeds.append(seed)
            super().__init__(seed)

    monkeypatch.setattr(verdict.random, "Random", Watched)
    talk = ChoosingTalk(["Hello there" * 20], with_cascade=True)
    for _ in range(60):
        talk.speeds.take("cascade", 1.0, 64, 30.0)
    end, _ = talk.say("hi", sampling=SamplingSettings(temperature=0.5, seed=1), speculation=CHOOSING)

    assert end.drafter == "cascade"
    assert len(seeds) > 2
    assert len(set(seeds)) == len(seeds)
