"""The memory layout of a traced tensor, for `view` and `is_contiguous`: PyTorch's strides, over symbolic sizes.

Inputs are taken to be contiguous. Functions of contiguous tensors have contiguous results, except for the few that are named
here; for others torch computes the strides of tensors without data, at numbers that stand for the sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from itertools import combinations
from math import prod
from random import Random
from typing import TYPE_CHECKING, Any

import sympy
import torch

from .sizes import Symbolic, expr_of, hint_of, is_same
from .tensors import Layout, Strides, TracedTensor, all_traced, mapped

if TYPE_CHECKING:
    from .trace import Tracer

_SAME = ("narrow", "split", "split_with_sizes", "chunk", "tensor_split", "hsplit", "vsplit", "dsplit", "detach",
         "requires_grad_", "cpu", "cuda", "alias")  # fmt: skip
_MOVED = ("transpose", "swapaxes", "swapdims", "t", "permute", "movedim", "moveaxis", "adjoint", "T", "mT", "H", "mH")
_DROPPED = ("select", "unbind")
_EXPANDED = ("expand", "expand_as", "broadcast_to")
_VIEWED = ("view", "view_as", "unflatten")
_RESHAPED = ("reshape", "reshape_as", "flatten", "ravel")
# Functions whose results may not be contiguous although their operands are: torch computes the strides of the first ones,
# those of the others are unknown.
_ASKED = ("einsum", "matmul", "__matmul__", "__rmatmul__", "tensordot", "unfold", "diagonal")
_OPEN = ("scaled_dot_product_attention", "multi_head_attention_forward", "nonzero",
         "as_strided", "stft", "istft", "real", "imag", "view_as_real", "view_as_complex")  # fmt: skip
_RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_OPEN_FAMILIES = ("torch.fft.", "torch.linalg.", "torch.Tensor.real", "torch.Tensor.imag")
# Functions that may make other tensors of contiguous ones.
_MAKING = frozenset((*_SAME, *_DROPPED, *_MOVED, *_EXPANDED, *_ASKED, *_OPEN, *_RECURRENT, "__getitem__"))
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)


# Numbers for sizes: multiples of common divisors, so that parts make the whole again, and another one for each name.
_SCALE = 20160
_NUMBERS: dict[str, int] = {}


def scaled(size: Any) -> int:
    return _number(size.node.expr) if isinstance(size, torch.SymInt) else int(size)


@cache
def _number(expr: Any) -> int:
    return int(expr.subs({s: _number_of(str(s)) for s in expr.free_symbols}))


def _number_of(name: str) -> int:
    return _NUMBERS.setdefault(name, _SCALE * int(sympy.prime(len(_NUMBERS) + 3)))


def strides_of(x: TracedTensor) -> tuple[Any, ...] | None:
    """The strides in elements; None if they are unknown."""
    if x.strides is Layout.CONTIGUOUS:
        return contiguous(x.value.shape)
    return None if x.strides is Layout.UNKNOWN else x.strides


def contiguous(shape: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def is_plain(x: TracedTensor) -> bool:
    """Whether the elements lie row by row, or in an unknown order."""
    return isinstance(x.strides, Layout) or _is_row_by_row(x.value.shape, x.strides)


def _is_row_by_row(shape: Sequence[Any], strides: Sequence[Any]) -> bool:
    return _is_as(shape, strides, contiguous(tuple(map(scaled, shape))))


def _is_as(
    shape: Sequence[Any], strides: Sequence[Any], others: Sequence[Any], at: Callable[[Any], int] = scaled
) -> bool:
    sizes = tuple(map(at, shape))
    return 0 in sizes or all(n == 1 or at(a) == at(b) for n, a, b in zip(sizes, strides, others, strict=True))


def follow(tracer: Tracer, name: str, given: tuple[Any, Any, Any], found: Any) -> None:
    """Record the strides of a call's results; assert the conditions of a `view`."""
    operands = list(all_traced(given[1:]))
    last = name.removesuffix(".__get__").rpartition(".")[2]
    results = [x for x in all_traced(found) if not any(x is o for o in operands)]
    if (
        not results
        or not (last in _MAKING or name.startswith(_OPEN_FAMILIES))
        and all(x.strides is Layout.CONTIGUOUS for x in operands)
    ):
        return
    if last in _OPEN or name.startswith(_OPEN_FAMILIES):
        strides: list[Strides] = [Layout.UNKNOWN] * len(results)
    elif last in _RULES and operands and isinstance(given[1][0] if given[1] else operands[0], TracedTensor):
        base = strides_of(operands[0])
        strides = [Layout.UNKNOWN if base is None else _by_rule(tracer, last, base, given, x) for x in results]
    elif last in _RECURRENT:
        strides = [_of_sequences(given[1], x) if n == 0 else Layout.CONTIGUOUS for n, x in enumerate(results)]
    else:
        strides = _asked(given, operands, results)
    for x, own in zip(results, strides, strict=True):
        is_contiguous = not isinstance(own, Layout) and _is_row_by_row(x.value.shape, own)
        x.strides = Layout.CONTIGUOUS if is_contiguous else own


