"""What `localspec verify` found, in words."""

from __future__ import annotations

from collections.abc import Iterator

from localspec.bench.losslessness.findings import ERROR_RATE, Caught, Divergence, Draws, Findings, Texts
from localspec.bench.losslessness.manners import MOST_GUESSES
from localspec.decoding.drafter_names import BRANCHING
from localspec.decoding.rules import NOT_THE_TARGETS


def lines_of(found: Findings) -> list[str]:
    """All parts, and the verdict last. Names of models in it are other people's text."""
    target, draft = found.models
    lines = [f"target {target}", f"draft  {draft or 'none'}", ""]
    for texts in found.texts:
        lines += [*_texts(texts), ""]
    for draws in found.draws:
        lines += [*_draws(draws), ""]
        caught = [each for each in found.caught if each.drafts == draws.drafts]
        if caught:
            lines += [*_caught(caught, draws.drafts), ""]
    return [*lines, *verdict(found)]


def verdict(found: Findings) -> list[str]:
    """In a word."""
    if found.fine:
        with_draft = "this pair writes" if found.models[1] else "this model writes"
        return [
            f"VERIFIED in {found.seconds:.0f} s: with speculation {with_draft}",
            "what the target alone writes.",
        ]
    for draws in found.draws:
        if not draws.lossless:
            sampled, noise = _variations(draws)
            return [
                f"NOT LOSSLESS: what {draws.rule} acceptance writes is {NOT_THE_TARGETS}:",
                f"total variation {sampled:.4f} where chance alone makes {noise:.4f} (p-value {draws.smallest:.1e}).",
                "That is so by design: it trades exactness for speed. The rules auto, rejection,",
                "block and coupled are exact.",
            ]
    reasons = [f"  {reason}" for reason in _reasons(found)]
    return ["FAILED: do not trust speculation with this pair.", *reasons, "  Please report it, with --json."]


def _reasons(found: Findings) -> Iterator[str]:
    for texts in found.texts:
        for each in texts.divergences:
            if not each.explained:
                yield f"with {texts.drafter} the {texts.rule} text of {each.prompt} parts at token {each.place + 1},"
                yield "  and rounding is not why"
    for draws in found.draws:
        if not draws.fine:
            forbidden = sum(position.impossible for position in draws.positions)
            if forbidden:
                yield f"{forbidden:,} tokens were written that the target forbids"
            yield f"what {draws.rule} draws is not distributed as the target says (p-value {draws.smallest:.1e})"
    for caught in found.caught:
        if not caught.fine:
            yield f"the test {'misses the error' if caught.planted else 'rejects the rule'} {caught.rule}"
    if not found.complete:
        yield "not every part came to its end"


def _texts(texts: Texts) -> Iterator[str]:
    yield f"Texts with guesses ({texts.drafter}) against texts without, " + (
        "greedy:" if texts.rule == "greedy" else f"coupled, temperature {texts.temperature:g}:"
    )
    same = texts.prompts - len(texts.divergences)
    yield f"  {same} of {texts.prompts} the same, {texts.tokens:,} tokens compared"
    yield f"  {texts.drafted:,} guesses, {texts.accepted:,} of them kept"
    if not texts.drafted:
        yield f"  So these texts show nothing of {texts.drafter}."
    elif texts.drafter in BRANCHING:
        beside, kept = texts.siblings, texts.siblings_accepted
        yield f"  {beside:,} guesses were not the first for their place, {kept:,} of these kept"
    for each in texts.divergences:
        yield from _divergence(each)


def _divergence(each: Divergence) -> Iterator[str]:
    yield f"  {each.prompt} parts at token {each.place + 1} of {each.length}."
    decides = "the settings cut one off" if each.gap is None else f"{each.gap:.3f} decide between the two"
    yield f"    Logits: the likeliest leads by {each.top_two_gap:.3f}; {decides};"
    yield f"    a pass of {each.width} tokens changes them by {each.logit_change:.3f}."
    if not each.explained:
        yield "    Rounding does NOT explain it."
    elif each.same_at_width:
        yield "    The target alone, in a pass of that width, writes the same: it is rounding."
    else:
        yield "    That is a near tie: the rounding of earlier passes explains it."


def _draws(draws: Draws) -> Iterator[str]:
    places = draws.positions
    drawn = sum(place.drawn for place in places)
    cut = sum(place.cut for place in places)
    yield f"Draws of the {draws.rule} rule from real rows: {drawn:,} at {len(places)} places"
    yield f"  ({cut} of them with nothing cut off but all beyond the likeliest tokens)"
    if draws.drafts == "trees":
        yield f"  drafts are trees: 1 to {MOST_GUESSES} guesses for a place, further ones behind two of them"
    sampled, noise = _variations(draws)
    yield f"  sampled against p: total variation {sampled:.4f}; chance alone makes {noise:.4f}"
    yield f"  p against q: {sum(place.tv_draft for place in places) / len(places):.4f}: so much the draft is off"
    examined, accepted = (sum(getattr(place, name) for place in places) for name in ("examined", "accepted"))
    if examined:
        expected = sum(place.examined * (1 - place.tv_draft) for place in places) / examined
        what = "first guesses for a place kept" if draws.drafts == "trees" else "guesses kept"
        yield f"  {what}: {accepted / examined:.4f}; 1 - TV(p, q) there: {expected:.4f}"
    tests = len(places) + sum(
        p_value is not None for place in places for p_value in (place.share_p_value, place.pair_p_value)
    )
    yield f"  {tests} tests, smallest p-value {draws.smallest:.2g} after Holm's correction;"
    yield f"  below {ERROR_RATE:g} it fails: so often a right program would, all tests together"


def _variations(draws: Draws) -> tuple[float, float]:
    """Mean total variation between what was drawn and p, and what chance alone makes of it."""
    places = draws.positions
    sampled, noise = (sum(getattr(place, name) for place in places) for name in ("tv_sampled", "tv_noise"))
    return sampled / len(places), noise / len(places)


def _caught(caught: list[Caught], drafts: str) -> Iterator[str]:
    yield f"The same test over {drafts} where errors show, the rule under test first:"
    for each in caught:
        word = "found" if each.found else "passes"
        forbidden = f", {each.impossible:,} tokens that p forbids" if each.impossible else ""
        yield f"  {each.rule}: {word}{_wrong(each)} (p-value {each.smallest:.1e}{forbidden})"


def _wrong(each: Caught) -> str:
    return "" if each.fine else ", and should not" if each.found else ", and should be found"
