"""Energy of the processor, where the system tells it: Linux's powercap counters (Intel RAPL, also on AMD)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_POWERCAP = Path("/sys/class/powercap")


@dataclass(frozen=True, slots=True)
class _Counter:
    """A counter of microjoules that begins anew at `most`."""

    file: Path
    most: int

    def read(self) -> int:
        return int(self.file.read_text("ascii"))


class EnergyMeter:
    """Reads the packages' counters.

    Attributes:
        why_not: why there are no figures, one sentence; "" when there are.
    """

    def __init__(self, folder: Path = _POWERCAP) -> None:
        """Find the counters that can be read."""
        self._counters: list[_Counter] = []
        self.why_not = ""
        # Of the zones only whole packages count: what is inside one ("intel-rapl:0:0") is in it already.
        zones = sorted(folder.glob("intel-rapl:[0-9]*"))
        packages = [zone for zone in zones if zone.name.count(":") == 1 and _name(zone).startswith("package")]
        try:
            for zone in packages:
                counter = _Counter(zone / "energy_uj", int((zone / "max_energy_range_uj").read_text("ascii")))
                counter.read()
                self._counters.append(counter)
        except PermissionError:
            self._counters = []
            self.why_not = "The system lets only root read the processor's energy counters."
            return
        except (OSError, ValueError):
            self._counters = []
        if not self._counters:
            self.why_not = "This system does not tell the processor's energy."

    def read(self) -> tuple[int, ...]:
        """The counters now."""
        return tuple(counter.read() for counter in self._counters)

    def joules_since(self, before: tuple[int, ...]) -> float | None:
        """Energy since `before`, which `read` gave; None when there are no counters."""
        if not self._counters:
            return None
        spent = (
            now - then if now >= then else now - then + counter.most
            for counter, now, then in zip(self._counters, self.read(), before, strict=True)
        )
        return sum(spent) / 1e6


def _name(zone: Path) -> str:
    try:
        return (zone / "name").read_text("ascii").strip()
    except OSError:
        return ""
