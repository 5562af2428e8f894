"""The requirements of a primitive on its call, as data: quantities of its operands, and relations between them.

A quantity names a parameter of the row (`xs[2]` in a list of tensors) and may carry its size, from which a requirement makes
its condition. Only wording.py puts requirements into words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..lang.node import Node
from ..lang.stored import MAX_RANK
from .dims import AnyDType, Dim

# The places whose sizes conflict: a parameter and an axis of it, or None for the whole parameter.
At = tuple[tuple[str, int | None], ...]


class Axis(Node):
    """An axis of a tensor or a shape, None if it has no common number; `noun` says what it counts: "its channels"."""

    param: str
    axis: int | None
    size: Any = None
    noun: str = ""


class SizeEntry(Node):
    """One of the sizes that a parameter takes; `noun` is its name in messages: "entry", "size"."""

    param: str
    axis: int
    size: Any = None
    noun: str = "entry"


class Argument(Node):
    """The argument of a parameter: a size, or a tensor as a whole."""

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
    """A number, and the parameter that it was given for if messages name it."""

    size: Any
    param: str = ""


class Total(Node):
    """The sum of the sizes that a parameter takes."""

    param: str
    size: Any


class WrittenSize(Node):
    """A size of a signature in Rx, as written there."""

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


Quantity = Axis | SizeEntry | Argument | Pad | Number | Total | WrittenSize | Times | Plus


def parts(quantity: Quantity) -> Iterator[Axis | SizeEntry | Argument | Pad | Number | Total | WrittenSize]:
    """The simple quantities that a quantity consists of."""
    match quantity:
        case Times(count=count, of=of):
            yield from (count, of)
        case Plus(left=left, right=right):
            yield from parts(left)
            yield from parts(right)
        case _:
            yield quantity


def _places(quantity: Quantity) -> Iterator[tuple[str, int | None]]:
    match quantity:
        case Times(of=of):
            yield from _places(of)
        case Axis(param=param, axis=axis) | SizeEntry(param=param, axis=axis) | Pad(axis=axis, param=param):
            yield param, axis
        case Argument(param=param):
            yield param, None
        case Plus():
            yield from (place for part in parts(quantity) for place in _places(part))


# Sizes


class Equal(Node):
    """Two sizes are equal; `label` is the name of both in the call itself."""

    left: Quantity
    right: Quantity
    label: str = ""


class Is(Node):
    """A size equals another quantity; `reason` explains that quantity."""

    left: Quantity
    right: Quantity
    reason: str = ""


class Multiple(Node):
    left: Quantity
    of: Number | Argument
    reason: str = ""


class AtLeast(Node):
    left: Quantity
    least: int
    reason: str = ""
    also: At = ()


class AtMost(Node):
    left: Quantity
    right: Quantity
    reason: str = ""


class NotZero(Node):
    left: Quantity


class Broadcast(Node):
    """Two sizes are equal, or one of them is 1."""

    left: Axis | SizeEntry
    right: Axis | SizeEntry


class BroadcastTo(Node):
    """A size equals the other one or 1; `form` selects the wording."""

    left: Quantity
    right: Quantity
    form: str = "{0} to be 1 or equal to {1}"


class SameElements(Node):
    """A shape has as many elements as the tensor."""

    blamed: At
    counts: tuple[Dim, Dim]


class ElementsDivide(Node):
    """The elements of a tensor divide evenly into the sizes beside the one that is solved for."""

    blamed: At


# Ranks, axes and attributes


class RankIs(Node):
    """A tensor has a rank; `axes` names its axes: "[batch, inputs]"."""

    left: Argument
    rank: int
    found: int
    axes: str = ""


class RankAtLeast(Node):
    left: Argument
    least: int
    found: int


class AxisInRange(Node):
    """The attribute `name` is an axis of a tensor of that rank."""

    name: str
    axis: int
    rank: int


class AttributeAtLeast(Node):
    """An attribute, a number in the program, has a least value."""

    name: str
    least: int
    found: int


class OneOfWords(Node):
    """The attribute `name` is one of some words."""

    name: str
    value: str
    choices: tuple[str, ...]


class Other(Node):
    """A requirement of one rule: `phrase` completes "needs ...", `but` follows "but"; `{0}` is the first of `of`."""

    phrase: str
    of: tuple[Quantity, ...] = ()
    but: str = ""
    blamed: At | None = None


class InRange(Other):
    """Elements are indices into an axis; the sizes in the call are not concerned."""


class Intricate(Other):
    """Shapes fit, but their sizes are too large to reason about."""


class Narrower(Other):
    """A condition that the operation does not need, but the shape of its result rests on."""


def in_range_for(*of: Quantity, but: str = "") -> InRange:
    """The requirement that the elements of the first of `of` are indices into the axis that follows."""
    return InRange("{0} to be in range for {1}", of, but)


def of_some_rank(rank: int) -> Other | None:
    """The requirement that a result's rank is at most MAX_RANK; None if `rank` is."""
    most, but = f"its result to have at most {MAX_RANK} axes", f"it would have {rank}"
    return Other(most, but=but) if rank > MAX_RANK else None


