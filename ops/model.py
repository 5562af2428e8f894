"""A primitive: one row, with one interface whether its rule is written in Rx or in Python.

A shape rule is written once and runs twice: at check time over symbolic sizes, and at run time over plain integers,
where a precondition that was not proved is checked on the actual shapes. So a rule uses only `+ - * // %` on sizes and
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
else:  # only mypy needs the defaults
    from typing import TypeVar as _TypeVar

    def TypeVar(name: str, **_: object) -> Any:
        return _TypeVar(name)


class Truth(Node):
    """An undecided element of bool: the condition under which it is true, and the one under which it is false."""

    yes: Cond
    no: Cond


# One element of a tensor, as far as it is known (tracked.py defines it for each dtype); only rules look into it.
Element = Any
# The elements of a tensor that is small enough, in row-major order; None if none is known.
Elements = tuple[Element, ...] | None

# The types of sizes and conditions in one reading of a rule: ints and bools, or symbolic ones.
D = TypeVar("D", bound=Dim, default=Dim)
C = TypeVar("C", bound=Cond, default=Cond)
T = TypeVar("T", bound=Dim, default=Dim, covariant=True)


class Wildcard:
    """The literal -1 of a reshape, which stands for the remaining size. It is not a size, so that a computed size of -1 is
    never taken for it."""

    def __repr__(self) -> str:
        return "-1"


WILDCARD = Wildcard()

# The greatest number of elements of a tensor whose elements are tracked (shapes as data).
TRACKED = 256


class Segment(Node):
    """A part of a shape of unknown length; `symbol` distinguishes it from others (`*batch`, or an unknown shape)."""

    symbol: Symbol


class ElementRange(Node):
    """Integers from `least` to `most`. In a tensor that is not empty, both ends occur if the range is `met`, and all integers
    between them if it is `dense`. If the elements change by a constant along each axis, `steps` are those constants and
    `first` is the first element. `counts` are further sizes, beside those of the tensor; if one of them is 0, there are no
    elements. In a `narrow` dtype, elements beyond its range wrap around; then one end occurs if the range is `met`. A
    `column` is an axis and a position along it: the range is that of the elements there.
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
    """The facts about a tensor: its dimensions, its dtype, and its elements if they are tracked (shapes as data).

    `shape` is a tuple of Dims; a Segment in it stands for any number of further dimensions. `dtype` is None for a literal
    number, which takes that of the other operands. `data` has the elements in row-major order, as `tracked.py` defines them,
    if the shape is all numbers and some elements are known. At run time `data` holds the integers themselves. If there are
    `ranges`, each element is an integer in one of them.
    """

    shape: tuple[T | Segment, ...]
    dtype: AnyDType | None
    data: Elements = None
    ranges: tuple[ElementRange, ...] = ()

    @property
    def sizes(self) -> Any:
        """The elements as sizes, if all are: the size itself for rank 0, else a tuple; otherwise None."""
        if self.data is None or len(self.shape) > 1 or any(e is None or isinstance(e, Node) for e in self.data):
            return None
        return self.data if self.shape else self.data[0]


class Out(Node):
    """A rule's description of one result beyond its shape: its elements, the ranges of its integers, or its dtype if the
    column leaves that to the rule."""

    shape: tuple[Any, ...]
    data: Any = None
    ranges: tuple[ElementRange, ...] = ()
    dtype: AnyDType | None = None


class RankUnknown(Exception):
    """Raised by `Ctx.dims` and `Ctx.rank`: the rule cannot continue; the checker makes the result's shape unknown and leaves
    the preconditions to run time."""


class ResultOpen(RankUnknown):
    """All of the rule's requirements are decided, but the result's shape depends on unknown sizes, perhaps on a condition
    that `decides` its rank."""

    def __init__(self, decides: object = None) -> None:
        super().__init__()
        self.decides = decides


