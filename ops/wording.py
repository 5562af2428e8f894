"""A requirement of a primitive to words: the condition and the actual sizes, for symbols and for integers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from ..lang.diagnostics import listed
from ..lang.dtypes import DType
from . import requirements as r
from .dtypes_column import Word

# Longer sizes follow the sentence.
_BEHIND = 20
_COUNTS = {"its channels": ("channel", "channels"), "the classes": ("class", "classes")}


class Operands(Protocol):
    """The arguments of a call in the user's words: names with their quotes, sizes as text; None if unknown."""

    def argument(self, param: str) -> str: ...
    def is_tensor(self, name: str) -> bool: ...
    def rank(self, param: str) -> int | None: ...
    def size(self, param: str, axis: int) -> str | None: ...
    def scalar(self, param: str) -> str | None: ...
    def text(self, size: Any) -> str | None: ...
    def elements(self, param: str) -> str | None: ...
    def dtype(self, param: str) -> str | None: ...
    def dtypes(self) -> Sequence[str | None]: ...

    @property
    def is_indexing(self) -> bool:
        """Whether the call is written without its name, like `x[2]`."""


class Unnamed:
    """Operands of which only the parameters' names are known."""

    is_indexing = False

    def argument(self, param: str) -> str:
        return f"`{param}`"

    def is_tensor(self, name: str) -> bool:
        return False

    def _unknown(self, *_: object) -> None:
        return None

    rank = size = scalar = text = elements = dtype = _unknown

    def dtypes(self) -> Sequence[str | None]:
        return ()


def sentence(asked: r.Requirement, operands: Operands) -> tuple[str, str]:
    """The text that completes "@name needs ..." and the text after "but": ("axis 1 of `x` to be at least 3", "it is 2")."""
    behind = _sizes_behind(asked, operands)

    def words(quantity: r.Quantity) -> str:
        return _words(quantity, operands, behind)

    needs, but = _needs(asked, words, operands)
    return needs, but or _found(asked, operands, bool(behind))


def plain(asked: r.Requirement) -> str:
    """The whole sentence, with the names of the parameters."""
    return ", but ".join(filter(None, sentence(asked, Unnamed())))


def _words(quantity: r.Quantity, operands: Operands, behind: Mapping[str, str]) -> str:
    def named(param: str, noun: str = "") -> str:
        inside = _counted(behind[param], noun) if param in behind else noun
        return f"{operands.argument(param)} ({inside})" if inside else operands.argument(param)

    match quantity:
        case r.Axis(param=param, axis=None, noun=noun):
            return f"an axis of {named(param, noun)}"
        case r.Axis(param=param, axis=int(axis), noun=noun):
            rank = operands.rank(param) if axis < 0 else None
            return f"axis {axis + rank if rank is not None and axis >= -rank else axis} of {named(param, noun)}"
        case r.SizeEntry(param=param, axis=axis, noun=noun):
            return f"{noun} {axis} of {named(param)}"
        case r.Argument(param=param):
            return named(param)
        case r.Pad(axis=axis, after=after, noun=noun):
            return f"the pad {'after' if after else 'before'} {noun} {axis}"
        case r.Number(size=size, param=param):
            return f"{size} ({named(param)})" if param else operands.text(size) or str(size)
        case r.Total(param=param):
            return f"the sum of {named(param)}"
        case r.WrittenSize(text=text):
            return text
        case r.Times(count=count, of=of):
            return f"{_words(count, operands, behind)} times {_words(of, operands, behind)}"
        case r.Plus(left=left, right=right):
            return f"{_words(left, operands, behind)} plus {_words(right, operands, behind)}"
    raise LookupError(type(quantity).__name__)


def _counted(size: str, noun: str) -> str:
    """`8`, `8 channels`, `1 channel`, `8, the result's channels`."""
    if noun in _COUNTS:
        return f"{size} {_COUNTS[noun][size != '1']}"
    return f"{size}, {noun}" if noun else size


