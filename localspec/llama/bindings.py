"""The one import of the llama.cpp bindings, and the few ggml functions they leave unbound."""

from __future__ import annotations

import ctypes
from typing import Any

from localspec.errors import LocalspecError

try:
    import llama_cpp.llama_cpp as low
except (ImportError, OSError, RuntimeError, AttributeError) as error:
    # RuntimeError: the shared library is there but does not load; AttributeError: it is of another version.
    raise LocalspecError(
        "llama.cpp could not be loaded",
        f"The bindings (llama-cpp-python) answered: {error}.",
        "Run the set-up again; if LLAMA_CPP_LIB_PATH is set, it must point to libraries of the same version.",
    ) from error

__all__ = ["c_function", "low"]

# The bindings keep the loaded library and its folder under private names, and offer no public ones.
_library: ctypes.CDLL = low._lib  # noqa: SLF001 - as said
_folder = low._base_path  # noqa: SLF001 - as said


def _library_with(name: str) -> ctypes.CDLL:
    """The loaded library that exports `name`: libllama itself, or (Windows) one of the ggml libraries beside it."""
    if hasattr(_library, name):
        return _library
    for stem in ("ggml", "ggml-base", "ggml-cpu"):
        for path in (_folder / f"{stem}.dll", _folder / f"lib{stem}.dll"):
            if path.exists() and hasattr(library := ctypes.CDLL(str(path)), name):
                return library
    raise LocalspecError(
        "llama.cpp is of another version than localspec expects",
        f"The function {name} is missing from the libraries in {_folder}.",
        "Run the set-up again to rebuild llama-cpp-python.",
    )


def c_function(name: str, arguments: list[Any], result: Any) -> Any:
    """A function of libllama or libggml with the types given here, not those the bindings chose.

    The bindings return typed pointers, whose addresses cost a cast each; the hot path wants bare addresses.
    """
    # Indexing, unlike attribute access, makes a fresh object: the types set on it are ours alone.
    function = _library_with(name)[name]
    function.argtypes = arguments
    function.restype = result
    return function
