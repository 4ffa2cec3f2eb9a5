"""Which models to run and with which settings, decided without asking anybody: the line commands and the app ask."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from localspec.errors import UsageError
from localspec.pairs import demo
from localspec.pairs.catalog import load_catalog
from localspec.pairs.choosing import FirstChoice, first_choice, paths_of
from localspec.pairs.machine_memory import machine_memory
from localspec.pairs.progress import Meter, never
from localspec.pairs.pruned import pruned_draft_of
from localspec.settings.kept import Kept, keep_settings, kept_settings
from localspec.settings.keys import Settings
from localspec.settings.overrides import differences, plain
from localspec.settings.sources import Sources, merge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from localspec.engine.messages import LoadPair
    from localspec.pairs.pair import Pair
    from localspec.pairs.progress import PullProgress, Report


@dataclass(frozen=True, slots=True)
class Layers:
    """All that sets values for one pair: flags over variables over kept over config.toml over the pair's own.

    Attributes:
        sources: what was set before the program ran.
        kept: what the person changed in the app.
        recommended: by the authors of the pair.
    """

    sources: Sources
    kept: Mapping[str, object]
    recommended: Mapping[str, object]

    def settings(self) -> Settings:
        """The decision.

        Raises:
            UsageError: settings that are possible alone contradict each other.
        """
        flags, environment, file = self.sources
        return merge(flags, environment, self.kept, file, pair_defaults=self.recommended)

    def origin(self, name: str) -> str:
        """Where the value of a setting comes from, in a few words."""
        named = {
            "command line": self.sources.flags,
            "environment": self.sources.environment,
            "changed here": self.kept,
            "config.toml": self.sources.file,
            "the pair": self.recommended,
        }
        return next((words for words, values in named.items() if name in values), "default")


@dataclass(frozen=True, slots=True)
class Choice:
    """A pair that is here, and the settings to run it with.

    Attributes:
        name: the pair's name, "demo", or the file name of a target that is named by its path.
        settings: all of them, decided.
        loading: how to load the files.
        layers: where the settings come from.
        kept_as: what `kept_settings` calls it.
        trouble: what of the kept settings could not be used, for the person; mostly "".
        draft: the pair's own draft, loaded or not; None when it has none.
    """

    name: str
    settings: Settings
    loading: LoadPair
    layers: Layers
    kept_as: str
    trouble: str = ""
    draft: Path | None = None

    def with_settings(self, settings: Settings) -> Choice:
        """The same files with other settings; another draft where the target's own layers are to guess, or no longer.

        Raises:
            UsageError: there is no draft made of them.
        """
        target, loaded = self.loading.target.path, self.loading.draft
        own = None if loaded is None else self.draft or loaded.path
        return replace(self, settings=settings, loading=settings.loading(target, _draft_for(settings, target, own)))

    def keeping(self, settings: Settings) -> Choice:
        """The same files with other settings, which are kept for the next time this pair runs.

        Raises:
            LocalspecError: they cannot be kept.
            UsageError: as `with_settings`; then nothing was kept.
        """
        changed = self.with_settings(settings)
        # What a flag or a variable hides just now is there again without it, unless it was changed, too.
        flags, environment, _ = self.layers.sources
        hidden = {
            name: value
            for name, value in self.layers.kept.items()
            if (name in flags or name in environment) and getattr(settings, name) == getattr(self.settings, name)
        }
        kept = {name: getattr(settings, name) for name in differences(settings, self.without_kept)} | hidden
        keep_settings(self.kept_as, {name: plain(value) for name, value in kept.items()})
        layers = replace(self.layers, kept=kept)
        return replace(changed, layers=layers)

    @property
    def without_kept(self) -> Settings:
        """The settings as they would be, had nothing been changed in the app."""
        return replace(self.layers, kept={}).settings()


def _unheard(progress: PullProgress) -> None:
    """Nobody wants to know."""


def choice_of_pair(
    sources: Sources,
    pair: Pair,
    report: Report = _unheard,
    cancelled: Callable[[], bool] = never,
    *,
    draft_always: bool = False,
) -> Choice:
    """Run a pair that is pulled. Files that were never checked are hashed now, which takes seconds a gigabyte.

    Args:
        sources: what was set before the program ran.
        pair: the pair.
        report: told about files that are hashed.
        cancelled: asked while they are.
        draft_always: load the draft also when it is not to guess, because speculation may be turned on later.

    Raises:
        LocalspecError: a file is not here, or is damaged.
        UsageError: the settings contradict each other.
        DownloadStoppedError: `cancelled` said so.
    """
    layers, trouble = _layers(sources, pair.name, _recommended(pair))
    settings = layers.settings()
    target, draft = paths_of(pair, Meter(report, cancelled))
    used = _draft_for(settings, target, draft) if settings.needs_draft or draft_always else None
    return Choice(pair.name, settings, settings.loading(target, used), layers, pair.name, trouble, draft)


def choice_of_demo(sources: Sources, *, draft_always: bool = False) -> Choice:
    """Run the demo pair; its draft is made on first use, in about a second.

    Raises:
        LocalspecError: the demo's model is not installed or damaged, or its draft cannot be made.
        UsageError: the settings contradict each other.
    """
    layers, trouble = _layers(sources, demo.NAME, demo.RECOMMENDED)
    settings = layers.settings()
    target = demo.demo_target()
    draft = demo.demo_draft(target) if settings.needs_draft or draft_always else None
    used = _draft_for(settings, target, draft) if draft else None
    return Choice(demo.NAME, settings, settings.loading(target, used), layers, demo.NAME, trouble, draft)


def choice_of_files(sources: Sources, *, draft_always: bool = False) -> Choice:
    """Run the files that `sources` name as target and, perhaps, draft; the engine says whether they can be loaded.

    Raises:
        UsageError: the settings contradict each other.
    """
    target: Path = sources.models["target"]  # type: ignore[assignment] # as the kind of the key makes it
    kept_as = str(target.absolute())
    layers, trouble = _layers(sources, kept_as, {})
    settings = layers.settings()
    used = _draft_for(settings, target, settings.draft) if settings.needs_draft or draft_always else None
    return Choice(target.name, settings, settings.loading(target, used), layers, kept_as, trouble, settings.draft)


def first_choice_without_asking(
    sources: Sources,
    report: Report = _unheard,
    cancelled: Callable[[], bool] = never,
    *,
    draft_always: bool = False,
) -> Choice | FirstChoice:
    """Run what `sources` name, or the best pair that is pulled and fits. The hub is not asked.

    Returns:
        What to run; with nothing named and nothing pulled, the pair to propose.

    Raises:
        UsageError: there is no such pair, or the settings contradict each other.
        LocalspecError: its files are not here, or are damaged.
        DownloadStoppedError: `cancelled` said so.
    """
    named = sources.models
    if "target" in named:
        return choice_of_files(sources, draft_always=draft_always)
    if named.get("pair") == demo.NAME:
        return choice_of_demo(sources, draft_always=draft_always)
    if "pair" in named:
        pair = load_catalog().pair(str(named["pair"]))
    else:
        # A contradiction is told before anybody is asked what to pull.
        merge(*sources)
        first = first_choice(load_catalog(), machine_memory())
        if first.best is None:
            return first
        pair = first.best.pair
    return choice_of_pair(sources, pair, report, cancelled, draft_always=draft_always)


def settings_for(sources: Sources, pair: Pair) -> Settings:
    """The settings that a pair would run with, were it here.

    Raises:
        UsageError: they contradict each other.
    """
    layers, _ = _layers(sources, pair.name, _recommended(pair))
    return layers.settings()


def _draft_for(settings: Settings, target: Path, draft: Path | None) -> Path | None:
    """The file to draft with: the pair's own, or what `localspec prune` made of the target where that is wanted.

    Raises:
        UsageError: it is wanted, and was not made.
    """
    if settings.drafter != "pruned" or not settings.speculates:
        return draft
    found = pruned_draft_of(target)
    if found is None:
        raise UsageError(
            f"There is no draft made of the layers of {target.name}",
            "The drafter pruned needs one.",
            f"Make it: localspec prune {target}. Or take another drafter.",
        )
    return found


def _recommended(pair: Pair) -> dict[str, object]:
    recommended = {name: value for name, value in asdict(pair.sampling).items() if value is not None}
    return {**recommended, "context": pair.context}


def _layers(sources: Sources, kept_as: str, recommended: Mapping[str, object]) -> tuple[Layers, str]:
    kept: Kept = kept_settings(kept_as)
    return Layers(sources, kept.values, recommended), kept.trouble
