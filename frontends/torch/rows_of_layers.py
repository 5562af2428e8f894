"""Words of the table's expressions for layers and losses."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any

import torch

from .rows import other_than, same, sliced, unknown, word
from .rows_of_shapes import equal, need, of_rank, of_shape
from .sizes import expr_of
from .trace import NoRow, Tracer
from .values import Value


def each(value: Any, count: int) -> tuple[Any, ...]:
    """A number for each spatial axis."""
    found = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if len(found) not in (1, count):
        raise NoRow
    return found * count if len(found) == 1 else found


def pairs(padding: Any, count: int) -> tuple[tuple[Any, Any], ...]:
    return tuple((p, p) for p in each(padding, count))


def filled(tracer: Tracer, x: Value, axes: Any) -> None:
    """Assert that axes under windows have elements."""
    known = tracer.__dict__.setdefault("_filled", set())
    for axis in axes:
        size = x.shape[axis]
        expr = expr_of(size)
        if isinstance(size, int) and size > 0 or expr in known or expr.is_positive:
            continue
        need(tracer, f"{tracer.sizes.text(size)} >= 1")
        known.add(expr)


def windowed(tracer: Tracer, count: int, x: Value, made: Any, channels: bool = True) -> Value:
    """The result of windows over the last axes; torch takes a tensor without a batch too."""
    if x.rank not in (count + 1, count + 2):
        raise NoRow
    filled(tracer, x, range(x.rank - count - (1 if channels else 0), x.rank))
    is_single = x.rank == count + 1
    found: Value = made(tracer.calls.call("expand_dims", x, axis=0) if is_single else x)
    known = tracer.__dict__.setdefault("_filled", set())
    known.update(expr_of(s) for s in found.shape[2:])
    return tracer.calls.call("squeeze", found, axis=(0,)) if is_single else found


@word
def convolved(
    tracer: Tracer, count: int, x: Value, weight: Value, bias: Value | None, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> Value:  # fmt: skip
    if weight.rank != count + 2:
        raise NoRow
    named: dict[str, Any] = {"strides": each(stride, count), "dilations": each(dilation, count), "groups": groups}
    if padding == "same":
        named["auto_pad"] = "same_upper"
    elif padding != "valid":
        named["pads"] = pairs(padding, count)
    return windowed(
        tracer, count, x, lambda x: tracer.calls.call(f"conv{count}d", x, weight, bias=bias, **named), False
    )


@word
def transposed(
    tracer: Tracer, count: int, x: Value, weight: Value, bias: Value | None, stride: Any, padding: Any, more: Any,
    groups: int, dilation: Any,
) -> Value:  # fmt: skip
    strides, dilations, further = each(stride, count), each(dilation, count), each(more, count)
    for extra, one, two in zip(further, strides, dilations, strict=True):
        if isinstance(extra, int) and extra >= max(one, two):
            raise RuntimeError(f"output padding must be smaller than either stride or dilation, but is {extra}")
    named = {"strides": strides, "dilations": dilations, "pads": pairs(padding, count), "groups": groups}
    if any(not isinstance(p, int) or p for p in further):
        named["output_padding"] = further
    call = tracer.calls.call
    return windowed(
        tracer, count, x, lambda x: call(f"conv_transpose{count}d", x, weight, bias=bias, **named), channels=False
    )


def pool_of(count: int, kernel: Any, stride: Any, padding: Any, dilation: Any = 1) -> dict[str, Any]:
    sizes = each(kernel, count)
    strides = sizes if stride is None or stride == () else each(stride, count)
    for size, pad, apart in zip(sizes, each(padding, count), each(dilation, count), strict=True):
        if 2 * pad > apart * (size - 1) + 1:
            raise NoRow
    return {"kernel_shape": sizes, "strides": strides, "pads": pairs(padding, count)}


@word
def max_pooled(
    tracer: Tracer, count: int, x: Value, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> Value:
    named = pool_of(count, kernel, stride, padding, dilation) | {"dilations": each(dilation, count), "ceil_mode": ceil}
    return windowed(tracer, count, x, lambda x: tracer.calls.call(f"max_pool{count}d", x, **named))


@word
def averaged(tracer: Tracer, count: int, x: Value, kernel: Any, stride: Any, padding: Any, ceil: bool) -> Value:
    named = pool_of(count, kernel, stride, padding) | {"ceil_mode": ceil, "count_include_pad": True}
    return windowed(tracer, count, x, lambda x: tracer.calls.call(f"average_pool{count}d", x, **named))


@word
def adaptive(tracer: Tracer, count: int, pool: Any, x: Value, sizes: Any) -> Value:
    wanted = each(sizes, count)
    own = x.shape[x.rank - count :]
    shape = tuple(o if w is None else w for w, o in zip(wanted, own, strict=True))
    if wanted == (1, 1) and pool.args == ("adaptive_average_pool",):
        return tracer.calls.call("mean", x, axis=(-2, -1), keepdims=True)
    return windowed(tracer, count, x, lambda x: pool(x, shape), channels=pool.args == ("adaptive_max_pool",))


@word
def not_empty_inside(tracer: Tracer, x: Value) -> Value:
    filled(tracer, x, range(1, x.rank))
    return x


# Norms


def more_than_one(tracer: Tracer, sizes: Any) -> None:
    """Assert that statistics are of more than one element."""
    count = math.prod(sizes)
    if isinstance(count, int):
        if count == 1:
            raise NoRow
    else:
        need(tracer, f"{tracer.sizes.text(count)} != 1")


def ones(tracer: Tracer, x: Value, *shape: Any) -> Value:
    return tracer.calls.call("ones", shape, dtype=x.dtype)


@word
def batch_normed(
    tracer: Tracer, x: Value, mean: Value | None, variance: Value | None, weight: Value | None, bias: Value | None,
    training: bool, eps: float,
) -> Value:  # fmt: skip
    if x.rank < 2:
        raise NoRow
    if training:
        more_than_one(tracer, (x.shape[0], *x.shape[2:]))
    given = [v if v is not None else ones(tracer, x, x.shape[1]) for v in (weight, bias, mean, variance)]
    return tracer.calls.call("batch_normalization", x, *given, **other_than(tracer, 1e-5, eps))


@word
def instance_normed(
    tracer: Tracer, x: Value, mean: Value | None, variance: Value | None, weight: Value | None, bias: Value | None,
    own: bool, eps: float,
) -> Value:  # fmt: skip
    if x.rank < 3:
        raise NoRow
    if mean is not None:  # the running statistics must have as many channels
        whole = batch_normed(tracer, x, mean, variance, weight, bias, False, eps)
        if not own:
            return whole
        tracer.let(whole)
    if own:
        more_than_one(tracer, x.shape[2:])
    given = [v if v is not None else ones(tracer, x, x.shape[1]) for v in (weight, bias)]
    return tracer.calls.call("instance_normalization", x, *given, **other_than(tracer, 1e-5, eps))


@cache
def _refuses_no_elements() -> bool:
    """Whether group normalisation refuses rows without elements, as PyTorch 2.14 does and 2.13 does not."""
    try:
        with torch._C.DisableTorchFunction():
            torch.group_norm(torch.ones(1, 1, 0), 1)
    except RuntimeError:
        return True
    return False


@word
def group_normed(tracer: Tracer, x: Value, groups: int, weight: Value | None, bias: Value | None, eps: float) -> Value:
    if x.rank < 2:
        raise NoRow
    if _refuses_no_elements():
        not_empty_inside(tracer, x)
    more_than_one(tracer, (x.shape[0] * x.shape[1] // groups, *x.shape[2:]))
    given = [v if v is not None else ones(tracer, x, x.shape[1]) for v in (weight, bias)]
    return tracer.calls.call("group_normalization", x, *given, groups, **other_than(tracer, 1e-5, eps))


@word
def scale_of(tracer: Tracer, x: Value, weight: Value | None, shape: Any) -> Value:
    """The weight of a normalisation, which must have the normalised shape; ones by default."""
    scale = weight if weight is not None else ones(tracer, x, *shape)
    of_shape(tracer, scale, shape)
    return scale


@word
def rms_normed(tracer: Tracer, x: Value, shape: Any, weight: Value | None, eps: float | None) -> Value:
    scale = scale_of(tracer, x, weight, shape)
    least = torch.finfo(x.dtype).eps if eps is None else eps
    return tracer.calls.call("rms_norm", x, scale, axis=-len(shape), **other_than(tracer, 1e-6, least))


# Attention and recurrent layers


@word
def attended(
    tracer: Tracer, q: Value, k: Value, v: Value, mask: Value | None, causal: Any, scale: Any, grouped: bool
) -> Value:
    if grouped and q.rank == 4:
        k, v = (_repeated(tracer, x, q.shape[1]) for x in (k, v))
    is_causal = causal if isinstance(causal, bool) else None  # a symbolic boolean changes no shape
    factor = float(scale) if type(scale) in (int, float) else None  # likewise
    return tracer.calls.call("attention", q, k, v, mask=mask, causal=is_causal, scale=factor)


def _repeated(tracer: Tracer, x: Value, heads: Any) -> Value:
    """Repeat heads that several queries share."""
    if not isinstance(heads, int) or not isinstance(x.shape[1], int) or heads % x.shape[1]:
        raise NoRow
    return tracer.calls.call("repeat", x, heads // x.shape[1], axis=1)


@word
def recurrent(tracer: Tracer, kind: str, x: Value, *given: Any) -> tuple[Value, ...]:
    """Run the layers one after the other; all steps of packed sequences are in one row."""
    is_packed = len(given) > 2 and isinstance(given[2], tuple)
    states, params, has_biases, layers, _, _, both, *first = given[is_packed:]
    states = states if isinstance(states, tuple) else (states,)
    if not isinstance(x, Value) or x.rank != (2 if is_packed else 3):
        raise NoRow
    call, count = tracer.calls.call, 2 if both else 1
    if is_packed:
        _begun_as(tracer, given[0], states, params, layers * count)
    x = call("expand_dims", x, axis=1) if is_packed else call("swapaxes", x, 0, 1) if first == [True] else x
    x = tracer.let(x)
    if not is_packed:
        filled(tracer, x, (0,))
    ends: list[list[Value]] = [[] for _ in states]
    for layer in range(layers):
        begun = [sliced(tracer, s, [slice(layer * count, (layer + 1) * count)]) for s in states]
        weights = params[len(params) // layers * layer : len(params) // layers * (layer + 1)]
        x, *found = _layer(tracer, kind, x, [] if is_packed else begun, weights, has_biases, both)
        for end, one in zip(ends, found, strict=True):
            end.append(one)
    if is_packed:
        return (call("squeeze", x, axis=(1,)), *(unknown(tracer, s) for s in states))
    lasts = [call("concat", tuple(end), axis=0) if len(end) > 1 else end[0] for end in ends]
    return (call("swapaxes", x, 0, 1) if first == [True] else x, *lasts)


def _begun_as(tracer: Tracer, sizes: Any, states: tuple[Value, ...], params: Any, count: int) -> None:
    """Assert that the initial states fit the number of packed sequences; torch itself does not, and may crash."""
    first = tracer.firsts.get((sizes[0] if isinstance(sizes, tuple) else sizes).text)
    widths = (
        params[1].shape[1],
        params[0].shape[0] // 4,
    )  # of an LSTM's state, which may be projected, and of its cell
    for name, state, width in zip(("hidden state", "cell state"), states, widths, strict=False):
        if state.rank != 3:
            need(tracer, "0 == 1", f"a {name} of 3 axes")
            continue
        batch = state.shape[1] if first is None else first
        for axis, (own, asked) in enumerate(zip(state.shape, (count, batch, width), strict=True)):
            one, two = tracer.sizes.text(own), tracer.sizes.text(asked)
            equal(tracer, own, asked, f"axis {axis} of its {name} ({one}) to be {two}")


def _layer(
    tracer: Tracer, kind: str, x: Value, begun: list[Value], weights: Any, has_biases: bool, both: bool
) -> list[Value]:
    """One layer with its directions: the results of all steps, and the final states."""
    call, per = tracer.calls.call, len(weights) // (2 if both else 1)
    columns = [call("stack", weights[n::per], axis=0) for n in range(per)]
    projected = tracer.let(columns.pop()) if per % 2 else None
    columns = [gates(tracer, kind, column, 1) for column in columns]
    if projected is not None:  # from the cell's size to that of the state, which the next step takes
        columns[1] = call("matmul", columns[1], projected)
        begun = [call("matmul", one, projected) for one in begun[:1]] + begun[1:]
    named: dict[str, Any] = {"b": call("concat", columns[2:], axis=1)} if has_biases else {}
    named |= dict(zip(("initial_h", "initial_c"), begun, strict=False))
    named |= {"direction": "bidirectional"} if both else {}
    name = kind.partition("_")[0]
    found = list(tracer.let(call(name, x, columns[0], columns[1], **named, **_SAID.get(kind, {}))))
    if projected is not None:
        back = call("matrix_transpose", projected)
        found[:2] = (tracer.let(call("matmul", one, back)) for one in found[:2])
    found[0] = tracer.let(call("flatten", call("permute_dims", found[0], (0, 2, 1, 3)), start=2, end=3))
    return found


@word
def packed(tracer: Tracer, x: Value, lengths: Value, batch_first: bool) -> tuple[Value, ...]:
    """The steps of all sequences, and the number of sequences at each step, which is at first all of them."""
    filled(tracer, x, range(x.rank))
    call = tracer.calls.call
    x = tracer.let(call("swapaxes", x, 0, 1) if batch_first else x)
    steps, count = x.shape[:2]
    equal(tracer, of_rank(tracer, 1, lengths).shape[0], count)

    def some(rows: Value) -> Any:
        mask = unknown(tracer, call("zeros", rows.shape[:1], dtype=torch.bool))
        return tracer.let(call("filter", rows, mask))

    sizes = some(call("zeros", (steps,), dtype=torch.int64))
    tracer.firsts[sizes.text] = count
    return some(call("flatten", x, start=0, end=1)), sizes


@word
def unpacked(tracer: Tracer, x: Value, sizes: Value, batch_first: bool, steps: Any) -> tuple[Value, ...]:
    count, call = tracer.firsts.get(sizes.text), tracer.calls.call
    if count is None:
        raise NoRow
    front = (count, steps) if batch_first else (steps, count)
    return (
        unknown(tracer, call("zeros", (*front, *x.shape[1:]), dtype=x.dtype)),
        call("zeros", (count,), dtype=torch.int64),
    )


# The order of PyTorch's gates in Rx, and more arguments of Rx's primitives by kind.
_ORDER = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2)}
_SAID: dict[str, dict[str, Any]] = {"gru": {"linear_before_reset": True}, "rnn_relu": {"activation": "relu"}}


@word
def gates(tracer: Tracer, kind: str, weights: Value | None, axis: int = 0) -> Value | None:
    """Weights with their gates in Rx's order."""
    if weights is None or kind not in _ORDER:
        return weights
    parts = tracer.let(tracer.calls.call("split", weights, len(_ORDER[kind]), axis=axis))
    return tracer.calls.call("concat", tuple(parts[i] for i in _ORDER[kind]), axis=axis)