def _of_sequences(args: Sequence[Any], found: TracedTensor) -> Strides:
    """The strides of a recurrent layer's steps: time is first in memory, even where the batch is the first axis."""
    is_batch_first = len(args) == 9 and args[-1] is True and found.value.rank == 3
    if not is_batch_first:
        return Layout.CONTIGUOUS
    batch, _, features = found.value.shape
    return features, batch * features, 1


# Views


_RULES = (*_SAME, *_MOVED, *_DROPPED, *_EXPANDED, *_VIEWED, *_RESHAPED, "unsqueeze", "squeeze", "__getitem__")


def _by_rule(
    tracer: Tracer, name: str, base: tuple[Any, ...], given: tuple[Any, Any, Any], found: TracedTensor
) -> Strides:
    func, args, kwargs = given
    x = next(all_traced((args, kwargs)))
    shape, target = x.value.shape, found.value.shape
    if name in _SAME:
        return base
    if name in _MOVED:
        with torch._C.DisableTorchFunctionSubclass():
            probe = torch.empty(_PRIMES[: len(shape)], device="meta")
            args, kwargs = mapped((args, kwargs), lambda v: probe if v is x else v)
            moved = func(*args, **kwargs)
        return tuple(base[_PRIMES.index(n)] for n in moved.shape)
    if name in _DROPPED:
        axis = (args[1:] or [kwargs.get("dim", 0)])[0] % len(shape)
        return (*base[:axis], *base[axis + 1 :])
    if name in _EXPANDED:
        ahead = len(target) - len(shape)
        own = (0 if is_same(n, 1) is True else s for n, s in zip(shape, base, strict=True))
        return (0,) * ahead + tuple(own)
    if name == "unsqueeze":
        axis = (args[1:] or [kwargs["dim"]])[0] % len(target)
        return (*base[:axis], 0, *base[axis:])
    if name == "squeeze":
        return _squeezed(shape, base, target)
    if name == "__getitem__":
        return _indexed(shape, base, args[1])
    if prod(map(scaled, shape)) != prod(map(scaled, target)):
        return Layout.UNKNOWN  # the numbers do not fit the code's divisors
    seen = restrided(shape, base, target)
    if seen is not None:
        return seen
    if name in _VIEWED:
        _need(tracer, x, base, target)
        return Layout.UNKNOWN
    return Layout.CONTIGUOUS


def _squeezed(shape: Sequence[Any], base: Sequence[Any], target: Sequence[Any]) -> Strides:
    left, kept = list(target), []
    for n, s in zip(shape, base, strict=True):
        if left and is_same(n, left[0]) is True:
            kept.append(s)
            left.pop(0)
    return tuple(kept) if not left else Layout.UNKNOWN


def _indexed(shape: Sequence[Any], base: Sequence[Any], index: Any) -> Strides:
    """The strides at numbers, slices, None and an ellipsis; other indices copy, in torch's own order."""
    parts = index if isinstance(index, tuple) else (index,)
    if not all(
        p is None or p is Ellipsis or isinstance(p, (int, torch.SymInt, slice)) and p is not True for p in parts
    ):
        is_first = isinstance(parts[0], (torch.Tensor, list)) and all(_is_whole(p) for p in parts[1:])
        return Layout.CONTIGUOUS if is_first else Layout.UNKNOWN
    taken = sum(p is not None and p is not Ellipsis for p in parts)
    if not any(p is Ellipsis for p in parts):
        parts = (*parts, Ellipsis)
    found: list[Any] = []
    left = list(base)
    for part in parts:
        if part is None:
            found.append(0)
        elif part is Ellipsis:
            count = len(base) - taken
            found += left[:count]
            del left[:count]
        else:
            own = left.pop(0)
            if isinstance(part, slice):
                found.append(own * (1 if part.step is None else part.step))
    return tuple(found)


