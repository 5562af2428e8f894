"""Functions: `@f` to `inline @f`, which checks shapes, and `private @f_impl`, which computes.

`@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32) { ... }` becomes

    inline @ff = fn(x : Tensor) : Tensor {
      assert x.rank == 2; assert x.dim(1) % 4 == 0; assert x.dtype == int8
      let out = @ff_impl(x)
      assert out.rank == 1; assert out.dim(0) == x.dim(0) * (x.dim(1) / 4); assert out.dtype == int32
      out
    }
    private @ff_impl = fn(x : Tensor) : Tensor { let m : Size = x.dim(1) / 4; ... }
"""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import core, sweet
from ..lang.diagnostics import Label, RxError, note
from ..lang.dtypes import DTYPES
from ..lang.node import replace
from ..lang.printer import print_expr, print_signature, print_type
from ..lang.source import Span
from . import patterns, shapes
from .annotations import leaves
from .code import Code, Hooks, spelled
from .compounds import folded
from .errors import Broken, fail, nearest
from .scope import SHAPE_SORTS, Entry, Scope, depth, identifiers, variable, walk
from .sorts import expand, in_core, is_bare, says_nothing, sort_of
from .statements import block, block_result, statements
from .world import FnInfo, ImplsInfo, ParamInfo, World

MAX_DEPTH = 150


def signature(decl: sweet.FnDecl) -> str:
    """`@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32)`, with its `where`, on one line."""
    where = f" where {', '.join(map(print_expr, decl.fn.where))}" if decl.fn.where else ""
    return f"@{decl.name.name} = {print_signature(decl.fn)}{where}"


# Declarations


def declare(world: World) -> None:
    """What callers need to know of every function: the sorts of its parameters and of its result, and its parts' names."""
    for unit in world.units:
        for info in unit.fns.values():
            try:
                _declare(info)
            except RxError as problem:
                world.report(problem)
                info.state = "broken"
                _sorts_unknown(info)


def _sorts_unknown(info: FnInfo) -> None:
    info.params = tuple(ParamInfo(p.name.name, None, p.default) for p in info.decl.fn.params)


def _declare(info: FnInfo) -> None:
    decl, unit = info.decl, info.unit
    _check_form(info)
    if depth(decl) > MAX_DEPTH:
        fail("E223", f"@{decl.name.name} is nested too deeply", decl.name.span, help="name the inner parts by `let`")
    params = []
    for param in decl.fn.params:
        type_ = None if param.type is None else expand(unit, param.type)
        params.append(ParamInfo(param.name.name, sort_of(type_), param.default))
    info.params = tuple(params)
    result = None if decl.fn.result is None else expand(unit, decl.fn.result)
    info.result = None if result is None else sort_of(result)
    if info.form == "extern" and info.result is None:
        info.result = core.TENSOR
    if info.form != "sweet":
        _check_bare(info, result)
        return
    info.split = not says_nothing(result) and not isinstance(result, sweet.FnType)
    if info.split:
        info.impl = f"{info.name}_impl"
        while info.impl in unit.world.names:
            info.impl += "'"
        unit.world.names.add(info.impl)


def _check_form(info: FnInfo) -> None:
    decl = info.decl
    name = decl.name
    if "prim" in decl.prefixes:
        fail(
            "E221",
            "`prim` declares the built-in functions; a program has none",
            name.span,
            help="`extern` calls Python",
        )
    if len(decl.prefixes) > 1:
        fail("E214", f"@{name.name} cannot be both {' and '.join(decl.prefixes)}", name.span)
    if info.form == "extern":
        return
    if decl.target is not None:
        fail("E221", "only an `extern` has a Python callable", decl.target.span, help=f"`extern @{name.name} = ...`")
    if decl.fn.body is None:
        fail(
            "E221", f"@{name.name} has no body", name.span,
            help=f'`extern @{name.name} = fn(...) : ... = "package.module:callable"` is computed by Python',
        )  # fmt: skip


