"""The range of a `for`: its start, stop and step."""

from __future__ import annotations

from functools import partial
from typing import NoReturn

from ..lang import codes, core, sweet
from ..lang.walk import walk
from . import arguments, levels, shapes
from .code import FunctionCode, spelled
from .errors import fail


def loop_range(code: FunctionCode, loop: sweet.For) -> core.Range:
    expr = loop.iterable
    called = isinstance(expr, sweet.Call) and isinstance(expr.callee, sweet.Name) and expr.callee.name == "range"
    shadowed = code.scope.find("range") is not None and expr.span.text.startswith("range")
    if not called or shadowed or not isinstance(expr, sweet.Call):
        _refuse_iterable(code, expr, loop.index.name)
    if not 1 <= len(expr.args) <= 3 or any(a.name for a in expr.args):
        fail(
            codes.E205, "range takes one to three sizes, by position", expr.span,
            help="`range(n)`, `range(first, end)` or `range(first, end, step)`",
        )  # fmt: skip
    given = code.each(partial(shapes.size, code, a.value) for a in expr.args)
    start = given[0] if len(given) > 1 else core.SizeLit(expr.span, 0)
    step = _step(code, given[2]) if len(given) > 2 else core.SizeLit(expr.span, 1)
    return core.Range(start, given[1] if len(given) > 1 else given[0], step)


def _refuse_iterable(code: FunctionCode, expr: sweet.Expr, index: str) -> NoReturn:
    found, shown = levels.level(code, expr), spelled(expr.span)
    if found == "?":
        arguments.check_names(code, expr)
    helps = {
        "Tensor": f"`range({shown}.dim(0))` counts its rows, and `{shown}[{index}]` is one",
        "Size": f"write `range({shown})`",
        "Number": f"write `range({shown})`",
    }
    short = len(shown) <= 40 and (found != "Tensor" or isinstance(expr, sweet.Name))
    help = helps.get(found) if short else None
    fail(codes.E226, "a `for` counts: behind `in` stands a range", expr.span, help=help or "`range(n)`")


def _step(code: FunctionCode, step: core.SizeExpr) -> core.SizeExpr:
    """Return the step; claim that it is at least 1 unless it is seen to be or the claim exists already."""
    span = step.span
    if isinstance(step, core.SizeLit) and step.value >= 1:
        return step
    if any(isinstance(n, core.DimOf | core.RankOf) for n in walk(step)):
        named = code.name(step, core.SIZE, "step")
        assert isinstance(named, core.SizeVar)
        step = named
    cond = core.Compare(span, ">=", step, core.SizeLit(span, 1))
    declared = core.Declared(span, "range", core.Called("the step of the range"), "", None, (), code.function)
    made = core.Assert(span, cond, None, core.Origin(span, "where", True, declared, None, f"{spelled(span)} >= 1"))
    if made not in code.stmts:
        code.emit(made)
    return step
