"""The core tree: what desugaring makes of a program, what the checker simplifies and the interpreter runs.

Types are bare here; every invariant is an Assert or a MatchShape. The core is itself valid Rx: the printer writes it and
the parser and desugarer read the same core back. Status and origin of an assertion stand here, so that the checker
can write them and the interpreter can read them.
"""

from __future__ import annotations

from enum import Enum

from .dtypes import DType
from .node import Node
from .source import Span


class Status(Enum):
    """What became of an assertion. ENTRY: a function's own entry check, decided at each call."""

    OPEN = "open"
    PROVED = "proved"
    REFUTED = "refuted"
    RESIDUAL = "residual"
    ENTRY = "entry"


# Shape-level expressions


class SizeLit(Node):
    span: Span
    value: int


class SizeVar(Node):
    """A name of sort Size: a parameter, a const, or one that a `let k : Size` or a MatchShape binds."""

    span: Span
    name: str


class SizeOp(Node):
    """op is one of + - * // % / min max ceildiv; `/` is exact division (with the obligation that it divides)."""

    span: Span
    op: str
    left: SizeExpr
    right: SizeExpr


class RankOf(Node):
    span: Span
    tensor: str


class DimOf(Node):
    """`x.dim(axis)` with a literal axis, negative from the end."""

    span: Span
    tensor: str
    axis: int


class ShapeVar(Node):
    span: Span
    name: str


class ShapeOf(Node):
    """`x.shape` of a tensor variable."""

    span: Span
    tensor: str


class Splice(Node):
    """`*s` inside a ShapeLit."""

    span: Span
    name: str


class ShapeLit(Node):
    span: Span
    dims: tuple[SizeExpr | Splice, ...]


class DTypeLit(Node):
    span: Span
    dtype: DType


class DTypeVar(Node):
    span: Span
    name: str


class DTypeOf(Node):
    span: Span
    tensor: str


class BoolConst(Node):
    span: Span
    value: bool


class BoolVar(Node):
    """A parameter or const of sort Bool."""

    span: Span
    name: str


class Compare(Node):
    """Both sides are Sizes, or Shapes (== and != only), or DTypes (== and != only), or Bools (== and != only)."""

    span: Span
    op: str
    left: ShapeLevel
    right: ShapeLevel


class InClass(Node):
    """`d in floating` / `d in {float16, float32}`: choices are class names and dtype names, braces tells which form."""

    span: Span
    item: DTypeExpr
    choices: tuple[str, ...]
    braces: bool


class Not(Node):
    span: Span
    operand: BoolExpr


class Logic(Node):
    """op is && or ||, decided left to right."""

    span: Span
    op: str
    left: BoolExpr
    right: BoolExpr


SizeExpr = SizeLit | SizeVar | SizeOp | RankOf | DimOf
ShapeExpr = ShapeVar | ShapeOf | ShapeLit
DTypeExpr = DTypeLit | DTypeVar | DTypeOf
BoolExpr = BoolConst | BoolVar | Compare | InClass | Not | Logic
ShapeLevel = SizeExpr | ShapeExpr | DTypeExpr | BoolExpr


# What is known of a value


class Known(Node):
    """What checking knows of a tensor: its dimensions (None where even their number is open), its dtype, and its elements where
    they are sizes. Sizes are expressions over the checker's names for them, which are not names of the program: equal
    expressions of one function are equal sizes. One that nobody named is called `?` and a number."""

    shape: tuple[SizeExpr, ...] | None
    dtype: DTypeExpr
    data: SizeExpr | tuple[SizeExpr, ...] | None = None


# Values


class Var(Node):
    """A tensor, a tuple or a function by its name."""

    span: Span
    name: str


class FnRef(Node):
    """`@f`. `name` is the function's name as the program sees it: `ff`, `attn.block`, `prelude.matmul`."""

    span: Span
    name: str


class Number(Node):
    """A literal number or `true`/`false` as a tensor: rank 0, weakly typed (it takes the other operand's dtype)."""

    span: Span
    value: int | float | bool


class TensorLit(Node):
    """`tensor([[1, 2], [3, 4]], int8)`; `values` is flat in row-major order."""

    span: Span
    shape: tuple[int, ...]
    values: tuple[int | float | bool | str, ...]
    dtype: DType


class Load(Node):
    """`load("weights.safetensors", "w")`; key is None for a `.npy` file."""

    span: Span
    path: str
    key: str | None


class Text(Node):
    """A string as an attribute: `mode="constant"`."""

    span: Span
    value: str


class Arg(Node):
    """One argument; `name` is None for a positional one. Arguments of user functions are always positional and complete;
    those of a primitive stand as the user wrote them."""

    span: Span
    name: str | None
    value: Value


class Call(Node):
    """A call of a primitive, a function of the program, or a function value.

    The checker sets `guard` on a primitive call whose preconditions were not proved: they are checked on the actual
    shapes before the kernel runs. It sets `decided` on a call of a function of the program whose entry checks
    were decided at this call: what is left of them stands as assertions before the call, so they need not run again.
    `known` is what it knows of the result.
    """

    span: Span
    callee: FnRef | Var
    args: tuple[Arg, ...]
    guard: bool = False
    decided: bool = False
    known: Known | None = None


