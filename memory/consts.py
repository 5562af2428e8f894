"""A program's consts as tensors that take no memory of a call, since they exist before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..interp.lower import lower
from ..interp.steps import Bind, Compute
from ..lang import core
from ..lang.dtypes import DType
from ..lang.stored import Header
from .arrays import Array, width

# The headers of tensors in files, by path and key.
Headers = Mapping[tuple[str, str | None], Header]


def consts(program: core.Program, headers: Headers) -> dict[str, Array]:
    """Return the consts that are tensors whose sizes are numbers, by slot."""
    lowered = lower(program)
    known = dict(_constants(lowered.constants, headers))
    for step in lowered.consts.body.steps:
        if isinstance(step, Bind) and isinstance(step.value, core.Var) and isinstance(step.output, str):
            if step.value.name in known:
                known[step.output] = known[step.value.name]
        elif isinstance(step, Compute) and isinstance(step.output, str) and step.known is not None:
            dims = [d.value for d in step.known.shape or () if isinstance(d, core.SizeLit)]
            if isinstance(step.known.dtype, core.DTypeLit) and len(dims) == len(step.known.shape or ()):
                known[step.output] = _array(tuple(dims), step.known.dtype.dtype)
    return known


def _constants(
    constants: Iterable[tuple[str, core.Load | core.TensorLit]], headers: Headers
) -> Iterator[tuple[str, Array]]:
    for slot, value in constants:
        held = headers.get((value.path, value.key)) if isinstance(value, core.Load) else value
        if held is not None:
            yield slot, _array(held.shape, held.dtype)


def _array(shape: tuple[int, ...], dtype: DType) -> Array:
    return Array(shape, width(dtype), (), tuple(range(len(shape))))
