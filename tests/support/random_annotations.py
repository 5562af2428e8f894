"""Random functions with annotations, arguments that fit them or nearly do, and whether they fit, by trying all sizes."""

from __future__ import annotations

import dataclasses
import random
import re
import typing
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np

NAMES = ("n", "m", "k")
DTYPES = {"Float32": ("float32",), "Float": ("float32", "float64"), "Int": ("int64", "int8"), "Shaped": ("bool", "float32"),
          "Bool": ("bool",)}  # fmt: skip
ALL = ("float32", "float64", "int64", "int8", "bool")
# Dimensions whose name something else has to bind, and those that bind it.
SOLVED = ("{}*2", "{}+1")
W = 3
"""The value of `cfg.w`."""


@dataclasses.dataclass
class Tensor:
    dims: list[str]
    kind: str

    @property
    def text(self) -> str:
        return f'{self.kind}[np.ndarray, "{" ".join(self.dims)}"]'


@dataclasses.dataclass
class Held:
    """What holds others: list, sequence, dict, pair, optional, union, number, dataclass, named, typed."""

    way: str
    items: list[Any]
    kind: Any = None

    @property
    def text(self) -> str:
        inside = [item.text for item in self.items]
        match self.way:
            case "list" | "Sequence":
                return f"{self.way}[{inside[0]}]"
            case "sequence":
                return f"tuple[{inside[0]}, ...]"
            case "dict":
                return f"dict[str, {inside[0]}]"
            case "pair":
                return f"tuple[{', '.join(inside)}]"
            case "optional":
                return f"{inside[0]} | None"
            case "union":
                return " | ".join(inside)
            case "number":
                return f"{inside[0]} | int"
        return str(self.kind.__name__)


