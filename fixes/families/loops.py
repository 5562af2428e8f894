"""Fixes of a loop's invariant: a growing carry gets a size in terms of the loop's index, or a name with its known bound; and
of a range that counts down."""

from __future__ import annotations

from collections.abc import Iterator

from ...lang import sweet
from ...lang.diagnostics import Edit
from ...lang.expressions import names_in, renamed
from ...lang.node import Node
from ...lang.walk import walk
from ...ops.elsewhere_args import integer
from ...simplify.solver.numbers import shifted
from ..case import Dims, Fix, FixCase, dims_text, inserted, replaced
from ..tree import TextTree
from ..weights import GIVING_WAY, weight

# A range that counts by one has at most these arguments.
_ENDS = 2
# Names for sizes that change from turn to turn.
_NAMES = "pqrkmnuvw"
Loop = sweet.For | sweet.While


def fixes(case: FixCase) -> Iterator[Fix]:
    """Fix a turn that ends with another size than its carry's annotation keeps."""
    yield from _backwards(case)
    yield from _ahead(case)
    asked = case.subject.declared
    carry = None if asked is None else case.tree.enclosing(asked, sweet.Carry)
    if asked is None or carry is None or case.callee:
        return
    if carry.type is None and case.subject.what == "shape":
        yield from _annotated(case, carry)
    if carry.type is None or case.subject.what != "dim":
        return
    found = case.tree.of(asked.source).find(asked, sweet.TensorType)
    dims = found.shape if isinstance(found, sweet.TensorType) else None
    loop = case.tree.loop_of(carry)
    axis = case.subject.at[0][1]
    if (
        not isinstance(dims, sweet.ListExpr)
        or loop is None
        or axis is None
        or not -len(dims.items) <= axis < len(dims.items)
    ):
        return
    item, shown = dims.items[axis], carry.type.span
    if case.subject.grown:
        grown = replaced(item, case.subject.grown)
        yield case.fix(f"`{carry.name.name}` grows in each turn", [grown], weight("carry"), show=shown)
        yield from _with_result(case, loop, carry, item, axis)
        yield from _all_together(case, loop, item)
    yield from _existential(case, loop, item, axis)


def _backwards(case: FixCase) -> Iterator[Fix]:
    """Write `range(n - 1, -1, -1)` as `range(n)`, with `n - 1 - i` for `i` in the turns."""
    loop = case.tree.enclosing(case.diagnostic.span, sweet.For)
    given = [a.value for a in loop.iterable.args] if loop is not None and isinstance(loop.iterable, sweet.Call) else []
    if loop is None or len(given) != 3 or integer(given[2]) != -1 or given[2].span != case.diagnostic.span:
        return
    first, span = given[0].span.text, f"{given[0].span.text} - ({given[1].span.text})"
    turns = next((shifted(span, name, 0) for name in names_in(span)), None)
    index, edits = loop.index.name, [replaced(loop.iterable, f"range({turns})")]
    for use in (n for n in walk(loop.body) if isinstance(n, sweet.Name) and n.name == index):
        back = f"{first} - {index}"
        edits.append(
            replaced(use, f"({back})" if isinstance(case.tree.parent(use), sweet.Binary | sweet.Unary) else back)
        )
    if turns is not None:
        what = f"count up: `range({turns})`, and `{first} - {index}` for `{index}`"
        yield Fix(what, tuple(edits), weight("carry"), what)


def _ahead(case: FixCase) -> Iterator[Fix]:
    """End the range of `xs[i + 1] - xs[i]` in `range(t)` earlier, and shorten the result."""
    loop, index = case.tree.enclosing(case.diagnostic.span, sweet.For), case.call
    by = steps_ahead(case.tree, loop, index) if loop is not None else 0
    stop = _stop(loop) if loop is not None else None
    if not by or loop is None or stop is None:
        return
    edit = replaced(stop, f"{stop.span.text} - {by}")
    what = f"end {by} turn{'s' * (by > 1)} earlier"
    yield case.fix(what, [edit], weight("carry"), show=loop.iterable.span, guess=True)
    dims = _counted(case, stop)
    if dims:
        what = f"{what}: `range({edit.text})`, and declare as many in the result: `{edit.text}`"
        yield Fix(what, (edit, *(replaced(dim, edit.text) for dim in dims)), weight("carry") + 1, what, guess=True)


