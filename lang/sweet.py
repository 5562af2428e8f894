"""The sweet tree: what the user wrote, form by form. Sizes, Bools and tensors share one family of expressions."""

from __future__ import annotations

from .node import Node
from .source import Source, Span


class Ident(Node):
    """A name at a place: a binder, a parameter's name, an alias."""

    span: Span
    name: str


# Expressions


class Name(Node):
    span: Span
    name: str


class FnName(Node):
    """`@f` or `@attn.block`; `name` is without the at sign."""

    span: Span
    name: str


class IntLit(Node):
    span: Span
    value: int


class FloatLit(Node):
    """`text` is the spelling, kept for the formatter."""

    span: Span
    value: float
    text: str


class StrLit(Node):
    """`value` is the text with its escapes resolved."""

    span: Span
    value: str


class BoolLit(Node):
    """`true` or `false`."""

    span: Span
    value: bool


class Unary(Node):
    """op is one of - + !"""

    span: Span
    op: str
    operand: Expr


class Binary(Node):
    """op is one of + - * / // % ** == != < <= > >= && ||"""

    span: Span
    op: str
    left: Expr
    right: Expr


class InClass(Node):
    """`d in floating` (one Name) or `d in {float16, float32}`; `braces` tells which."""

    span: Span
    item: Expr
    choices: tuple[Name, ...]
    braces: bool


class Attr(Node):
    """`x.rank`, `x.dtype`; `x.dim(0)` is a Call of an Attr; `attn.width` is a const of an import."""

    span: Span
    value: Expr
    name: Ident


class Arg(Node):
    """One argument; `name` is None for a positional one."""

    span: Span
    name: Ident | None
    value: Expr


class Call(Node):
    """callee is a FnName (`@f(x)`), a Name (`tensor(...)`, `min(a, b)`, `f(x)`), or an Attr (`x.dim(0)`)."""

    span: Span
    callee: Expr
    args: tuple[Arg, ...]


class SliceItem(Node):
    """`a:b:c` inside an index, each part optional."""

    span: Span
    start: Expr | None
    stop: Expr | None
    step: Expr | None


class Index(Node):
    """`x[a:b, :]`; an item is a SliceItem, Dots or an expression."""

    span: Span
    value: Expr
    items: tuple[Expr | SliceItem, ...]


class TupleExpr(Node):
    """`()`, `(a,)`, `(a, b)`."""

    span: Span
    items: tuple[Expr, ...]


class ListExpr(Node):
    """`[a, b]`: a shape, a list of tensors, or rows of a literal; items may be Splice, Dots, Unknown."""

    span: Span
    items: tuple[Expr, ...]


class Splice(Node):
    """`*name` inside a shape."""

    span: Span
    name: Ident


class Dots(Node):
    """`...` inside a shape or an index."""

    span: Span


class Unknown(Node):
    """`?` as a dimension, a shape or a dtype."""

    span: Span


class If(Node):
    """`if (c) { } else { }`; `else if` is an else block whose result is an If."""

    span: Span
    cond: Expr
    then: Block
    orelse: Block | None


class Carry(Node):
    """`acc : Tensor([m], float32) = init` of a loop's `with`."""

    span: Span
    name: Ident
    type: Type | None
    init: Expr


class For(Node):
    """`for i in range(n) with (...) where ... while (...) stack (...) { }`; `cond` is run before each turn."""

    span: Span
    index: Ident
    iterable: Expr
    carries: tuple[Carry, ...]
    where: tuple[Expr, ...]
    cond: Block | None
    stack: tuple[Param, ...]
    body: Block


class While(Node):
    """`while (let k : Size = e; k < 3) with (...) where ... stack (...) { }`."""

    span: Span
    cond: Block
    carries: tuple[Carry, ...]
    where: tuple[Expr, ...]
    stack: tuple[Param, ...]
    body: Block


class Lambda(Node):
    """`fn(x : t) : t { ... }` as a value."""

    span: Span
    fn: Fn


Expr = (
    Name | FnName | IntLit | FloatLit | StrLit | BoolLit | Unary | Binary | InClass | Attr | Call | Index
    | TupleExpr | ListExpr | Splice | Dots | Unknown | If | For | While | Lambda
)  # fmt: skip


# Types


class NamedType(Node):
    """`Size`, `Shape`, `DType`, `Bool`, a dtype's name (a rank-0 tensor), or the name of a `type` item (`attn.Layer`)."""

    span: Span
    name: str


class TensorType(Node):
    """`Tensor`, `Tensor(shape)` or `Tensor(shape, dtype)`.

    shape is None, Unknown, a Name or a ListExpr; dtype is None, Unknown or a Name.
    """

    span: Span
    shape: Expr | None
    dtype: Expr | None


class TupleType(Node):
    span: Span
    items: tuple[Type, ...]


class FnType(Node):
    """`fn(t1, ...) : t`."""

    span: Span
    params: tuple[Type, ...]
    result: Type


Type = NamedType | TensorType | TupleType | FnType


# Statements


class Let(Node):
    """`let y : T = e` (claim), `let y ! T = e` (asserting), `let (a, b) = e`.

    `names` has one entry unless `is_tuple`; the annotation of a tuple target is a TupleType.
    """

    span: Span
    names: tuple[Ident, ...]
    is_tuple: bool
    type: Type | None
    asserting: bool
    value: Expr


class Assert(Node):
    """`assert cond, "message"`; a top-level `=` in cond has already become `==`."""

    span: Span
    cond: Expr
    message: str | None


class ExprStmt(Node):
    """An expression whose value is not used: `match_shape(...)`, a call made for its checks, a script's print."""

    span: Span
    value: Expr


Stmt = Let | Assert | ExprStmt


class Block(Node):
    """Statements and the last expression, which is the result (None if there is none: a sort error later)."""

    span: Span
    stmts: tuple[Stmt, ...]
    result: Expr | None


# Items


class Param(Node):
    span: Span
    name: Ident
    type: Type | None
    default: Expr | None


class Fn(Node):
    """Parameters, result, conditions, body; a declaration has no body. `checks` is a block before it, in core form only."""

    span: Span
    params: tuple[Param, ...]
    result: Type | None
    where: tuple[Expr, ...]
    body: Block | None
    checks: Block | None = None


class Import(Node):
    """`import "attention.rx" as attn`; without `as` the alias is the file's stem."""

    span: Span
    path: StrLit
    alias: Ident | None


class FnDecl(Node):
    """`[inline|private|extern|prim] @f = fn(...) ... [= "package.module:callable"]`."""

    span: Span
    prefixes: tuple[str, ...]
    name: Ident
    fn: Fn
    target: StrLit | None


class Const(Node):
    span: Span
    name: Ident
    type: Type | None
    value: Expr


class TypeDecl(Node):
    """`type Layer = (Tensor(...), ...)`."""

    span: Span
    name: Ident
    type: Type


class Impls(Node):
    """`@matmul = [@matmul_16, @matmul_any]`, most specific first."""

    span: Span
    name: Ident
    choices: tuple[FnName, ...]


Item = Import | FnDecl | Const | TypeDecl | Impls | Let | Assert | ExprStmt


class Comment(Node):
    """A `#` comment with its sign, for the formatter; `own_line` tells whether code stands before it."""

    span: Span
    text: str
    own_line: bool


class Module(Node):
    """One file. Comments do not take part in equality."""

    span: Span
    source: Source
    items: tuple[Item, ...]
    comments: tuple[Comment, ...] = ()