class RandomFunction:
    """`annotations` of the parameters and the result; those in `simple` only have what others have, too."""

    def __init__(self, seed: int, *, simple: bool = False) -> None:
        self.random = random.Random(seed)
        self.simple = simple
        self.sizes = {name: self.random.randrange(1, 5) for name in NAMES}
        self.batch = tuple(self.random.choice((1, 2, 3)) for _ in range(self.random.randrange(3)))
        self.classes: dict[str, Any] = {}
        self.params = [self._item(2) for _ in range(self.random.randrange(1, 4))]
        self.star = None if self.random.random() < 0.7 else self._item(1)
        self.result = self._item(1)
        self.int = self.random.choice((None, None, "n", "k")) if not simple else None
        text = [item.text for item in (*self.params, self.result)]
        self.int = (
            self.int if self.int and re.search(rf"\b{self.int}\b", re.sub(r"{.*?}", "", " ".join(text))) else None
        )

    def _item(self, depth: int) -> Any:
        ways = ["list", "sequence", "dict", "pair", "optional", "Sequence"]
        ways += [] if self.simple else ["union", "number", "dataclass", "named", "typed"]
        if depth == 0 or self.random.random() < 0.5:
            return self._tensor()
        way = self.random.choice(ways)
        count = 2 if way in ("pair", "union", "dataclass", "named", "typed") else 1
        items = [self._tensor() if way in ("union", "number") else self._item(depth - 1) for _ in range(count)]
        if way in ("optional",) and isinstance(items[0], Held) and items[0].way in ("optional", "union", "number"):
            items = [self._tensor()]
        kind = self._class(way, items) if way in ("dataclass", "named", "typed") else None
        return Held(way, items, kind)

    def _class(self, way: str, items: list[Any]) -> Any:
        name, fields = f"C{len(self.classes)}", [(f"f{i}", item.text) for i, item in enumerate(items)]
        made = {
            "dataclass": lambda: dataclasses.make_dataclass(name, fields),
            "named": lambda: typing.NamedTuple(name, fields),  # type: ignore[misc]
            "typed": lambda: typing.TypedDict(name, dict(fields)),  # type: ignore[operator]
        }[way]()
        self.classes[name] = made
        return made

    def _tensor(self) -> Tensor:
        dims = [self._dim() for _ in range(self.random.randrange(4))]
        if self.random.random() < 0.3:
            dims.insert(self.random.randrange(len(dims) + 1), self.random.choice(("*b", "...", "*b", "*#b")))
        return Tensor(dims, self.random.choice(list(DTYPES)))

    def _dim(self) -> str:
        name, chance = self.random.choice(NAMES), self.random.random()
        if chance < 0.5:
            return name
        if chance < 0.85 or self.simple:
            return self.random.choice(("_", "2", f"#{name}", "rows=3", "_any"))
        return self.random.choice((*SOLVED, "{{cfg.w}}", "{{cfg.w+1}}")).format(name)

    @property
    def annotations(self) -> dict[str, str]:
        said = {f"x{i}": item.text for i, item in enumerate(self.params)}
        star = {"xs": self.star.text} if self.star is not None else {}
        number = {self.int: "int"} if self.int else {}
        return {**said, **star, **number, "return": self.result.text}

    def function(self, space: dict[str, Any], body: Callable[[], Any]) -> Any:
        """A function with these annotations, which gives what `body` gives."""
        names = [f"x{i}" for i in range(len(self.params))] + (["*xs"] if self.star is not None else ["*"])
        names += [self.int] if self.int else []
        names += ["cfg=None"]
        own = {**space, **self.classes, "np": np, "body": body, "Sequence": Sequence}
        exec(f"def f({', '.join(names)}): return body()", own)
        own["f"].__annotations__ = self.annotations
        return own["f"]

    # Values

    def call(self) -> tuple[list[Any], list[Any], dict[str, Any], Any]:
        """The arguments by their place, those behind them, those by name, and the result."""
        args = [self.value(item) for item in self.params]
        more = [self.value(self.star) for _ in range(self.random.randrange(3))] if self.star is not None else []
        number = self.sizes[self.int] + (self.random.random() < 0.1) if self.int else 0
        named = {self.int: self.random.choice((number, np.int64(number)))} if self.int else {}
        return args, more, {**named, "cfg": SimpleNamespace(w=W)}, self.value(self.result)

    def value(self, item: Any) -> Any:
        if self.random.random() < 0.02:
            return self.random.choice(("word", None, object(), ["word"] if self.simple else [1]))
        if isinstance(item, Tensor):
            return self._array(item)
        values = [self.value(i) for i in item.items]
        match item.way:
            case "list" | "Sequence":
                return [self.value(item.items[0]) for _ in range(self.random.randrange(4))]
            case "sequence":
                return tuple(self.value(item.items[0]) for _ in range(self.random.randrange(4)))
            case "dict":
                return {key: self.value(item.items[0]) for key in "ab"[: self.random.randrange(3)]}
            case "pair":
                return tuple(values)
            case "optional":
                return self.random.choice((None, values[0]))
            case "union":
                return self.random.choice(values)
            case "number":
                return self.random.choice((2, values[0]))
            case "typed":
                return dict(zip(("f0", "f1"), values, strict=True))
        return item.kind(*values)

    def _array(self, item: Tensor) -> Any:
        shape: list[int] = []
        for dim in item.dims:
            shape += self._sizes(dim)
        if self.random.random() < 0.08 and shape:
            shape[self.random.randrange(len(shape))] += self.random.choice((1, -1, 2))
        if self.random.random() < 0.03:
            shape.append(1)
        dtype = self.random.choice(DTYPES[item.kind] if self.random.random() < 0.96 else ALL)
        return np.zeros([max(size, 0) for size in shape], dtype)

    def _sizes(self, dim: str) -> list[int]:
        if dim in ("*b", "...", "*#b"):
            batch = list(self.batch)
            return [self.random.choice((1, s)) for s in batch] if dim == "*#b" else batch
        if dim.startswith("#") and self.random.random() < 0.4:
            return [1]
        return [self.random.randrange(4) if dim.startswith("_") else _size(dim.lstrip("#"), self.sizes)]

    # By trying all

    def fits(self, args: list[Any], more: list[Any], named: dict[str, Any], result: tuple[Any, ...]) -> bool:
        """Whether there are sizes for which all fit; `result` may be left out."""
        pairs = [
            *zip(self.params, args, strict=True),
            *((self.star, one) for one in more),
            *((self.result, r) for r in result),
        ]
        whole = {self.int: int(named[self.int])} if self.int else {}
        known = [range(9) if name not in whole else (whole[name],) for name in NAMES]
        batches = {(), self.batch} | set(_batches(pairs))
        return any(
            all(_fits(item, value, dict(zip(NAMES, sizes, strict=True)), batch) for item, value in pairs)
            for batch in batches
            for sizes in product(*known)
        )


def _size(dim: str, sizes: dict[str, int]) -> int:
    text = dim.partition("=")[2] or re.sub(r"\{(.*?)\}", r"\1", dim).replace("cfg.w", str(W))
    return int(eval(text, {}, dict(sizes)))


