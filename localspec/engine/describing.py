"""What was loaded, in words and figures for the person."""

from __future__ import annotations

import os

from localspec.engine.messages import LoadedModel, ModelSettings
from localspec.llama.devices import GPU_KINDS, NO_GPU_NAMES, DeviceKind, devices
from localspec.llama.library import build
from localspec.llama.model import Model


def described(model: Model, settings: ModelSettings) -> LoadedModel:
    """A model as it was loaded."""
    return LoadedModel(
        name=model.metadata.get("general.name") or model.path.name,
        description=model.description,
        bytes=model.size_bytes,
        parameters=model.parameters,
        vocabulary_size=model.vocabulary_size,
        trained_context=model.trained_context,
        device=where(settings),
    )


def where(settings: ModelSettings) -> str:
    """The devices that hold a model's layers, by name."""
    wanted = (settings.device or "").casefold()
    if settings.gpu_layers == 0 or wanted in NO_GPU_NAMES:
        return "CPU"
    gpus = [device.name for device in devices() if device.kind in GPU_KINDS]
    return ", ".join(name for name in gpus if not wanted or name.casefold() == wanted) or "CPU"


def processors() -> str:
    """What there is to compute on, with the number of processors the system offers."""
    named = [f"{device.name}: {device.description}" for device in devices() if device.kind is not DeviceKind.META]
    return f"{'; '.join(named)}; {os.cpu_count()} logical processors"


def build_words() -> str:
    """Which llama.cpp computes, with its build flags on one line."""
    found = build()
    flags = "; ".join(
        f"{backend}: {', '.join(name if value == '1' else f'{name}={value}' for name, value in features.items())}"
        for backend, features in found.features.items()
    )
    return f"llama.cpp {found.version} (llama-cpp-python {found.bindings}), {flags}"


def beyond_training(model: Model, capacity: int) -> str:
    """A warning where the context is longer than the model can make use of, else ""."""
    if capacity <= model.trained_context:
        return ""
    return (
        f"The context of {capacity:,} tokens is longer than the {model.trained_context:,} the model was trained on; "
        "beyond those its answers may fall apart."
    )
