"""The names in pieces of a file: each occurrence with its meaning, local or global."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, assert_never

from ..lang import sweet
from ..lang.dtypes import CLASSES, DTYPES
from ..lang.source import Placed, Span
from ..lang.walk import children, walk
from ..sizes.operators import PROD, size_functions
from .pieces import EditorPiece

SORTS = frozenset({"Tensor", "Size", "Shape", "DType", "Bool"})
# Words that look like function names in a call but are syntax.
FORMS = ("match_shape", "tensor", "load", *size_functions(), PROD, "range")
# The meanings of names without a binding. A size may have any of these names except a dtype's, and hides the others.
_GIVEN = SORTS | DTYPES.keys() | CLASSES.keys() | {"any", *FORMS}


class Local(NamedTuple):
    """A name that a function, a type, a const or the script binds, identified by its first place."""

    piece: EditorPiece
    start: int
    kind: str


class Global(NamedTuple):
    """A name defined outside the piece; a function's begins with `@`. It may be qualified, as `attn.block`."""

    name: str


class Keyword(NamedTuple):
    """The name of a parameter in a call."""

    function: str
    name: str


class Alias(NamedTuple):
    """The alias of an import."""

    name: str


Meaning = Local | Global | Keyword | Alias


class Occurrence(NamedTuple):
    """An occurrence of a name, which `defines` or uses it."""

    span: Span
    name: str
    meaning: Meaning
    defines: bool = False


Env = dict[str, Local]


def occurrences(
    pieces: tuple[EditorPiece, ...], known: frozenset[str], consts: frozenset[str]
) -> tuple[Occurrence, ...]:
    """The names in pieces that share a scope (one piece, or those of a script), in order; `known` are the names that the
    program defines, imports included; `consts` are the file's own consts, whose names no size can have."""
    words = frozenset[str]().union(*(p.words for p in pieces))
    around, held = known & words, consts & words
    return pieces[0].kept("names", (pieces, around, held), lambda: tuple(_Reader(around, held).read(pieces)))


