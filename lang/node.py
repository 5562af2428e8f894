"""The base of every tree class: a frozen record with slots, declared like a dataclass.

Eighty real dataclasses cost 30 ms at start-up because each one compiles its own methods; here one generic set of
methods serves all. Fields that say where a node comes from (`span`, `origin` and the like) are ignored by equality.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar, TypeVar, dataclass_transform

# Fields that say where a node comes from.
PROVENANCE = frozenset({"span", "name_span", "origin", "declaration", "comments", "source", "places"})


@dataclass_transform(eq_default=True, frozen_default=True)
class _NodeMeta(type):
    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _NodeMeta:
        own = tuple(f for f in namespace.get("__annotations__", {}) if not f.startswith("_"))
        defaults = {f: namespace.pop(f) for f in own if f in namespace}
        inherited: tuple[str, ...] = ()
        for base in bases:
            inherited += getattr(base, "_fields", ())
            defaults = {**getattr(base, "_defaults", {}), **defaults}
        namespace["__slots__"] = own
        namespace["_fields"] = inherited + own
        namespace["_defaults"] = defaults
        namespace["_compared"] = tuple(f for f in inherited + own if f not in PROVENANCE)
        namespace["__match_args__"] = inherited + own
        made = super().__new__(mcls, name, bases, namespace)
        # A slot's own setter bypasses `__setattr__`, which refuses: a node gets its fields through it, once.
        made._setters = tuple(getattr(made, f).__set__ for f in namespace["_fields"])
        made._places = {f: i for i, f in enumerate(namespace["_fields"])}
        made._rare = _OFTEN
        if bases and "__init__" not in namespace:  # the base's own may be compiled
            made.__init__ = Node.__init__  # type: ignore[misc]
        made._values, made._value = _reader(namespace["_fields"]), _reader(namespace["_compared"])
        return made

    _values: Callable[[Any], tuple[Any, ...]]
    _value: Callable[[Any], tuple[Any, ...]]
    _setters: tuple[Callable[[Any, Any], None], ...]
    _places: dict[str, int]
    _rare: int


# A class with this many nodes gets an `__init__` of its own.
_OFTEN = 64


def _compiled(kind: type[Node]) -> Any:
    """An `__init__` with a parameter and a line for each field."""
    fields, defaults = kind._fields, kind._defaults
    names: dict[str, Any] = {f"put_{f}": put for f, put in zip(fields, kind._setters, strict=True)}
    names |= {f"default_{f}": value for f, value in defaults.items()}
    params = (f"{f}=default_{f}" if f in defaults else f for f in fields)
    lines = [f"def __init__(self, {', '.join(params)}):", *(f"    put_{f}(self, {f})" for f in fields)]
    exec("\n".join(lines), names)
    return names["__init__"]


def _reader(fields: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that reads some fields of a node at once."""
    if len(fields) > 1:
        return attrgetter(*fields)
    if not fields:
        return lambda node: ()
    only = attrgetter(*fields)
    return lambda node: (only(node),)


class Node(metaclass=_NodeMeta):
    """A frozen record. `Node(...)` takes its fields in order or by name; `==` ignores the fields of PROVENANCE."""

    _fields: ClassVar[tuple[str, ...]]
    _defaults: ClassVar[dict[str, Any]]
    _compared: ClassVar[tuple[str, ...]]
    _setters: ClassVar[tuple[Callable[[Any, Any], None], ...]]
    _values: ClassVar[Callable[[Any], tuple[Any, ...]]]
    _value: ClassVar[Callable[[Any], tuple[Any, ...]]]
    _places: ClassVar[dict[str, int]]
    _rare: ClassVar[int]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kind = type(self)
        kind._rare -= 1
        if not kind._rare and kind._fields:
            kind.__init__ = _compiled(kind)  # type: ignore[method-assign]
        if kwargs or len(args) != len(kind._setters):
            args = self._completed(args, kwargs)
        for put, value in zip(kind._setters, args, strict=True):
            put(self, value)

    def _completed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """A value for each field: those in order, then those by name, then the defaults."""
        fields, defaults = self._fields, self._defaults
        if len(args) > len(fields):
            raise TypeError(f"{type(self).__name__} takes {len(fields)} fields, got {len(args)}")
        values = list(args)
        for field in fields[len(args) :]:
            if field in kwargs:
                values.append(kwargs.pop(field))
            elif field in defaults:
                values.append(defaults[field])
            else:
                raise TypeError(f"{type(self).__name__} is missing field {field!r}")
        if kwargs:
            raise TypeError(f"{type(self).__name__} has no field {sorted(kwargs)}")
        return tuple(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name!r} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name!r} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        read = type(self)._value
        return read(self) == read(other)

    def __hash__(self) -> int:
        kind = type(self)
        return hash((kind.__name__, *kind._value(self)))

    def __repr__(self) -> str:
        parts = ", ".join(f"{f}={getattr(self, f)!r}" for f in self._compared)
        return f"{type(self).__name__}({parts})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, f) for f in self._fields)


N = TypeVar("N", bound=Node)


def replace(node: N, **changes: Any) -> N:
    """The same node with some fields changed."""
    kind = type(node)
    values, places = list(kind._values(node)), kind._places
    try:
        for field, value in changes.items():
            values[places[field]] = value
    except KeyError:
        raise TypeError(f"{kind.__name__} has no field {sorted(changes.keys() - places)}") from None
    return kind(*values)
