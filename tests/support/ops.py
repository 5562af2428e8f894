"""Calls of a primitive's rule, dtype column and kernel beside each other, over plain and over symbolic sizes."""

from __future__ import annotations

import itertools
import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from rxlang.interp.dtypes import dtype_of, numpy_dtype
from rxlang.interp.kernels import registry as kernels
from rxlang.lang.dtypes import DTYPES, DType, exact_integers
from rxlang.lang.node import replace
from rxlang.ops import registry
from rxlang.ops.dtypes_column import parse_dtypes
from rxlang.ops.ground import GroundCtx, GroundResult, Violation, evaluate, outcomes
from rxlang.ops.holds import condition
from rxlang.ops.model import Out, Primitive, PrimitiveParam, RankUnknown, Segment, TensorInfo, Truth
from rxlang.ops.requirements import Requirement
from rxlang.ops.tracked import Ratio, of_literal
from rxlang.ops.wording import plain

SIZES = (0, 1, 1, 2, 3)
FLOATING = ("float16", "bfloat16", "float32", "float64")
INTEGER = ("int8", "int64", "uint8", "int32", "int4")
REAL = FLOATING + INTEGER
INEXACT = (*FLOATING, "complex64", "complex128")
NUMERIC = INEXACT + INTEGER
BITS = (*INTEGER, "bool")
EVERY = (*NUMERIC, "bool", "string")
ORDERED = (*REAL, "bool", "string")
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "complex64": 2e-5}

Random = np.random.Generator


def row_of(name: str) -> Primitive:
    row = registry.lookup(name)
    assert row is not None, f"no primitive is called {name}"
    return row


def rows_of(family: str) -> list[Primitive]:
    """The rows whose rules stand in one module."""
    rows = [row_of(name) for name in registry.names()]
    return [row for row in rows if row.rule is not None and row.rule.__module__.endswith(f".rules.{family}")]


# Values


def draw_shape(random: Random, most: int = 3, least: int = 0) -> tuple[int, ...]:
    return tuple(int(random.choice(SIZES)) for _ in range(random.integers(least, most + 1)))


def draw_broadcastable(random: Random, count: int) -> list[tuple[int, ...]]:
    """Shapes that broadcast together: each misses some of a common shape's first axes and has 1 for some of the others."""
    common = draw_shape(random)
    shapes = []
    for _ in range(count):
        kept = common[random.integers(0, len(common) + 1) :] if random.random() < 0.4 else common
        shapes.append(tuple(1 if random.random() < 0.3 else size for size in kept))
    return shapes


def draw(random: Random, shape: Sequence[int], dtype: str, least: int = -8, most: int = 8) -> np.ndarray[Any, Any]:
    """Whole numbers, quarters for floats: few different ones, all of them exact in every dtype."""
    shape = tuple(shape)
    kind = DTYPES[dtype].kind
    if kind == "uint":
        least, most = max(least, 0), max(most, 0)
    numbers = np.asarray(random.integers(least, most, shape, endpoint=True))
    if kind == "string":
        return np.array(["a", "b", "ab", ""], numpy_dtype(DTYPES[dtype]))[np.atleast_1d(numbers % 4)].reshape(shape)
    if kind == "bool":
        return np.asarray(numbers % 2 == 0)
    if kind == "complex":
        return np.asarray(numbers / 4 + 1j * random.integers(-8, 9, shape) / 4).astype(dtype)
    return np.asarray(numbers / 4 if kind == "float" else numbers).astype(numpy_dtype(DTYPES[dtype]))


def wide(x: Any) -> Any:
    """The same elements with more digits, to compute the expected ones from."""
    if not isinstance(x, np.ndarray) or x.dtype.kind in "bTc":
        return x
    return x.astype(np.float64 if DTYPES[x.dtype.name].kind == "float" else np.int64)


# A call over plain sizes


def info(value: Any, dtype: DType | None = None, *, data: bool = True) -> Any:
    """A value as a rule takes it, with its elements."""
    if isinstance(value, np.ndarray):
        dtype = dtype_of(value.dtype)
        plain = np.int64 if dtype.kind in ("int", "uint") else np.float64 if dtype.kind == "float" else value.dtype
        return TensorInfo(
            value.shape, dtype, of_literal(value.astype(plain).reshape(-1).tolist(), dtype) if data else None
        )
    if isinstance(value, list):
        return tuple(info(v) for v in value)
    return TensorInfo((), dtype, of_literal((value,), dtype)) if dtype is not None else value


