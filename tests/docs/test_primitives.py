"""docs/primitives.md lists every primitive as its row says it; RX_ACCEPT=1 writes the page anew."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator

from rxlang.ops import elsewhere
from rxlang.ops.model import Primitive
from rxlang.ops.page import call_text, paragraphs
from rxlang.ops.registry import lookup, names
from support.places import ROOT

PAGE = ROOT / "docs" / "primitives.md"
PREFACE = """# Primitives

The functions that a program can call without defining them. A parameter with `=` may be left out, and then has the value
that stands there (`none` means no value; a program cannot write it). Every parameter can be named:
`@sum(x, axis=1, keepdims=true)`. The operators `+ - * / // % **`, comparisons, `&& || !` and slices are primitives too. Names
are those of the array API standard if it has the function. `rx check` reports an operand that does not fit.
[migration.md](migration.md) shows how to add a primitive.

Convolutions and poolings take `kernel_shape`, `strides` and `dilations` as a size or a list with one for each spatial axis,
and `pads` as pairs, before and after each axis: `[(1, 1), (2, 2)]`, or `[(1, 1)]` for all axes, or `1` for every side. Without
`strides` the windows of a pooling lie side by side, those of a convolution begin at every element.

The last column names the parameters that take sizes: they take any expression over sizes (`strides=p`, `scales=[2, n]`), and
Rx checks their conditions like all others of a call. Other numbers, words (in quotes) and truth values are literals.

`@map(f, xs)`, `@fold(f, init, xs)` and `@scan(f, init, xs)`, which call a function with each row of a tensor, are
[loops](language.md#functions-over-rows). With a tensor as its first argument, `@fold` is the primitive of that name.
"""
ELSEWHERE = """Functions that have other names in NumPy, PyTorch, TensorFlow, Keras, JAX or ONNX. If a program calls one on the
right, `rx check` proposes the one on the left."""
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
    "signature": "Written in Rx",
}
# Families of which the table has all that matters, but for what takes a word; kinds of parameters that take sizes.
SHORT = {"elementwise", "numbers", "signature"}
MOST_SAID = 2  # times that a paragraph stands on the page
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


def further(primitive: Primitive) -> list[str]:
    """What its documentation says behind the first paragraph, but for its name in the standard."""
    said = (re.sub(r" ?Array API `[\w.]+`\.$", "", p) for p in paragraphs(primitive)[1:])
    return [p for p in said if p]


def details(key: str, family: list[Primitive]) -> Iterator[str]:
    """All that rows say beside the table, for layouts, formulas and words; what several say stands once, in front."""
    said = {p.name: further(p) for p in family if says_more(key, p)}
    times = Counter(paragraph for found in said.values() for paragraph in found)
    for shared in (paragraph for paragraph, count in times.items() if count > MOST_SAID):
        yield f"{', '.join(f'`@{name}`' for name, found in said.items() if shared in found)}: {shared}\n"
    for primitive in family:
        own = [p for p in said.get(primitive.name, ()) if times[p] <= MOST_SAID]
        if own:
            yield "\n\n".join((f"### `@{primitive.name}`", paragraphs(primitive)[0], *own, ""))


def says_more(key: str, primitive: Primitive) -> bool:
    """Whether the page has more than the table of it."""
    is_same = re.search(r"\dd$", primitive.name) is not None
    return not is_same and (key not in SHORT or any(p.kind == "str" for p in primitive.params))


def document() -> str:
    of: dict[str, list[Primitive]] = {}
    for primitive in primitives():
        of.setdefault(family(primitive), []).append(primitive)
    assert of.keys() <= FAMILIES.keys()
    parts = [PREFACE]
    for key in sorted(of, key=list(FAMILIES).index):
        rows = "\n".join(map(row, of[key]))
        parts.append(f"## {FAMILIES[key]}\n\n| call | what it is | sizes |\n|---|---|---|\n{rows}\n")
        parts += details(key, of[key])
    rows = "\n".join(f"| `@{ours}` | {', '.join(f'`{n}`' for n in theirs)} |" for ours, theirs in elsewhere.table())
    parts.append(f"## Under other names\n\n{ELSEWHERE}\n\n| here | elsewhere |\n|---|---|\n{rows}\n")
    return "\n".join(parts)


def test_the_page_of_primitives_says_what_the_rows_say() -> None:
    if os.environ.get("RX_ACCEPT"):
        PAGE.write_text(document(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == document()


def test_every_primitive_says_what_it_is() -> None:
    assert [p.name for p in primitives() if not first_sentence(p.doc)] == []
