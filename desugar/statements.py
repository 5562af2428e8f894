"""Statements and blocks: claims and assertions of `let`, `assert`, match_shape."""

from __future__ import annotations

from typing import NoReturn, assert_never

from ..lang import codes, core, sweet
from ..lang.diagnostics import Edit, Label, RxError
from ..lang.node import replace
from ..lang.source import Span
from . import arguments, folding, levels, patterns, shapes
from .annotations import leaves
from .binding import AnnotatedTensor
from .code import FunctionCode, spelled
from .errors import Broken, as_tensor, fail
from .literals import settled
from .scope import SHAPE_SORTS, SOME_TUPLE, ScopeEntry
from .sorts import describe, expand, of_arms, sort_of
from .type_names import all_names, size_names

# The one name that may stand for several parts of a tuple.
_DISCARDED = "_"
# Expressions that may give a size without an annotation.
_GIVE_SIZES = sweet.Call | sweet.For | sweet.While


def block(code: FunctionCode, node: sweet.Block, want: core.Sort | None) -> tuple[core.Block, core.Sort]:
    """Return a block and its result's sort; its bindings end with it."""
    with code.block() as stmts:
        fine = statements(code, before_result(node))
        result, sort = block_result(code, node, want)
        if not fine:
            raise Broken
        return core.Block(node.span, tuple(stmts), result), sort


def statements(code: FunctionCode, stmts: tuple[sweet.Stmt, ...]) -> bool:
    """Translate each statement on its own, so that several mistakes are found in one run; return whether all are right."""
    fine = True
    for stmt in stmts:
        fine = attempt(code, stmt) and fine
    return fine


def attempt(code: FunctionCode, stmt: sweet.Stmt) -> bool:
    made = len(code.stmts)
    try:
        statement(code, stmt)
        return not code.take_failure()
    except RxError as problem:
        code.report(problem)
        code.take_failure()
        del code.stmts[made:]
        if isinstance(stmt, sweet.Let):
            _break(code, stmt)
        return False


def _break(code: FunctionCode, stmt: sweet.Let) -> None:
    """Mark the names of a wrong `let`, so that their uses are not reported."""
    for name in all_names(stmt.type):
        before = code.scope.find(name.name)
        if before is None or not before.is_shape_level:
            code.scope.bind(ScopeEntry(name.name, None, None, name.span, "let"))
    for bound in stmt.names:
        code.scope.bind(ScopeEntry(bound.name, None, None, bound.span, "let"))


def block_result(
    code: FunctionCode, node: sweet.Block, want: core.Sort | None, type_: sweet.Type | None = None
) -> tuple[core.Value, core.Sort]:
    """Return the value of the last expression; `type_` is its declared type."""
    value, sort = _block_result(code, node, want)
    return settled(value, type_), sort


def before_result(node: sweet.Block) -> tuple[sweet.Stmt, ...]:
    """Return the statements of a block; the last one without the part that was meant as the result, which is not reported
    again."""
    match node.stmts[-1:]:
        case (sweet.Let() as let,) if (minus := _taken_for_minus(node)) is not None:
            return (*node.stmts[:-1], replace(let, value=minus.left))
    return node.stmts


def _taken_for_minus(node: sweet.Block) -> sweet.Binary | None:
    """Return the first difference whose `-` begins a line, if a block ends with a `let` of it and has no result."""
    last = node.stmts[-1] if node.stmts and node.result is None else None
    expr, found = last.value if isinstance(last, sweet.Let) else None, None
    while isinstance(expr, sweet.Binary):
        if "\n" in expr.span.source.text[expr.left.span.end : _minus(expr)]:
            found = expr
        expr = expr.left
    return found


def _minus(expr: sweet.Binary) -> int:
    """Return the position of the `-` of a difference; for other expressions the end of their left side."""
    return max(expr.span.source.text.find("-", expr.left.span.end, expr.right.span.start), expr.left.span.end)