def _check_bare(info: FnInfo, result: sweet.Type | None) -> None:
    """A function in core form keeps its invariants in its body."""
    if info.form == "extern" and info.decl.fn.body is None:
        return
    types = [p.type for p in info.decl.fn.params if p.type is not None]
    for type_ in (*types, *((info.decl.fn.result,) if info.decl.fn.result else ())):
        if not is_bare(expand(info.unit, type_)):
            fail(
                "E214", f"@{info.decl.name.name} is {info.form}: its types have to be bare", type_.span,
                help="write `Tensor` and assert what it has to be, or leave the prefix out",
            )  # fmt: skip
    if info.decl.fn.where:
        fail("E214", f"@{info.decl.name.name} is {info.form}: assert its conditions", info.decl.fn.where[0].span)


# Translation


class Translator:
    """All functions of a program, each translated once, callees without an annotated result first."""

    def __init__(self, world: World, hooks: Hooks) -> None:
        self.world = world
        self.hooks = hooks
        self.busy = False
        self.notes: dict[str, list[Entry]] = {}

    def result(self, info: FnInfo, span: Span) -> core.Sort:
        """The sort of a function's result; where it is not annotated, that of its body."""
        if info.result is not None:
            return info.result
        if info.state == "new" and not self.busy:
            for callee in self.in_order([info]):
                self.translate(callee)
        if info.state in ("new", "working"):  # what is not in a circle has been translated before
            fail("E212", f"@{info.name} calls itself: its result has to be annotated", span, help=_recursion_help(info))
        if info.result is None or info.state == "broken":
            raise Broken
        return info.result

    def translate(self, info: FnInfo) -> None:
        """Fill in `info.functions`."""
        if info.state != "new":
            return
        info.state = "working"
        self.busy = True
        try:
            info.functions = self._functions(info)
            info.state = "done"
        except RxError as problem:
            self.world.report(problem)
            info.state = "broken"
        self.busy = False

    def in_order(self, infos: list[FnInfo]) -> Iterator[FnInfo]:
        """Functions without an annotated result before those that call them."""
        seen: set[str] = set()
        for info in infos:
            stack = [(info, iter(self._open_callees(info)))] if info.name not in seen else []
            seen.add(info.name)
            while stack:
                callee = next((c for c in stack[-1][1] if c.name not in seen), None)
                if callee is None:
                    yield stack.pop()[0]
                else:
                    seen.add(callee.name)
                    stack.append((callee, iter(self._open_callees(callee))))

    def _open_callees(self, info: FnInfo) -> list[FnInfo]:
        if info.decl.fn.body is None:
            return []
        names = dict.fromkeys(n.name for n in walk(info.decl.fn.body) if isinstance(n, sweet.FnName))
        targets = (self.world.target(info.unit, n) for n in names)
        models = (t.model if isinstance(t, ImplsInfo) else t for t in targets)
        return [t for t in models if isinstance(t, FnInfo) and t.result is None and t.state == "new"]

    def _functions(self, info: FnInfo) -> tuple[core.Function, ...]:
        if info.form == "extern" and info.decl.fn.body is None:
            return (Wrapper(self, info).extern(),)
        if info.form != "sweet":
            return (Wrapper(self, info).core_form(),)
        return Wrapper(self, info).split() if info.split else (Wrapper(self, info).whole(),)

    def code(self, info: FnInfo, taken: set[str]) -> Code:
        return Code(info.unit, info.name, taken, self.hooks)


def _recursion_help(info: FnInfo) -> str:
    return f"`@{info.decl.name.name} = fn(...) : Tensor([...], ...)` says what it gives"


