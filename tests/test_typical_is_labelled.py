"""Wherever an acceptance rule is chosen or shown, typical says that it is not the target's distribution."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.bench.arms import parse_arms
from localspec.bench.document import write_document
from localspec.bench.html.page import page_of
from localspec.bench.losslessness.findings import Caught, Draws, Findings, Position, Texts
from localspec.bench.losslessness.words import lines_of
from localspec.bench.records import as_json
from localspec.bench.report import report_of
from localspec.bench.tables import report_lines
from localspec.chat.events import AnswerEnd, AnswerRequest, Message, Role, SpeculationSettings
from localspec.cli import bench, chat, verify
from localspec.cli.figures import figures_in_full, figures_of_answer
from localspec.conversations.markdown import as_markdown
from localspec.decoding.rules import NOT_THE_TARGETS
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.messages import LoadPair, ModelSettings
from localspec.settings import KEYS
from localspec.tui.comparison import Arm, Comparison, NamedPair
from localspec.tui.explanations import EXPLANATIONS, Figure
from localspec.tui.glyphs import glyphs
from localspec.tui.verdict import why_texts_differ
from localspec.tui.widgets.readout_rows import ReadoutState, readout_rows
from localspec.tui.widgets.setting_field import _words_of
from localspec.tui.widgets.status_line import status_spans
from tests.bench.made_up import document, record
from tests.chat.test_why import END
from tests.conversations.talks import FACTS, branching
from tests.tui.figures_made import figures_of, rounds
from tests.tui.test_comparison import answered

PAIR = NamedPair("big", LoadPair(ModelSettings(Path("big.gguf")), ModelSettings(Path("small.gguf"))))


def end(rule: str) -> AnswerEnd:
    return replace(END, acceptance=rule, lossless=rule != "typical")


def figures(rule: str):
    return figures_of(list(rounds(9)), acceptance=rule, lossless=rule != "typical")


def help_of(add_arguments: Callable[[argparse.ArgumentParser], None]) -> str:
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    return parser.format_help()


def readout(rule: str) -> str:
    rows = readout_rows(ReadoutState(figures(rule)), 36, 60, glyphs())
    return "\n".join("".join(text for text, _ in row.spans) for row in rows)


def status_line(rule: str) -> str:
    return "".join(text for text, _ in status_spans(figures(rule), 120, glyphs(), next_speculating=True))


def setting(rule: str) -> str:
    return _words_of(next(key for key in KEYS if key.name == "acceptance"), rule)


def compared(rule: str) -> Comparison:
    request = AnswerRequest(
        (Message(Role.USER, "Why?"),),
        SamplingSettings(temperature=0.8, seed=1),
        SpeculationSettings(acceptance=rule),
    )
    arm = Arm(request, PAIR)
    return Comparison((arm, arm)).with_run(answered(1.0), answered(1.0, text=("else",)))


def benchmark(rule: str):
    made = document((record("off"), record(rule, acceptance_rule=rule)))
    return made, report_of(made.records, parse_arms(f"off,{rule}"), made.kinds)


def exported(rule: str) -> str:
    conversation = branching()
    for entry in conversation.entries:
        if entry.facts is not None:
            conversation.change(
                entry.id, text=entry.text, facts=replace(FACTS, acceptance=rule, lossless=rule != "typical")
            )
    return as_markdown(conversation)


def verified(rule: str) -> Findings:
    """A rule whose draws look as they should."""
    place = Position(False, 9, 1000, 0, 0.5, 0.5, 0.01, 0.01, 0.2, 900, 700, 0.5)
    texts = [Texts("model", name, 0.8, 2, 60, 40, 30) for name in ("greedy", "coupled")]
    draws = [Draws(rule, "chains", rule != "typical", (place,), 0.5)]
    return Findings(("big", "small"), texts, draws, [Caught("rejection", "chains", False, False, 1000, 0, 0.5)], 1.0)


SHOWN: dict[str, Callable[[str], str]] = {
    "the figures after an answer": lambda rule: figures_of_answer(end(rule)),
    "all figures": lambda rule: figures_in_full(end(rule)),
    "the app's panel": readout,
    "the app's status line": status_line,
    "the settings screen": setting,
    "the name of an arm of compare": lambda rule: compared(rule).names[0],
    "why the texts of compare differ": lambda rule: why_texts_differ(compared(rule)),
    "the tables of a benchmark": lambda rule: "\n".join(report_lines(*benchmark(rule))),
    "the page of a benchmark": lambda rule: page_of(*benchmark(rule)).replace("&#x27;", "'"),
    "an exported conversation": exported,
    "verify": lambda rule: "\n".join(lines_of(verified(rule))),
}


@pytest.mark.parametrize("place", SHOWN)
def test_typical_is_labelled_and_an_exact_rule_is_not(place: str) -> None:
    assert NOT_THE_TARGETS in SHOWN[place]("typical")
    assert NOT_THE_TARGETS not in SHOWN[place]("rejection")


@pytest.mark.parametrize("command", [chat, bench, verify])
def test_every_help_that_names_it_labels_it(command) -> None:
    assert f"typical: {NOT_THE_TARGETS}" in " ".join(help_of(command.add_arguments).split())


def test_the_meaning_of_the_rule_labels_it() -> None:
    assert NOT_THE_TARGETS in EXPLANATIONS[Figure.RULE]


def test_json_says_that_it_is_not_lossless(tmp_path: Path) -> None:
    for rule, lossless in (("typical", False), ("rejection", True)):
        assert as_json(record(acceptance_rule=rule))["lossless"] is lossless
        write_document(*benchmark(rule), tmp_path / "b.json")
        assert json.loads((tmp_path / "b.json").read_bytes())["records"][1]["lossless"] is lossless


def test_verify_fails_on_it_with_its_figures_even_where_the_draws_look_right() -> None:
    found = verified("typical")
    assert not found.fine
    assert "total variation 0.0100 where chance alone makes 0.0100" in "\n".join(lines_of(found))
    assert verified("rejection").fine