def infos(row: Primitive, values: Mapping[str, Any], *, data: bool = True) -> dict[str, Any]:
    """The values as a rule takes them. A number that stands for a tensor has the dtype of the other operands."""
    words = dict(zip(_operands(row), parse_dtypes(row.dtypes).inputs, strict=True))
    known = {
        words[name].var: dtype_of(v.dtype) for name, v in values.items() if name in words and isinstance(v, np.ndarray)
    }
    result = {}
    for name, value in values.items():
        number = name in words and isinstance(value, (bool, int, float))
        weak = DTYPES[{bool: "bool", int: "int64", float: "float64"}[type(value)]] if number else None
        result[name] = info(value, known.get(words[name].var, weak) if number else None, data=data)
    return result


def _operands(row: Primitive) -> list[str]:
    return [p.name for p in row.params if p.kind in ("tensor", "tensors", "index")]


def predict(name: str, /, *, data: bool = True, **values: Any) -> GroundResult:
    """What the rule and the dtype column say of a call."""
    row = row_of(name)
    return evaluate(row, infos(row, values, data=data))


def compute(name: str, /, **values: Any) -> Any:
    """What the kernel makes of a call; NumPy may not warn."""
    arguments = [for_kernel(p, values.get(p.name, p.default)) for p in row_of(name).params]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return kernels.lookup(name)(*arguments)


def for_kernel(param: PrimitiveParam, value: Any) -> Any:
    return numpy_dtype(value) if param.kind == "dtype" and value is not None else value


def call(name: str, /, **values: Any) -> Any:
    """The kernel's results, of exactly the shapes, dtypes and elements that the rule predicted."""
    predicted = predict(name, **values)
    made = compute(name, **values)
    if predicted.size is not None:
        assert made == predicted.size
        return made
    results = made if isinstance(made, tuple) else (made,)
    for result, tensor in zip(results, predicted.tensors, strict=True):
        assert isinstance(result, (np.ndarray, np.generic))
        assert result.shape == tensor.shape
        assert dtype_of(result.dtype) == tensor.dtype
        has_elements(result, tensor)
    return made


def has_elements(result: Any, tensor: TensorInfo) -> None:
    """The elements of a result are those that a rule says."""
    elements = (None,) * result.size if tensor.data is None else tensor.data
    for found, known in zip(result.reshape(-1).tolist(), elements, strict=True):
        assert known is None or is_element(known, found)


def is_element(known: Any, found: Any) -> bool:
    """Whether an element is what a rule says of it: a quotient that was rounded lies beside the same integers and halves."""
    if not isinstance(known, Ratio):
        return bool(known == found)
    number, found = Fraction(known.num, known.den), Fraction(float(found))
    if known.is_exact:
        return number == found
    return math.floor(number * 2) == math.floor(found * 2) and math.ceil(number * 2) == math.ceil(found * 2)


def check(name: str, reference: Callable[..., Any], /, **values: Any) -> None:
    """The kernel gives what was predicted, and the elements that a reference gives for the values with more digits."""
    made = call(name, **values)
    with np.errstate(all="ignore"):
        operands = [wide(v) for k, v in values.items() if k in ("x", "y")]
        others = {k: v for k, v in values.items() if k not in ("x", "y")}
        expected = np.asarray(reference(*operands, **others)).astype(made.dtype)
    close(made, expected)


def close(made: Any, expected: Any) -> None:
    dtype = dtype_of(made.dtype)
    if dtype.kind not in ("float", "complex"):
        np.testing.assert_array_equal(made, expected)
        return
    tolerance = TOLERANCE.get(dtype.name, 1e-11)
    kind = np.complex128 if dtype.kind == "complex" else np.float64
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(made.astype(kind), expected.astype(kind), tolerance, tolerance)


def refusal(name: str, /, **values: Any) -> str:
    """Why a call is refused."""
    try:
        predict(name, **values)
    except Violation as violation:
        return str(violation)
    raise AssertionError(f"@{name} was not refused")


# A call over symbolic sizes: what is known of them is a finite set of possible values


Env = Mapping[str, int]


