"""Fixes of an extremum along an axis used for that of two tensors, or the reverse: `torch.max(x, y)`, `@max(x, y)`, `max(x)`,
`@maximum(x, axis=1)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...lang import sweet
from ...ops.elsewhere import OF_TWO
from ...ops.elsewhere_args import integer
from ..case import Fix, FixCase
from .foreign import is_library, written

_ALONG = {two: one for one, two in OF_TWO.items()}
_TWO = 2


def fixes(case: FixCase) -> Iterator[Fix]:
    call = case.tree.enclosing(case.diagnostic.span, sweet.Call)
    if case.diagnostic.code.phase != "names" or call is None or "\n" in call.span.text:
        return
    name, of = _called(case, call.callee)
    along, of_two = _ALONG.get(name, name), OF_TWO.get(name, name)
    if along not in OF_TWO or case.tree.function(name) is not None:
        return
    operands = [*of, *(a.value for a in call.args if a.name is None)]
    flags = [a for a in call.args if a.name is not None]
    if len(operands) == _TWO and not flags and integer(operands[1]) is None:
        yield written(case, call, _call(of_two, operands), 0, True)
    elif len(operands) == 1 and not isinstance(call.callee, sweet.Attr):  # otherwise the second operand was forgotten
        yield written(case, call, _call(along, [*operands, *flags]), 0, bool(flags))


def _called(case: FixCase, callee: sweet.Expr) -> tuple[str, tuple[sweet.Expr, ...]]:
    """Return the callee's name, and the tensor whose method it is."""
    match callee:
        case sweet.Attr(value=value, name=sweet.Ident(name=name)):
            return name, () if is_library(case, value) else (value,)
        case sweet.Name(name=name) | sweet.FnName(name=name):
            return name, ()
        case _:
            return "", ()


def _call(name: str, parts: Sequence[sweet.Expr | sweet.Arg]) -> str:
    return f"@{name}({', '.join(part.span.text for part in parts)})"