def _unnamed(node: sweet.Block) -> str:
    """Return the help that makes the last binding of a block its result."""
    match node.stmts[-1:]:
        case (sweet.Let(names=(name,), is_tuple=False),):
            return f": write `{name.name}` on a line behind this"
    return ""


def _block_result(code: FunctionCode, node: sweet.Block, want: core.Sort | None) -> tuple[core.Value, core.Sort]:
    if node.result is None:
        _has_no_result(node)
    if want is not None:
        return arguments.direct(code, node.result, want), want
    found = levels.level(code, node.result)
    if found in ("Size", "Shape", "DType", "Bool") and not isinstance(node.result, _GIVE_SIZES):
        _refuse(code, node.result, found, f"annotate the result: `: {found}`")
    value, sort = code.hooks.value(code, node.result)
    return value, sort


def _has_no_result(node: sweet.Block) -> NoReturn:
    message, minus = "this block has no result", _taken_for_minus(node)
    if minus is None:
        fail(codes.E210, message, node.span, help=f"its last line has to be an expression{_unnamed(node)}")
    source, begin, end = node.span.source, _minus(minus), node.stmts[-1].span.end
    fail(
        codes.E210, message, Span(source, begin, end),
        labels=(Label(minus.left.span, "this goes on with the `-`"),),
        help="a `-` that begins a line goes on the line before: a negative result is written `(-y)`",
        edits=(Edit(Span(source, begin, begin), "("), Edit(Span(source, end, end), ")")),
    )  # fmt: skip


def _refuse(
    code: FunctionCode, expr: sweet.Expr, found: str, help: str, edits: tuple[Edit, ...] = (), change: str = ""
) -> None:
    arguments.check_names(code, expr)
    shown = spelled(expr.span)
    fail(
        codes.E207,
        f"`{shown}` is a {found}, not a tensor: sizes and shapes do not mix with tensors",
        expr.span,
        help=help,
        edits=edits,
        change=change,
    )


def statement(code: FunctionCode, stmt: sweet.Stmt) -> None:
    match stmt:
        case sweet.Let():
            _let(code, stmt)
        case sweet.Assert():
            _assert(code, stmt)
        case sweet.ExprStmt():
            expression(code, stmt)
        case _:
            assert_never(stmt)


def expression(code: FunctionCode, stmt: sweet.ExprStmt) -> None:
    expr = stmt.value
    if sweet.is_match(expr):
        _match_shape(code, expr)
        return
    value, _ = code.hooks.value(code, expr)
    code.emit(core.ExprStmt(stmt.span, value))


# let


def _let(code: FunctionCode, stmt: sweet.Let) -> None:
    if stmt.is_tuple:
        _let_tuple(code, stmt)
        return
    name = stmt.names[0]
    type_ = None if stmt.type is None else expand(code.unit, stmt.type)
    if isinstance(type_, sweet.FnType):
        fail(
            codes.E221, "a `let` cannot claim a function's type", type_.span, help="annotate the function's parameters"
        )
    value, sort = _value(code, stmt, type_)
    if isinstance(sort, core.TupleSort) and stmt.span.text[3:].lstrip().startswith("("):
        _refuse_parentheses(stmt, sort)
    number = folding.literal(value) if type_ is None and isinstance(value, core.Number) else None
    value = settled(value, type_)
    aside = code.aside(type_, stmt.names)
    core_name = code.bind(name, sort, "let", number)
    code.emit(core.Let(stmt.span, (core_name,), False, sort if sort in SHAPE_SORTS else None, value))
    if type_ is not None:
        with code.where(aside):
            _annotate(code, stmt, core_name, type_, name.name)


def _refuse_parentheses(stmt: sweet.Let, sort: core.TupleSort) -> NoReturn:
    """Reject `let (a) = e` of a tuple: it equals `let a = e`, which is hardly meant."""
    [name] = stmt.names
    several = sort != SOME_TUPLE and len(sort.items) > 1
    apart = ", ".join((name.name, *(_DISCARDED,) * (len(sort.items) - 1))) if several else f"{name.name},"
    fail(
        codes.E206,
        f"`({name.name})` is `{name.name}` alone, and this is {describe(sort)}",
        name.span,
        help=f"`let ({apart}) = ...` takes it apart, `let {name.name} = ...` names the whole",
        edits=() if several else (Edit(Span(name.span.source, name.span.end, name.span.end), ","),),
    )