class Sym:
    """A size that depends on the environment. It cannot be compared or used as a number by accident."""

    def __init__(self, value: Callable[[Env], int]) -> None:
        self.value = value

    def _with(self, other: Any, function: Callable[[int, int], int], swap: bool = False) -> Sym:
        a, b = (other, self) if swap else (self, other)
        return Sym(lambda env: function(ground(a, env), ground(b, env)))

    def __add__(self, other: Any) -> Sym:
        return self._with(other, operator.add)

    def __radd__(self, other: Any) -> Sym:
        return self._with(other, operator.add, True)

    def __sub__(self, other: Any) -> Sym:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Any) -> Sym:
        return self._with(other, operator.sub, True)

    def __mul__(self, other: Any) -> Sym:
        return self._with(other, operator.mul)

    def __rmul__(self, other: Any) -> Sym:
        return self._with(other, operator.mul, True)

    def __floordiv__(self, other: Any) -> Sym:
        return self._with(other, operator.floordiv)

    def __rfloordiv__(self, other: Any) -> Sym:
        return self._with(other, operator.floordiv, True)

    def __mod__(self, other: Any) -> Sym:
        return self._with(other, operator.mod)

    def __rmod__(self, other: Any) -> Sym:
        return self._with(other, operator.mod, True)

    def __neg__(self) -> Sym:
        return Sym(lambda env: -ground(self, env))

    def __eq__(self, other: object) -> NoReturn:
        raise AssertionError("sizes are compared by the context")

    def __bool__(self) -> NoReturn:
        raise AssertionError("a size is no condition")

    __lt__ = __le__ = __gt__ = __ge__ = __ne__ = __eq__
    __hash__ = object.__hash__


def ground(value: Any, env: Env) -> Any:
    """A size, a shape or a tensor's info in one environment."""
    if isinstance(value, Sym):
        return value.value(env)
    if isinstance(value, tuple):
        return tuple(ground(v, env) for v in value)
    if isinstance(value, TensorInfo):
        return TensorInfo(ground(value.shape, env), value.dtype, ground(value.data, env))
    if isinstance(value, Truth):
        return int(_holds(value.yes, env))
    if isinstance(value, Ratio):
        return replace(value, num=ground(value.num, env), den=ground(value.den, env), limits=ground(value.limits, env))
    return value


def symbols(*names: str) -> tuple[Sym, ...]:
    return tuple(Sym(lambda env, name=name: env[name]) for name in names)  # type: ignore[misc]


class OpenCtx(GroundCtx):
    """Knows the dimensions of a tensor only where there is no Segment among them; a fresh size is the number 77."""

    def dims(self, x: TensorInfo) -> Any:
        if any(isinstance(d, Segment) for d in x.shape):
            raise RankUnknown
        return x.shape

    def rank(self, x: TensorInfo) -> int:
        return len(self.dims(x))

    def fresh(self, name: str, at_least: Any = 0, at_most: Any = None) -> Any:
        return 77


def opened(name: str, *args: Any, **named: Any) -> tuple[Any, ...]:
    """The shape that a primitive's rule gives of shapes with unknown parts."""
    row = row_of(name)
    rest = row.params[len(args) :]
    result = row.rule(OpenCtx(), *args, *(named.get(p.name, p.default) for p in rest))
    return tuple(getattr(result, "shape", result))


