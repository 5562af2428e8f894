"""Read an annotation as conditions on a value: jaxtyping's notation, types of Rx, and types that hold arrays: tuples, lists,
dictionaries, unions, classes with fields."""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import operator
import re
import sys
import typing
from collections.abc import Iterator, Mapping
from functools import reduce
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from ..lang.dtypes import DTYPES
from . import notation
from .lookup import RX, InRx, UnknownName, evaluated
from .notation import UnreadAnnotation


class Tensor(NamedTuple):
    """The annotation of a tensor: its dimensions as written; a dtype, a class of dtypes or `?`; the whole annotation in the
    user's spelling. For a type in Rx's notation, `rx` is the shape."""

    dims: str
    dtype: str
    shown: str
    rx: str = ""

    def shape(self, sizes: tuple[int, ...] | None = None) -> str:
        """The shape in a signature; if the sizes of a call are given, `#n` becomes 1 or `n`."""
        return self.rx or f"[{', '.join(notation.shape(self.dims, sizes))}]"

    @property
    def is_plain(self) -> bool:
        """Whether it is the same for each call."""
        return not re.search(r"[#{]", self.dims)


class Whole(NamedTuple):
    """The annotation of an integer."""

    shown: str = "int"


class Plain(NamedTuple):
    """An alternative to arrays in a union: a value of these classes, or one of these values."""

    kinds: tuple[type, ...]
    values: tuple[Any, ...] = ()

    def takes(self, value: Any) -> bool:
        return isinstance(value, self.kinds) or any(value is v or value == v for v in self.values)


class TupleParts(NamedTuple):
    """A tuple of annotations; None for those without arrays."""

    items: tuple[Read, ...]


class Maybe(NamedTuple):
    """An annotation that also accepts None."""

    inner: Item


class Each(NamedTuple):
    """A list of any length, or the values of a dictionary."""

    inner: Item
    kind: type


class OneOf(NamedTuple):
    """A union."""

    options: tuple[Item | Plain, ...]
    shown: str


class Fields:
    """A class with annotated fields; `optional` fields are checked only if they are present."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.is_dict = typing.is_typeddict(kind) or type(kind).__name__ == "_TypedDictMeta"
        self.items: dict[str, Item] = {}
        self.optional: set[str] = set()


Item = Tensor | Whole | TupleParts | Maybe | Each | OneOf | Fields
Read = Item | None
"""The result of reading an annotation; None if it has no arrays."""


class AnnotationScope(NamedTuple):
    """The context of an annotation: known names, values of type variables, classes seen so far, and the strings being read;
    an empty string is added `within` them when one contains itself."""

    names: Mapping[str, Any]
    types: Mapping[Any, Any]
    met: dict[Any, Fields | None]
    within: list[str]


def read(annotation: Any, names: Mapping[str, Any]) -> Read:
    """Read an annotation; raises UnreadAnnotation if it involves arrays and cannot be read. `names` are available to
    strings."""
    scope = AnnotationScope(names, {}, {}, [])
    found = _read(annotation, scope)
    if "" in scope.within and any(tensors(found)):
        raise UnreadAnnotation(f"`{shown(annotation)}` is a type inside itself, and no class with fields")
    return found


def _read(annotation: Any, scope: AnnotationScope) -> Read:
    said = _looked_up(annotation, scope)
    kind = get_origin(said) or said
    if _has_fields(kind):
        return _fields(said, kind, scope)
    text = str(getattr(annotation, "__forward_arg__", annotation))
    if text in scope.within and not is_array(said):
        scope.within.append("")
        return None
    scope.within.append(text)
    found = _meant(said, scope)
    scope.within.remove(text)
    return found


def _meant(said: Any, scope: AnnotationScope) -> Read:
    if is_array(said):
        return _tensor(said)
    origin, items = get_origin(said), get_args(said)
    if (getattr(origin, "__module__", ""), getattr(origin, "__name__", "")) == ("numpy", "ndarray"):
        return _numpy(said, *items)
    if origin in (Union, UnionType):
        return _union(items, said, scope)
    if origin is tuple and Ellipsis not in items and not any(getattr(i, "__unpacked__", False) for i in items):
        found = tuple(of_arrays(_read(i, scope)) for i in items)
        return TupleParts(found) if any(found) else None
    if said is int:
        return Whole()
    if isinstance(origin, type) and issubclass(origin, collections.abc.Collection) and items:
        *keys, inner = [of_arrays(_read(i, scope)) for i in items if i is not Ellipsis]
        if inner is not None and not any(keys) and len(keys) == issubclass(origin, collections.abc.Mapping):
            return Each(inner, origin)
    if any(of_arrays(_read(i, scope)) is not None for i in _inside(said)):
        why = next((why for names, why in _WHY.items() if shown(said).partition("[")[0] in names.split()), "")
        raise UnreadAnnotation(f"`{shown(said)}` holds arrays in a way that a signature has no words for{why}")
    if type(said).__name__ == "_MetaAbstractDtype":
        raise UnreadAnnotation(f'`{shown(said)}` is not like `{said.__name__}[Array, "n m"]`')
    return None


_WHY = {
    "Iterable Iterator Generator AsyncIterable AsyncIterator AsyncGenerator": ": its elements come one by one",
    "Callable": ": its arguments are not seen where it is passed on",
    "Awaitable Coroutine": ": its result does not exist yet",
    "PyTree": ": Rx has no trees",
}


def is_array(annotation: Any) -> bool:
    return isinstance(getattr(annotation, "dim_str", None), str) and hasattr(annotation, "dtype")


def _tensor(said: Any) -> Tensor:
    name = getattr(said, "__name__", said.dtype.__name__)
    if said.dtype is InRx:
        return Tensor("", said.of, said.dim_str, said.shape)
    found = Tensor(said.dim_str, notation.dtype(said.dtype), name)
    found.shape()
    return found


def _numpy(said: Any, axes: Any, kind: Any = None) -> Tensor | None:
    """NumPy's own annotation, `NDArray[float32]`; None if it gives neither a dtype nor axes."""
    items = get_args(axes) if get_origin(axes) is tuple else ()
    is_open = not items or Ellipsis in items or isinstance(axes, TypeVar)
    [of] = get_args(kind) or (Any,)
    name = "generic" if of is Any or isinstance(of, TypeVar) else getattr(get_origin(of) or of, "__name__", "")
    dtype = notation.NUMPY.get(name, name)
    if dtype not in notation.NUMPY.values() and dtype not in DTYPES or not is_open and {*items} - {int, Any}:
        raise UnreadAnnotation(f"`{shown(said)}` has a dtype or axes that no signature has")
    return None if is_open and dtype == "?" else Tensor("..." if is_open else "_ " * len(items), dtype, shown(said))


