"""Fixes of names and dtypes: the nearest name that exists, a cast to the needed dtype."""

from __future__ import annotations

from collections.abc import Iterator

from ...lang import sweet
from ...lang.diagnostics import Edit
from ...lang.dtypes import DTYPES
from ...ops import elsewhere
from ...ops.model import Primitive
from ...ops.registry import lookup
from ...ops.requirements import DTypeIn, NumbersFit
from ..case import Fix, FixCase
from ..weights import weight
from .foreign import is_called_otherwise
from .operands import wrap
from .shapes import TensorChange

# The usual dtype of a kind.
_USUAL = (
    ("integer", "int64"),
    ("floating", "float32"),
    ("inexact", "float32"),
    ("numeric", "float32"),
    ("boolean", "bool"),
)
# Each kind holds all values of those before it.
_KINDS = ("bool", "uint", "int", "float", "complex")


def fixes(case: FixCase) -> Iterator[Fix]:
    yield from _nearest(case)
    yield from _told(case)
    yield from _casts(case)


def _told(case: FixCase) -> Iterator[Fix]:
    """Apply the edits of the diagnostic: the function that checks its arguments, for its implementation; the sort of a
    name."""
    if case.diagnostic.edits:
        what = case.diagnostic.change or case.diagnostic.help or ""
        yield Fix(what, case.diagnostic.edits, 1, case.diagnostic.edits[0].text)


def _nearest(case: FixCase) -> Iterator[Fix]:
    """Write the names that the diagnostic suggests."""
    span = case.diagnostic.span
    node = case.tree.find(span, sweet.Name, sweet.FnName, sweet.Ident, sweet.NamedType)
    is_told = node is None or is_called_otherwise(case, node)  # another fix rewrites the whole call
    for rank, name in enumerate(() if is_told else case.diagnostic.meant):
        text = f"@{name}" if span.text.startswith("@") and not name.startswith("@") else name
        sure = not isinstance(node, sweet.FnName) or elsewhere.is_sure(node.name)
        yield Fix(f"`{name}`", (Edit(span, text),), weight("name") + rank, text, guess=not sure, asks=True)


def _casts(case: FixCase) -> Iterator[Fix]:
    if not case.diagnostic.code.of_dtypes:
        return
    tensors = case.tensors()
    dtypes = [o.dtype for o in case.subject.operands if o.dtype not in ("", "?")]
    wanted = [str(name) for name in case.subject.wanted]
    if isinstance(case.asked, DTypeIn) and not case.asked.attribute:
        wanted += [dtype for dtype in case.asked.classes if dtype in DTYPES][:1]
        wanted += [dtype for kind, dtype in _USUAL if case.asked.classes == (kind,)]
    if isinstance(case.asked, NumbersFit) and not case.asked.number.lstrip("-").isdecimal():
        wanted += [dict(_USUAL)["floating"]]
    involved = {name for name, _ in case.subject.at}
    ordered = sorted(tensors, key=lambda t: t[0] not in involved)
    row, is_asked = lookup(case.callee), isinstance(case.asked, DTypeIn)
    for rank, (name, expr, _) in enumerate(ordered):
        own = case.operand(name)
        is_mask = row is not None and own is not None and own.dtype == "bool" and row.refuses == name
        if is_mask:  # its elements are no positions
            yield wrap(
                case,
                expr,
                TensorChange("take the places where {} is true", "@nonzero(", ")[0]", weight("where true")),
            )
        for dtype in dict.fromkeys([*wanted, *dtypes]):
            loses = own is not None and _loses(own.dtype, dtype)
            if own is not None and own.dtype != dtype and (not loses or is_asked and _looks_up(row, name)):
                likely = weight("cast") + rank + weight("loses") * loses
                yield wrap(case, expr, TensorChange("cast", "@cast(", f", {dtype})", likely, is_mask or loses))


def _looks_up(row: Primitive | None, name: str) -> bool:
    """Whether an operand has positions in the next one, or is an index: whole numbers in any dtype. Labels of a loss may be
    fractions."""
    kinds = {p.name: p.kind for p in row.params} if row is not None else {}
    return "tensor" in [kind for other, kind in kinds.items() if other != name] and (
        kinds.get(name) == "index" or next(iter(kinds)) == name
    )


def _loses(own: str, dtype: str) -> bool:
    """Whether a cast loses information of the kind of number: fractions, signs."""
    before, after = DTYPES.get(own), DTYPES.get(dtype)
    if before is None or after is None or before.kind not in _KINDS or after.kind not in _KINDS:
        return False
    return _KINDS.index(before.kind) > _KINDS.index(after.kind)
