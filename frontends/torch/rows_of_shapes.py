"""Words of the table's expressions for shapes, indices and element-wise functions."""

from __future__ import annotations

import math
from typing import Any

import torch

from .numbers import is_beyond
from .rows import arange, axes, real, row, same, sliced, tensor, times, to, unknown, word
from .sizes import is_same
from .strides import is_plain, strides_of
from .tensors import all_traced
from .trace import NoRow, Tracer
from .values import Value


def need(tracer: Tracer, text: str, what: str | None = None) -> None:
    """Assert a condition on sizes at the line; `what` says in words what the called function needs."""
    said = f"{tracer.op} needs {what or text}".replace('"', "'")
    tracer.write(f'assert {text}, "{said}"')


def equal(tracer: Tracer, one: Any, two: Any, what: str | None = None) -> None:
    if is_same(one, two) is not True:
        need(tracer, f"{tracer.sizes.text(one)} == {tracer.sizes.text(two)}", what)


@word
def of_rank(tracer: Tracer, rank: int, x: Value) -> Value:
    if x.rank != rank:
        raise NoRow  # torch reports it
    return x


@word
def matched(tracer: Tracer, x: Value, axis: int, other: Value) -> Value:
    """x; assert that one of its sizes equals that of another tensor."""
    one, two = (f"axis {axis} of `{v.text}` ({tracer.sizes.text(v.shape[axis])})" for v in (x, other))
    equal(tracer, x.shape[axis], other.shape[axis], f"{one} and {two} to be equal")
    return x


def of_shape(tracer: Tracer, x: Value, shape: Any) -> None:
    if x.rank != len(shape):
        raise NoRow
    for axis, (one, two) in enumerate(zip(x.shape, shape, strict=True)):
        own, asked = tracer.sizes.text(one), tracer.sizes.text(two)
        equal(tracer, one, two, f"axis {axis} of `{x.text}` ({own}) to be {asked}")


@word
def beside(tracer: Tracer, x: Value, *others: Value | None) -> Value:
    """x; assert that the other tensors, if any, have its shape."""
    for other in others:
        if other is not None:
            of_shape(tracer, other, x.shape)
    return x


@word
def at_most(tracer: Tracer, x: Value, sizes: Any) -> Value:
    """x, if there are at least as many sizes as axes."""
    if len(sizes) < x.rank:
        raise NoRow
    return x


@word
def sum_of(tracer: Tracer, x: Value, y: Value) -> Value:
    return tracer.calls.call("logical_or" if x.dtype is torch.bool else "add", x, y)


@word
def differing(tracer: Tracer, x: Any, y: Any, factor: Any = 1) -> Value:
    """x - y; refuse booleans."""
    if any(isinstance(one, bool) or isinstance(one, Value) and one.dtype is torch.bool for one in (x, y)):
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported: `~` inverts a mask")
    return tracer.calls.call("subtract", *same(tracer, x, times(tracer, y, factor)))


@word
def no_truths(tracer: Tracer, x: Value) -> Value:
    """x, unless its elements are booleans."""
    if x.dtype is torch.bool:
        raise NoRow  # torch reports it
    return x


@word
def dropped(tracer: Tracer, x: Value, p: Any) -> Value:
    """x, if the share to drop is a probability."""
    if isinstance(p, (int, float)) and not 0 <= p <= 1:
        raise NoRow
    return x


@word
def product_of(tracer: Tracer, x: Value, y: Value) -> Value:
    return tracer.calls.call("logical_and" if x.dtype is torch.bool else "multiply", x, y)


@word
def reals(tracer: Tracer, *operands: Any) -> tuple[Value, ...]:
    return tuple(real(tracer, x) for x in same(tracer, *operands))


@word
def clamped(tracer: Tracer, x: Value, least: Any, most: Any) -> Value:
    if least is None and most is None:
        raise NoRow
    is_of_numbers = all(type(bound) in (int, float) and not is_beyond(bound, x.dtype) for bound in (least, most))
    if is_of_numbers and least <= most and getattr(x.info.dtype, "kind", "") == "float":
        return tracer.calls.call("clip", x, float(least), float(most))
    for call, bound in (("maximum", least), ("minimum", most)):
        if bound is not None:
            x = tracer.calls.call(call, *same(tracer, x, bound))
    return x


@word
def softened(tracer: Tracer, x: Value, dim: Any) -> Any:
    """The axis of a softmax, by torch's default if none is given."""
    return dim if dim is not None else 0 if x.rank in (0, 1, 3) else 1


@word
def gated(tracer: Tracer, x: Value, dim: int) -> Value:
    one, two = tracer.let(tracer.calls.call("split", x, sections=2, axis=dim))
    return tracer.calls.call("multiply", one, tracer.calls.call("sigmoid", two))


