"""The sweet tree: the program as written, form by form; sizes, Bools and tensors share one family of expressions."""

from __future__ import annotations

from typing import TypeGuard

from .source import Placed, Source


class Ident(Placed):
    """A name at a place: a binder, a parameter's name, an alias."""

    name: str


# Expressions


class Name(Placed):
    name: str


class FnName(Placed):
    """`@f` or `@attn.block`; `name` is without the at sign."""

    name: str


class IntLit(Placed):
    value: int


class FloatLit(Placed):
    """`text` is the spelling, kept for the formatter."""

    value: float
    text: str


class StrLit(Placed):
    """`value` is the text with its escapes resolved."""

    value: str


class BoolLit(Placed):
    """`true` or `false`."""

    value: bool


class Unary(Placed):
    """op is one of - + !"""

    op: str
    operand: Expr


class Binary(Placed):
    """op is one of + - * / // % ** == != < <= > >= && ||"""

    op: str
    left: Expr
    right: Expr


class InClass(Placed):
    """`d in floating` (one Name) or `d in {float16, float32}`; `braces` tells which."""

    item: Expr
    choices: tuple[Name, ...]
    braces: bool


class Attr(Placed):
    """`x.rank`, `x.dtype`; `x.dim(0)` is a Call of an Attr; `attn.width` is a const of an import."""

    value: Expr
    name: Ident


class Arg(Placed):
    """One argument; `name` is None for a positional one."""

    name: Ident | None
    value: Expr


class Call(Placed):
    """callee is a FnName (`@f(x)`), a Name (`tensor(...)`, `min(a, b)`, `f(x)`), or an Attr (`x.dim(0)`)."""

    callee: Expr
    args: tuple[Arg, ...]


def is_match(expr: Expr) -> TypeGuard[Call]:
    """Whether an expression is `match_shape(...)`, which is a statement."""
    return isinstance(expr, Call) and isinstance(expr.callee, Name) and expr.callee.name == "match_shape"


class SliceItem(Placed):
    """`a:b:c` inside an index, each part optional."""

    start: Expr | None
    stop: Expr | None
    step: Expr | None


class Index(Placed):
    """`x[a:b, :]`; an item is a SliceItem, Dots or an expression; the name `None` is a new axis, unless it is bound."""

    value: Expr
    items: tuple[Expr | SliceItem, ...]


def is_none(item: object) -> bool:
    """Whether an item of an index is `None`."""
    return isinstance(item, Name) and item.name == "None"


class TupleExpr(Placed):
    """`()`, `(a,)`, `(a, b)`."""

    items: tuple[Expr, ...]


class ListExpr(Placed):
    """`[a, b]`: a shape, a list of tensors, or rows of a literal; items may be Splice, Dots, Unknown."""

    items: tuple[Expr, ...]


class Splice(Placed):
    """`*name` inside a shape."""

    name: Ident


class Dots(Placed):
    """`...` inside a shape or an index."""


class Unknown(Placed):
    """`?` as a dimension, a shape or a dtype."""


class If(Placed):
    """`if (c) { } else { }`; `else if` is an else block whose result is an If."""

    cond: Expr
    then: Block
    orelse: Block | None


class Carry(Placed):
    """`acc : Tensor([m], float32) = init` of a loop's `with`."""

    name: Ident
    type: Type | None
    init: Expr


class For(Placed):
    """`for i in range(n) with (...) where ... while (...) stack (...) { }`; `cond` is run before each turn."""

    index: Ident
    iterable: Expr
    carries: tuple[Carry, ...]
    where: tuple[Expr, ...]
    cond: Block | None
    stack: tuple[Param, ...]
    body: Block


class While(Placed):
    """`while (let k : Size = e; k < 3) with (...) where ... stack (...) { }`."""

    cond: Block
    carries: tuple[Carry, ...]
    where: tuple[Expr, ...]
    stack: tuple[Param, ...]
    body: Block


