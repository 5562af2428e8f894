"""`rx.torch`: users' rules for their own functions and operations, for traces of PyTorch code."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..frontends.torch.rules import RULES, Rule
from ..lang.diagnostics import RxError
from .api import CheckError
from .declared import DeclaredFunction, Unfit, declared, named, parsed
from .places import Excerpt


def rule(target: Any, signature: str | None = None, /, *, dtype: str | None = None) -> Any:
    """Register a rule for an operation: a function of torch's, a custom operation, a class of torch.autograd.Function, or any
    Python function. Traces then use the rule instead of the operation's code, and no longer just suppose its shapes.

    `signature` is a signature as for `rx.checked`. Without it Rx reads a function's annotations; for any other operation
    the decorated function returns the shape of the result, or a list of shapes, for the shapes of the tensors; its
    assertions are conditions on the sizes. `dtype` is the dtype of the results, if it is not the first tensor's.

    >>> import rxlang as rx
    >>> def doubled(x): ...
    >>> _ = rx.torch.rule(doubled, "fn(x : Tensor([n, d], float32)) : Tensor([n, d * 2], float32)")
    >>> @rx.torch.rule(doubled)
    ... def shape_of_doubled(x):
    ...     return x[0], x[1] * 2
    """
    if signature is not None:
        return _register(target, _parsed(target, signature))
    said = _annotated(target)
    if said is not None:
        return _register(target, said)

    def of_shapes(shapes: Callable[..., Any]) -> Callable[..., Any]:
        names = _names(target, _parameters(shapes))
        _register(target, Rule(_name(target), target, names, shapes=shapes, dtype=dtype))
        return shapes

    return of_shapes


def _register(target: Any, made: Rule) -> Any:
    RULES[id(target)] = made
    return target


def _parsed(target: Any, signature: str) -> Rule:
    try:
        head = f"extern @{_name(target)} = "
        found = parsed(_name(target), Excerpt(f"<the rule of {_name(target)}>", head + signature, head + signature))
    except RxError as problem:
        raise CheckError(problem.diagnostics) from None
    return _of(target, found, signature)


def _of(target: Any, found: DeclaredFunction, text: str) -> Rule:
    return Rule(_name(target), target, _names(target, found.params), text.strip(), found.fn)


def _names(target: Any, said: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a function's parameters; the names in the rule if the function has no readable signature, or other
    names."""
    called = target.forward if isinstance(target, type) and hasattr(target, "forward") else target
    found = _parameters(called)[called is not target :]  # without the context
    return found if set(said) <= set(found) else said


def _parameters(function: Any) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def _annotated(target: Any) -> Rule | None:
    """A rule from a function's annotations; None if they declare no arrays."""
    if not hasattr(target, "__code__"):
        return None
    try:
        found = declared(target, None)
    except (Unfit, RxError):
        return None
    if not isinstance(found, DeclaredFunction) or found.fn.result is None:
        return None
    return _of(target, found, found.source.text.partition("=")[2])


def _name(target: Any) -> str:
    return named(target) if hasattr(target, "__name__") else str(getattr(target, "_name", type(target).__name__))


__all__ = ["rule"]
