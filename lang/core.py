"""The core tree: desugaring makes it, the checker simplifies it, the interpreter runs it.

Types are bare here; every invariant is an Assert or a MatchShape. The core is itself valid Rx: the printer writes it and the
parser and desugarer read the same core back. Assertions store their status and origin here, so that the checker can write
them and the interpreter can read them. Expressions over sizes are in `shape_level.py`, origins of assertions in `origins.py`;
this module exports both.
"""

from __future__ import annotations

from enum import Enum

from .derivatives import Gradient, Rule
from .dtypes import DType
from .node import Node
from .origins import NAMELESS, Annotation, Called, Declared, Origin, Written
from .shape_level import (
    KNOWN,
    REST,
    UNSAID,
    BoolConst,
    BoolExpr,
    BoolVar,
    BroadcastOf,
    Compare,
    DimOf,
    DTypeExpr,
    DTypeLit,
    DTypeOf,
    DTypeVar,
    InClass,
    Known,
    Logic,
    Not,
    ProdOf,
    RankOf,
    ShapeExpr,
    ShapeLevel,
    ShapeLit,
    ShapeOf,
    ShapeVar,
    SizeExpr,
    SizeLit,
    SizeOp,
    SizeVar,
    Splice,
    is_shape_level,
    operation,
    sides,
)
from .source import Placed, Span

__all__ = [
    "Annotation", "BoolConst", "BoolExpr", "BoolVar", "BroadcastOf", "Called", "Compare", "DTypeExpr", "DTypeLit", "DTypeOf",
    "DTypeVar", "Declared", "DimOf", "Gradient", "InClass", "KNOWN", "Known", "Logic", "NAMELESS", "Not", "Origin", "ProdOf",
    "REST", "UNSAID", "RankOf", "Rule", "ShapeExpr", "ShapeLevel", "ShapeLit", "ShapeOf", "ShapeVar", "SizeExpr", "SizeLit",
    "SizeOp", "SizeVar", "Splice", "Written", "is_shape_level", "operation", "sides",
]  # fmt: skip


class Status(Enum):
    """The state of an assertion. ENTRY: a function's own entry check, decided at each call."""

    OPEN = "open"
    PROVED = "proved"
    REFUTED = "refuted"
    RESIDUAL = "residual"
    ENTRY = "entry"


# Values


class Var(Placed):
    """A tensor, a tuple or a function by its name."""

    name: str


class FnRef(Placed):
    """`@f`. `name` is the function's name as the program sees it: `ff`, `attn.block`, `prelude.matmul`."""

    name: str


class Number(Placed):
    """A literal number or `true`/`false` as a tensor: rank 0, weakly typed (it takes the other operand's dtype)."""

    value: int | float | bool


class TensorLit(Placed):
    """`tensor([[1, 2], [3, 4]], int8)`; `values` is flat in row-major order."""

    shape: tuple[int, ...]
    values: tuple[int | float | bool | str, ...]
    dtype: DType


class Load(Placed):
    """`load("weights.safetensors", "w")`; key is None for a `.npy` file."""

    path: str
    key: str | None


class Text(Placed):
    """A string as an attribute: `mode="constant"`."""

    value: str


class Arg(Placed):
    """One argument; `name` is None for a positional one. Arguments of user functions are always positional and complete;
    those of a primitive are as the user wrote them."""

    name: str | None
    value: Value


class Call(Placed):
    """A call of a primitive, a function of the program, or a function value.

    The checker sets `guard` on a primitive call whose preconditions were not proved: they are checked on the actual shapes
    before the kernel runs. It sets `decided` on a call of a function of the program whose entry checks were decided at this
    call: the open ones are assertions before the call, so the function need not check again. It sets `sure` on a call that
    ends and cannot fail, whatever the elements are: it need not run if its result is unused. `known` describes the result."""

    callee: FnRef | Var
    args: tuple[Arg, ...]
    guard: bool = False
    decided: bool = False
    sure: bool = False
    known: Known | None = None


class TupleValue(Placed):
    items: tuple[Value, ...]


class ListValue(Placed):
    """A list of tensors, or of attribute values that are not all Sizes (`[(0, 1), (2, 3)]`)."""

    items: tuple[Value, ...]


class If(Placed):
    """cond is a BoolExpr, or a value: a boolean or integer rank-0 tensor."""

    cond: BoolExpr | Value
    then: Block
    orelse: Block