class TupleValue(Node):
    span: Span
    items: tuple[Value, ...]


class ListValue(Node):
    """A list of tensors, or of attribute values that are not all Sizes (`[(0, 1), (2, 3)]`)."""

    span: Span
    items: tuple[Value, ...]


class If(Node):
    """cond is a BoolExpr, or a value: a boolean or integer rank-0 tensor."""

    span: Span
    cond: BoolExpr | Value
    then: Block
    orelse: Block


class Lambda(Node):
    """A function value: `checks` are made of its parameters at every call, then the body runs. What it says of its result
    stands in the body, before that: nobody but the body knows whether it is kept."""

    span: Span
    params: tuple[Param, ...]
    result: Sort | None
    checks: tuple[Stmt, ...]
    body: Block


Value = (
    Var | FnRef | Number | TensorLit | Load | Text | Call | TupleValue | ListValue | If | Lambda
    | SizeExpr | ShapeExpr | DTypeExpr | BoolExpr
)  # fmt: skip


def is_work(value: Value) -> bool:
    """Whether a value is computed where it stands, with what may fail in it; any other may be read anywhere, or nowhere."""
    if isinstance(value, ShapeLevel):
        return False
    match value:
        case Call() | If():
            return True
        case Var() | FnRef() | Number() | TensorLit() | Load() | Text() | TupleValue() | ListValue() | Lambda():
            return False


# Sorts


class BaseSort(Node):
    """name is Tensor, Size, Shape, DType or Bool."""

    name: str


class TupleSort(Node):
    items: tuple[Sort, ...]


class FnSort(Node):
    """A function parameter's sort. It is the one place where the core keeps an annotation, as a function without a body:
    `signature` is an inline Function whose checks and promises say what the annotation says; `text` is its spelling."""

    text: str
    signature: Function


Sort = BaseSort | TupleSort | FnSort

TENSOR, SIZE, SHAPE, DTYPE, BOOL = (BaseSort(n) for n in ("Tensor", "Size", "Shape", "DType", "Bool"))

Variable = SizeVar | ShapeVar | DTypeVar | BoolVar | Var


def variable(span: Span, name: str, sort: Sort) -> Variable:
    """The core expression for a name of a sort."""
    match sort:
        case BaseSort(name="Size"):
            return SizeVar(span, name)
        case BaseSort(name="Shape"):
            return ShapeVar(span, name)
        case BaseSort(name="DType"):
            return DTypeVar(span, name)
        case BaseSort(name="Bool"):
            return BoolVar(span, name)
    return Var(span, name)


# What the user wrote


class Written(Node):
    """A dimension, shape, dtype or condition in the user's spelling, which is the text of `span`.

    `names` are those that it speaks of, each once, in order. `size` is a dimension's value over them, made of numbers, names
    and `+ - * / // %`; None where it is something else (`?`, `*s`, a call).
    """

    span: Span
    names: tuple[str, ...]
    size: SizeExpr | None = None


class Annotation(Node):
    """A type in the user's spelling. kind is tensor, name (`Size`, `int8`), tuple or function.

    `names` are all that stand in it, `shape_names` those of shapes (`*s`, `Tensor(s)`). `dims` is None where a tensor's shape
    is no list; `items` are a tuple's parts.
    """

    span: Span
    kind: str
    names: tuple[str, ...]
    shape_names: tuple[str, ...] = ()
    shape: Written | None = None
    dims: tuple[Written, ...] | None = None
    dtype: Written | None = None
    items: tuple[Annotation, ...] = ()


class Default(Node):
    """The value that a parameter has where a call does not give it one; None for what is no literal."""

    span: Span
    value: Value | None


class DeclaredParam(Node):
    span: Span
    name: str
    annotation: Annotation | None
    default: Default | None


class Declaration(Node):
    """A function's signature in the user's spelling. `place` is the text from the name to the body, None where the function
    has no body or is in core form. `used` are the names that stand in its body, None where it has none; `bound` are those
    that the body binds."""

    params: tuple[DeclaredParam, ...]
    where: tuple[Written, ...]
    result: Annotation | None
    place: Span | None
    used: tuple[str, ...] | None
    bound: tuple[str, ...]


# Origins


class Declared(Node):
    """The annotation that assertions were made of.

    `kind`: param, result, claim (`let y : T`), asserting (`let y ! T`), match_shape, const, extern.
    `subject` is the annotated name as the user knows it (`x`; `the result of @f`), `tensor` the core name it has here.
    `annotation` is None for a condition. `bound` maps each name of the annotation that was bound somewhere else, before this
    annotation, to the core expression it stands for: with it a diagnostic writes `Tensor([3, n], int8)`.
    """

    span: Span
    kind: str
    subject: str
    tensor: str
    annotation: Annotation | None
    bound: tuple[tuple[str, ShapeLevel], ...]
    function: str | None
    position: int | None = None


