"""Run ffn.rx on the steps of a golden file (`--golden FILE.npz`) and compare; the exit status is 1 beyond 1e-4."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import rxlang as rx

HERE = Path(__file__).resolve().parent
BOUND = 1e-4


def steps(golden: np.lib.npyio.NpzFile) -> list[tuple[np.ndarray, np.ndarray]]:
    """The pairs x0, y0, x1, y1, ... of a golden file."""
    count = sum(name[0] == "x" and name[1:].isdigit() for name in golden.files)
    return [(golden[f"x{k}"], golden[f"y{k}"]) for k in range(count)]


def difference(got: np.ndarray, expected: np.ndarray) -> float:
    """The largest absolute difference; infinite where the shapes differ or a value is not a number."""
    if got.shape != expected.shape:
        return float("inf")
    apart = float(np.abs(got - expected).max(initial=0.0))
    return apart if np.isfinite(apart) else float("inf")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--golden", type=Path, default=HERE / "golden.npz", help="weights w_*, inputs x*, outputs y*")
    path = parser.parse_args().golden
    ffn = rx.load(HERE / "ffn.rx").ffn
    worst = 0.0
    with np.load(path, allow_pickle=False) as golden:
        weights = {name[2:]: golden[name] for name in golden.files if name.startswith("w_")}
        for k, (x, expected) in enumerate(steps(golden)):
            apart = difference(ffn(x, **weights), expected)
            print(f"step {k}: {list(x.shape)} -> {list(expected.shape)}, largest difference {apart:.3g}")
            worst = max(worst, apart)
    print(f"largest difference {worst:.3g} (bound {BOUND:g})")
    return int(worst > BOUND)


if __name__ == "__main__":
    sys.exit(main())
