"""Where settings come from: flags, LOCALSPEC_* variables, config.toml. A wrong one is refused by its name there."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from localspec.decoding.rules import contradiction
from localspec.errors import UsageError
from localspec.pairs.toml_lines import line_numbers, line_of
from localspec.settings.keys import KEYS, Key, Settings

_BY_NAME = {key.name: key for key in KEYS}

MODEL_NAMES = ("pair", "target", "draft")
"""The settings that name what to load; they go together."""


class Sources(NamedTuple):
    """What a person set before the program ran, the strongest first.

    Attributes:
        flags: as `from_flags` read them.
        environment: as `from_environment` read them.
        file: as `from_file` read them.
    """

    flags: Mapping[str, object]
    environment: Mapping[str, object]
    file: Mapping[str, object]

    @property
    def models(self) -> Mapping[str, object]:
        """The strongest source that names a pair or files; empty when none does."""
        return _naming_models(self)


def from_flags(given: Mapping[str, object]) -> dict[str, object]:
    """Settings given as options: texts as argparse leaves them, lists of texts, or booleans of switches.

    Raises:
        UsageError: an impossible value, or options that exclude each other.
    """
    values = {key.name: key.read(given[key.name], key.flag) for key in KEYS if given.get(key.name) is not None}
    _check_models(values, lambda key: key.flag)
    return values


def from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    """Settings given as LOCALSPEC_* variables; an empty one is as good as unset.

    Raises:
        UsageError: an impossible value, or a variable whose name is nearly that of a setting.
    """
    values = {key.name: key.read(environ[key.variable], key.variable) for key in KEYS if environ.get(key.variable)}
    _check_models(values, lambda key: key.variable)
    known = [key.variable for key in KEYS]
    # Other variables of that prefix belong to the folders and scripts: only what looks like a slip is refused.
    for variable in environ:
        if variable.startswith("LOCALSPEC_") and variable not in known:
            near = difflib.get_close_matches(variable, known, n=1, cutoff=0.85)
            if near:
                raise UsageError(f"There is no setting {variable}", "", f"Did you mean {near[0]}?")
    return values


def from_file(file: Path) -> dict[str, object]:
    """Settings of config.toml; none when there is no such file. A relative path in it starts at its folder.

    Raises:
        UsageError: it cannot be read, is not TOML, or holds an unknown key or an impossible value.
    """
    try:
        content = file.read_bytes().decode()
        table = tomllib.loads(content)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(
            "The settings file cannot be read", f"{file}: {error}", "Correct it, or move it away."
        ) from error
    values: dict[str, object] = {}
    lines = line_numbers(content)
    for name, given in table.items():
        place = f"{file}, line {line_of(lines, (name,))}"
        if name not in _BY_NAME:
            near = difflib.get_close_matches(name, _BY_NAME, n=1)
            hint = (
                f"Did you mean {near[0]}?"
                if near
                else "The settings are those of `localspec chat --help`, with _ for -."
            )
            raise UsageError(f"There is no setting {name!r}", f"It stands in {place}.", hint)
        value = _BY_NAME[name].read(given, name, place)
        values[name] = file.parent / value if isinstance(value, Path) else value
    _check_models(values, lambda key: key.name, str(file))
    return values


def merge(*sources: Mapping[str, object], pair_defaults: Mapping[str, object] | None = None) -> Settings:
    """One decision from all sources, the strongest first; the pair's own defaults are weaker than all of them.

    The models go together: a source that names any of pair, target and draft hides what weaker ones say of them.

    Raises:
        UsageError: settings that are possible alone contradict each other.
    """
    decided: dict[str, object] = dict(pair_defaults or {})
    models = _naming_models(sources)
    for source in reversed(sources):
        decided.update({name: value for name, value in source.items() if name not in MODEL_NAMES})
    decided.update({name: models[name] for name in MODEL_NAMES if name in models})
    settings = Settings(**decided)  # type: ignore[arg-type] # every value went through the kind of its key
    refuse_contradictions(settings)
    return settings


def refuse_contradictions(settings: Settings) -> None:
    """Let settings pass that can be together.

    Raises:
        UsageError: they are possible alone, but contradict each other.
    """
    drafter = settings.drafter if settings.speculates else "none"
    if wrong := contradiction(settings.acceptance, drafter, settings.temperature):
        raise UsageError(*wrong)


def _naming_models(sources: Iterable[Mapping[str, object]]) -> Mapping[str, object]:
    return next((source for source in sources if any(name in source for name in MODEL_NAMES)), {})


def _check_models(values: Mapping[str, object], called: Callable[[Key], str], place: str = "") -> None:
    """Refuse a pair beside a file, and a draft with nothing to draft for."""
    pair, target, draft = (called(_BY_NAME[name]) for name in MODEL_NAMES)
    where = f"They stand in {place}." if place else ""
    if "pair" in values and ("target" in values or "draft" in values):
        other = target if "target" in values else draft
        raise UsageError(f"{pair} and {other} exclude each other", where, "A pair names both of its files.")
    if "draft" in values and "target" not in values:
        raise UsageError(f"{draft} needs {target}", where, "A draft guesses for a target: name that file too.")