class _Reader:
    """Collects the occurrences of names in some pieces."""

    def __init__(self, known: frozenset[str], consts: frozenset[str]) -> None:
        self.known, self.consts = known, consts
        self.found: list[Occurrence] = []

    def read(self, pieces: tuple[EditorPiece, ...]) -> list[Occurrence]:
        script: Env = {}
        for piece in pieces:
            for item in piece.items:
                self.item(item, script)
        order = {piece: i for i, piece in enumerate(pieces)}
        return sorted(self.found, key=lambda o: (order.get(_piece(o.span), 0), o.span.start, o.span.end))

    # Items

    def item(self, item: sweet.Item, script: Env) -> None:
        match item:
            case sweet.Import():
                self._import(item)
            case sweet.FnDecl():
                self._define(item.name, f"@{item.name.name}", 1)
                self.function(item.fn, {})
            case sweet.Const():
                self._define(item.name, item.name.name)
                self.expr(item.value, {})
                self.types([item.type], {})
            case sweet.TypeDecl():
                self._define(item.name, item.name.name)
                env: Env = {}
                for param in item.params:
                    self.bind(env, param, "size")
                self.types([item.type], env)
            case sweet.Impls():
                self._define(item.name, f"@{item.name.name}", 1)
                for choice in item.choices:
                    self.expr(choice, {})
            case sweet.Gradient():
                self._define(item.name, f"@{item.name.name}", 1)
                self.expr(item.of, {})
                for name in item.wrt:
                    self.found.append(Occurrence(name.span, name.name, Keyword(item.of.name, name.name)))
            case sweet.Let() | sweet.Assert() | sweet.ExprStmt():
                self.stmt(item, script)
            case _:
                assert_never(item)

    def _import(self, item: sweet.Import) -> None:
        if item.alias is not None:
            self.found.append(Occurrence(item.alias.span, item.alias.name, Alias(item.alias.name), True))

    def _define(self, name: sweet.Ident, meaning: str, skip: int = 0) -> None:
        start = name.span.start + (skip if name.span.text.startswith("@") else 0)
        span = name.span._replace(start=start)
        self.found.append(Occurrence(span, name.name, Global(meaning), True))

    def function(self, fn: sweet.Fn, around: Env) -> None:
        env = dict(around)
        for param in fn.params:
            self.bind(env, param.name, _kind(param.type, "parameter"))
        self.types([p.type for p in fn.params], env)
        for param in fn.params:
            if param.default is not None:
                self.expr(param.default, env)
        result = dict(env)
        self.types([fn.result], result)
        for condition in fn.where:
            self.expr(condition, result)
        if fn.checks is not None:
            self.block(fn.checks, env)
        if fn.body is not None:
            self.block(fn.body, env)

    # Types

    def types(self, types: Iterable[sweet.Type | None], env: Env) -> None:
        """Record annotations that are read together: they bind names without another binding, where these first stand
        alone."""
        there = [t for t in types if t is not None]
        new: dict[str, tuple[bool, Placed]] = {}
        for type_ in there:
            for node, name, alone in _names_of(type_):
                if self._is_new(name, env) and (name not in new or alone and not new[name][0]):
                    new[name] = (alone, node)
        for name, (_, node) in new.items():
            env[name] = Local(_piece(node.span), node.span.start, "size")
        for type_ in there:
            self.type(type_, env)

    def _is_new(self, name: str, env: Env) -> bool:
        return name not in env and name not in self.consts and name not in DTYPES

    def type(self, type_: sweet.Type, env: Env) -> None:
        match type_:
            case sweet.NamedType():
                if type_.name not in SORTS and type_.name not in DTYPES:
                    self.dotted(type_.span, type_.name, "")
                for arg in type_.args:
                    self.expr(arg, env)
            case sweet.TensorType():
                for part in (type_.shape, type_.dtype):
                    if part is not None:
                        self.expr(part, env)
            case sweet.TupleType():
                for item in type_.items:
                    self.type(item, env)
            case sweet.FnType():
                for item in (*type_.params, type_.result):
                    self.type(item, env)

    # Statements

    def block(self, block: sweet.Block, around: Env) -> Env:
        env = dict(around)
        for stmt in block.stmts:
            self.stmt(stmt, env)
        if block.result is not None:
            self.expr(block.result, env)
        return env

    def stmt(self, stmt: sweet.Stmt, env: Env) -> None:
        match stmt:
            case sweet.Let():
                self.expr(stmt.value, env)
                self.types([stmt.type], env)
                for name in stmt.names:
                    self.bind(env, name, _kind(stmt.type, "value"))
            case sweet.Assert():
                self.expr(stmt.cond, env)
            case sweet.ExprStmt():
                self._match_shape(stmt.value, env)
                self.expr(stmt.value, env)

    def _match_shape(self, expr: sweet.Expr, env: Env) -> None:
        """Bind the new names in the list of `match_shape(x, [s, m])`."""
        if sweet.is_match(expr):
            for arg in expr.args[1:2]:
                for node, name, alone in _names_in(arg.value):
                    if alone and self._is_new(name, env):
                        env[name] = Local(_piece(node.span), node.span.start, "size")

    # Expressions

    def expr(self, expr: sweet.Expr | sweet.SliceItem, env: Env) -> None:
        match expr:
            case sweet.Name():
                self.use(expr.span, expr.name, env)
            case sweet.Splice():
                self.use(expr.name.span, expr.name.name, env)
            case sweet.FnName():
                self.dotted(expr.span, expr.name, "@")
            case sweet.Attr(value=sweet.Name(name=alias)) if (
                alias not in env and f"{alias}.{expr.name.name}" in self.known
            ):
                self.dotted(expr.span, f"{alias}.{expr.name.name}", "")
            case sweet.Attr():
                self.expr(expr.value, env)
            case sweet.Call():
                self._call(expr, env)
            case sweet.If():
                self.expr(expr.cond, env)
                self.block(expr.then, env)
                if expr.orelse is not None:
                    self.block(expr.orelse, env)
            case sweet.For() | sweet.While():
                self._loop(expr, env)
            case sweet.Lambda():
                self.function(expr.fn, env)
            case sweet.InClass():
                self.expr(expr.item, env)
                for choice in expr.choices:
                    if choice.name not in _GIVEN:
                        self.expr(choice, env)
            case _:
                for child in children(expr):
                    self.expr(child, env)  # type: ignore[arg-type]

    def _call(self, call: sweet.Call, env: Env) -> None:
        self.expr(call.callee, env)
        function = call.callee.name if isinstance(call.callee, sweet.FnName) else None
        for arg in call.args:
            if arg.name is not None and function is not None:
                self.found.append(Occurrence(arg.name.span, arg.name.name, Keyword(function, arg.name.name)))
            self.expr(arg.value, env)

    def _loop(self, loop: sweet.For | sweet.While, around: Env) -> None:
        env = dict(around)
        for carry in loop.carries:
            self.expr(carry.init, around)
        if isinstance(loop, sweet.For):
            self.expr(loop.iterable, around)
            self.bind(env, loop.index, "size")
        for carry in loop.carries:
            self.bind(env, carry.name, _kind(carry.type, "value"))
        self.types([c.type for c in loop.carries], env)
        for condition in loop.where:
            self.expr(condition, env)
        if loop.cond is not None:
            self.block(loop.cond, env)
        inner = dict(env)
        self.types([s.type for s in loop.stack], inner)
        for stacked in loop.stack:
            self.bind(inner, stacked.name, "value")
        self.block(loop.body, env)

    # Names

    def bind(self, env: Env, name: sweet.Ident, kind: str) -> None:
        env[name.name] = Local(_piece(name.span), name.span.start, kind)
        self.found.append(Occurrence(name.span, name.name, env[name.name], True))

    def use(self, span: Span, name: str, env: Env) -> None:
        local = env.get(name)
        if local is not None:
            defines = local.piece is span.source and local.start == span.start
            self.found.append(Occurrence(span, name, local, defines))
        elif name not in _GIVEN or name in self.consts:
            self.found.append(Occurrence(span, name, Global(name)))

    def dotted(self, span: Span, name: str, sign: str) -> None:
        """Record `@attn.block`: the import, and the name in it."""
        at = span.start + span.text.startswith("@")
        head, _, rest = name.partition(".")
        if rest and name in self.known or rest and head in self.known and f"{head}.{rest}" != name:
            self.found.append(Occurrence(Span(span.source, at, at + len(head)), head, Alias(head)))
            at, shown = at + len(head) + 1, rest
        else:
            shown = name
        self.found.append(Occurrence(Span(span.source, at, at + len(shown)), shown, Global(f"{sign}{name}")))


