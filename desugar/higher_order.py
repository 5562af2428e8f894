"""`@map(f, xs)`, `@fold(f, init, xs)` and `@scan(f, init, xs)` as loops over the rows of `xs`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ..lang import codes, core, sweet
from ..lang.source import Span
from . import arguments, levels, patterns
from .binding import AnnotatedTensor
from .carries import apart
from .code import FunctionCode, Typed, spelled
from .errors import count, fail
from .levels import OVER_ROWS
from .parts import leaf_sorts, together
from .scope import SHAPE_SORTS, SOME_TUPLE, Scope, ScopeEntry
from .sorts import describe, expand, fn_sort, sort_of
from .symbols import FnInfo, Unit


def call(code: FunctionCode, expr: sweet.Call, name: str) -> Typed:
    """Return the loop; the values that it reads are named before it, and visible only to it."""
    if not code.may_hoist:
        fail(
            codes.E221,
            f"@{name} is a loop, which cannot stand here",
            expr.span,
            help="bind it before, and use the name",
        )
    outside, code.scope = code.scope, Scope(code.scope)
    try:
        rows = _SequenceRows(code, expr, name)
        return rows.only_sort() or rows.loop() if code.sorts else rows.loop()
    finally:
        code.scope = outside


class _SequenceRows:
    """One such call: the function, the initial value, and the tensors whose rows the function gets."""

    def __init__(self, code: FunctionCode, expr: sweet.Call, name: str) -> None:
        self.code, self.name = code, name
        self.span = expr.span
        first, self.rows = self._arguments(expr)
        self.init = first.get("init")
        self.given = first["f"]
        self.function, self.sort = self._function(self.given)

    def _arguments(self, expr: sweet.Call) -> tuple[dict[str, sweet.Expr], list[sweet.Expr]]:
        wanted, name = (*OVER_ROWS[self.name], "xs"), f"@{self.name}"
        given: dict[str, sweet.Expr] = {}
        rows: list[sweet.Expr] = []
        for position, arg in enumerate(expr.args):
            found = arg.name.name if arg.name is not None else wanted[min(position, len(wanted) - 1)]
            if found not in wanted:
                fail(codes.E205, f"{name} has no parameter `{found}`; its parameters are {', '.join(wanted)}", arg.span)
            if found == "xs":
                rows.append(arg.value)
            elif found in given:
                fail(codes.E205, f"{name} gets `{found}` twice", arg.span)
            given[found] = arg.value
        missing = next((w for w in wanted if w not in given), None)
        if missing is not None:
            help = f"`{name}({', '.join(wanted)})`: f is called with each row of xs"
            fail(codes.E205, f"{name} is called without `{missing}`", expr.span, help=help)
        return given, rows

    def _function(self, expr: sweet.Expr) -> tuple[sweet.Expr, core.FnSort]:
        """Return the function as called in a turn, and its sort. A lambda in the turn is read again there; inside another
        turn, its sort is known from the first reading."""
        bare = _is_bare(expr)
        known = self.code.bare.get(id(expr))
        value, sort = (None, known[1]) if known is not None else self._read(expr, bare)
        if not isinstance(sort, core.FnSort):
            fail(
                codes.E206,
                f"`f` is a function; this is {describe(sort)}",
                expr.span,
                help="`@f` is a function as a value",
            )
        if sort.text != "?":
            self._refuse_count(len(sort.signature.params), expr)
        if bare:
            self.code.bare[id(expr)] = expr, sort
        if bare or isinstance(expr, sweet.FnName) or value is None:
            return expr, sort
        return self._hidden(value, sort, expr.span, "f"), sort

    def _read(self, expr: sweet.Expr, bare: bool) -> Typed:
        if isinstance(expr, sweet.Lambda):
            self._refuse_count(len(expr.fn.params), expr)
            return self._for_sorts(bare, partial(self.code.hooks.lambda_, self.code, expr, self._asked(expr)))
        return self._for_sorts(bare, partial(self.code.hooks.value, self.code, expr))

    def _refuse_count(self, has: int, expr: sweet.Expr) -> None:
        wanted = len(self.rows) + (self.init is not None)
        if wanted != has:
            what = "the carried value and " if self.init is not None else ""
            rows = "a row" if len(self.rows) == 1 else f"a row of each of {len(self.rows)} tensors"
            fail(
                codes.E205,
                f"@{self.name} calls `f` with {what}{rows}; this one takes {count(has, 'argument')}",
                expr.span,
            )

    def _for_sorts(self, wanted: bool, read: Callable[[], Typed]) -> Typed:
        """Read an expression, perhaps for its sorts alone."""
        before = self.code.sorts
        self.code.sorts = before or wanted
        try:
            return read()
        finally:
            self.code.sorts = before

    def _asked(self, expr: sweet.Lambda) -> core.FnSort:
        """Return the sort of the function, by its arguments."""
        first = () if self.init is None else (self._read_first(self.init),)
        return fn_sort("?", (*first, *(core.TENSOR for _ in self.rows)), core.TENSOR, expr)

    def _read_first(self, init: sweet.Expr) -> core.Sort:
        """Return the sort of the carried value; a tuple is read once to count its parts."""
        code, level = self.code, levels.level(self.code, init)
        if level != "Tuple":
            return next((s for s in SHAPE_SORTS if s.name == level), core.TENSOR)
        if id(init) not in code.firsts:
            with code.block():
                code.firsts[id(init)] = init, self._for_sorts(True, partial(code.hooks.value, code, init))[1]
        sort = code.firsts[id(init)][1]
        self._refuse_uncounted(
            "carries", sort, init, f"take it apart before: `let (a, b) = {spelled(init.span)}`, and `(a, b)` here"
        )
        return sort

    def only_sort(self) -> Typed | None:
        """Return a name of the loop's sort if that consists of tensors; the loop itself is read in the turns of the outer
        one."""
        code, given = self.code, self.sort.signature.result or core.TENSOR
        sort = given if self.name == "map" else self._sort_of_first()
        if self.name == "scan":
            sort = core.TupleSort((sort, self._left(given)))
        if any(leaf != core.TENSOR for leaf in leaf_sorts(sort)):
            return None
        code.each(partial(self._tensor, x) for x in self.rows)
        return core.variable(self.span, code.fresh("y"), sort), sort

    def _sort_of_first(self) -> core.Sort:
        assert self.init is not None
        type_ = self._type_of_first(self.init)
        return self._read_first(self.init) if type_ is None else sort_of(type_)

    def _hidden(self, value: core.Value, sort: core.Sort, span: Span, base: str) -> sweet.Name:
        """Return a value under a name that the user cannot know."""
        code = self.code
        named = value if isinstance(value, core.Variable) else code.name(value, sort, base)
        assert isinstance(named, core.Variable)
        name = named.name if code.scope.find(named.name) is None else code.fresh(base)
        code.scope.bind(ScopeEntry(name, sort, named, span, "let"))
        return sweet.Name(span, name)

    # The loop

    def loop(self) -> Typed:
        code, span = self.code, self.span
        carries = self._carries()
        rows, length = self._claimed(code.each(partial(self._tensor, x) for x in self.rows))
        index = sweet.Ident(span, code.fresh("i"))
        at = sweet.Name(span, index.name)
        given = [sweet.Name(span, c.name.name) for c in carries]
        items: list[sweet.Expr] = [*given, *(sweet.Index(x.span, x, (at,)) for x in rows)]
        before, called = self._called(items)
        stmts, result, stacked = self._turn(called)
        range_ = sweet.Call(span, sweet.Name(span, "range"), (sweet.Arg(span, None, length),))
        stack, body = self._stack(stacked), sweet.Block(span, (*before, *stmts), result)
        value, sort = code.hooks.loop(code, sweet.For(span, index, range_, carries, (), None, stack, body))
        return self._together(value, sort, stacked)

    def _called(self, items: list[sweet.Expr]) -> tuple[tuple[sweet.Stmt, ...], sweet.Expr]:
        """Return a call of the function; a lambda without types is inlined in the turn, where its parameters are known."""
        match self.function:
            case sweet.Lambda(fn=sweet.Fn(params=params, body=sweet.Block(stmts=stmts, result=result))) if (
                result is not None
            ):
                names = tuple(p.name for p in params)
                at_once = sweet.Let(self.span, names, len(names) > 1, None, False, _tuple(self.span, items))
                return (at_once, *stmts), result
        return (), sweet.Call(self.span, self.function, tuple(sweet.Arg(i.span, None, i) for i in items))

    def _tensor(self, expr: sweet.Expr) -> sweet.Name:
        if levels.level(self.code, expr) == "Tuple":
            example = f"@{self.name}({'f' if self.init is None else 'f, init'}, a, b)"
            fail(
                codes.E206, f"@{self.name} goes over the rows of tensors; this is a tuple", expr.span,
                help=f"give its parts one by one: `{example}` calls f with a row of each",
            )  # fmt: skip
        return self._hidden(arguments.tensor(self.code, expr), core.TENSOR, expr.span, "xs")

    def _claimed(self, rows: list[sweet.Name]) -> tuple[list[sweet.Name], sweet.Name]:
        """Claim that each tensor has rows, and all the same number; return the tensors and the name of that number."""
        code, before = self.code, len(self.code.annotated)
        names = [code.fresh("rows"), *(code.fresh("row") for _ in rows)]
        for x, row in zip(rows, names[1:], strict=True):
            tensor, span = self._tensor_of(x), x.span
            ranks = core.Compare(span, ">=", core.RankOf(span, tensor), core.SizeLit(span, 1))
            self._claim(tensor, ranks, "rank", spelled(span))
            if x is not rows[0]:
                first, shown = core.DimOf(span, self._tensor_of(rows[0]), 0), [spelled(y.span) for y in (x, rows[0])]
                lengths = core.Compare(span, "==", core.DimOf(span, tensor, 0), first)
                self._claim(tensor, lengths, "where", " == ".join(f"{y}.dim(0)" for y in shown))
            shape = (sweet.Name(span, names[0]), sweet.Splice(span, sweet.Ident(span, row)))
            type_ = sweet.TensorType(span, sweet.ListExpr(span, shape), None)
            leaf = AnnotatedTensor(span, tensor, type_, "match_shape", core.Called(spelled(span)))
            patterns.solve(code, [leaf], named=True)
        del code.annotated[before:]
        return rows, sweet.Name(self.span, names[0])

    def _tensor_of(self, name: sweet.Name) -> str:
        tensor = self.code.scope.entries[name.name].expr
        assert isinstance(tensor, core.Var)
        return tensor.name

    def _claim(self, tensor: str, cond: core.Compare, what: str, text: str) -> None:
        declared = core.Declared(
            cond.span, f"@{self.name}", core.Called(spelled(cond.span)), tensor, None, (), self.code.function
        )
        self.code.emit(core.Assert(cond.span, cond, None, core.Origin(cond.span, what, True, declared, None, text)))

    def _carries(self) -> tuple[sweet.Carry, ...]:
        if self.init is None:
            return ()
        name = sweet.Ident(self.init.span, self.code.fresh("acc"))
        return (sweet.Carry(self.init.span, name, self._type_of_first(self.init), self.init),)

    def _type_of_first(self, init: sweet.Expr) -> sweet.Type | None:
        """Return the type of the carried value: None keeps that of the first value; a size or a number takes that of the
        function's parameter."""
        sort = self.sort.signature.params[0].sort
        if isinstance(sort, core.BaseSort) and sort in SHAPE_SORTS:
            return sweet.NamedType(init.span, sort.name)
        if not levels.is_literal(self.code, init):
            return None
        declared = (p.type and expand(unit, p.type) for unit, fn in self._declared() for p in fn.params[:1])
        type_ = next(declared, None)
        shown = spelled(init.span)
        if isinstance(type_, sweet.NamedType):
            return type_
        return fail(
            codes.E227, f"`{shown}` is a number without a dtype, and needs one to be carried", init.span,
            help=f"`tensor({shown}, float32)` is one of float32",
        )  # fmt: skip

    def _declared(self) -> Iterator[tuple[Unit, sweet.Fn]]:
        """Yield the function's declaration, with its file."""
        given = self.given
        if isinstance(given, sweet.Lambda):
            yield self.code.unit, given.fn
        elif isinstance(given, sweet.FnName):
            target = self.code.symbols.target(self.code.unit, given.name)
            if isinstance(target, FnInfo):
                yield target.unit, target.decl.fn

    def _turn(self, called: sweet.Expr) -> tuple[tuple[sweet.Stmt, ...], sweet.Expr, core.Sort | None]:
        """Return the statements of a turn, its result, and the sort of its stacked value."""
        given = self.sort.signature.result or core.TENSOR
        if self.name == "fold" or given == core.TENSOR and self.name == "map":
            return (), called, None if self.name == "fold" else given
        name = sweet.Ident(self.span, self.code.fresh("made"))
        made = sweet.Name(self.span, name.name)
        let = sweet.Let(self.span, (name,), False, None, False, called)
        stacked = given if self.name == "map" else self._left(given)
        self._refuse_uncounted(
            "stacks", stacked, self.given, "take it apart in the function: `let (a, b) = ...`, and `(a, b)` last"
        )
        if self.name == "map":
            return (let,), _tuple(self.span, list(_parts(made, given))), given
        if stacked is given:
            return (let,), _tuple(self.span, [made, *_parts(made, given)]), given
        carried, left = (_part(made, i) for i in (0, 1))
        return (let,), _tuple(self.span, [carried, *_parts(left, stacked)]), stacked

    def _left(self, given: core.Sort) -> core.Sort:
        """Return the sort of the stacked part of a scan function's result: the second of a pair, or all of it."""
        pair = isinstance(given, core.TupleSort) and len(given.items) == 2 and not self._is_carried(given)
        return given.items[1] if isinstance(given, core.TupleSort) and pair else given

    def _refuse_uncounted(self, does: str, sort: core.Sort, at: sweet.Expr, help: str) -> None:
        """Reject a tuple with an unknown number of parts, since it is stacked and carried part by part."""
        if SOME_TUPLE.items[0] in leaf_sorts(sort):
            what = f"@{self.name} {does} a tuple part by part, and how many parts this one has is not known here"
            fail(codes.E206, what, at.span, help=help)

    def _is_carried(self, given: core.Sort) -> bool:
        """Whether the function's result has the sort of its first argument."""
        return arguments.fits(given, self.sort.signature.params[0].sort)

    def _stack(self, stacked: core.Sort | None) -> tuple[sweet.Param, ...]:
        open_ = sweet.TensorType(self.span, sweet.Unknown(self.span), sweet.Unknown(self.span))
        names = (sweet.Ident(self.span, self.code.fresh("y")) for _ in leaf_sorts(stacked))
        return tuple(sweet.Param(self.span, name, open_, None) for name in names)

    def _together(self, value: core.Value, sort: core.Sort, stacked: core.Sort | None) -> Typed:
        """Return the loop's value, with the stacks of a tuple's parts as a tuple again."""
        if not isinstance(stacked, core.TupleSort):
            return value, sort
        first, many = len(OVER_ROWS[self.name]) - 1, len(list(leaf_sorts(stacked)))
        sorts = sort.items if isinstance(sort, core.TupleSort) and first + many > 1 else (sort,)
        parts = apart(self.code, value, sorts, ["y"] * len(sorts)) if first + many > 1 else [value]
        whole = together(self.span, stacked, iter(parts[first:]))
        if not first:
            return whole, stacked
        return core.TupleValue(self.span, (parts[0], whole)), core.TupleSort((sorts[0], stacked))


def _is_bare(expr: sweet.Expr) -> bool:
    """Whether it is a lambda without types, defaults and conditions."""
    if not isinstance(expr, sweet.Lambda):
        return False
    fn = expr.fn
    says = fn.result is not None or fn.where or any(p.type is not None or p.default is not None for p in fn.params)
    return not says and fn.body is not None and fn.body.result is not None


def _part(expr: sweet.Expr, position: int) -> sweet.Expr:
    return sweet.Index(expr.span, expr, (sweet.IntLit(expr.span, position),))


def _parts(expr: sweet.Expr, sort: core.Sort) -> Iterator[sweet.Expr]:
    """Yield the leaves of a tuple."""
    if isinstance(sort, core.TupleSort):
        for position, item in enumerate(sort.items):
            yield from _parts(_part(expr, position), item)
    else:
        yield expr


def _tuple(span: Span, items: list[sweet.Expr]) -> sweet.Expr:
    return items[0] if len(items) == 1 else sweet.TupleExpr(span, tuple(items))