@word
def extreme(tracer: Tracer, which: str, x: Value, dim: Any, keepdim: bool, other: Any) -> Any:
    """`max` and `min`: of all, along an axis, or of two tensors."""
    other = dim if isinstance(dim, Value) else other
    if other is not None:
        return tracer.calls.call(f"{which}imum", *same(tracer, x, other))
    if dim is None:
        return tracer.calls.call(which, x)
    values = tracer.calls.call(which, x, axis=dim, keepdims=keepdim)
    return getattr(torch.return_types, which)((values, tracer.calls.call(f"arg{which}", x, axis=dim, keepdims=keepdim)))


@word
def spread(tracer: Tracer, which: str, x: Value, dim: Any, keepdim: bool) -> Value:
    if isinstance(dim, bool):  # var(input, unbiased)
        dim = None
    return tracer.calls.call(which, x, axis=axes(tracer, dim), keepdims=keepdim)


@word
def ranked(tracer: Tracer, name: str, values: Value) -> Any:
    """Values with positions of the same shape."""
    values = tracer.let(values)
    return getattr(torch.return_types, name)((values, tracer.calls.call("zeros_like", values, dtype=torch.int64)))


@word
def pair_of(tracer: Tracer, name: str, both: Any) -> Any:
    return getattr(torch.return_types, name)(tracer.let(both) if isinstance(both, Value) else both)


@word
def indexed(tracer: Tracer, values: Value) -> tuple[Value, Value]:
    """Values with their former positions."""
    values = tracer.let(values)
    return values, tracer.calls.call("zeros_like", values, dtype=torch.int64)


@word
def plus_onto(tracer: Tracer, x: Value, product: Value) -> Value:
    product = tracer.let(product)
    return tracer.calls.call("add", tracer.calls.call("broadcast_to", x, product.shape), product)


@word
def dotted(tracer: Tracer, x: Value, y: Value, dims: Any) -> Value:
    if isinstance(dims, int):
        return tracer.calls.call("tensordot", x, y, axes=dims)
    left, right = (tuple(d) if isinstance(d, (tuple, list)) else (d,) for d in dims)
    return tracer.calls.call("tensordot", x, y, x_axes=left, y_axes=right)


# Shapes


def axis_of(x: Value, dim: int, more: int = 0) -> int:
    if not -x.rank - more <= dim < x.rank + more:
        raise NoRow
    return dim % (x.rank + more)


@word
def unflattened(tracer: Tracer, x: Value, dim: int, sizes: Any) -> Value:
    axis, sizes = axis_of(x, dim), list(sizes)
    if any(isinstance(s, int) and s == -1 for s in sizes):
        rest = math.prod(s for s in sizes if not (isinstance(s, int) and s == -1))
        at = next(n for n, s in enumerate(sizes) if isinstance(s, int) and s == -1)
        if is_same(rest, 0) is True:
            raise NoRow
        if is_same(rest, 1) is not True:
            whole = tracer.sizes.text(x.shape[axis])
            need(tracer, f"{_inside(whole)} % {_inside(tracer.sizes.text(rest))} == 0")
        sizes[at] = x.shape[axis] // rest
    elif is_same(x.shape[axis], math.prod(sizes)) is None:  # the reshape checks numbers
        equal(tracer, x.shape[axis], math.prod(sizes))
    return tracer.calls.call("reshape", x, (*x.shape[:axis], *sizes, *x.shape[axis + 1 :]))


def _inside(text: str) -> str:
    return text if text.isalnum() else f"({text})"


@word
def narrowed(tracer: Tracer, x: Value, dim: int, start: Any, length: Any) -> Value:
    if isinstance(start, Value):
        raise NoRow
    axis = axis_of(x, dim)
    if isinstance(start, int) and start < 0:
        start = x.shape[axis] + start
    size, end = x.shape[axis], start + length
    need(tracer, f"{tracer.sizes.text(end)} <= {tracer.sizes.text(size)}")
    return sliced(tracer, x, [slice(None)] * axis + [slice(start, end)])


@word
def selected(tracer: Tracer, x: Value, dim: int, index: Any) -> Value:
    if isinstance(index, Value):
        return tracer.calls.call("take", x, index, axis=dim)
    return sliced(tracer, x, [slice(None)] * axis_of(x, dim) + [index])


