"""What a primitive asks of its call, as data: quantities of its operands, and requirements on them.

A quantity names a parameter of the row (`xs[2]` in a list of tensors) and may carry its size, from which a requirement makes
its condition. How it is said stands in wording.py, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..lang.dtypes import DType
from ..lang.node import Node

if TYPE_CHECKING:
    from .model import AnyDType, C, Ctx, Dim

# The places whose sizes conflict: a parameter and an axis of it, or None for the whole.
At = tuple[tuple[str, int | None], ...]


class Axis(Node):
    """An axis of a tensor or a shape, None for one that has no common number; `noun` is what it counts: "its channels"."""

    param: str
    axis: int | None
    size: Any = None
    noun: str = ""


class Entry(Node):
    """One of the sizes that a parameter takes; `noun` is what it is called: "entry", "size"."""

    param: str
    axis: int
    size: Any = None
    noun: str = "entry"


class Argument(Node):
    """What is given for a parameter: a size, or a tensor as a whole."""

    param: str
    size: Any = None


class Pad(Node):
    """The padding at one side of an axis (`noun` is "axis" or "spatial axis")."""

    axis: int
    after: bool
    size: Any
    noun: str
    param: str = "pads"


class Number(Node):
    """A number, and the parameter that it was given for if that is to be said."""

    size: Any
    param: str = ""


class Total(Node):
    """The sum of the sizes that a parameter takes."""

    param: str
    size: Any


class Written(Node):
    """A size of a signature in Rx, as it is written there."""

    text: str
    size: Any


class Times(Node):
    """A multiple of a quantity."""

    count: Number | Argument
    of: Axis

    @property
    def size(self) -> Any:
        return self.of.size * self.count.size


class Plus(Node):
    left: Quantity
    right: Quantity

    @property
    def size(self) -> Any:
        return self.left.size + self.right.size


Quantity = Axis | Entry | Argument | Pad | Number | Total | Written | Times | Plus


def parts(quantity: Quantity) -> Iterator[Axis | Entry | Argument | Pad | Number | Total | Written]:
    """The simple quantities that one is made of."""
    match quantity:
        case Times(count=count, of=of):
            yield from (count, of)
        case Plus(left=left, right=right):
            yield from parts(left)
            yield from parts(right)
        case _:
            yield quantity


class Requirement(Node):
    """What has to hold of a call. `quantities` are what it speaks of, in order; `at` is where it is to blame."""

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        own = (getattr(self, name) for name in self._fields)
        return tuple(q for q in own if isinstance(q, Quantity))

    @property
    def at(self) -> At:
        return tuple(place for q in self.quantities for place in _places(q))

    def cond(self, ctx: Ctx[Any, C]) -> C:
        """The condition on sizes that it is, where the quantities say all of it."""
        raise NotImplementedError(type(self).__name__)


def _places(quantity: Quantity) -> Iterator[tuple[str, int | None]]:
    match quantity:
        case Times(of=of):
            yield from _places(of)
        case Axis(param=param, axis=axis) | Entry(param=param, axis=axis) | Pad(axis=axis, param=param):
            yield param, axis
        case Argument(param=param):
            yield param, None
        case Plus():
            yield from (place for part in parts(quantity) for place in _places(part))


# Sizes


class Equal(Requirement):
    """Two sizes are equal; `label` is what both are called in the call itself."""

    left: Quantity
    right: Quantity
    label: str = ""

    def cond(self, ctx: Ctx[Any, C]) -> C:
        return ctx.eq(self.left.size, self.right.size)


class Is(Requirement):
    """A size is what another quantity says; `reason` is what that is."""

    left: Quantity
    right: Quantity
    reason: str = ""

    def cond(self, ctx: Ctx[Any, C]) -> C:
        return ctx.eq(self.left.size, self.right.size)


class Multiple(Requirement):
    left: Quantity
    of: Number | Argument
    reason: str = ""

    @property
    def at(self) -> At:
        return tuple(_places(self.left))

    def cond(self, ctx: Ctx[Any, C]) -> C:
        return ctx.eq(self.left.size % self.of.size, 0)


class AtLeast(Requirement):
    left: Quantity
    least: int
    reason: str = ""
    also: At = ()

    @property
    def at(self) -> At:
        return (*_places(self.left), *self.also)

    def cond(self, ctx: Ctx[Any, C]) -> C:
        return ctx.le(self.least, self.left.size)


class AtMost(Requirement):
    left: Quantity
    right: Quantity
    reason: str = ""

    def cond(self, ctx: Ctx[Any, C]) -> C:
        return ctx.le(self.left.size, self.right.size)


class NotZero(Requirement):
    left: Quantity

    def cond(self, ctx: Ctx[Any, C]) -> C:
        return ctx.ne(self.left.size, 0)


class Broadcast(Requirement):
    """Two sizes are equal, or one of them is 1."""

    left: Axis
    right: Axis

    def cond(self, ctx: Ctx[Any, C]) -> C:
        a, b = self.left.size, self.right.size
        return ctx.any_of(ctx.eq(a, b), ctx.eq(a, 1), ctx.eq(b, 1))


class BroadcastTo(Requirement):
    """A size is the other one or 1; `form` is how that is said."""

    left: Quantity
    right: Quantity
    form: str = "{0} to be 1 or equal to {1}"

    def cond(self, ctx: Ctx[Any, C]) -> C:
        return ctx.any_of(ctx.eq(self.left.size, self.right.size), ctx.eq(self.left.size, 1))


class SameElements(Requirement):
    """A shape has as many elements as the tensor."""

    blamed: At
    counts: tuple[Dim, Dim]

    @property
    def at(self) -> At:
        return self.blamed

    def cond(self, ctx: Ctx[Any, C]) -> C:
        return ctx.eq(*self.counts)


class ElementsDivide(Requirement):
    """The elements of a tensor divide evenly into the sizes beside the one that is solved."""

    blamed: At

    @property
    def at(self) -> At:
        return self.blamed


# Ranks, axes and attributes


class RankIs(Requirement):
    """`axes` says what they mean: "[batch, inputs]"."""

    left: Argument
    rank: int
    found: int
    axes: str = ""


class RankAtLeast(Requirement):
    left: Argument
    least: int
    found: int


class AxisInRange(Requirement):
    """The attribute `name` is an axis of a tensor of that rank."""

    name: str
    axis: int
    rank: int


class AttributeAtLeast(Requirement):
    """An attribute that stands as a number in the program."""

    name: str
    least: int
    found: int


class Choice(Requirement):
    """The attribute `name` is one of some words."""

    name: str
    value: str
    choices: tuple[str, ...]


class Other(Requirement):
    """What only one rule asks: `phrase` completes "needs ...", `but` what follows "but"; `{0}` is the first of `of`."""

    phrase: str
    of: tuple[Quantity, ...] = ()
    but: str = ""
    blamed: At | None = None

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return self.of

    @property
    def at(self) -> At:
        return super().at if self.blamed is None else self.blamed


class OfRank(Other):
    """The same of the rank of an operand, which has to be `rank` if that is one number."""

    rank: int | None = None


# Element types


class DTypeIn(Requirement):
    """A dtype is in one of the classes: a tensor's, for a `reason` if it is not always asked, or one that is an attribute."""

    left: Argument
    dtype: AnyDType | None
    classes: tuple[str, ...]
    reason: str = ""
    attribute: bool = False


class NotComplex(Requirement):
    """What is cast to a dtype that is not complex is not complex; `target` is that dtype, where it is known."""

    left: Argument
    dtype: AnyDType | None
    target: AnyDType | None
    is_open: bool
    classes: tuple[str, ...] = ("real", "boolean", "string")

    @property
    def at(self) -> At:
        return (*super().at, ("dtype", None))


class OneDType(Requirement):
    """All operands of one variable have the same dtype; `left` is the one that differs."""

    left: Argument


class NumbersFit(Requirement):
    """Numbers that are written as operands fit the others' dtype."""

    dtype: DType
    number: str


DTypeRequirement = DTypeIn | NotComplex | OneDType | NumbersFit
