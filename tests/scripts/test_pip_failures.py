from __future__ import annotations

import pytest

from pip_failures import explain

UNREACHABLE = """\
WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by 'NewConnectionError("HTTPSConnection(\
host='index', port=443): Failed to establish a new connection: [Errno 111] Connection refused")': /simple/x/
ERROR: Could not find a version that satisfies the requirement x==1 (from versions: none)
ERROR: No matching distribution found for x==1
"""


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (UNREACHABLE, "could not be reached"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        ("c++: fatal error: Killed signal terminated program cc1plus\nninja: build stopped", "ran out of memory"),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]'))", "certificate"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_120a'", "CUDA compiler"),
        ("CMake Error at CMakeLists.txt:1", "did not compile"),
        ("ERROR: No matching distribution found for x==1", "No index that pip may use has x==1"),
        ("ERROR: first\nERROR: something new", "something new"),
        ("", "no reason"),
    ],
)
def test_the_cause_is_told_rather_than_what_followed_from_it(output: str, words: str) -> None:
    explanation = explain(output)

    assert words in explanation.why
    assert explanation.hint


def test_a_cuda_argument_alone_does_not_blame_cuda() -> None:
    assert "did not compile" in explain("-DCMAKE_CUDA_COMPILER=/usr/bin/nvcc\nCMake Error: no").why