class Lambda(Placed):
    """`fn(x : t) : t { ... }` as a value."""

    fn: Fn


Expr = (
    Name | FnName | IntLit | FloatLit | StrLit | BoolLit | Unary | Binary | InClass | Attr | Call | Index
    | TupleExpr | ListExpr | Splice | Dots | Unknown | If | For | While | Lambda
)  # fmt: skip


# Types


class NamedType(Placed):
    """`Size`, `Shape`, `DType`, `Bool`, a dtype's name (a rank-0 tensor), or the name of a `type` item (`attn.Layer`), which
    may be applied: `attn.Layer(d, 4 * d)`."""

    name: str
    args: tuple[Expr, ...] = ()


class TensorType(Placed):
    """`Tensor`, `Tensor(shape)` or `Tensor(shape, dtype)`.

    shape is None, Unknown, a Name or a ListExpr; dtype is None, Unknown or a Name.
    """

    shape: Expr | None
    dtype: Expr | None


class TupleType(Placed):
    items: tuple[Type, ...]


class FnType(Placed):
    """`fn(t1, ...) : t`."""

    params: tuple[Type, ...]
    result: Type


Type = NamedType | TensorType | TupleType | FnType


# Statements


class Let(Placed):
    """`let y : T = e` (claim), `let y ! T = e` (asserting), `let (a, b) = e`.

    `names` has one entry unless `is_tuple`; the annotation of a tuple target is a TupleType.
    """

    names: tuple[Ident, ...]
    is_tuple: bool
    type: Type | None
    asserting: bool
    value: Expr


class Assert(Placed):
    """`assert cond, "message"`; a top-level `=` in cond has already become `==`."""

    cond: Expr
    message: str | None


class ExprStmt(Placed):
    """An expression whose value is not used: `match_shape(...)`, a call made for its checks, a script's print."""

    value: Expr


Stmt = Let | Assert | ExprStmt


class Block(Placed):
    """Statements and the last expression, which is the result (None if there is none: a sort error later)."""

    stmts: tuple[Stmt, ...]
    result: Expr | None


# Items


class Param(Placed):
    name: Ident
    type: Type | None
    default: Expr | None


class Fn(Placed):
    """Parameters, result, conditions, body; a declaration has no body. `checks` is a block before it, in core form only."""

    params: tuple[Param, ...]
    result: Type | None
    where: tuple[Expr, ...]
    body: Block | None
    checks: Block | None = None


class Import(Placed):
    """`import "attention.rx" as attn`; without `as` the alias is the file's stem."""

    path: StrLit
    alias: Ident | None


class FnDecl(Placed):
    """`[inline|private|extern|prim|vjp|checkpoint] @f = fn(...) ... [= "package.module:callable"]`."""

    prefixes: tuple[str, ...]
    name: Ident
    fn: Fn
    target: StrLit | None


class Const(Placed):
    name: Ident
    type: Type | None
    value: Expr


class TypeDecl(Placed):
    """`type Layer = (Tensor(...), ...)`, `type Layer(d, h) = ...`."""

    name: Ident
    type: Type
    params: tuple[Ident, ...] = ()


class Impls(Placed):
    """`@matmul = [@matmul_16, @matmul_any]`, most specific first."""

    name: Ident
    choices: tuple[FnName, ...]


class Gradient(Placed):
    """`@dloss = grad @loss wrt w1, w2`; `kind` is grad, value_and_grad, vjp, jvp or hessian_vector."""

    name: Ident
    kind: str
    of: FnName
    wrt: tuple[Ident, ...]


Item = Import | FnDecl | Gradient | Const | TypeDecl | Impls | Let | Assert | ExprStmt


class Comment(Placed):
    """A `#` comment with its sign, for the formatter; `own_line` tells whether no code stands before it."""

    text: str
    own_line: bool


class Module(Placed):
    """One file. Equality ignores comments."""

    source: Source
    items: tuple[Item, ...]
    comments: tuple[Comment, ...] = ()
