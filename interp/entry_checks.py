"""A function's entry checks: one fast test of all of them, and the same checks one by one for when the test fails."""

from __future__ import annotations

from collections.abc import Iterable

from ..lang import core
from ..lang.node import replace
from .names import mangle
from .source import LIVE, FunctionWriter
from .trees import names_of
from .unit import Site, Unit

# What the combined test may raise on values that do not fit; the checks one by one then say which one failed.
_UNFIT = "(ValueError, IndexError, ArithmeticError, TypeError, AttributeError)"
_INLINE = core.Var | core.ShapeLevel


def write_function(unit: Unit, fn: core.Function) -> None:
    """`f_name` with the checks and, where there may be some, `d_name` (the checks) and `b_name` (what follows them)."""
    if fn.kind == "private":
        _plain(unit, fn, "f_", fn.body.stmts)
        return
    _checks(unit, fn)
    _entry(unit, fn)
    rest = (*fn.body.stmts, *fn.promises)
    _plain(unit, fn, "b_", (*_unchecked(_needed(fn.checks, rest, fn.body.result)), *rest))


def _writer(unit: Unit, fn: core.Function, prefix: str) -> FunctionWriter:
    writer = FunctionWriter(unit, fn.name, (p.name for p in fn.params), 1)
    writer.used = None if unit.guard_all else names_of((fn.checks, fn.body, fn.promises))
    unit.write(0, f"def {prefix}{mangle(fn.name)}({', '.join(writer.params)}):")
    if fn.kind == "extern":
        writer.extern = fn.name
        unit.externs[fn.name] = fn
    return writer


def _plain(unit: Unit, fn: core.Function, prefix: str, stmts: tuple[core.Stmt, ...]) -> None:
    writer = _writer(unit, fn, prefix)
    writer.statements(stmts, fn.body.result)
    writer.deliver(fn.body.result, "return ")


def _checks(unit: Unit, fn: core.Function) -> None:
    writer = _writer(unit, fn, "d_")
    writer.statements(fn.checks)
    writer.write("return")


def _entry(unit: Unit, fn: core.Function) -> None:
    """The checks as one expression over shapes and dtypes; where it is false or fails, the checks say which one it was."""
    writer = _writer(unit, fn, "f_")
    args = ", ".join(writer.params)
    name, site = mangle(fn.name), Site(fn.span, "door", fn.name, callee=fn.name)
    if not any(_is_live(s) for s in fn.checks) and not _takes_functions(fn):
        writer.write(f"return b_{name}({args})", site)
        return
    if unit.count_checks or _takes_functions(fn) or not all(_is_simple(s) for s in fn.checks):
        writer.write(f"d_{name}({args})", site)
        _wrap_functions(writer, fn)
        writer.write(f"return b_{name}({args})", site)
        return
    writer.write("try:")
    writer.indent += 1
    ranks = _unpack_shapes(writer, fn)
    tested = [s for s in fn.checks if _is_live(s) and id(s) not in ranks]
    used = {id(s) for s in (*tested, *_needed(fn.checks, tested, None))}
    tests = [t for s in fn.checks if id(s) in used for t in _tests(writer, s, ranks)]
    writer.write(f"fits = {' and '.join(tests) or 'True'}")
    writer.indent -= 1
    writer.write(f"except {_UNFIT}: fits = False")
    writer.write("if not fits:")
    writer.indent += 1
    writer.write(f"d_{name}({args})", site)
    writer.write(f"return b_{name}({args})", site)
    writer.indent -= 1
    rest = (*fn.body.stmts, *fn.promises)
    unbound = [s for s in _needed(fn.checks, rest, fn.body.result) if id(s) not in used]
    writer.statements((*_unchecked(unbound), *rest), fn.body.result)
    writer.deliver(fn.body.result, "return ")


def _takes_functions(fn: core.Function) -> bool:
    return any(isinstance(p.sort, core.FnSort) for p in fn.params)


