"""Which signs a terminal gets, and what they draw."""

from __future__ import annotations

import pytest

from localspec.tui.glyphs import ASCII, Glyphs, glyphs_for, large_number


@pytest.mark.parametrize(
    ("environ", "encoding", "ascii_only"),
    [
        ({}, "utf-8", False),
        ({}, "UTF8", False),
        ({}, "iso8859-1", True),
        ({}, "cp1252", True),
        ({"LOCALSPEC_ASCII": "1"}, "utf-8", True),
        ({"LOCALSPEC_ASCII": "0"}, "cp1252", False),
        ({"LOCALSPEC_ASCII": ""}, "utf-8", False),
        ({"TERM": "linux"}, "utf-8", True),
    ],
)
def test_ascii_is_for_terminals_that_need_it_or_people_who_want_it(
    environ: dict[str, str], encoding: str, ascii_only: bool
) -> None:
    assert glyphs_for(environ, encoding) == (ASCII if ascii_only else Glyphs())


def test_a_bar_is_filled_in_eighths() -> None:
    assert [Glyphs().bar(share, 2) for share in (0, 1 / 16, 0.5, 0.75, 1)] == ["  ", "▏ ", "█ ", "█▌", "██"]
    assert Glyphs().bar(0.001, 4) == "▏   "
    assert ASCII.bar(0.5, 4) == "##.."


def test_a_curve_stands_on_zero_and_its_highest_value_fills_the_cell() -> None:
    assert Glyphs().curve((0.0, 5.0, 10.0)) == "▁▄█"
    assert Glyphs().curve((0.0, 0.0)) == "▁▁"
    assert Glyphs().curve(()) == ""


def test_large_numbers_are_three_rows_of_equal_width() -> None:
    for number in ("0.4", "41.8", "142", "1.92x", "-"):
        assert len({len(row) for row in large_number(number)}) == 1
