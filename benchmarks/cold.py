"""How long the command takes to start: `rx check` of ten lines against `python -c "import lark"`, as whole processes.

    python benchmarks/cold.py [ROUNDS]

Wall-clock seconds, the least and the middle of the rounds; each round runs every command once. Compiled modules are kept. A
check is told apart by what was found before: nothing is kept, it is kept for the next time, it was kept.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = """@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32) {
  let y = @reshape(x, [n * m, 4])
  let z = @cast(y, int32)
  @sum(z, axis=1)
}

@twice = fn(x : Tensor([n, m * 4], int8)) : Tensor([2, n * m], int32) {
  let y = @ff(x)
  @stack([y, y], axis=0)
}
"""


def commands(program: Path) -> dict[str, list[str]]:
    return {
        "python -c pass": ["-c", "pass"],
        "import lark": ["-c", "import lark"],
        "rx check, ten lines": ["-m", "rxlang", "check", "--no-cache", str(program)],
        "and kept": ["-m", "rxlang", "check", str(program)],
        "and found again": ["-m", "rxlang", "check", str(program)],
    }


def seconds(arguments: list[str], cache: Path) -> float:
    began = time.perf_counter()
    kept = {**os.environ, "RX_CACHE_DIR": str(cache)}
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=kept)
    return time.perf_counter() - began


def of_a_round(asked: dict[str, list[str]], cache: Path) -> list[float]:
    shutil.rmtree(cache, ignore_errors=True)
    return [seconds(arguments, cache) for arguments in asked.values()]


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "ff.rx"
        program.write_text(PROGRAM, encoding="utf-8")
        asked = commands(program)
        of_a_round(asked, Path(folder) / "cache")
        times = zip(*(of_a_round(asked, Path(folder) / "cache") for _ in range(rounds)), strict=True)
        taken = dict(zip(asked, times, strict=True))
    lark = min(taken["import lark"])
    print(f"{'':24}{'least':>10}{'middle':>10}{'of import lark':>18}")
    for name, times in taken.items():
        print(f"{name:24}{min(times):9.3f}s{statistics.median(times):9.3f}s{min(times) / lark:18.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