def _wrap_functions(writer: FunctionWriter, fn: core.Function) -> None:
    """A function that comes from outside is checked against its annotation at every call."""
    for param in fn.params:
        if isinstance(param.sort, core.FnSort):
            sig = param.sort.signature
            body = replace(sig.body, stmts=(*sig.body.stmts, *sig.promises))
            checked = writer.closure(core.Lambda(fn.span, sig.params, sig.result, sig.checks, body))
            writer.write(f"{writer.local(param.name)} = {checked}")


def _is_live(stmt: core.Stmt) -> bool:
    return isinstance(stmt, core.Assert | core.MatchShape) and stmt.status in LIVE


def _is_simple(stmt: core.Stmt) -> bool:
    return not isinstance(stmt, core.Let) or isinstance(stmt.value, _INLINE)


def _unpack_shapes(writer: FunctionWriter, fn: core.Function) -> set[int]:
    """`a0, a1 = x.shape` for each parameter whose rank the checks fix: that tests the rank and names the sizes at once.

    Gives the identities of the assertions that are tested this way.
    """
    params = {p.name for p in fn.params}
    rebound = {n for s in fn.checks for n in core.bound_names(s)}
    found: set[int] = set()
    for stmt in fn.checks:
        match stmt:
            case core.Assert(cond=core.Compare(op="==", left=core.RankOf(tensor=x), right=core.SizeLit(value=rank))):
                if stmt.status not in LIVE or x not in params - rebound or (x, 0) in writer.dims:
                    continue
                sizes = [f"{writer.local(x)}_d{i}" for i in range(rank)]
                writer.write(
                    f"[{', '.join(sizes)}] = {writer.local(x)}.shape" if rank != 0 else f"() = {writer.local(x)}.shape"
                )
                writer.dims.update({(x, i): s for i, s in enumerate(sizes)})
                writer.dims.update({(x, i - rank): s for i, s in enumerate(sizes)})
                found.add(id(stmt))
    return found


def _tests(writer: FunctionWriter, stmt: core.Stmt, ranks: set[int]) -> list[str]:
    """What an entry check adds to the combined test; what it binds is written before it."""
    match stmt:
        case core.Let():
            writer.let(stmt)
            return []
        case core.Assert():
            return [_test(writer, stmt.cond)] if stmt.status in LIVE and id(stmt) not in ranks else []
        case core.MatchShape():
            whole = writer.temp()
            writer.write(f"{whole} = {writer.local(stmt.tensor)}.shape")
            fits, binds, rest = writer.pattern(stmt, whole)
            for name, text in binds:
                local = writer.scope.reserve(name)
                writer.scope.bind(name, local)
                writer.write(f"{local} = {text}")
            return [fits, *rest()] if stmt.status in LIVE else []
        case core.ExprStmt():
            return []


def _test(writer: FunctionWriter, cond: core.BoolExpr) -> str:
    """A dtype is compared by identity here: NumPy has one object for each, and any other one goes the slow way."""
    if isinstance(cond, core.Compare) and cond.op == "==" and isinstance(cond.right, core.DTypeLit):
        return f"{writer.shape_level(cond.left)} is {writer.shape_level(cond.right)}"
    return writer.boolean(cond)


def _needed(checks: Iterable[core.Stmt], rest: Iterable[core.Stmt], result: core.Value | None) -> list[core.Stmt]:
    """The entry checks that bind what the rest uses, directly or through one another."""
    needed = names_of((tuple(rest), result))
    kept: list[core.Stmt] = []
    for stmt in reversed(tuple(checks)):
        if not isinstance(stmt, core.Assert) and not needed.isdisjoint(core.bound_names(stmt)):
            needed |= names_of(stmt)
            kept.append(stmt)
    return kept[::-1]


def _unchecked(stmts: Iterable[core.Stmt]) -> tuple[core.Stmt, ...]:
    """The same bindings without their checks."""
    proved = core.Status.PROVED
    return tuple(replace(s, status=proved) if isinstance(s, core.MatchShape) else s for s in stmts)