class Wrapper:
    """One function while it is being translated."""

    def __init__(self, translator: Translator, info: FnInfo) -> None:
        self.translator = translator
        self.info = info
        self.decl = info.decl
        self.unit = info.unit
        self.result_type = None if info.decl.fn.result is None else expand(info.unit, info.decl.fn.result)
        aliases = [expand(info.unit, p.type) for p in info.decl.fn.params if p.type is not None]
        self.taken = identifiers(info.decl, *aliases, self.result_type)
        self.code = translator.code(info, self.taken)
        self.params: list[core.Param] = []
        self.bound: list[patterns.Bound] = []
        self.later: list[sweet.Expr] = []

    # The forms

    def split(self) -> tuple[core.Function, ...]:
        """The wrapper and the implementation."""
        self._door()
        inner, used = self._implementation()
        self._name_for_types(used)
        door = len(self.code.stmts)
        self._call(self.info.impl, "result")
        wrapper = self._function("inline", tuple(self.code.stmts), self._out(), door)
        if self.code.failed:
            raise Broken
        if inner is None:  # callers can still be checked against the annotations
            return (replace(wrapper, kind="extern"),)
        self._lint()
        return wrapper, inner

    def extern(self) -> core.Function:
        self._door()
        self._name_for_types(set())
        door = len(self.code.stmts)
        self._call(f"{self.info.name}_impl", "extern")
        if self.code.failed:
            raise Broken
        self._lint()
        target = None if self.decl.target is None else self.decl.target.value
        return replace(self._function("extern", tuple(self.code.stmts), self._out(), door), target=target)

    def whole(self) -> core.Function:
        """The result is not annotated: the body stays behind the door, so that callers see into it."""
        self._door()
        for condition in self.later:
            self.code.report(_unbound(self.code, condition))
        body = self.decl.fn.body
        assert body is not None
        names = self._entries(self.code)
        door = list(self.code.stmts)
        self.code.stmts = []
        fine = statements(self.code, body.stmts)
        want = self.info.result
        result, sort = self._result(self.code, body, want)
        if not fine or self.code.failed or self.code.ever_failed:
            raise Broken
        self.info.result = sort
        used = {n for n, e in names.items() if e.used}
        body_stmts, self.code.stmts = self.code.stmts, list(door)
        door += self._lets(used | self._type_names(), in_wrapper=True)
        rest = tuple(body_stmts)
        if rest and is_door(rest[0], self.unit.world):
            rest = (separator(rest[0].span), *rest)
        self.translator.notes[self.info.name] = list(names.values())
        self._lint()
        return self._function("inline", (*door, *rest), result, len(door))

    def core_form(self) -> core.Function:
        """A function that is written in core form already."""
        self._parameters(core_form=True)
        if self.info.form == "extern":
            self.code.opaque = self.info
        body = self.decl.fn.body
        assert body is not None
        fine = statements(self.code, body.stmts)
        result, sort = self._result(self.code, body, self.info.result)
        if not fine or self.code.failed:
            raise Broken
        self.info.result = sort
        stmts = tuple(self.code.stmts)
        front = stmts[: door_length(stmts, self.unit.world)]
        self._function_sorts(self._as_bound(front))
        self._check_handed_on(stmts[len(front) :])
        door = 0 if self.info.form == "private" else len(front)
        made = self._function(self.info.form, stmts, result, door)
        return replace(made, target=None if self.decl.target is None else self.decl.target.value)

    def _check_handed_on(self, rest: tuple[core.Stmt, ...]) -> None:
        """A wrapper hands its parameters on to its implementation as they are: what it knows of them holds there."""
        call = rest[0].value if rest and isinstance(rest[0], core.Let) else None
        if self.info.form == "private" or not isinstance(call, core.Call) or not isinstance(call.callee, core.FnRef):
            return
        own = [variable(call.span, p.name, p.sort) for p in self.params]
        if self.unit.world.is_private(call.callee.name) and [a.value for a in call.args] != own:
            fail(
                "E214", f"@{self.decl.name.name} has to hand its parameters on as they are", call.span,
                help=f"`@{call.callee.name}({', '.join(p.name for p in self.params)})`",
            )  # fmt: skip

    def _as_bound(self, door: tuple[core.Stmt, ...]) -> Code:
        """A scope in which the names of a door's `let`s stand for their values, as they do in a sweet function's wrapper."""
        inner = Code(self.unit, self.info.name, set(), self.code.hooks)
        for param in self.decl.fn.params:
            entry = self.code.scope.entries.get(param.name.name)
            if entry is not None:
                inner.scope.bind(entry)
        for stmt in door:
            if (
                isinstance(stmt, core.Let)
                and stmt.sort in SHAPE_SORTS
                and not isinstance(stmt.value, core.Call | core.If)
            ):
                inner.scope.bind(Entry(stmt.names[0], stmt.sort, stmt.value, stmt.span, "size", True))
            elif isinstance(stmt, core.MatchShape):
                for name in stmt.binds:
                    sort = (
                        core.SHAPE
                        if any(isinstance(d, core.Splice) and d.name == name for d in stmt.dims)
                        else core.SIZE
                    )
                    inner.scope.bind(Entry(name, sort, variable(stmt.span, name, sort), stmt.span, "size", True))
        return inner

    def _declared_result(self) -> sweet.Type | None:
        type_ = self.decl.fn.result
        return None if type_ is None else expand(self.info.unit, type_)

    def _result(self, code: Code, body: sweet.Block, want: core.Sort | None) -> tuple[core.Value, core.Sort]:
        try:
            return block_result(code, body, want, self._declared_result())
        except RxError as problem:
            code.report(problem)
            return core.TupleValue(body.span, ()), core.TENSOR

    def _function(self, kind: str, stmts: tuple[core.Stmt, ...], result: core.Value, door: int) -> core.Function:
        body = self.decl.fn.body or self.decl.fn
        sort = None if self.result_type is None else sort_of(self.result_type)
        return core.Function(
            self.decl.span, kind, self.info.name, tuple(self.params), sort, core.Block(body.span, stmts, result), door,
            None, signature(self.decl), self.decl,
        )  # fmt: skip

    # The door

    def _door(self) -> None:
        """Parameters bound, their assertions made, then the conditions that speak of nothing else."""
        found = self._parameters()
        self.bound = patterns.solve(self.code, found, named=False, later=self.result_type)
        self._function_sorts(self.code)
        existential = {n.name for n in patterns.all_names(self.result_type)}
        for condition in self.decl.fn.where:
            if self._is_later(condition, existential):
                self.later.append(condition)
            else:
                self._condition(condition)

    def _parameters(self, core_form: bool = False) -> list[patterns.Leaf]:
        found: list[patterns.Leaf] = []
        places: dict[str, Span] = {}
        for param, info in zip(self.decl.fn.params, self.info.params, strict=True):
            name = param.name
            if name.name in places:
                label = Label(places[name.name], "the first one")
                fail("E203", f"two parameters are called `{name.name}`", name.span, labels=(label,))
            places[name.name] = name.span
            assert info.sort is not None
            core_name = self.code.bind(name, info.sort, "param")
            self.params.append(core.Param(core_name, info.sort))
        if not core_form:
            for position, param in enumerate(self.decl.fn.params):
                if param.type is not None:
                    type_ = expand(self.unit, param.type)
                    name_ = self.params[position].name
                    found += leaves(self.code, name_, type_, "param", param.name.name, param.type.span, position)
        return found

    def _function_sorts(self, code: Code) -> None:
        """Function parameters: what their annotation says, over the names that other parameters bind."""
        for position, param in enumerate(self.decl.fn.params):
            type_ = None if param.type is None else expand(self.unit, param.type)
            if isinstance(type_, sweet.FnType):
                name = self.params[position].name
                made = function_sort(code, type_, name, param.name.name)
                self.params[position] = core.Param(name, made)

    def _is_later(self, condition: sweet.Expr, existential: set[str]) -> bool:
        free = {n.name for n in patterns.size_names(folded(condition, self.code.compounds))}
        return any(self.code.scope.find(n) is None and n in existential for n in free)

    def _condition(self, condition: sweet.Expr) -> None:
        try:
            cond = shapes.condition(self.code, condition)
        except RxError as problem:
            self.code.report(problem)
            return
        declared = self._declared(condition)
        origin = core.Origin(condition.span, "where", True, declared, None, spelled(condition.span))
        self.code.emit(core.Assert(condition.span, cond, None, origin))

    def _declared(self, condition: sweet.Expr) -> core.Declared:
        bound: list[tuple[str, core.ShapeLevel]] = []
        for name in dict.fromkeys(n.name for n in patterns.size_names(condition)):
            entry = self.code.scope.find(name)
            if entry is not None and entry.is_shape_level and entry.expr is not None:
                bound.append((name, entry.expr))  # type: ignore[arg-type]
        kind = "result" if condition in self.later else "param"
        subject = f"the conditions of @{self.info.name}"
        return core.Declared(condition.span, kind, subject, "", None, tuple(bound), self.info.name)

    # The call of the implementation, and what it promises

    def _call(self, callee: str, kind: str) -> None:
        assert self.result_type is not None or kind == "extern"
        span = self.decl.fn.result.span if self.decl.fn.result else self.decl.name.span
        args = tuple(core.Arg(span, None, variable(span, p.name, p.sort)) for p in self.params)
        sort = self.info.result or core.TENSOR
        self.info.result = sort
        self.out = self.code.fresh("out")
        shown = sort if sort in SHAPE_SORTS else None
        call = core.Call(span, core.FnRef(span, callee), args)
        self.code.emit(core.Let(span, (self.out,), False, shown, call))
        if self.result_type is not None:
            subject = f"the result of @{self.info.name}"
            found = leaves(self.code, self.out, self.result_type, kind, subject, span)
            patterns.solve(self.code, found, named=False, kind="existential")
        for condition in self.later:
            self._condition(condition)

    def _out(self) -> core.Value:
        span = self.decl.fn.result.span if self.decl.fn.result else self.decl.name.span
        return variable(span, self.out, self.info.result or core.TENSOR)

    # The implementation

    def _implementation(self) -> tuple[core.Function | None, set[str]]:
        """The body with the sizes that it uses named in front; None where it is wrong."""
        body = self.decl.fn.body
        assert body is not None
        code = self.translator.code(self.info, set(self.taken))
        code.compounds = self.code.compounds
        for param, made in zip(self.decl.fn.params, self.params, strict=True):
            code.scope.bind(
                Entry(
                    param.name.name,
                    made.sort,
                    variable(param.name.span, made.name, made.sort),
                    param.name.span,
                    "param",
                )
            )
        for entry in self.code.scope.entries.values():
            if entry.sort is None:
                code.scope.bind(entry)
        names = self._entries(code)
        fine = statements(code, body.stmts)
        result, _ = self._result(code, body, self.info.result)
        used = {n for n, e in names.items() if e.used}
        if not fine or code.failed or code.ever_failed:
            return None, used
        self._lint_body(code, names)
        lets = self._lets(used | self._type_names(), in_wrapper=False)
        made_body = core.Block(body.span, (*lets, *code.stmts), result)
        function = core.Function(
            self.decl.span, "private", self.info.impl, tuple(self.params), self.info.result, made_body, 0, None,
            "", self.decl,
        )  # fmt: skip
        return function, used

    def _entries(self, code: Code) -> dict[str, Entry]:
        """The names that the parameters' annotations bind, as the body sees them: each a name of its own."""
        entries: dict[str, Entry] = {}
        scope = Scope(code.scope)
        for found in self.bound:
            entry = Entry(
                found.spelling,
                found.sort,
                variable(found.span, found.name, found.sort),
                found.span,
                "size",
                found.nonneg,
            )
            scope.bind(entry)
            entries[found.name] = entry
        code.scope = scope
        return entries

    def _lets(self, used: set[str], in_wrapper: bool) -> list[core.Stmt]:
        """`let m : Size = x.dim(1) / 4` for the names that are used, in the order of their binding. The wrapper has those that
        its match_shapes bind already."""
        needed = self._needed(used)
        there = _named_in(self.code.stmts) if in_wrapper else set()
        waiting: list[core.Stmt] = []
        if not in_wrapper:
            matches = [_narrowed(m, needed) for m in self._matches(needed)]
            there |= {n for m in matches for n in m.binds}
            waiting.extend(matches)
        for found in self.bound:
            if found.name in needed and found.name not in there:
                waiting.append(core.Let(found.span, (found.name,), False, found.sort, found.expr))
        stmts = _by_need(waiting)
        if in_wrapper:
            return stmts
        return _destructurings([s for s in self.code.stmts if _is_destructuring(s)], stmts) + stmts

    def _matches(self, needed: set[str]) -> list[core.MatchShape]:
        """The match_shapes without which a name cannot be had: those of splices, and of sizes between two splices."""
        found: list[core.MatchShape] = []
        for b in self.bound:
            only_there = b.match is not None and (b.sort == core.SHAPE or _only_matched(b))
            if only_there and b.match is not None and b.name in needed and b.match not in found:
                found.append(b.match)
        return found

    def _needed(self, used: set[str]) -> set[str]:
        """With the names that stand in what others are bound by."""
        needed = set(used)
        while True:
            more = {n for b in self.bound if b.name in needed for n in _speaks_of(b.expr)}
            more |= {n for m in self._matches(needed) for n in _speaks_of(_narrowed(m, needed)) if n not in m.binds}
            if more <= needed:
                return needed
            needed |= more

    def _type_names(self) -> set[str]:
        """Names that the annotation of a function parameter speaks of: the core has to bind them."""
        names: set[str] = set()
        for param in self.decl.fn.params:
            type_ = None if param.type is None else expand(self.unit, param.type)
            if isinstance(type_, sweet.FnType):
                names |= {n.name for n in fn_names(type_)}
        return names & {b.name for b in self.bound}

    def _name_for_types(self, used: set[str]) -> None:
        self.code.emit(*self._lets(self._type_names(), in_wrapper=True))

    # Names that nothing uses

    def _lint(self) -> None:
        uses = self.translator.notes.pop(self.info.name, [])
        used = {e.span for e in uses if e.used}
        for entry in self.code.annotated:
            if entry.kind != "existential" and not entry.used and entry.span not in used:
                unused(self.unit.world, entry, self.info.name)

    def _lint_body(self, code: Code, names: dict[str, Entry]) -> None:
        self.translator.notes[self.info.name] = list(names.values())
        for entry in code.annotated:
            if entry.kind != "existential" and not entry.used:
                unused(self.unit.world, entry, self.info.name)