@word
def cut(tracer: Tracer, x: Value, by: Any, dim: int) -> Any:
    """Parts between positions, or `by` parts of nearly equal size."""
    if isinstance(by, (list, tuple)):
        return tracer.calls.call("split", x, indices=tuple(by), axis=dim)
    if not isinstance(by, int) or by < 1:
        raise NoRow
    size = x.shape[axis_of(x, dim)]
    if is_same(size % by, 0) is True:
        return tracer.calls.call("split", x, sections=by, axis=dim)
    return tracer.calls.call("split", x, sizes=tuple((size + by - 1 - n) // by for n in range(by)), axis=dim)


@word
def by_or_at(tracer: Tracer, by: Any) -> dict[str, Any]:
    return {"indices": by} if isinstance(by, tuple) else {"sections": by}


@word
def total_of(tracer: Tracer, sizes: Any) -> Any:
    return sum(sizes)


@word
def strided(tracer: Tracer, x: Value, dim: int, start: Any, end: Any, step: Any) -> Value:
    return sliced(tracer, x, [slice(None)] * axis_of(x, dim) + [slice(start, end, step)])


@word
def replaced_in(tracer: Tracer, x: Value, part: Value, where: Value) -> Value:
    """x, with a part replaced by another tensor of its shape."""
    of_shape(tracer, part, tracer.let(where).shape)
    return unknown(tracer, x)


@word
def only_sizes(tracer: Tracer, sizes: Any) -> Any:
    """The sizes, unless they are elements."""
    if any(isinstance(s, (list, tuple, Value)) for s in sizes):
        raise NoRow
    return sizes


@word
def part_of(tracer: Tracer, which: str, x: Value) -> Value:
    return tracer.calls.call(which, x)


@word
def interleaved(tracer: Tracer, x: Value, repeats: Any, dim: Any, total: Any) -> Value:
    if dim is None:
        x, dim = tracer.calls.call("reshape", x, (-1,)), 0
    if isinstance(repeats, Value):
        return tracer.calls.call("repeat_each", x, repeats, axis=dim, total=total)
    return tracer.calls.call("repeat", x, repeats, axis=dim)


@word
def framed(tracer: Tracer, x: Value, dim: int, size: Any, step: Any) -> Value:
    axis, calls = axis_of(x, dim), tracer.calls
    found = calls.call("frame", calls.call("moveaxis", x, axis, -1), size, step=step)
    return calls.call("moveaxis", found, -2, axis)


@word
def not_empty(tracer: Tracer, tensors: Any) -> Any:
    """The operands of `cat`: rows without elements are left out beside tensors of more axes."""
    if all(t.rank == 1 for t in tensors):
        return tensors
    return tuple(t for t in tensors if not (t.rank == 1 and is_same(t.shape[0], 0) is True))


@word
def two(tracer: Tracer, value: Any) -> tuple[Any, ...]:
    found = value if isinstance(value, (list, tuple)) else (value,) * 2
    return tuple(found) * 2 if len(found) == 1 else tuple(found)


@word
def asserted(tracer: Tracer, condition: Any, message: str) -> None:
    torch._assert(condition, message)


# Indices


@word
def filling(tracer: Tracer, value: Any, x: Value, index: Value, dim: int) -> Value:
    axis = axis_of(x, dim)
    shape = (*x.shape[:axis], index.shape[0], *x.shape[axis + 1 :])
    return tracer.calls.call("broadcast_to", to(tracer, tensor(tracer, value, x), x.dtype), shape)


@word
def scattered(tracer: Tracer, x: Value, dim: int, index: Value, source: Any) -> Value:
    """Scatter a source, which is read as far as the index is long."""
    if not isinstance(source, Value) or source.rank == 0 < index.rank:
        source = tracer.calls.call("broadcast_to", to(tracer, tensor(tracer, source, x), x.dtype), index.shape)
    if source.rank != index.rank or source.dtype != x.dtype:
        raise NoRow
    at = []
    for one, two in zip(index.shape, source.shape, strict=True):
        is_whole = is_same(one, two) is True
        if not is_whole:
            need(tracer, f"{tracer.sizes.text(one)} <= {tracer.sizes.text(two)}")
        at.append(slice(None) if is_whole else slice(0, one))
    return tracer.calls.call("scatter_elements", x, index, tracer.let(sliced(tracer, source, at)), axis=dim)


@row(".is_contiguous")
def is_contiguous(tracer: Tracer, input: Value, *_: Any, **__: Any) -> bool:
    """Whether the elements lie row by row; True if it is unknown."""
    whole = next(all_traced((tracer.running.args, tracer.running.keywords)))
    return is_plain(whole)


@row(".stride")
def stride(tracer: Tracer, input: Value, dim: int | None = None) -> Any:
    found = strides_of(next(all_traced((tracer.running.args, tracer.running.keywords))))
    if found is None:
        raise NoRow
    return found if dim is None else found[axis_of(input, dim)]


@row(".as_strided")
def in_memory(tracer: Tracer, input: Value, size: Any, stride: Any, storage_offset: Any = None) -> Value:
    """The elements at positions in the memory of the tensor that this one is a view of."""
    call, offset = tracer.calls.call, storage_offset or 0
    whole = next(all_traced((tracer.running.args, tracer.running.keywords)), None)
    base = whole.family[0].value if whole is not None else input
    at = tensor(tracer, offset, torch.int64)
    for count, step in zip(size, stride, strict=True):
        steps = call("multiply", arange(tracer, count), tensor(tracer, step, torch.int64))
        at = call("add", call("expand_dims", at, axis=-1), steps)
    past = sum(((n - 1) * step for n, step in zip(size, stride, strict=True)), offset + 1)
    empty = (f"{tracer.sizes.text(n)} == 0" for n in size if not isinstance(n, int))
    need(tracer, " || ".join((*empty, f"{tracer.sizes.text(past)} <= {tracer.sizes.text(math.prod(base.shape))}")))
    return call("take", call("reshape", base, (-1,)), at, axis=0)