def of_arrays(item: Read) -> Read:
    """The item, or None for an integer."""
    return None if isinstance(item, Whole) or isinstance(item, Maybe) and isinstance(item.inner, Whole) else item


def _union(items: tuple[Any, ...], said: Any, scope: AnnotationScope) -> Read:
    found = {i: _read(i, scope) for i in items if i is not NoneType}
    arrays = list({_plainly(r): r for r in found.values() if r is not None}.values())
    if len(arrays) == 1 and None not in found.values():
        [only] = arrays
        return Maybe(only) if len(found) < len(items) and not isinstance(only, Maybe) else only
    if not any(map(of_arrays, arrays)):
        return None
    others = [Plain(*_plain(i, scope)) for i, r in found.items() if of_arrays(r) is None]
    none = [Plain((NoneType,))] * (NoneType in items)
    return OneOf((*filter(of_arrays, arrays), *others, *none), shown(said))


def _plainly(item: Item) -> Item:
    return item._replace(shown="") if isinstance(item, Tensor) else item


def _plain(annotation: Any, scope: AnnotationScope) -> tuple[tuple[type, ...], tuple[Any, ...]]:
    """The classes, or the values, that identify a value that is no array."""
    said = _looked_up(annotation, scope)
    if said is Any:
        return (object,), ()
    if get_origin(said) is Literal:
        return (), get_args(said)
    kind = get_origin(said) or said
    try:
        isinstance(None, kind)
    except TypeError:
        kind = None
    if not isinstance(kind, type) or isinstance(kind, UnknownName):
        raise UnreadAnnotation(f"`{shown(said)}` is no class by which a value is told from an array")
    return {float: (float, int), complex: (complex, float, int)}.get(kind, (kind,)), ()


def _inside(said: Any) -> Iterator[Any]:
    """The parts of an annotation of another kind, in which arrays would not be checked."""
    origin, bases = get_origin(said), getattr(said, "__orig_bases__", ()) if isinstance(said, type) else ()
    for item in get_args(said) if origin is not Literal else ():
        yield from item if isinstance(item, list) else (item,)
    yield from (item for item in getattr(said, "held", ()) if not isinstance(item, str))
    yield from (b for b in bases if issubclass(get_origin(b) or object, collections.abc.Collection))
    if type(said).__name__ == "_MetaPyTree":  # jaxtyping's
        yield getattr(said, "leaftype", None)


