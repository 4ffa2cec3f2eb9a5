"""What went wrong, read from the output of pip and of the build it ran, in words and with a way out."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a step failed and what to do next."""

    why: str
    hint: str


_AGAIN = "then run the same command again: what is already there is kept"

# Ordered: the first pattern found wins, so a cause stands before what follows from it
# (a full disk also fails the build; an unreachable index also ends in "No matching distribution").
_CAUSES: tuple[tuple[str, Explanation], ...] = (
    (
        r"No space left on device|Disk quota exceeded",
        Explanation("The disk is full.", f"Free some space (TMPDIR names another folder for the build), {_AGAIN}."),
    ),
    (
        r"Killed signal terminated program|out of memory allocating|virtual memory exhausted|\bKilled\b",
        Explanation(
            "The compiler ran out of memory.",
            "Set CMAKE_BUILD_PARALLEL_LEVEL=1 so that it compiles one file at a time, and run the same command again.",
        ),
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|SSLError|SSLCertVerificationError",
        Explanation(
            "The package index's certificate could not be checked.",
            f"Behind a proxy with a certificate of its own set PIP_CERT to its file, {_AGAIN}.",
        ),
    ),
    (
        (
            r"NameResolutionError|NewConnectionError|ConnectTimeout|ReadTimeout|ProxyError|ProtocolError|IncompleteRead"
            r"|Network is unreachable|Connection (?:refused|reset|aborted|broken)"
        ),
        Explanation(
            "The package index could not be reached, or the connection broke.",
            f"Check the network (a mirror: PIP_INDEX_URL, a proxy: HTTPS_PROXY), {_AGAIN}.",
        ),
    ),
    (
        r"THESE PACKAGES DO NOT MATCH THE HASHES",
        Explanation("A package arrived damaged.", "Run the same command again."),
    ),
    (
        r"nvcc fatal|CUDA Toolkit not found|No CUDA toolset|No CMAKE_CUDA_COMPILER|Unsupported gpu architecture",
        Explanation(
            "The CUDA compiler and this machine do not fit together.",
            "Install a CUDA toolkit that fits the driver, or set LOCALSPEC_BACKEND=cpu to build without it.",
        ),
    ),
    (
        r"CMake Error|ninja: build stopped|\*\*\* CMake",
        Explanation("llama.cpp did not compile.", "The log says why. A CMAKE_ARGS set in the environment is used too."),
    ),
)


def explain(output: str) -> Explanation:
    """Finds the cause in `output`; when none is known, what pip said last and no hint but the log."""
    for pattern, explanation in _CAUSES:
        if re.search(pattern, output):
            return explanation
    missing = re.search(r"No matching distribution found for (\S+)", output)
    if missing:
        return Explanation(
            f"No index that pip may use has {missing[1]} for this Python and platform.",
            "Check PIP_INDEX_URL, PIP_NO_INDEX and pip's configuration (pip config list).",
        )
    errors = re.findall(r"^ERROR: (.+)$", output, flags=re.MULTILINE)
    return Explanation(errors[-1] if errors else "It gave no reason.", "The log has the whole output.")
