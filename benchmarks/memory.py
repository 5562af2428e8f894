"""How much memory a run takes at its peak, beyond the weights, the inputs and what is imported; and what `rx shapes --memory`
says of it before.

`python benchmarks/memory.py [NAME ...]` prints a line for each model of `models.py` and of `models/`, and ends with status 1
where the encoder of 12 layers takes more than its bound. Counted is what Python and NumPy allocate (`tracemalloc`), so the
number is the same on every machine.
"""

from __future__ import annotations

import re
import sys
import tracemalloc

import numpy as np
import rxlang as rx
from models import MODELS, transformer, unet, vgg
from rxlang.interp.dps import pairs
from rxlang.lang.checked import Binding
from rxlang.memory.follow import peak as peak_of

BOUND = 50.0  # megabytes
# The sizes that a model leaves open; what is not said here is DEFAULT. `dim` is a size that has no name.
DEFAULT = 4
SIZES: dict[str, dict[str, int]] = {
    "12 layers": {"b": 4, "t": 256},
    "VGG-16": {"b": 1, "h": 4, "w": 4},
    "U-Net": {"b": 1, "H": 128, "W": 128},
    "bert": {"b": 2, "t": 64, "p": 8, "vocabulary": 1000},
    "conformer": {"b": 2, "t": 128, "signs": 40},
    "gpt2": {"b": 1, "t": 8, "past": 64, "vocabulary": 1000},
    "mixture_of_experts": {"b": 1, "t": 8},
    "mobilenet": {"b": 1, "dim": 64, "classes": 10},
    "resnet50": {"b": 1, "dim": 64},
    "seq2seq": {"b": 2, "t": 8, "dim": 8, "words": 100},
    "swin": {"b": 1, "H": 28, "W": 28},
    "unet_transposed": {"b": 1, "c": 3, "H": 64, "W": 64, "classes": 5},
    "unet_volumes": {"b": 1, "c": 1, "D": 16, "H": 16, "W": 16, "classes": 5},
    "vit": {"b": 1, "H": 64, "W": 64, "classes": 10},
}


def texts() -> dict[str, str]:
    """Every model's program."""
    made = {"12 layers": transformer(12), "VGG-16": vgg(), "U-Net": unet()}
    return made | {path.stem: path.read_text(encoding="utf-8") for path in sorted(MODELS.glob("*.rx"))}


def size(text: int | str, sizes: dict[str, int]) -> int:
    """A dimension as a number: the names in it stand for their sizes."""
    plain = re.sub(r"\w+\.dim\(\d+\)", "dim", str(text))
    return int(eval(re.sub(r"[^\W\d]\w*", lambda name: str(sizes.get(name[0], DEFAULT)), plain)))  # noqa: S307


def argument(param: Binding, sizes: dict[str, int]) -> object:
    if param.sort != "Tensor":
        return sizes.get(param.name, DEFAULT)
    shape = [size(d, sizes) for d in param.shape or ()]
    return np.zeros(shape, param.dtype)


def peak(name: str, text: str) -> float:
    """The megabytes that one call of the model's last function takes."""
    module = rx.loads(text, filename=f"{name}.rx")
    function = [n for n in module if "." not in n][-1]
    params = next(s.params for s in module._checked.shapes if s.name == f"@{function}")
    args = [argument(p, SIZES.get(name, {})) for p in params]
    call = module[function]
    tracemalloc.start()
    try:
        call(*args)
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def told(name: str, text: str) -> float:
    """The megabytes that the expression for the same call gives."""
    module = rx.loads(text, filename=f"{name}.rx")
    program, sizes = module._checked.program, SIZES.get(name, {})
    found = peak_of(program, pairs(program), [n for n in module if "." not in n][-1])
    # A size that nobody named is called by its tensor and its axis.
    return found.at({n: sizes.get(n, sizes.get("dim", DEFAULT) if "_" in n else DEFAULT) for n in found.names}) / 1e6


def main(names: list[str]) -> int:
    chosen = {name: text for name, text in texts().items() if not names or name in names}
    found = {name: peak(name, text) for name, text in chosen.items()}
    for name, megabytes in found.items():
        print(f"{name:>20} {megabytes:8.1f} MB, told {told(name, chosen[name]):8.1f}  {SIZES.get(name, {})}")
    fine = found.get("12 layers", 0.0) <= BOUND
    print(f"bound of the encoder: {BOUND:g} MB: {'kept' if fine else 'exceeded'}")
    return int(not fine)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
