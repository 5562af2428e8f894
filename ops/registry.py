"""The table of primitives: `@primitive` adds a row, `lookup` finds one. Families are imported on first use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ..lang.codes import Code
from ..lang.node import replace
from .model import Primitive, PrimitiveParam, Trait
from .signature import row_from_signature

_ROWS: dict[str, Primitive] = {}

_LITERALS: dict[str, Any] = {"none": None, "true": True, "false": False}


def parse_params(text: str) -> tuple[PrimitiveParam, ...]:
    """`"x: tensor, axis: ints = none, keepdims: bool = false"` as a tuple of PrimitiveParams."""
    params = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        head, _, default = (p.strip() for p in part.partition("="))
        name, _, kind = (p.strip() for p in head.partition(":"))
        params.append(PrimitiveParam(name, kind, not default, _literal(default) if default else None))
    return tuple(params)


def _literal(text: str) -> Any:
    if text in _LITERALS:
        return _LITERALS[text]
    if text.startswith('"'):
        return text.strip('"')
    return float(text) if any(c in text for c in ".e") else int(text)


def primitive(
    name: str,
    params: str,
    dtypes: str,
    *,
    results: str = "tensor",
    elementwise: bool = False,
    onnx: tuple[str, ...] = (),
    needs: Mapping[str, str] | None = None,
    mismatch: Code | None = None,
    traits: Iterable[Trait] = (),
    single: str | None = None,
    made_of: tuple[tuple[int, str, int], ...] = (),
    summed: tuple[tuple[str, int], ...] = (),
    refuses: str = "",
    selects: str = "",
    counts: tuple[str, str] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a primitive whose rule is the decorated function; its docstring is the primitive's documentation."""

    def add(rule: Callable[..., object]) -> Callable[..., Any]:
        register(
            Primitive(
                name, parse_params(params), dtypes, rule, rule.__doc__ or "", results, elementwise=elementwise, onnx=onnx,
                needs=needs or {}, mismatch=mismatch, traits=frozenset(traits), single=single, made_of=made_of,
                summed=summed, refuses=refuses, selects=selects, counts=counts,
            )
        )  # fmt: skip
        return rule

    return add


def register(row: Primitive) -> None:
    if row.name in _ROWS:
        raise ValueError(f"two primitives are called {row.name}")
    _ROWS[row.name] = row


# The modules of ops/rules/ and of interp/kernels/.
FAMILIES = (
    "elementwise", "reduce", "create", "shape", "parts", "linalg", "index", "conv", "pool", "nn", "recurrent", "loss",
    "matrices", "fourier", "random", "sets", "statistics", "numbers",
    "signal", "quantised", "detection", "sequences", "segments",
)  # fmt: skip


# The families of primitives with ONNX's meaning, where it differs from ours; they are called `onnx.reshape` and so on.
ONNX_FAMILIES = (
    "onnx_shape", "onnx_math", "onnx_resize", "onnx_images", "onnx_layers", "onnx_recurrent", "onnx_signal", "onnx_data",
    "onnx_quantised", "onnx_attention", "onnx_extra", "onnx_ml", "onnx_trees", "onnx_fused", "onnx_sequences",
    "onnx_strings",
)  # fmt: skip


def families(name: str) -> tuple[str, ...]:
    """The modules that may contain a primitive of that name."""
    return ONNX_FAMILIES if name.startswith("onnx.") else FAMILIES


def lookup(name: str) -> Primitive | None:
    """The row of a primitive, or None; its rule is written in Python or, in prelude.rx, in Rx."""
    _load(families(name))
    return _ROWS.get(name) or _declared(name)


def names() -> tuple[str, ...]:
    """All primitives of our own, in declaration order."""
    _load(FAMILIES)
    return (*(name for name in _ROWS if not name.startswith("onnx.")), *_prelude())


@cache
def _load(families: tuple[str, ...]) -> None:
    for family in families:
        import_module(f".rules.{family}", __package__)


# The rows in Rx

# Fields that a comment there may set on a line of its own, `traits: moves axes`, beside the documentation.
_COLUMNS: dict[str, Callable[[str], Any]] = {
    "onnx": str, "traits": lambda said: frozenset(map(Trait, said.split(", "))), "refuses": str, "selects": str,
    "counts": lambda said: tuple(said.split()), "places": lambda said: (*said.split()[:2], int(said.split()[2])),
}  # fmt: skip
_DECLARATION = re.compile(r"((?:^#[^\n]*\n)*)(^prim @(\w+) = [^\n]*(?:\n[ \t][^\n]*)*)", re.MULTILINE)


@cache
def _prelude() -> dict[str, tuple[str, str]]:
    """The declarations in prelude.rx: name to (comment, declaration)."""
    text = Path(__file__).with_name("prelude.rx").read_text(encoding="utf-8")
    return {m[3]: (m[1], m[2]) for m in _DECLARATION.finditer(text)}


@cache
def _declared(name: str) -> Primitive | None:
    """The row of a primitive that prelude.rx declares, or None."""
    found = _prelude().get(name)
    if found is None:
        return None
    comment, text = found
    lines = [line.lstrip("# ") for line in comment.splitlines()]
    columns = {head: rest for line in lines for head, _, rest in [line.partition(": ")] if head in _COLUMNS}
    doc = "\n".join(line for line in lines if line.partition(": ")[0] not in _COLUMNS)
    onnx = tuple(columns.pop("onnx").split(", ")) if "onnx" in columns else ()
    return replace(
        row_from_signature(text, doc, onnx), **{name: _COLUMNS[name](said) for name, said in columns.items()}
    )