def _batches(pairs: list[tuple[Any, Any]]) -> Iterator[tuple[int, ...]]:
    """What `*b` may be: the parts that stand for it, and what they are broadcast to."""
    parts = [part for item, value in pairs for part in _parts(item, value)]
    yield from parts
    for count in range(1, len(parts)):
        for start in range(len(parts) - count):
            try:
                yield np.broadcast_shapes(*parts[start : start + count + 1])
            except ValueError:
                continue


def _parts(item: Any, value: Any) -> Iterator[tuple[int, ...]]:
    if isinstance(item, Tensor):
        at = next((i for i, d in enumerate(item.dims) if d in ("*b", "*#b")), None)
        if at is not None and isinstance(value, np.ndarray) and value.ndim >= len(item.dims) - 1:
            yield value.shape[at : value.ndim - (len(item.dims) - at - 1)]
    elif item.way in ("union", "number", "optional"):
        for option in item.items:
            yield from _parts(option, value)
    elif isinstance(value, dict | list | tuple) or dataclasses.is_dataclass(value):
        values = list(
            (
                value
                if isinstance(value, dict)
                else dict(enumerate(value))
                if isinstance(value, list | tuple)
                else vars(value)
            ).values()
        )
        items = item.items if len(item.items) > 1 else item.items * len(values)
        for inner, one in zip(items, values, strict=False):
            yield from _parts(inner, one)


def _fits(item: Any, value: Any, sizes: dict[str, int], batch: tuple[int, ...]) -> bool:
    if isinstance(item, Tensor):
        return _is_tensor(item, value, sizes, batch)

    def each(values: Any) -> bool:
        items = item.items if len(item.items) > 1 else item.items * len(values)
        return len(items) == len(values) and all(_fits(i, v, sizes, batch) for i, v in zip(items, values, strict=True))

    match item.way:
        case "list":
            return isinstance(value, list) and each(value)
        case "Sequence":
            return isinstance(value, list | tuple | str) and each(value)
        case "sequence":
            return isinstance(value, tuple) and each(value)
        case "dict":
            return isinstance(value, dict) and each(list(value.values()))
        case "pair":
            return isinstance(value, tuple | list) and each(value)
        case "optional":
            return value is None or _fits(item.items[0], value, sizes, batch)
        case "union":
            return any(_fits(option, value, sizes, batch) for option in item.items)
        case "number":
            return isinstance(value, int) or _fits(item.items[0], value, sizes, batch)
        case "typed":
            return isinstance(value, dict) and value.keys() >= {"f0", "f1"} and each([value["f0"], value["f1"]])
        case "named":
            return isinstance(value, item.kind) and each(value)
    return isinstance(value, item.kind) and each([value.f0, value.f1])


def _is_tensor(item: Tensor, value: Any, sizes: dict[str, int], batch: tuple[int, ...]) -> bool:
    if not isinstance(value, np.ndarray):
        fits = item.dims in ([], ["..."], ["*#b"]) or item.dims == ["*b"] and batch == ()
        return isinstance(value, int) and fits and item.kind != "Bool"
    known = {"Float32": ("float32",), "Float": ("float32", "float64"), "Int": ("int64", "int8"), "Bool": ("bool",)}
    if value.dtype.name not in known.get(item.kind, ALL):
        return False
    at = next((i for i, d in enumerate(item.dims) if d in ("*b", "...", "*#b")), None)
    if value.ndim != len(item.dims) if at is None else value.ndim < len(item.dims) - 1:
        return False
    after = len(item.dims) - at - 1 if at is not None else 0
    middle = value.shape[at : value.ndim - after] if at is not None else ()
    if at is not None and item.dims[at] == "*b" and middle != batch:
        return False
    if at is not None and item.dims[at] == "*#b" and not _goes_to(middle, batch):
        return False
    pairs = [
        *zip(item.dims[:at], value.shape, strict=False),
        *zip(item.dims[len(item.dims) - after :], value.shape[value.ndim - after :], strict=True),
    ]
    if at is None:
        pairs = list(zip(item.dims, value.shape, strict=True))
    return all(
        dim.startswith("_") or dim.startswith("#") and size == 1 or _size(dim.lstrip("#"), sizes) == size
        for dim, size in pairs
    )


def _goes_to(part: tuple[int, ...], batch: tuple[int, ...]) -> bool:
    try:
        return bool(np.broadcast_shapes(part, batch) == batch)
    except ValueError:
        return False
