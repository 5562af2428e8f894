"""`@rx.checked`: a Python function whose calls are checked against its signature."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, overload

from ..lang.diagnostics import RxError
from .api import CheckError
from .declared import DeclaredFunction, Unfit, declared
from .entry_check import EntryCheck
from .forms import Forms

F = TypeVar("F", bound=Callable[..., Any])


@overload
def checked(signature: F, /) -> F: ...
@overload
def checked(signature: str | None = None, /, *, body: bool = False) -> Callable[[F], F]: ...
def checked(signature: str | Callable[..., Any] | None = None, /, *, body: bool = False) -> Any:
    """Give a function of your own a signature in Rx; each call and each result is checked against it.

    The types are Rx's: a name stands for a size; the first argument where it stands alone binds it, and all others have
    to agree. `m * 4` is any multiple of 4, `*b` any number of axes, `?` any size; conditions follow `where`. Without a
    text Rx reads the function's annotations, in jaxtyping's notation. Arrays are those of NumPy, PyTorch, JAX and of the
    array API; the function gets them unchanged. A parameter that the signature leaves out is not checked.

    With `body=True` Rx also proves for all sizes that the body of a PyTorch function keeps the signature, once: when it is
    decorated, or at its first call if the body needs something that does not exist before (the object of a method, arguments
    that are not tensors, names that are defined below). With `--rx-trace` pytest proves all of them when it has collected the
    tests.

    Raises CheckError at the decoration if the signature itself is wrong or the body contradicts it. A call that does not
    fit raises ShapeError, before the function runs or after it.

    >>> import numpy as np, rxlang as rx
    >>> @rx.checked("fn(x : Tensor([n, m * 4], float32), y : Tensor([n], float32)) : Tensor([n], float32)")
    ... def first(x, y):
    ...     return x[:, 0] + y
    >>> first(np.ones((3, 8), np.float32), np.ones(3, np.float32)).tolist()
    [2.0, 2.0, 2.0]
    >>> try:
    ...     first(np.ones((3, 8), np.float32), np.ones(2, np.float32))
    ... except rx.ShapeError as refused:
    ...     print(refused.diagnostic.message)
    @first needs axis 0 of `y` to be 3 (`n`), but it is 2
    >>> str(rx.signature(first))
    '@first = fn(x : Tensor([n, m * 4], float32), y : Tensor([n], float32)) : Tensor([n], float32)'
    """
    if signature is None or isinstance(signature, str):
        return partial(_checked, signature=signature, body=body)
    try:
        return _checked(signature, body=body)
    except (CheckError, Unfit) as problem:
        problem.__traceback__ = None
        raise


def _checked(function: Any, signature: str | None = None, body: bool = False) -> Any:
    try:
        return _entry_check(function, signature, body)
    except (CheckError, Unfit) as problem:
        problem.__traceback__ = None  # it ends where the user decorates
        raise


def _entry_check(function: Any, signature: str | None, body: bool) -> Any:
    if isinstance(function, classmethod | staticmethod):
        return type(function)(_entry_check(function.__func__, signature, body))
    try:
        said = declared(function, signature)
        made = (EntryCheck(function, said) if isinstance(said, DeclaredFunction) else Forms(function, said)).function
        return _proved(function, said, made) if body else made
    except RxError as problem:
        raise CheckError(problem.diagnostics) from None


def _proved(function: Any, said: object, made: Any) -> Any:
    from .bodies import CheckedBody  # few functions ask for it

    found = CheckedBody(function, said, made)
    found.begin()
    return found.entered
