"""Runs the user's code with numbers and data, to see whether the code fails or only the trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as trees

from ...lang.node import Node
from .arguments import DeclaredInput, rebuilt
from .places import PythonPlace, of_traceback
from .ruled import size_of
from .run import brief
from .target import Target, kept, own_output, staying


class Raised(Node):
    """An exception of the code, and its place."""

    said: str
    place: PythonPlace


def raised(target: Target, sizes: Mapping[str, int]) -> Raised | None:
    """The exception that running the code raises, or None."""
    args = {name: _data(value, sizes) for name, value in target.args.items()}
    ahead = [args.pop(name) for name in target.ahead]
    try:
        with own_output(), torch.no_grad(), _with_data(target.module):
            staying(target.code)(*ahead, **args)
    except Exception as problem:  # noqa: BLE001  # whatever the user's code raises
        name, said = type(problem).__name__, brief(problem)
        return Raised(f"{name}: {said}" if said else name, of_traceback(problem))
    return None


def ran(target: Target, sizes: Mapping[str, int]) -> tuple[dict[str, Any], list[Any]]:
    """The inputs and results of the code at some sizes, as arrays: each input by its name in the trace. Raises the code's
    exceptions."""
    generator = torch.Generator().manual_seed(1)

    def drawn(value: Any) -> Any:
        own = _data(value, sizes)
        if isinstance(value, DeclaredInput) and isinstance(own, torch.Tensor) and not own.dtype.is_floating_point:
            return torch.randint(0, 2, own.shape, generator=generator).to(own.dtype)
        if isinstance(value, dict):
            return {k: drawn(v) for k, v in value.items()}
        return rebuilt(value, list(map(drawn, value))) if isinstance(value, list | tuple) else own

    args = {name: drawn(value) for name, value in target.args.items()}
    given = {name: own for argument, value in args.items() for name, own in _named(argument, value)}
    ahead = [args.pop(name) for name in target.ahead]
    with own_output(), torch.no_grad(), kept(target.module):
        found = staying(target.code)(*ahead, **args)
    made = [one.cpu().numpy() for one in trees.tree_leaves(found) if isinstance(one, torch.Tensor)]
    return {name: own.numpy() for name, own in given.items()}, made


def _named(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The tensors in an argument, by their names in the trace."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, dict | list | tuple):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            yield from _named(f"{name}_{key}", part)


def _data(value: Any, sizes: Mapping[str, int]) -> Any:
    match value:
        case DeclaredInput(dtype=None):
            return sizes[str(value.shape[0])]
        case DeclaredInput():
            return _tensor([size_of(str(d), sizes) for d in value.shape], getattr(torch, str(value.dtype)))
        case dict():
            return {k: _data(v, sizes) for k, v in value.items()}
        case list() | tuple():
            return rebuilt(value, [_data(v, sizes) for v in value])
    return value


def _tensor(shape: list[int], dtype: torch.dtype) -> torch.Tensor:
    """Integers 0, which are indices of every table, or random numbers."""
    if dtype.is_floating_point or dtype.is_complex:
        return torch.rand(shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    return torch.full(shape, dtype is torch.bool, dtype=dtype)


@contextmanager
def _with_data(module: Any) -> Iterator[None]:
    """During this, tensors of a module without data consist of one repeated number, which takes no memory."""
    made: dict[int, torch.Tensor] = {}
    with kept(module):
        for part in module.modules() if module is not None else ():
            for held in (part._parameters, part._buffers):
                for name, own in list(held.items()):
                    if own is not None and own.is_meta:
                        held[name] = made.setdefault(id(own), _one_number(own))
        yield


def _one_number(own: torch.Tensor) -> torch.Tensor:
    found = torch.full((), own.is_floating_point() * 0.01, dtype=own.dtype).expand(own.shape)
    return torch.nn.Parameter(found, requires_grad=False) if isinstance(own, torch.nn.Parameter) else found
