"""A real engine with a real, small model; nothing is written outside the test's own folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec.engine.client import EngineClient
from localspec.engine.messages import Loaded, LoadPair, ModelSettings


@pytest.fixture(scope="package", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCALSPEC_DATA_DIR", str(folder))
        yield folder


@pytest.fixture(scope="session")
def smollm2(smollm2_path: Path) -> Path:
    return smollm2_path


@pytest.fixture(scope="session")
def other_tokenizer(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2 with one letter of one token changed."""
    data = bytearray(smollm2.read_bytes())
    token = "Ġelephant".encode()
    place = data.index(len(token).to_bytes(8, "little") + token)
    data[place + 8 + len(token) - 1] = ord("X")
    changed = tmp_path_factory.mktemp("models") / "other-tokenizer.gguf"
    changed.write_bytes(data)
    return changed


@pytest.fixture(scope="session")
def pair(smollm2: Path) -> LoadPair:
    return LoadPair(ModelSettings(smollm2), ModelSettings(smollm2), context=1024, threads=1)


@pytest.fixture(scope="package")
def client(own_folders: Path) -> Iterator[EngineClient]:  # noqa: ARG001 - the log must go there
    """An engine in which a test may load what it likes."""
    with EngineClient() as started:
        yield started


@pytest.fixture(scope="package")
def engine(own_folders: Path) -> Iterator[EngineClient]:  # noqa: ARG001 - the log must go there
    with EngineClient() as started:
        started.close()
        yield started


@pytest.fixture
def ready(engine: EngineClient, pair: LoadPair) -> EngineClient:
    """An engine with SmolLM2 as target and draft, shared by the tests; one that died is started again."""
    if not engine.alive:
        engine.start()
        assert isinstance(list(engine.load(pair))[-1], Loaded)
    return engine
