"""Which layers of a model a draft could do without, and what trying it takes, from the header alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from localspec.errors import LocalspecError
from localspec.llama.gguf_start import PRUNED_KEY
from localspec.pairs.compatibility import mismatch

if TYPE_CHECKING:
    from localspec.pairs.gguf_header import GgufHeader

_FEWEST_LAYERS = 4
_ONE_EACH = "per_layer_"
"""Tensors that hold something of each layer in one piece (Gemma 3n, Gemma 4): llama.cpp cannot take a part of one."""

_BITS = {"Q8_0": 8.5, "Q4_0": 4.5}
"""What a weight takes, by the type it is requantized to, best kept first."""
_WORTH_REQUANTIZING = 1.04
"""How many times as large the weights must be: a little smaller is hardly quicker."""


def droppable_layers(header: GgufHeader) -> range:
    """Numbers of the layers that can be dropped.

    A sliding window is no obstacle: where the windows follow a pattern of layer numbers (Gemma 3: five layers of six),
    a layer that moves up may get the other kind. On Gemma-3-270m that did less harm than to drop whole periods of the
    pattern, and how much is measured.

    Raises:
        LocalspecError: no layer can be dropped; says why.
    """
    name, layers = header.name, header.layers
    if PRUNED_KEY in header.metadata:
        part = header.metadata[PRUNED_KEY]
        raise LocalspecError(
            f"{name} is a pruned copy already", f"It is {part}.", "Prune the whole model that it was made of."
        )
    if why := _why_not(header):
        raise LocalspecError(f"No layers of {name} can be dropped", f"{why[0].upper()}{why[1:]}.", "")
    return range(header.number("leading_dense_block_count") or 0, layers - (header.number("nextn_predict_layers") or 0))


def file_types(header: GgufHeader) -> tuple[str | None, ...]:
    """The types to try: the weights as they are, and what makes them smaller."""
    bits = header.tensor_bytes * 8 / max(1, sum(math.prod(tensor.shape) for tensor in header.tensors))
    return (None, *(name for name, size in _BITS.items() if bits > size * _WORTH_REQUANTIZING))


def bytes_for_trying(header: GgufHeader) -> int:
    """Room on the disk: the whole target in each type it is requantized to, and a draft as large as the target."""
    weights = sum(math.prod(tensor.shape) for tensor in header.tensors)
    requantized = sum(int(weights * _BITS[name] / 8) for name in file_types(header) if name)
    return header.file_size + requantized


def _why_not(header: GgufHeader) -> str:
    """Why no layer can be dropped, as a sentence; "" when layers can be."""
    if found := mismatch(header, header):
        return found.words.replace("the target", "it", 1)
    if header.layers < _FEWEST_LAYERS:
        return f"it has {header.layers} only"
    lists = [key for key, value in header.metadata.items() if _is_one_a_layer(key, value, header)]
    if lists:
        return f"the file says something of each layer by itself ({lists[0]}), which llama.cpp would not shorten"
    if any(tensor.name.startswith(_ONE_EACH) for tensor in header.tensors):
        return f"{header.architecture} keeps something of all layers in one piece, which llama.cpp would not shorten"
    return ""


def _is_one_a_layer(key: str, value: object, header: GgufHeader) -> bool:
    return key.startswith(f"{header.architecture}.") and isinstance(value, tuple) and len(value) == header.layers
