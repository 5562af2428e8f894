"""Lay out the arguments or the result of a call as a flat list of tensors with their conditions, looking into lists, unions
and classes with fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, product
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..interp.arguments import shown
from ..interp.dtypes import numpy_dtype
from ..interp.guards import describe
from ..interp.shape_error import ShapeError
from ..lang import codes, core
from ..lang.diagnostics import error
from ..lang.dtypes import CLASSES, DTYPES, members
from . import notation
from .declared import AnnotationChecks
from .libraries import NoArray, Weak, integers, name_of, outside, read, size_of
from .notation import UnreadAnnotation
from .reading import Each, Fields, Item, Maybe, OneOf, Plain, Read, Tensor, TupleParts, Whole

# See written.py.
__tracebackhide__ = True

MOST = 256
"""The most ways to read the unions of a call that are tried."""


class ArgumentLeaf(NamedTuple):
    """A tensor, or an integer that is a `size`: its name for users, its parameter, its annotation, and a stand-in for its
    value: an array of its shape and dtype without data, or the value itself if it has no shape."""

    called: core.Called
    param: str
    said: Tensor | Whole
    value: Any
    shape: tuple[int, ...] | None = None
    dtype: Any = None
    size: str = ""

    @property
    def form(self) -> tuple[str, ...]:
        """The conditions on its axes."""
        if not isinstance(self.said, Tensor):
            return (self.size,)
        return notation.shape(self.said.dims, self.shape) if not self.said.rx else (self.said.rx,)

    @property
    def asked(self) -> tuple[object, ...]:
        """A key that is equal for leaves that need only one check; the size of a `?` axis does not count."""
        words, sizes = self.form, self.shape
        if not isinstance(self.said, Tensor):
            return words
        at = next((i for i, word in enumerate(words) if word == "..."), len(words))
        if sizes is not None and (len(sizes) == len(words) or at < len(words) <= len(sizes) + 1):
            ends = (*sizes[:at], *sizes[len(sizes) - (len(words) - at - 1) :]) if at < len(words) else sizes
            sizes = tuple(-1 if w == "?" else s for w, s in zip(words[:at] + words[at + 1 :], ends, strict=True))
        return self.param == "return", words, self.said.dtype, sizes, self.dtype, type(self.value)

    def may_fit(self) -> bool:
        """Whether it can fit on its own, whatever its names stand for."""
        if not isinstance(self.said, Tensor):
            return True
        if self.shape is None:
            return False
        names = _dtypes(self.said.dtype)
        if names and outside(self.dtype, names, frozenset()):
            return False
        words = notation.shape(self.said.dims, self.shape)
        at = next((i for i, w in enumerate(words) if w.startswith(("*", "..."))), None)
        if self.said.rx:
            return True
        if len(self.shape) != len(words) if at is None else len(self.shape) < len(words) - 1:
            return False
        sizes = [self.shape[i if at is None or i < at else i - len(words)] for i in range(len(words)) if i != at]
        return all(
            not w.isdigit() or int(w) == s for w, s in zip([w for w in words if w[0] not in "*."], sizes, strict=True)
        )


def _dtypes(text: str) -> tuple[str, ...]:
    """The dtypes that an annotation accepts; empty if it accepts any."""
    if text.startswith("{"):
        return tuple(text[1:-1].split(", "))
    return tuple(d.name for d in members(text)) if text in CLASSES else (text,) if text in DTYPES else ()


class UnionLeaf(NamedTuple):
    """A value that fits several types of a union: its tensors, for each of the types."""

    options: tuple[tuple[ArgumentLeaf | UnionLeaf, ...], ...]

    @property
    def asked(self) -> object:
        return tuple(tuple(leaf.asked for leaf in option) for option in self.options)


Found = Sequence[ArgumentLeaf | UnionLeaf]


def ways(found: Found) -> Iterator[list[ArgumentLeaf]]:
    """The tensors for each way to read the unions; equal leaves are read alike."""
    choices = list({leaf.asked: leaf for leaf in found if isinstance(leaf, UnionLeaf)})
    options = [next(c.options for c in found if isinstance(c, UnionLeaf) and c.asked == asked) for asked in choices]
    for taken in product(*(range(len(o)) for o in options)):
        way = dict(zip(choices, taken, strict=True))
        parts = [leaf.options[way[leaf.asked]] if isinstance(leaf, UnionLeaf) else (leaf,) for leaf in found]
        flat = [leaf for part in parts for leaf in part]
        if any(isinstance(leaf, UnionLeaf) for leaf in flat):
            yield from ways(flat)
        else:
            yield [leaf for leaf in flat if isinstance(leaf, ArgumentLeaf)]


class Layout:
    """The leaves in the arguments of a call, or in its result; `names` are available to expressions in braces."""

    def __init__(self, asked: AnnotationChecks, names: Mapping[str, Any]) -> None:
        self.asked, self.names = asked, names
        self.found: list[ArgumentLeaf | UnionLeaf] = []
        self._met: set[tuple[int, int]] = set()

    def lay(self, item: Item | Plain | None, value: Any, called: core.Called, param: str, size: str = "") -> None:
        """Add the leaves of a value; raises ShapeError if its kind differs from its annotation."""
        match item:
            case Tensor():
                self._tensor(item, value, called, param)
            case Whole() if size in self.asked.sizes:
                self._size(value, called, param, size)
            case Maybe(inner=inner) if value is not None:
                self.lay(inner, value, called, param, size)
            case TupleParts(items=items):
                self._kind(value, (tuple, list), called, param)
                if len(value) != len(items):
                    self.refuse(called, param, f"a tuple of {len(items)}", f"it has {len(value)}")
                self._all(items, value, called, param)
            case Each(inner=inner, kind=kind):
                self._kind(value, (kind,), called, param)
                if isinstance(value, Mapping):
                    for key, one in value.items():
                        self.lay(inner, one, _inside(called, f"[{key!r}]"), param)
                else:
                    self._all([inner] * len(value), value, called, param)
            case Fields():
                self._fields(item, value, called, param)
            case OneOf():
                self._one_of(item, value, called, param)

    def _all(self, items: Sequence[Read], values: Any, called: core.Called, param: str) -> None:
        for i, (item, value) in enumerate(zip(items, values, strict=True)):
            self.lay(item, value, _inside(called, i), param)

    def _kind(self, value: Any, kinds: tuple[type, ...], called: core.Called, param: str) -> None:
        if not isinstance(value, kinds):
            self.refuse(called, param, f"a {kinds[0].__name__}", f"it is {shown(value)}")

    def _tensor(self, said: Tensor, value: Any, called: core.Called, param: str) -> None:
        try:
            said = (
                said._replace(dims=notation.evaluated(said.dims, self.names, self.asked.sizes))
                if "{" in said.dims
                else said
            )
            said.shape()
        except UnreadAnnotation as why:
            self._raise(param, f"cannot tell what {called.as_its_own} has to be: {why}", why)
        self.found.append(ArgumentLeaf(called, param, said, *_stand_in(value)))

    def _size(self, value: Any, called: core.Called, param: str, size: str) -> None:
        try:
            number = size_of(value)
        except NoArray:
            self.refuse(called, param, "an integer", f"it is {shown(value)}")
        self.found.append(ArgumentLeaf(called, param, Whole(), number, size=size))

    def _fields(self, item: Fields, value: Any, called: core.Called, param: str) -> None:
        if (id(item), id(value)) in self._met:
            return
        self._met.add((id(item), id(value)))
        if not isinstance(value, Mapping if item.is_dict else item.kind):
            kind = "a dictionary" if item.is_dict else f"of class {item.kind.__name__}"
            self.refuse(called, param, kind, f"it is {shown(value)}")
        there: Any = (
            value if item.is_dict else {name: getattr(value, name) for name in item.items if hasattr(value, name)}
        )
        for name, inner in item.items.items():
            if name in there:
                part = _inside(called, f"[{name!r}]" if item.is_dict else f".{name}")
                self.lay(inner, there[name], part, param, name)
            elif name not in item.optional:
                what = "key" if item.is_dict else "field"
                self.refuse(called, param, f"given with the {what} `{name}`", "it has none")

    def _one_of(self, item: OneOf, value: Any, called: core.Called, param: str) -> None:
        options: list[tuple[ArgumentLeaf | UnionLeaf, ...]] = []
        for option in item.options:
            inner = Layout(self.asked, self.names)
            try:
                inner.lay(option, value, called, param)
            except ShapeError:
                continue
            taken = option.takes(value) if isinstance(option, Plain) else True
            if taken and any(all(leaf.may_fit() for leaf in way) for way in islice(ways(inner.found), MOST)):
                options.append(tuple(inner.found))
        if not options:
            self.refuse(called, param, f"`{item.shown}`", f"it is {self._described(value)}")
        self.found += options[0] if len(options) == 1 else [UnionLeaf(tuple(options))]

    def _described(self, value: Any) -> str:
        stand_in, shape, _ = _stand_in(value)
        return shown(value) if shape is None or stand_in is value else describe(stand_in)

    def agree(self, leaves: Sequence[ArgumentLeaf], known: Mapping[str, Any]) -> None:
        """Raise ShapeError if an integer differs from the size known by its name."""
        found = dict(known)
        for leaf in leaves:
            if leaf.size and found.setdefault(leaf.size, leaf.value) != leaf.value:
                self.refuse(leaf.called, leaf.param, f"{found[leaf.size]} (`{leaf.size}`)", f"it is {leaf.value}")

    def broadcast(self, leaves: Sequence[ArgumentLeaf]) -> None:
        """Raise ShapeError if a broadcast part of any number of axes (`*#b`) does not fit the others."""
        parts = [
            (leaf, found)
            for leaf in leaves
            if isinstance(leaf.said, Tensor) and leaf.shape is not None
            if (found := notation.part(leaf.said.dims, leaf.shape)) is not None
        ]
        exact = {name: sizes for _, (name, sizes, is_wide) in reversed(parts) if not is_wide}
        joint: dict[str, tuple[int, ...]] = dict(exact)
        for leaf, (name, sizes, is_wide) in parts:
            before = joint.setdefault(name, sizes)
            if is_wide and ((both := _broadcast(before, sizes)) is None or both != exact.get(name, both)):
                axes = f"`*#{name}`, but `*#{name}` of {leaf.called.as_its_own} is {list(sizes)}"
                self._raise(leaf.param, f"needs {list(before)} to be broadcast with {axes}")
            joint[name] = both if is_wide and both is not None else before

    def refuse(self, called: core.Called, param: str, wanted: str, but: str) -> NoReturn:
        self._raise(param, f"needs {called.as_its_own} to be {wanted}, but {but}")

    def _raise(self, param: str, problem: str, cause: Exception | None = None) -> NoReturn:
        name, places = f"@{self.asked.name}", self.asked.places
        place = places.said[param].whole if param in places.said else places.head
        raise ShapeError(error(codes.R404, f"{name} {problem}", place, function=name)) from cause


def _broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(one, other)
    except ValueError:
        return None


def _inside(called: core.Called, part: int | str) -> core.Called:
    """The name of a part of a value."""
    if called.of is None:
        return core.Called(f"{called.name}[{part}]" if isinstance(part, int) else f"{called.name}{part}")
    word = part if isinstance(part, int) else f"`{part}`"
    return core.Called(called.name, called.of, called.argument, (*called.items, word))


def _stand_in(value: Any) -> tuple[Any, tuple[int, ...] | None, Any]:
    """A stand-in for a value, its shape and its dtype; the value itself if it is no array or has a dtype unknown to us."""
    try:
        shape, dtype = read(value)
        shape = integers(shape)
    except NoArray:
        return value, None, None
    blank = None if isinstance(dtype, Weak) else _blank(shape, dtype)
    return value if blank is None else blank, shape, dtype


@lru_cache(4096)
def _blank(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array without data."""
    name = name_of(dtype)
    return None if name is None else np.broadcast_to(np.zeros((), numpy_dtype(DTYPES[name])), shape)
