"""Functions that generated code calls besides kernels: sizes with obligations, shapes as data, preconditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import cache, partial

import numpy as np

from ..lang.dtypes import DTYPES, DType
from ..lang.weak import kind_fits
from ..ops.dtypes_column import parse_dtypes
from ..ops.ground import NeedsData, Violation, evaluate
from ..ops.model import TRACKED, WILDCARD, Primitive, PrimitiveParam, ResultOpen, TensorInfo
from ..ops.registry import lookup
from ..sizes.integers import Undefined
from ..sizes.text import NoNumber
from .conditions import form_text, make_test
from .dtypes import dtype_of
from .engine_types import EngineDType, Namespace, RunValue

# The number of forms of calls that a guard keeps tests for.
REMEMBERED = 1024
# The number of remembered calls that cost as much as one run of the rule.
ASKED = 16
_TENSORS = ("tensor", "tensors", "index")


class Failed(Exception):
    """A check does not hold; the line that raised it identifies it."""


def as_sizes(value: RunValue) -> tuple[int, ...]:
    """Sizes given as data: a shape, or one size as an integer tensor of rank 0."""
    return (as_size(value),) if np.ndim(value) == 0 and not isinstance(value, int) else as_shape(value)


def as_shape(value: RunValue) -> tuple[int, ...]:
    """A shape given as data: a rank-1 integer tensor, or a tuple of sizes."""
    if isinstance(value, tuple | list):
        return tuple(int(v) for v in value)
    if isinstance(value, int):
        return (value,)
    if value.ndim != 1 or not _has_integers(value):
        raise Undefined(f"a shape is a rank-1 integer tensor, not {describe(value)}")
    return tuple(int(v) for v in value.tolist())


def as_size(value: RunValue) -> int:
    """A size given as data: an integer tensor of rank 0."""
    if value.ndim or not _has_integers(value):
        raise Undefined(f"a size is a rank-0 integer tensor, not {describe(value)}")
    return int(value)


class Ghost:
    """A tensor with a type but no elements; unknown sizes are `?`."""

    def __init__(self, shape: tuple[object, ...], dtype: EngineDType) -> None:
        self.shape, self.ndim, self.dtype = shape, len(shape), dtype


@cache
def make_guard(name: str, literals: tuple[int, ...] = ()) -> Callable[..., None]:
    """Compile the check of a primitive's preconditions, with literal numbers at some places. A form of call gets a compiled
    test after a few calls. If the test fails, or there is none, the rule itself runs and makes the message."""
    row = lookup(name)
    assert row is not None
    names = [f"a{i}" for i in range(len(row.params))]
    asked = _Asked(row)
    space: Namespace = {"WILDCARD": WILDCARD, "tests": asked.tests, "ask": asked.check}
    exec(_GUARD.format(params=", ".join(names), form=form_text(row, names, literals)), space)
    check: Callable[..., None] = space["check"]
    return check


_GUARD = """def check({params}):
 form = None
 try:
  form = {form},
  if tests[form]({params}): return
 except (LookupError, ArithmeticError, AttributeError, TypeError, ValueError): pass
 ask(form, {params})
"""


class _Asked:
    """The rule of a row, for calls that no test accepts. It remembers the arguments that passed."""

    def __init__(self, row: Primitive) -> None:
        self.row = row
        self.tests: dict[Hashable, Callable[..., bool]] = {}
        self.passed: set[Hashable] = set()
        # The cost so far of a form's calls without a test.
        self.spent: Counter[Hashable] = Counter()

    def check(self, form: object, *args: object) -> None:
        key = tuple(map(_seen_by_rules, args))
        is_new = key not in self.passed
        if is_new:
            guard(self.row, args)
            for table in (self.passed, self.tests, self.spent):
                if len(table) >= REMEMBERED:
                    table.clear()
            self.passed.add(key)
        if form is not None and form not in self.tests:
            self.spent[form] += ASKED if is_new else 1
            if self.spent[form] >= 2 * ASKED:
                self._learn(form, args)

    def _learn(self, form: object, args: Sequence[object]) -> None:
        try:
            self.tests[form] = make_test(self.row, partial(seen, self.row, args), _info)
        except NoNumber:
            self.tests[form] = _never


def _never(*_: object) -> bool:
    return False


def _seen_by_rules(value: object) -> RunValue:
    """A key of all that a rule can read of an argument."""
    if isinstance(value, np.ndarray | np.generic):
        if _is_tracked(value):
            return value.shape, value.dtype, value.tobytes()
        return value.shape, value.dtype
    if isinstance(value, tuple | list):
        return tuple(map(_seen_by_rules, value))
    return type(value), value


def guard(row: Primitive, args: Sequence[object]) -> None:
    """Check the row's preconditions on the arguments of one call, as its kernel gets them; raises Violation."""
    try:
        evaluate(row, seen(row, args, _info))
    except (NeedsData, ResultOpen):
        return


