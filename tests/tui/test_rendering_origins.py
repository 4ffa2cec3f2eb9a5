from __future__ import annotations

import random
from dataclasses import replace

import pytest

from localspec.chat.events import AnswerRound, AnswerToken
from localspec.decoding.rounds import Origin
from localspec.tui.rendering.origins import OriginsView
from localspec.tui.rendering.palette import WITHOUT_COLOUR as PALETTE
from tests.tui.transcript_made import ANSWER, rounds_of


def view(rounds: list[AnswerRound], width: int = 40) -> OriginsView:
    origins = OriginsView(width, PALETTE)
    origins.append(rounds)
    return origins


def one(*origins: Origin, drafted: int, accepted: int, source: str = "model") -> AnswerRound:
    tokens = tuple(AnswerToken(0, f" t{place}", origin) for place, origin in enumerate(origins))
    return AnswerRound(tokens, drafted, tuple(range(accepted)), (source,) * drafted, 0.1, 10)


def test_the_text_is_plain_with_its_line_ends_and_each_token_has_its_manner() -> None:
    origins = view(
        [one(Origin.DRAFT, Origin.CORRECTION, drafted=3, accepted=1), one(Origin.PLAIN, drafted=0, accepted=0)]
    )
    assert origins.lines[0].plain == " t0 t1 t0"


def test_origins_differ_without_colour() -> None:
    styles = [str(PALETTE.origin(origin)) for origin in Origin]
    assert len(set(styles)) == len(styles)


def test_the_legend_counts_each_origin_and_its_share() -> None:
    rounds = [
        one(Origin.DRAFT, Origin.DRAFT, Origin.BONUS, drafted=2, accepted=2),
        one(Origin.PLAIN, drafted=0, accepted=0),
    ]
    legend = " ".join(line.plain.replace("\u00a0", " ") for line in view(rounds, 80).lines[2:])
    assert "accepted guess 2 (50 %)" in legend
    assert "bonus 1 (25 %)" in legend
    assert "without a guess 1 (25 %)" in legend
    assert "correction" not in legend


def test_each_token_is_explained() -> None:
    rounds = [
        one(Origin.DRAFT, Origin.DRAFT, Origin.CORRECTION, drafted=3, accepted=2),
        one(Origin.DRAFT, Origin.BONUS, drafted=1, accepted=1),
        one(Origin.PLAIN, drafted=0, accepted=0),
    ]
    origins = view(rounds)
    assert origins.describe(1) == "round 1: guessed 3, kept 2; this is the 2nd guess, by the model, kept"
    assert origins.describe(2) == "round 1: guessed 3, kept 2; this is the target's own, in place of the 3rd guess"
    assert (
        origins.describe(4)
        == "round 2: guessed 1, kept all; this is the target's own, after a draft that was kept whole"
    )
    assert origins.describe(5) == "round 3: nothing guessed; this is the target's own"


def test_a_guess_found_in_the_text_is_told_from_the_models_without_colour() -> None:
    rounds = [
        one(Origin.DRAFT, Origin.DRAFT, Origin.BONUS, drafted=2, accepted=2, source="ngram"),
        one(Origin.DRAFT, Origin.BONUS, drafted=1, accepted=1),
    ]
    rounds[0] = replace(rounds[0], predicted=(0.91, 0.5))
    origins = view(rounds, 80)
    styles = [segment.style for segment in origins.lines[0].segments if segment.text.strip()]
    assert styles == [PALETTE.looked_up, PALETTE.looked_up, PALETTE.bonus, PALETTE.draft, PALETTE.bonus]
    assert PALETTE.looked_up not in {PALETTE.origin(origin) for origin in Origin}
    legend = " ".join(line.plain.replace("\u00a0", " ") for line in origins.lines[2:])
    assert "accepted guess 1 (20 %)" in legend
    assert "found in the text 2 (40 %)" in legend
    assert origins.describe(0) == "round 1: guessed 2, kept all; this is the 1st guess, found in the text at 91 %, kept"
    assert origins.describe(3) == "round 2: guessed 1, kept all; this is the 1st guess, by the model, kept"


@pytest.mark.parametrize("width", [9, 40, 100])
def test_growing_in_pieces_gives_the_same_lines(width: int) -> None:
    text = f"{ANSWER}\n漢字かなまじりの文章です。長い文章です。 {'x' * 130}\n\n\tend 👩‍👩‍👧 \x1b[1m\r\n"
    rounds = rounds_of(text, seed=width)
    pick = random.Random(width)
    growing = OriginsView(width, PALETTE)
    place = 0
    while place < len(rounds):
        size = pick.randint(1, 4)
        growing.append(rounds[place : place + size])
        place += size
    assert growing.lines == view(rounds, width).lines
    assert all(line.width <= width for line in growing.lines)
    assert not any("\x1b" in line.plain for line in growing.lines)


def test_every_character_belongs_to_the_token_that_wrote_it() -> None:
    rounds = rounds_of(ANSWER)
    origins = view(rounds, 30)
    written = ["" for _ in range(origins.tokens)]
    for number, line in enumerate(origins.lines):
        for character in range(len(line.plain)):
            token = origins.token_at(number, character)
            if token is not None:
                written[token] += line.plain[character]
    tokens = [token.text for each in rounds for token in each.tokens]
    assert ["".join(text.split()) for text in written] == ["".join(text.split()) for text in tokens]