@word
def biases(tracer: Tracer, one: Value | None, two: Value | None) -> Value | None:
    return None if one is None or two is None else tracer.calls.call("concat", (one, two), axis=0)


# Losses


@word
def reduced(tracer: Tracer, x: Value, reduction: str) -> Value:
    return x if reduction == "none" else tracer.calls.call(reduction, x)


@word
def binary(tracer: Tracer, x: Value, target: Value, weights: Any, reduction: str) -> Value:
    """A loss whose target must have the input's shape."""
    of_shape(tracer, target, x.shape)
    found = tracer.calls.call("multiply", *same(tracer, x, target))
    for weight in weights:
        if weight is not None:
            found = tracer.calls.call("multiply", found, tracer.calls.call("broadcast_to", weight, x.shape))
    return reduced(tracer, found, reduction)


@word
def likelihood(tracer: Tracer, loss: Any, x: Value, target: Value, weight: Value | None, reduction: str) -> Value:
    """A loss with classes on axis 1, or for a single example on axis 0."""
    if x.rank != 1:
        made: Value = loss(x, target, weight=weight, reduction=reduction)
        return made
    if target.rank:
        raise NoRow
    call = tracer.calls.call
    found = loss(call("expand_dims", x, axis=0), call("reshape", target, (1,)), weight=weight, reduction=reduction)
    return call("squeeze", found, axis=(0,)) if reduction == "none" else found