class Ctx(Protocol[D, C]):
    """The questions that a rule may ask, and the requirements that it may make."""

    def dims(self, x: TensorInfo[D]) -> tuple[D, ...]:
        """The dimensions of x; raises RankUnknown if not all are known."""

    def number(self, size: D) -> D:
        """The size as a number, if the facts determine it: for the number of results."""

    def rank(self, x: TensorInfo[D]) -> int:
        """len(dims(x))"""

    def require(self, asked: Requirement, cond: C | None = None) -> None:
        """Require a condition, or the one that the requirement's quantities make."""

    def dtype_in(self, dtype: AnyDType | None, *classes: str) -> bool | None:
        """Whether a dtype is in one of the classes; None if unknown. A literal number, which has no dtype, is real."""

    def require_dtype(self, asked: DTypeIn | NotComplex) -> None:
        """Require a dtype to be in one of the classes."""

    def require_either(self, known: bool | None, asked: DTypeRequirement) -> None:
        """Require a condition on several dtypes, made of answers of `dtype_in`; None if unknown."""

    def fail(self, asked: Requirement) -> NoReturn:
        """Report that the call can never be right."""

    def leave_open(self, asked: Spoken) -> None:
        """Leave a requirement that needs the unknown rank of an operand to the run."""

    def passed(self, cond: C) -> None:
        """Assume a condition that the kernel has checked on the elements: it holds after the call."""

    def ranges(self, told: Callable[[], tuple[ElementRange, ...]]) -> tuple[ElementRange, ...]:
        """The ranges of elements that `told` computes; none if they are not wanted or cost too much."""

    def elements_fit(self, asked: Requirement, empty: list[C], surely: C, needed: C) -> None:
        """Require elements of the parameter `refuses` to be right: they are if `surely` holds, and cannot be if `needed` does
        not; there are none if a condition in `empty` holds. Sizes decide if both conditions are the same, else the kernel."""

    def needs_literal(self, asked: Requirement) -> NoReturn:
        """Require a literal number in the program, because the form of the result depends on it."""

    def decide(self, cond: C) -> bool | None:
        """Whether the known facts imply the condition or its opposite; None if neither. Never a requirement."""

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
        """The common size of sizes that are 1 or one other number, as required before."""

    def factor(self, product: D, other: D) -> D:
        """A size whose product with `other` is `product`."""

    def solution(self, left: tuple[D, ...], rest: tuple[D, ...]) -> D | None:
        """The size that a -1 stands for beside `rest`, in a tensor of the sizes `left`, if one formula holds for all values
        of the sizes: the call then has it instead of the -1. None if only numbers determine it."""

    def rest_on(self, param: str, value: tuple[int, ...]) -> None:
        """Record the value of a parameter on which the result's shape rests: a call that is left to the run gets this value,
        and the run checks it."""

    def fresh(self, name: str, at_least: D | int | None = 0, at_most: D | None = None) -> D:
        """A new size that only the data determines (`@nonzero`), with its known bounds."""

    def elements(self, segment: Segment) -> D:
        """The product of the unknown dimensions of a segment."""

    def held_in(self, param: str) -> D:
        """The number of values in the argument of a parameter, if only the data determines it: one size for one value."""

    def element(self, at_least: D | int, at_most: D) -> D | None:
        """An integer in the result of which only the range is known; None if elements are not tracked."""

    def is_unknown(self, size: D) -> bool:
        """Whether a size is an element about which nothing is known."""

    def fits(self, value: D, dtype: AnyDType | None) -> bool:
        """Whether an element of this size surely fits the dtype exactly; otherwise it is not tracked."""

    def one_of(self, cases: tuple[tuple[Truth, D], ...], natural: bool, dtype: AnyDType | None) -> D | None:
        """A size that equals each value under its condition, and is surely not negative if it is `natural`; if no condition
        holds, the conversion to the dtype determines it."""

    def root(self, size: D) -> D | None:
        """The square root of a size, if it is a size."""


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
    An optional parameter has `required` False; its default is None unless another one is given.
    """

    name: str
    kind: str
    required: bool = True
    default: Any = None


class Trait(Enum):
    """The kind of operation, for messages and fixes about its calls.

    BROADCASTS: element by element over operands that are broadcast. MOVES_AXES: the same axes in another order. RESHAPES: the
    call writes the result's axes. UNIT_AXES: axes of one element are added or removed. WINDOWS: windows or a scale change the
    spatial axes. JOINS: operands one after another. LOSS: the distance of a prediction from its target. NEW_AXIS: the result
    has one axis more. CUTS: some entries of an axis, in order. SPELT: strings are read as numbers; a string that spells none
    is refused. WHOLE: all selectable elements occur, unless the result is empty. REGROUPS: the same elements in order, with
    other axes.
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

    `dtypes` gives the element types of operands and results, one word per tensor or index parameter in order, then `->`, then
    one word per result: `T:numeric, T -> T`, `bool, T, T -> T`, `T:any, I:integer -> T`, `T:real -> int64`, `T:any -> =dtype`
    (the dtype parameter; `T=dtype` falls back to T if the parameter is absent), `T...` for a list of tensors that all have T,
    `any... -> ...` for one where each has its own. A class name is one of lang.dtypes.CLASSES or `{float16, float32}`.
    `rule(ctx, *parameters in order)` returns a shape (a tuple of Dims) or an Out, or a list of them if `results` is "tuple",
    or a Dim if it is "size". `signature` is the row in Rx instead of a rule (prelude).
    `needs` states the guarantee that each consumer of sizes wants: {"shape": "exact"}. `onnx` names the corresponding ONNX
    operators. `mismatch` is the row's own code for sizes that do not fit. `single` is the result along an axis of one
    element, for a row that combines elements ("" for the element itself). `made_of` has the axes of the result that are an
    axis of one operand: (-1, "y", -1); `summed` the axes of the operands, from the end, that a product sums over: ("x", -1).
    `elementwise` marks rows that keep the shape of x, so that unknown ranks pass through.
    `refuses` is the parameter whose elements may make a call fail although its shapes and dtypes are right; without it, a
    call whose result is unused does not run. `selects` is the parameter from whose elements the first result is selected.
    `counts` states what decides a size that only the data knows, if not all operands do, and in which parameter: the number
    of elements that are "true" (one mask has one count, whatever it selects from) or "distinct", their sum ("summed"), or a
    number of entries ("rounded"), of which as many are taken as there are. `places` has the parameter whose elements are
    places along an axis of another one, counted from 0.
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