def _value(code: FunctionCode, stmt: sweet.Let, type_: sweet.Type | None) -> tuple[core.Value, core.Sort]:
    if type_ is not None:
        sort = sort_of(type_)
        if sort == core.TENSOR:
            _no_size(code, stmt)
        return arguments.direct(code, stmt.value, sort), sort
    shapes.refuse_part_of_shape(code, stmt.value, stmt.names[0])
    call = isinstance(stmt.value, sweet.Call) and isinstance(stmt.value.callee, sweet.FnName)
    if not call and not isinstance(stmt.value, sweet.For | sweet.While):
        _no_size(code, stmt)
    return code.hooks.value(code, stmt.value)


def _no_size(code: FunctionCode, stmt: sweet.Let) -> None:
    """Reject `let x = n * m`, as sizes are no tensors; the help shows how to name a size and how to make it a tensor."""
    found = levels.level(code, stmt.value)
    if found not in ("Size", "Shape", "DType", "Bool") or (found == "Bool" and levels.is_literal(code, stmt.value)):
        return
    shown, name = spelled(stmt.value.span), stmt.names[0].name
    named = f"`let {name} : {found} = {shown}` names it"
    tensor = f"; {as_tensor(shown)}" if found == "Size" else ""
    name_at = stmt.names[0].span
    sort = Edit(Span(name_at.source, name_at.end, name_at.end), f" : {found}") if found != "Bool" else None
    if isinstance(stmt.value, sweet.ListExpr) and not stmt.value.items:
        named, sort = f"`tensor([])` is a tensor; {_KEPT}", None
    _refuse(code, stmt.value, found, named + tensor, () if sort is None else (sort,), named)


_KEPT = "`stack (y : T)` collects a value of each turn of a loop"


def _annotate(code: FunctionCode, stmt: sweet.Let, tensor: str, type_: sweet.Type, subject: str) -> None:
    kind = "asserting" if stmt.asserting else "claim"
    assert stmt.type is not None
    found = leaves(code, tensor, type_, kind, core.Called(subject), stmt.type.span)
    patterns.solve(code, found, named=True)


def _let_tuple(code: FunctionCode, stmt: sweet.Let) -> None:
    type_ = None if stmt.type is None else expand(code.unit, stmt.type)
    names = [n.name for n in stmt.names]
    twice = next((n for i, n in enumerate(stmt.names) if n.name in names[:i] and n.name != _DISCARDED), None)
    if twice is not None:
        fail(codes.E203, f"`{twice.name}` stands twice", twice.span)
    if type_ is not None:
        value = arguments.direct(code, stmt.value, sort_of(type_))
        sort = sort_of(type_)
    else:
        _no_shape(code, stmt, names)
        value, sort = code.hooks.value(code, stmt.value)
    value = settled(value, type_)
    sorts = _parts(stmt, sort)
    aside = code.aside(type_, stmt.names)
    core_names = tuple(code.bind(n, s, "let") for n, s in zip(stmt.names, sorts, strict=True))
    code.emit(core.Let(stmt.span, core_names, True, of_arms(value, sort), value))
    if isinstance(type_, sweet.TupleType):
        kind = "asserting" if stmt.asserting else "claim"
        found: list[AnnotatedTensor] = []
        for name, core_name, part in zip(stmt.names, core_names, type_.items, strict=True):
            found += leaves(code, core_name, part, kind, core.Called(name.name), part.span)
        with code.where(aside):
            patterns.solve(code, found, named=True)


