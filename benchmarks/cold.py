"""How long the command takes to start: `rx check` of ten lines against `python -c "import lark"`, as whole processes.

    python benchmarks/cold.py [ROUNDS]

Wall-clock seconds, the least and the middle of the rounds; each round runs every command once. Compiled modules are kept.
"""

from __future__ import annotations

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
        "rx check, ten lines": ["-m", "rxlang", "check", str(program)],
    }


def seconds(arguments: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - began


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "ff.rx"
        program.write_text(PROGRAM, encoding="utf-8")
        asked = commands(program)
        for arguments in asked.values():
            seconds(arguments)
        taken = {name: [seconds(arguments) for _ in range(rounds)] for name, arguments in asked.items()}
    lark = min(taken["import lark"])
    print(f"{'':24}{'least':>10}{'middle':>10}{'of import lark':>18}")
    for name, times in taken.items():
        print(f"{name:24}{min(times):9.3f}s{statistics.median(times):9.3f}s{min(times) / lark:18.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
