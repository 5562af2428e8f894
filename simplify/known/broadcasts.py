"""The size that several sizes broadcast to: a new size, known to equal one of them. As a formula it would grow with every
broadcast."""

from __future__ import annotations

from ..solver.conditions import Cond, all_of, any_of, eq, ge, ne
from ..solver.sizes import only_var
from ..solver.terms import Size, Term, size_key
from .state import State
from .texts import LISTED, is_whole, size_text
from .values import Shape

# A common size of more bases is named by its operands only.
_MOST_BASES = 8


def common(state: State, sizes: tuple[Size, ...], fit: bool = True) -> Size:
    """Return the size that `sizes` broadcast to. `fit`: they are known to broadcast; otherwise assume only facts that stay
    consistent if they do not."""
    bases = frozenset[Size]().union(*(state.bases_of(size) for size in sizes))
    known = state.broadcasts.get(bases)
    size = known if known is not None else _named(state, sizes, bases)
    if fit:
        for one in sizes:
            state.assume(any_of(eq(size, one), eq(one, 1)))
    if known is None:
        if not fit:
            for one in sizes:
                state.assume(any_of(ne(one, 1), *(eq(size, other) for other in sizes if other is not one)))
        state.assume(any_of(*(eq(size, one) for one in sizes)))
        state.broadcasts[bases] = size
        state.bases.begin(only_var(size), bases)
    if fit and only_var(size) not in state.choices:
        before = [all_of(*(eq(one, 1) for one in sizes[:i])) for i in range(len(sizes))]
        this = [*(ne(one, 1) for one in sizes[:-1]), True]
        state.choices.begin(
            only_var(size), tuple((all_of(b, t), one) for b, t, one in zip(before, this, sizes, strict=True))
        )
    return size


def _named(state: State, sizes: tuple[Size, ...], bases: frozenset[Size]) -> Term:
    shown = sizes if bases == set(sizes) or len(bases) > _MOST_BASES else tuple(sorted(bases, key=size_key))
    positive = all(state.facts.decide(ge(size, 1)).kind in ("proved", "vacuous") for size in sizes)
    texts = ", ".join(size_text(size, state, longest=LISTED) for size in shown)
    text = f"{'max' if positive else 'broadcast'}({texts})"
    is_readable = is_whole(text) and len(text) <= LISTED
    size = state.size(text if is_readable else "?")
    if not is_readable:
        state.opaque.begin(only_var(size), None)
    return size


def common_shape(state: State, *shapes: Shape) -> tuple[Cond, Shape]:
    """The shape that shapes of unknown rank broadcast to, and the condition under which they do."""
    key = frozenset(filter(None, map(state.resolve, shapes)))
    if key not in state.lasting.common_shapes:
        state.lasting.common_shapes[key] = eq(state.unknown_integer(), 0), (state.segment("?"),)
    return state.lasting.common_shapes[key]
