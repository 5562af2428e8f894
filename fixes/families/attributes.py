"""Fixes of a call's arguments beside its operands: the axis, keepdims, the layout, groups."""

from __future__ import annotations

from collections.abc import Iterator

from ...desugar.errors import nearest
from ...lang import sweet
from ...lang.diagnostics import Edit
from ...lang.parser import parse_expr
from ...lang.source import Span
from ...ops.elsewhere_args import integer
from ...ops.model import Trait
from ...ops.registry import lookup
from ...ops.requirements import Argument, AtLeast, AttributeAtLeast, AxisInRange, Broadcast, Multiple, OneOfWords
from ..case import Fix, FixCase, appended, replaced
from ..tree import callee, has, reduces
from ..weights import FAR_FETCHED, weight

# Parameters for the number of parts of something.
_PARTS = {"sections", "num_groups", "groups", "heads"}
_MOST_TRIED = 100_000
# Parameters that name two axes.
_TWO = (("axis1", "axis2"), ("source", "destination"))

# Our words for those of other libraries.
_WORDS = {"nchw": "channels_first", "nhwc": "channels_last", "same": "same_upper", "average": "mean"}


def fixes(case: FixCase) -> Iterator[Fix]:
    yield from _pairs(case)
    if not isinstance(case.call, sweet.Call):
        yield from _keepdims(case)
        return
    yield from _choices(case)
    yield from _least(case)
    yield from _axis(case, case.call)
    yield from _two_axes(case)
    yield from _sections(case)
    yield from _keepdims(case)
    yield from _ends(case)
    yield from _layout(case)
    yield from _groups(case)
    yield from _divisor(case)
    yield from _joined(case, case.call)


def _axis(case: FixCase, call: sweet.Call) -> Iterator[Fix]:
    row = lookup(case.callee)
    if row is None or not any(p.name == "axis" for p in row.params) or case.asks_for_entries:
        return
    ranks = [len(o.shape) for o in case.subject.operands if o.shape is not None and o.dtype]
    compared = len({name for name, _ in case.subject.at}) > 1 and not has(case.callee, Trait.JOINS)
    if not ranks or compared and not case.is_declared:
        return  # a mismatch along one axis is not fixed along another one
    rank = ranks[0] + has(case.callee, Trait.NEW_AXIS)
    given = case.arguments.get("axis")
    now = integer(given)
    axes = range(rank) if now is None or now >= 0 else range(-rank, 0)  # counted from the same end
    for axis in sorted(axes, key=lambda a: (abs(a - now) if now is not None else 0, a)):
        if axis == now or given is None and reduces(case.callee):
            continue
        if given is None:
            edit = appended(call, f"axis={axis}")
        elif now is None:
            continue
        else:
            edit = replaced(given, str(axis))
        yield case.fix(
            f"use axis {axis}", [edit], weight("axis in range" if isinstance(case.asked, AxisInRange) else "axis")
        )


def _sections(case: FixCase) -> Iterator[Fix]:
    """Split into as many parts as the `let` has names."""
    let, given = case.tree.enclosing(case.diagnostic.span, sweet.Let), case.arguments.get("sections")
    if let is not None and let.is_tuple and let.value is case.call and integer(given) not in (None, len(let.names)):
        assert given is not None
        yield case.fix(
            f"split it in {len(let.names)}", [replaced(given, str(len(let.names)))], weight("parts as names")
        )


def _two_axes(case: FixCase) -> Iterator[Fix]:
    """Replace two axes of which one is out of range: by the nearest in range, or move both equally far."""
    shape = case.shape("x")
    if not isinstance(case.asked, AxisInRange) or not shape:
        return
    names = next((names for names in _TWO if names[0] in case.arguments and names[1] in case.arguments), ())
    given = [case.arguments[name] for name in names]
    first, second = [integer(each) for each in given] or (None, None)
    if first is None or second is None:
        return
    rank, over = len(shape), max(first, second) - len(shape) + 1
    under = max(-len(shape) - min(first, second), 0)
    moved = [(at - max(over, 0) + under) for at in (first, second)]
    alone = [at if -rank <= at < rank else (rank - 1 if at > 0 else -rank) for at in (first, second)]
    for now, kind in ((alone, "axis of two"), (moved, "axes of two")):
        if all(-rank <= at < rank for at in now) and now[0] % rank != now[1] % rank:
            yield case.fix(f"use axes {now[0]} and {now[1]}", [_both(given, now)], weight(kind))