def unused(world: World, entry: Entry, function: str | None) -> None:
    """A name that an annotation binds and nothing uses may be a slip of the pen."""
    if entry.name.startswith("_"):
        return
    message = f"`{entry.name}` is bound here and never used"
    shown = f"@{function}" if function else None
    meant = nearest(entry.name, DTYPES) if entry.sort == core.DTYPE and len(entry.name) > 3 else None
    help = f"did you mean `{meant}`?" if meant else f"if it is meant to be free, call it `_{entry.name}` or write `?`"
    world.diagnostics.append(note("N201", message, entry.span, function=shown, help=help))


def _unbound(code: Code, condition: sweet.Expr) -> RxError:
    for name in patterns.size_names(condition):
        if code.scope.find(name.name) is None and name.name not in DTYPES:
            try:
                code.entry(name.name, name.span)
            except RxError as problem:
                return problem
    return Broken()


# Doors


def is_door(stmt: core.Stmt, world: World) -> bool:
    """Whether a statement can belong to a door: it asserts, or names a shape-level value."""
    match stmt:
        case core.Assert() | core.MatchShape():
            return True
        case core.Let() if stmt.is_tuple:
            return isinstance(stmt.value, core.Var)
        case core.Let():
            return stmt.sort in SHAPE_SORTS and not _calls_implementation(stmt.value, world)
    return False


