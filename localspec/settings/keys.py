"""Every setting, once: name, kind, default, help. Flags, variables and the keys of config.toml follow from here."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from localspec.chat.events import SpeculationSettings
from localspec.decoding.drafter_names import CHOSEN, DRAFTERS, NEEDS_MODEL, without_model
from localspec.decoding.rules import ACCEPTANCE_RULES, NOT_THE_TARGETS
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.messages import LoadPair, ModelSettings
from localspec.errors import UsageError
from localspec.settings.kinds import (
    Kind,
    file_path,
    free_text,
    name,
    one_of,
    real_number,
    switch,
    texts,
    token_biases,
    whole_number,
    whole_number_or,
)

if TYPE_CHECKING:
    from localspec.decoding.draft_length import WantedLength
    from localspec.pairs.memory_fit import Wanted


@dataclass(frozen=True, slots=True)
class Settings:
    """All a person can set, decided: a flag over a variable over config.toml over the pair's own over these defaults.

    `KEYS` says of each what it means. `target` and `draft` are the files to load when the person named them; None
    leaves them to `pair`, and all three None to the program.
    """

    pair: str | None = None
    target: Path | None = None
    draft: Path | None = None

    speculation: bool = True
    drafter: str = "hybrid"
    draft_length: WantedLength = "auto"
    acceptance: str = "auto"

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    penalty_window: int = 64
    logit_bias: tuple[tuple[int, float], ...] = ()
    seed: int | None = None

    system: str = ""
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    drop_oldest: bool = False
    stats: bool = False

    context: int | None = None
    threads: int | None = None
    device: str | None = None
    draft_device: str | None = None
    gpu_layers: int = -1
    draft_gpu_layers: int = -1
    kv_type: str = "f16"
    flash_attention: str = "auto"

    @property
    def speculates(self) -> bool:
        """Whether guesses are wanted: speculation is on, something may guess, and drafts may hold a token."""
        return self.speculation and self.drafter != "none" and self.draft_length != 0

    @property
    def needs_draft(self) -> bool:
        """Whether a draft model is of any use."""
        return self.speculates and self.drafter in {CHOSEN, *NEEDS_MODEL}

    @property
    def needs_costs(self) -> bool:
        """Whether what passes cost must be known."""
        return self.speculates and self.draft_length == "auto"

    def sampling(self) -> SamplingSettings:
        """How tokens are drawn."""
        return SamplingSettings(
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            min_p=self.min_p,
            repetition_penalty=self.repetition_penalty,
            presence_penalty=self.presence_penalty,
            frequency_penalty=self.frequency_penalty,
            penalty_window=self.penalty_window,
            logit_bias=self.logit_bias,
            seed=self.seed,
        )

    def speculating(self, *, with_draft: bool) -> SpeculationSettings:
        """How to guess and accept; `with_draft`: a draft model is loaded. Without one the lookup guesses alone."""
        drafter = self.drafter if with_draft else without_model(self.drafter)
        return SpeculationSettings(
            enabled=self.speculates and drafter != "none",
            drafter=drafter,
            draft_length=self.draft_length,
            acceptance=self.acceptance,
        )

    def loading(self, target: Path, draft: Path | None) -> LoadPair:
        """How to load these two files."""
        return LoadPair(
            target=ModelSettings(target, self.device, self.gpu_layers),
            draft=None if draft is None else ModelSettings(draft, self.draft_device, self.draft_gpu_layers),
            context=self.context,
            threads=self.threads,
            kv_type=self.kv_type,
            flash_attention=self.flash_attention,
            costs=self.needs_costs,
        )

    def wanted(self, context: int) -> Wanted:
        """What the caches are to hold; `context` tokens when the person said nothing."""
        from localspec.pairs.memory_fit import Wanted  # noqa: PLC0415 - brings psutil: --help has no time for it

        return Wanted(self.context or context, self.kv_type, self.flash_attention != "off")


@dataclass(frozen=True, slots=True)
class Key:
    """A setting as a person sees it.

    Attributes:
        name: the field of `Settings`; also the key in config.toml. `--draft-length` and LOCALSPEC_DRAFT_LENGTH follow.
        kind: what it may be.
        group: the heading it stands under in the help.
        help: what it means, in a few words.
    """

    name: str
    kind: Kind
    group: str
    help: str

    @property
    def flag(self) -> str:
        """As an option of the command."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """As an environment variable."""
        return "LOCALSPEC_" + self.name.upper()

    def read(self, given: object, called: str, place: str = "") -> object:
        """The value of what a person gave for the setting, which they call `called` (and wrote in `place`).

        Raises:
            UsageError: it is not of this kind.
        """
        try:
            return self.kind.read(given)
        except ValueError:
            shown = given[0] if isinstance(given, list) and len(given) == 1 else given
            where = f"It stands in {place}." if place else ""
            raise UsageError(f"{called} must be {self.kind.words}, not {reprlib.repr(shown)}", where) from None


MODELS = "models"
SPECULATION = "speculation"
SAMPLING = "sampling"
ANSWER = "answer"
MACHINE = "machine"

LONGEST_DRAFT = 31
"""As `decoding.draft_length.LONGEST_DRAFT`, which the help has no time to import; a test compares the two."""

KV_TYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")

_not_negative = real_number("a number, 0 or more", lambda value: value >= 0)
_above_zero = real_number("a number above 0", lambda value: value > 0)
_any_number = real_number("a number", lambda _: True)
_share = real_number("a number from 0 to 1", lambda value: 0 <= value <= 1)
_share_above_zero = real_number("a number above 0, up to 1", lambda value: 0 < value <= 1)
_layers = whole_number(-1)

KEYS = (
    Key("pair", name(), MODELS, "a matched pair by name; `demo` is the one for trying the program offline"),
    Key("target", file_path(), MODELS, "GGUF file of the model that answers"),
    Key("draft", file_path(), MODELS, "GGUF file of the small model that guesses; needs --target"),
    Key("speculation", switch(), SPECULATION, "let something cheap guess, and the target check (default: on)"),
    Key("drafter", one_of(*DRAFTERS), SPECULATION,
        "where guesses come from. model: the draft model. ngram: the text itself, what followed when it last stood so. "
        "hybrid: both. tree: both, several guesses for one place. lookahead: the target's own passes, no second model. "
        "cascade: the draft model, and the text drafts for it. pruned: the target's own layers, as `localspec prune` "
        "left them. auto: for each answer whichever promises most, hybrid in case of doubt (default: hybrid)"),
    Key("draft_length", whole_number_or("auto", 0, LONGEST_DRAFT), SPECULATION,
        "tokens guessed per round, 0 to 31; auto: as many as pay here, decided token by token (default: auto)"),
    Key("acceptance", one_of(*ACCEPTANCE_RULES), SPECULATION,
        "rule that keeps or drops a guess. auto: greedy at temperature 0, else block, which judges the guesses of a "
        "draft together and keeps more than rejection; rejection where a place has several guesses. coupled: the text "
        f"depends on the seed alone, the same without speculation. typical: {NOT_THE_TARGETS} (default: auto)"),
    Key("temperature", _not_negative, SAMPLING, "0 always takes the likeliest token (default: 0.8)"),
    Key("top_k", whole_number(0), SAMPLING, "draw from the N likeliest tokens; 0 for all (default: 40)"),
    Key("top_p", _share_above_zero, SAMPLING, "draw from the likeliest tokens that make up X (default: 0.95)"),
    Key("min_p", _share, SAMPLING, "leave out what is less than X times as likely as the likeliest (default: 0.05)"),
    Key("repetition_penalty", _above_zero, SAMPLING, "above 1 makes repeated tokens less likely (default: 1.0)"),
    Key("presence_penalty", _any_number, SAMPLING, "taken off the logit of a token already there (default: 0.0)"),
    Key("frequency_penalty", _any_number, SAMPLING, "taken off it once per occurrence (default: 0.0)"),
    Key("penalty_window", whole_number(-1), SAMPLING, "tokens the penalties look back at; -1 for all (default: 64)"),
    Key("logit_bias", token_biases(), SAMPLING, "add BIAS to the logit of token ID; -inf forbids it; repeatable"),
    Key("seed", whole_number(0, 2**64 - 1), SAMPLING, "start of every random draw (default: another for each answer)"),
    Key("system", free_text(), ANSWER, "system prompt (default: the model's own, if it has one)"),
    Key("max_tokens", whole_number(1), ANSWER, "most tokens of an answer (default: until the model ends it)"),
    Key("stop", texts(), ANSWER, "text that ends an answer; repeatable"),
    Key("drop_oldest", switch(), ANSWER, "leave out the oldest turns when the context is full (default: off)"),
    Key("stats", switch(), ANSWER, "figures after each answer, in a line or three (default: off)"),
    Key("context", whole_number(32), MACHINE,
        "tokens the context holds (default: the pair's own, else 4096 or the model's limit)"),
    Key("threads", whole_number(1, 512), MACHINE,
        "CPU threads (default: what `localspec calibrate` found best, else one for each full-speed core)"),
    Key("device", name(), MACHINE, "device of the target: one `localspec doctor` names, or cpu (default: all)"),
    Key("draft_device", name(), MACHINE, "device of the draft (default: all)"),
    Key("gpu_layers", _layers, MACHINE, "layers of the target on the device; -1 for all (default: -1)"),
    Key("draft_gpu_layers", _layers, MACHINE, "layers of the draft on the device; -1 for all (default: -1)"),
    Key("kv_type", one_of(*KV_TYPES), MACHINE, "type of keys and values in the context (default: f16)"),
    Key("flash_attention", one_of("auto", "on", "off"), MACHINE, "fused attention (default: auto)"),
)  # fmt: skip

DRAFTING: dict[str, object] = {"speculation": True, "draft_length": "auto", "acceptance": "auto"}
"""For commands that show what the draft is worth, stronger than what a person set for their answers: also where it is
turned off. The drafter stays, as the one called pruned has a draft of its own."""