def _both(exprs: list[sweet.Expr], numbers: list[int]) -> Edit:
    """Return one edit of two arguments of a call, with the text between them."""
    (first, one), (last, other) = sorted(zip(exprs, numbers, strict=True), key=lambda each: each[0].span.start)
    source = first.span.source
    between = source.text[first.span.end : last.span.start]
    return Edit(Span(source, first.span.start, last.span.end), f"{one}{between}{other}")


def _pairs(case: FixCase) -> Iterator[Fix]:
    """Read pads as other libraries write them: one number for each axis, or first all that come before (ONNX)."""
    span = case.diagnostic.span
    call = case.tree.enclosing(span, sweet.Call)
    row, given = (
        lookup(callee(call)) if call is not None else None,
        case.tree.arguments(call) if call is not None else {},
    )
    if row is None or all(p.kind != "pairs" or p.name not in given or given[p.name].span != span for p in row.params):
        return
    match parse_expr(span.text):
        case sweet.ListExpr(items=items) | sweet.TupleExpr(items=items):
            pads = [i.value for i in items if isinstance(i, sweet.IntLit)]
            if len(pads) < len(items):
                return
            half = len(pads) // 2
            readings = [[(pad, pad) for pad in pads], list(zip(pads[:half], pads[half:], strict=False))]
        case _:
            return
    for rank, reading in enumerate(readings):
        text = f"[{', '.join(f'({before}, {after})' for before, after in reading)}]"
        # One pair counts for all axes, so repeating it does not change the meaning.
        meaning = str(sorted(set(reading)))
        yield Fix(
            "a pair for each axis", (Edit(span, text),), weight("pads as pairs") + rank, meaning, shown=f"`{text}`"
        )


def _choices(case: FixCase) -> Iterator[Fix]:
    """Replace a word by the nearest choice of the attribute."""
    asked = case.asked
    if not isinstance(asked, OneOfWords) or asked.name not in case.arguments:
        return
    given, choices, word = case.arguments[asked.name], asked.choices, asked.value.lower()
    known = [c for c in choices if c == word] or [c for c in choices if c == _WORDS.get(word)]
    begun = [c for c in choices if c.startswith(word)]
    for rank, choice in enumerate(known or begun or filter(None, [nearest(word, choices)])):
        yield case.fix(f'write "{choice}"', [replaced(given, f'"{choice}"')], weight("word") + rank)


def _least(case: FixCase) -> Iterator[Fix]:
    """Raise a number that is too small for its attribute."""
    asked = case.asked
    if isinstance(asked, AttributeAtLeast):
        name = asked.name
    elif isinstance(asked, AtLeast) and isinstance(asked.left, Argument):
        name = asked.left.param
    else:
        return
    given = integer(case.arguments.get(name))
    if given is not None and given < asked.least:
        yield case.fix(
            f"write {asked.least} for {given}", [replaced(case.arguments[name], str(asked.least))], weight("least")
        )


def _keepdims(case: FixCase) -> Iterator[Fix]:
    """Keep the axis of a reduction that an operand depends on."""
    rank = weight("kept axis" if isinstance(case.asked, Broadcast) or not case.callee else "kept axis elsewhere")
    for node in case.tree.upstream([expr for _, expr, _ in case.tensors()]):
        given = case.tree.arguments(node)
        if reduces(callee(node)) and "axis" in given and "keepdims" not in given:
            yield case.fix("keep the reduced axis", [appended(node, "keepdims=true")], rank, show=node.span)


