"""What there is to talk to: the pairs of the catalog, the files that were named, and the demo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from localspec.pairs import demo
from localspec.pairs.catalog import load_catalog
from localspec.pairs.listing import PairDetails, show_pair
from localspec.pairs.machine_memory import machine_memory
from localspec.pairs.pair import Pair
from localspec.pairs.progress import Meter, Report
from localspec.pairs.pull import PullPlan, prepare
from localspec.pairs.words import Rows, details_rows, pulled_word
from localspec.settings import Sources
from localspec.settings.choice import Choice, choice_of_demo, choice_of_files, choice_of_pair, settings_for
from localspec.tui.comparison import NamedPair
from localspec.tui.errand import Work

_NAMED_FILES = "/files"
"""The key of the files that were named; no name of a pair has a slash."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One of the things to talk to.

    Attributes:
        key: unlike that of every other offer.
        name: as the person knows it.
        title: one line.
        size: bytes of its files; None when that is not known.
        here: "yes", "partly" or "no".
        fits: "yes", "no", or "?" when nobody judged it.
        licence: in short; "" when it is not known.
        rows: all that is known of it.
        details: of a pair of the catalog; None for the others.
        paths: of its files, those that are here.
    """

    key: str
    name: str
    title: str
    size: int | None
    here: str
    fits: str
    licence: str
    rows: Rows
    details: PairDetails | None
    paths: tuple[Path, ...]

    @property
    def pair(self) -> Pair | None:
        """The pair of the catalog that it is."""
        return None if self.details is None else self.details.state.pair

    @property
    def deletable(self) -> bool:
        """Whether `rm` may find something to delete, or a pair to forget."""
        if self.details is None or self.pair is None:
            return False
        return self.here != "no" or self.pair.source == "remembered"

    def is_used_by(self, choice: Choice | None) -> bool:
        """Whether one of its files is loaded."""
        if choice is None:
            return False
        loaded = {model.path.resolve() for model in (choice.loading.target, choice.loading.draft) if model}
        return any(path.resolve() in loaded for path in self.paths)

    def is_choice(self, choice: Choice | None) -> bool:
        """Whether it is what was chosen."""
        return choice is not None and self.key == key_of(choice)

    def choosing(self, sources: Sources) -> Work[Choice]:
        """The work of deciding how to run it; files that were never checked are hashed."""
        pair = self.pair
        if pair is not None:
            return lambda report, cancelled: choice_of_pair(sources, pair, report, cancelled, draft_always=True)
        if self.key == demo.NAME:
            return lambda _, __: choice_of_demo(sources, draft_always=True)
        return lambda _, __: choice_of_files(sources, draft_always=True)


def key_of(choice: Choice) -> str:
    """The key of the offer that a choice was made of."""
    return choice.name if choice.kept_as == choice.name else _NAMED_FILES


def offers(sources: Sources) -> list[Offer]:
    """Everything there is to talk to. The hub is not asked; headers of files that are here are read.

    Raises:
        UsageError: a catalog has a mistake.
    """
    memory = machine_memory()
    of_pairs = [_of_pair(show_pair(pair, memory)) for pair in load_catalog().pairs.values()]
    named = [_of_files(sources)] if "target" in sources.models else []
    return [*named, *of_pairs, _of_demo()]


def pairs_here(sources: Sources) -> list[NamedPair]:
    """The pairs whose files are here, as they would be loaded; the demo when it is installed. Nothing is hashed.

    Raises:
        LocalspecError: a catalog has a mistake, or settings contradict each other.
    """
    found = [
        NamedPair(offer.name, settings_for(sources, offer.pair).loading(*offer.paths))
        for offer in offers(sources)
        if offer.pair is not None and offer.here == "yes"
    ]
    if demo.find_demo_target() is not None:
        found.append(NamedPair(demo.NAME, choice_of_demo(sources, draft_always=True).loading))
    return found


def _of_pair(details: PairDetails) -> Offer:
    state = details.state
    pair = state.pair
    return Offer(
        key=pair.name,
        name=pair.name,
        title=pair.title,
        size=pair.bytes,
        here=pulled_word(state),
        fits="yes" if state.fits else "no",
        licence=pair.licence,
        rows=details_rows(details) if state.fits else _with_misfit_first(details),
        details=details,
        paths=tuple(path for path in (state.target, state.draft) if path is not None),
    )


def _with_misfit_first(details: PairDetails) -> Rows:
    others = [row for row in details_rows(details) if row[0] not in {"memory", "fits"}]
    return [("fits", f"no: {details.state.fit_words}"), *others]


def _of_files(sources: Sources) -> Offer:
    paths = [Path(str(sources.models[name])) for name in ("target", "draft") if name in sources.models]
    here = [path for path in paths if path.is_file()]
    rows = [(name, str(path)) for name, path in zip(("target", "draft"), paths, strict=False)]
    return Offer(
        key=_NAMED_FILES,
        name=paths[0].name,
        title="the files that you named",
        size=sum(path.stat().st_size for path in here) if here == paths else None,
        here="yes" if here == paths else "partly" if here else "no",
        fits="?",
        licence="",
        rows=rows if len(rows) == 2 else [*rows, ("draft", "none: speculation is off")],
        details=None,
        paths=tuple(here),
    )


def _of_demo() -> Offer:
    target = demo.find_demo_target()
    about = "shows how speculation works, without the network: expect neither a good answer nor a great speed-up"
    rows = [
        ("purpose", about),
        ("licence", "Apache-2.0"),
        ("target", str(target) if target else f"not installed: {demo.install_command()}"),
        ("draft", "a smaller copy of the same model, made on first use"),
    ]
    return Offer(
        key=demo.NAME,
        name=demo.NAME,
        title="SmolLM2-135M and a smaller copy of itself",
        size=target.stat().st_size if target else None,
        here="yes" if target else "no",
        fits="yes",
        licence="Apache-2.0",
        rows=rows,
        details=None,
        paths=(target,) if target else (),
    )


def checking(pair: Pair, sources: Sources) -> Work[PullPlan]:
    """The work of asking the hub about a pair and checking it, for the settings that it would run with."""

    def work(report: Report, cancelled: Callable[[], bool]) -> PullPlan:
        wanted = settings_for(sources, pair).wanted(pair.context)
        return prepare(pair, machine_memory(), Meter(report, cancelled), wanted)

    return work