def _calls_implementation(value: core.Value, world: World) -> bool:
    if not isinstance(value, core.Call) or not isinstance(value.callee, core.FnRef):
        return isinstance(value, core.If)
    return world.is_private(value.callee.name)


def door_length(stmts: tuple[core.Stmt, ...], world: World) -> int:
    """The longest prefix of a core function's body that can be its door."""
    return next((i for i, s in enumerate(stmts) if not is_door(s, world)), len(stmts))


def separator(span: Span) -> core.Stmt:
    """`()` ends a door where the body begins with something that looks like one."""
    return core.ExprStmt(span, core.TupleValue(span, ()))


def _is_destructuring(stmt: core.Stmt) -> bool:
    return isinstance(stmt, core.Let) and stmt.is_tuple and isinstance(stmt.value, core.Var)


def _destructurings(candidates: list[core.Stmt], stmts: list[core.Stmt]) -> list[core.Stmt]:
    """Those `let (x_0, x_1) = x` whose parts some statements speak of."""
    kept: list[core.Stmt] = []
    spoken = _tensors(stmts)
    for stmt in reversed(candidates):
        assert isinstance(stmt, core.Let)
        if spoken & set(stmt.names):
            kept.insert(0, stmt)
            assert isinstance(stmt.value, core.Var)
            spoken.add(stmt.value.name)
    return kept


