"""Plots in text: on scale, within 80 columns, readable without colour and without Unicode."""

from __future__ import annotations

import pytest

from localspec.bench.plots import ASCII, UNICODE, Bar, Curve, Glyphs, bars, glyphs_for, plot

RISING = Curve("rising", ((1.0, 10.0), (2.0, 20.0), (3.0, 30.0), (4.0, 40.0)))
LEVEL = Curve("level", ((1.0, 25.0), (4.0, 25.0)))


def places(lines: list[str], mark: str) -> list[tuple[int, int]]:
    return [(column, row) for row, line in enumerate(lines[:-1]) for column, each in enumerate(line) if each == mark]


def test_marks_stand_at_even_steps_for_even_values() -> None:
    lines = plot([RISING], "x", "y", ASCII)
    found = sorted(places(lines, "*"))
    assert len(found) == 4
    columns = [column for column, _ in found]
    rows = [row for _, row in found]
    assert max(abs(a + c - 2 * b) for a, b, c in zip(columns, columns[1:], columns[2:], strict=False)) <= 1
    assert rows == sorted(rows, reverse=True)
    assert max(abs(a + c - 2 * b) for a, b, c in zip(rows, rows[1:], rows[2:], strict=False)) <= 1


def test_the_axes_have_their_numbers_and_the_curves_their_names() -> None:
    text = "\n".join(plot([RISING, LEVEL], "tokens", "milliseconds", UNICODE))
    assert text.startswith("milliseconds")
    assert "● rising   ○ level" in text
    for number in ("0 │", "20 │", "40 │"):
        assert number in text


def test_numbers_under_the_axis_never_run_into_each_other() -> None:
    curve = Curve("many", tuple((number / 20, 1.0) for number in range(21)))
    numbers = plot([curve], "x", "y", ASCII)[-2].split()
    assert numbers == [f"{number / 10:g}" for number in range(11)]


@pytest.mark.parametrize("glyphs", [ASCII, UNICODE])
@pytest.mark.parametrize("scale", [1e-6, 0.3, 1.0, 77.0, 123_456.0])
def test_no_line_is_longer_than_a_terminal(glyphs: Glyphs, scale: float) -> None:
    curve = Curve("scaled", tuple((x, y * scale) for x, y in RISING.points))
    assert max(map(len, plot([curve, curve], "x" * 20, "y", glyphs))) <= 80


@pytest.mark.parametrize("points", [((2.0, 5.0),), ((0.0, 0.0), (1.0, 0.0))])
def test_a_single_point_and_nothing_but_zeros_can_be_drawn(points: tuple[tuple[float, float], ...]) -> None:
    assert places(plot([Curve("little", points)], "x", "y", ASCII), "*")


def test_a_height_that_must_be_on_the_plot_is() -> None:
    assert "1.0 |" in "\n".join(plot([Curve("low", ((0.0, 0.2), (1.0, 0.1)))], "x", "y", ASCII, y_top=1.0))


def test_bars_are_as_long_as_their_values() -> None:
    lines = bars([Bar("a", 10, "10 a second"), Bar("bb", 5, "5 a second"), Bar("none", 0, "0")], ASCII)
    longest, half, none = (line.count("#") for line in lines)
    assert half == pytest.approx(longest / 2, abs=1)
    assert none == 0
    assert max(map(len, lines)) <= 80


def test_ascii_is_ascii_and_is_taken_where_nothing_else_can_be_written() -> None:
    "\n".join(plot([RISING, LEVEL], "x", "y", ASCII)).encode("ascii")
    assert glyphs_for("utf-8") is UNICODE
    for encoding in ("ascii", "latin-1", "no such encoding", None):
        assert glyphs_for(encoding) is ASCII