def _needs(asked: r.Requirement, words: Callable[[r.Quantity], str], operands: Operands) -> tuple[str, str]:
    """The need, and the finding if the requirement states it itself."""
    match asked:
        case r.Equal(left=r.Axis() as a, right=r.Axis() as b, label="") if a.axis == b.axis and _are_items(a, b):
            return f"{words(a)} and {words(r.Argument(b.param))} to be equal", ""
        case r.Equal(left=left, right=right, label=label):
            both = f", both `{label}`," if label else ""
            return f"{words(left)} and {words(right)}{both} to be equal", ""
        case r.Is(left=left, right=right, reason=reason):
            return f"{words(left)} to be {words(right)}{_because(reason)}", ""
        case r.Multiple(left=left, of=of, reason=reason):
            return f"{words(left)} to be a multiple of {words(of)}{_because(reason)}", ""
        case r.AtLeast(left=left, least=least, reason=reason):
            return f"{words(left)} to be at least {least}{_because(reason)}", ""
        case r.AtMost(left=left, right=right, reason=reason):
            return f"{words(left)} to be at most {words(right)}{_because(reason)}", ""
        case r.NotZero(left=left):
            return f"{words(left)} not to be 0", ""
        case r.Broadcast(left=left, right=right):
            return f"{words(left)} and {words(right)} to be equal, or one of them 1", ""
        case r.BroadcastTo(left=left, right=right, form=form):
            return form.format(words(left), words(right)), ""
        case r.SameElements():
            return f"as many elements in {words(r.Argument('shape'))} as {words(r.Argument('x'))} has", ""
        case r.ElementsDivide():
            shape = words(r.Argument("shape"))
            return (
                f"the elements of {words(r.Argument('x'))} to divide evenly into the sizes beside the -1 in {shape}",
                "",
            )
        case r.Other(phrase=phrase, of=of, but=but) | r.OfRank(phrase=phrase, of=of, but=but):
            return phrase.format(*map(words, of)), but.format(*map(words, of))
    return _of_attributes(asked, words, operands)


def _of_attributes(asked: r.Requirement, words: Callable[[r.Quantity], str], operands: Operands) -> tuple[str, str]:
    """The same for ranks, attributes and element types."""
    match asked:
        case r.RankIs(left=left, rank=rank, found=found, axes=axes):
            return f"{words(left)} to have rank {rank}{_because(axes)}", f"its rank is {found}"
        case r.RankAtLeast(left=left, least=least, found=found):
            return f"{words(left)} to have rank {least} or more", f"its rank is {found}" if found else "it is a scalar"
        case r.AxisInRange(name="axis", axis=axis, rank=rank) if axis >= 0 and operands.is_indexing:
            return f"{operands.argument('x')} to have an axis {axis}", f"its rank is {rank}"
        case r.AxisInRange(name=name, axis=axis, rank=rank):
            param = ranked(operands, rank)
            place = f"an axis of {words(r.Argument(param))}, " if param else ""
            return f"{name} to be {place}between {-rank} and {rank - 1}", f"it is {axis}"
        case r.AttributeAtLeast(name=name, least=least, found=found):
            return f"{name} to be at least {least}", f"it is {found}"
        case r.OneOfWords(name=name, value=value, choices=choices):
            *others, last = (f'"{c}"' for c in choices)
            return f"{name} to be {', '.join(others)} or {last}", f'it is "{value}"'
        case r.DTypeIn(left=left, dtype=dtype, classes=classes, attribute=True):
            return f"{words(left)} to be {wanted(classes)}", f"it is {dtype}" if isinstance(dtype, DType) else ""
        case r.DTypeIn(left=left, classes=classes, reason=reason):
            return f"{words(left)} to {'be of' if reason else 'have'} {wanted(classes)}{' ' * bool(reason)}{reason}", ""
        case r.NotComplex(left=left, target=target, is_open=is_open):
            other = str(target) if isinstance(target, DType) else "the dtype that is asked for"
            return (
                f"{words(left)} not to be complex{f' where {other} is not' if is_open else f', as {other} is not'}",
                "",
            )
        case r.OneDType():
            return "its operands to have one dtype", ""
        case r.NumbersFit(dtype=dtype, number=number):
            holds = "the others' dtype" if dtype.name.startswith("?") else dtype.name
            return f"numbers that {holds} can hold, not {number}", ""
    raise LookupError(type(asked).__name__)


