"""Words of the table's expressions for matrices, order statistics, results whose sizes data decides, losses and lookups."""

from __future__ import annotations

import math
from typing import Any

import torch

from .rows import real, same, setitem, squeeze, tensor, to, unknown, word
from .rows_of_layers import filled, likelihood, reduced
from .rows_of_shapes import axis_of, beside, equal, matched, need, of_shape
from .sizes import is_same
from .trace import NoRow, Tracer
from .values import Value

WORDS_OF_ROWS = word(setitem)


@word
def parts_of(tracer: Tracer, name: str, found: Value) -> Any:
    """The parts of a primitive's result as torch's named tuple."""
    return getattr(torch.return_types, name)(tracer.let(found))


@word
def svd_of(tracer: Tracer, x: Value, some: bool) -> Any:
    u, s, v = tracer.let(tracer.calls.call("svd", x, full_matrices=not some))
    return torch.return_types.svd((u, s, tracer.calls.call("matrix_transpose", v)))


@word
def qr_of(tracer: Tracer, name: str, x: Value, mode: str) -> Any:
    if mode not in ("reduced", "complete"):
        raise NoRow
    return parts_of(tracer, name, tracer.calls.call("qr", x, mode=mode))


@word
def middle(tracer: Tracer, name: str, x: Value, dim: Any, keepdim: bool, k: Any = 1) -> Any:
    """A median, a mode, or a k-th value: of all elements, or along an axis, with its position."""
    call = tracer.calls.call
    if dim is None:
        return to(tracer, call("sum", x), x.dtype)
    if isinstance(k, int) and k < 1:
        raise NoRow
    if x.rank and not (isinstance(k, int) and k == 1):
        need(tracer, f"{tracer.sizes.text(k)} <= {tracer.sizes.text(x.shape[axis_of(x, dim)])}")
    values = call("max", x, axis=dim, keepdims=keepdim)
    return getattr(torch.return_types, name)((values, call("argmax", x, axis=dim, keepdims=keepdim)))


@word
def ends_of(tracer: Tracer, x: Value, dim: Any, keepdim: bool) -> Any:
    least, most = (tracer.calls.call(which, x, axis=dim, keepdims=keepdim) for which in ("min", "max"))
    return torch.return_types.aminmax((least, most))


@word
def quantile_of(tracer: Tracer, x: Value, q: Any, dim: Any, keepdim: bool) -> Value:
    if not x.dtype.is_floating_point:
        raise NoRow
    for size in x.shape:
        if not isinstance(size, int):
            need(tracer, f"{tracer.sizes.text(size)} >= 1")
    found = tracer.calls.call("max", x, axis=dim, keepdims=keepdim)
    is_one = not isinstance(q, Value) or not q.rank
    return found if is_one else tracer.calls.call("broadcast_to", found, (*q.shape, *found.shape))


@word
def with_itself(tracer: Tracer, x: Value, *weights: Value | None) -> Value:
    """The products of the rows of a matrix with each other; weights have one entry for each column."""
    if x.rank > 2:
        raise NoRow
    for weight in weights:
        if weight is not None:
            of_shape(tracer, weight, x.shape[-1:] or (1,))
    x, call = real(tracer, x), tracer.calls.call
    if x.rank < 2:
        return call("sum", x)
    return squeeze(tracer, tracer.let(call("matmul", x, call("matrix_transpose", x))))


@word
def on_diagonal(tracer: Tracer, x: Value, offset: int, dim1: int, dim2: int) -> Value:
    """Matrices with x on a diagonal."""
    if not x.rank or (dim1, dim2) != (-2, -1):
        raise NoRow
    call, size = tracer.calls.call, x.shape[-1] + abs(offset)
    rows = call("pad", x, (*((0, 0),) * (x.rank - 1), (0, abs(offset)))) if offset else x
    return to(
        tracer, call("multiply", *same(tracer, call("expand_dims", rows, axis=-1), call("eye", size, size))), x.dtype
    )


@word
def with_code(tracer: Tracer, name: str, found: Value) -> Any:
    """Matrices, each with a number that tells whether it exists."""
    found = tracer.let(found)
    codes = tracer.calls.call("zeros", found.shape[:-2], dtype=torch.int32)
    return getattr(torch.return_types, name)((found, codes))