class GridCtx:
    """A rule's context that knows of each size a few values that it may have, and so decides by trying them all."""

    def __init__(self, envs: Sequence[Env]) -> None:
        self.envs = list(envs)
        self.required: list[tuple[Any, str]] = []

    def dims(self, x: TensorInfo) -> tuple[Any, ...]:
        return x.shape

    def rank(self, x: TensorInfo) -> int:
        return len(x.shape)

    def require(self, asked: Requirement, cond: Any = None) -> None:
        cond = condition(asked, self) if cond is None else cond
        self.required.append((cond, plain(asked)))
        self.envs = [env for env in self.envs if _holds(cond, env)]

    dtype_in, require_dtype, require_either = GroundCtx.dtype_in, GroundCtx.require_dtype, GroundCtx.require_either
    passed, number = GroundCtx.passed, GroundCtx.number
    elements_fit, ranges = GroundCtx.elements_fit, GroundCtx.ranges

    def fail(self, asked: Requirement) -> NoReturn:
        raise Violation(asked)

    def decide(self, cond: Any) -> bool | None:
        answers = {_holds(cond, env) for env in self.envs}
        return answers.pop() if len(answers) == 1 else None

    def eq(self, a: Any, b: Any) -> Any:
        return lambda env: ground(a, env) == ground(b, env)

    def ne(self, a: Any, b: Any) -> Any:
        return lambda env: ground(a, env) != ground(b, env)

    def le(self, a: Any, b: Any) -> Any:
        return lambda env: ground(a, env) <= ground(b, env)

    def lt(self, a: Any, b: Any) -> Any:
        return lambda env: ground(a, env) < ground(b, env)

    def any_of(self, *conds: Any) -> Any:
        return lambda env: any(_holds(c, env) for c in conds)

    def all_of(self, *conds: Any) -> Any:
        return lambda env: all(_holds(c, env) for c in conds)

    def min(self, *sizes: Any) -> Any:
        return _folded(lambda env: min(ground(sizes, env)), sizes)

    def max(self, *sizes: Any) -> Any:
        return _folded(lambda env: max(ground(sizes, env)), sizes)

    def ceildiv(self, a: Any, b: Any) -> Any:
        return _folded(lambda env: -(-ground(a, env) // ground(b, env)), (a, b))

    def common(self, *sizes: Any) -> Any:
        return _folded(lambda env: next((s for s in ground(sizes, env) if s != 1), 1), sizes)

    def solution(self, left: Any, rest: Any) -> None:
        return None

    def fresh(self, name: str, at_least: Any = 0, at_most: Any = None) -> Any:
        return Unknown(at_least, at_most)

    def element(self, at_least: Any, at_most: Any) -> None:
        return None

    def is_unknown(self, size: Any) -> bool:
        return False

    def one_of(self, cases: Any, natural: bool, dtype: Any) -> Any:
        return next((value for truth, value in cases if self.decide(truth.yes) is True), None)

    def root(self, size: Any) -> Any:
        return GroundCtx().root(size)

    def fits(self, value: Any, dtype: DType) -> bool:
        least, most = exact_integers(dtype)
        return all(least <= ground(value, env) <= most for env in self.envs)


class Unknown(Sym):
    """A size that the rule says nothing of but its range."""

    def __init__(self, least: Any, most: Any) -> None:
        super().__init__(self._no_value)
        self.least, self.most = least, most

    @staticmethod
    def _no_value(env: Env) -> NoReturn:
        raise AssertionError("nothing may be computed from an unknown size")

    def admits(self, size: int, env: Env) -> bool:
        return (self.least is None or ground(self.least, env) <= size) and (
            self.most is None or size <= ground(self.most, env)
        )


def _folded(value: Callable[[Env], int], sizes: tuple[Any, ...]) -> Any:
    return value({}) if all(isinstance(size, int) for size in sizes) else Sym(value)


def _holds(cond: Any, env: Env) -> bool:
    return bool(cond(env)) if callable(cond) else bool(cond)


def grid(*names: str, sizes: Sequence[int] = range(5)) -> list[dict[str, int]]:
    return [dict(zip(names, values, strict=True)) for values in itertools.product(sizes, repeat=len(names))]


def agrees(name: str, envs: Sequence[Env], /, **values: Any) -> list[Out]:
    """The symbolic answer, after a check that in every environment it is the plain one: the requirements hold exactly
    where the call is not refused, and there shape and elements are the same."""
    row = row_of(name)
    ctx = GridCtx(envs)
    assert row.rule is not None
    try:
        answer: Any = row.rule(ctx, *(values.get(p.name, p.default) for p in row.params))
    except Violation:
        answer = None
    outs = list(outcomes(row, answer)) if answer is not None else []
    for env in envs:
        try:
            plain = evaluate(row, {k: ground(v, env) for k, v in values.items()})
        except Violation:
            assert answer is None or not all(_holds(c, env) for c, _ in ctx.required), f"not refused at {env}"
            continue
        assert answer is not None and all(_holds(c, env) for c, _ in ctx.required), f"refused at {env}"
        for out, tensor in zip(outs, plain.tensors, strict=True):
            _same_at(out, tensor, env)
    return outs


def _same_at(out: Out, tensor: TensorInfo, env: Env) -> None:
    assert len(out.shape) == len(tensor.shape)
    for size, wanted in zip(out.shape, tensor.shape, strict=True):
        assert size.admits(wanted, env) if isinstance(size, Unknown) else ground(size, env) == wanted, f"at {env}"
    for known, found in zip(ground(out.data, env) or (), tensor.data or (), strict=False):
        if known is None or found is None or (isinstance(known, Ratio) and any(abs(d) > m for d, m in known.limits)):
            continue
        one, other = ((k.num, k.den) if isinstance(k, Ratio) else (k, 1) for k in (known, found))
        assert Fraction(*one) == Fraction(*other), f"at {env}"