def _piece(span: Span) -> EditorPiece:
    assert isinstance(span.source, EditorPiece)
    return span.source


def _kind(type_: sweet.Type | None, other: str) -> str:
    return "size" if isinstance(type_, sweet.NamedType) and type_.name in ("Size", "Shape", "DType", "Bool") else other


def _names_of(type_: sweet.Type) -> Iterator[tuple[Placed, str, bool]]:
    """The names of sizes, shapes and dtypes in a type, and whether each stands alone."""
    for node in walk(type_):
        if isinstance(node, sweet.TensorType):
            yield from (found for part in (node.shape, node.dtype) if part is not None for found in _names_in(part))
        elif isinstance(node, sweet.NamedType):
            yield from (found for arg in node.args for found in _names_in(arg))


def _names_in(part: sweet.Expr) -> Iterator[tuple[Placed, str, bool]]:
    alone = part.items if isinstance(part, sweet.ListExpr) else (part,)
    for item in alone:
        if isinstance(item, sweet.Name):
            yield item, item.name, True
        elif isinstance(item, sweet.Splice):
            yield item.name, item.name.name, True
        else:
            called = {id(n.callee) for n in walk(item) if isinstance(n, sweet.Call)}
            yield from ((n, n.name, False) for n in walk(item) if isinstance(n, sweet.Name) and id(n) not in called)