class Reordered(Node):
    """A reshape that is meant to reorder axes. `split` has the axes that its operand is first split into, each an axis of the
    target or the text of a size (None: no split), `order` the permutation; `joins`: some axes are joined then."""

    split: tuple[int | str, ...] | None
    order: tuple[int, ...]
    joins: bool


class OfRank(Node):
    """A requirement of one rule on the rank of an operand, which has to be `rank` if that is one number."""

    phrase: str
    of: tuple[Quantity, ...] = ()
    but: str = ""
    blamed: At | None = None
    rank: int | None = None


# Element types


class DTypeIn(Node):
    """A dtype is in one of the classes: a tensor's, with a `reason` if the requirement is conditional, or an attribute."""

    left: Argument
    dtype: AnyDType | None
    classes: tuple[str, ...]
    reason: str = ""
    attribute: bool = False


class NotComplex(Node):
    """A value cast to a dtype that is not complex is not complex; `target` is that dtype, if known."""

    left: Argument
    dtype: AnyDType | None
    target: AnyDType | None
    is_open: bool
    classes: tuple[str, ...] = ("real", "boolean", "string")


class OneDType(Node):
    """All operands of one variable have the same dtype; `left` is the one that differs."""

    left: Argument


class NumbersFit(Node):
    """Literal numbers among the operands fit the dtype of the others."""

    dtype: AnyDType
    number: str


DTypeRequirement = DTypeIn | NotComplex | OneDType | NumbersFit
Spoken = Other | OfRank
# The requirements on a call.
Requirement = (
    Equal | Is | Multiple | AtLeast | AtMost | NotZero | Broadcast | BroadcastTo | SameElements | ElementsDivide
    | RankIs | RankAtLeast | AxisInRange | AttributeAtLeast | OneOfWords | Spoken | DTypeRequirement
)  # fmt: skip


def quantities(asked: Requirement) -> tuple[Quantity, ...]:
    """The quantities in a requirement, in order."""
    own = asked.of if isinstance(asked, Spoken) else (getattr(asked, name) for name in asked._fields)
    return tuple(q for q in own if isinstance(q, Quantity))


def entry_at(asked: Requirement, param: str, axis: int) -> SizeEntry | None:
    """The entry of a parameter in a requirement, or None."""
    found = (part for quantity in quantities(asked) for part in parts(quantity) if isinstance(part, SizeEntry))
    return next((entry for entry in found if (entry.param, entry.axis) == (param, axis)), None)


def places(asked: Requirement) -> At:
    """The places to blame for a violation."""
    match asked:
        case SameElements(blamed=tuple(blamed)) | ElementsDivide(blamed=tuple(blamed)):
            return blamed
        case Other(blamed=tuple(blamed)) | OfRank(blamed=tuple(blamed)):
            return blamed
        case Multiple(left=left):
            return tuple(_places(left))
        case AtLeast(also=also):
            pass
        case _:
            also = (("dtype", None),) if isinstance(asked, NotComplex) else ()
    return (*(place for q in quantities(asked) for place in _places(q)), *also)