class Lambda(Placed):
    """A function value: every call makes the `checks` of its parameters, then runs the body. The body asserts the promised
    type of the result at its end: only the body can decide it."""

    params: tuple[Param, ...]
    result: Sort | None
    checks: tuple[Stmt, ...]
    body: Block


class Carry(Placed):
    """A value that a loop hands from turn to turn, of a bare sort; `init` is its value before the first turn. The checker
    sets `known`, which describes it in a turn."""

    name: str
    sort: Sort
    init: Value
    known: Known | None = None


class Invariant(Placed):
    """One condition of a loop's invariant, over the carries and the index: it holds before the first turn (`entry`) and after
    each turn (`turn`), each decided on its own; within a turn and after the loop it is a known fact."""

    cond: BoolExpr
    origin: Origin
    entry: Status = Status.OPEN
    turn: Status = Status.OPEN


class Stacked(Placed):
    """A tensor of every turn, stacked along a new first axis. `shape` is its shape in each turn, over names from outside the
    loop; None stands for a size that all turns share, taken from the first turn, or 0 if there is none. The body asserts the
    sizes that are not None. `status` is that of the shared sizes. If `dtype` is None, the turns determine shape and dtype,
    and the checker stores what it finds."""

    name: str
    shape: tuple[SizeExpr | Splice | None, ...]
    dtype: DTypeExpr | None
    status: Status = Status.OPEN


class Range(Node):
    """`range(start, stop, step)`: the index is start, start + step, ... below stop; the step is at least 1, which is asserted
    before the loop."""

    start: SizeExpr
    stop: SizeExpr
    step: SizeExpr


class Loop(Placed):
    """`for index in range(...) with (...) where ... while (...) stack (...) { }`, and `while (...) with (...) where ... { }`,
    which has neither index nor range.
    The initial values are evaluated once, in order, and see no carry. `cond` is evaluated before each turn: its result is a
    BoolExpr, or a boolean or integer rank-0 tensor. The body's value is the next carries, then the stacked values: a tuple,
    if there are several. The loop's value has the same form. Names that the invariant binds are bound at the body's head. The
    checker sets `known`, which describes the index in a turn, and `behind`, which describes each value of the loop."""

    index: str | None
    range: Range | None
    carries: tuple[Carry, ...]
    invariant: tuple[Invariant, ...]
    cond: Block | None
    stacked: tuple[Stacked, ...]
    body: Block
    known: Known | None = None
    behind: tuple[Known | None, ...] = ()


Value = (
    Var | FnRef | Number | TensorLit | Load | Text | Call | TupleValue | ListValue | If | Loop | Lambda
    | SizeExpr | ShapeExpr | DTypeExpr | BoolExpr
)  # fmt: skip


def is_work(value: Value) -> bool:
    """Whether a value is computed, and may fail, where it stands; any other value may be read anywhere or never."""
    if is_shape_level(value):
        return False
    match value:
        case Call() | If() | Loop():
            return True
        case Var() | FnRef() | Number() | TensorLit() | Load() | Text() | TupleValue() | ListValue() | Lambda():
            return False


# Sorts


class BaseSort(Node):
    """name is Tensor, Size, Shape, DType or Bool. Equality is fast because every name in scope is asked for its sort."""

    name: str

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is BaseSort and self.name == other.name)

    def __hash__(self) -> int:
        return hash(self.name)


class TupleSort(Node):
    items: tuple[Sort, ...]


class FnSort(Node):
    """A function parameter's sort, the one annotation that the core keeps, as a function without a body: `signature` is an
    inline Function whose checks and promises state what the annotation says; `text` is its spelling."""

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


# Declarations of functions


class Default(Placed):
    """The default value of a parameter; None if it is no literal."""

    value: Value | None


class DeclaredParam(Placed):
    name: str
    annotation: Annotation | None
    default: Default | None


class Declaration(Node):
    """A function's signature in the user's spelling. `place` is the text from the name to the body, None if the function has
    no body or is in core form. `used` are the names in its body, None if it has none; `bound` are those that the body
    binds."""

    params: tuple[DeclaredParam, ...]
    where: tuple[Written, ...]
    result: Annotation | None
    place: Span | None
    used: tuple[str, ...] | None
    bound: tuple[str, ...]


# Statements


class Let(Placed):
    """`let y = value`, `let (a, b) = value`, `let m : Size = x.dim(1) / 4`. sort is printed for the shape-level ones and for
    tuples; it is None for others, and for tuples whose value determines it. The checker sets `known`, which describes each
    name (None: neither a tensor nor a Size)."""

    names: tuple[str, ...]
    is_tuple: bool
    sort: Sort | None
    value: Value
    known: tuple[Known | None, ...] = ()