def ranked(operands: Operands, rank: int) -> str:
    """The operand whose axes are meant: the first, or the first of a list, if it has that rank."""
    return next((param for param in ("x", "xs[0]") if operands.rank(param) == rank), "")


def wanted(classes: Iterable[str]) -> str:
    return Word(classes=tuple(classes)).wanted


def _because(reason: str) -> str:
    return f", {reason}" if reason else ""


def _are_items(a: r.Axis, b: r.Axis) -> bool:
    """Whether both are tensors of one list."""
    return "[" in a.param and a.param.partition("[")[0] == b.param.partition("[")[0]


def size_at(asked: r.Requirement, operands: Operands, param: str, axis: int) -> str | None:
    """The value at a place in a requirement: the size of an axis, or the element that is an entry."""
    entry = r.entry_at(asked, param, axis) if operands.is_tensor(param) else None
    return operands.size(param, axis) if entry is None else operands.text(entry.size)


def _found(asked: r.Requirement, operands: Operands, said: bool) -> str:
    """The finding: `they are 3 and 4`, unless it already follows the operands."""
    match asked:
        case r.SameElements() | r.ElementsDivide():
            counts = [_elements_of_target(asked, operands), operands.elements("x")]
            return f"they are {counts[0]} and {counts[1]}" if all(counts) else ""
        case r.OneDType():
            dtypes = operands.dtypes()
            known = [d for d in dtypes if d is not None]
            return f"they have {listed(known)}" if len(set(known)) > 1 and len(known) == len(dtypes) else ""
        case r.DTypeIn(left=left) | r.NotComplex(left=left):
            dtype = operands.dtype(left.param)
            return f"it has {dtype}" if dtype is not None else ""
    sizes = [size_at(asked, operands, param, axis) for param, axis in r.places(asked) if axis is not None]
    known = [size for size in sizes if size is not None]
    repeated = isinstance(asked, r.Spoken) and len({param for param, _ in r.places(asked)}) < len(sizes)
    if said or repeated or not known or len(known) != len(sizes):
        return ""
    return f"{'it is' if len(known) == 1 else 'they are'} {listed(known)}"


def _elements_of_target(asked: r.SameElements | r.ElementsDivide, operands: Operands) -> str | None:
    """The number of elements of the target shape, which may be a tensor."""
    if not operands.is_tensor("shape"):
        return operands.elements("shape")
    return operands.text(asked.counts[1]) if isinstance(asked, r.SameElements) else None


def _sizes_behind(asked: r.Requirement, operands: Operands) -> dict[str, str]:
    """The sizes that can follow their parameters directly: all short, each parameter named once, and more than the one size
    that the sentence is about."""
    named = [part for quantity in r.quantities(asked) for part in r.parts(quantity)]
    mentioned = [part.param for part in named if isinstance(part, r.Axis | r.SizeEntry | r.Argument | r.Total)]
    scalars = {param: operands.scalar(param) for param in mentioned}
    scalars |= {part.param: operands.text(part.size) for part in named if isinstance(part, r.Total)}
    found: list[tuple[str, str | None]] = [(param, size) for param, size in scalars.items() if size is not None]
    found += [(param, size_at(asked, operands, param, axis)) for param, axis in r.places(asked) if axis is not None]
    sizes = {param: size for param, size in found if size is not None and len(size) <= _BEHIND}
    once = all(mentioned.count(param) == 1 for param in sizes)
    several = len(sizes) > 1 or not _is_about_place(asked)
    return sizes if once and several and len(sizes) == len(found) else {}


def _is_about_place(asked: r.Requirement) -> bool:
    """Whether a requirement is about one axis or entry."""
    subject = r.quantities(asked)[0] if r.quantities(asked) else None
    if isinstance(asked, r.Spoken) and not asked.phrase.startswith("{0}"):
        return False
    return (
        isinstance(subject, r.Axis)
        and subject.axis is not None
        or isinstance(subject, r.SizeEntry)
        and subject.noun == "entry"
    )
