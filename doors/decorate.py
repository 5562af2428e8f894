"""`@rx.checked`: a Python function whose calls are checked against its signature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from ..api import CheckError
from ..lang.diagnostics import RxError
from .declared import declared
from .door import Door

F = TypeVar("F", bound=Callable[..., Any])


@overload
def checked(signature: F, /) -> F: ...
@overload
def checked(signature: str | None = None, /) -> Callable[[F], F]: ...
def checked(signature: Any = None, /) -> Any:
    if signature is None or isinstance(signature, str):
        return lambda function: _checked(function, signature)
    return _checked(signature, None)


def _checked(function: Any, signature: str | None) -> Any:
    if isinstance(function, classmethod | staticmethod):
        return type(function)(_checked(function.__func__, signature))
    try:
        return Door(function, declared(function, signature)).function
    except RxError as problem:
        raise CheckError(problem.diagnostics) from None
