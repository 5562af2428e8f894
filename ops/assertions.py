"""An assertion of an annotation to words: its condition and the actual sizes, for symbols and for integers."""

from __future__ import annotations

from typing import Any, Protocol

from ..lang import core
from ..lang.offsets import offset

Check = core.Assert | core.MatchShape
_BOUNDS = {"<=": "at most", ">=": "at least", "<": "below", ">": "above"}

# The conditions under which an operation has a value.
DIVISOR, QUOTIENT = "the divisor to be at least 1", "the division to be exact"
FITS = "what is broadcast to be equal, or one of it 1"


class Values(Protocol):
    """The values of the names in a condition. A size is a term or an integer, None if it has no value; a side of a comparison
    is text, "?" if unknown."""

    def size(self, expr: core.SizeExpr) -> Any: ...
    def text(self, size: Any) -> str: ...
    def side(self, expr: core.ShapeLevel) -> str: ...
    def type(self, tensor: str) -> str: ...
    def dim(self, tensor: str, axis: int | None) -> str: ...


def wording(stmt: Check, tensor: str, values: Values, subject: str) -> tuple[str, str] | None:
    """The requirement and the finding: ("axis 1 of `x` to be 4", "it is 15"); `tensor` is the condition's name for the
    annotated value. None if the condition is not about a rank, dimension, dtype or shape."""
    if isinstance(stmt, core.MatchShape):
        found = values.type(stmt.tensor)
        pattern = shape_pattern(stmt) or stmt.origin.text or "the pattern"
        return f"{subject} to have a shape like {pattern}", f"it is {found}" if found else ""
    what, cond = stmt.origin.what, stmt.cond
    if what == "dtype" and isinstance(cond, core.InClass):
        names = f"one of {', '.join(cond.choices)}" if cond.braces else cond.choices[0]
        return f"{subject} to have a dtype that is {names}", f"it has {values.side(cond.item)}"
    if not isinstance(cond, core.Compare):
        return None
    if what == "dim":
        wanted, found = _wanted(stmt, cond, tensor, values)
        axis = stmt.origin.axis
        return f"{f'axis {axis}' if axis is not None else 'the axis between the splices'} of {subject} {wanted}", found
    there, wanted, pattern = values.side(cond.left), values.side(cond.right), shape_pattern(stmt)
    wanted += " or more" if what == "rank" and cond.op == ">=" else ""
    match what:
        case "rank" if not there.isdigit():
            asked = f"a shape like {pattern}" if pattern else f"rank {wanted}"
            return f"{subject} to have {asked}", "its rank is not known"
        case "rank":
            return f"{subject} to have rank {wanted}", f"it has rank {there}"
        case "dtype":
            dtype = "an unknown dtype" if wanted == "?" else f"dtype {wanted}"
            return f"{subject} to have {dtype}", "its dtype is not known" if there == "?" else f"it has {there}"
        case "shape":
            shape = pattern if wanted == "?" else wanted
            return f"{subject} to have shape {shape}", "its rank is not known" if there == "?" else f"it has {there}"
    return None


def obligation(cond: core.BoolExpr) -> str:
    """The requirement under which an expression has a value, in words, from the checker's condition."""
    if isinstance(cond, core.Logic):
        return obligation(cond.right)
    if not isinstance(cond, core.Compare):
        return DIVISOR
    if isinstance(cond.left, core.RankOf) and isinstance(cond.right, core.SizeLit):
        return f"`{cond.left.tensor}` to have {cond.right.value} or more axes"
    if cond.left == cond.right:
        return FITS
    return QUOTIENT if cond.op == "==" else DIVISOR


def _wanted(stmt: core.Assert, cond: core.Compare, tensor: str, values: Values) -> tuple[str, str]:
    """The size that a dimension has to have, and its size."""
    left, text, axis = cond.left, stmt.origin.text, stmt.origin.axis
    found = f"it is {values.dim(tensor, axis) if axis is not None else _between(left, values)}"
    match cond:
        case core.Compare(op="==", left=core.SizeOp(op="%", right=divisor)):
            rest, factor = remainder(stmt, tensor, values), values.side(divisor)
            more = "" if rest is None or rest == 0 else f"{values.text(rest)} more than "
            more = f"{-rest} less than " if isinstance(rest, int) and rest < 0 else more
            return f"to fit `{text}`" if rest is None else f"to be {more}a multiple of {factor}", found
        case core.Compare(op="==", right=right):
            wanted = values.side(right)
            return f"to be {wanted}" if not text or text == wanted else f"to be {wanted} (`{text}`)", found
        case core.Compare(op=">=", left=core.SizeOp()):
            shifted = shift(stmt, left, tensor, values)
            if shifted is None:
                return f"to fit `{text}`", found
            return f"to be at {'least' if shifted[0] > 0 else 'most'} {values.text(-shifted[0] * shifted[1])}", found
        case core.Compare(left=core.DimOf(tensor=of, axis=axis)) if (of, axis) == (tensor, stmt.origin.axis):
            return f"to be {_BOUNDS[cond.op]} {values.side(cond.right)}", found
    factor = values.side(left)
    if not factor.isdigit():
        return f"to fit `{text}`, whose factor {factor} has to be at least 1", ""
    return f"to fit `{text}`, whose factor {left.span.text or factor} has to be at least 1", f"it is {factor}"


def _between(left: core.ShapeLevel, values: Values) -> str:
    """The size of a dimension between two splices, which the condition names."""
    while isinstance(left, core.SizeOp):
        left = left.left
    return values.side(left)


def remainder(stmt: Check, tensor: str, values: Values) -> Any:
    """The remainder that a dimension must leave by a divisor: 3 for `8 * k + 3`; None if no remainder is asked for."""
    match stmt:
        case core.Assert(cond=core.Compare(op="==", left=core.SizeOp(op="%", left=size, right=divisor))):
            found, factor = shift(stmt, size, tensor, values), values.size(divisor)
            rest = None if found is None or factor is None else -found[0] * found[1]
            return rest % factor if isinstance(rest, int) and isinstance(factor, int) and factor > 0 else rest
    return None


def shift(stmt: core.Assert, expr: core.ShapeLevel, tensor: str, values: Values) -> tuple[int, Any] | None:
    """The sign of the dimension in an expression and the size added to it, or None; a divided one only in a bound (`>=`)."""
    found = offset(expr, tensor, stmt.origin.axis) if isinstance(expr, core.SizeExpr) else None
    if found is not None and found.divisor > 1 and not (isinstance(stmt.cond, core.Compare) and stmt.cond.op == ">="):
        return None
    terms = [(sign, values.size(term)) for sign, term in found.terms] if found is not None else []
    if found is None or any(value is None for _, value in terms):
        return None
    return found.sign, sum((sign * value for sign, value in terms), 0)


def shape_pattern(stmt: Check) -> str:
    """The annotated shape behind an assertion, as written."""
    declared = stmt.origin.declared
    if declared is not None and declared.annotation is not None and declared.annotation.shape is not None:
        return " ".join(declared.annotation.shape.span.text.split())
    return ""
