"""What a primitive asks of its operands: the diagnostics of its call, with where the sizes come from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import prod
from typing import Protocol

from ...lang.core import Status
from ...lang.diagnostics import Diagnostic, Label, error
from ...lang.dtypes import DTYPES
from ...lang.node import replace
from ...lang.source import Span
from ...ops.model import TensorInfo
from ..known.outcome import Outcome
from ..known.state import State
from ..known.values import Entry, NumberValue, ShapeValue, SizeValue, plain
from ..solver.conditions import all_of, ge
from ..solver.terms import Size, evaluate, variables
from . import equations
from .aligned import Row, aligned
from .describe import dtype_text, readable, size_text, told, type_text
from .followers import with_use
from .origins import is_open, place_of, rank_of
from .spoken import CallLike as SpokenCall
from .spoken import argument as spoken_argument
from .spoken import operation, sizes_behind, what_is_needed
from .verdict import Speaker, finish, listed


class CallLike(SpokenCall, Protocol):
    """A primitive's call, which knows which of its parameters are tensors."""

    def is_tensor(self, name: str) -> bool: ...


# What needs no brackets in a product: a name, a number, a function of others.
_CALL = re.compile(r"\w+'*(\([^()]*\))?")
_MULTIPLE = re.compile(r"to be a multiple of (\d+)\b")
# Of a reshape, the two that have as many elements.
_RESHAPED = ("shape", "x")
_CODES = {"matmul": "E305", "linear": "E305", "reshape": "E307", "concat": "E308", "stack": "E308"}


def precondition(
    walker: Speaker,
    call: CallLike,
    what: str,
    at: tuple[tuple[str, int | None], ...],
    outcome: Outcome,
    code: str | None,
) -> Diagnostic:
    """`@matmul needs axis 1 of `x` and axis 0 of `y` to be equal, but they are 3 and 4: this always fails`."""
    state = walker.state
    reshapes = call.name == "reshape" and "elements" in what
    totals = _elements(state, call) if reshapes else None
    said = [(p, _size_at(state, call, p, a)) for p, a in at if a is not None]
    sizes = {} if reshapes else sizes_behind(what, [*_scalars(state, call, what), *said])
    found = "" if sizes else _sizes_at(state, call, at, what)
    if code == "E313":
        found = _dtypes(state, call) if "one dtype" in what else _own_dtype(state, call, at)
    if reshapes:
        found = "" if totals is None else _they_are(state, call)
        at = _changed(state, call, at)
    labels = [_came_from(state, call, param, axis) for param, axis in at]
    if code is None:
        entries = [call.find(param) for param, axis in at if axis is None]
        labels[:0] = [_open_rank(state, rank_of(state, e)) for e in entries if e is not None and is_open(state, e)]
    if totals is not None and len(labels) > 1 or reshapes and not labels:
        labels = [_made_of(state, call)]
    broadcast = "or one of them 1" in what or "broadcast" in what
    if code is None:
        code = _CODES.get(call.name, "E306" if broadcast else "E304")
    shapes = _aligned(state, call, at, from_the_end=broadcast or call.name in ("matmul", "linear"))
    shown = {label.message for label in labels if label}
    types = _argument_types(state, call, [p for p, _ in at] or (["x"] if reshapes else []))
    caption = "" if shapes or shown.issuperset(types) else ", ".join(types)
    help_ = _dtype_help(walker, call, what, at) if code == "E313" and outcome.status is Status.RESIDUAL else None
    equation = _equation(state, call, at, totals, outcome, "" if broadcast else what)
    if equation and outcome.witness is None:
        divided = _divided(state, call, at, what)
        concerned = [d for p, _ in at for d in _dims(state, call, p)] if divided is None else [divided[0]]
        outcome = replace(outcome, witness=_smallest(state, concerned))
    example = _example(state, totals or _two_sizes(state, call, at), outcome)
    return finish(
        walker, outcome, code, f"{operation(call)} needs {what_is_needed(call, what, state, sizes)}", found, call.span, caption,
        tuple(label for label in labels if label), help_, tuple(filter(None, (shapes, equation, example))),
    )  # fmt: skip


