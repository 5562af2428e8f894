"""Turn the texts of `--arg NAME=VALUE` into values, and results into text and files."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, assert_never

import numpy as np

from ..interp.arguments import ArgumentProblem, arrange, expected_dtype
from ..interp.dtypes import PLAIN, dtype_of, numpy_dtype
from ..interp.files import ValueProblem
from ..interp.guards import describe, dtype_name
from ..interp.opaque import from_python
from ..interp.opaque_values import parse_opaque, split_parts
from ..interp.values import parse_value
from ..lang import core
from ..lang.dtypes import DTYPES
from .files import Unusable, replace_file


def arguments(function: core.Function, args: Sequence[str], seed: int, originals: Sequence[str] = ()) -> list[Any]:
    """The arguments of a call in the parameters' order, in the form for generated code. `originals` are alternative names of
    the parameters, in order, and take precedence."""
    random = np.random.default_rng(seed)
    params = {p.name: p for p in function.params}
    own = dict(zip(originals, params, strict=False))
    given: dict[str, Any] = {}
    for text in args:
        name, equals, value = text.partition("=")
        name = own.get(name, name.strip())
        if not equals:
            raise Unusable(f"--arg {text!r} is not NAME=VALUE")
        if name in given:
            raise Unusable(f"--arg {name} is given twice")
        try:
            given[name] = _value(function, params[name], value, random) if name in params else None
        except ValueProblem as problem:
            raise Unusable(f"--arg {name}: {problem}") from None
    try:
        return arrange(function, (), given)
    except ArgumentProblem as problem:
        raise Unusable(str(problem)) from None


def _value(function: core.Function, param: core.Param, text: str, random: np.random.Generator) -> Any:
    match param.sort:
        case core.BaseSort(name="Tensor"):
            wanted = expected_dtype(function, param.name)
            if wanted is not None and wanted.is_opaque:
                return from_python(wanted, parse_opaque(text, wanted, random))
            return parse_value(text, random, wanted)
        case core.BaseSort(name="DType"):
            if text.strip() not in DTYPES:
                raise ValueProblem(f"{text.strip()!r} is not a dtype")
            return numpy_dtype(DTYPES[text.strip()])
        case core.BaseSort(name=sort):
            return _shape_level(sort, parse_value(text, random))
        case core.TupleSort(items=items):
            return _tuple(function, param, items, text, random)
        case core.FnSort():
            raise ValueProblem("a function cannot be given on the command line")
        case _:
            assert_never(param.sort)


def _shape_level(sort: str, value: Any) -> Any:
    if sort == "Size" and value.ndim == 0 and value.dtype.kind in "iu":
        return int(value)
    if sort == "Bool" and value.ndim == 0 and value.dtype.kind == "b":
        return bool(value)
    if sort == "Shape" and value.ndim == 1 and (value.dtype.kind in "iu" or value.size == 0):
        return tuple(int(v) for v in value)
    wanted = {"Size": "an integer", "Bool": "true or false", "Shape": "a list of integers"}[sort]
    raise ValueProblem(f"it is a {sort}: {wanted}")


def _tuple(
    function: core.Function, param: core.Param, sorts: Sequence[core.Sort], text: str, random: np.random.Generator
) -> tuple[Any, ...]:
    """The parts of a tuple `(VALUE; VALUE)`, separated by semicolons."""
    parts = split_parts(text)
    if len(parts) == 1 and text.strip().startswith("("):
        parts = split_parts(text.strip()[1:-1])
    if len(parts) != len(sorts):
        parts_of = "; ".join(["VALUE"] * min(len(sorts), 3) + ["..."] * (len(sorts) > 3))
        raise ValueProblem(f"it is a tuple of {len(sorts)}, not of {len(parts)}: write it ({parts_of})")
    return tuple(_value(function, core.Param(param.name, s), p, random) for s, p in zip(sorts, parts, strict=True))


# Results


def printed(name: str, value: object) -> str:
    """`y : Tensor([2, 3], float32) = [[...], [...]]`, a long value on lines of its own; each part of a container
    separately."""
    if value is None:
        return f"{name} : an optional value that is not there"
    if isinstance(value, list | dict):
        kind = "a sequence" if isinstance(value, list) else "a map"
        parts = enumerate(value) if isinstance(value, list) else ((json.dumps(k), v) for k, v in value.items())
        return "\n".join([f"{name} : {kind} of {len(value)}", *(printed(f"{name}[{at}]", part) for at, part in parts)])
    text = _text(value)
    head = f"{name} : {describe(value)} ="
    return f"{head}\n{text}" if "\n" in text else f"{head} {text}"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, np.dtype):
        return dtype_name(value)
    if isinstance(value, np.ndarray):
        return np.array2string(value, separator=", ", threshold=100, edgeitems=3, max_line_width=100)
    if isinstance(value, tuple):
        return f"({', '.join(_text(v) for v in value)})"
    return str(value) if isinstance(value, int | float) else "a function"


def portable(array: Any) -> Any:
    """The array in a dtype that a .npy file can hold: dtypes that NumPy lacks are widened, strings get a fixed length."""
    if array.dtype in PLAIN:
        return array
    kind = dtype_of(array.dtype).kind
    if kind == "string":
        return np.array(array.tolist(), dtype=np.str_).reshape(array.shape)
    return array.astype({"int": np.int8, "uint": np.uint8}.get(kind, np.float32))


def write_array(folder: Path, name: str, value: object) -> None:
    """Write a result as NAME.npy, the parts of a tuple as NAME.0.npy and so on."""
    stem = re.sub(r"[^\w.'-]", "_", name.replace(" ", "."))
    if isinstance(value, tuple | list | dict):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            write_array(folder, f"{stem}.{key}", part)
        return
    if value is None or callable(value) and not isinstance(value, np.ndarray):
        return
    buffer = io.BytesIO()
    np.save(buffer, portable(np.asarray(value)), allow_pickle=False)
    replace_file(str(folder / f"{stem}.npy"), buffer.getvalue(), through_links=False)