def _ends(case: FixCase) -> Iterator[Fix]:
    """Exchange `start` and `end`."""
    start, end = case.arguments.get("start"), case.arguments.get("end")
    if start is not None and end is not None:
        edits = [replaced(start, end.span.text), replaced(end, start.span.text)]
        yield case.fix("exchange start and end", edits, weight("start and end"))


def _layout(case: FixCase) -> Iterator[Fix]:
    given = case.arguments.get("layout")
    row = lookup(case.callee)
    if row is None or not any(p.name == "layout" for p in row.params) or not isinstance(case.call, sweet.Call):
        return
    other = "channels_first" if isinstance(given, sweet.StrLit) and given.value == "channels_last" else "channels_last"
    rank = weight("layout" if len(case.subject.at) > 1 else "layout alone")
    if given is not None:
        yield case.fix("use the other layout", [replaced(given, f'"{other}"')], rank, guess=rank >= FAR_FETCHED)
    else:
        yield case.fix(
            "use the other layout", [appended(case.call, f'layout="{other}"')], rank, guess=rank >= FAR_FETCHED
        )


def _groups(case: FixCase) -> Iterator[Fix]:
    """Use groups in a convolution if the channels are a multiple of the weight's."""
    row = lookup(case.callee)
    x, kernel = case.shape("x"), case.shape("weight")
    if row is None or not any(p.name == "groups" for p in row.params) or not isinstance(case.call, sweet.Call):
        return
    layout = case.arguments.get("layout")
    last = isinstance(layout, sweet.StrLit) and layout.value == "channels_last"
    if not x or not kernel or min(len(x), len(kernel)) < 3:
        return
    channels, taken = (x[-1], kernel[-2]) if last else (x[1], kernel[1])
    if isinstance(channels, int) and isinstance(taken, int) and taken > 0 and channels % taken == 0:
        text = str(channels // taken)
    elif taken == 1:
        text = str(channels)
    else:
        return
    if "groups" in case.arguments:
        yield case.fix(f"use {text} groups", [replaced(case.arguments["groups"], text)], weight("groups"))
    elif channels != taken:
        # A weight with one channel implies as many groups as channels; any other may be wrong itself.
        rank = weight("groups" if taken == 1 else "groups of any weight")
        yield case.fix(f"use {text} groups", [appended(case.call, f"groups={text}")], rank, guess=taken != 1)


def _divisor(case: FixCase) -> Iterator[Fix]:
    """Replace a number of parts or groups that does not divide a size by the nearest that does."""
    asked = case.asked.of if isinstance(case.asked, Multiple) else None
    sizes = [d for name, axis in case.subject.at if isinstance(d := case.size(name, axis), int)]
    if asked is None or not sizes or not 0 < sizes[0] < _MOST_TRIED:
        return
    size = sizes[0]
    for name, expr in case.arguments.items():
        if isinstance(expr, sweet.IntLit) and name in _PARTS and expr.value == asked.size:
            near = sorted((n for n in range(2, size + 1) if size % n == 0), key=lambda n: abs(n - expr.value))
            for position, number in enumerate(near[:2]):
                yield case.fix(
                    f"write {number} for {expr.value}",
                    [replaced(expr, str(number))],
                    weight("parts") + position,
                )


def _joined(case: FixCase, call: sweet.Call) -> Iterator[Fix]:
    """Join tensors of several sizes along the axis where they differ, instead of a new one."""
    if not has(case.callee, Trait.NEW_AXIS) or "xs" not in case.arguments or case.callee != callee(call):
        return
    axes = {axis for _, axis in case.subject.at if axis is not None}
    if len(axes) == 1:
        name = replaced(call.callee, "@concat")
        given, axis = case.arguments.get("axis"), axes.pop()
        where = replaced(given, str(axis)) if given is not None else appended(call, f"axis={axis}")
        edits = [name] if given is not None and given.span.text == str(axis) else [name, where]
        yield case.fix("join them along that axis", edits, weight("joined"))
