"""Torch's functions that are written in Python: calls of those with a row are intercepted, the others are traced through."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import torch
from torch._functorch import apis as _apis
from torch.utils import _pytree as trees

from .sizes import is_same
from .tensors import all_traced

_MODULES = (torch.nn.functional, torch.functional, sys.modules["torch._tensor"])
_QUESTIONS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


@contextmanager
def opened(rows: Mapping[Any, object]) -> Iterator[None]:
    """During this, such a function asks for a tracer only if it has a row."""
    codes = {code for code in (getattr(func, "__code__", None) for func in rows) if code is not None}
    with ExitStack() as during:
        for module in _MODULES:
            for name in _QUESTIONS:
                if hasattr(module, name):
                    during.enter_context(patch.object(module, name, _asking(codes, getattr(module, name))))
        during.enter_context(patch.object(torch.nn.functional, _ATTENTION, _attention))
        during.enter_context(patch.object(_apis, "vmap_impl", _batched))
        during.enter_context(patch.object(torch.jit.ScriptFunction, "__call__", _as_written))
        yield


_ATTENTION = "scaled_dot_product_attention"


def _attention(*args: Any, own: Any = torch.nn.functional.scaled_dot_product_attention, **named: Any) -> Any:
    """Torch's attention, which takes no symbolic boolean as `is_causal`: it gets False, since the shapes are the same."""
    return own(*map(_plain, args), **{name: _plain(value) for name, value in named.items()})


def _as_written(compiled: Any, *args: Any, own: Any = torch.jit.ScriptFunction.__call__, **named: Any) -> Any:
    """Call the Python source of a function that `torch.jit.script` compiled."""
    return getattr(compiled, "_torchdynamo_inline", partial(own, compiled))(*args, **named)


def _batched(func: Any, ins: Any, outs: Any, *how: Any, own: Any = _apis.vmap_impl, **named: Any) -> Any:
    """`torch.vmap`: run the function once on a sample of the batch, and repeat its results as often as the batch is long."""
    args = how[2:]  # after the randomness and the chunk size
    flat, spec = trees.tree_flatten(args)
    axes = trees._broadcast_to_and_flatten(ins, spec)
    first = next(((x, a) for x, a in zip(flat, axes or (), strict=False) if a is not None), None)
    tracer = next((x.tracer for x in all_traced((flat, named))), None)
    if first is None or tracer is None:
        return own(func, ins, outs, *how, **named)
    count = first[0].shape[first[1]]
    with tracer.calling("torch.vmap"):
        for x, axis in zip(flat, axes, strict=True):
            if axis is not None and is_same(x.shape[axis], count) is not True:
                tracer.write(f"assert {tracer.sizes.text(x.shape[axis])} == {tracer.sizes.text(count)}")
    one = [x if axis is None else _one_of(x, axis) for x, axis in zip(flat, axes, strict=True)]
    found, made = trees.tree_flatten(func(*trees.tree_unflatten(one, spec), **named))
    behind = trees._broadcast_to_and_flatten(outs, made)
    each = (x if a is None else x.expand(count, *x.shape).movedim(0, a) for x, a in zip(found, behind, strict=True))
    return trees.tree_unflatten(list(each), made)


def _one_of(x: torch.Tensor, axis: int) -> torch.Tensor:
    """An element of a batch with the facts that hold for all; its largest index is in range if all are."""
    return x.sum(axis) if x.is_floating_point() or x.is_complex() else x.amax(axis)


def _plain(value: Any) -> Any:
    return False if isinstance(value, torch.SymBool) else value


def _asking(codes: set[Any], own: Any) -> Any:
    def has(*args: Any) -> bool:
        return sys._getframe(1).f_code in codes and bool(own(*args))

    return has
