"""The words of the table's expressions beside Rx's primitives, and the rows that are functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from ...ops import registry
from ...ops.axes import total
from ...ops.model import TensorInfo
from ...ops.slices import SENTINEL, slice_length
from . import places
from .sizes import Symbolic, difference, expr_of, is_same
from .tensors import TracedTensor
from .trace import NoRow, Tracer
from .values import Impossible, ListIndex, Value, is_static

FUNCTIONS: list[tuple[str, Callable[..., Any]]] = []


def row(names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a function as a row; its first parameter is the tracer."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.append((names, function))
        return function

    return add


def namespace(tracer: Tracer) -> dict[str, Any]:
    """The names in a row's expression."""
    found: dict[str, Any] | None = tracer.__dict__.get("_namespace")
    if found is None:
        found = {name: partial(tracer.calls.call, name) for name in registry.names()}
        found |= {name: partial(function, tracer) for name, function in WORDS.items()}
        found |= {name: getattr(torch, name) for name in TORCH_NAMES}
        found["bool_"] = torch.bool
        tracer.__dict__["_namespace"] = found
    return found


# Words

TORCH_NAMES = ("bfloat16", "float16", "float32", "float64", "complex64", "complex128", "uint8", "int8", "int16", "int32",
               "int64")  # fmt: skip
WORDS: dict[str, Callable[..., Any]] = {}


def word(function: Callable[..., Any]) -> Callable[..., Any]:
    WORDS[function.__name__] = function
    return function


@word
def to(tracer: Tracer, x: Value, dtype: torch.dtype | None) -> Value:
    """x in a dtype, if one is given."""
    return x if dtype is None or x.dtype == dtype else tracer.calls.call("cast", x, dtype)


@word
def cast(tracer: Tracer, x: Any, dtype: torch.dtype) -> Value:
    return to(tracer, tensor(tracer, x, dtype), dtype)


@word
def real(tracer: Tracer, x: Value) -> Value:
    """x as floats, if its elements are integers."""
    return x if x.dtype.is_floating_point or x.dtype.is_complex else to(tracer, x, torch.float32)


@word
def whole(tracer: Tracer, x: Value) -> Value:
    """x as sums take it: integers and booleans in int64."""
    return x if x.dtype.is_floating_point or x.dtype.is_complex else to(tracer, x, torch.int64)


@word
def tensor(tracer: Tracer, x: Any, like: Any = None) -> Value:
    """A number as a tensor beside others."""
    if isinstance(x, Value):
        return x
    dtype = like.dtype if isinstance(like, Value) else like or _dtype_of(x)
    return tracer.scalar(x, dtype)


def _dtype_of(x: Any) -> torch.dtype:
    if isinstance(x, (bool, torch.SymBool)):
        return torch.bool
    return torch.int64 if isinstance(x, (int, torch.SymInt)) else torch.float32


@word
def same(tracer: Tracer, *operands: Any) -> tuple[Value, ...]:
    """Operands in the dtype that torch computes in."""
    dummies = [
        torch.empty((1,) * min(x.rank, 1), dtype=x.dtype, device="meta") if isinstance(x, Value) else _plain(x)
        for x in operands
    ]
    dtype = _joined(tuple(dummies))
    return tuple(to(tracer, tensor(tracer, x, dtype), dtype) for x in operands)


def _plain(x: Any) -> Any:
    if isinstance(x, torch.SymInt):
        return 1
    return 1.0 if isinstance(x, Symbolic) else x


def _joined(operands: tuple[Any, ...]) -> torch.dtype:
    found = operands[0]
    if len(operands) == 1:
        return found.dtype if isinstance(found, torch.Tensor) else _dtype_of(found)
    for other in operands[1:]:
        found = torch.empty((1,), dtype=torch.result_type(found, other), device="meta")
    return torch.result_type(operands[0], operands[1]) if len(operands) == 2 else found.dtype


@word
def same_all(tracer: Tracer, operands: Any) -> tuple[Value, ...]:
    return same(tracer, *operands)


@word
def times(tracer: Tracer, x: Any, factor: Any) -> Any:
    if isinstance(factor, (int, float)) and factor == 1:
        return x
    return tracer.calls.call("multiply", *same(tracer, x, factor)) if isinstance(x, Value) else x * factor