def is_of_turns(case: FixCase, index: Node) -> bool:
    """Whether an index may be right and the number of turns wrong: a turn also reads another entry of the same tensor, or the
    result has an entry for each turn."""
    loop = case.tree.enclosing(case.diagnostic.span, sweet.For) if isinstance(index, sweet.Index) else None
    stop = _stop(loop) if loop is not None and isinstance(case.call, sweet.Index) else None
    if loop is None or stop is None:
        return False
    return steps_ahead(case.tree, loop, index) > 0 or index is case.call and bool(loop.stack and _counted(case, stop))


def _stop(loop: sweet.For) -> sweet.Expr | None:
    """Return the end of a range that counts by one."""
    args = loop.iterable.args if isinstance(loop.iterable, sweet.Call) else ()
    return args[-1].value if 1 <= len(args) <= _ENDS else None


def _counted(case: FixCase, stop: sweet.Expr) -> list[sweet.Expr]:
    """Return the dimensions of the function's result that are the number of turns."""
    return _dims(stop.span.text, case.function.fn.result if case.function is not None else None)


def steps_ahead(tree: TextTree, loop: sweet.For, index: Node | None) -> int:
    """Return how many entries a turn reads ahead of another entry of the same tensor; 0 if it does not."""
    for item in index.items if isinstance(index, sweet.Index) and _reads_beside(loop, index) else ():
        bound = tree.binding(item.name, item.span) if isinstance(item, sweet.Name) else None
        match bound.value if isinstance(bound, sweet.Let) else item:
            case sweet.Binary(op="+", left=sweet.Name(name=name), right=sweet.IntLit(value=by)) if (
                name == loop.index.name
            ):
                return by
    return 0


def _reads_beside(loop: Loop, index: sweet.Index) -> bool:
    others = [n for n in walk(loop.body) if isinstance(n, sweet.Index) and n.value.span.text == index.value.span.text]
    return any(other.span.text != index.span.text for other in others)


def _annotated(case: FixCase, carry: sweet.Carry) -> Iterator[Fix]:
    """Annotate a carry, which otherwise keeps the shape of its first value, with a size that grows or changes."""
    loop, kept = case.tree.loop_of(carry), case.subject.wanted
    made = next((o for o in case.subject.operands if o.shape is not None and len(o.shape) == len(kept)), None)
    if loop is None or made is None or made.shape is None or made.dtype == "?":
        return
    name, end, grown = carry.name.name, carry.name.span.end, case.subject.grown
    if not grown and isinstance(loop, sweet.For):
        grown = _as_begun(loop.index.name, made.shape)
    if grown:
        type_ = f"Tensor({grown}, {made.dtype})"
        edit = inserted(carry.span, end, f" : {type_}")
        yield Fix(f"`{name}` grows in each turn: annotate it `{name} : {type_}`", (edit,), weight("carry"), type_)
    free = _free(case)
    dims = [(size if size == after else next(free), size) for size, after in zip(kept, made.shape, strict=True)]
    type_ = f"Tensor([{', '.join(str(dim) for dim, _ in dims)}], {made.dtype})"
    for position, sign in enumerate((">=", "<=")):
        conditions = ", ".join(f"{dim} {sign} {size}" for dim, size in dims if dim != size)
        what = f"let the size change from turn to turn: `{name} : {type_}` with `where {conditions}`"
        edits = (inserted(carry.span, end, f" : {type_}"), _where(loop, conditions))
        yield Fix(what, edits, weight("carry") + 1 + position, what, True)


def _as_begun(index: str, after: Dims) -> str:
    """Return the sizes at the end of a turn in terms of the next turn's index; empty if they do not contain it."""
    begun = [shifted(size, index, -1) for size in after]
    sizes = (size if own is None else own for size, own in zip(after, begun, strict=True))
    return dims_text(sizes) if any(own is not None for own in begun) else ""


def _free(case: FixCase) -> Iterator[str]:
    """Yield names for sizes that the file does not use."""
    taken = {n.name for n in walk(case.tree.module) if isinstance(n, sweet.Ident | sweet.Name)}
    return (n for n in (*_NAMES, *(f"{n}{k}" for k in range(2, 9) for n in _NAMES)) if n not in taken)


