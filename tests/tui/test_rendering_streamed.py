from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from localspec.tui.rendering.markdown import markdown_lines
from localspec.tui.rendering.palette import WITHOUT_COLOUR as PALETTE
from localspec.tui.rendering.streamed import StreamedMarkdown
from tests.tui.transcript_made import ANSWER

PIECES = [
    "# head\n", "para **bold** and `code`\n", "\n", "\n\n", "- one\n", "- two *em*\n", "  - nested\n", "  continued\n",
    "1. first\n", "2. second\n", "   ```py\n   x = 1\n   ```\n",
    "```python\ndef f():\n    '''doc\n    more'''\n```\n",
    "```\nplain\n", "~~~js\nlet x=`a\nb`\n~~~\n", "> quote\n", "> - list\n", "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "| a cell with many words | x |\n", "---\n", "===\n", "text\n", "    indented\n", "$$\nx_1 * y\n$$\n",
    "\\[\n- a\n\\]\n",
    "[l](http://x.y)\n", "[r]: http://z\n", "<b>html</b>\n", "漢字かなまじり文、テスト。\n", "שלום\n",
    "👩‍👩‍👧 family\n", "\t tab\n",
    "*", "_", "`", "**", "#", " ", "1)", "+ plus\n", "* star\n", "a" * 150 + "\n", "&#x202e;x &amp;\n", "\x1b[31m\n",
    "\r\n", "\r", "- [ ] todo\n", "$5 $x$ ",
]  # fmt: skip


def streamed(
    text: str, width: int, pick: random.Random, sizes: Sequence[int] = (1, 2, 3, 5, 9, 30)
) -> StreamedMarkdown:
    """The text in pieces cut anywhere; what was settled must stay, and nothing may be too wide, at any moment."""
    markdown = StreamedMarkdown(width, PALETTE)
    settled: list[object] = []
    place = 0
    while place < len(text):
        size = pick.choice(sizes)
        markdown.append(text[place : place + size])
        place += size
        lines = markdown.lines
        assert lines[: len(settled)] == settled
        assert all(line.width <= width for line in lines[len(settled) :])
        settled = list(lines[: markdown.settled])
    markdown.finish()
    return markdown


@pytest.mark.parametrize("seed", range(150))
def test_a_streamed_text_ends_as_the_whole_one(seed: int) -> None:
    pick = random.Random(seed)
    text = "".join(pick.choice(PIECES) for _ in range(pick.randint(1, 16)))
    width = pick.choice([15, 40, 76])
    assert streamed(text, width, pick).lines == markdown_lines(text, width, PALETTE)


@pytest.mark.parametrize(
    "text",
    [
        ANSWER * 3,
        "one long paragraph with `code` and **bold** that never ends " * 60,
        "1. item\n\n" + "   - nested item with words\n" * 300,
        "| a | b |\n|---|---|\n" + "| cell with words | 2 |\n" * 250,
        "> " + "quoted line\n> " * 500,
        "```python\n" + "def f(x):\n    return '''a\n\n    b'''\n" * 120,
        "```c\n/* " + "comment\n" * 300 + "*/\nint x;\n```\nafter",
        "```json\n" + '{"a": [1, "x"]},\n' * 200 + "```\n",
        "- a\n\n  ```js\n" + "  let x = `${1}`;\n" * 200 + "  ```\n- b\n",
    ],
    ids=["mixed", "paragraph", "nested", "table", "quote", "python", "c", "json", "fence in item"],
)
def test_a_long_streamed_text_ends_as_the_whole_one(text: str) -> None:
    assert streamed(text, 60, random.Random(1), sizes=(5, 30, 120)).lines == markdown_lines(text, 60, PALETTE)


def test_finished_blocks_are_rendered_once() -> None:
    markdown = StreamedMarkdown(60, PALETTE)
    markdown.append(ANSWER)
    before = markdown.lines[: markdown.settled]
    markdown.append("and more\n\nof it")
    assert len(before) > 10
    assert all(new is old for new, old in zip(markdown.lines, before, strict=False))


def test_a_block_of_code_is_not_read_again_as_it_grows() -> None:
    markdown = StreamedMarkdown(60, PALETTE)
    markdown.append("```python\n" + "x = 1\n" * 500)
    before = markdown.lines
    markdown.append("y = 2\nz")
    after = markdown.lines
    assert len(after) == len(before) + 2
    assert all(new is old for new, old in zip(after, before, strict=False))


def test_code_has_its_colours_while_it_grows() -> None:
    text = 'def f():\n    text = """A\n    # no comment"""\n    return 1  # comment\n'
    markdown = StreamedMarkdown(60, PALETTE)
    markdown.append("```python\n")
    for char in text:
        markdown.append(char)
    growing = markdown.lines
    markdown.finish()
    assert growing == markdown.lines


def test_marks_that_are_not_closed_yet_are_not_shown() -> None:
    markdown = StreamedMarkdown(60, PALETTE)
    markdown.append("some **bo")
    assert [line.plain for line in markdown.lines] == ["some bo"]
    markdown.append("ld** and `co")
    assert [line.plain for line in markdown.lines] == ["some bold and `co`"]
    markdown.append("de`\n\n``")
    assert [line.plain for line in markdown.lines] == ["some bold and `code`"]
    markdown.append("`py\nx\n``")
    assert [line.plain.strip() for line in markdown.lines][2:] == [markdown.lines[2].plain.strip(), "x"]


def test_what_is_never_closed_is_shown_at_the_end() -> None:
    markdown = StreamedMarkdown(60, PALETTE)
    markdown.append("2 ** 3 and `x\n\n**")
    markdown.finish()
    assert [line.plain for line in markdown.lines] == ["2 ** 3 and `x", "", "**"]