def shown(annotation: Any) -> str:
    """An annotation as users write it."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(typing|jaxtyping|__main__)\.", "", text)


# Classes with fields


def _has_fields(kind: Any) -> bool:
    return isinstance(kind, type) and (
        dataclasses.is_dataclass(kind)
        or issubclass(kind, tuple)
        and hasattr(kind, "_fields")
        or type(kind).__name__ == "_TypedDictMeta"
        or any(name in vars(base) for base in kind.__mro__ for name in ("__attrs_attrs__", "__pydantic_fields__"))
    )


def _fields(said: Any, kind: type, scope: AnnotationScope) -> Fields | None:
    """The fields of a class, or None if none of them has arrays. In a class with arrays, integer fields are sizes."""
    key = (said, tuple(scope.types.items()))
    if key in scope.met:
        return scope.met[key]
    found = scope.met[key] = Fields(kind)
    required = getattr(kind, "__required_keys__", None)
    known = {f.name: f.default for f in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else None
    defaults = getattr(kind, "_field_defaults", known or {})
    for name, annotation, inner in _annotated(said, scope):
        value = _looked_up(annotation, inner, keep=True)
        said_of = getattr(get_origin(value), "_name", None)
        item = _read(value, inner) if said_of != "ClassVar" and (known is None or name in known) else None
        found.items.pop(name, None)
        if item is not None:
            found.items[name] = Maybe(item) if defaults.get(name, item) is None else item
        if said_of == "NotRequired" or required is not None and name not in required and said_of != "Required":
            found.optional.add(name)
    scope.met[key] = found if any(tensors(found)) else None
    return scope.met[key]


def _annotated(said: Any, scope: AnnotationScope) -> Iterator[tuple[str, Any, AnnotationScope]]:
    """The annotations of a class, those of its bases first, each with its scope."""
    kind = get_origin(said) or said
    given = [scope.types.get(a, a) for a in get_args(said)]
    types = dict(zip(getattr(kind, "__parameters__", ()), given, strict=False))
    module = getattr(sys.modules.get(kind.__module__), "__dict__", {})
    names = {**module, **scope.names} if "<locals>" in kind.__qualname__ else {**scope.names, **module}
    inner = AnnotationScope(names, types, scope.met, scope.within)
    for base in vars(kind).get("__orig_bases__", kind.__bases__):
        if isinstance(get_origin(base) or base, type):
            yield from _annotated(base, inner)
    for name, annotation in inspect.get_annotations(kind).items():
        yield name, annotation, inner


def asked(item: Any, name: str = "", met: set[int] | None = None) -> Iterator[tuple[str, Tensor | Whole]]:
    """The tensors and integers in an annotation, each with its name if it is a field."""
    met = set() if met is None else met
    if id(item) in met:
        return
    met.add(id(item))
    inside: list[tuple[str, Any]] = []
    match item:
        case Tensor() | Whole():
            yield name, item
        case Fields():
            inside += item.items.items()
        case Maybe(inner=inner) | Each(inner=inner):
            inside.append((name, inner))
        case TupleParts(items=items) | OneOf(options=items):
            inside += [("", i) for i in items]
    for of, each in inside:
        yield from asked(each, of, met)


def tensors(item: Any) -> list[Tensor]:
    """The tensors in an annotation."""
    return [found for _, found in asked(item) if isinstance(found, Tensor)]


def _of_alias(alias: Any, items: tuple[Any, ...]) -> Any:
    """The value of `type Alias[T] = ...` for given types."""
    value = alias.__value__
    if isinstance(value, TypeVar):
        return items[alias.__type_params__.index(value)]
    asked = getattr(value, "__parameters__", ())
    if asked != alias.__type_params__:
        items = tuple(items[alias.__type_params__.index(p)] for p in asked)
    return value[items] if items else value


def _looked_up(annotation: Any, scope: AnnotationScope, *, keep: bool = False) -> Any:
    """The meaning of an annotation, without wrappers such as `Final`; `keep` retains `Required` and the like."""
    while True:
        origin, items = get_origin(annotation), get_args(annotation)
        if isinstance(annotation, typing.ForwardRef):
            annotation = annotation.__forward_arg__
        elif isinstance(annotation, str):
            annotation = evaluated(annotation, scope.names)
        elif isinstance(annotation, TypeVar):
            bound = scope.types.get(annotation, annotation.__bound__)
            if annotation.__constraints__ and annotation not in scope.types:
                bound = reduce(operator.or_, annotation.__constraints__)
            annotation = object if bound is annotation or bound is None else bound
        elif origin is Annotated:
            rx = next((m for m in items[1:] if isinstance(m, str) and RX.fullmatch(m.strip())), None)
            annotation = items[0] if rx is None else rx
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif hasattr(annotation, "__value__"):
            annotation = _of_alias(origin, items) if items else annotation.__value__
        elif isinstance(annotation, dataclasses.InitVar):
            annotation = annotation.type
        elif (
            getattr(origin, "_name", None) in ("Required", "NotRequired", "ReadOnly", "Final", "ClassVar") and not keep
        ):
            annotation = items[0]
        else:
            return annotation
