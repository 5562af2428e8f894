"""Run decoder.rx on the steps of a golden file (`--golden FILE.npz`) and compare; the exit status is 1 beyond 1e-4.

Each sequence of steps (`seed0_ids`, `seed0_pos`, `seed0_logits`, `seed1_ids`, ..., and the caches `seed_k0` to `seed_v1` at its
end) runs with the fixed cache, and as far as its positions follow each other also with the growing one. Then the model
writes on its own, with both.
"""

from __future__ import annotations

import argparse
import sys
from itertools import count
from pathlib import Path

import numpy as np
import rxlang as rx

HERE = Path(__file__).resolve().parent
BOUND = 1e-4
LAYER = ("n1", "wq", "wk", "wv", "qn", "kn", "wo", "n2", "wg", "wu", "wd")
CACHES = ("k0", "v0", "k1", "v1")
Step = tuple[np.ndarray, np.ndarray, np.ndarray]


def model(golden: np.lib.npyio.NpzFile) -> tuple[object, ...]:
    """The weights in the order of the type Model."""
    layers = (tuple(golden[f"w_l{i}.{name}"] for name in LAYER) for i in range(2))
    return golden["w_embed"], golden["w_norm"], *layers


def steps(golden: np.lib.npyio.NpzFile, sequence: str) -> list[Step]:
    names = (f"{sequence}{i}" for i in count())
    found = []
    while f"{(name := next(names))}_ids" in golden.files:
        found.append((golden[f"{name}_ids"], golden[f"{name}_pos"], golden[f"{name}_logits"]))
    return found


def sequences(golden: np.lib.npyio.NpzFile) -> list[str]:
    return sorted(name.removesuffix("_k0") for name in golden.files if name.endswith("_k0"))


def difference(got: np.ndarray, expected: np.ndarray) -> float:
    """The largest absolute difference; infinite where the shapes differ or a value is not a number."""
    if got.shape != expected.shape:
        return float("inf")
    apart = float(np.abs(got - expected).max(initial=0.0))
    return apart if np.isfinite(apart) else float("inf")


def run_fixed(module: rx.Module, golden: np.lib.npyio.NpzFile, sequence: str) -> float:
    """Seven inputs by name, five results; at the end the caches are compared too."""
    weights, worst = model(golden), 0.0
    caches = {name: np.zeros_like(golden[f"{sequence}_{name}"]) for name in CACHES}
    for k, (ids, places, expected) in enumerate(steps(golden, sequence)):
        logits, *written = module.step(
            input_ids=ids, cache_position=places, cache_position_1=places, **caches, model=weights
        )
        caches = dict(zip(CACHES, written, strict=True))
        worst = max(worst, told(f"{sequence} {k}, fixed cache", ids, logits, expected))
    return max([worst, *(difference(caches[name], golden[f"{sequence}_{name}"]) for name in CACHES)])


def run_growing(module: rx.Module, golden: np.lib.npyio.NpzFile, sequence: str) -> float:
    """As far as no step goes back: a growing cache forgets nothing."""
    weights, worst, length = model(golden), 0.0, 0
    caches = [golden[f"{sequence}_{name}"][:, :, :0] for name in CACHES]
    for k, (ids, places, expected) in enumerate(steps(golden, sequence)):
        if places.tolist() != list(range(length, length + len(places))):
            break
        logits, *caches = module.step_grow(ids, *caches, weights)
        length += len(places)
        worst = max(worst, told(f"{sequence} {k}, growing cache", ids, logits, expected))
    return worst


def told(what: str, ids: np.ndarray, logits: np.ndarray, expected: np.ndarray) -> float:
    apart = difference(logits, expected)
    print(f"{what}: {list(ids.shape)} -> {list(expected.shape)}, largest difference {apart:.3g}")
    return apart


def written(module: rx.Module, golden: np.lib.npyio.NpzFile) -> bool:
    """Whether the model writes the same behind the first step's tokens with either cache."""
    first = sequences(golden)[0]
    prompt, places, weights = golden[f"{first}0_ids"], golden[f"{first}_k0"].shape[2], model(golden)
    length = min(8, places - prompt.shape[1])
    text = module.generate(prompt, length, weights)
    same = bool((text == module.generate_fixed(prompt, length, places, weights)).all())
    print(f"written: {text[0].tolist()}, {'the same' if same else 'something else'} with a fixed cache")
    return same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--golden", type=Path, default=HERE / "golden.npz", help="weights w_*, steps seed* and long*")
    path = parser.parse_args().golden
    module = rx.load(HERE / "decoder.rx")
    with np.load(path, allow_pickle=False) as golden:
        runs = [run(module, golden, name) for name in sequences(golden) for run in (run_fixed, run_growing)]
        same = written(module, golden)
    print(f"largest difference {max(runs):.3g} (bound {BOUND:g})")
    return int(max(runs) > BOUND or not same)


if __name__ == "__main__":
    sys.exit(main())
