"""A context that can branch, one that never did, and a text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec.llama.context import Context
from localspec.llama.context_options import ContextOptions
from localspec.llama.model import Model
from localspec.llama.tokenizer import Tokenizer
from tests.llama.branches.trees import OPTIONS


@pytest.fixture
def context(smollm2_model: Model) -> Iterator[Context]:
    with Context(smollm2_model, OPTIONS) as context:
        yield context


@pytest.fixture(scope="module")
def alone(smollm2_model: Model) -> Iterator[Context]:
    """A context that never branched."""
    with Context(smollm2_model, ContextOptions(length=512, threads=1)) as context:
        yield context


@pytest.fixture(scope="module")
def text(smollm2_tokenizer: Tokenizer) -> list[int]:
    written = Path(__file__).with_name("test_faults.py").read_text()
    return smollm2_tokenizer.encode(written, parse_special=False, add_special=True)[:400]
