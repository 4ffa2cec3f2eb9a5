"""Which files to load: those the person named, those of a pair, or the demo's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from localspec.engine.messages import LoadPair
from localspec.pairs import demo
from localspec.pairs.catalog import load_catalog
from localspec.pairs.choosing import paths_of
from localspec.pairs.pair import Pair
from localspec.pairs.progress import Meter
from localspec.settings import Settings, merge
from localspec.terminal import Terminal

_DEMO_NOTICE = "The demo pair shows how speculation works, offline: expect neither a good answer nor a great speed-up."


def choose_models(sources: tuple[Mapping[str, object], ...], terminal: Terminal) -> tuple[Settings, LoadPair]:
    """Decide on all settings, the pair's own defaults included, and on the files.

    Args:
        sources: flags, variables and file, the strongest first.
        terminal: where it is told that the demo pair is used.

    Raises:
        UsageError: there is no such pair.
        LocalspecError: the pair's files are not on this machine.
    """
    settings = merge(*sources)
    if settings.target is not None:
        # A draft that is not to guess need not be loaded.
        return settings, settings.loading(settings.target, settings.draft if settings.drafts else None)
    if settings.pair in (None, demo.NAME):
        terminal.note(_DEMO_NOTICE if settings.pair else f"No pair is named, so the demo pair answers. {_DEMO_NOTICE}")
        settings = merge(*sources, pair_defaults=demo.SAMPLING)
        target = demo.demo_target()
        return settings, settings.loading(target, demo.demo_draft(target) if settings.drafts else None)
    pair = load_catalog().pair(str(settings.pair))
    settings = merge(*sources, pair_defaults=_defaults(pair))
    target, draft = paths_of(pair, Meter(lambda progress: terminal.status(progress.words)))
    return settings, settings.loading(target, draft if settings.drafts else None)


def _defaults(pair: Pair) -> dict[str, object]:
    """What the pair recommends."""
    recommended = {name: value for name, value in asdict(pair.sampling).items() if value is not None}
    return {**recommended, "context": pair.context}
