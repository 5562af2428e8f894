"""How long and how wide is what `rx check` prints of models, and what it costs: a table, and the text of each if wanted.

python benchmarks/packaged_models.py
python benchmarks/contract_texts.py MODEL.onnx... [--texts FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple


class Row(NamedTuple):
    """What was printed of a model; without a contract there are no conditions to count."""

    seconds: float
    status: int
    conditions: int | None
    text: str

    def __str__(self) -> str:
        lines = self.text.splitlines()
        count = "-" if self.conditions is None else self.conditions
        return f"{self.seconds:8.2f} {self.status:6} {count:>10} {len(lines):6} {max(map(len, lines), default=0):6}"


def checked(model: Path) -> Row:
    """Its contract as text and as JSON, by one run in a process of its own, whose processor time counts."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "contract.json"
        command = [sys.executable, "-m", "rxlang", "check", "--no-cache", "--write-contract", str(written), model.name]
        before = os.times()
        done = subprocess.run(command, cwd=model.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        after = os.times()
        contract = json.loads(written.read_text()) if written.exists() else None
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    count = None if contract is None else len(contract["conditions"]) + len(contract["ranges"])
    return Row(seconds, done.returncode, count, done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--texts", type=Path)
    args = parser.parse_args()
    began = time.perf_counter()
    print(f"{'seconds':>8} status conditions  lines widest  model")
    for model in args.models:
        row = checked(model.resolve())
        print(row, model.name, sep="  ", flush=True)
        if args.texts is not None:
            args.texts.mkdir(parents=True, exist_ok=True)
            (args.texts / f"{model.stem}.txt").write_text(row.text, encoding="utf-8")
    print(f"{len(args.models)} models, {time.perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