def seen(row: Primitive, args: Sequence[object], info: Callable[[PrimitiveParam, object], object]) -> Namespace:
    """The arguments as the rule takes them, each mapped by `info`; a literal number takes its dtype from the others."""
    literals = [p.name for p, a in zip(row.params, args, strict=True) if p.kind in _TENSORS and is_literal(a)]
    values = {p.name: info(p, a) for p, a in zip(row.params, args, strict=True)}
    if literals:
        known = _variables(row, values, literals)
        for name in literals:
            values[name] = _typed(values[name], known.get(name))
    return values


def is_literal(value: object) -> bool:
    """Whether an argument is a number literal: float64 scalars, which kernels return, are Python floats too."""
    return isinstance(value, bool | int | float) and not isinstance(value, np.generic)


def _info(param: PrimitiveParam, value: RunValue) -> RunValue:
    """An argument as a rule over integers takes it."""
    match param.kind:
        case _ if value is None:
            return None
        case "tensor":
            return tensor_info(value)
        case "index":
            return value if isinstance(value, int) else tensor_info(value)
        case "tensors":
            return tuple(tensor_info(v) for v in value)
        case "dtype":
            return dtype_of(value)
    return value


def tensor_info(value: RunValue) -> TensorInfo:
    """A tensor as a rule sees it: shape, dtype, and its elements if they may be a shape."""
    if is_literal(value):
        return TensorInfo((), _default(value), (value,) if type(value) is int else None)
    data = None
    if _is_tracked(value):
        data = tuple(value.tolist()) if value.ndim else (int(value),)
    return TensorInfo(tuple(value.shape), dtype_of(value.dtype), data)


def _is_tracked(value: RunValue) -> bool:
    """Whether a rule reads the elements."""
    return _has_integers(value) and value.ndim <= 1 and value.size <= TRACKED


def _has_integers(value: RunValue) -> bool:
    """Whether the elements are integers; ml_dtypes' small ones are of NumPy's kind "V"."""
    return value.dtype.kind in "iu" or (value.dtype.kind == "V" and "int" in value.dtype.name)


def _default(value: bool | int | float) -> DType:
    return DTYPES["bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float64"]


def _variables(row: Primitive, values: Namespace, literals: list[str]) -> dict[str, DType]:
    """For each literal, the dtype that the other operands give its variable in the dtypes column."""
    words = parse_dtypes(row.dtypes).inputs
    named = dict(zip((p.name for p in row.params if p.kind in _TENSORS), words, strict=True))
    found: dict[str, DType] = {}
    for name, word in named.items():
        infos = values[name] if isinstance(values[name], tuple) else (values[name],)
        for info in infos:
            if name not in literals and isinstance(info, TensorInfo) and isinstance(info.dtype, DType) and word.var:
                found.setdefault(word.var, info.dtype)
    return {n: found[w.var] for n, w in named.items() if n in literals and w.var in found}


def _typed(info: object, dtype: DType | None) -> RunValue:
    """Give a literal the other operand's dtype, if that can hold it."""
    if dtype is None or not isinstance(info, TensorInfo) or not isinstance(info.dtype, DType):
        return info
    return TensorInfo(info.shape, dtype, info.data) if kind_fits(info.dtype, dtype) else info


def describe(value: object) -> str:
    """A value's type as annotations write it."""
    if isinstance(value, bool):
        return "Bool"
    if isinstance(value, int):
        return "Size"
    if isinstance(value, float):
        return "a number"
    if isinstance(value, np.dtype):
        return "DType"
    if isinstance(value, tuple | list):
        return f"({', '.join(describe(v) for v in value)})"
    if isinstance(value, np.ndarray | np.generic | Ghost):
        if value.shape == () and value.dtype.names:
            return dtype_name(value.dtype)
        return f"Tensor([{', '.join(map(str, value.shape))}], {dtype_name(value.dtype)})"
    return "a function" if callable(value) else foreign(value)


def foreign(value: object) -> str:
    """Describe a Python value from outside."""
    return "None" if value is None else f"a Python {type(value).__name__}"


def dtype_name(dtype: EngineDType) -> str:
    """The name of a dtype, also of an engine's own (`torch.float32`)."""
    if not isinstance(dtype, np.dtype):
        return str(dtype).rpartition(".")[-1]
    try:
        return str(dtype_of(dtype))
    except (LookupError, TypeError, ValueError):
        return str(dtype)


__all__ = [
    "Failed",
    "Ghost",
    "Violation",
    "as_size",
    "as_shape",
    "as_sizes",
    "describe",
    "dtype_name",
    "guard",
    "is_literal",
    "make_guard",
    "tensor_info",
]
