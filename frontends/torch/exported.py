"""Inputs that a module declares for `torch.export`: `dynamic_shapes`, beside the arguments of an example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from ...lang.node import Node
from .arguments import DTYPES, DeclaredInput, declared_in, is_size, rebuilt, sizes_in

# The names that modules use.
SHAPES = ("dynamic_shapes", "DYNAMIC_SHAPES")
_ARGS = ("example_inputs", "EXAMPLE_INPUTS", "example_args", "EXAMPLE_ARGS", "args", "ARGS")
_KWARGS = ("example_kwargs", "EXAMPLE_KWARGS", "kwargs", "KWARGS")


class ExportInputs(Node):
    """Arguments by name, with DeclaredInput in place of inputs, and the conditions of their dimensions on sizes."""

    values: Mapping[str, Any]
    given: tuple[str, ...]


def exported(scope: Mapping[str, Any], params: Sequence[str]) -> ExportInputs | None:
    """The inputs that a module declares for a function with these parameters; None where it declares none, or those of
    another function."""
    shapes = _first(scope, SHAPES, (dict, list, tuple))
    args = _first(scope, _ARGS, (tuple, list, dict, torch.Tensor))
    kwargs = _first(scope, _KWARGS, (dict,)) or {}
    if shapes is None or args is None and not kwargs:
        return None
    if isinstance(args, dict):
        kwargs, args = {**args, **kwargs}, ()
    args = () if args is None else (args,) if isinstance(args, torch.Tensor) else tuple(args)
    specs = dict(shapes) if isinstance(shapes, dict) else dict(zip(params, shapes, strict=False))
    examples = {**dict(zip(params, args, strict=False)), **kwargs}
    if not set(specs) <= set(examples) <= set(params) or len(args) > len(params):
        return None
    reader = _Reader()
    values = {name: reader.value(name, example, specs.get(name)) for name, example in examples.items()}
    given = tuple(reader.given(sizes_in(tuple(values.values()))))
    return ExportInputs(values, given) if next(declared_in(tuple(values.values())), None) is not None else None


def _first(scope: Mapping[str, Any], names: Sequence[str], kinds: tuple[type, ...]) -> Any:
    return next((scope[name] for name in names if isinstance(scope.get(name), kinds)), None)


class _Reader:
    def __init__(self) -> None:
        # The size for each dimension, by its name or its place, and the dimension.
        self.sizes: dict[str, str] = {}
        self.dims: dict[str, Any] = {}

    def value(self, name: str, example: Any, spec: Any) -> Any:
        match example:
            case torch.Tensor():
                dtype = str(example.dtype).removeprefix("torch.")
                parts = [self._dim(f"{name}_{axis}", n, _at(spec, axis)) for axis, n in enumerate(example.shape)]
                return DeclaredInput(dtype, tuple(parts)) if dtype in DTYPES else example
            case bool():
                return example
            case int():
                found = self._dim(name, example, spec)
                return example if isinstance(found, int) else DeclaredInput(None, (found,))
            case dict():
                return {k: self.value(f"{name}_{k}", v, _at(spec, k)) for k, v in example.items()}
            case list() | tuple():
                return rebuilt(example, [self.value(f"{name}_{n}", v, _at(spec, n)) for n, v in enumerate(example)])
        return example

    def _dim(self, place: str, size: int, dim: Any) -> int | str:
        """A size: that of the example if it is static, else its name, or its place as a name."""
        hint = getattr(getattr(dim, "type", dim), "name", None)
        if dim is None or isinstance(dim, int) or hint == "STATIC":
            return int(size)
        told = dim if isinstance(dim, str) else getattr(dim, "__name__", place)
        if told not in self.sizes:
            found = told if is_size(told) else place
            while found in self.sizes.values() or not is_size(found):
                found += "_"
            self.sizes[told], self.dims[told] = found, dim
        return self.sizes[told]

    def given(self, names: Sequence[str]) -> Iterator[str]:
        """The conditions of the dimensions on sizes: ranges, and derivations from other sizes."""
        for told, dim in self.dims.items():
            name, root = self.sizes[told], getattr(dim, "root", None)
            if root is not None:
                more, factor = dim.fn(0), dim.fn(1) - dim.fn(0)
                of = self.sizes.get(root.__name__)
                if of in names:
                    yield f"{name} == {factor} * {of}" + (f" {'-' if more < 0 else '+'} {abs(more)}" if more else "")
                    continue
                yield f"({name} + {-more % factor}) % {factor} == 0"
            least, most = getattr(dim, "min", None), getattr(dim, "max", None)
            if isinstance(least, int) and least > 0:
                yield f"{name} >= {least}"
            if isinstance(most, int):
                yield f"{name} <= {most}"


def _at(spec: Any, key: Any) -> Any:
    """The part of a specification for an axis or an item."""
    if isinstance(spec, dict):
        return spec.get(key)
    return spec[key] if isinstance(spec, (list, tuple)) and isinstance(key, int) and key < len(spec) else None
