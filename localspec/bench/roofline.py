"""What one token takes of a model: bytes to be read, operations to be done; and the bound that follows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from localspec.bench import theory
from localspec.pairs.gguf_bytes import LocalFile
from localspec.pairs.gguf_header import GgufHeader, Tensor
from localspec.pairs.gguf_reading import read_header
from localspec.pairs.memory_fit import cache_bytes_per_token

_LOOKED_UP = frozenset({"token_embd.weight", "per_layer_token_embd.weight", "position_embd.weight"})
"""Tables of which a token reads one row."""

_OUTPUT = "output.weight"
_FIRST_PART = re.compile(r"-00001-of-(\d{5})\.gguf$")


@dataclass(frozen=True, slots=True)
class TokenWork:
    """What a model must read and compute for one token.

    Attributes:
        file_bytes: all weights.
        weight_bytes: of those, what one token reads.
        table_bytes: of those, tables of which a token reads one row: left out of `weight_bytes`, but for that row.
        resting_bytes: of those, weights that rest: experts that are not asked, layers that guess further ahead.
        kv_bytes: keys and values that each token of context adds to what is read.
        operations: multiplications and additions with the weights read; those of attention, which grow with the
            context, are not in it.
        expert_count: experts there are in a layer, 0 when it is no mixture.
        experts_used: of those, how many one token asks.
    """

    file_bytes: int
    weight_bytes: int
    table_bytes: int
    resting_bytes: int
    kv_bytes: int
    operations: int
    expert_count: int = 0
    experts_used: int = 0

    def bytes_at(self, context: int) -> int:
        """Bytes read for one token behind `context` others."""
        return self.weight_bytes + self.kv_bytes * context

    def bound(self, context: int, bandwidth: float) -> float:
        """The most tokens a second, one at a time, that this bandwidth allows."""
        return theory.tokens_per_second_bound(self.bytes_at(context), bandwidth)

    def intensity(self, context: int, width: int = 1) -> float:
        """Operations for each byte in a pass of `width` tokens: the weights are read once for all of them.

        A mixture of experts asks more experts in a wide pass: there it is what a pass could reach at most.
        """
        return theory.arithmetic_intensity(self.operations * width, self.bytes_at(context))


def work_of_file(path: Path, kv_type: str = "f16") -> TokenWork:
    """What one token takes of the model in `path`; of a split model, the first part.

    Raises:
        ModelFileError: a file is missing or not sound.
        UsageError: there is no such type of keys and values.
    """
    first, *others = (read_header(LocalFile(part)) for part in _parts(path))
    return work_of(first, [*first.tensors, *(tensor for header in others for tensor in header.tensors)], kv_type)


def work_of(header: GgufHeader, tensors: Iterable[Tensor], kv_type: str = "f16") -> TokenWork:
    """As `work_of_file`, from what the files say."""
    tensors = tuple(tensors)
    experts = header.number("expert_count") or 0
    used = (header.number("expert_used_count") or experts) if experts else 0
    tied = all(tensor.name != _OUTPUT for tensor in tensors)
    layers = header.layers - (header.number("nextn_predict_layers") or 0)
    weight_bytes = tables = resting = operations = 0
    for tensor in tensors:
        part = 1.0
        if tensor.name in _LOOKED_UP and not (tied and tensor.name == "token_embd.weight"):
            tables += tensor.bytes
            weight_bytes += tensor.bytes // math.prod(tensor.shape[1:])
            continue
        if (layer := _layer(tensor)) is not None and layer >= layers:
            part = 0.0
        elif experts and _is_expert(tensor):
            part = used / experts
        weight_bytes += round(tensor.bytes * part)
        resting += tensor.bytes - round(tensor.bytes * part)
        # A matrix multiplies and adds once with each of its weights; a vector does so little that it does not count.
        operations += round(2 * math.prod(tensor.shape) * part) if len(tensor.shape) > 1 else 0
    return TokenWork(
        file_bytes=sum(tensor.bytes for tensor in tensors),
        weight_bytes=weight_bytes,
        table_bytes=tables,
        resting_bytes=resting,
        kv_bytes=cache_bytes_per_token(header, kv_type),
        operations=operations,
        expert_count=experts,
        experts_used=used,
    )


def _is_expert(tensor: Tensor) -> bool:
    """Whether all experts of a layer lie in this tensor, such as "blk.3.ffn_up_exps.weight"."""
    return any(word.endswith("_exps") for word in tensor.name.split("."))


def _layer(tensor: Tensor) -> int | None:
    prefix, _, rest = tensor.name.partition(".")
    number = rest.partition(".")[0]
    return int(number) if prefix == "blk" and number.isdecimal() else None


def _parts(path: Path) -> Iterator[Path]:
    yield path
    found = _FIRST_PART.search(path.name)
    if found:
        stem = path.name[: found.start()]
        for number in range(2, int(found[1]) + 1):
            yield path.with_name(f"{stem}-{number:05d}-of-{found[1]}.gguf")