def _scalars(state: State, call: CallLike, what: str) -> Iterator[tuple[str, str]]:
    """The sizes among the arguments that a rule speaks of: `k` of "`k` to be at most axis 1 of `x`"."""
    for name, entry in call.entries:
        if isinstance(entry.value, SizeValue) and f"`{name}`" in what:
            yield name, size_text(entry.value.size, state)
        elif isinstance(entry.value, NumberValue) and f"`{name}`" in what:
            yield name, str(entry.value.value)


def _own_dtype(state: State, call: CallLike, at: tuple[tuple[str, int | None], ...]) -> str:
    """`it has int32`, of the one tensor that is not of the right dtype."""
    entry = call.find(at[0][0]) if at else None
    known = dtype_text(entry.value.dtype, state) if entry is not None and isinstance(entry.value, TensorInfo) else "?"
    return f"it has {known}" if known in DTYPES else ""


def _dtypes(state: State, call: CallLike) -> str:
    """`they are int32 and float32`, of the tensors."""
    found = [dtype_text(e.value.dtype, state) for _, e in call.entries if isinstance(e.value, TensorInfo)]
    return f"they have {listed(found)}" if len(set(found)) > 1 and "?" not in found else ""


def _smallest(state: State, sizes: list[Size]) -> dict[str, int] | None:
    """The smallest sizes that satisfy what is known, those of tensors from 1."""
    symbolic = [s for s in sizes if not isinstance(s, int)]
    inside = {v for s in symbolic for v in variables(s)}
    point = state.facts.witness(all_of(*(ge(s, 1) for s in symbolic)), True, symbolic)
    if point is None:
        return None
    named = sorted(((v, n) for v, n in point.items() if v in inside), key=lambda item: item[0].serial)
    return {v.name: n for v, n in named if v.name.isidentifier()} or None


def _equation(
    state: State,
    call: CallLike,
    at: tuple[tuple[str, int | None], ...],
    totals: tuple[Size, Size] | None,
    outcome: Outcome,
    what: str,
) -> str:
    """The equation between sizes that fails, with its reason."""
    if what.startswith("the elements of `x`") and outcome.status is Status.REFUTED:
        return _remainder(state, call)
    divided = _divided(state, call, at, what)
    if divided is not None:
        return equations.remainder(state, *divided) if outcome.status is Status.REFUTED else ""
    if totals is not None:
        say = equations.only_empty if outcome.only_empty else equations.without_solution
        return say(state, *totals) if outcome.only_empty or outcome.status is Status.REFUTED else ""
    sizes = _two_sizes(state, call, at)
    if outcome.status is Status.REFUTED and sizes is not None and what.endswith("to be equal"):
        return equations.without_solution(state, *sizes)
    return ""


def _divided(
    state: State, call: CallLike, at: tuple[tuple[str, int | None], ...], what: str
) -> tuple[Size, int] | None:
    """The size that has to be a multiple of a number, and that number."""
    divisor, (param, axis) = _MULTIPLE.search(what), at[0] if at else ("", None)
    if divisor is None or axis is None or not _has(state, call, param, axis):
        return None
    return state.settled(_dims(state, call, param)[axis]), int(divisor[1])


def _two_sizes(state: State, call: CallLike, at: tuple[tuple[str, int | None], ...]) -> tuple[Size, Size] | None:
    """The two sizes that conflict, if it is two."""
    sizes = [_dims(state, call, p)[axis] for p, axis in at if axis is not None and _has(state, call, p, axis)]
    return (sizes[0], sizes[1]) if len(at) == len(sizes) == 2 else None


def _example(state: State, sizes: tuple[Size, Size] | None, outcome: Outcome) -> str:
    """`with B = 1 they are 16 and 15`: what the two sizes come to in the smallest case; nothing where they are names."""
    witness = outcome.witness
    if sizes is None or not witness or outcome.status is Status.PROVED:
        return ""
    settled = [state.settled(s) for s in sizes]
    inside = {v for s in settled if not isinstance(s, int) for v in variables(s)}
    if not all(v.name in witness for v in inside) or all(size_text(s, state).isalnum() for s in settled):
        return ""
    point = {v: witness[v.name] for v in inside}
    assigned = ", ".join(f"{name} = {value}" for name, value in witness.items())
    values = [str(evaluate(s, point)) for s in settled]
    return f"with {assigned} they are {listed(values)}" if values[0] != values[1] else ""


