"""Model files that are damaged, contradict themselves or mean harm: does every command end with a diagnostic.

    python benchmarks/onnx_hostile.py [FOLDER] [--count 10000] [--seed 0] [--only PATTERN]

`count` models are ONNX's node tests, and the models of a folder, with bytes cut off or changed; before them come the files
that somebody wrote to do harm. Each is checked, inferred, imported and run in a process of its own; what ends in another way
than with status 0, 1, 2 or 3, takes 10 s or more, or 1 GB, is printed with its number.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import re
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hostile_models import EVIL, Files, mutated
from rxlang.cli.main import invoke

SECONDS, BYTES = 10, 2**30
COMMANDS = ("check", "infer", "import", "run")
# How commands end that end well, and how the child says what came instead.
STATUSES, RAISED, SLOW, LARGE = (0, 1, 2, 3), 97, 98, 99


def arguments(command: str, path: Path) -> list[str]:
    return [command, str(path), *(["-o", str(path.parent / "imported")] if command == "import" else [])]


def ended(command: str, path: Path) -> tuple[int, str]:
    """The status of one command in a process of its own, and what it said."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        with os.fdopen(write, "wb", 0) as said:
            status = _run(command, path, said)
        os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        said = stream.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    return (os.waitstatus_to_exitcode(status)), said


def _run(command: str, path: Path, said: io.FileIO) -> int:
    """In the child: limits, the command, and what became of them."""
    os.chdir(path.parent)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (8 * BYTES, 8 * BYTES))
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = invoke(arguments(command, path))
    except BaseException:  # noqa: BLE001 - what no command may let out
        said.write(traceback.format_exc()[-3000:].encode("utf-8", "replace"))
        return RAISED
    said.write(out.getvalue()[:1000].encode("utf-8", "replace"))
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - grown) * 1024
    return LARGE if used > BYTES else status


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
        (str(n), lambda folder, n=n: mutated(folder, files, Random(n)))
        for n in range(asked.seed, asked.seed + asked.count)
    ]
    gc.freeze()
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
