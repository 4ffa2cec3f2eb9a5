from __future__ import annotations

import random

import pytest

from localspec.chat.stream import AnswerStream, Piece
from localspec.chat.thinking import ThinkingMarker


def chunks_of(data: bytes, chance: random.Random, longest: int = 5) -> list[bytes]:
    chunks = []
    while data:
        length = chance.randint(1, longest)
        chunks.append(data[:length])
        data = data[length:]
    return chunks


def run(chunks: list[bytes], stop: tuple[str, ...] = (), *, opened: bool = False) -> tuple[AnswerStream, list[Piece]]:
    stream = AnswerStream(chunks.__getitem__, stop, ThinkingMarker(opened=opened))
    pieces = []
    for token in range(len(chunks)):
        pieces.append(stream.push(token))
        if stream.stopped:
            return stream, pieces
    pieces.append(stream.finish())
    return stream, pieces


def text_of(pieces: list[Piece], thinking: bool | None = None) -> str:
    return "".join(piece.text for piece in pieces if thinking in (None, piece.thinking))


TEXTS = [
    "plain words",
    "中文字符 and 🙂🙃 emoji 👩‍👩‍👧‍👦",
    "a\n\nUser: b\nUser:",
    "<b>x</b> </think> <think>",
    "STOSTOPSTOP",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_pieces_are_the_text_however_it_is_cut_into_tokens(text: str) -> None:
    chance = random.Random(3)
    for _ in range(200):
        stream, pieces = run(chunks_of(text.encode(), chance), ("NEVER", "\nUser: c"))
        assert text_of(pieces) == stream.text == text
        assert "\ufffd" not in text_of(pieces)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "stop", [("STOP",), ("\nUser:", "\n\n"), ("🙂",), ("字符", "字"), ("x</b> ",), ("TOP", "STOP")]
)
def test_nothing_of_a_stop_string_gets_out_wherever_the_tokens_cut_it(text: str, stop: tuple[str, ...]) -> None:
    chance = random.Random(4)
    places = [text.find(string) for string in stop if string in text]
    expected = text[: min(places)] if places else text
    for _ in range(200):
        stream, pieces = run(chunks_of(text.encode(), chance), stop)
        assert text_of(pieces) == stream.text == expected
        assert stream.stopped == bool(places)


def test_a_beginning_of_a_stop_string_is_let_out_once_it_is_none() -> None:
    stream, pieces = run([b"a S", b"TO", b"ne"], ("STOP",))
    assert [piece.text for piece in pieces] == ["a ", "", "STOne", ""]
    assert not stream.stopped


def test_half_a_character_at_the_end_is_left_out_with_its_token() -> None:
    stream, pieces = run([b"ok ", b"\xf0\x9f", b"\x99"])
    assert text_of(pieces) == "ok "
    assert stream.whole_tokens() == (1, 3)


def test_bytes_that_are_no_text_become_one_replacement_character_each() -> None:
    stream, pieces = run([b"a\xff", b"b"])
    assert text_of(pieces) == "a\ufffdb"
    assert stream.whole_tokens() == (2, 3)


@pytest.mark.parametrize(
    ("chunks", "stop", "whole"),
    [
        ([b"one", b" two", b" STOP"], ("STOP",), (2, 7)),
        ([b"one", b" two", b" ", b"ST", b"OP"], ("STOP",), (3, 8)),
        ([b"STOP"], ("STOP",), (0, 0)),
        ([b"one", b"", b"STOP"], ("STOP",), (2, 3)),
    ],
)
def test_the_tokens_kept_are_those_wholly_before_the_stop_string(
    chunks: list[bytes], stop: tuple[str, ...], whole: tuple[int, int]
) -> None:
    stream, _ = run(chunks, stop)
    assert stream.whole_tokens() == whole


@pytest.mark.parametrize(
    ("text", "opened", "thought"),
    [
        ("<think>hm, 2+2</think>\n\n4", False, "<think>hm, 2+2</think>"),
        ("\n<think>\nhm</think>4", False, "\n<think>\nhm</think>"),
        ("hm</think>4", True, "hm</think>"),
        ("never closed", True, "never closed"),
        ("no thought, but it mentions <think> and </think>.", False, ""),
        ("<thin ice", False, ""),
        ("<think></think>x</think>", False, "<think></think>"),
        ("<", False, ""),
        ("<think>a</thin</think>b", False, "<think>a</thin</think>"),
    ],
)
def test_thinking_is_marked_to_the_character_wherever_the_tokens_cut_it(text: str, opened: bool, thought: str) -> None:
    chance = random.Random(5)
    for _ in range(200):
        # The end token follows in a real answer; it lets the last text out.
        _, pieces = run([*chunks_of(text.encode(), chance, 9), b""], opened=opened)
        assert text_of(pieces, thinking=True) == thought
        assert text_of(pieces) == text


def test_a_stop_string_ends_the_thinking_part_too() -> None:
    _, pieces = run([b"<think>a", b"b STOP c</think>"], ("STOP",))
    assert text_of(pieces) == text_of(pieces, thinking=True) == "<think>ab "


def test_a_token_that_closes_the_thinking_and_ends_the_answer_lets_everything_out() -> None:
    _, pieces = run([b"hm</think>yes STOP"], ("STOP",), opened=True)
    assert text_of(pieces) == "hm</think>yes "
