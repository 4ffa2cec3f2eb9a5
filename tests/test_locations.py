from __future__ import annotations

from pathlib import Path

import pytest

from localspec import locations

VARIABLES = ("LOCALSPEC_CACHE_DIR", "LOCALSPEC_CONFIG_DIR", "LOCALSPEC_DATA_DIR")


def test_one_variable_moves_everything_of_its_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in VARIABLES:
        monkeypatch.setenv(variable, str(tmp_path / variable))

    assert locations.models_folder() == tmp_path / "LOCALSPEC_CACHE_DIR" / "models"
    assert locations.settings_file() == tmp_path / "LOCALSPEC_CONFIG_DIR" / "config.toml"
    assert locations.catalog_file() == tmp_path / "LOCALSPEC_CONFIG_DIR" / "models.toml"
    assert locations.history_file().parent == tmp_path / "LOCALSPEC_DATA_DIR"
    assert locations.log_folder().parent == tmp_path / "LOCALSPEC_DATA_DIR"


def test_an_empty_variable_means_the_platforms_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    own = [locations.cache_folder(), locations.config_folder(), locations.data_folder(), locations.log_folder()]

    for variable in VARIABLES:
        monkeypatch.setenv(variable, "")

    assert [locations.cache_folder(), locations.config_folder(), locations.data_folder(), locations.log_folder()] == own
    assert all(folder.is_absolute() and "localspec" in folder.parts for folder in own)


def test_a_relative_or_home_folder_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCALSPEC_CACHE_DIR", "here")
    monkeypatch.setenv("LOCALSPEC_DATA_DIR", "~/there")

    assert locations.cache_folder() == tmp_path / "here"
    assert locations.data_folder() == Path.home() / "there"


def test_asking_for_a_place_makes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOCALSPEC_CACHE_DIR", str(tmp_path / "cache"))

    locations.models_folder()

    assert list(tmp_path.iterdir()) == []


def test_without_a_home_folder_it_is_said_what_to_set_and_what_is_set_is_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for variable in (*VARIABLES, "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)

    def no_home(*_: object, **__: object) -> Path:
        raise RuntimeError("could not determine the home directory")

    for name in ("cache", "config", "data", "log"):
        monkeypatch.setattr(f"platformdirs.user_{name}_path", no_home)
    for folder in (locations.cache_folder, locations.config_folder, locations.data_folder, locations.log_folder):
        with pytest.raises(OSError, match="set HOME, or LOCALSPEC_"):
            folder()

    monkeypatch.setenv("LOCALSPEC_DATA_DIR", str(tmp_path))
    assert locations.log_folder() == tmp_path / "log"
