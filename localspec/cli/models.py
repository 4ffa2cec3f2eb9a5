"""Which files to load: those the person named, those of a pair, or the demo's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from localspec.engine.messages import LoadPair
from localspec.errors import LocalspecError
from localspec.pairs import demo
from localspec.pairs.catalog import load_catalog
from localspec.pairs.pair import ModelFile, Pair
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
    return settings, settings.loading(
        _pulled(pair, pair.target), _pulled(pair, pair.draft) if settings.drafts else None
    )


def _defaults(pair: Pair) -> dict[str, object]:
    """What the pair recommends."""
    recommended = {name: value for name, value in asdict(pair.sampling).items() if value is not None}
    return {**recommended, "context": pair.context}


def _pulled(pair: Pair, file: ModelFile) -> Path:
    """Where the hub's cache holds a file.

    Raises:
        LocalspecError: it was not pulled.
    """
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - half a second that the demo and files need not pay

    path = try_to_load_from_cache(file.repo, file.file, revision=file.revision)
    if not isinstance(path, str):
        raise LocalspecError(
            f"The pair {pair.name} is not on this machine",
            f"{file} is not in the hub's cache.",
            f"Fetch it: localspec pull {pair.name}",
        )
    return Path(path)