def _tensors(stmts: list[core.Stmt]) -> set[str]:
    names: set[str] = set()
    for node in walk(tuple(stmts)):
        match node:
            case core.RankOf() | core.DimOf() | core.ShapeOf() | core.DTypeOf() | core.MatchShape():
                names.add(node.tensor)
    return names


def _only_matched(found: patterns.Bound) -> bool:
    """A size that no literal axis reaches: it stands between two splices."""
    return isinstance(found.expr, core.SizeVar) and found.expr.name == found.name


def _narrowed(stmt: core.MatchShape, needed: set[str]) -> core.MatchShape:
    """A match_shape that binds only what is needed; the other dimensions say nothing."""
    after = next((i for i, d in enumerate(stmt.dims) if isinstance(d, core.Splice) and d.name in stmt.binds), None)
    dims: list[core.SizeExpr | core.Splice] = []
    binds = list(stmt.binds)
    for i, dim in enumerate(stmt.dims):
        drop = isinstance(dim, core.SizeVar) and dim.name in stmt.binds and dim.name not in needed
        splices = [j for j, d in enumerate(stmt.dims) if isinstance(d, core.Splice)]
        if drop and after is not None and (i < splices[0] or i > splices[-1]):
            assert isinstance(dim, core.SizeVar)
            binds.remove(dim.name)
            axis = i if i < splices[0] else i - len(stmt.dims)
            dims.append(core.DimOf(dim.span, stmt.tensor, axis))
        else:
            dims.append(dim)
    origin = replace(stmt.origin, claim=False)  # the wrapper has asked for it
    return replace(stmt, binds=tuple(binds), dims=tuple(dims), origin=origin)


