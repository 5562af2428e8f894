"""Replacements of `int`, `float`, `len`, `min` and `max` in the user's modules, those of a model's classes and torch's
recurrent ones, and of functions of `math`, during a trace: they keep sizes symbolic. Exceptions that they and divisions raise
for some sizes become facts that the code states."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial, reduce
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch.utils._sympy import functions

from .places import is_library, is_own, parsed
from .sizes import function_of, quotient, sign_of, zero_of
from .tensors import TracedTensor

_PACKAGE = str(Path(__file__).parents[2])


_INSTANCES: dict[str, tuple[type, ...]] = {"WholeNumber": (int, torch.SymInt), "Real": (float, torch.SymFloat)}


class _Kind(type):
    """The class of the replacements of `int` and `float`: their instances are those of the original, and symbolic numbers."""

    def __instancecheck__(cls, one: Any) -> bool:
        return isinstance(one, _INSTANCES[cls.__name__])


class WholeNumber(int, metaclass=_Kind):
    """The replacement of `int`."""

    def __new__(cls, value: Any = 0, *more: Any) -> Any:
        if isinstance(value, torch.SymInt):
            return value
        if isinstance(value, torch.SymFloat):
            return _cut(value)
        is_whole = isinstance(value, TracedTensor) and not (value.dtype.is_floating_point or value.dtype is torch.bool)
        return value.item() if is_whole else int(value, *more)


class Real(float, metaclass=_Kind):
    """The replacement of `float`."""

    def __new__(cls, value: Any = 0.0) -> Any:
        return torch.sym_float(value) if isinstance(value, (torch.SymInt, torch.SymFloat)) else float(value)


def _cut(value: torch.SymFloat) -> Any:
    """A float made of a size, cut to an integer, exactly; its number by the hints, where that cannot be written."""
    size, below = quotient(value.node.expr) or (None, None)
    if size is None or not size.is_nonnegative:
        return int(value)
    return value.node.shape_env.number(functions.FloorDiv(size, below), int(value.node.hint))


def length(value: Any) -> Any:
    """The replacement of `len`."""
    return value.shape[0] if isinstance(value, TracedTensor) and value.value.rank else len(value)


def _function(name: str, check: Callable[[Any], None]) -> Callable[..., Any]:
    """A function of `math` that also takes symbolic numbers, where it is defined."""
    own = getattr(math, name)

    def applied(x: Any, *more: Any) -> Any:
        if more or not isinstance(x, (torch.SymInt, torch.SymFloat)):
            return own(x, *more)
        number = own(x.node.hint)
        check(x)
        return function_of(name, x, number)

    return applied


def _is_of_sizes(number: Any) -> bool:
    """Whether a number is made of sizes alone; data decides others."""
    return all(bool(symbol.is_integer) for symbol in number.node.expr.free_symbols)


def _check_nonnegative(number: Any) -> None:
    sign = sign_of(number.node.expr) if _is_of_sizes(number) else None
    torch._check(sign is None or number.node.shape_env.number(sign, int(number.node.hint)) >= 0)


def _check_positive(number: Any) -> None:
    _check_nonnegative(number)
    _check_nonzero(number)


def _check_nonzero(number: Any) -> None:
    """State that a symbolic number is not 0, by a size that is 0 exactly then, if there is one."""
    zero = zero_of(number.node.expr) if _is_of_sizes(number) else None
    torch._check(zero is None or number.node.shape_env.number(zero, int(number.node.hint) or 1) != 0)


_MATH = {
    "sqrt": _function("sqrt", _check_nonnegative),
    "exp": _function("exp", lambda _: None),
    **{name: _function(name, _check_positive) for name in ("log", "log2", "log10")},
}


def _dividing(own: Callable[[Any, Any], Any], divisor: int) -> Callable[[Any, Any], Any]:
    """An operator of symbolic numbers that raises where its left (0) or right (1) operand is 0."""

    def divided(*operands: Any) -> Any:
        by = operands[divisor]
        if isinstance(by, (torch.SymInt, torch.SymFloat)) and not is_own(sys._getframe(1)):
            if not by.node.hint:
                raise ZeroDivisionError("division by zero")
            _check_nonzero(by)
        return own(*operands)

    return divided


def _power(own: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def powered(base: Any, exponent: Any) -> Any:
        if isinstance(exponent, (int, float)) and exponent < 0 and not is_own(sys._getframe(1)):
            _check_nonzero(base)
        return own(base, exponent)

    return powered


def _operators(kind: type) -> Iterator[tuple[str, Any]]:
    """The operators of symbolic numbers that raise for some."""
    for sign in ("truediv", "floordiv", "mod"):
        for name, divisor in ((f"__{sign}__", 1), (f"__r{sign}__", 0)):
            if (own := getattr(kind, name, None)) is not None:
                yield name, _dividing(own, divisor)
    yield "__pow__", _power(getattr(kind, "__pow__"))  # noqa: B009


def _least(*values: Any, own: Any = min, join: Any = torch.sym_min, **named: Any) -> Any:
    """The replacement of `min`, and of `max`: for sizes, or for a list or an iterator of sizes, the result is one size."""
    found = values if len(values) != 1 or isinstance(values[0], torch.Tensor) else tuple(values[0])
    is_of_sizes = not named and any(isinstance(v, torch.SymInt) for v in found)
    if not is_of_sizes or not all(isinstance(v, (int, torch.SymInt)) for v in found):
        return own(found, **named)
    return reduce(join, found)


_most = partial(_least, own=max, join=torch.sym_max)
_STANDING = {"int": WholeNumber, "float": Real, "len": length, "min": _least, "max": _most}


@contextmanager
def standing(model: torch.nn.Module | None) -> Iterator[None]:
    """During this, the replacements are in the user's modules and in those of a model's classes."""
    put = [(names, name) for names, file in _modules(model) for name in _called_in(file) if name not in names]
    for names, name in put:
        names[name] = _STANDING[name]
    try:
        with ExitStack() as during:
            for name, function in _MATH.items():
                during.enter_context(patch.object(math, name, function))
            for kind in (torch.SymInt, torch.SymFloat):
                for name, operator in _operators(kind):
                    during.enter_context(patch.object(kind, name, operator))
            yield
    finally:
        for names, name in put:
            names.pop(name, None)


def _modules(model: torch.nn.Module | None) -> Iterator[tuple[dict[str, Any], str]]:
    classes = {type(part).__module__ for part in model.modules()} if model is not None else set()
    installed = {name for name in classes if not name.startswith("torch.")} | {torch.nn.modules.rnn.__name__}
    for name, module in list(sys.modules.items()):
        file, names = getattr(module, "__file__", None), getattr(module, "__dict__", None)
        is_own = isinstance(file, str) and not file.startswith(_PACKAGE + "/") and not is_library(file)
        if (is_own or name in installed) and isinstance(names, dict):
            yield names, str(file)


@cache
def _called_in(file: str) -> frozenset[str]:
    """The replaced names that a module only calls, or uses to ask for instances or to annotate."""
    nodes = list(ast.walk(parsed(file) or ast.Module([], [])))
    fine = {id(n) for one in nodes for n in _fine(one)}
    used = [n for n in nodes if isinstance(n, ast.Name) and n.id in _STANDING]
    return frozenset(n.id for n in used) - {n.id for n in used if id(n) not in fine}


def _fine(node: ast.AST) -> Iterator[ast.AST]:
    """The names that a node calls, asks for instances of, or annotates with."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
            yield from ast.walk(kinds)
        case ast.Call():
            yield node.func
        case ast.arg(annotation=ast.expr() as kind) | ast.AnnAssign(annotation=kind):
            yield from ast.walk(kind)
        case ast.FunctionDef(returns=ast.expr() as kind):
            yield from ast.walk(kind)
        case _:
            pass
