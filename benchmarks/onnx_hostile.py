"""Model files that are damaged, contradict themselves or mean harm: does every command end with a diagnostic.

    python benchmarks/onnx_hostile.py [FOLDER] [--count 10000] [--seed 0] [--only PATTERN]

`count` models are ONNX's node tests, and the models of a folder, with bytes cut off or changed, and every fourth one is an
operator with anything in its places; before them come the files that somebody wrote to do harm. Each is checked, inferred,
imported and run in a process of its own; what ends in another way than with status 0, 1, 2 or 3, takes 10 s or more, or 1
GB, is printed with its number.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import re
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NoReturn

import onnx
from google.protobuf.message import DecodeError
from rxlang.cli.main import invoke
from rxlang.lang.onnx_weights import ELEMENTS

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
_models = import_module("support.hostile_models")
EVIL, Files, model, node = _models.EVIL, _models.Files, _models.model, _models.node
mutated, odd = _models.mutated, _models.odd

SECONDS, BYTES = 10, 2**30
COMMANDS = ("check", "infer", "import", "run")
# How commands end that end well, and how the child says what came instead.
STATUSES, RAISED = (0, 1, 2, 3), 97


def arguments(command: str, path: Path) -> list[str]:
    more = {"import": ["-o", str(path.parent / "imported")], "run": _inputs(path) if command == "run" else []}
    return [command, str(path), *more.get(command, [])]


def _inputs(path: Path) -> list[str]:
    """Small tensors for the inputs of a model; none where it cannot be read."""
    if not path.is_file():
        return []
    try:
        with path.open("rb") as file:
            graph = onnx.ModelProto.FromString(file.read(2**24)).graph
    except (DecodeError, OSError):
        return []
    held = {tensor.name for tensor in graph.initializer}
    return [text for value in graph.input if value.name not in held for text in ("--arg", _argument(value))]


def _argument(value: onnx.ValueInfoProto) -> str:
    kind = value.type.tensor_type
    sizes = [d.dim_value if 0 <= d.dim_value < 64 and d.HasField("dim_value") else 2 for d in kind.shape.dim]
    return f"{value.name}={ELEMENTS.get(kind.elem_type, 'float32')}{sizes}:ones"


def ended(command: str, path: Path) -> tuple[int, str]:
    """The status of one command in a process of its own, and what it said."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        _child(command, path, write)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        said = stream.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    return (os.waitstatus_to_exitcode(status)), said


def _child(command: str, path: Path, write: int) -> NoReturn:
    """Says how the command ends, whatever comes out of it, and never comes back."""
    status = RAISED
    said = os.fdopen(write, "wb", 0)
    try:
        status = _run(command, path, said)
    finally:
        if status == RAISED:
            said.write(traceback.format_exc()[-3000:].encode("utf-8", "replace"))
        os._exit(status)


def _run(command: str, path: Path, said: io.FileIO) -> int:
    """Limits, the command, and what it said."""
    os.chdir(path.parent)
    signal.alarm(20 * SECONDS)  # what waits takes no time of the processor
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    there = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (there + BYTES, there + BYTES))
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = invoke(arguments(command, path))
    said.write(out.getvalue()[:1000].encode("utf-8", "replace"))
    return status


def wrong(path: Path, counts: Counter[str], commands: Sequence[str] = COMMANDS) -> Iterator[str]:
    """What is wrong with how commands end on a file."""
    for command in commands:
        began = time.perf_counter()
        status, said = ended(command, path)
        counts[f"{command} {status}"] += 1
        if status not in STATUSES:
            yield f"rx {command}: status {status} after {time.perf_counter() - began:.1f} s\n{said}"
        elif status and not said.strip():
            yield f"rx {command}: status {status}, and nothing is said"


def warm() -> None:
    """Import what the commands do, so that no child has to."""
    nowhere = io.StringIO()
    with TemporaryDirectory() as folder, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        path = Path(folder) / "model.onnx"
        path.write_bytes(model(node("Relu"), shape=[2, 3]).SerializeToString())
        for command in COMMANDS:
            invoke(arguments(command, path))
    gc.freeze()


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("folder", nargs="?", type=Path)
    reader.add_argument("--count", type=int, default=10_000)
    reader.add_argument("--seed", type=int, default=0, help="the number of the first")
    reader.add_argument("--only", default="", help="of the files that mean harm")
    reader.add_argument("--command", choices=COMMANDS, action="append")
    asked = reader.parse_args()
    counts: Counter[str] = Counter()
    bad = 0
    files = Files(asked.folder)
    named = [(name, make) for name, make in EVIL.items() if re.search(asked.only, name)]
    numbered = [
        (str(n), lambda folder, n=n: odd(folder, Random(n)) if n % 4 == 3 else mutated(folder, files, Random(n)))
        for n in range(asked.seed, asked.seed + asked.count)
    ]
    warm()
    for name, make in (*named, *numbered):
        with TemporaryDirectory() as folder:
            path = make(Path(folder))
            for said in wrong(path, counts, asked.command or COMMANDS):
                bad += 1
                print(f"{name}: {said}", flush=True)
    print(dict(sorted(counts.items())))
    print(f"{len(named) + len(numbered)} files, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
