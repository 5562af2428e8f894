"""Mends of a call's operands: two of them swapped, one transposed, an axis added or dropped, flattened, cast."""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import sweet
from ..lang.diagnostics import Edit
from ..lang.source import Span
from .case import Case, Dims, Mend, replaced

_PRODUCTS = {"matmul": -2, "linear": -1, "dense": -2}


def mends(case: Case) -> Iterator[Mend]:
    if case.call is None:
        return
    tensors = case.tensors()
    for name, expr, shape in reversed(tensors[:2]):
        if shape is not None and len(shape) >= 2 and name in dict(case.subject.at):
            what = f"transpose {case.named(expr, f'`{name}`')}"
            yield case.mend(what, [replaced(expr, f"@matrix_transpose({expr.span.text})")], 12)
    yield from _swap(case)


def _swap(case: Case) -> Iterator[Mend]:
    tensors = case.tensors()
    if len(tensors) < 2 or isinstance(case.call, sweet.Binary):
        return
    (_, a, _), (_, b, _) = sorted(tensors[:2], key=lambda t: t[1].span.start)
    between = Span(a.span.source, a.span.end, b.span.start).text
    edit = Edit(a.span.to(b.span), f"{b.span.text}{between}{a.span.text}")
    if a.span.end <= b.span.start:
        yield case.mend(f"swap {case.named(a)} and {case.named(b)}", [edit], 14)


__all__ = ["Dims", "mends"]