def _speaks_of(node: object) -> set[str]:
    """The shape-level names in a core tree."""
    return {n.name for n in walk(node) if isinstance(n, core.SizeVar | core.ShapeVar | core.Splice)}


def _by_need(stmts: list[core.Stmt]) -> list[core.Stmt]:
    """The statements in their order, each after those that bind what it speaks of."""
    waiting, ordered = list(stmts), []
    while waiting:
        missing = {id(s): _named_in([s]) for s in waiting}
        ready = [
            s for s in waiting if not any(_speaks_of(s) & missing[id(o)] for o in waiting if o is not s)
        ]  # fmt: skip
        ordered.append((ready or waiting)[0])
        waiting.remove(ordered[-1])
    return ordered


def _named_in(stmts: list[core.Stmt]) -> set[str]:
    """What some statements bind."""
    names: set[str] = set()
    for stmt in stmts:
        if isinstance(stmt, core.Let):
            names |= set(stmt.names)
        elif isinstance(stmt, core.MatchShape):
            names |= set(stmt.binds)
    return names


# Functions as parameters


def fn_names(type_: sweet.FnType) -> Iterator[sweet.Name]:
    for part in (*type_.params, type_.result):
        if isinstance(part, sweet.FnType):
            yield from fn_names(part)
        else:
            yield from patterns.all_names(part)