@word
def divided(tracer: Tracer, x: Any, y: Any, rounding: str | None) -> Value:
    left, right = same(tracer, x, y)
    if rounding == "floor":
        return tracer.calls.call("floor_divide", left, right)
    quotient = tracer.calls.call("divide", real(tracer, left), real(tracer, right))
    return quotient if rounding is None else to(tracer, tracer.calls.call("trunc", quotient), left.dtype)


@word
def unknown(tracer: Tracer, x: Value) -> Value:
    """A tensor with the shape and dtype of x, and unknown elements."""
    noise = tracer.scalar(tracer.sizes.real("number"), x.dtype)
    call = "logical_xor" if x.dtype is torch.bool else "add"
    return tracer.calls.call(call, x, noise)


@word
def axes(tracer: Tracer, dim: Any) -> Any:
    return None if dim is None or dim == () else dim


@word
def listed(tracer: Tracer, sizes: Any) -> Any:
    """The sizes in `*sizes`, which may be one list; a size may be a tensor of rank 0."""
    found = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes
    return tuple(tracer.number_in(one) if isinstance(one, Value) and not one.rank else one for one in found)


def positive(tracer: Tracer, sizes: Any) -> None:
    """Assert that sizes are at least 1."""
    for one in sizes:
        if not isinstance(one, int) and not expr_of(one).is_positive:
            tracer.write(f"assert {tracer.sizes.text(one)} >= 1")


@word
def viewed(tracer: Tracer, x: Value, shape: Any) -> Value:
    if len(shape) == 1 and isinstance(shape[0], torch.dtype):
        raise NoRow
    sizes = listed(tracer, shape)
    others = [s for s in sizes if not (isinstance(s, int) and s == -1)]
    if len(others) < len(sizes) and any(isinstance(s, int) and s == 0 for s in others):
        raise Impossible(f"@reshape({x.text}, [{', '.join(map(tracer.sizes.text, sizes))}])")
    if len(others) < len(sizes) and not all(isinstance(s, int) and s > 0 for s in others):
        positive(tracer, others)  # beside a 0 the value of -1 is unknown
    return tracer.calls.call("reshape", x, sizes)


@word
def expanded(tracer: Tracer, x: Value, sizes: Any) -> tuple[Any, ...]:
    """The sizes of an `expand`, with the operand's own in place of -1."""
    ahead = len(sizes) - x.rank
    return tuple(
        x.shape[n - ahead] if isinstance(s, int) and s == -1 and n >= ahead else s for n, s in enumerate(sizes)
    )


@word
def converted(tracer: Tracer, x: Value, *args: Any, **named: Any) -> Value:
    """x in the given dtype, or in that of the given tensor or type."""
    given = [getattr(torch, a.rpartition(".")[2], a) if isinstance(a, str) else a for a in (*args, *named.values())]
    kinds = [a if isinstance(a, torch.dtype) else getattr(a, "dtype", None) for a in given]
    return to(tracer, x, next((k for k in kinds if isinstance(k, torch.dtype)), None))


# Rows that are functions


@word
def other_than(_: Tracer, default: float, eps: float) -> dict[str, float]:
    """The argument of a norm, if it is not the primitive's default."""
    return {} if eps == default else {"epsilon": float(eps)}


