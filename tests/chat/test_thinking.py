"""A stored answer falls into what was thought and what was said, also when its prompt opened the thinking part."""

from __future__ import annotations

import pytest

from localspec.chat.thinking import split_thinking


@pytest.mark.parametrize(
    ("text", "thought", "said"),
    [
        ("", "", ""),
        ("plain", "", "plain"),
        ("<think>hm</think>said", "hm", "said"),
        ("\n<think>\nhm\n\nmore\n</think>\n\nsaid\n", "hm\n\nmore", "said\n"),
        ("<think>\n\n</think>\n\nsaid", "", "said"),
        ("<think>stopped here", "stopped here", ""),
        ("<think>", "", ""),
        ("thought in a prompt's part\n</think>\n\nsaid", "thought in a prompt's part", "said"),
        ("<think>a</think>b</think>c", "a", "b</think>c"),
        ("it says <think> in a sentence", "", "it says <think> in a sentence"),
        ("the tags <think> and </think> are named", "", "the tags <think> and </think> are named"),
    ],
)
def test_an_answer_falls_into_what_was_thought_and_what_was_said(text, thought, said):
    assert split_thinking(text) == (thought, said)
