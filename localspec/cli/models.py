"""Which files to load: those the person named, those of a pair, or the demo's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from localspec.cli.first_run import pair_to_chat_with, tell_that_demo_answers
from localspec.engine.messages import LoadPair
from localspec.pairs import demo
from localspec.pairs.catalog import load_catalog
from localspec.pairs.choosing import paths_of
from localspec.pairs.progress import Meter
from localspec.settings import Settings, merge
from localspec.terminal import Terminal

if TYPE_CHECKING:
    from localspec.pairs.pair import Pair


def choose_models(sources: tuple[Mapping[str, object], ...], terminal: Terminal) -> tuple[Settings, LoadPair]:
    """Decide on all settings, the pair's own defaults included, and on the files.

    Where the person names none, it is the best pair that was pulled. With none pulled, one is proposed to a person at
    a terminal; anywhere else, and to who declines, the demo pair answers.

    Args:
        sources: flags, variables and file, the strongest first.
        terminal: where it is told which pair answers when none is named.

    Raises:
        UsageError: there is no such pair.
        LocalspecError: the pair's files are not on this machine, or could not be fetched.
    """
    settings = merge(*sources)
    if settings.target is not None:
        # A draft that is not to guess need not be loaded.
        return settings, settings.loading(settings.target, settings.draft if settings.drafts else None)
    if settings.pair == demo.NAME:
        tell_that_demo_answers(terminal)
        pair = None
    elif settings.pair is not None:
        pair = load_catalog().pair(settings.pair)
    else:
        pair = pair_to_chat_with(load_catalog(), terminal)
    if pair is None:
        settings = merge(*sources, pair_defaults=demo.SAMPLING)
        target = demo.demo_target()
        return settings, settings.loading(target, demo.demo_draft(target) if settings.drafts else None)
    settings = merge(*sources, pair_defaults=_defaults(pair))
    target, draft = paths_of(pair, Meter(lambda progress: terminal.status(progress.words)))
    return settings, settings.loading(target, draft if settings.drafts else None)


def _defaults(pair: Pair) -> dict[str, object]:
    """What the pair recommends."""
    recommended = {name: value for name, value in asdict(pair.sampling).items() if value is not None}
    return {**recommended, "context": pair.context}
