"""A rule says of shapes with a stretch of axes (`[c, *s]`) what it says of the same shapes written out, or nothing."""

from __future__ import annotations

import zlib
from collections import Counter
from typing import Any

import numpy as np
import pytest
from rxlang.lang.node import replace
from rxlang.ops import registry
from rxlang.ops.ground import GroundCtx, GroundResult, NeedsData, Violation, evaluate
from rxlang.ops.model import Primitive, RankUnknown, Segment, Symbol, TensorInfo
from support import fuzz, ops, random_calls

STRETCH = Segment(Symbol("s", 1))
# A size that the data decides, and a number of elements where a stretch is; @reshape compares those.
OPEN = ops.Unknown | ops.Sym
Infos = dict[str, Any]
Sizes = tuple[Any, ...]


class OpenCtx(GroundCtx):
    """Sizes are numbers, and what the data decides is an Unknown; where a stretch is, a rank is not known."""

    def dims(self, x: TensorInfo[int]) -> Sizes:
        if STRETCH in x.shape:
            raise RankUnknown
        return x.shape

    def rank(self, x: TensorInfo[int]) -> int:
        return len(self.dims(x))

    def fresh(self, name: str, at_least: Any = 0, at_most: Any = None) -> Any:
        return ops.Unknown(at_least, at_most)

    def element(self, at_least: Any, at_most: Any) -> Any:
        return ops.Unknown(at_least, at_most)


def stretched(random: np.random.Generator, infos: Infos) -> tuple[Infos, Infos, Sizes]:
    """The operands without their elements, the same with one stretch where they share axes, and what that stands for."""
    plain = {name: _each(info, lambda t: replace(t, data=None)) for name, info in infos.items()}
    tensors = [info for info in plain.values() if isinstance(info, TensorInfo)]
    base = tensors[random.integers(len(tensors))].shape if tensors else ()
    first = int(random.integers(0, len(base) + 1))
    last = int(random.integers(first, len(base) + 1))
    found = {name: _each(info, lambda t: _with_stretch(t, base, first, last)) for name, info in plain.items()}
    return plain, found, base[first:last]


def _each(info: Any, change: Any) -> Any:
    if isinstance(info, tuple):
        return tuple(_each(item, change) for item in info)
    return change(info) if isinstance(info, TensorInfo) else info


def _with_stretch(info: TensorInfo[Any], base: Sizes, first: int, last: int) -> TensorInfo[Any]:
    """The axes at the same place as in the base, from the front or from the end."""
    shape, gone = info.shape, base[first:last]
    for at in (first, len(shape) - len(base) + first):
        if at >= 0 and shape[at : at + len(gone)] == gone and at + len(gone) <= len(shape):
            return replace(info, shape=(*shape[:at], STRETCH, *shape[at + len(gone) :]))
    return info


def said(row: Primitive, infos: Infos) -> GroundResult | Violation | None:
    try:
        return evaluate(row, infos, OpenCtx())
    except Violation as violation:
        return violation
    except (RankUnknown, NeedsData):
        return None


def written_out(shape: Sizes, sizes: Sizes) -> Sizes:
    return tuple(d for dim in shape for d in (sizes if dim is STRETCH else (dim,)))


def compared(row: Primitive, infos: Infos, random: np.random.Generator) -> str:
    plain, infos, sizes = stretched(random, infos)
    wanted, found = said(row, plain), said(row, infos)
    if wanted is None or found is None:
        return "open"
    if isinstance(wanted, Violation) or isinstance(found, Violation):
        assert isinstance(wanted, Violation) and isinstance(found, Violation), (wanted, found, infos)
        return "refused"
    for one, other in zip(found.tensors, wanted.tensors, strict=True):
        made = written_out(one.shape, sizes)
        assert len(made) == len(other.shape), (one.shape, other.shape)
        pairs = zip(made, other.shape, strict=True)
        assert all(isinstance(a, OPEN) or isinstance(b, OPEN) or a == b for a, b in pairs), (one, other)
    return "same"


@pytest.mark.parametrize(
    "name", fuzz.some((n for n in registry.names() if n != "reshape" and ops.row_of(n).rule is not None), 3)
)
def test_a_stretch_is_the_axes_that_it_stands_for(name: str) -> None:
    row, counts = ops.row_of(name), Counter[str]()
    for case in fuzz.cases("stretches"):
        with case as n:
            random = np.random.default_rng((zlib.crc32(name.encode()), n, 5))
            values = random_calls.draw_call(random, row)
            try:
                counts[compared(row, ops.infos(row, values), random)] += 1
            except Exception as problem:
                problem.add_note(f"@{name} of { ({k: getattr(v, 'shape', v) for k, v in values.items()}) }")
                raise
