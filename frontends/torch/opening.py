"""Torch's functions that are written in Python: a call of one with a row is taken, the others are read through."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch

_MODULES = (torch.nn.functional, torch.functional, sys.modules["torch._tensor"])
_QUESTIONS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


@contextmanager
def opened(rows: Mapping[Any, object]) -> Iterator[None]:
    """During this, such a function asks for a tracer only where one of the rows is it."""
    codes = {code for code in (getattr(func, "__code__", None) for func in rows) if code is not None}
    with ExitStack() as during:
        for module in _MODULES:
            for name in _QUESTIONS:
                if hasattr(module, name):
                    during.enter_context(patch.object(module, name, _asking(codes, getattr(module, name))))
        during.enter_context(patch.object(torch.nn.functional, _ATTENTION, _attention))
        yield


_ATTENTION = "scaled_dot_product_attention"


def _attention(*args: Any, own: Any = torch.nn.functional.scaled_dot_product_attention, **named: Any) -> Any:
    """Attention as torch has it, which takes no truth of sizes as `is_causal`: the shapes are the same."""
    return own(*map(_plain, args), **{name: _plain(value) for name, value in named.items()})


def _plain(value: Any) -> Any:
    return False if isinstance(value, torch.SymBool) else value


def _asking(codes: set[Any], own: Any) -> Any:
    def has(*args: Any) -> bool:
        return sys._getframe(1).f_code in codes and bool(own(*args))

    return has