@word
def closest(tracer: Tracer, x: Value, y: Value) -> Any:
    """Least squares: the solution, residuals whose number data decides, the rank, and no singular values."""
    if x.rank < 2 or y.rank != x.rank:
        raise NoRow
    call = tracer.calls.call
    for one, two in zip(x.shape[:-1], y.shape[:-1], strict=True):
        equal(tracer, one, two)
    found = tracer.let(call("matmul", call("pinv", x), y))
    rest = call("flatten", found)
    left = call("filter", rest, unknown(tracer, call("zeros", rest.shape, dtype=torch.bool)))
    none = call("zeros", (0,), dtype=x.dtype)
    return torch.return_types.linalg_lstsq((found, left, call("zeros", x.shape[:-2], dtype=torch.int64), none))


@word
def chained(tracer: Tracer, parts: Any) -> Any:
    found = parts[0]
    for part in parts[1:]:
        found = tracer.calls.call("matmul", found, part)
    return found


@word
def crossed(tracer: Tracer, x: Value, y: Value) -> Value:
    """The Kronecker product: each size is a size of x times one of y."""
    x, y = same(tracer, x, y)
    one, two = ((1,) * (max(x.rank, y.rank) - v.rank) + v.shape for v in (x, y))
    shape = tuple(a * b for a, b in zip(one, two, strict=True))
    return unknown(tracer, tracer.calls.call("zeros", shape, dtype=x.dtype))


@word
def chosen(tracer: Tracer, x: Value, count: int, again: bool) -> Value:
    """All choices of `count` elements of x."""
    rows: Any = math.prod(x.shape[0] + n if again else x.shape[0] - n for n in range(count)) // math.factorial(count)
    if not isinstance(rows, int) and count > 2:
        raise NoRow
    return unknown(tracer, tracer.calls.call("zeros", (rows, count), dtype=x.dtype))


@word
def of_all(tracer: Tracer, parts: Any) -> Value:
    """One row for each choice of an element of every part."""
    shape = (math.prod(p.shape[0] for p in parts), len(parts)) if len(parts) > 1 else parts[0].shape
    return unknown(tracer, tracer.calls.call("zeros", shape, dtype=parts[0].dtype))


# Spectra


