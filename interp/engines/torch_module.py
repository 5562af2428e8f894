"""A function over PyTorch as an nn.Module: its weights are parameters, and torch.compile takes it whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import torch
from torch import nn
from torch.utils import _pytree as trees

from ..engine_types import Compiled, Kernel, RunValue
from ..names import unmangled


class Host(Protocol):
    """The holder of the program's text for its functions."""

    def parameter(self, slot: str, tensor: torch.Tensor) -> nn.Parameter: ...

    def put(self, weights: Mapping[str, torch.Tensor]) -> None: ...

    def move(self, device: torch.device) -> None: ...

    def followed(self, name: str, args: Sequence[RunValue], weights: Mapping[str, torch.Tensor]) -> RunValue: ...


class TorchFunction(nn.Module):  # type: ignore[misc]
    """A function of a program, whose float weights are its parameters and whose other tensors are its buffers. A call without
    PyTorch tensors records nothing for gradients. Its other attributes are those of the wrapped function."""

    def __init__(self, function: Compiled, runner: Host, weights: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        self.__dict__["_function"] = function
        self._runner = runner
        # The place of each weight: the module that holds it, its name there, and its slot in the program's text.
        self._held: list[tuple[nn.Module, str, str]] = []
        for slot, tensor in weights.items():
            *path, name = unmangled(slot.removeprefix("c_")).split(".")
            self._held.append((self._at(path), name, slot))
            holder = self._held[-1][0]
            if tensor.is_floating_point():
                holder.register_parameter(name, runner.parameter(slot, tensor))
            else:
                holder.register_buffer(name, tensor)
        self._whole = torch.compiler.allow_in_graph(self._followed())
        self.__doc__ = function.__doc__

    def _at(self, path: Sequence[str]) -> nn.Module:
        """The module that holds the weights of an import."""
        holder: nn.Module = self
        for part in path:
            if not hasattr(holder, part):
                holder.add_module(part, nn.Module())
            holder = getattr(holder, part)
        return holder

    def __getattr__(self, name: str) -> RunValue:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.__dict__["_function"], name)

    def _weights(self) -> list[torch.Tensor]:
        return [getattr(holder, name) for holder, name, _ in self._held]

    def _followed(self) -> Callable[..., RunValue]:
        """The function that torch.compile traces for operations alone, over the tensors in arguments and the weights."""
        name, runner, slots = self._function.__name__, self._runner, [slot for _, _, slot in self._held]

        def followed(args: RunValue, weights: RunValue) -> RunValue:
            return runner.followed(name, args, dict(zip(slots, weights, strict=True)))

        return followed

    def forward(self, *args: RunValue, **named: RunValue) -> RunValue:
        if torch.compiler.is_compiling() and not named:
            return self._whole(args, tuple(self._weights()))
        self._runner.put({slot: w for w, (_, _, slot) in zip(self._weights(), self._held, strict=True)})
        if any(map(torch.is_tensor, args)) or any(map(torch.is_tensor, trees.tree_leaves((args, named)))):
            return self._function(*args, **named)
        with torch.no_grad():
            return trees.tree_map(_apart, self._function(*args, **named))

    def _apply(self, fn: Kernel, recurse: bool = True) -> RunValue:
        """Move to another device, but to no other dtype: the program gives the dtypes of its weights."""
        before = [w.dtype for w in self._weights()]
        probes = [fn(torch.empty(0, dtype=dtype)) for dtype in dict.fromkeys(before)]
        if [p.dtype for p in probes] != list(dict.fromkeys(before)):
            raise TypeError("the program says which dtypes its weights have: they cannot be of others")
        made = super()._apply(fn, recurse)
        device = next((w.device for w in self._weights()), probes[0].device if probes else None)
        if device is not None:
            self._runner.move(device)
        return made

    def __repr__(self) -> str:
        return repr(self._function)


def _apart(value: RunValue) -> RunValue:
    return value.detach() if isinstance(value, torch.Tensor) else value