def _is_whole(part: Any) -> bool:
    return isinstance(part, slice) and part.start is part.stop is part.step is None


def restrided(shape: Sequence[Any], strides: Sequence[Any], target: Sequence[Any]) -> tuple[Any, ...] | None:
    """The strides of a view in another shape, or None if it needs a copy: `computeStride` of ATen, at numbers."""
    blocks: list[tuple[Any, Any]] = []
    for n, s in reversed([*zip(shape, strides, strict=True)]):
        if scaled(n) == 1:
            continue
        if blocks and scaled(s) == scaled(blocks[-1][0]) * scaled(blocks[-1][1]):
            blocks[-1] = (blocks[-1][0] * n, blocks[-1][1])
        else:
            blocks.append((n, s))
    left, found = list(target), list[Any]()
    for count, stride in blocks:
        joined: Any = 1
        while left and (scaled(joined) < scaled(count) or scaled(left[-1]) == 1):
            found.append(stride * joined)
            joined = joined * left.pop()
        if scaled(joined) != scaled(count):
            return None
    return (*([1] * len(left)), *reversed(found))


def _need(tracer: Tracer, x: TracedTensor, strides: Sequence[Any], target: Sequence[Any]) -> None:
    """Assert that a view is possible although it is none at the hints: where axes have one entry, or none."""
    shape, own = [expr_of(n) for n in x.value.shape], [expr_of(s) for s in strides]
    wanted = [expr_of(n) for n in target]
    behind = [prod(shape[axis:]) for axis in range(len(shape))]
    ends = [prod(wanted[axis:]) for axis in range(len(wanted))]
    symbols = sorted({s for n in (*shape, *wanted) for s in n.free_symbols}, key=str)
    numbers = sorted({1, 2, 3, _SCALE, *(int(n) for n in (*shape, *wanted) if n.is_number)})
    random = Random(0)
    points = [{s: random.choice(numbers) for s in symbols} for _ in range(200)]
    points += [{s: _number_of(str(s)) for s in symbols}]
    clauses = []
    for one, two in combinations(range(len(shape)), 2):
        ways = [sympy.Le(n, 1) for n in (shape[one], shape[two]) if not n.is_number]
        ways += [sympy.Ge(n, 2) for n in shape[one + 1 : two]]
        ways += [sympy.Eq(n, 0) for n in shape if not n.is_number]
        ways += [sympy.Eq(own[one], own[two] * shape[two]), *(sympy.Eq(behind[two], end) for end in ends)]
        if sympy.true not in ways and 1 not in (shape[one], shape[two]):
            clauses.append(_fewest([w for w in ways if w != sympy.false], points))
    name = tracer.variables.get(x.value.text, x.value.text)
    for clause in dict.fromkeys(c for c in clauses if c != sympy.true):
        text = tracer.sizes.text(clause) if clause != sympy.false else "0 == 1"
        tracer.write(f'assert {text}, "{tracer.op} needs `{name}` in memory in the order of its axes"', "memory")


def _fewest(ways: Sequence[Any], points: Sequence[dict[Any, int]]) -> Any:
    """The condition that one of the ways holds, without those that add nothing among small sizes."""
    kept: list[Any] = []
    left = list(points)
    for way in ways:
        holding = [p for p in left if way.subs(p) == sympy.true]
        is_of_none = isinstance(way, sympy.Eq) and way.rhs == 0
        if holding or is_of_none and not any(k.has(way.lhs) and isinstance(k, sympy.Le) for k in kept):
            kept.append(way)
            left = [p for p in left if p not in holding]
    return sympy.Or(*kept) if left else sympy.true


# Writes


# Functions that write equal values, so that several elements may share a place; `dropout` where nothing is dropped.
_ALIKE = frozenset(("fill", "zero", "masked_fill", "index_fill", "fill_diagonal", "index_put", "setitem", "tril", "triu",
                    "threshold", "nan_to_num", "conj_physical", "detach", "dropout", "t", "squeeze", "unsqueeze", "transpose",
                    "swapaxes", "swapdims"))  # fmt: skip