class Origin(Node):
    """What an assertion was made of, and which part: `what` is rank, dim, dtype, shape, where, assert, obligation.

    `span` is the part of the annotation (one dimension, the dtype) or the condition that the user wrote; `axis` goes with dim.
    `text` is the dimension or condition in the user's spelling. `claim` tells a claim from an assertion (`!`, assert, ...).
    """

    span: Span
    what: str
    claim: bool
    declared: Declared | None
    axis: int | None = None
    text: str = ""

    @property
    def asked(self) -> Span | None:
        """The annotation that asks."""
        if self.declared is None:
            return None
        return self.declared.annotation.span if self.declared.annotation is not None else self.span


# Statements


class Let(Node):
    """`let y = value`, `let (a, b) = value`, `let m : Size = x.dim(1) / 4`. sort is printed for the shape-level ones only.
    The checker sets what is `known` of each name (None: no tensor)."""

    span: Span
    names: tuple[str, ...]
    is_tuple: bool
    sort: Sort | None
    value: Value
    known: tuple[Known | None, ...] = ()


class Assert(Node):
    span: Span
    cond: BoolExpr
    message: str | None
    origin: Origin
    status: Status = Status.OPEN


class MatchShape(Node):
    """`match_shape(x, [s, m], [*s, m])`: binds `binds` (each stands alone, once, in `dims`), asserts the rest.

    Desugaring makes it only for shapes with a splice; every other pattern becomes Asserts and `let m : Size`.
    """

    span: Span
    tensor: str
    binds: tuple[str, ...]
    dims: tuple[SizeExpr | Splice, ...]
    origin: Origin
    status: Status = Status.OPEN


class ExprStmt(Node):
    span: Span
    value: Value


Stmt = Let | Assert | MatchShape | ExprStmt


class Block(Node):
    span: Span
    stmts: tuple[Stmt, ...]
    result: Value


# Programs


class Param(Node):
    """`named` is the parameter as the user may name it in a call and a diagnostic."""

    name: str
    sort: Sort


class Function(Node):
    """One core function.

    kind is inline (the shape-check wrapper), private (an implementation), or extern (a wrapper whose target is called by
    the interpreter). `checks` are the preconditions of the parameters: assumed inside, decided at every call. `promises` are
    the postconditions: they speak of the name that the body gives, and are decided once in the function, facts for its
    callers. What `checks` and `body` bind is seen by what follows; see `statements`. `impl` is the function that the body
    calls for its result and does nothing else; None where callers see the body itself. `name` has no at sign.
    `signature` is what the user wrote, on one line; `declaration` the same as data.
    """

    span: Span
    kind: str
    name: str
    params: tuple[Param, ...]
    result: Sort | None
    checks: tuple[Stmt, ...]
    body: Block
    promises: tuple[Stmt, ...] = ()
    impl: str | None = None
    target: str | None = None
    signature: str = ""
    declaration: Declaration | None = None


def statements(function: Function) -> tuple[Stmt, ...]:
    """All statements of a function in the order in which they run; then it gives the result of its body."""
    return (*function.checks, *function.body.stmts, *function.promises)


def owners(program: Program) -> dict[str, str]:
    """The wrapper of each implementation, by their names: what the user calls it."""
    return {f.impl: f.name for f in program.functions if f.impl is not None}


def bound_names(stmt: Stmt) -> tuple[str, ...]:
    match stmt:
        case Let():
            return stmt.names
        case MatchShape():
            return stmt.binds
        case Assert() | ExprStmt():
            return ()


def may_check(stmt: Stmt) -> bool:
    """Whether a statement may be an entry check: it asserts, or names a shape-level value or the parts of a tuple."""
    match stmt:
        case Let(is_tuple=True):
            return isinstance(stmt.value, Var)
        case Let():
            return stmt.sort in (SIZE, SHAPE, DTYPE, BOOL) and not isinstance(stmt.value, If)
    return isinstance(stmt, Assert | MatchShape)


class Impls(Node):
    """`@matmul = [@matmul_16, @matmul_any]`, most specific first."""

    span: Span
    name: str
    choices: tuple[str, ...]
    # Where each of them is named.
    places: tuple[Span, ...] = ()


class ConstDef(Node):
    """`const w : T = value`. A const keeps its annotation in the core's text (`annotation`); `checks` is what it says."""

    span: Span
    name: str
    sort: Sort
    value: Value
    annotation: str
    checks: tuple[Stmt, ...]


class Program(Node):
    """Everything that one file needs, its imports included: names of imported functions are qualified (`attn.block`).

    `main` is the script as a private function without parameters whose body is the script, or None; `script` lists the
    names whose values a run prints, in order. `functions` come in source order, imported ones first.
    """

    functions: tuple[Function, ...]
    impls: tuple[Impls, ...]
    consts: tuple[ConstDef, ...]
    main: Function | None
    script: tuple[str, ...] = ()
