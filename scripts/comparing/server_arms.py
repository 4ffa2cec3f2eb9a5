"""The settings of llama-server that are compared: each an arm, written as words joined by `+`.

    off             no speculation
    default         the draft model, with the server's own draft settings
    3               the draft model, at most 3 tokens a draft
    ngram           the server's lookup in prompt and answer (its ngram-simple), with the server's own settings
    ngram-mod ...   another of its lookups, by the server's name; ngram-mod remembers earlier requests

`3+ngram` looks up first and asks the draft model where nothing is found. What is drafted with is decided when a server
starts (it ignores the per-request `speculative.*` fields), so each arm is a process of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from localspec.bench.arms import refuse_twins
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.messages import LoadPair
from localspec.errors import UsageError

DEFAULT_ARMS = "off,1,2,3,5,8,default,ngram"
LOOKUPS = {
    "ngram": "ngram-simple",
    **{name: name for name in ("ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache")},
}
"""The server's names of its lookups, by the words for them."""

_LONGEST = 64
_THERE_ARE = (
    f"There are: off, default, a draft length from 1 to {_LONGEST}, {', '.join(LOOKUPS)}, "
    "and a lookup with default or a draft length, joined by +."
)


@dataclass(frozen=True, slots=True)
class ServerArm:
    """One setting of the server.

    Attributes:
        name: as the person wrote it.
        drafts: whether the draft model guesses.
        draft_length: most tokens of its drafts; None for the server's own setting.
        lookup: the server's name of a lookup; None for none.
    """

    name: str
    drafts: bool = False
    draft_length: int | None = None
    lookup: str | None = None

    @property
    def guesses(self) -> bool:
        """Whether anything is drafted at all."""
        return self.drafts or self.lookup is not None

    def options(self, draft: Path, threads: int, kv_type: str) -> list[str]:
        """The options of the server that make it this arm."""
        types = [*([self.lookup] if self.lookup else []), *(["draft-simple"] if self.drafts else [])]
        chosen = ["--spec-type", ",".join(types) or "none"]
        if self.drafts:
            chosen += ["--spec-draft-model", str(draft)]
            chosen += ["--spec-draft-threads", str(threads), "--spec-draft-threads-batch", str(threads)]
            chosen += ["--spec-draft-type-k", kv_type, "--spec-draft-type-v", kv_type]
        if self.draft_length is not None:
            chosen += ["--spec-draft-n-max", str(self.draft_length)]
        return chosen


def parse_server_arms(text: str) -> tuple[ServerArm, ...]:
    """The arms in a list with commas.

    Raises:
        UsageError: one that does not exist, contradicts itself, or comes twice.
    """
    arms = tuple(_arm(part.strip()) for part in text.split(","))
    refuse_twins("The server's arm", [arm.name for arm in arms])
    return arms


def _arm(text: str) -> ServerArm:
    words = [word.strip() for word in text.split("+")]
    drafts, length, lookup = False, None, None
    for word in words:
        if word in LOOKUPS and lookup is None:
            lookup = LOOKUPS[word]
        elif word == "default" and not drafts:
            drafts = True
        elif word.isascii() and word.isdigit() and 1 <= int(word) <= _LONGEST and not drafts:
            drafts, length = True, int(word)
        elif words != ["off"]:
            raise UsageError(f"llama-server has no arm {text!r}", _THERE_ARE, f"Write {DEFAULT_ARMS} for example.")
    return ServerArm("+".join(words), drafts, length, lookup)


def loading_options(loading: LoadPair, context: int, threads: int) -> list[str]:
    """The options that make the server load the target as localspec did, and keep nothing from request to request."""
    return [
        *("--model", str(loading.target.path)),
        *("--ctx-size", str(context), "--parallel", "1"),
        *("--threads", str(threads), "--threads-batch", str(threads)),
        *("--cache-type-k", loading.kv_type, "--cache-type-v", loading.kv_type),
        *("--flash-attn", loading.flash_attention),
        *("--cache-ram", "0", "--offline", "--no-webui", "--no-warmup"),
    ]


def completion_request(
    prompt: Sequence[int], sampling: SamplingSettings, max_tokens: int, stop: Sequence[str]
) -> dict[str, object]:
    """The body of a request that draws as localspec does; the prompt is read anew."""
    return {
        "prompt": list(prompt),
        "n_predict": max_tokens,
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "repeat_penalty": 1.0,
        "seed": sampling.seed,
        "stop": list(stop),
        "ignore_eos": False,
        "cache_prompt": False,
        "return_tokens": True,
        "stream": False,
    }
