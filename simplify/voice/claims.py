"""What a body says of its own values: the diagnostics of annotations, assertions and conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...lang import codes, core
from ...lang.core import Status
from ...lang.diagnostics import Diagnostic, Label, error, note
from ...lang.source import Span
from ...ops.model import TensorInfo
from ..known.outcome import Outcome
from ..known.shape_level import Obligation, Poisoned, ShapeLevel, written_size
from ..known.state import State
from ..known.values import Entry, Env, SizeValue, plain
from . import equations
from .aligned import Row, aligned
from .because import contradiction
from .describe import size_text, type_text
from .origins import place_of
from .verdict import Speaker, distinct, finish
from .wording import known_names, size_label, values_text, wording


def assertion(walker: Speaker, stmt: core.Assert | core.MatchShape, env: Env, outcome: Outcome) -> Diagnostic:
    """A claim, an assertion or a declared result."""
    origin, declared = stmt.origin, stmt.origin.declared
    if declared is None:
        return _condition(walker, stmt, env, outcome)
    is_result = declared.kind == "result"
    entry = env.get(declared.tensor)
    subject = _of_result(declared.subject) if is_result and "result" in declared.subject else f"`{declared.subject}`"
    needs, found = wording(walker.state, stmt, env, subject)
    speaker = walker.function if is_result else "the annotation" if origin.claim else "the assertion"
    speaker = "match_shape" if declared.kind == "match_shape" else speaker
    speaker = "the function value" if is_result and declared.subject.split(",")[0] == "the result" else speaker
    code = codes.E313 if origin.what == "dtype" else codes.E302 if origin.claim else codes.E303
    if entry is None:
        return finish(walker, outcome, code, f"{speaker} needs {needs}", found, origin.span)
    wanted = declared.annotation.span.text if declared.annotation is not None else "this"
    text = type_text(entry.value, walker.state)
    rows = _beside_declared(walker.state, stmt, env, entry, subject.replace("its result", "result"))
    equation = _unsolvable(walker.state, stmt, env, outcome) if origin.what == "dim" else ""
    remarks = tuple(filter(None, (rows, equation)))
    if is_result:
        span, caption = entry.span, "" if rows else f"{_short(entry)} is {text}"
        labels = [Label(origin.span, f"declared as {wanted}")]
    else:
        span, caption = origin.span, "" if rows else f"declared as {wanted}"
        labels = []
    size = size_label(walker.state, entry, origin.axis) if origin.what == "dim" and origin.axis is not None else ""
    if size and origin.axis is not None:
        labels.append(Label(place_of(walker.state, entry, origin.axis).span, size))
    elif not is_result:
        labels.append(Label(entry.span, f"this is {text}"))
    labels += _named_sizes(walker.state, stmt, env)
    return finish(walker, outcome, code, f"{speaker} needs {needs}", found, span, caption, tuple(labels), None, remarks)


def _of_result(subject: str) -> str:
    """`its result`, or `item 1 of its result` where that is a tuple."""
    items = re.findall(r"item \d+", subject)
    return f"{', '.join(items)} of its result" if items else "its result"


def _beside_declared(state: State, stmt: core.Assert | core.MatchShape, env: Env, entry: Entry, subject: str) -> str:
    """A tensor's shape above the annotation that does not fit it."""
    declared, axis = stmt.origin.declared, stmt.origin.axis
    shape = state.resolve(entry.value.shape) if isinstance(entry.value, TensorInfo) else ()
    pattern = declared.annotation.dims if declared is not None and declared.annotation is not None else None
    if declared is None or stmt.origin.what != "dim" or axis is None or pattern is None:
        return ""
    if len(shape) < 2 or not plain(shape) or len(shape) != len(pattern):
        return ""
    known, _ = known_names(state, declared, env)
    wanted = [written_size(item.size, known) for item in pattern]
    differ = [w is not None and isinstance(w - d, int) and w != d for w, d in zip(wanted, shape, strict=True)]
    bad = tuple(i for i, d in enumerate(differ) if d or i == axis % len(shape))
    rows = (
        Row(subject, tuple(size_text(d, state) for d in shape), bad),
        Row("declared", tuple(item.span.text for item in pattern), bad),
    )
    return aligned(rows, from_the_end=False)


def _unsolvable(state: State, stmt: core.Assert | core.MatchShape, env: Env, outcome: Outcome) -> str:
    """The equation of an assertion about sizes that never holds."""
    cond = stmt.cond if outcome.status is Status.REFUTED and isinstance(stmt, core.Assert) else None
    if isinstance(cond, core.Compare) and cond.op == "==" and isinstance(cond.left, core.SizeVar | core.DimOf):
        level = ShapeLevel(state, env)
        try:
            if isinstance(cond.right, core.SizeExpr):
                return equations.without_solution(state, level.size(cond.left), level.size(cond.right))
        except Poisoned:
            pass
    return ""