def _has(state: State, call: CallLike, param: str, axis: int) -> bool:
    rank = len(_dims(state, call, param))
    return -rank <= axis < rank


def _aligned(state: State, call: CallLike, at: tuple[tuple[str, int | None], ...], *, from_the_end: bool) -> str:
    """The shapes of the tensors that do not fit each other, with the axes marked; nothing where one is not known."""
    bad: dict[str, list[int]] = {}
    for param, axis in at:
        if axis is not None and call.is_tensor(param):
            bad.setdefault(param, []).append(axis)
    rows = []
    for param, axes in bad.items():
        entry = call.find(param)
        shape = state.resolve(entry.value.shape) if entry is not None and isinstance(entry.value, TensorInfo) else ()
        if not shape or not plain(shape) or not all(-len(shape) <= a < len(shape) for a in axes):
            return ""
        sizes = tuple(size_text(d, state) for d in shape)
        rows.append(Row(spoken_argument(call, param), sizes, tuple(a % len(shape) for a in axes)))
    if len(rows) < 2 or max(len(row.sizes) for row in rows) < 2:
        return ""
    return aligned(rows, from_the_end=from_the_end)


def _dims(state: State, call: CallLike, param: str) -> tuple[Size, ...]:
    """The sizes of a tensor or a shape; none where they are not all known."""
    entry = call.find(param)
    value = entry.value if entry is not None else None
    dims = value.dims if isinstance(value, ShapeValue) else value.shape if isinstance(value, TensorInfo) else ()
    dims = state.resolve(dims)
    return dims if plain(dims) else ()


def _is_known(state: State, call: CallLike, param: str) -> bool:
    """Whether it is known how many sizes a tensor or a shape has."""
    entry = call.find(param)
    value = entry.value if entry is not None else None
    dims = value.dims if isinstance(value, ShapeValue) else value.shape if isinstance(value, TensorInfo) else None
    return dims is not None and plain(state.resolve(dims))


def _changed(
    state: State, call: CallLike, at: tuple[tuple[str, int | None], ...]
) -> tuple[tuple[str, int | None], ...]:
    """The axes of a reshape's operand that its result has not; beside a -1 only those that are no numbers."""
    target, dims = _dims(state, call, "shape"), _dims(state, call, "x")
    there = range(-len(dims), len(dims))
    if -1 in target:
        return tuple((p, a) for p, a in at if a is None or (a in there and not isinstance(dims[a], int)))
    return tuple((p, a) for p, a in at if a is None or (a in there and dims[a] not in target))


def _elements(state: State, call: CallLike) -> tuple[Size, Size] | None:
    """The two numbers of elements of a reshape."""
    totals = []
    for param in _RESHAPED:
        if not _is_known(state, call, param):
            return None
        dims = _dims(state, call, param)
        if any(isinstance(d, int) and d < 0 for d in dims):
            return None
        totals.append(prod(dims))
    return totals[0], totals[1]


def _remainder(state: State, call: CallLike) -> str:
    """`7000 mod 420 = 280`: the elements and the sizes beside a -1, less the names that are in both."""
    sizes = [state.settled(d) for d in _dims(state, call, "x")]
    beside = []
    for size in (state.settled(d) for d in _dims(state, call, "shape") if d != -1):
        if size in sizes and not isinstance(size, int):
            sizes.remove(size)
        else:
            beside.append(size)
    return equations.remainder(state, prod(sizes), prod(beside))


def _they_are(state: State, call: CallLike) -> str:
    counts = [_count_text(state, call, param) for param in _RESHAPED]
    return f"they are {counts[0]} and {counts[1]}" if all(counts) else ""


def _count_text(state: State, call: CallLike, param: str) -> str:
    """A number of elements, as a product where it is long when that is multiplied out; nothing where neither can be read."""
    dims = _dims(state, call, param)
    parts = [size_text(dim, state) for dim in dims if dim != 1]
    product = " * ".join(part if _CALL.fullmatch(part) else f"({part})" for part in parts)
    return next((text for text in (size_text(prod(dims), state), product) if readable(text)), "")


