from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from rich.style import Style

from localspec.tui.rendering.code import CodeBlock
from localspec.tui.rendering.lines import Line
from localspec.tui.rendering.markdown import code_blocks, markdown_lines
from localspec.tui.rendering.palette import WITHOUT_COLOUR as PALETTE


def plain(text: str, width: int = 40) -> list[str]:
    return [line.plain.rstrip() for line in markdown_lines(text, width, PALETTE)]


def styled(line: Line, text: str) -> str:
    """The style of the run of a line that is this text."""
    return next(str(segment.style) for segment in line.segments if segment.text == text)


def test_emphasis_is_told_by_attributes() -> None:
    (line,) = markdown_lines("a **b** *c* ~~d~~ `e`", 40, PALETTE)
    assert line.plain == "a b c d `e`"
    assert "bold" in styled(line, "b")
    assert "italic" in styled(line, "c")
    assert "strike" in styled(line, "d")


def test_a_link_shows_its_address_and_is_none() -> None:
    (line,) = markdown_lines("[text](https://example.org/a) <https://b.org>", 80, PALETTE)
    assert line.plain == "text (https://example.org/a) https://b.org"
    assert all(
        segment.style is None or (not segment.style.link and not segment.style.meta) for segment in line.segments
    )


def test_html_and_images_and_reference_definitions_are_text() -> None:
    assert plain("<b>x</b> &lt; <script>y</script>", 60) == ["<b>x</b> < <script>y</script>"]
    assert plain("![a cat](cat.png)") == ["[image: a cat] (cat.png)"]
    assert plain("[a]: https://example.org") == ["[a]: https://example.org"]


@pytest.mark.parametrize("formula", ["$x_1 * y_2 * z$", "$$a_b * c*d$$", r"\(a_1 * b_2 *\)", r"\[x_1 * y_1 * z\]"])
def test_formulas_stay_as_they_are(formula: str) -> None:
    assert plain(f"so {formula} holds", 60) == [f"so {formula} holds"]


def test_a_formula_of_several_lines_is_no_list() -> None:
    assert plain("\\[\n- x\n+ y\n\\]\n\nafter") == ["\\[", "- x", "+ y", "\\]", "", "after"]


def test_prices_are_no_formula() -> None:
    assert plain("costs $5 and *not* $10") == ["costs $5 and not $10"]


def test_lists_nest_and_keep_their_numbers() -> None:
    text = "3. three\n   - a\n     - b\n4. four\n\n\n10) other"
    assert plain(text) == ["3. three", "   ◦ a", "     ▪ b", "4. four", "", "10. other"]


def test_wrapped_items_stay_indented() -> None:
    assert plain("- one two three four", 12) == ["• one two", "  three four"]


def test_the_models_own_line_ends_are_kept() -> None:
    assert plain("roses are red\nviolets are blue") == ["roses are red", "violets are blue"]


def test_a_block_of_code_has_a_head_with_its_language_and_number() -> None:
    lines = markdown_lines("```python\nx = 1\n```\n\n```\ny\n```", 40, PALETTE)
    assert [line.block for line in lines if line.block] == [1, 2]
    assert "python" in lines[0].plain
    assert "/code 1" in lines[0].plain
    assert lines[1].plain.startswith("  x = 1")
    assert lines[1].width == 40


def test_code_is_shown_as_it_is_written() -> None:
    code = "a  =  1   \n\n\tif x:\n\t\ty()\n# *no* [markup]\n"
    lines = markdown_lines(f"```\n{code}```", 40, PALETTE)[1:]
    assert [line.text for line in lines] == ["a  =  1   ", "", "    if x:", "        y()", "# *no* [markup]"]


def test_a_long_row_of_code_wraps_and_is_one_row_when_copied() -> None:
    lines = markdown_lines(f"```\n{'word ' * 12}end\n```", 30, PALETTE)[1:]
    assert len(lines) > 1
    assert all(line.width == 30 for line in lines)
    assert "".join(f"{line.text}{line.joint}" for line in lines).strip() == f"{'word ' * 12}end"


def test_code_to_copy_is_exact() -> None:
    text = "a\n\n```py title=x\nif a:\n\tb()  \n\n```\n\n- item\n  ~~~\n  in item\n  ~~~\n\n```\nopen \x1b[1m"
    assert code_blocks(text) == [
        CodeBlock("py", "if a:\n\tb()  \n\n"),
        CodeBlock("", "in item\n"),
        CodeBlock("", "open \x1b[1m"),
    ]