class Assert(Placed):
    cond: BoolExpr
    message: str | None
    origin: Origin
    status: Status = Status.OPEN


class MatchShape(Placed):
    """`match_shape(x, [s, m], [*s, m])`: binds `binds` (each stands alone, once, in `dims`), asserts the rest.

    Desugaring makes it only for shapes with a splice; every other pattern becomes Asserts and `let m : Size`."""

    tensor: str
    binds: tuple[str, ...]
    dims: tuple[SizeExpr | Splice, ...]
    origin: Origin
    status: Status = Status.OPEN


class ExprStmt(Placed):
    value: Value


Stmt = Let | Assert | MatchShape | ExprStmt


class Block(Placed):
    stmts: tuple[Stmt, ...]
    result: Value


# Programs


class Param(Node):
    """One parameter. The checker sets `known`, which describes it inside the function."""

    name: str
    sort: Sort
    known: Known | None = None


class Function(Placed):
    """One core function.

    kind is inline (the shape-check wrapper), private (an implementation), or extern (a wrapper whose target is called by
    the interpreter). `checks` are the preconditions of the parameters: assumed inside, decided at every call. `promises` are
    the postconditions: they refer to the name that the body returns; they are decided once in the function and are facts for
    its callers. Names bound in `checks` and `body` are visible afterwards; see `statements`. `impl` is the function that a
    body calls for its result, if it does nothing else; None where callers see the body itself. `name` has no at sign.
    `signature` is the user's text, on one line; `declaration` the same as data."""

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
    """All statements of a function in the order in which they run; the body's result is returned after them."""
    return (*function.checks, *function.body.stmts, *function.promises)


def owners(program: Program) -> dict[str, str]:
    """The wrapper, which the user calls, of each implementation, by name."""
    return {f.impl: f.name for f in program.functions if f.impl is not None}


def is_signature(function: Function) -> bool:
    """Whether a function represents a function parameter: its body is a call of the parameter itself."""
    match function.body.stmts:
        case (Let(value=Call(callee=Var(name=name))),):
            return name == function.name
    return False


def param_span(function: Function, name: str) -> Span:
    """The place where the user declared a parameter."""
    declared = function.declaration.params if function.declaration is not None else ()
    return next((p.span for p in declared if p.name == name), function.span)


def bound_names(stmt: Stmt) -> tuple[str, ...]:
    match stmt:
        case Let():
            return stmt.names
        case MatchShape():
            return stmt.binds
        case Assert() | ExprStmt():
            return ()


def other_number(parts: int, names: int) -> str:
    """The message for a tuple that is taken apart into a wrong number of names."""
    return f"this is a tuple of {parts}; here {f'are {names} names' if names != 1 else 'is one name'}"


def may_check(stmt: Stmt) -> bool:
    """Whether a statement may be an entry check: it asserts, or names a shape-level value or the parts of a tuple."""
    match stmt:
        case Let(is_tuple=True):
            return isinstance(stmt.value, Var)
        case Let():
            return stmt.sort in (SIZE, SHAPE, DTYPE, BOOL) and not isinstance(stmt.value, If | Loop)
    return isinstance(stmt, Assert | MatchShape)


class Impls(Placed):
    """`@matmul = [@matmul_16, @matmul_any]`, most specific first."""

    name: str
    choices: tuple[str, ...]
    # The place of each name.
    places: tuple[Span, ...] = ()


class ConstDef(Placed):
    """`const w : T = value`. `annotation` is the type in the core's text; `checks` are its assertions."""

    name: str
    sort: Sort
    value: Value
    annotation: str
    checks: tuple[Stmt, ...]


class Program(Node):
    """The program of one file, its imports included: names of imported functions are qualified (`attn.block`). `main` is the
    script as a private function without parameters whose body is the script, or None; `script` lists the names whose values a
    run prints, in order. `functions` are in source order, imported ones first."""

    functions: tuple[Function, ...]
    impls: tuple[Impls, ...]
    consts: tuple[ConstDef, ...]
    main: Function | None
    script: tuple[str, ...] = ()
    gradients: tuple[Gradient, ...] = ()
    rules: tuple[Rule, ...] = ()

    @property
    def derived(self) -> set[str]:
        """The functions without a written signature: gradients and rules."""
        return {g.name for g in self.gradients} | {n for r in self.rules for n in r.made}
