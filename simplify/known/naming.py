"""Sizes under the user's names: after an annotation's assertion a dimension is written in the annotation's words."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...lang import core
from ...lang.dtypes import DTYPES
from ...lang.node import replace
from ...ops.model import AnyDType, DTypeSymbol, TensorInfo
from ..solver.conditions import eq, ge
from ..solver.sizes import single_var
from ..solver.term_sizes import written_size
from ..solver.terms import Size, Term, mod, variables
from ..solver.trail import Table
from .shape_level import Poisoned, ShapeLevel
from .state import State
from .values import Entry, Env, Shape, plain

# Called when more is known of a name.
Rebind = Callable[[Env, str, Entry], None]


class Names:
    """The names that the annotations of a scope give to sizes; `opaque` if only the callee chooses the sizes."""

    def __init__(self, state: State, *, opaque: bool = False) -> None:
        self.state, self.opaque = state, opaque
        self.sizes: Table[str, Size] = Table(state.facts.trail)


def name_dimension(names: Names, stmt: core.Assert, env: Env, rebind: Rebind) -> None:
    """Give the sizes that an annotation names their names, after one of its assertions.

    `x : Tensor([n, m * 4])` turns the dimensions of x into `n` and `m * 4`, with n and m sizes of their own.
    """
    origin = stmt.origin
    declared = origin.declared
    entry = env.get(declared.tensor) if declared is not None else None
    if declared is None or declared.annotation is None or entry is None or not isinstance(entry.value, TensorInfo):
        return
    written, dtype = declared.annotation.dims, declared.annotation.dtype
    if dtype is not None and dtype.names:
        _name_dtype(names.state, entry.value.dtype, dtype.names[0])
    if written is None:
        return
    if origin.what == "rank":
        dims = names.state.resolve(entry.value.shape)
        bound = _bound_sizes(names, declared, env, written)
        if plain(dims):
            for size, item in zip(dims, written, strict=False):
                if isinstance(item.size, core.SizeVar) and item.size.name not in bound:
                    _name_size(names, size, item.size.name)
    elif origin.what == "dim" and origin.axis is not None and -len(written) <= origin.axis < len(written):
        item = written[origin.axis]
        bound = _bound_sizes(names, declared, env, (item,))
        _name_inside(names, env, declared.tensor, origin.axis, item, bound, rebind)


def name_computed(names: Names, stmt: core.Assert, env: Env, rebind: Rebind) -> None:
    """Name sizes after all assertions of a signature: `x : Tensor([n - 5])` asserts nothing of the dimension, but it is
    written so."""
    declared = stmt.origin.declared
    if stmt.origin.what != "rank" or declared is None or declared.annotation is None:
        return
    written, entry = declared.annotation.dims, env.get(declared.tensor)
    if written is None or entry is None or not isinstance(entry.value, TensorInfo):
        return
    for axis, item in enumerate(written):
        if core.sides(item.size) is not None and len(names.state.resolve(entry.value.shape)) == len(written):
            bound = _bound_sizes(names, declared, env, (item,))
            _name_inside(names, env, declared.tensor, axis, item, bound, rebind)


def _name_dtype(state: State, dtype: AnyDType | None, name: str) -> None:
    symbol = state.dtype(dtype) if dtype is not None else None
    if isinstance(symbol, DTypeSymbol) and not state.called(symbol).isidentifier() and name not in DTYPES:
        state.call(symbol, name)


def _bound_sizes(names: Names, declared: core.Declared, env: Env, items: Iterable[core.Written]) -> dict[str, Size]:
    """The known values of the names in some dimensions."""
    wanted = {name for item in items for name in item.names}
    sizes = {name: names.sizes[name] for name in wanted if name in names.sizes}
    for name, expr in declared.bound:
        if name in wanted and isinstance(expr, core.SizeExpr):
            try:
                sizes[name] = ShapeLevel(names.state, env).size(expr)
            except Poisoned:
                continue
    return sizes


def _name_size(names: Names, size: Size, name: str) -> None:
    if name in names.sizes:
        return
    size = names.state.settled(size)
    variable = single_var(size)
    if variable is not None and names.state.may_be_called(variable, name):
        size = named = _new_size(names, name)
        names.state.rename(variable, named)
    names.sizes[name] = size


def _new_size(names: Names, name: str) -> Term:
    named = names.state.size(name)
    variable = single_var(named)
    if names.opaque and variable is not None:
        names.state.opaque.begin(variable, None)
    return named


def _name_inside(
    names: Names,
    env: Env,
    tensor: str,
    axis: int,
    item: core.Written,
    bound: dict[str, Size],
    rebind: Rebind,
) -> None:
    """`[q * 64]`: write the dimension as `q * 64` from here on, unless it already has a better form."""
    free = [n for n in item.names if n not in bound]
    entry = env[tensor]
    assert isinstance(entry.value, TensorInfo)
    shape = names.state.resolve(entry.value.shape)
    size = _at(shape, axis)
    if len(free) != 1 or size is None:
        return
    variable = single_var(size)
    anonymous = variable is not None and variable in names.state.anonymous
    if isinstance(size, int) or not (anonymous or _unsolved(names.state, size)):
        return
    if not _can_be_written(names.state, size, item, bound, free[0]):
        return
    named = _new_size(names, free[0])
    written = written_size(item.size, {**bound, free[0]: named})
    if written is None:
        return
    names.sizes[free[0]] = named
    names.state.assume(eq(size, written))
    if anonymous:
        names.state.solve_anonymous(size, written)
    else:
        dims = list(shape)
        dims[axis] = written
        value = replace(entry.value, shape=tuple(dims))
        rebind(env, tensor, Entry(value, entry.span, entry.axes, number=entry.number))


def _at(shape: Shape, axis: int) -> Size | None:
    """The size at an axis, counted from the end if negative; None if an unknown number of dimensions lies between."""
    beside = shape[: axis + 1] if axis >= 0 else shape[axis:]
    if not -len(shape) <= axis < len(shape) or not plain(beside):
        return None
    return beside[-1] if axis >= 0 else beside[0]  # type: ignore[no-any-return]


def _can_be_written(state: State, size: Size, item: core.Written, bound: dict[str, Size], name: str) -> bool:
    """Whether the known facts already prove that some size of that name makes the expression equal to the dimension; the
    checks of an inversion come one by one, so only the last one may make this certain."""
    at = [written_size(item.size, {**bound, name: n}) for n in (0, 1, 2)]
    if any(a is None for a in at):
        return False
    zero, one, two = (a for a in at if a is not None)
    factor, rest = one - zero, size - zero
    if two - one != factor:
        return False
    sure = (ge(factor, 1), ge(rest, 0), eq(mod(rest, factor), 0))
    return all(c is True or (c is not False and state.facts.decide(c).kind == "proved") for c in sure)


def _unsolved(state: State, size: Size) -> bool:
    """Whether a size contains a variable without a user's name."""
    return any(v in state.opaque or not v.name.rstrip("'").isidentifier() for v in variables(size))