@word
def cross_entropy(tracer: Tracer, x: Value, target: Value, weight: Value | None, reduction: str) -> Value:
    if not target.dtype.is_floating_point:
        return likelihood(tracer, partial(tracer.calls.call, "cross_entropy_loss"), x, target, weight, reduction)
    of_shape(tracer, target, x.shape)
    axis = min(1, x.rank - 1)
    if weight is not None:
        equal(tracer, weight.shape[0], x.shape[axis])
    product = tracer.calls.call("multiply", x, target)
    return reduced(tracer, tracer.calls.call("sum", product, axis=axis), reduction)


@word
def bilinear(tracer: Tracer, x: Value, y: Value, weight: Value, bias: Value | None) -> Value:
    """x weight[o] y for each o, plus the bias."""
    axes = "abcdefgh"[: len(x.shape) - 1]
    if len(axes) < len(x.shape) - 1 or len(x.shape) != len(y.shape):
        raise NoRow
    made = tracer.calls.call("einsum", f"{axes}i,oij,{axes}j->{axes}o", [x, weight, y])
    return made if bias is None else tracer.calls.call("add", made, bias)


@word
def unpooled(tracer: Tracer, count: int, x: Value, indices: Value, sizes: Any) -> Value:
    """The tensor before a max pooling, with unknown elements."""
    if x.rank not in (count + 1, count + 2):
        raise NoRow
    of_shape(tracer, indices, x.shape)
    filled(tracer, x, range(1, x.rank))
    shape = (*x.shape[: x.rank - count], *each(sizes, count))
    return unknown(tracer, tracer.calls.call("zeros", shape, dtype=x.dtype))
