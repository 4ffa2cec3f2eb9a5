"""Every folder and file the program uses, one function a path.

Nothing is made here: who writes a file makes its folder.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import platformdirs

_NAME = "localspec"


def _folder(variable: str, default: Callable[..., Path]) -> Path:
    """The folder named by environment `variable`; an empty or unset one means the platform's own.

    Raises:
        FileNotFoundError: there is no home folder that it could be in.
    """
    asked = os.environ.get(variable)
    try:
        return Path(asked).expanduser().absolute() if asked else default(_NAME, appauthor=False)
    except RuntimeError as error:
        no_home = f"There is no home folder: set HOME, or {variable} to a folder of yours"
        raise FileNotFoundError(errno.ENOENT, no_home) from error


def cache_folder() -> Path:
    """What can be fetched or made again: models, measured pass times. LOCALSPEC_CACHE_DIR overrides."""
    return _folder("LOCALSPEC_CACHE_DIR", platformdirs.user_cache_path)


def config_folder() -> Path:
    """What the person writes. LOCALSPEC_CONFIG_DIR overrides."""
    return _folder("LOCALSPEC_CONFIG_DIR", platformdirs.user_config_path)


def data_folder() -> Path:
    """What the program keeps for the person. LOCALSPEC_DATA_DIR overrides, and takes the logs along."""
    return _folder("LOCALSPEC_DATA_DIR", platformdirs.user_data_path)


def log_folder() -> Path:
    """Log files; under the data folder when that was moved, so that one variable moves all a run writes."""
    if os.environ.get("LOCALSPEC_DATA_DIR"):
        return data_folder() / "log"
    return _folder("LOCALSPEC_DATA_DIR", platformdirs.user_log_path)


def models_folder() -> Path:
    """GGUF files that localspec itself fetched or made (the hub's own downloads stay in the hub's cache)."""
    return cache_folder() / "models"


def pruned_folder() -> Path:
    """Drafts that `localspec prune` made of a target's own layers."""
    return models_folder() / "pruned"


def is_pruned_draft(path: Path) -> bool:
    """Whether `localspec prune` made this file."""
    return path.parent == pruned_folder()


def pruning_folder() -> Path:
    """What a running `localspec prune` tries: on the same disk as what it keeps, and not among the models."""
    return cache_folder() / "pruning"


def catalog_file() -> Path:
    """The person's own pairs, read after the catalog that comes with the program."""
    return config_folder() / "models.toml"


def remembered_pairs_file() -> Path:
    """Pairs that `pull --target --draft` put together; the same format as the person's own."""
    return data_folder() / "pairs.toml"


def fetched_files_file() -> Path:
    """Which files in the hub's cache localspec fetched, so that it deletes no other tool's."""
    return data_folder() / "fetched.json"


def verified_files_file() -> Path:
    """Model files on this machine whose contents were hashed, so that gigabytes are read once."""
    return cache_folder() / "verified.json"


def learned_folder() -> Path:
    """What was learned about the guesses of each pair: a small file each."""
    return cache_folder() / "learned"


def pass_costs_file() -> Path:
    """What passes were measured to cost on this machine, and the best numbers of threads."""
    return cache_folder() / "pass_costs.json"


def settings_file() -> Path:
    """The person's settings."""
    return config_folder() / "config.toml"


def pair_settings_file() -> Path:
    """The settings that the person changed in the app, pair by pair."""
    return data_folder() / "pair_settings.json"


def prompt_history_file() -> Path:
    """The lines typed in the line conversation, for its line editing."""
    return data_folder() / "prompts"


def bench_folder() -> Path:
    """The records of benchmarks, written as they go."""
    return data_folder() / "bench"


def asked_prompts_file() -> Path:
    """The prompts written in the app, for walking through them."""
    return data_folder() / "asked.jsonl"


def preferences_file() -> Path:
    """How the app looks: its theme, and whether the figures are shown."""
    return data_folder() / "interface.json"


def history_file() -> Path:
    """The conversations, an SQLite file."""
    return data_folder() / "history.sqlite3"