@word
def spectrum(
    tracer: Tracer, x: Value, size: int, hop: Any, wide: Any, window: Value | None, is_half: Any, is_complex: Any
) -> Value:
    """The spectra of windows over the last axis."""
    call = tracer.calls.call
    if window is not None:
        of_shape(tracer, window, (size if wide is None else wide,))
    if is_complex is None and not x.dtype.is_complex or x.rank not in (1, 2):
        raise NoRow
    frames = tracer.let(call("frame", x, size, step=size // 4 if hop is None else hop))
    is_half = not x.dtype.is_complex if is_half is None else is_half
    found = tracer.let(call("matrix_transpose", call("rfft" if is_half else "fft", frames)))
    return found if is_complex is not False else call("stack", (call("real", found), call("imag", found)), axis=-1)


@word
def signal_of(
    tracer: Tracer,
    x: Value,
    size: int,
    hop: Any,
    wide: Any,
    window: Value | None,
    center: bool,
    is_half: Any,
    length: Any,
) -> Value:
    """The signal with the spectra x."""
    if x.rank not in (2, 3) or not x.dtype.is_complex:
        raise NoRow
    if window is not None:
        of_shape(tracer, window, (size if wide is None else wide,))
    if is_half is None and not isinstance(x.shape[-2], int):
        lines = tracer.sizes.text(x.shape[-2])
        need(tracer, f"{lines} == {size // 2 + 1} || {lines} == {size}")
    elif is_half is not None or x.shape[-2] != size:
        equal(tracer, x.shape[-2], size if is_half is False else size // 2 + 1)
    filled(tracer, x, range(x.rank))
    whole = size + (size // 4 if hop is None else hop) * (x.shape[-1] - 1) - center * (size // 2) * 2
    if length is None and not isinstance(whole, int):
        need(tracer, f"{tracer.sizes.text(whole)} >= 1")
    shape = (*x.shape[:-2], whole if length is None else length)
    return unknown(tracer, tracer.calls.call("zeros", shape, dtype=torch.float32))


# Sizes that data decides


@word
def places_of(tracer: Tracer, x: Value, apart: bool) -> Any:
    if not x.rank:
        raise NoRow
    found = tracer.let(tracer.calls.call("nonzero", x))
    each = found if isinstance(found, tuple) else (found,)
    return each if apart else tracer.calls.call("stack", each, axis=1)


@word
def sampled(tracer: Tracer, y: Value, x: Value, dim: int) -> Value:
    """Samples along an axis at the positions x, one for each unless there are none."""
    size = y.shape[axis_of(y, dim)]
    if x.rank != 1:
        raise NoRow
    if is_same(size, x.shape[0]) is not True and is_same(size, 0) is not True:
        own, asked = tracer.sizes.text(size), tracer.sizes.text(x.shape[0])
        one = f"axis {dim} of `{y.text}` ({own})"
        need(tracer, f"{own} == {asked} || {own} == 0", f"{one} to have as many entries as `{x.text}` ({asked})")
    return real(tracer, same(tracer, y, x)[0])


@word
def unique_of(tracer: Tracer, x: Value, dim: int | None = None) -> Any:
    """The distinct elements, or the distinct slices along an axis, their positions, and how often each occurs."""
    call = tracer.calls.call
    if dim is None:
        values = tracer.let(call("unique_values", x))
        return values, *(call("zeros_like", like, dtype=torch.int64) for like in (x, values))
    axis = axis_of(x, dim)
    filled(tracer, x, set(range(x.rank)) - {axis})
    mask = unknown(tracer, call("zeros", (x.shape[axis],), dtype=torch.bool))
    values = tracer.let(call("moveaxis", call("filter", call("moveaxis", x, axis, 0), mask), 0, axis))
    return values, *(call("zeros", (size,), dtype=torch.int64) for size in (x.shape[axis], values.shape[axis]))


@word
def counted_of(tracer: Tracer, x: Value, weights: Value | None) -> Value:
    """Counts up to the largest element of x, or sums of weights, one for each element of x."""
    counts = to(tracer, beside(tracer, x, weights), torch.int64)
    of_weights = None if weights is None else weights.dtype if weights.dtype is torch.float32 else torch.float64
    summed = counts if weights is None else to(tracer, weights, of_weights)
    return tracer.calls.call("repeat_each", summed, counts, axis=0)


@word
def sizes_of(tracer: Tracer, x: Value) -> Any:
    return math.prod(x.shape)


# Losses and lookups


@word
def connected(tracer: Tracer, x: Value, target: Value, lengths: Any, ends: Any, reduction: str) -> Value:
    """The CTC loss of `[t, b, classes]`, or of one sequence without b; targets are a row for each, or one after the other."""
    if x.rank not in (2, 3) or target.rank not in (1, 2) or x.rank == 2 and target.rank != 1:
        raise NoRow
    filled(tracer, x, range(x.rank))
    call, count = tracer.calls.call, x.shape[1] if x.rank == 3 else None
    if count is not None:
        for one in (lengths, ends):
            if isinstance(one, Value) and one.rank != 1:
                raise NoRow
            equal(tracer, one.shape[0] if isinstance(one, Value) else len(one), count)
        if target.rank == 2:
            equal(tracer, target.shape[0], count)
    each = call("sum", x, axis=(0, 2)) if x.rank == 3 else call("sum", x)
    return reduced(tracer, each, reduction)


@word
def of_margins(tracer: Tracer, x: Value, target: Value, weight: Value | None, reduction: str) -> Value:
    if x.rank not in (1, 2):
        raise NoRow
    for size in x.shape[-1:]:
        if not isinstance(size, int):
            need(tracer, f"{tracer.sizes.text(size)} >= 1")

    def loss(x: Value, target: Value, **named: Any) -> Value:
        return tracer.calls.call("nll_loss", x, target, **named)

    return likelihood(tracer, loss, x, target, weight, reduction)


@word
def of_labels(tracer: Tracer, x: Value, target: Value, reduction: str) -> Value:
    if x.rank not in (1, 2):
        raise NoRow
    of_shape(tracer, target, x.shape)
    for size in x.shape[-1:]:
        if not isinstance(size, int):
            need(tracer, f"{tracer.sizes.text(size)} >= 1")
    return reduced(tracer, tracer.calls.call("sum", x, axis=-1), reduction)


@word
def spread_out(tracer: Tracer, x: Value, target: Value, spread: Any, reduction: str) -> Value:
    if (
        not isinstance(spread, Value)
        or [is_same(a, b) for a, b in zip(spread.shape, x.shape, strict=False)] != [True] * x.rank
    ):
        raise NoRow
    found = tracer.calls.call("subtract", *same(tracer, x, target))
    return reduced(tracer, tracer.calls.call("multiply", *same(tracer, found, spread)), reduction)


@word
def gridded(tracer: Tracer, theta: Value, size: Any) -> Value:
    count = len(size) - 2
    of_shape(tracer, theta, (size[0], count, count + 1))
    for one in size:
        if not isinstance(one, int):
            need(tracer, f"{tracer.sizes.text(one)} >= 1")
    return unknown(tracer, tracer.calls.call("zeros", (size[0], *size[2:], count), dtype=theta.dtype))


@word
def shuffled(tracer: Tracer, x: Value, groups: int) -> Value:
    if x.rank < 3:
        raise NoRow
    size = x.shape[1]
    if isinstance(size, int) and size % groups:
        raise RuntimeError(f"number of channels must be divisible by groups, but they are {size} and {groups}")
    if not isinstance(size, int):
        need(tracer, f"{tracer.sizes.text(size)} % {groups} == 0")
    return x


@word
def bagged(tracer: Tracer, x: Value, table: Value, offsets: Value | None, mode: str) -> Value:
    """Rows of a table, combined for each row of x, or from each offset on."""
    if x.rank == 2 and x.dtype.is_floating_point:
        x, table = table, x  # torch's former order
    call = tracer.calls.call
    if x.rank == 2 and offsets is None:
        filled(tracer, x, (1,))
        return call("sum", call("embedding", x, table), axis=1)
    if x.rank != 1 or offsets is None or offsets.rank != 1:
        raise NoRow
    rows = call("zeros", (offsets.shape[0], table.shape[1]), dtype=table.dtype)
    return unknown(tracer, rows)


@word
def drawn(tracer: Tracer, mean: Any, std: Any, size: Any, dtype: torch.dtype | None) -> Value:
    if size is not None:
        return unknown(tracer, tracer.calls.call("zeros", tuple(size), dtype=dtype or torch.float32))
    given = [v for v in (mean, std) if isinstance(v, Value)]
    return unknown(tracer, given[0] if len(given) == 1 else tracer.calls.call("add", *given))


@word
def padded(tracer: Tracer, parts: Any, batch_first: bool) -> Value:
    """Sequences side by side, as long as the longest."""
    reading: Any = tracer.calls.reading
    for part in parts[1:]:
        tracer.let(tracer.calls.call("broadcast_to", part, (part.shape[0], *parts[0].shape[1:])))
    size = reading.max(*(p.shape[0] for p in parts))
    front = (len(parts), size) if batch_first else (size, len(parts))
    return unknown(tracer, tracer.calls.call("zeros", (*front, *parts[0].shape[1:]), dtype=parts[0].dtype))


@word
def row_of(tracer: Tracer, x: Value) -> Value:
    for _ in range(2 - x.rank):
        x = tracer.calls.call("expand_dims", x, axis=0)
    return x


@word
def deep(tracer: Tracer, x: Value) -> Value:
    x = row_of(tracer, x)
    return tracer.calls.call("expand_dims", x, axis=2) if x.rank == 2 else x


@word
def sought(tracer: Tracer, rows: Value, x: Any, dtype: torch.dtype) -> Value:
    """The positions of x's elements in sorted rows: in a single one, or each row in its own."""
    x = tensor(tracer, x)
    if rows.rank > 1:
        of_shape(tracer, x, (*rows.shape[:-1], x.shape[-1] if x.rank else 1))
    return tracer.calls.call("zeros_like", x, dtype=dtype)


@word
def grouped(tracer: Tracer, rows: Value, matrices: Value, offs: Any) -> Value:
    """The rows up to each offset, times the matrix of their group."""
    if rows.rank != 2 or matrices.rank != 3 or offs is None:
        raise NoRow
    matched(tracer, matched(tracer, matrices, 1, rows), 0, offs)
    return unknown(tracer, tracer.calls.call("zeros", (rows.shape[0], matrices.shape[2]), dtype=rows.dtype))
