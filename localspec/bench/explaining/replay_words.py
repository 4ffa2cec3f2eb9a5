"""One real round, step by step: guess, check, keep or refuse, correct; and another one that ends in a bonus."""

from __future__ import annotations

from collections.abc import Sequence

from localspec.bench.explaining.facts import Facts
from localspec.bench.explaining.words import Section, counted, milliseconds, padded, paragraph, table, token_shown
from localspec.decoding.rounds import Origin
from localspec.engine.traces import TokenChance, TracedGuess, TracedRound

_TEXT_SHOWN = 160
_WORTH = 0.0005
"""Probabilities below it would be shown as 0.000."""


def replay(facts: Facts) -> Section | None:
    """None when no round has anything to show."""
    corrected = _most_telling(facts.replay, Origin.CORRECTION)
    whole = _most_telling(facts.replay, Origin.BONUS)
    if corrected is None and whole is None:
        return None
    why = "" if facts.temperature else " (at 0, as you have it, nothing is left to chance)"
    lines = paragraph(
        f"This was really played a moment ago, at temperature {facts.replay_temperature:g}{why} and with the other "
        "sampling settings as you have them; every number is from it."
    )
    if corrected is not None:
        lines += [*_in_full(corrected, facts), *_refusal(corrected)]
    if whole is not None:
        lines += [*(_in_full(whole, facts) if corrected is None else _in_brief(whole)), *_bonus(whole)]
    lines += paragraph(
        "Whatever the draft guesses, each token is distributed as if the target had drawn it by itself: what q has too "
        "much of is refused as often as that, and what it has too little of is made up for by the corrections "
        "(Leviathan 2023, appendix A.1). A bad draft costs time, never quality."
    )
    return Section("A round, step by step", tuple(lines))


def _most_telling(rounds: Sequence[TracedRound], end: Origin) -> TracedRound | None:
    """The round that shows most: long drafts, some kept, guesses that were not certain, words and not line ends."""
    fitting = [one for one in rounds if one.drafted and one.origins and one.origins[-1] is end and one.before]
    return max(fitting, key=_interest, default=None)


def _interest(one: TracedRound) -> float:
    words = sum(text.strip().isalpha() for text in one.drafted) / len(one.drafted)
    open_questions = sum(min(guess.guess.probability, 1 - guess.guess.probability) for guess in one.guesses)
    kept = sum(guess.kept for guess in one.guesses)
    return len(one.drafted) + 2 * words + open_questions + 2 * min(kept, 1)


def _in_full(one: TracedRound, facts: Facts) -> list[str]:
    count = len(one.drafted)
    lines = _text_before("The text so far", one)
    lines += paragraph(f"GUESS. The draft guesses {counted(count, 'token')}, each drawn from its own distribution q:")
    lines += ["  " + " ".join(token_shown(text) for text in one.drafted), ""]
    lines += _check(count, facts)
    lines += paragraph(
        "KEEP or REFUSE, from left to right. For each guess x a random number u between 0 and 1 is drawn; x is kept "
        "when u < p(x) / q(x). So a guess that the target finds at least as likely as the draft does is always kept."
    )
    return lines + _judged(one.guesses)


def _in_brief(one: TracedRound) -> list[str]:
    return [*_text_before("Another round. The text so far", one), *_judged(one.guesses)]


def _text_before(words: str, one: TracedRound) -> list[str]:
    shown = one.before[-_TEXT_SHOWN:].replace("\n", " ")
    return paragraph(f"{words}: {'...' if len(one.before) > _TEXT_SHOWN else ''}{shown}")


def _refusal(one: TracedRound) -> list[str]:
    unseen = len(one.drafted) - len(one.guesses)
    if not unseen:
        return _correction(one)
    behind = "The guess behind it is" if unseen == 1 else f"The {unseen} guesses behind it are"
    return paragraph(f"{behind} not looked at: made for a text that is not to be.") + _correction(one)


def _check(count: int, facts: Facts) -> list[str]:
    width = count + 1
    costs = ""
    if width <= len(facts.pass_seconds):
        together, apart = facts.pass_seconds[width - 1], width * facts.pass_seconds[0]
        costs = f" ({milliseconds(together)} here, where {width} passes would take {milliseconds(apart)})"
    return paragraph(
        f"CHECK. The target reads the last token and the {'guess' if count == 1 else f'{count} guesses'} in one "
        f"pass{costs}, and so knows its own distribution p at each of these places."
    )


def _judged(guesses: Sequence[TracedGuess]) -> list[str]:
    rows = [("guess x", "q(x)", "p(x)", "p/q", "u", "")]
    for guess in guesses:
        ratio = guess.p / guess.guess.probability
        rows.append(
            (
                token_shown(guess.guess.text),
                f"{guess.guess.probability:.3f}",
                f"{guess.p:.3f}",
                f"{ratio:.2f}" if ratio < 1 else "1 or more",
                f"{guess.u:.3f}",
                "kept" if guess.kept else "refused",
            )
        )
    return table(rows)


def _correction(one: TracedRound) -> list[str]:
    refused = one.guesses[-1]
    lines = paragraph(
        f"CORRECT. In place of {token_shown(refused.guess.text)} the target writes a token of its own, drawn from what "
        "its p has more of than q: max(0, p - q), made to add up to 1. The likeliest of p, of q, and of that:"
    )
    lines += _side_by_side(("p", refused.target), ("q", refused.draft), ("what is drawn from", one.source))
    return lines + paragraph(
        f"The random number {one.u:.3f} picks {token_shown(one.own.text)} ({one.own.probability:.3f}). The round wrote "
        f"{counted(len(one.origins), 'token')} in one pass of the target, {one.origins.count(Origin.DRAFT)} of them "
        "guessed."
    )


def _bonus(one: TracedRound) -> list[str]:
    return paragraph(
        "BONUS. All guesses were kept, and the pass has told p behind the last one, too: the random number "
        f"{one.u:.3f} picks {token_shown(one.own.text)} ({one.own.probability:.3f}) from it, at no pass of its own. "
        f"The round wrote {counted(len(one.origins), 'token')} in one pass of the target."
    )


def _side_by_side(*columns: tuple[str, Sequence[TokenChance]]) -> list[str]:
    """Lists of tokens with their probabilities, beside each other."""
    lists = [
        [name, *(f"{each.probability:.3f} {token_shown(each.text)}" for each in found if each.probability >= _WORTH)]
        for name, found in columns
    ]
    height = max(map(len, lists))
    rows = zip(*(one + [""] * (height - len(one)) for one in lists), strict=True)
    return [*("  " + "".join(padded(cell, 25) for cell in row).rstrip() for row in rows), ""]