def function_sort(code: Code, type_: sweet.FnType, name: str, subject: str) -> core.FnSort:
    """A function parameter's annotation as a function without a body: what its door asks of arguments, what its closing
    checks say of the result."""
    inner = Code(code.unit, code.function, identifiers(type_), code.hooks)
    inner.scope = Scope(code.scope)
    params: list[core.Param] = []
    found: list[patterns.Leaf] = []
    for i, part in enumerate(type_.params):
        param = inner.fresh(f"x{i}")
        params.append(core.Param(param, sort_of(part)))
        found += leaves(inner, param, part, "param", f"argument {i + 1} of {subject}", part.span, i)
    patterns.solve(inner, found, named=False)
    door = len(inner.stmts)
    span = type_.span
    sort = sort_of(type_.result)
    out = inner.fresh("out")
    args = tuple(core.Arg(span, None, variable(span, p.name, p.sort)) for p in params)
    call = core.Call(span, core.Var(span, name), args)
    inner.emit(core.Let(span, (out,), False, sort if sort in SHAPE_SORTS else None, call))
    results = leaves(inner, out, type_.result, "result", f"the result of {subject}", type_.result.span)
    patterns.solve(inner, results, named=False, kind="existential")
    if inner.failed:
        raise Broken
    body = core.Block(span, tuple(inner.stmts), variable(span, out, sort))
    text = print_type(in_core(code, type_))
    return core.FnSort(text, core.Function(span, "inline", name, tuple(params), sort, body, door, None, text))


# Function values


def lambda_(code: Code, expr: sweet.Lambda) -> tuple[core.Value, core.Sort]:
    """`fn(x : t) : t { ... }`: its checks stand in front of its body, those of its result behind it."""
    fn = expr.fn
    with code.block() as stmts:
        params = _lambda_door(code, fn)
        body = fn.body
        if body is None:
            fail("E221", "a function value needs a body", expr.span)
        type_ = None if fn.result is None else expand(code.unit, fn.result)
        want = None if type_ is None else sort_of(type_)
        fine = statements(code, body.stmts)
        result, sort = block_result(code, body, want, None if fn.result is None else expand(code.unit, fn.result))
        if not fine:
            raise Broken
        if type_ is not None and not says_nothing(type_) and sort not in SHAPE_SORTS:
            result = _promise(code, type_, result, fn)
        made = core.Block(body.span, tuple(stmts), result)
    door = door_length(made.stmts, code.world)
    text = print_signature(fn)
    function = core.Function(expr.span, "inline", "fn", params, sort, made, door)
    return core.Lambda(expr.span, params, want, made, door), core.FnSort(text, function)


def _lambda_door(code: Code, fn: sweet.Fn) -> tuple[core.Param, ...]:
    params: list[core.Param] = []
    found: list[patterns.Leaf] = []
    for i, param in enumerate(fn.params):
        if param.default is not None:
            fail("E221", "a function value has no defaults", param.default.span)
        type_ = None if param.type is None else expand(code.unit, param.type)
        core_name = code.bind(param.name, sort_of(type_), "param")
        params.append(core.Param(core_name, sort_of(type_)))
        if type_ is not None and param.type is not None:
            found += leaves(code, core_name, type_, "param", param.name.name, param.type.span, i)
    patterns.solve(code, found, named=True)
    for i, param in enumerate(fn.params):
        type_ = None if param.type is None else expand(code.unit, param.type)
        if isinstance(type_, sweet.FnType):
            params[i] = core.Param(params[i].name, function_sort(code, type_, params[i].name, param.name.name))
    for condition in fn.where:
        cond = shapes.condition(code, condition)
        origin = core.Origin(condition.span, "where", True, None, None, spelled(condition.span))
        code.emit(core.Assert(condition.span, cond, None, origin))
    if code.take_failure():
        raise Broken
    return tuple(params)


def _promise(code: Code, type_: sweet.Type, result: core.Value, fn: sweet.Fn) -> core.Value:
    """The result of a function value under its annotation."""
    out = code.fresh("out")
    code.emit(core.Let(result.span, (out,), False, None, result))
    assert fn.result is not None
    found = leaves(code, out, type_, "result", "the result", fn.result.span)
    patterns.solve(code, found, named=False, kind="existential")
    return core.Var(result.span, out)


__all__ = ["Translator", "block", "declare", "lambda_", "signature", "unused"]
