"""Energy from counters as Linux shows them, made up in a folder."""

from pathlib import Path

from localspec.bench.energy import EnergyMeter


def zone(folder: Path, name: str, what: str, energy: int, most: int = 1_000_000_000) -> Path:
    made = folder / name
    made.mkdir()
    (made / "name").write_text(f"{what}\n")
    (made / "energy_uj").write_text(f"{energy}\n")
    (made / "max_energy_range_uj").write_text(f"{most}\n")
    return made


def test_whole_packages_are_summed_and_a_counter_that_begins_anew_is_noticed(tmp_path: Path) -> None:
    first = zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    second = zone(tmp_path, "intel-rapl:1", "package-1", 999_000_000)
    zone(tmp_path, "intel-rapl:0:0", "core", 1)
    zone(tmp_path, "intel-rapl:2", "psys", 1)
    meter = EnergyMeter(tmp_path)
    assert meter.why_not == ""
    before = meter.read()
    (first / "energy_uj").write_text("7500000\n")
    (second / "energy_uj").write_text("1000000\n")
    assert meter.joules_since(before) == 2.5 + 2.0


def test_where_nothing_is_told_the_reason_is(tmp_path: Path) -> None:
    meter = EnergyMeter(tmp_path)
    assert meter.joules_since(meter.read()) is None
    assert "does not tell" in meter.why_not