def _with_result(case: FixCase, loop: Loop, carry: sweet.Carry, item: sweet.Expr, axis: int) -> Iterator[Fix]:
    """Let the carry grow, and the function's result, which has the same size there."""
    behind = _behind(loop, case.subject.grown)
    for declared in _declared(case, item, axis) if behind else ():
        both = (replaced(item, case.subject.grown), replaced(declared, behind))
        what = f"`{carry.name.name}` grows in each turn: write `{case.subject.grown}`, and in the result `{behind}`"
        yield Fix(what, both, weight("carry"), what, guess=True)


def _all_together(case: FixCase, loop: Loop, item: sweet.Expr) -> Iterator[Fix]:
    """Let all carries of that size grow, and the function's result with them."""
    carried, grown = _dims(item.span.text, *(c.type for c in loop.carries)), case.subject.grown
    if len(carried) < 2:
        return
    what = f"the carried value grows in each turn: `{grown}` for `{item.span.text}`"
    edits = tuple(replaced(dim, grown) for dim in carried)
    yield Fix(what, edits, weight("carry"), what, guess=True)
    behind = _behind(loop, grown)
    declared = _dims(item.span.text, case.function.fn.result if case.function is not None else None)
    if behind and declared:
        both = f"{what}, and in the result `{behind}`"
        yield Fix(both, (*edits, *(replaced(dim, behind) for dim in declared)), weight("carry"), both, guess=True)


def _dims(text: str, *types: sweet.Type | None) -> list[sweet.Expr]:
    """Return the dimensions in some types that are written like this."""
    shapes = [node.shape for node in walk(*types) if isinstance(node, sweet.TensorType)]
    return [
        dim for shape in shapes if isinstance(shape, sweet.ListExpr) for dim in shape.items if dim.span.text == text
    ]


def _behind(loop: Loop, grown: str) -> str:
    """Return a size that grows with the index after the last turn; empty if unknown."""
    if not isinstance(loop, sweet.For) or not isinstance(loop.iterable, sweet.Call) or loop.cond is not None:
        return ""
    given = [a.value.span.text for a in loop.iterable.args]
    if not 1 <= len(given) <= 2:
        return ""
    end = given[-1] if given[-1].isidentifier() or given[-1].isdigit() else f"({given[-1]})"
    return renamed(grown, {loop.index.name: end})


def _declared(case: FixCase, item: sweet.Expr, axis: int) -> Iterator[sweet.Expr]:
    """Yield the dimensions of the function's result that are the same size of that axis."""
    result = case.function.fn.result if case.function is not None else None
    for type_ in result.items if isinstance(result, sweet.TupleType) else (result,):
        dims = (
            type_.shape.items if isinstance(type_, sweet.TensorType) and isinstance(type_.shape, sweet.ListExpr) else ()
        )
        if -len(dims) <= axis < len(dims) and dims[axis].span.text == item.span.text:
            yield dims[axis]


def _existential(case: FixCase, loop: Loop, item: sweet.Expr, axis: int) -> Iterator[Fix]:
    """Give the size a name of its own, which may change, but stays at least (or at most) the first size."""
    if isinstance(loop, sweet.For) and loop.index.name in {n.name for n in walk(item) if isinstance(n, sweet.Name)}:
        return  # the loop's index bounds it already
    free = _free(case)
    name, other = next(free), next(free)
    unproved = case.diagnostic.code.is_unproved  # a condition that holds for some sizes is better demanded
    rank = GIVING_WAY if unproved else weight("carry") + 1
    for position, sign in enumerate((">=", "<=")):
        condition = f"{name} {sign} {item.span.text}"
        what = f"let the size change from turn to turn: `{name}` for `{item.span.text}`, with `where {condition}`"
        edits = (replaced(item, name), _where(loop, condition))
        yield Fix(what, edits, rank + position, what, True)
        for declared in _declared(case, item, axis):
            both = f"{what}, and `{other}` in the result"
            yield Fix(both, (*edits, replaced(declared, other)), rank + position, both, True)


def _where(loop: Loop, condition: str) -> Edit:
    """Return the edit that adds a condition to the invariant."""
    if loop.where:
        return inserted(loop.span, loop.where[-1].span.end, f", {condition}")
    behind = loop.span.source.text.index(")", loop.carries[-1].span.end) + 1
    return inserted(loop.span, behind, f" where {condition}")