@row("torch.arange")
def arange(tracer: Tracer, start: Any, end: Any = None, step: Any = 1, *, dtype: torch.dtype | None = None) -> Value:
    start, end = (0, start) if end is None else (start, end)
    if any(isinstance(v, (Value, torch.SymFloat)) for v in (start, end, step)) or not isinstance(step, (int, float)):
        raise NoRow
    kind = torch.float32 if any(isinstance(v, float) for v in (start, end, step)) else torch.int64
    parts = [float(v).as_integer_ratio() if isinstance(v, float) else (v, 1) for v in (start, end, step)]
    shared = max(below for _, below in parts)  # powers of two
    if shared > 2**20 or step == 0:
        raise NoRow
    first, last, by = (above * (shared // below) for above, below in parts)
    order = (first, last) if by > 0 else (last, first)
    if not all(isinstance(v, int) for v in order) or order[0] > order[1]:
        tracer.write(f"assert {tracer.sizes.text(order[0])} <= {tracer.sizes.text(order[1])}")
    found = tracer.calls.call("arange", first, last, by, dtype=dtype or kind)
    return found if shared == 1 else tracer.calls.call("divide", found, tracer.scalar(shared, found.dtype))


@row("torch.tensor torch.as_tensor torch.asarray")
def of_numbers(tracer: Tracer, data: Any, dtype: torch.dtype | None = None, **_: Any) -> Value:
    if isinstance(data, (list, tuple)):
        parts = [of_numbers(tracer, d, dtype) for d in data]
        return tracer.calls.call("stack", same(tracer, *parts))
    found = tensor(tracer, data, dtype)
    return to(tracer, found, dtype)


@row(".split torch.split_with_sizes torch.Tensor.split_with_sizes torch.functional.split")
def split(tracer: Tracer, tensor: Value, split_size_or_sections: Any, dim: int = 0) -> Any:
    if isinstance(split_size_or_sections, (list, tuple)):
        return tracer.calls.call("split", tensor, sizes=tuple(split_size_or_sections), axis=dim)
    size, count = tensor.shape[dim], places.names_of_parts(places.here()[0], ".split(")
    if not is_static(size) or not is_static(split_size_or_sections):
        if count > 1:
            return parts(tracer, tensor, split_size_or_sections, dim, count)
        size = int(size)  # the list needs its number of tensors
        split_size_or_sections = int(split_size_or_sections)
    each = int(split_size_or_sections)
    sizes = [min(each, int(size) - at) for at in range(0, int(size), each)] or [0]
    return tracer.calls.call("split", tensor, sizes=tuple(sizes), axis=dim)


def parts(tracer: Tracer, tensor: Value, each: Any, dim: int, count: int) -> Any:
    """As many parts as there are names to unpack them, with a check of that number."""
    size, before = tensor.shape[dim], each * (count - 1)
    most, least, text = (tracer.sizes.text(n) for n in (each * count, before, size))
    tracer.write(f'assert {least} < {text} && {text} <= {most}, "{count} names take the parts"', "stated")
    return tracer.calls.call("split", tensor, sizes=(*(each,) * (count - 1), size - before), axis=dim)


@row(".chunk")
def chunk(tracer: Tracer, input: Value, chunks: Any, dim: int = 0) -> Any:
    size, count = input.shape[dim], int(chunks)
    if not is_static(size):
        if is_same(size % count, 0) is True:
            return tracer.calls.call("split", input, sections=count, axis=dim)
        each = (size + count - 1) // count
        if not (size % count == 0 or size > (count - 1) * each):  # there are fewer chunks
            size = int(size)
        else:
            sizes = (*(each,) * (count - 1), size - (count - 1) * each)
            return tracer.calls.call("split", input, sizes=sizes, axis=dim)
    if int(size) == 0:
        return tracer.calls.call("split", input, sizes=(0,) * count, axis=dim)
    return split(tracer, input, -(-int(size) // count), dim)


@row(".unbind")
def unbind(tracer: Tracer, input: Value, dim: int = 0) -> Any:
    if not is_static(input.shape[dim]):
        at = [slice(None)] * (dim % input.rank)
        return tuple(sliced(tracer, input, [*at, i]) for i in range(int(input.shape[dim])))
    return tracer.calls.call("unstack", input, axis=dim)


@row(".squeeze")
def squeeze(tracer: Tracer, input: Value, dim: Any = None) -> Value:
    asked = range(input.rank) if dim is None else dim if isinstance(dim, tuple) else (dim,)
    found = [a for a in asked if input.rank and bool(input.shape[a] == 1)]
    return tracer.calls.call("squeeze", input, axis=tuple(found)) if found else input


_MODES = {"nearest": (3, 4, 5), "nearest-exact": (3, 4, 5), "area": (3, 4, 5), "linear": (3,), "bilinear": (4,),
          "bicubic": (4,), "trilinear": (5,), "lanczos": (4,)}  # fmt: skip


@row("F.interpolate")
def interpolate(
    tracer: Tracer, input: Value, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: Any = None, recompute_scale_factor: Any = None, antialias: bool = False,
) -> Value:  # fmt: skip
    count = input.rank - 2
    is_linear = mode in ("linear", "bilinear", "bicubic", "trilinear")
    if input.rank not in _MODES.get(mode, ()) or (size is None) == (scale_factor is None):
        raise NoRow
    if align_corners is not None and not is_linear or recompute_scale_factor and size is not None:
        raise NoRow
    given = size if size is not None else scale_factor
    each = tuple(given) if isinstance(given, (list, tuple)) else (given,) * count
    if len(each) != count:
        raise NoRow
    sizes = each if size is not None else tuple(_scaled(s, f) for s, f in zip(input.shape[2:], each, strict=True))
    positive(tracer, (*input.shape[1:], *sizes))
    return tracer.calls.call("resize", input, sizes, mode="linear" if is_linear else "nearest")


def _scaled(size: Any, factor: Any) -> Any:
    if isinstance(factor, torch.SymFloat):
        raise NoRow
    if float(factor) == int(factor):
        return size * int(factor)
    above, below = float(factor).as_integer_ratio()
    if below > 64:
        raise NoRow
    return size * above // below


@row("F.pad torch._C._nn.pad")
def pad(tracer: Tracer, input: Value, pad: Any, mode: str = "constant", value: Any = None) -> Value:
    if mode not in ("constant", "reflect", "replicate", "circular") or len(pad) % 2 or len(pad) > 2 * input.rank:
        raise NoRow
    pad = [tracer.number_in(p) if isinstance(p, Value) else p for p in pad]
    if mode != "constant" and any(isinstance(p, int) and p < 0 for p in pad):
        raise NoRow
    pairs = [(pad[n], pad[n + 1]) for n in range(0, len(pad), 2)][::-1]
    name = {"replicate": "edge", "circular": "wrap"}.get(mode, mode)
    inside = max(0, input.rank - len(pairs) - (mode != "circular"))  # the channels too, as torch demands
    for size in input.shape[inside:] if mode != "constant" else ():
        if not isinstance(size, int) or size == 0:
            tracer.write(f"assert {tracer.sizes.text(size)} >= 1")
    every = tuple([(0, 0)] * (input.rank - len(pairs)) + pairs)
    if mode == "circular":
        _wrapped_once(tracer, input.shape, every)
    if mode != "constant":
        return tracer.calls.call("pad", input, every, mode=name)
    cuts = [
        tuple(-p if tracer.is_input(expr_of(p)) and p < 0 else 0 for p in pair) for pair in every
    ]  # negative pads cut off
    for size, (before, behind) in zip(input.shape, cuts, strict=True):
        if is_same(before + behind, 0) is not True:
            tracer.write(f"assert {tracer.sizes.text(before + behind)} <= {tracer.sizes.text(size)}")
    parts = [
        slice(a, n - b) if is_same(a + b, 0) is not True else slice(None)
        for n, (a, b) in zip(input.shape, cuts, strict=True)
    ]
    more = tuple((p + a, q + b) for (p, q), (a, b) in zip(every, cuts, strict=True))
    filled = tracer.scalar(value, input.dtype) if value else None
    return tracer.calls.call("pad", sliced(tracer, input, parts), more, mode=name, value=filled)


def _wrapped_once(tracer: Tracer, sizes: Any, pairs: Any) -> None:
    """Assert torch's condition on circular padding: it is at most as long as the axis."""
    for size, pair in zip(sizes, pairs, strict=True):
        for padding in pair:
            if not isinstance(padding, int) or padding > 1:
                tracer.write(f"assert {tracer.sizes.text(padding)} <= {tracer.sizes.text(size)}")


# Indexing


@row("torch.Tensor.__getitem__")
def getitem(tracer: Tracer, self: Value, index: Any) -> Value:
    if is_number(index) and (first := tracer.firsts.get(self.text)) is not None and is_same(index, 0) is True:
        return tracer.calls.call("size_to_tensor", first)
    at = list(index) if isinstance(index, tuple) and not isinstance(index, ListIndex) else [index]
    at = [_plain_index(tracer, i) for i in at]
    used = sum(
        i.rank if isinstance(i, Value) and i.dtype is torch.bool else 1 for i in at if i is not None and i is not ...
    )
    if ... in [i for i in at if not isinstance(i, Value)]:
        where = next(n for n, i in enumerate(at) if i is ...)
        at[where : where + 1] = [slice(None)] * (self.rank - used)
    tensors = [n for n, i in enumerate(at) if isinstance(i, Value)]
    if not tensors:
        return sliced(tracer, self, at)
    if len(tensors) > 1:
        return _picked(tracer, self, at)
    axis = sum(1 for i in at[: tensors[0]] if not is_number(i))
    picked = at[tensors[0]]
    rest = [slice(None) if isinstance(i, Value) else i for i in at]
    whole = all(isinstance(i, slice) and i == slice(None) for i in rest)
    base = self if whole else tracer.let(sliced(tracer, self, rest))
    if picked.dtype is torch.bool:
        return _masked(tracer, base, picked, axis)
    return tracer.calls.call("take", base, picked, axis=axis)


def is_number(index: Any) -> bool:
    return isinstance(index, (int, torch.SymInt)) and not isinstance(index, bool)


def _is_joined(positions: list[int]) -> bool:
    return positions == list(range(positions[0], positions[-1] + 1))


def _picked(tracer: Tracer, x: Value, at: list[Any]) -> Value:
    """Elements at several tensors of indices, which are broadcast to one shape."""
    if any(i.dtype is torch.bool for i in at if isinstance(i, Value)):
        raise NoRow
    rest = [slice(None) if isinstance(i, Value) else i for i in at]
    call = tracer.calls.call
    base = tracer.let(sliced(tracer, x, rest))
    at = [i for i in at if not is_number(i)]
    where = [n for n, i in enumerate(at) if isinstance(i, Value)]
    front = call("moveaxis", base, tuple(where), tuple(range(len(where))))
    indices = tracer.let(call("broadcast_arrays", tuple(to(tracer, at[n], torch.int64) for n in where)))
    found = call("gather_nd", front, call("stack", indices, axis=-1))
    count, first = indices[0].rank, where[0]
    if not _is_joined(where) or not first or not count:
        return found
    return call("moveaxis", found, tuple(range(count)), tuple(range(first, first + count)))


def _plain_index(tracer: Tracer, index: Any) -> Any:
    if isinstance(index, ListIndex):
        return of_numbers(tracer, index)
    return index


def _masked(tracer: Tracer, x: Value, mask: Value, axis: int) -> Value:
    call = tracer.calls.call
    if axis:
        x = call("moveaxis", x, tuple(range(axis, axis + mask.rank)), tuple(range(mask.rank)))
    if mask.rank > 1:
        of_shape = [(m, s) for m, s in zip(mask.shape, x.shape, strict=False) if is_same(m, s) is not True]
        for one, two in of_shape:
            tracer.write(f"assert {tracer.sizes.text(one)} == {tracer.sizes.text(two)}")
        x, mask = call("flatten", x, start=0, end=mask.rank - 1), call("flatten", mask)
    found = call("filter", x, mask)
    return call("moveaxis", found, 0, axis) if axis else found


def _ahead(tracer: Tracer, end: Any, n: Any) -> Any:
    """An end of a slice that larger sizes make negative, so that it counts from the end: that is another path."""
    expr = expr_of(end) if isinstance(end, torch.SymInt) else None
    if expr is None or not expr.subs(dict.fromkeys(expr.free_symbols, 0)).is_positive or expr.is_nonnegative:
        return end
    is_ahead = bool(end < 0)
    tracer.calls.reading.nonnegative.add(difference(0, end) if is_ahead else difference(end, 0))
    if is_ahead:
        return torch.sym_max(n + end, 0)
    return end


def sliced(tracer: Tracer, x: Value, at: list[Any]) -> Value:
    """A subscript of slices, numbers and None."""
    reading: Any = tracer.calls.reading
    sizes: list[Any] = []
    texts: list[str] = []
    axis = 0
    if all(isinstance(i, slice) and i == slice(None) for i in at):
        return x
    for one in at:
        if one is None:
            texts.append("None")
            sizes.append(1)
            continue
        if isinstance(one, slice):
            start, stop, step = one.start, one.stop, one.step
            n = x.shape[axis] if axis < x.rank else 1
            start, stop = _ahead(tracer, start, n), _ahead(tracer, stop, n)
            begin, end = (0 if start is None else start), (SENTINEL if stop is None else stop)
            sizes.append(slice_length(reading, n, begin, end, 1 if step is None else step))
            parts = ["" if p is None else tracer.sizes.text(p) for p in (start, stop)]
            texts.append(":".join(parts if step in (None, 1) else [*parts, tracer.sizes.text(step)]))
        else:
            texts.append(tracer.sizes.text(one if isinstance(one, (int, torch.SymInt)) else int(one)))
        axis += 1
    named = x if x.is_name else tracer.let(x)
    shape = (*sizes, *x.shape[axis:])
    data = None
    info = TensorInfo(tuple(shape), x.info.dtype, data)
    return Value(f"{named.text}[{', '.join(texts)}]", info, is_weight=x.is_weight)


@row("torch.Tensor.__setitem__")
def setitem(tracer: Tracer, self: Value, index: Any, value: Any) -> Value:
    region = tracer.let(getitem(tracer, self, index))
    tracer.let(tracer.calls.call("broadcast_to", tensor(tracer, value, self), region.shape))
    return unknown(tracer, self)


setitem.__dict__["in_place"] = True


__all__ = ["FUNCTIONS", "TracedTensor", "namespace", "total"]
