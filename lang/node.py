"""The base of every tree class: a frozen record with slots, declared like a dataclass.

Eighty real dataclasses cost 30 ms at start-up because each one compiles its own methods; here one generic set of
methods serves all. Fields that say where a node comes from (`span`, `origin` and the like) take no part in equality.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar, dataclass_transform

# Fields that say where a node comes from.
PROVENANCE = frozenset({"span", "name_span", "origin", "declaration", "comments", "source"})


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
        return super().__new__(mcls, name, bases, namespace)


class Node(metaclass=_NodeMeta):
    """A frozen record. `Node(...)` takes its fields in order or by name; `==` ignores where the node comes from."""

    _fields: ClassVar[tuple[str, ...]]
    _defaults: ClassVar[dict[str, Any]]
    _compared: ClassVar[tuple[str, ...]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        fields = self._fields
        for field, value in zip(fields, args, strict=False):
            setattr(self, field, value)
        if len(args) == len(fields) and not kwargs:
            return
        if len(args) > len(fields):
            raise TypeError(f"{type(self).__name__} takes {len(fields)} fields, got {len(args)}")
        for field in fields[len(args) :]:
            if field in kwargs:
                setattr(self, field, kwargs.pop(field))
            elif field in self._defaults:
                setattr(self, field, self._defaults[field])
            else:
                raise TypeError(f"{type(self).__name__} is missing field {field!r}")
        if kwargs:
            raise TypeError(f"{type(self).__name__} has no field {sorted(kwargs)}")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, f) == getattr(other, f) for f in self._compared)

    def __hash__(self) -> int:
        return hash((type(self).__name__, *(getattr(self, f) for f in self._compared)))

    def __repr__(self) -> str:
        parts = ", ".join(f"{f}={getattr(self, f)!r}" for f in self._compared)
        return f"{type(self).__name__}({parts})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, f) for f in self._fields)


N = TypeVar("N", bound=Node)


def replace(node: N, **changes: Any) -> N:
    """The same node with some fields changed."""
    values = {f: getattr(node, f) for f in node._fields}
    return type(node)(**{**values, **changes})