def rooted(walker: Speaker, said: Diagnostic, sizes: Iterable[tuple[Entry | None, int | None]]) -> Diagnostic:
    """An error about a size that an earlier call made with a doubt of its own belongs there: the doubt becomes the error,
    and where the size is used is the reason. One of the two fails, and that is what is said."""
    if said.severity != "error":
        return said
    for entry, axis in sizes:
        made = place_of(walker.state, entry, axis).made if entry is not None and axis is not None else None
        if made is None or made.doubt is None:
            continue
        if not walker.withdraw(made.doubt):
            continue
        return with_use(made.doubt, said)
    return said


def _dtype_help(walker: Speaker, call: CallLike, what: str, at: tuple[tuple[str, int | None], ...]) -> str | None:
    """A dtype variable of the signature can be confined there."""
    found = re.search(r"to have an? (\w+) dtype", what)
    entry = call.find(at[0][0]) if at else None
    if found is None or entry is None or not isinstance(entry.value, TensorInfo):
        return None
    name = dtype_text(entry.value.dtype, walker.state)
    return None if name == "?" else f"`where {name} in {found[1]}` in the signature of {walker.function} makes it hold"


def _sizes_at(state: State, call: CallLike, at: tuple[tuple[str, int | None], ...], what: str) -> str:
    """`they are 3 and 4`; nothing where the sentence is about several of one size that it names."""
    sizes = [_size_at(state, call, param, axis) for param, axis in at if axis is not None]
    known = [s for s in sizes if s is not None]
    if not known or len(known) != len(sizes) or (len(known) > 1 and all(f" {size} " in what for size in known)):
        return ""
    return f"{'it is' if len(known) == 1 else 'they are'} {listed(known)}"


def _size_at(state: State, call: CallLike, param: str, axis: int | None) -> str | None:
    """The size of a tensor's axis, or the entry of a shape that was passed."""
    entry = call.find(param)
    if entry is None or axis is None:
        return None
    if isinstance(entry.value, ShapeValue):
        shape = state.resolve(entry.value.dims)
    elif isinstance(entry.value, TensorInfo) and call.is_tensor(param):
        shape = state.resolve(entry.value.shape)
    elif isinstance(entry.value, TensorInfo) and isinstance(entry.value.data, tuple):
        shape = entry.value.data
    else:
        return None
    if not plain(shape) or not -len(shape) <= axis < len(shape):
        return None
    return told(shape[axis], state)


def _came_from(state: State, call: CallLike, param: str, axis: int | None) -> Label | None:
    entry = call.find(param)
    if entry is None:
        return None
    text = _size_at(state, call, param, axis)
    if text is None or axis is None:
        if call.span.start <= entry.span.start <= entry.span.end <= call.span.end:
            return None
        return Label(entry.span, f"{spoken_argument(call, param)} is {type_text(entry.value, state)}")
    return Label(place_of(state, entry, axis).span, f"{text} comes from here")


def _open_rank(state: State, entry: Entry) -> Label:
    """Why a rank is not known."""
    if entry.origin is None:
        return Label(entry.span, "its rank is left open here")
    if entry.origin.guards:
        arms = listed([type_text(arm.value, state) for _, arm in entry.origin.entries])
        return Label(entry.span, f"the arms of this `if` give {arms}")
    return Label(entry.span, "only the run decides the rank of this")


def _argument_types(state: State, call: CallLike, params: list[str]) -> list[str]:
    """`x` is Tensor([3], int8), for each of the parameters that is a tensor."""
    shown = []
    for param in dict.fromkeys(params):
        entry = call.find(param)
        if entry is not None and isinstance(entry.value, TensorInfo):
            shown.append(f"{spoken_argument(call, param)} is {type_text(entry.value, state)}")
    return shown


def _made_of(state: State, call: CallLike) -> Label | None:
    entry, count = call.find("x"), _count_text(state, call, "x") if _is_known(state, call, "x") else ""
    return None if entry is None or not count else Label(entry.span, f"this has {count} elements")


def bad_call(walker: Speaker, message: str, span: Span) -> Diagnostic:
    return error("E314", message, span, function=walker.function)
