"""The page needs nothing but itself, and whatever it shows is shown as text."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from localspec.bench.arms import parse_arms
from localspec.bench.html.page import page_of
from localspec.bench.html.svg import ticks
from localspec.bench.report import report_of
from tests.bench.made_up import MODELS, benchmark, document, record

HOSTILE = "</title><script>alert(1)</script>\"'&"


def page(made=None) -> str:
    made = made or document(benchmark())
    arms = parse_arms("off,2")
    return page_of(made, report_of(made.records, arms, made.kinds))


class Tags(HTMLParser):
    """Collects elements, and checks that they are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(text: str) -> Tags:
    parser = Tags()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def test_the_page_refers_to_nothing_outside() -> None:
    found = tags(page())
    assert {tag for tag, _ in found.seen}.isdisjoint({"script", "link", "img", "iframe", "object", "form", "base"})
    for _, attributes in found.seen:
        assert not {"src", "href", "srcset", "action", "onload", "onclick"} & set(attributes)
    text = page()
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text


def test_every_plot_is_well_formed_titled_and_told_as_a_table() -> None:
    text = page()
    plots = re.findall(r'<svg [^>]*role="img".*?</svg>', text, re.DOTALL)
    assert len(plots) == 6
    for plot in plots:
        root = ET.fromstring(plot)
        assert root.find("title").text
        assert root.find("desc").text
        assert root.attrib["aria-label"]
    assert text.count("<details>") == 6
    assert 'scope="col"' in text
    assert "prefers-color-scheme: dark" in text


def test_what_comes_from_files_cannot_become_markup() -> None:
    target = {**MODELS["pair"]["target"], "file": HOSTILE, "description": HOSTILE}
    records = tuple(replace(each, prompt_id=HOSTILE + each.prompt_id, category=HOSTILE) for each in benchmark())
    made = document(records, left_out={HOSTILE: HOSTILE}, models={"pair": {**MODELS["pair"], "target": target}})
    text = page(made)
    assert "<script" not in text
    tags(text)


@pytest.mark.parametrize(
    "made",
    [
        document((record(), record("2", rounds=((2, 1),)))),
        document((record(),), pass_times={}, memory={}),
        document((), pass_times={"pair": {"target": [], "draft": []}}, memory={"pair": None}),
    ],
    ids=["one prompt", "nothing timed", "nothing at all"],
)
def test_a_page_can_be_made_of_little(made) -> None:
    tags(page(made))


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 0), (0.8, 1.2), (0, 151.3), (0.37, 2.98), (0, 0.004)])
def test_ticks_are_few_and_span_the_values(low: float, high: float) -> None:
    values = ticks(low, high)
    assert values[0] <= low
    assert values[-1] >= high
    assert 2 <= len(values) <= 9
