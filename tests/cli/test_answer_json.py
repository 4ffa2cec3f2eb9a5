"""The JSON object: exact text, safe characters, and what stands in for what JSON cannot say."""

import json
import math
from pathlib import Path

from localspec.chat.events import AnswerRequest, Message, Role
from localspec.cli.answer_json import answer_as_json
from localspec.cli.answering import Answered
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.messages import Loaded, LoadedModel, LoadPair, ModelSettings
from localspec.errors import EngineDiedError
from tests.cli.answers import end, shown

MODEL = LoadedModel("Model \x1b]0;x\x07", "llama 1B Q8_0", 100, 50, 1000, 2048, "CPU")
LOADED = Loaded(MODEL, None, 4096, 2, 1.5)
LOADING = LoadPair(ModelSettings(Path("model.gguf")))
REQUEST = AnswerRequest(
    (Message(Role.USER, "a"),), SamplingSettings(logit_bias=((5, -math.inf), (6, 1.5))), stop=("###",)
)


def as_text(answered: Answered) -> str:
    answered.finish()
    return answer_as_json(REQUEST, answered, LOADING, LOADED)


def test_text_is_exact_and_steers_no_terminal() -> None:
    hostile = '\x1b[31m \x9b \u202e \x7f 漢 \U0001f600 "\\'
    answered = Answered(end=end(hostile))
    answered.take(shown((hostile, False)))
    text = as_text(answered)
    assert not any(character in text for character in "\x1b\x9b\u202e\x7f\n")
    assert "漢 \U0001f600" in text
    assert json.loads(text)["text"] == hostile


def test_thinking_stands_apart_without_its_tags() -> None:
    answered = Answered(end=end())
    answered.take(
        shown(("<think>", True), ("\nhm", True), ("m\n", True), ("</think>", True), ("\n\n", False), ("yes", False))
    )
    document = json.loads(as_text(answered))
    assert (document["thinking"], document["text"]) == ("hmm", "yes")
    assert answered.whole == "<think>\nhmm\n</think>\n\nyes"


def test_the_figures_are_those_of_the_answer() -> None:
    document = json.loads(as_text(Answered(end=end())))
    assert document["statistics"] == {
        "rounds": 5, "drafted": 12, "accepted": 9, "acceptance": 0.75, "drafted_at": [5, 4, 3],
        "accepted_at": [4, 3, 2], "acceptance_by_position": [0.8, 0.75, 2 / 3], "tau": 2.8,
        "rounds_by_length": [0, 1, 1, 3], "judged": 11, "judged_kept": 9, "judged_expected": 8.25,
        "predicted_acceptance": 0.75, "judged_acceptance": 9 / 11,
        "by_source": {"model": {"drafted": 8, "accepted": 5}, "ngram": {"drafted": 4, "accepted": 4}},
        "origins": {"draft": 9, "correction": 2, "bonus": 3, "plain": 0},
    }  # fmt: skip
    assert document["tokens"] == {"prompt": 1234, "reused": 1000, "answer": 14}
    assert document["timings"]["other_seconds"] == 0.25
    assert document["timings"]["tokens_per_second"] == 7.0
    assert document["models"]["draft"] is None
    assert document["drafting"] == {
        "drafter": "hybrid",
        "draft_length": "auto",
        "why": "drafting pays: a guess of the draft model is kept 75 % of the time here and pays from 50 % on",
        "outlook": {"acceptance": 0.75, "break_even": 0.5, "draft_length": 3, "speed_up": 1.5},
        "chosen": None,
    }


def test_without_a_draft_there_is_no_outlook() -> None:
    document = json.loads(as_text(Answered(end=end(drafter="none", draft_length=0, outlook=None))))
    nothing = {"drafter": "none", "draft_length": 0, "why": "", "outlook": None, "chosen": None}
    assert document["drafting"] == nothing


def test_a_forbidden_token_is_told_without_infinity() -> None:
    document = json.loads(as_text(Answered(end=end())))
    assert document["settings"]["sampling"]["logit_bias"] == {"5": "-inf", "6": 1.5}


def test_a_failed_answer_keeps_what_came_and_says_why() -> None:
    answered = Answered(error=EngineDiedError("It died", "Why", "What to do"))
    answered.take(shown(("half an ", False)))
    document = json.loads(as_text(answered))
    assert document["finish"] == "failed"
    assert document["text"] == "half an "
    assert document["error"] == {"kind": "EngineDiedError", "title": "It died", "message": "Why", "hint": "What to do"}
    assert document["statistics"] is None
    assert document["drafting"] is None
