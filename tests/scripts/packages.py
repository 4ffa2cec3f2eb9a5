"""Small real packages in a folder that pip takes for an index, so that no test needs a network."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

# An in-tree build backend, the whole of what pip asks: a wheel of one module that remembers what it was built with.
_BACKEND = """
import os, pathlib, time, zipfile
NAME, VERSION = {name!r}, {version!r}
def build_wheel(folder, config_settings=None, metadata_directory=None):
    if os.environ.get("TEST_BUILD") == "fails":
        raise SystemExit("CMake Error: no")
    if os.environ.get("TEST_BUILD") == "hangs":
        print("build hangs", flush=True)
        time.sleep(60)
    file = f"{{NAME}}-{{VERSION}}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder) / file, "w") as wheel:
        text = f"import {needs}; BUILT_WITH = {{os.environ.get('CMAKE_ARGS')!r}}"
        wheel.writestr({module!r} + "/__init__.py", text)
        info = f"{{NAME}}-{{VERSION}}.dist-info/"
        needs = "Requires-Dist: {needs}\\n"
        wheel.writestr(info + "METADATA", f"Metadata-Version: 2.1\\nName: {{NAME}}\\nVersion: {{VERSION}}\\n{{needs}}")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", "")
    return file
"""


def write_wheel(folder: Path, name: str, version: str, files: dict[str, bytes]) -> Path:
    """A wheel that holds `files`."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, content in files.items():
            wheel.writestr(file, content)
        wheel.writestr(f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{stem}.dist-info/RECORD", "")
    return path


def write_source_package(folder: Path, name: str, version: str, module: str, *, needs: str) -> Path:
    """A source package whose `module.BUILT_WITH` is the CMAKE_ARGS of its build; TEST_BUILD=fails|hangs spoils it.

    Its module imports the package `needs`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    files = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        "backend.py": _BACKEND.format(name=name.replace("-", "_"), version=version, module=module, needs=needs),
    }
    path = folder / f"{stem}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for file, content in files.items():
            member = tarfile.TarInfo(f"{stem}/{file}")
            member.size = len(content.encode())
            archive.addfile(member, io.BytesIO(content.encode()))
    return path


def only_from(index: Path) -> dict[str, str]:
    """Environment that lets pip see the folder `index` and nothing else, neither its cache nor its configuration."""
    return {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": index.as_uri(),
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_CACHE_DIR": "1",
    }