def once_each(tracer: Tracer, func: Any, x: Any) -> None:
    """Assert that no two elements of the written tensor share a place in memory, where torch refuses that."""
    if not isinstance(x, TracedTensor) or isinstance(x.strides, Layout) or func.__name__.strip("_") in _ALIKE:
        return
    shape = x.value.shape
    shared = [n for n, s in zip(shape, x.strides, strict=True) if is_same(s, 0) is True and is_same(n, 1) is not True]
    name = tracer.variables.get(x.value.text, x.value.text)
    for size in shared if not any(is_same(n, 0) for n in shape) else ():
        empty = (n for n in shape if not isinstance(n, int) and is_same(n, size) is not True)
        text = " || ".join((f"{tracer.sizes.text(size)} <= 1", *(f"{tracer.sizes.text(n)} == 0" for n in empty)))
        tracer.write(f'assert {text}, "{tracer.op} needs each element of `{name}` in a place of its own in memory"')


# Strides that torch computes without data


def _asked(
    given: tuple[Any, Any, Any], operands: Sequence[TracedTensor], results: Sequence[TracedTensor]
) -> list[Strides]:
    is_known = all(x.strides is not Layout.UNKNOWN for x in operands)
    for at in (scaled, hint_of):
        made = _made(given, at)
        if len(made) == len(results):
            return [_as_made(x, one, operands if is_known else (), at) for x, one in zip(results, made, strict=True)]
    return [Layout.UNKNOWN] * len(results)


def _made(given: tuple[Any, Any, Any], at: Callable[[Any], int]) -> list[torch.Tensor]:
    """The results of a function for tensors without data whose sizes are numbers; empty if it fails."""
    func, args, kwargs = given

    def put(value: Any) -> Any:
        if isinstance(value, TracedTensor):
            sizes, known = tuple(map(at, value.value.shape)), value.strides
            if isinstance(known, Layout):  # an unknown layout is reversed, as an example
                strides = contiguous(sizes) if known is Layout.CONTIGUOUS else contiguous(sizes[::-1])[::-1]
            else:
                strides = tuple(map(at, known))
            return torch.empty_strided(sizes, strides, dtype=value.value.dtype, device="meta")
        if isinstance(value, torch.Tensor):
            return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
        if isinstance(value, torch.SymInt):
            return at(value)
        return value.node.hint if isinstance(value, Symbolic) else value

    with torch._C.DisableTorchFunctionSubclass():
        try:
            args, kwargs = mapped((args, kwargs), put)
            key = func, _frozen((args, kwargs))
            if key not in _MADE:
                _MADE[key] = list(_tensors(func(*args, **kwargs)))
            return _MADE[key]
        except (RuntimeError, ValueError, IndexError, TypeError):
            return []


# Equal layers make equal calls, and so does each run.
_MADE: dict[Any, list[torch.Tensor]] = {}


def _frozen(value: Any) -> Any:
    """An argument as a key: tensors without data by their properties, other values by equality."""
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.stride(), value.dtype
    if isinstance(value, slice):
        return slice, _frozen((value.start, value.stop, value.step))
    if isinstance(value, (list, tuple)):
        return type(value), *map(_frozen, value)
    if isinstance(value, dict):
        return tuple((k, _frozen(v)) for k, v in value.items())
    return (type(value), value) if isinstance(value, Hashable) else object()


def _as_made(
    x: TracedTensor, made: torch.Tensor, operands: Sequence[TracedTensor], at: Callable[[Any], int]
) -> Strides:
    """The strides of a result in symbols: those of an operand, or of axes in another order. Without operands they are
    unknown."""
    sizes = tuple(map(at, x.value.shape))
    if tuple(made.shape) != sizes:
        return Layout.UNKNOWN
    if made.is_contiguous():
        return Layout.CONTIGUOUS
    for operand in operands:
        known = {at(s): s for s in strides_of(operand) or ()}
        if known.keys() >= {s for n, s in zip(sizes, made.stride(), strict=True) if n != 1}:
            return tuple(known.get(s, 0) for s in made.stride())
    order = sorted(range(len(sizes)), key=lambda axis: (-made.stride()[axis], axis))
    dense = contiguous([x.value.shape[axis] for axis in order])
    found = tuple(dense[order.index(axis)] for axis in range(len(sizes)))
    return found if operands and _is_as(x.value.shape, found, made.stride(), at) else Layout.UNKNOWN


def _tensors(found: Any) -> Iterator[torch.Tensor]:
    if isinstance(found, torch.Tensor):
        yield found
    elif isinstance(found, (list, tuple)):
        for one in found:
            yield from _tensors(one)
