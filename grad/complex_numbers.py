"""Which values of a gradient are complex. The cotangent of z is the g such that the real part of conj(g) * dz is the
change."""

from __future__ import annotations

from collections.abc import Iterable

from ..lang import core
from ..ops.dtypes_column import parse_dtypes
from ..ops.model import TENSORS
from ..ops.registry import lookup
from .flat import Unsupported, leaves, tensors

# Holomorphic primitives: their rules hold for complex numbers too, between conjugates.
HOLOMORPHIC = frozenset({
    "add", "subtract", "multiply", "divide", "negative", "positive", "identity", "exp", "log", "sin", "cos", "sinh",
    "cosh", "tanh", "sqrt", "square", "reciprocal", "reshape", "flatten", "permute_dims", "swapaxes", "moveaxis",
    "expand_dims", "squeeze", "broadcast_to", "sum", "sum_to", "concat", "stack", "unstack", "split", "slice", "take",
    "flip", "roll", "matrix_transpose", "matmul", "where", "outer", "inv", "solve", "cumulative_sum", "fftshift",
    "ifftshift", "pad", "put", "tril", "triu",
})  # fmt: skip
# Primitives whose rules are written for complex numbers.
WRITTEN = frozenset(
    {"real", "imag", "conj", "complex", "abs", "cast", "fft", "ifft", "fftn", "ifftn", "eigvals", "eig"}
)


def mark(stmts: Iterable[core.Stmt], found: set[str]) -> None:
    """Add the names that are complex, as far as dtypes are written in the program; raise Unsupported if an arm or a turn
    gives one."""
    for stmt in stmts:
        if isinstance(stmt, core.Assert):
            found |= {_asserted(stmt.cond)} - {""}
        if not isinstance(stmt, core.Let):
            continue
        value = stmt.value
        if isinstance(value, core.Call):
            found |= {n for n, is_complex in zip(stmt.names, _results(value, found), strict=False) if is_complex}
        elif isinstance(value, core.Var) and value.name in found:
            found |= set(stmt.names)
        elif isinstance(value, core.If):
            _within(stmt, (value.then, value.orelse), (), found)
        elif isinstance(value, core.Loop):
            _within(stmt, (value.body,), tuple(c.init for c in value.carries), found)


def _asserted(cond: core.BoolExpr) -> str:
    """Return the tensor that a condition declares complex, or ""."""
    if isinstance(cond, core.Compare) and isinstance(cond.left, core.DTypeOf) and isinstance(cond.right, core.DTypeLit):
        return cond.left.tensor if cond.op == "==" and cond.right.dtype.kind == "complex" else ""
    return ""


def _within(let: core.Let, blocks: tuple[core.Block, ...], starts: tuple[core.Value, ...], found: set[str]) -> None:
    for block in blocks:
        mark(block.stmts, found)
    given = {v.name for b in blocks for v in leaves(b.result) if isinstance(v, core.Var)} | tensors(*starts)
    if given & found:
        raise Unsupported("a tensor of complex numbers that an `if` or a loop gives", let)


def _results(call: core.Call, found: set[str]) -> list[bool]:
    """Return for each result of a call whether it is complex."""
    row = lookup(call.callee.name.removeprefix("prelude."))
    given = tensors(*(a.value for a in call.args)) & found
    if row is None:
        if given:
            raise Unsupported(f"`@{call.callee.name}` of complex numbers", call)
        return []
    values = {a.name or row.params[i].name: a.value for i, a in enumerate(call.args)}
    column = parse_dtypes(row.dtypes)
    words = zip((p.name for p in row.params if p.kind in TENSORS), column.inputs, strict=False)
    of = {w.var for name, w in words if name in values and tensors(values[name]) & found}
    made = []
    for word in column.results:
        asked = values.get(word.param or "")
        if asked is not None:
            is_complex = isinstance(asked, core.DTypeLit) and asked.dtype.kind == "complex"
            made.append(is_complex or (isinstance(asked, core.DTypeOf) and asked.tensor in found))
        elif word.part is not None:
            made.append(word.part == "complex")
        else:
            made.append(word.var in of if word.var is not None else word.is_of_rule and bool(given))
    return made * (1 if not column.results or not column.results[-1].many else 64)