def _named_sizes(state: State, stmt: core.Assert | core.MatchShape, env: Env) -> list[Label]:
    """Where a name got its size that an assertion asks for, if it has been given one."""
    found: list[Label] = []
    for node in _sizes_of(stmt):
        entry = env.get(node.name) if isinstance(node, core.SizeVar) else None
        if entry is not None and isinstance(node, core.SizeVar) and isinstance(entry.value, SizeValue):
            text = size_text(entry.value.size, state)
            if text != node.name:
                found.append(Label(entry.span, f"`{node.name}` is {text} from here"))
    return found


def _dimensions(state: State, stmt: core.Assert | core.MatchShape, env: Env) -> list[Label]:
    """Where the dimensions come from that an assertion speaks of."""
    found: list[Label] = []
    for node in _sizes_of(stmt):
        entry = env.get(node.tensor) if isinstance(node, core.DimOf) else None
        text = size_label(state, entry, node.axis) if entry is not None and isinstance(node, core.DimOf) else ""
        if text and entry is not None and isinstance(node, core.DimOf):
            found.append(Label(place_of(state, entry, node.axis).span, text))
    return found


def _sizes_of(stmt: core.Assert | core.MatchShape) -> Iterator[core.SizeExpr]:
    """The sizes that a condition is made of, from left to right."""
    stack: list[object] = [stmt.cond] if isinstance(stmt, core.Assert) else []
    while stack:
        node = stack.pop()
        if isinstance(node, core.SizeVar | core.DimOf):
            yield node
        elif isinstance(node, core.Compare | core.SizeOp):
            stack.extend((node.right, node.left))


def _condition(walker: Speaker, stmt: core.Assert | core.MatchShape, env: Env, outcome: Outcome) -> Diagnostic:
    """An `assert` of the user's; where it contradicts earlier ones, all are shown."""
    text = stmt.origin.text or stmt.span.text
    message = stmt.message if isinstance(stmt, core.Assert) else None
    spoken = f"`{text}`" + (f" ({message})" if message else "")
    earlier = contradiction(outcome.reasons)
    if earlier is not None:
        return error(codes.E312, f"{spoken} contradicts {earlier}", stmt.span, function=walker.function)
    found = values_text(walker.state, stmt.cond, env) if isinstance(stmt, core.Assert) else ""
    speaker = "the signature" if stmt.origin.what == "where" else "the assertion"
    labels = (*_dimensions(walker.state, stmt, env), *_named_sizes(walker.state, stmt, env))
    equation = _unsolvable(walker.state, stmt, env, outcome)  # one without a reason is the assertion itself
    return finish(
        walker, outcome, codes.E303, f"{speaker} needs {spoken}", found, stmt.span, labels=labels,
        remarks=(equation,) if "(" in equation else (),
    )  # fmt: skip


def _short(entry: Entry) -> str:
    text = entry.span.text
    return f"`{text}`" if text.isidentifier() else "this"


def wrong_number(walker: Speaker, stmt: core.Let, parts: int) -> Diagnostic:
    """`let (a, b, c) = @split(x, sections=2)`."""
    message = f"this gives {parts} values; here are {len(stmt.names)} names"
    return error(codes.E206, message, stmt.value.span, function=walker.function)


def obligation(walker: Speaker, span: Span, needs: list[Obligation], outcome: Outcome) -> Diagnostic:
    """An expression that may have no value: a divisor that may be 0, a division that may leave a rest."""
    first = next((n for n in needs if n.cond is False), needs[0] if needs else None)
    code = codes.E314 if first is not None and isinstance(first.expr, core.DimOf) else codes.E303
    return finish(
        walker, outcome, code, f"`{span.text}` needs {first.text if first is not None else 'a value'}", "", span
    )


def condition(walker: Speaker, span: Span, value: TensorInfo, where: str, what: str, outcome: Outcome) -> Diagnostic:
    """A tensor that is no single truth value in the condition of an `if` or a loop."""
    needs = f"the condition of {where} needs to have {what}"
    return finish(walker, outcome, codes.E304, needs, f"it is {type_text(value, walker.state)}", span)


def endless(walker: Speaker, loop: core.Loop) -> Diagnostic:
    """A loop that no execution leaves."""
    cond = loop.span if loop.cond is None else loop.cond.span
    message = "this loop never ends; no execution reaches what follows it"
    return note(codes.N301, message, cond, function=walker.function)


def dropped(walker: Speaker, block: core.Block, cond: Span, known: bool) -> Diagnostic:
    """An arm that no execution reaches."""
    label = Label(cond, f"this is always {'true' if known else 'false'} here")
    return note(
        codes.N301, "no execution reaches this arm; it is dropped", block.span, labels=distinct(block.span, (label,)),
        function=walker.function,
    )  # fmt: skip