def _no_shape(code: FunctionCode, stmt: sweet.Let, names: list[str]) -> None:
    """Reject `let (b, t) = x.shape`, as a shape is no tuple; the help shows the statement that names its sizes."""
    if levels.level(code, stmt.value) != "Shape" or not isinstance(stmt.value, sweet.Attr):
        return
    of, listed = spelled(stmt.value.value.span), f"[{', '.join(names)}]"
    written = f"match_shape({of}, [{', '.join(n for n in names if n != _DISCARDED)}], {listed})"
    edits = (Edit(stmt.span, written),) if _DISCARDED not in names else ()
    help = f"`{written}` names its sizes, and so does its type: `{of} : Tensor({listed}, float32)`"
    fail(
        codes.E207,
        f"`{spelled(stmt.value.span)}` is a Shape, not a tuple",
        stmt.value.span,
        help=help,
        edits=edits,
        change=f"write `{written}`",
    )


def _parts(stmt: sweet.Let, sort: core.Sort) -> tuple[core.Sort, ...]:
    if sort == SOME_TUPLE:
        return (core.TENSOR,) * len(stmt.names)
    if not isinstance(sort, core.TupleSort):
        unstacked = "`@unstack(x)` makes a tuple of its rows, and `x[0]` is one" if sort == core.TENSOR else None
        fail(codes.E206, f"this is {describe(sort)}; it cannot be taken apart", stmt.value.span, help=unstacked)
    if len(sort.items) != len(stmt.names):
        fail(codes.E206, core.other_number(len(sort.items), len(stmt.names)), stmt.value.span)
    return sort.items


# Assertions


def _assert(code: FunctionCode, stmt: sweet.Assert) -> None:
    cond = shapes.condition(code, stmt.cond)
    origin = core.Origin(stmt.cond.span, "assert", False, None, None, spelled(stmt.cond.span))
    code.emit(core.Assert(stmt.span, cond, stmt.message, origin))


def _match_shape(code: FunctionCode, call: sweet.Call) -> None:
    args = [a.value for a in call.args if a.name is None]
    if len(args) != 3 or len(call.args) != 3 or not isinstance(args[1], sweet.ListExpr):
        fail(
            codes.E205,
            "match_shape takes a tensor, names and a shape",
            call.span,
            help="`match_shape(x, [n], [n, n * 2])`",
        )
    tensor = shapes.tensor_name(code, args[0])
    names = _listed(code, args[1])
    if not isinstance(args[2], sweet.ListExpr | sweet.Name | sweet.Unknown):
        fail(codes.E205, "the last argument of match_shape is a shape", args[2].span, help="`[n, n * 2]`")
    used = {n.name: n for n in size_names(args[2])}
    for name in used.values():
        if name.name not in names and code.scope.find(name.name) is None:
            help = f"list it: `[{', '.join([*names, name.name])}]`"
            fail(
                codes.E201,
                f"nothing is called `{name.name}` here, and match_shape does not bind it",
                name.span,
                help=help,
            )
    for listed in names.values():
        if listed.name not in used:
            fail(codes.E208, f"`{listed.name}` does not occur in the shape", listed.span)
    type_ = sweet.TensorType(args[2].span, args[2], None)
    leaf = AnnotatedTensor(args[2].span, tensor, type_, "match_shape", core.Called(spelled(args[0].span)))
    patterns.solve(code, [leaf], named=True)


def _listed(code: FunctionCode, items: sweet.ListExpr) -> dict[str, sweet.Name]:
    names: dict[str, sweet.Name] = {}
    for item in items.items:
        if isinstance(item, sweet.Unknown):
            continue
        if not isinstance(item, sweet.Name):
            fail(codes.E205, "here stand the names that match_shape binds", item.span)
        if item.name in names:
            fail(codes.E203, f"`{item.name}` stands twice", item.span)
        before = code.scope.find(item.name)
        if before is not None:
            if before.sort is None:
                raise Broken
            label = Label(before.span, f"`{item.name}` is bound here")
            fail(codes.E204, f"`{item.name}` is already bound here", item.span, labels=(label,))
        names[item.name] = item
    return names
