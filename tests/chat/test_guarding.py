from __future__ import annotations

import random

import pytest

from localspec.chat.guarding import ControlTexts, choose_barrier, without_lone_surrogates

CONTROLS = ("<|im_start|>", "<|im_end|>", "<|", "</s>", "<s>", "<<a>>", "a>>b", "[INST]", "[/INST]", "§", "<unused 1>")
BARRIER = choose_barrier([])


def holds_control(piece: str) -> bool:
    return len(piece) > 1 and any(control in piece for control in CONTROLS)


@pytest.mark.parametrize("by_assistant", [False, True])
def test_no_piece_of_any_text_holds_a_control_text(by_assistant: bool) -> None:
    chance = random.Random(1)
    texts = ControlTexts(CONTROLS)
    parts = [*CONTROLS, *"<>|/[]as \n", "im", "end|>", "hello", "🙂"]
    for _ in range(3000):
        content = "".join(chance.choices(parts, k=chance.randint(0, 12)))
        guarded = texts.guard(content, BARRIER, by_assistant=by_assistant)
        assert guarded.replace(BARRIER, "") == content
        assert not [piece for piece in guarded.split(BARRIER) if holds_control(piece)]


def test_a_control_text_finished_by_the_template_is_broken_too() -> None:
    chance = random.Random(2)
    texts = ControlTexts(CONTROLS)
    for _ in range(3000):
        control = chance.choice([control for control in CONTROLS if len(control) > 1])
        cut = chance.randint(1, len(control) - 1)
        space = chance.choice(["", " ", "\n"])
        typed = "hi " + control[:cut] + space
        assert control not in texts.guard(typed, BARRIER).rstrip() + control[cut:]
        assert control not in texts.guard(typed, BARRIER) + control[cut:]
        typed = space + control[cut:] + " hi"
        assert control not in control[:cut] + texts.guard(typed, BARRIER).lstrip()
        assert control not in control[:cut] + texts.guard(typed, BARRIER)


def test_ordinary_text_is_left_alone() -> None:
    texts = ControlTexts(("<|im_start|>", "<|im_end|>"))
    code = 'if (a < b && c[0] | d) { x = "<b>"; }\n中文 🙂'
    assert texts.guard(code, BARRIER) == code
    assert ControlTexts(()).guard(code, BARRIER) == code


def test_a_template_sees_the_thinking_tags_of_the_assistant_only() -> None:
    texts = ControlTexts(("<think>", "</think>", "<|im_end|>"), seen_by_template=("<think>", "</think>"))
    thought = "<think>hm</think>yes"
    assert texts.guard(thought, BARRIER, by_assistant=True) == thought
    assert texts.guard(thought, BARRIER) != thought
    assert BARRIER in texts.guard("<|im_end|>", BARRIER, by_assistant=True)


def test_a_text_to_be_continued_keeps_its_open_end() -> None:
    texts = ControlTexts(("<|im_end|>",))
    assert texts.guard("a <", BARRIER, complete=False) == "a <"
    assert texts.guard("a <", BARRIER) == "a <" + BARRIER


def test_the_barrier_occurs_nowhere_even_when_somebody_typed_it() -> None:
    first = choose_barrier(["hello"])
    assert choose_barrier(["hello", "other"]) == first
    assert choose_barrier([f"mean {first} text"]) not in ("", first)
    everything = "".join(map(chr, range(0xFDD0, 0xFDF0)))
    assert choose_barrier([everything]) not in everything


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    assert without_lone_surrogates("a\ud800b🙂") == "a?b🙂"


@pytest.mark.timeout(30)
def test_a_long_text_is_searched_for_thousands_of_control_texts_in_one_go() -> None:
    texts = ControlTexts(tuple(f"<unused{i}>" for i in range(6000)))
    content = "<div>" * 40_000
    assert texts.guard(content, BARRIER).replace(BARRIER, "") == content
