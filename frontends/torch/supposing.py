"""The shapes of a call without a row, by torch's own symbolic shapes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import sympy
import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._sympy.value_ranges import ValueRanges

from .ruled import opaque
from .run import brief
from .sizes import SizeQuestion, Symbolic, expr_of, hint_of
from .tensors import NotTraced, TracedTensor, mapped
from .values import Value


class _Sizes(ShapeEnv):
    """A ShapeEnv for one call: questions that only a hint answers are passed on as questions about the sizes of the trace."""

    def __init__(self, tracer: Any) -> None:
        super().__init__(specialize_zero_one=False)
        self.tracer = tracer
        self.own: dict[Any, Any] = {}  # the symbol for each expression of the trace
        self.theirs: dict[Any, Any] = {}

    def size(self, value: Any) -> Any:
        if not isinstance(value, torch.SymInt):
            return value
        expr = expr_of(value)
        if expr not in self.own:
            symbol = sympy.Symbol(f"k{len(self.own)}", integer=True, positive=True)
            self.own[expr], self.theirs[symbol] = symbol, expr
            self.var_to_hint_override_(symbol, hint_of(value))
        return self.create_symintnode(self.own[expr], hint=hint_of(value))

    def var_to_hint_override_(self, symbol: Any, hint: int) -> None:
        for name in ("backed_var_to_val", "var_to_val"):
            if hasattr(self, name):
                getattr(self, name)[symbol] = sympy.Integer(hint)
                break
        self.var_to_range[symbol] = ValueRanges(0, sympy.oo)
        self.var_to_range_sloc[symbol] = None

    def evaluate_expr(self, orig_expr: Any, hint: Any = None, *args: Any, **kwargs: Any) -> Any:
        expr = orig_expr.xreplace(self.theirs)
        if hint is None:
            known = "backed_var_to_val" if hasattr(self, "backed_var_to_val") else "var_to_val"
            hint = orig_expr.xreplace(dict(getattr(self, known)))
            if hint.free_symbols:
                raise NotTraced("torch asks for a size that only data decides")
        return self.tracer.sizes.evaluate_expr(expr, hint)

    def of(self, size: Any, tracer: Any) -> Any:
        """A size of the result, over the sizes of the trace."""
        if not isinstance(size, torch.SymInt):
            return size
        expr = size.node.expr.xreplace(self.theirs)
        if expr.free_symbols & set(self.theirs) or expr.free_symbols - _symbols(tracer):
            return tracer.fresh(3)
        return int(expr) if expr.is_number else tracer.sizes.number(expr, hint_of(size))


def _symbols(tracer: Any) -> set[Any]:
    return {e for e in tracer.sizes.texts if isinstance(e, sympy.Symbol)}


def supposed(tracer: Any, func: Any, args: Any, kwargs: Any) -> Any:
    sizes = _Sizes(tracer)
    mode = FakeTensorMode(shape_env=sizes, allow_non_fake_inputs=True)
    operands: list[Value] = []

    def fake(value: Any) -> Any:
        if isinstance(value, TracedTensor):
            operands.append(value.value)
            dims = tuple(sizes.size(s) for s in value.value.shape)
            return torch.empty(dims, dtype=value.value.dtype)
        if isinstance(value, torch.Tensor):
            operands.append(tracer.constant(value))
            return torch.empty(value.shape, dtype=value.dtype)
        if isinstance(value, torch.SymInt):
            return sizes.size(value)
        return 1.0 if isinstance(value, Symbolic) else value

    asked: list[SizeQuestion] = []
    with _quiet(), mode, enable_python_dispatcher(), torch.no_grad(), patch.object(tracer.sizes, "asked", asked.append):
        found = _tried(func, mapped(args, fake), mapped(kwargs, fake))
    _crossed(tracer, func, (args, kwargs), [sizes.of(s, tracer) for s in _dims(found)], asked)
    return _answer(tracer, sizes, operands, found)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence torch's log of exceptions: they are reported in our words."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)


def _tried(func: Any, args: Any, kwargs: Any) -> Any:
    """The result of torch. Raises NotTraced where torch refuses symbolic sizes, since other sizes may still fit."""
    try:
        return func(*args, **kwargs)
    except (AssertionError, ValueError, RuntimeError, IndexError) as problem:
        if not any(isinstance(size, torch.SymInt) for size in _dims([*args, *kwargs.values()])):
            raise
        name = torch.overrides.resolve_name(func) or "this function"
        raise NotTraced(f"{name} has no rule, and torch has no shapes for it: {brief(problem)}") from None


def _crossed(tracer: Any, func: Any, given: Any, dims: list[Any], asked: list[SizeQuestion]) -> None:
    """Ask the questions again that decide the result; those whose other answer gives the same result are dropped."""
    hints = {expr_of(s): hint_of(s) for s in tracer.symbols.values()}
    seen: dict[tuple[int, ...], bool] = {}

    def is_same_at(point: dict[Any, int]) -> bool:
        key = tuple(point.values())
        if key not in seen:
            seen[key] = _sizes_at(func, given, point) == [_at(d, point) for d in dims]
        return seen[key]

    for question in dict.fromkeys(asked):
        points = list(_other_side(question, hints)) if question.is_truth else []
        if not points or not all(map(is_same_at, points)):
            tracer.sizes.asked(question)


def _other_side(question: SizeQuestion, hints: dict[Any, int]) -> Iterator[dict[Any, int]]:
    """Small sizes, and those near the hints, with the other answer; one size at a time."""
    for symbol in question.expr.free_symbols & set(hints):
        for size in sorted({*range(5), hints[symbol] - 1, hints[symbol] + 1, 2 * hints[symbol]}):
            point = {**hints, symbol: size}
            if question.expr.subs(point) == sympy.Not(sympy.sympify(question.answer)):
                yield point


def _at(size: Any, point: dict[Any, int]) -> Any:
    if not isinstance(size, Symbolic):
        return size
    found = size.node.expr.subs(point)
    return int(found) if found.is_Integer else found


def _sizes_at(func: Any, given: Any, point: dict[Any, int]) -> list[int] | None:
    """The sizes of a call's results at concrete sizes; None where torch refuses them."""

    def put(value: Any) -> Any:
        if isinstance(value, TracedTensor):
            return torch.empty([_at(s, point) for s in value.value.shape], dtype=value.value.dtype, device="meta")
        return value.to("meta") if isinstance(value, torch.Tensor) else _at(value, point)

    try:
        with torch.no_grad():
            return _dims(func(*mapped(given[0], put), **mapped(given[1], put)))
    except (RuntimeError, ValueError, IndexError, TypeError):
        return None


def _dims(found: Any) -> list[Any]:
    if isinstance(found, torch.Tensor):
        return list(found.shape)
    return [d for one in found for d in _dims(one)] if isinstance(found, (list, tuple)) else [found]


def _answer(tracer: Any, sizes: _Sizes, operands: list[Value], found: Any) -> Any:
    if isinstance(found, torch.Tensor):
        shape = tuple(sizes.of(s, tracer) for s in found.shape)
        value = opaque(tracer, [tracer.let(o) for o in operands], shape, found.dtype)
        return TracedTensor.made(tracer, value)
    if isinstance(found, (list, tuple)):
        parts = [_answer(tracer, sizes, operands, f) for f in found]
        is_named = hasattr(type(found), "n_fields")  # `values` and `indices` of torch's results
        return type(found)(parts) if is_named else tuple(parts)
    return sizes.of(found, tracer)
