"""A primitive: one row, with one interface whether its rule is written in Rx or in Python.

A shape rule is written once and runs twice: at check time over symbolic sizes, and at run time over plain integers,
where a precondition that could not be proved is checked on the actual shapes. So a rule uses only `+ - * // %` on sizes and
asks its context for everything else (comparisons, minimum and maximum, decisions). It never compares sizes with `==` or `<`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol

from ..lang.codes import Code
from ..lang.dtypes import DType
from ..lang.node import Node
from .dims import AnyDType as AnyDType, Cond as Cond, Dim as Dim, DTypeSymbol as DTypeSymbol, Symbol as Symbol
from .requirements import DTypeIn, DTypeRequirement, NotComplex, Requirement, Spoken

if TYPE_CHECKING:
    from typing_extensions import TypeVar
else:  # the defaults are for mypy alone
    from typing import TypeVar as _TypeVar

    def TypeVar(name: str, **_: object) -> Any:
        return _TypeVar(name)


class Truth(Node):
    """An element of bool that is not decided: under which condition it is true, and under which it is false."""

    yes: Cond
    no: Cond


# One element of a tensor, as far as it is known (tracked.py says what of which dtype); only rules look into it.
Element = Any
# The elements of a tensor that is small enough, in row-major order; None of one of which none is known.
Elements = tuple[Element, ...] | None

# What the sizes and the conditions of one reading of a rule are: ints and bools, or symbolic ones.
D = TypeVar("D", bound=Dim, default=Dim)
C = TypeVar("C", bound=Cond, default=Cond)
T = TypeVar("T", bound=Dim, default=Dim, covariant=True)


class Wildcard:
    """The literal -1 of a reshape, which stands for whatever size is left: no size itself, so that a size that turns out to
    be -1 is never taken for it."""

    def __repr__(self) -> str:
        return "-1"


WILDCARD = Wildcard()

# Elements are tracked (shapes as data) only in tensors of so many.
TRACKED = 256


class Segment(Node):
    """Part of a shape whose length is not known; `symbol` tells one from another (`*batch`, or an unknown shape)."""

    symbol: Symbol


class ElementRange(Node):
    """Integers from `least` to `most`. Where there are such elements, both ends are among them if it is `met`, and all integers
    between if it is `dense`. Of elements that change by the same along each axis `steps` says by how much, from the `first` one
    on. `counts` are further sizes, beside those of the tensor, of which one is 0 where there are none. The elements of a
    `narrow` dtype are these as far as it has them, and what the others wrap around to; one end is there if it is `met`. A
    `column` is an axis and a position along it: the elements there have this range.
    """

    least: Any
    most: Any
    met: bool = False
    dense: bool = False
    first: Any = None
    steps: tuple[Any, ...] | None = None
    counts: tuple[Any, ...] = ()
    narrow: DType | None = None
    column: tuple[int, int] | None = None


class TensorInfo(Node, Generic[T]):
    """What is known of a tensor: its dimensions, its dtype, and its elements where they are tracked (shapes as data).

    `shape` is a tuple of Dims; a Segment in it stands for any number of further dimensions. `dtype` is None for a literal
    number, which takes that of the other operands. `data` has the elements in row-major order, as `tracked.py` says, where the
    shape is all numbers and some are known. At run time `data` holds the integers themselves. Where there are `ranges`, each
    element is an integer of one of them.
    """

    shape: tuple[T | Segment, ...]
    dtype: AnyDType | None
    data: Elements = None
    ranges: tuple[ElementRange, ...] = ()

    @property
    def sizes(self) -> Any:
        """The elements as sizes, where every one is: of a tensor of rank 0 the size itself, else all of them."""
        if self.data is None or len(self.shape) > 1 or any(e is None or isinstance(e, Node) for e in self.data):
            return None
        return self.data if self.shape else self.data[0]


class Out(Node):
    """What a rule says of one result, where a bare shape is not enough: its elements, the ranges of integers that they are in,
    or its dtype where the column leaves that to the rule."""

    shape: tuple[Any, ...]
    data: Any = None
    ranges: tuple[ElementRange, ...] = ()
    dtype: AnyDType | None = None


class RankUnknown(Exception):
    """Raised by `Ctx.dims` and `Ctx.rank`: the rule can say nothing; the checker makes the result's shape unknown and leaves
    the preconditions to run time."""


class ResultOpen(RankUnknown):
    """The rule asks nothing that is still open: only what the result's shape is depends on sizes that are not known, on a
    condition that `decides` its rank perhaps."""

    def __init__(self, decides: object = None) -> None:
        super().__init__()
        self.decides = decides


class Ctx(Protocol[D, C]):
    """What a rule may ask."""

    def dims(self, x: TensorInfo[D]) -> tuple[D, ...]:
        """The dimensions of x; raises RankUnknown where they are not all there."""

    def number(self, size: D) -> D:
        """The size, as a number where facts make it one: for how many results there are."""

    def rank(self, x: TensorInfo[D]) -> int:
        """len(dims(x))"""

    def require(self, asked: Requirement, cond: C | None = None) -> None:
        """A precondition: the condition, or the one that its quantities make."""

    def dtype_in(self, dtype: AnyDType | None, *classes: str) -> bool | None:
        """Whether a dtype is in one of the classes; None where nobody knows. A literal number, which has none, is real."""

    def require_dtype(self, asked: DTypeIn | NotComplex) -> None:
        """A precondition: the dtype is in one of the classes."""

    def require_either(self, known: bool | None, asked: DTypeRequirement) -> None:
        """A precondition on several dtypes, made of answers of `dtype_in`; None where nobody knows."""

    def fail(self, asked: Requirement) -> NoReturn:
        """The call can never be right."""

    def leave_open(self, asked: Spoken) -> None:
        """A requirement that cannot be said before the rank of an operand is known: the run decides it."""

    def passed(self, cond: C) -> None:
        """What holds wherever the kernel has taken the elements: known behind the call."""

    def ranges(self, told: Callable[[], tuple[ElementRange, ...]]) -> tuple[ElementRange, ...]:
        """What is told of ranges of elements; nothing where none are told, or where that is too much."""

    def elements_fit(self, asked: Requirement, empty: list[C], surely: C, needed: C) -> None:
        """Some elements of what the row `refuses` are right wherever `surely` holds, and nowhere where `needed` does not; there
        are none where one of `empty` holds. Sizes decide it where both are one condition, else the kernel."""

    def needs_literal(self, asked: Requirement) -> NoReturn:
        """A number has to stand in the program, because what the result looks like depends on it."""

    def decide(self, cond: C) -> bool | None:
        """True or False if that follows from what is known, else None. Never a requirement."""

    def eq(self, a: D, b: D) -> C: ...
    def ne(self, a: D, b: D) -> C: ...
    def le(self, a: D, b: D) -> C: ...
    def lt(self, a: D, b: D) -> C: ...
    def any_of(self, *conds: C) -> C: ...
    def all_of(self, *conds: C) -> C: ...
    def min(self, *sizes: D) -> D: ...
    def max(self, *sizes: D) -> D: ...
    def ceildiv(self, a: D, b: D) -> D: ...

    def common(self, *sizes: D) -> D:
        """Of sizes that are 1 or one other number, which was required before, that number."""

    def factor(self, product: D, other: D) -> D:
        """A size that gives the product when it is multiplied by the other one."""

    def solution(self, left: tuple[D, ...], rest: tuple[D, ...]) -> D | None:
        """The size that a -1 stands for beside `rest`, in a tensor of the sizes `left`, if it is the same for all numbers that
        the sizes may be: then the call has it from here on. None where numbers have to tell."""

    def rest_on(self, param: str, value: tuple[int, ...]) -> None:
        """What the result is told from, as the value of a parameter: where the call is left to the run, it has that from here
        on, and the run asks for what was told."""

    def fresh(self, name: str, at_least: D | int | None = 0, at_most: D | None = None) -> D:
        """A size that only the data decides (`@nonzero`), with what is known of it."""

    def elements(self, segment: Segment) -> D:
        """The product of the dimensions that nobody knows."""

    def held_in(self, param: str) -> D:
        """How many values the one that is given for a parameter holds, where only the data decides that: the same size for the
        same value."""

    def element(self, at_least: D | int, at_most: D) -> D | None:
        """An integer that stands in the result, of which only its range is known; None where elements are not tracked."""

    def is_unknown(self, size: D) -> bool:
        """Whether it is an element of which nothing is known."""

    def fits(self, value: D, dtype: AnyDType | None) -> bool:
        """Whether an element that is this size can be stored in the dtype for certain and exactly: else it is not tracked."""

    def one_of(self, cases: tuple[tuple[Truth, D], ...], natural: bool, dtype: AnyDType | None) -> D | None:
        """A size that is each of these under its condition, and surely not negative if it is `natural`; where none holds, what
        the dtype makes of it."""

    def root(self, size: D) -> D | None:
        """The square root of a size, where that is a size."""


# Kinds of parameters that take tensors.
TENSORS = ("tensor", "tensors", "index")


class PrimitiveParam(Node):
    """One parameter of a primitive.

    kind:
      tensor    a TensorInfo (a literal number is one of rank 0)
      tensors   a tuple of TensorInfo
      index     a TensorInfo of integers, or a Dim
      size      a Dim (any integer; may be negative)
      sizes     a tuple of Dims
      shape     a tuple of Dims: written as a Shape, or given as a rank-1 integer tensor of known length
      target    like shape, but one size may be a literal -1, which comes as WILDCARD
      pairs     a tuple of pairs of Dims: `[(0, 1), (2, n)]`
      int       a literal integer;  ints: a tuple of them, a single one is taken as a tuple of one
      float bool str dtype   an attribute
    An optional parameter has `required` False; its default is None if nothing else is said.
    """

    name: str
    kind: str
    required: bool = True
    default: Any = None


class Trait(Enum):
    """What a primitive does, for those who speak of its calls.

    BROADCASTS: element by element of operands that are broadcast. MOVES_AXES: the same axes in another order. RESHAPES: the
    axes are those that the call writes. UNIT_AXES: axes of one element come or go. WINDOWS: the spatial axes change, by windows
    or by a scale. JOINS: operands one after another. LOSS: how far a prediction is from its target.
    NEW_AXIS: the result has one axis more. CUTS: some of the entries of an axis, in their order. SPELT: strings are read as
    numbers, and refused where they spell none. WHOLE: all elements that it may select, where the result has any. REGROUPS: the
    same elements in their order, as other axes.
    """

    BROADCASTS = "broadcasts"
    MOVES_AXES = "moves axes"
    RESHAPES = "reshapes"
    UNIT_AXES = "unit axes"
    WINDOWS = "windows"
    JOINS = "joins"
    LOSS = "loss"
    NEW_AXIS = "new axis"
    CUTS = "cuts"
    SPELT = "spelt"
    WHOLE = "whole"
    REGROUPS = "regroups"


class Primitive(Node):
    """One primitive.

    `dtypes` says which element types go in and come out, one word per tensor or index parameter in order, then `->`, then one
    word per result: `T:numeric, T -> T`, `bool, T, T -> T`, `T:any, I:integer -> T`, `T:real -> int64`, `T:any -> =dtype` (the
    dtype parameter; `T=dtype` falls back to T where the parameter is absent), `T...` for a list of tensors that all have T,
    `any... -> ...` for one where each has its own. A class name is one of lang.dtypes.CLASSES or `{float16, float32}`.
    `rule(ctx, *parameters in order)` gives a shape (a tuple of Dims) or an Out, or a list of them where `results` is "tuple";
    where `results` is "size" it gives a Dim.
    `signature` is the row in Rx instead of a rule (prelude). `needs` says which guarantee each size consumer wants:
    {"shape": "exact"}. `onnx` names the ONNX operators that it stands for. `mismatch` is the code of sizes that
    do not fit, where it has one of its own. `single` is what it gives along an axis of one element, where it combines the
    elements of one ("" for that one). `made_of` has the axes of the result that are an axis of one operand: (-1, "y", -1);
    `summed` the axes of the operands, from the end, that a product sums over: ("x", -1).
    `elementwise` marks x -> same shape, so that unknown ranks pass through.
    `refuses` is the parameter for whose elements a call may fail although its shapes and dtypes are right; where nobody uses
    its result, a call of one that refuses none does not run. `selects` is the one of whose elements the first result has some
    and no others. `counts` says what decides a size that only the data knows, where it is not all operands, and the parameter
    that it is seen in: how many elements are "true" (one mask has one count, whatever it selects from) or "distinct", or what
    they are when "summed", or a number of entries that is "rounded", of which so many are taken as there are. `places` has the
    parameter whose elements are places along an axis of another one, counted from 0.
    """

    name: str
    params: tuple[PrimitiveParam, ...]
    dtypes: str
    rule: Callable[..., Any] | None
    doc: str
    results: str = "tensor"
    signature: str | None = None
    elementwise: bool = False
    onnx: tuple[str, ...] = ()
    needs: Mapping[str, str] = {}
    mismatch: Code | None = None
    traits: frozenset[Trait] = frozenset()
    single: str | None = None
    made_of: tuple[tuple[int, str, int], ...] = ()
    summed: tuple[tuple[str, int], ...] = ()
    refuses: str = ""
    selects: str = ""
    counts: tuple[str, str] | None = None
    places: tuple[str, str, int] | None = None

    def is_tensor(self, name: str) -> bool:
        """Whether a parameter (`xs[1]` is one of `xs`) takes a tensor."""
        base = name.partition("[")[0]
        return any(p.name == base and p.kind in TENSORS for p in self.params)
