"""Fixes of typos in the operations that a wrong size comes from: another axis, operand, permutation, pad, stride, number or
name of the same sort, in the blamed call or in the expressions that its operands depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, islice, permutations

from ...lang import sweet
from ...lang.diagnostics import Edit
from ...lang.expressions import names_in
from ...lang.node import Node, replace
from ...lang.source import Span
from ...lang.walk import children, walk
from ...ops.elsewhere_args import integer
from ...ops.model import Trait
from ...ops.requirements import InRange
from ..case import Fix, FixCase, appended, inserted, replaced
from ..scope import FixScope, scope_at
from ..tree import callee, has, is_reshape, keeps_shape, reduces, turns
from ..weights import weight
from . import loops, settings, windows
from .exchanged import exchanged
from .ranks import rank_of

_AXES = ("axis", "axis1", "axis2", "source", "destination", "start", "end")
# Arguments that have fixes of their own.
_OTHERWISE = {*_AXES, "axes", "pads", "strides", "dilations", "groups"}
_SUSPECT = sweet.Call | sweet.Index | sweet.Name | sweet.Binary
_MOST_NODES = 40
_MOST_NAMES = 5
_MOST_AXES = 4
# Larger numbers are seldom off by one.
_LARGEST = 32
# The greatest penalty for the distance from the blamed call: a nearer fix of the next kind is tried before a farther typo.
_MOST_LATER = 8


def fixes(case: FixCase) -> Iterator[Fix]:
    if case.function is None or windows.may_be_too_small(case):
        return
    if case.diagnostic.code.of_dtypes:
        yield from _of_other_dtype(case)
    if not case.diagnostic.code.of_shapes:
        return
    moved_by = _differ_by_a_number(case)
    scope = scope_at(case.function, case.diagnostic.span, case.tree.uses(case.function))
    seen: set[Span] = set()
    first = next(_roots(case), None)
    for position, node in enumerate(islice(suspects(case), _MOST_NODES)):
        behind = later(position)
        meant = loops.is_of_turns(case, node)
        for typo, traits in TYPOS.items():
            if meant and "name" in traits:
                continue
            multiplies = "axis" in traits and has(callee(node), Trait.JOINS)
            unlikely = moved_by and position > 0 and "size" not in traits and not multiplies
            number = "number" in traits
            makes = "window" in traits or number and _is_range(node)
            far = behind // 4 if moved_by and makes else behind + weight("not of numbers") * unlikely
            for fix in typo(case, node, scope, far):
                of_index = number and (node is case.call and isinstance(node, sweet.Index) or _is_range(node))
                if node.span in seen or not (case.is_declared or fix.recalls or of_index or "value" not in traits):
                    continue
                fix = replace(fix, kind="typo", remote=fix.remote or node is not first)
                unsure = 0 if case.is_declared or fix.recalls else weight("result open")
                yield replace(fix, rank=fix.rank + unsure, guess=fix.guess or bool(unsure))
        seen.add(node.span)


def later(position: int) -> int:
    """Return the penalty for a suspect at this position."""
    return min(position // 2, _MOST_LATER)


def _of_other_dtype(case: FixCase) -> Iterator[Fix]:
    """Write another tensor for one of the wrong dtype."""
    assert case.function is not None
    scope = scope_at(case.function, case.diagnostic.span, case.tree.uses(case.function))
    for expr in case.arguments.values():
        for fix in _tensor_names(case, expr, scope, 0):
            yield replace(fix, kind="typo")


def _differ_by_a_number(case: FixCase) -> bool:
    """Whether the sizes in question have the same names, so that no other name and no other axis was meant."""
    sizes = _names_of_sizes(case)
    return len(sizes) > 1 and bool(sizes[0]) and all(s == sizes[0] for s in sizes)


def suspects(case: FixCase) -> Iterator[sweet.Expr]:
    """Yield the expressions that the size may come from, the nearest first; an annotation counts as the nearest."""
    tree, seen, blamed = case.tree, set[int](), _blamed(case)
    queue: list[Node] = list(_roots(case))
    annotated = {id(n) for n in queue if isinstance(n, sweet.ListExpr)}
    while queue:
        node = queue.pop(0)
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, _SUSPECT) or isinstance(node, sweet.ListExpr) and id(node) in annotated:
            yield node
        if isinstance(node, sweet.Name):
            bound = tree.binding(node.name, node.span)
            loop = tree.enclosing(node.span, sweet.For)
            queue += [bound.value] if isinstance(bound, sweet.Let) else []
            queue += [loop.iterable] if loop is not None and loop.index.name == node.name else []
        else:
            below = [n for n in children(node) if not isinstance(n, sweet.FnName | sweet.Ident)]
            queue += sorted(below, key=lambda n: not _holds_blamed(n, blamed))


def _blamed(case: FixCase) -> list[sweet.Expr]:
    """Return the blamed arguments of the call."""
    return [case.arguments[name] for name, _ in case.subject.at if name in case.arguments]


def _holds_blamed(node: Node, blamed: list[sweet.Expr]) -> bool:
    return any(node is expr or isinstance(node, sweet.Arg) and node.value is expr for expr in blamed)


def _roots(case: FixCase) -> Iterator[sweet.Expr]:
    """Yield the blamed call, or the annotated value."""
    declared = case.subject.declared
    let = case.tree.enclosing(case.diagnostic.span, sweet.Let)
    if case.call is not None:
        yield case.call
    elif let is not None:
        yield let.value
    elif (result := _result(case)) is not None:
        yield result
    if declared is not None and not case.callee and let is not None and isinstance(let.type, sweet.TensorType):
        yield from [let.type.shape] if isinstance(let.type.shape, sweet.ListExpr) else []


# Kinds of typos


def _axes(case: FixCase, node: sweet.Expr, scope: FixScope, later: int) -> Iterator[Fix]:
    """Replace an axis, or one of a list of them."""
    given = case.tree.arguments(node) if isinstance(node, sweet.Call) else {}
    if keeps_shape(callee(node)) and node is not case.call:
        return  # its axis changes no size
    if case.asks_for_entries and node is case.call:
        return
    operand = given.get("x") or given.get("xs[0]")
    rank = rank_of(case.tree, operand)
    beyond = (rank or 0) + has(callee(node), Trait.NEW_AXIS)
    for name in _AXES:
        expr = given.get(name)
        items = expr.items if isinstance(expr, sweet.ListExpr) else (expr,) if expr is not None else ()
        known = [integer(i) for i in items]
        for item, now in zip(items, known, strict=True):
            for other in _other_axes(now, None if rank is None else beyond) if now is not None else ():
                if other not in known:
                    yield _written(case, node, item, str(other), f"use axis {other}", weight("typed axis") + later)


def _other_axes(now: int, rank: int | None) -> list[int]:
    """Return the likely other axes, counted from the same end, the nearest first; only near ones for an unknown rank."""
    if rank is None:
        return [n for n in (now - 1, now + 1, now + 2, now - 2, now + 3, now - 3) if (n < 0) == (now < 0)]
    ends = range(rank) if now >= 0 else range(-rank, 0)
    return sorted((n for n in ends if n != now), key=lambda n: (abs(n - now), n > now))[:_MOST_AXES]


def _kept(case: FixCase, node: sweet.Expr, scope: FixScope, later: int) -> Iterator[Fix]:
    """Keep the axis of a reduction, or drop it."""
    given = case.tree.arguments(node) if isinstance(node, sweet.Call) else {}
    if isinstance(node, sweet.Call) and reduces(callee(node)) and "axis" in given and "keepdims" not in given:
        edit = appended(node, "keepdims=true")
        yield case.fix("keep the reduced axis", [edit], weight("kept axis of a typo") + later, show=node.span)
    kept = (
        next((a for a in node.args if a.name is not None and a.name.name == "keepdims"), None)
        if isinstance(node, sweet.Call)
        else None
    )
    if isinstance(node, sweet.Call) and kept is not None and kept is not node.args[0]:
        before = node.args[node.args.index(kept) - 1].span.end
        edit = Edit(Span(node.span.source, before, kept.span.end), "")
        yield case.fix("drop the reduced axis", [edit], weight("dropped axis of a typo") + later, show=node.span)


def _swapped(case: FixCase, node: sweet.Expr, scope: FixScope, later: int) -> Iterator[Fix]:
    """Swap two arguments."""
    if not isinstance(node, sweet.Call) or len(node.args) > 8:
        return
    if has(callee(node), Trait.WINDOWS) and not case.is_declared or has(callee(node), Trait.BROADCASTS):
        return
    # A function of the program accepted its arguments in this order.
    later += weight("taken") * (node is not case.call and case.tree.function(callee(node)) is not None)
    given = [a.value for a in node.args if a.name is None and _is_tensor(a.value, scope)]
    blamed = _blamed(case) if node is case.call else []
    for first, second in combinations(given, 2):
        if first.span.text != second.span.text and not (node is case.call and _of_other_ranks(case, first, second)):
            far = 0 if second is given[given.index(first) + 1] else 1
            far += 0 if not blamed or first in blamed or second in blamed else weight("aside")
            edits = [replaced(first, second.span.text), replaced(second, first.span.text)]
            between = Span(first.span.source, first.span.end, second.span.start).text
            edit = Edit(first.span.to(second.span), f"{second.span.text}{between}{first.span.text}")
            what = f"swap {case.named(first)} and {case.named(second)}"
            shown = case.outcome(edits, node.span)
            yield Fix(what, (edit,), weight("arguments") + later + far, f"swap {edits}", shown=shown)


def _of_other_ranks(case: FixCase, first: sweet.Expr, second: sweet.Expr) -> bool:
    """Whether both have the ranks that a function asks for, and these differ."""
    ranks = [len(dims) for _, expr, dims in case.tensors() if dims is not None and expr in (first, second)]
    return case.tree.function(case.callee) is not None and not case.is_of_rank and len(set(ranks)) == 2


def _outer(case: FixCase, node: sweet.Expr, scope: FixScope, later: int) -> Iterator[Fix]:
    """Add an axis to one operand, to pair each of its elements with each of the other."""
    if not isinstance(node, sweet.Binary) or not case.is_of_rank:
        return
    for expr in (node.right, node.left):
        if _is_tensor(expr, scope):
            text = f"@expand_dims({expr.span.text}, axis=-1)"
            yield _written(case, node, expr, text, f"add a last axis to {case.named(expr)}", weight("outer") + later)


def _untransposed(case: FixCase, node: sweet.Expr, scope: FixScope, later: int) -> Iterator[Fix]:
    operand = case.tree.arguments(node).get("x")
    if (turns(node) or has(callee(node), Trait.UNIT_AXES)) and operand is not None:
        yield _written(case, node, node, operand.span.text, f"leave out `@{callee(node)}`", weight("left out") + later)


def _permuted(case: FixCase, node: sweet.Expr, scope: FixScope, later: int) -> Iterator[Fix]:
    """Swap two entries of a permutation."""
    axes = case.tree.arguments(node).get("axes") if has(callee(node), Trait.MOVES_AXES) else None
    rank = len(axes.items) if isinstance(axes, sweet.ListExpr) else 0
    if node is case.call and len(case.shape("x") or range(rank)) != rank:
        return  # no order is right
    if isinstance(axes, sweet.ListExpr) and rank <= 5:
        texts = [i.span.text for i in axes.items]
        for i, j in combinations(range(len(texts)), 2):
            order = list(texts)
            order[i], order[j] = texts[j], texts[i]
            yield _written(
                case,
                node,
                axes,
                f"[{', '.join(order)}]",
                "order the axes otherwise",
                weight("order") + later // 4,
            )


def _windows(case: FixCase, node: sweet.Expr, scope: FixScope, later: int) -> Iterator[Fix]:
    """Change pads, strides and dilations of a window."""
    if not isinstance(node, sweet.Call) or not has(callee(node), Trait.WINDOWS) or not case.is_declared:
        return
    given = case.tree.arguments(node)
    divided = f"// {settings.common(given.get('strides'))}" in " ".join(case.sizes())
    for what, text, expr, rank in (*settings.pads(given, scope), *settings.strides(given, scope)):
        guess = rank > weight("pads that keep")
        rank += weight("divided") * (divided and what == "strides")
        if expr is not None:
            yield _written(case, node, expr, text, f"use {what}={text}", rank + later, guess=guess)
        else:
            edit = appended(node, f"{what}={text}")
            yield case.fix(f"use {what}={text}", [edit], rank + later, show=node.span, guess=guess)


def _indices(case: FixCase, node: sweet.Expr, scope: FixScope, later: int) -> Iterator[Fix]:
    """Index the next axis, or the one before."""
    if not isinstance(node, sweet.Index) or not _is_tensor(node.value, scope):
        return
    items = node.items
    for size in [i for i in items if isinstance(i, sweet.Binary) and isinstance(case.asked, InRange)]:
        if size.op == "+" and integer(size.right) == 1:
            continue  # leaving it out is another fix
        last = f"{size.span.text} - 1"
        yield _written(
            case, node, size, last, f"write `{last}` for `{size.span.text}`", weight("last index"), guess=True
        )
    for before, item in zip((None, *items), items, strict=False):
        if isinstance(item, sweet.SliceItem | sweet.Dots) or sweet.is_none(item):
            continue
        moved = [inserted(node.span, item.span.start, ":, ")]
        if before is not None and before.span.text == ":":
            moved.insert(0, Edit(Span(node.span.source, before.span.start, item.span.start), ""))
        for edit in moved:
            yield case.fix(
                f"index another axis of {case.named(node.value)}", [edit], weight("indexed") + later, show=node.span
            )


def _numbers(case: FixCase, node: sweet.Expr, scope: FixScope, later: int) -> Iterator[Fix]:
    """Change a number of an argument, a shape or an index by one, or add a missing `- 1` to a size."""
    for expr in _numbered(case, node):
        if isinstance(expr, sweet.IntLit) and expr.value <= _LARGEST:
            around = case.tree.parent(expr)
            least = 1 if isinstance(around, sweet.Binary) else 0
            divides = expr.value == 1 and isinstance(around, sweet.Binary) and around.op == "//"
            rank = weight("divided by one" if divides else "number")
            for number in (expr.value + 1, expr.value - 1):
                if number >= least:
                    what = f"write {number} for {expr.value}"
                    yield _written(case, node, expr, str(number), what, rank + later, guess=True)
        elif isinstance(expr, sweet.Unary):
            back = integer(expr)
            for number in (back - 1, back + 1) if back is not None else ():
                if number < 0:
                    what = f"write {number} for {back}"
                    yield _written(case, node, expr, str(number), what, weight("number") + later, guess=True)
        elif isinstance(expr, sweet.Binary):
            what = f"write `{expr.left.span.text}` for `{expr.span.text}`"
            yield _written(case, node, expr, expr.left.span.text, what, weight("number") + later, guess=True)
        elif isinstance(expr, sweet.Name) and expr.name in scope.sizes:
            for moved in (f"{expr.name} - 1", *([f"{expr.name} + 1"] if _is_range(node) else [])):
                told = _is_range(node) and {moved, expr.name} <= {*case.sizes()}
                rank = weight("last of a range") if told else weight("size one off") + later
                yield _written(case, node, expr, moved, f"write `{moved}` for `{expr.name}`", rank, guess=True)


def _is_range(node: sweet.Expr) -> bool:
    return isinstance(node, sweet.Call) and isinstance(node.callee, sweet.Name)


def _numbered(case: FixCase, node: sweet.Expr) -> Iterator[sweet.Expr]:
    """Yield the sizes written in a call or an index itself, not in inner calls."""
    given = case.tree.arguments(node) if isinstance(node, sweet.Call) else {}
    stack: list[object] = [e for name, e in given.items() if name not in _OTHERWISE and "[" not in name]
    if not has(callee(node), Trait.WINDOWS):
        stack += [given["pads"]] if "pads" in given else []
    if isinstance(node, sweet.Index | sweet.ListExpr):
        stack += node.items
    if isinstance(node, sweet.Call) and _is_range(node):
        stack += [arg.value for arg in node.args]
    while stack:
        found = stack.pop(0)
        if isinstance(found, sweet.IntLit | sweet.Name | sweet.Unary):
            yield found
        elif isinstance(found, sweet.Binary) and found.op in "+-" and integer(found.right) == 1:
            yield found
            stack[:0] = children(found)
        elif isinstance(found, sweet.ListExpr | sweet.TupleExpr | sweet.SliceItem | sweet.Binary):
            stack[:0] = children(found)


def _size_names(case: FixCase, node: sweet.Expr, scope: FixScope, later: int) -> Iterator[Fix]:
    """Write another size: first those that the body does not use, then those of the operand."""
    named = [n for n in _numbered(case, node) if isinstance(n, sweet.Name) and n.name in scope.sizes]
    said = {n.name for n in named}
    own = {name for o in case.subject.operands for name in _names(o.shape or ())} if node is case.call else set()
    others = sorted((s for s in scope.sizes if s not in said), key=lambda s: (s not in own, scope.used[s]))
    twice = sorted(named, key=lambda n: -sum(n.name == m.name for m in named))
    mixed_up = _mixed_up(case)
    for name in twice:
        for other in dict.fromkeys([*(b for a, b in mixed_up if a == name.name), *others[:_MOST_NAMES]]):
            what = f"write `{other}` for `{name.name}`"
            mixed = (name.name, other) in mixed_up
            rank = weight("mixed up") + later // 4 if mixed else weight("size name") + later
            yield _written(case, node, name, other, what, rank, guess=True)


def _mixed_up(case: FixCase) -> set[tuple[str, str]]:
    """Return pairs of names by which alone two sizes in question differ: `t + k` and `t + s`."""
    sizes = _names_of_sizes(case) if not isinstance(case.call, sweet.Index) else []
    pairs = [(one - other, other - one) for one, other in permutations(sizes, 2)]
    return {(x, y) for a, b in pairs if len(a) == len(b) == 1 for x in a for y in b}


def _names_of_sizes(case: FixCase) -> list[set[str]]:
    """Return the names in each of the sizes in question; for a reshape those of each whole shape."""
    if is_reshape(case.callee):
        return [_names(case.shape(name) or ()) for name in ("x", "shape")]
    return [_names((size,)) for size in case.sizes()]


def _names(dims: tuple[int | str, ...]) -> set[str]:
    return set(names_in(*dims))


def _tensor_names(case: FixCase, node: sweet.Expr, scope: FixScope, later: int) -> Iterator[Fix]:
    """Write another tensor, first an unused one, or one with the same declared shape. A name used only here is meant."""
    if not isinstance(node, sweet.Name) or node.name not in scope.tensors or case.tree.is_only_use(node):
        return
    own, statement = scope.tensors[node.name], case.tree.statement(node.span)
    around = statement if statement is not None else _result(case)
    here = {n.name for n in walk(around) if isinstance(n, sweet.Name)} if around is not None else set()
    beside = _beside(case, node)
    found = [name for name in scope.tensors if name not in beside and _is_before(case, name, node)]
    if not case.is_declared:
        found = [name for name in found if not scope.used[name]]
    found.sort(key=lambda name: (scope.used[name] > 0, name in here, not _alike(own, scope.tensors[name])))
    for name in found[:_MOST_NAMES]:
        alike, is_used = _alike(own, scope.tensors[name]), scope.used[name] > 0
        recalls = alike and not is_used and scope.used[node.name] > 1 and _is_blamed(case, node)
        further = weight("other axes") * (not alike) + later + weight("named here") * (name in here)
        rank = weight("recalled") if recalls else weight("used name" if is_used else "unused name") + further
        fix = _written(case, node, node, name, f"write `{name}` for `{node.name}`", rank, guess=True)
        yield replace(fix, recalls=recalls)


def _recalled(case: FixCase, node: sweet.Expr, scope: FixScope, later: int) -> Iterator[Fix]:
    """Write an unused tensor for `x[i]`."""
    if not isinstance(node, sweet.Index) or case.call is None or not _is_blamed(case, node):
        return
    for name in [n for n in scope.tensors if not scope.used[n] and _is_before(case, n, node)][:_MOST_NAMES]:
        what = f"write `{name}` for `{node.span.text}`"
        yield replace(_written(case, node, node, name, what, weight("recalled"), guess=True), recalls=True)


def _is_blamed(case: FixCase, node: Node) -> bool:
    """Whether it is a blamed argument of the call."""
    return any(node is expr for expr in _blamed(case))


def _result(case: FixCase) -> sweet.Expr | None:
    body = case.function.fn.body if case.function is not None else None
    return body.result if body is not None else None


def _is_before(case: FixCase, name: str, node: sweet.Expr) -> bool:
    return case.tree.binding(name, node.span) is not None


def _alike(one: sweet.ListExpr | None, other: sweet.ListExpr | None) -> bool:
    return one is not None and other is not None and len(one.items) == len(other.items)


# Each kind with its traits: it makes a size larger or smaller (`size`); it writes another number or name (`name`); it changes
# values, or fails along another axis, so that only a declared result shows whether it is right (`value`).
TYPOS: dict[Callable[[FixCase, sweet.Expr, FixScope, int], Iterator[Fix]], str] = {
    _kept: "", _axes: "axis value", _swapped: "", _untransposed: "", _permuted: "", _outer: "",
    _windows: "size value window", _indices: "size", _numbers: "size value name number", _size_names: "value name",
    _tensor_names: "value", _recalled: "", exchanged: "",
}  # fmt: skip


# Parts


def _written(
    case: FixCase, node: sweet.Expr, expr: sweet.Expr, text: str, what: str, rank: int, *, guess: bool = False
) -> Fix:
    around = case.tree.parent(node) if node is expr else node
    around = case.tree.parent(around) if isinstance(around, sweet.Arg) else around
    show = around.span if isinstance(around, sweet.Call | sweet.Binary | sweet.Index) else node.span
    return case.fix(what, [replaced(expr, text)], rank, show=show, guess=guess)


def _beside(case: FixCase, node: sweet.Name) -> set[str]:
    """Return the names that operators combine with this one: a value is seldom combined with itself."""
    around: Node = node
    while isinstance(parent := case.tree.parent(around), sweet.Binary):
        around = parent
    operands: list[Node] = [around]
    for operand in operands:
        operands += (operand.left, operand.right) if isinstance(operand, sweet.Binary) else ()
    return {operand.name for operand in operands if isinstance(operand, sweet.Name)}


def _is_tensor(expr: sweet.Expr, scope: FixScope) -> bool:
    if isinstance(expr, sweet.Name):
        return expr.name in scope.tensors
    return isinstance(expr, sweet.Call | sweet.Index) or (
        isinstance(expr, sweet.Binary)
        and any(isinstance(n, sweet.Call) or isinstance(n, sweet.Name) and n.name in scope.tensors for n in walk(expr))
    )
