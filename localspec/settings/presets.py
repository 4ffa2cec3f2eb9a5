"""Ways to sample that have a name, for who does not want to learn what top_p is."""

from __future__ import annotations

from dataclasses import dataclass

from localspec.settings.keys import KEYS, SAMPLING, Settings

_DRAWN_BY = tuple(key.name for key in KEYS if key.group == SAMPLING and key.name != "seed")


@dataclass(frozen=True, slots=True)
class Preset:
    """A way to sample.

    Attributes:
        name: one word.
        help: what it does, one sentence.
        values: of the settings that differ from what the pair recommends.
    """

    name: str
    help: str
    values: dict[str, object]

    def over(self, recommended: Settings) -> dict[str, object]:
        """All that decides how tokens are drawn, but the seed, by name."""
        return {name: getattr(recommended, name) for name in _DRAWN_BY} | self.values


PRESETS = (
    Preset("exact", "Always the likeliest token: the same answer every time.", {"temperature": 0.0}),
    Preset("balanced", "As the authors of the models recommend.", {}),
    Preset("creative", "More surprising words.", {"temperature": 1.2, "top_k": 0, "top_p": 0.98, "min_p": 0.05}),
)
