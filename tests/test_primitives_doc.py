"""docs/primitives.md lists every primitive as its row says it; RX_ACCEPT=1 writes the page anew."""

from __future__ import annotations

import os
import re
from pathlib import Path

from rxlang.ops import elsewhere
from rxlang.ops.model import Primitive
from rxlang.ops.page import call_text, paragraphs
from rxlang.ops.registry import lookup, names

PAGE = Path(__file__).resolve().parents[1] / "docs" / "primitives.md"
PREFACE = """# Primitives

What a program can call without defining it. A parameter with `=` may be left out, and every one can be named:
`@sum(x, axis=1, keepdims=true)`. The operators `+ - * / // % **`, comparisons, `&& || !` and slices are primitives too.
What a call needs of its operands is said by `rx check` where it is not met. [migration.md](migration.md) shows how to add one.

Convolutions and poolings take `kernel_shape`, `strides` and `dilations` as a size or a list with one for each spatial axis,
and `pads` as pairs, before and after each axis: `[(1, 1), (2, 2)]`, or `[(1, 1)]` for all axes, or `1` for every side. Without
`strides` the windows of a pooling lie side by side, those of a convolution begin at every element.

The last column names the parameters that take sizes: any expression over sizes will do (`strides=p`, `scales=[2, n]`), and what
it has to be is claimed like everything else that a call needs. Other numbers, words and truth values stand in the program.

`@map(f, xs)`, `@fold(f, init, xs)` and `@scan(f, init, xs)`, which call a function with each row of a tensor, are
[loops](language.md#functions-over-rows).
"""
ELSEWHERE = """What NumPy, PyTorch, TensorFlow, Keras, JAX and ONNX call differently. `rx check` asks whether the one on the
left is meant where a program calls the one on the right."""
FAMILIES = {
    "elementwise": "Element by element",
    "linalg": "Products of matrices",
    "numbers": "Parts of numbers",
    "matrices": "Decompositions, inverses and norms of matrices",
    "fourier": "Fourier transforms",
    "random": "Random numbers",
    "reduce": "Reductions",
    "statistics": "Statistics",
    "sets": "Sets",
    "shape": "Shapes",
    "parts": "Joining, splitting, moving",
    "index": "Picking, placing and ordering elements",
    "create": "New tensors",
    "nn": "Layers",
    "conv": "Convolutions",
    "pool": "Pooling",
    "recurrent": "Recurrent layers",
    "loss": "Losses",
    "signal": "Signals and patches",
    "quantised": "Quantisation",
    "sequences": "Sequences",
    "detection": "Boxes and sampling points",
    "segments": "Blocks and segments",
    "signature": "Said in Rx itself",
}
# Families whose layouts and formulas stand on the page; kinds of parameters that take sizes.
WHOLE = {"nn", "conv", "pool", "recurrent", "signal", "detection", "quantised", "segments", "sequences"}
SIZES = {"size", "sizes", "shape", "target", "pairs", "index"}


def primitives() -> list[Primitive]:
    """The package's own: a program in Python may have registered others."""
    found = [lookup(name) for name in sorted(names())]
    return [p for p in found if p is not None and (p.rule is None or p.rule.__module__.startswith("rxlang.ops."))]


def family(primitive: Primitive) -> str:
    return "signature" if primitive.rule is None else primitive.rule.__module__.rpartition(".")[2]


def first_sentence(doc: str) -> str:
    """The first paragraph up to a sentence's end, on one line."""
    paragraph = " ".join(doc.strip().split("\n\n")[0].split())
    return re.split(r"\. (?=[A-Z`])", paragraph)[0].rstrip(".").replace("|", "\\|")


def row(primitive: Primitive) -> str:
    call = f"`{call_text(primitive)}`"
    sizes = ", ".join(f"`{p.name}`" for p in primitive.params if p.kind in SIZES)
    return f"| {call} | {first_sentence(primitive.doc)} | {sizes} |"


def whole(primitive: Primitive) -> str:
    """All that the row says, for layouts and formulas."""
    return "\n\n".join((f"### `@{primitive.name}`", *paragraphs(primitive), ""))


def document() -> str:
    of: dict[str, list[Primitive]] = {}
    for primitive in primitives():
        of.setdefault(family(primitive), []).append(primitive)
    assert of.keys() <= FAMILIES.keys()
    parts = [PREFACE]
    for key in sorted(of, key=list(FAMILIES).index):
        rows = "\n".join(map(row, of[key]))
        parts.append(f"## {FAMILIES[key]}\n\n| call | what it is | sizes |\n|---|---|---|\n{rows}\n")
        if key in WHOLE:
            parts += [whole(p) for p in of[key] if not re.search(r"\dd$", p.name) and "\n\n" in p.doc]
    rows = "\n".join(f"| `@{ours}` | {', '.join(f'`{n}`' for n in theirs)} |" for ours, theirs in elsewhere.table())
    parts.append(f"## Under other names\n\n{ELSEWHERE}\n\n| here | elsewhere |\n|---|---|\n{rows}\n")
    return "\n".join(parts)


def test_the_page_of_primitives_says_what_the_rows_say() -> None:
    if os.environ.get("RX_ACCEPT"):
        PAGE.write_text(document(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == document()


def test_every_primitive_says_what_it_is() -> None:
    assert [p.name for p in primitives() if not first_sentence(p.doc)] == []