def test_numbers_of_blocks_are_those_that_are_shown() -> None:
    text = "- a\n  ```\n  1\n  ```\n\n> ```\n> 2\n> ```\n\n    3\n\n```\n4\n```\n"
    lines = markdown_lines(text, 60, PALETTE)
    heads = [index for index, line in enumerate(lines) if "/code" in line.plain]
    assert [lines[index + 1].text.strip() for index in heads] == [block.text.strip() for block in code_blocks(text)]
    assert [f"/code {number} " in lines[index].plain for number, index in enumerate(heads, 1)] == [True] * 4


def test_a_table_is_as_wide_as_it_needs() -> None:
    assert plain("| a | bb |\n|:--|--:|\n| x | 1 |\n| long | 22 |") == [
        "a    │ bb",
        "─────┼───",
        "x    │  1",
        "long │ 22",
    ]


def test_a_wide_table_wraps_its_cells() -> None:
    cell = "many words in this cell that need room"
    lines = markdown_lines(f"| a | b |\n|---|---|\n| {cell} | {cell} |\n| c | d |", 30, PALETTE)
    assert max(line.width for line in lines) <= 30
    left = " ".join(line.plain.split("│")[0].strip() for line in lines if "│" in line.plain)
    assert cell in left


def test_a_table_with_no_room_for_its_columns_becomes_rows_of_names_and_values() -> None:
    names = [f"name{i}" for i in range(12)]
    row = [f"value{i}" for i in range(12)]
    text = f"|{'|'.join(names)}|\n|{'---|' * 12}\n|{'|'.join(row)}|"
    assert plain(text, 30) == [f"{name}: {value}" for name, value in zip(names, row, strict=True)]


HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;https://evil\x1b\\click\x1b]8;;\x1b\\",
    "\x9b2J\x07\x08\x7f",
    "[red]x[/red] [@click=app.quit]y[/]",
    "&#27;[31m &#x9b;1m &#x202e;gnp",
    "[a](<https://x/\x1b[1m> '\x1b')",
    "<https://a/%1b%e2%80%ae>",
    "```\x1b]0;t\x07\n\x1b[2J\n```",
    "| \x1b[1m |\n|---|\n| \u202eabc |",
    "a\rb\u2066c\u2069",
    "`\x1b[1m`",
    "![\x1b](\x1b)",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_a_model_steers_the_terminal_or_becomes_markup(text: str) -> None:
    for width in (10, 40):
        for line in markdown_lines(text, width, PALETTE):
            assert not [char for char in line.plain if unicodedata.category(char) == "Cc"]
            assert not set(line.plain) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
            assert all(s.style is None or (not s.style.link and not s.style.meta) for s in line.segments)
            assert line.width <= width


def test_text_that_looks_like_markup_is_shown() -> None:
    assert plain("[red]x[/red] [@click=app.quit]y[/]") == ["[red]x[/red] [@click=app.quit]y[/]"]


WIDE = [
    "漢字かなまじりの文章です。句読点は行の初めに来ません。" * 3,
    "한국어 문장도 낱말에서 줄이 바뀝니다 " * 4,
    "👩‍👩‍👧‍👦 👍🏽 🇩🇪 ❤️ ⌨️ " * 6,
    "e\u0301a\u0308o\u0302 " * 20,
    "שלום עולם, זה משפט ארוך בעברית שצריך לעבור שורה",
    "مرحبا بالعالم هذه جملة طويلة بالعربية",
    "x" * 95,
    "漢" * 70,
    "a\tb\tc",
]


@pytest.mark.parametrize("text", WIDE)
@pytest.mark.parametrize("shape", ["{}", "- {}", "> {}", "# {}", "| {} | b |\n|---|---|\n| {} | {} |", "```\n{}\n```"])
@pytest.mark.parametrize("width", [12, 33])
def test_wide_and_combining_characters_fit_and_stay_whole(text: str, shape: str, width: int) -> None:
    lines = markdown_lines(shape.replace("{}", text), width, PALETTE)
    assert max(line.width for line in lines) <= width
    shown = "".join(line.plain for line in lines)
    assert all(char in shown for char in text if char not in "\t ")


def test_closing_punctuation_begins_no_line() -> None:
    for line in plain("漢字漢字漢字。" * 8, 14):
        assert not line.startswith("。")


def test_an_indented_word_that_has_no_room_leaves_no_empty_line() -> None:
    rows = markdown_lines("```\n        self.data.move_to_end(key)\n```", 24, PALETTE)[1:]
    assert [row.text for row in rows] == ["        self.data.mo", "ve_to_end(key)"]


def test_code_is_marked_where_a_theme_has_no_panel_for_it() -> None:
    panel = replace(PALETTE, code=Style(bgcolor="blue"))
    assert markdown_lines("a `b` c", 40, PALETTE)[0].plain == "a `b` c"
    assert markdown_lines("a `b` c", 40, panel)[0].plain == "a b c"
