"""Core functions to Python source text: one line per primitive call or check."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, assert_never

import numpy as np

from ..lang import core
from ..lang.node import replace
from ..lang.source import NOWHERE
from ..ops.binding import bind
from ..ops.model import Param, Primitive
from .dtypes import numpy_dtype
from .guards import make_guard
from .names import Scope, mangle
from .shape_text import ShapeTexts, tuple_text
from .trees import call_of, names_of
from .unit import Site, Unit, numpy_function

LIVE = (core.Status.OPEN, core.Status.RESIDUAL, core.Status.ENTRY, core.Status.REFUTED)
# Primitives that are one method of an array: called without a kernel in between.
METHODS = {
    "reshape": "{}.reshape({})",
    "permute_dims": "{}.transpose({})",
    "matrix_transpose": "{}.swapaxes(-1, -2)",
    "swapaxes": "{}.swapaxes({}, {})",
}
# Python takes a hundred levels of indentation; what is deeper is outlined.
DEEPEST = 40


_MINUS_ONE = core.SizeLit(NOWHERE, -1)


class FunctionWriter(ShapeTexts):
    """Writes one Python function. An expression comes back as text; what must happen before it has been written by then."""

    def __init__(self, unit: Unit, function: str, params: Iterable[str], indent: int = 0) -> None:
        super().__init__(unit, function, params, indent)
        self.extern: str | None = None
        self.used: set[str] | None = None

    # Values

    def value(self, v: core.Value) -> str:
        """The text of a value that one line may hold: a call, or something without effects."""
        match v:
            case core.Var(name=name):
                return self.local(name)
            case core.Call():
                return self.call(v)[0]
            case core.FnRef(name=name):
                return self.function_value(name)
            case core.Number(value=value):
                return self.number(value)
            case core.TensorLit():
                return self.unit.array(("tensor", v), lambda: make_tensor(v))
            case core.TupleValue(items=items):
                return tuple_text(self.atom(item) for item in items)
            case core.ListValue(items=items):
                return f"[{', '.join(self.atom(item) for item in items)}]"
            case core.Text(value=text):
                return repr(text)
            case core.If():
                target = self.temp()
                self.deliver(v, f"{target} = ")
                return target
            case core.Lambda():
                return self.closure(v)
            case core.Load():
                return self.unit.array(("load", v.path, v.key), lambda: self.unit.globals["weights"](v))
        return self.shape_level(v)

    def atom(self, v: core.Value) -> str:
        """The text of a value that has been computed already."""
        if not isinstance(v, core.Call):
            return self.value(v)
        mark = len(self._live)
        text, site = self.call(v)
        self.release(mark)
        target = self.temp()
        self.write(f"{target} = {text}", site)
        return target

    def number(self, value: int | float | bool) -> str:
        """A literal that stands alone: int64, float64 or bool."""
        dtype = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float64"
        return self.unit.constant(("number", dtype, repr(value)), lambda: numpy_function(dtype)(value))

    def deliver(self, v: core.Value, prefix: str) -> None:
        """Write v with `y = ` or `return ` before it, in each arm of an If."""
        if isinstance(v, core.If):
            self._if(v, prefix)
            return
        mark = len(self._live)
        site = None
        if isinstance(v, core.Call):
            text, site = self.call(v)
        else:
            text = self.value(v)
            if isinstance(v, core.SizeExpr | core.ShapeExpr | core.BoolExpr):
                site = Site(v.span, "size", self.function)
        self.release(mark)
        self.write(prefix + text, site)

    def _if(self, v: core.If, prefix: str) -> None:
        mark = len(self._live)
        cond = v.cond
        if isinstance(cond, core.BoolExpr):
            test, site = self.boolean(cond), Site(cond.span, "size", self.function)
        else:
            test, site = self.atom(cond), Site(cond.span, "kernel", self.function, callee="if")
        self.release(mark)
        self.write(f"if {test}:", site)
        self._arm(v.then, prefix)
        self.write("else:")
        self._arm(v.orelse, prefix)

    def _arm(self, block: core.Block, prefix: str) -> None:
        self.indent += 1
        if self.indent > DEEPEST:
            self._outlined_arm(block, prefix)
        else:
            self.scope = Scope(self.scope)
            self.block(block, prefix)
            assert self.scope.outer is not None
            self.scope = self.scope.outer
        self.indent -= 1

    def _outlined_arm(self, block: core.Block, prefix: str) -> None:
        """A function of its own for what Python would not indent any further; it is written later."""
        names = [n for n in sorted(names_of(block)) if self.knows(n) and self.local(n).startswith("v_")]
        name = self.unit.outlined_name()
        self.write(f"{prefix}{name}({', '.join(map(self.local, names))})")

        def write() -> None:
            inner = FunctionWriter(self.unit, self.function, names, 1)
            inner.extern, inner.used = self.extern, self.used
            self.unit.write(0, f"def {name}({', '.join(inner.params)}):")
            inner.block(block, "return ")

        self.unit.later.append(write)

    def block(self, block: core.Block, prefix: str) -> None:
        self.statements(block.stmts, block.result)
        self.deliver(block.result, prefix)

    # Calls

    def call(self, c: core.Call) -> tuple[str, Site]:
        callee = c.callee
        if isinstance(callee, core.Var):
            args = ", ".join(self.atom(a.value) for a in c.args)
            return f"{self.local(callee.name)}({args})", Site(c.span, "call", self.function, callee=callee.name)
        name = callee.name
        if self.extern is not None and name == self.unit.externs[self.extern].impl:
            args = ", ".join(self.atom(a.value) for a in c.args)
            return f"x_{mangle(self.extern)}({args})", Site(c.span, "extern", self.function, callee=self.extern)
        if name in self.unit.functions or name in self.unit.impls:
            args = ", ".join(self.atom(a.value) for a in c.args)
            return f"{self._entry(name, c.decided)}({args})", Site(c.span, "call", self.function, callee=name)
        return self.primitive(c, self.unit.row(name))

    def _entry(self, name: str, decided: bool) -> str:
        function = self.unit.functions.get(name)
        skips = decided and not self.unit.guard_all and function is not None and function.kind != "private"
        return ("b_" if skips else "f_") + mangle(name)

    def primitive(self, c: core.Call, row: Primitive) -> tuple[str, Site]:
        pairs = bind(row, c)
        texts = [self.argument(p, v) for p, v in pairs]
        plain = all(v is None for p, v in pairs if not p.required)
        operands = tuple((p.name, t) for (p, v), t in zip(pairs, texts, strict=True) if v is not None)
        site = Site(c.span, "kernel", self.function, callee=row.name, operands=operands)
        if c.guard or self.unit.guard_all:
            self._count()
            name = self.unit.constant(("guard", row.name), lambda: make_guard(row))
            self.write(f"{name}({', '.join(texts)})", site)
        if self.unit.direct and row.name in METHODS and texts[0].isidentifier() and "WILDCARD" not in texts[-1]:
            return METHODS[row.name].format(*texts), site
        kernel = self.unit.kernel(row, plain=plain)
        if kernel.startswith("np_"):
            texts = [t for (p, _), t in zip(pairs, texts, strict=True) if p.required]
        return f"{kernel}({', '.join(texts)})", site

    def argument(self, param: Param, v: core.Value | None) -> str:
        """One argument as the kernel wants it."""
        if v is None:
            return self.literal(param.default)
        if isinstance(v, core.Number):
            literal = self.literal(float(v.value) if param.kind == "float" else v.value)
            return f"({literal},)" if param.kind in ("ints", "sizes", "shape", "target") else literal
        match param.kind:
            case "target" if isinstance(v, core.ShapeLit):
                return tuple_text("WILDCARD" if d == _MINUS_ONE else self.dim(d) for d in v.dims)
            case "shape" | "sizes" | "ints" | "target":
                return self._sizes(v)
            case "size" if not isinstance(v, core.SizeExpr):
                return self._read("as_size", v)
            case "tensors" | "pairs" if isinstance(v, core.ListValue | core.TupleValue):
                return tuple_text(self._item(i) for i in v.items)
        return self.atom(v)

    def _sizes(self, v: core.Value) -> str:
        if isinstance(v, core.ListValue | core.TupleValue):
            return tuple_text(self.argument(Param("", "size"), i) for i in v.items)
        if isinstance(v, core.SizeExpr):
            return f"({self.size(v)},)"
        if isinstance(v, core.ShapeExpr):
            return self.shape(v)
        return self._read("as_sizes", v)

    def _read(self, reader: str, v: core.Value) -> str:
        """A tensor that is given for a size or for sizes, read."""
        mark = len(self._live)
        text = f"{reader}({self.atom(v)})"
        self.release(mark)
        target = self.temp()
        self.write(f"{target} = {text}", Site(v.span, "size", self.function))
        return target

    def _item(self, v: core.Value) -> str:
        if isinstance(v, core.Number):
            return self.literal(v.value)
        if isinstance(v, core.ListValue | core.TupleValue):
            return tuple_text(self._item(i) for i in v.items)
        return self.atom(v)

    def literal(self, value: Any) -> str:
        """A Python scalar: weakly typed by NumPy's rules."""
        if isinstance(value, float) and not math.isfinite(value):
            return self.unit.constant(("float", repr(value)), lambda: value)
        return repr(value)

    def function_value(self, name: str) -> str:
        if name in self.unit.functions or name in self.unit.impls:
            return "f_" + mangle(name)
        self.unit.primitives.add(self.unit.row(name).name)
        return "p_" + mangle(name.removeprefix("prelude."))

    def closure(self, v: core.Lambda) -> str:
        """A Python function inside this one; what it uses of the outside is bound when it is made."""
        target = self.temp()
        inner = FunctionWriter(self.unit, self.function, (p.name for p in v.params), self.indent + 1)
        inner.outer, inner.extern, inner.used = self, self.extern, self.used
        header = self.write("")
        inner.block(replace(v.body, stmts=(*v.checks, *v.body.stmts)), "return ")
        captured = [f"{inside}={outside}" for inside, outside in inner.captured.items()]
        params = ", ".join(inner.params + (["*", *captured] if captured else []))
        self.unit.lines[header] = (" " * self.indent + f"def {target}({params}):", None)
        return target

    # Statements

    def statements(self, stmts: Sequence[core.Stmt], result: core.Value | None = None) -> None:
        for i, stmt in enumerate(stmts):
            match stmt:
                case core.Let():
                    self.let(stmt)
                case core.Assert():
                    if stmt.status in LIVE:
                        callee = self._callee_of(stmt)
                        self.check(stmt, call_of(callee, (*stmts[i + 1 :], result)) if callee else None)
                case core.MatchShape():
                    self.match_shape(stmt, checked=stmt.status in LIVE)
                case core.ExprStmt(value=value):
                    if not isinstance(value, core.Var | core.Number | core.FnRef):
                        self.deliver(value, "")
                case _:
                    assert_never(stmt)

    def let(self, stmt: core.Let) -> None:
        if self.used is not None and isinstance(stmt.value, core.ShapeLevel) and self.used.isdisjoint(stmt.names):
            return
        locals_ = [self.scope.reserve(n) for n in stmt.names]
        target = ", ".join(locals_) + ("," if stmt.is_tuple and len(locals_) == 1 else "")
        self.deliver(stmt.value, f"{target} = ")
        for name, local in zip(stmt.names, locals_, strict=True):
            self.scope.bind(name, local)
            self.forget(name)

    def _callee_of(self, stmt: core.Assert) -> str | None:
        """The function whose check of a parameter this is, where that is another one than the one that it stands in."""
        declared = stmt.origin.declared
        if stmt.status is not core.Status.RESIDUAL or declared is None or declared.kind != "param":
            return None
        return declared.function if declared.function != self.function else None

    def check(self, stmt: core.Assert, call: core.Call | None = None) -> None:
        site = self.site_of(stmt)
        if call is not None:
            site = replace(site, call=call, given=self._given(call))
        self._count()
        self.write(f"if {self.negated(stmt.cond)}: raise Failed", site)

    def _count(self) -> None:
        if self.unit.count_checks:
            self.write("ran[0] += 1")

    def site_of(self, stmt: core.Assert | core.MatchShape) -> Site:
        names = tuple((n, self.local(n)) for n in sorted(names_of(stmt)) if self.knows(n))
        return Site(stmt.span, "check", self.function, check=stmt, names=names)

    def _given(self, call: core.Call) -> tuple[tuple[str, str], ...]:
        """The callee's parameters with the locals that hold their arguments."""
        callee = self.unit.functions.get(call.callee.name)
        pairs = zip(callee.params, call.args, strict=False) if callee is not None else ()
        return tuple(
            (p.name, self.local(a.value.name))
            for p, a in pairs
            if isinstance(a.value, core.Var | core.SizeVar | core.ShapeVar | core.DTypeVar) and self.knows(a.value.name)
        )

    def match_shape(self, stmt: core.MatchShape, *, checked: bool) -> None:
        site = self.site_of(stmt)
        if checked:
            self._count()
        whole = self.temp()
        self.write(f"{whole} = {self.local(stmt.tensor)}.shape")
        fits, binds, rest = self.pattern(stmt, whole)
        if checked:
            self.write(f"if not ({fits}): raise Failed", site)
        for name, text in binds:
            self.write(f"{self._bind(name)} = {text}")
        if checked:
            for cond in rest():
                self.write(f"if not ({cond}): raise Failed", site)
        self.release(self._live.index(whole))

    def pattern(self, stmt: core.MatchShape, whole: str) -> tuple[str, list[tuple[str, str]], Callable[[], list[str]]]:
        """A pattern against the shape in the local `whole`: the test of its length, the names to bind, and the other tests
        (asked for once the names are bound)."""
        dims = stmt.dims
        loose = [i for i, d in enumerate(dims) if isinstance(d, core.Splice) and d.name in stmt.binds]
        at = loose[0] if loose else len(dims)
        before, after = dims[:at], dims[at + 1 :]
        ahead, behind = self._length(before), self._length(after)
        fits = f"len({whole}) >= {_plus(ahead, behind)}" if loose else f"len({whole}) == {ahead}"
        binds: list[tuple[str, str]] = []
        tests: list[tuple[core.SizeExpr | core.Splice, str]] = []
        for group, fixed in ((before, "0"), (after, f"len({whole}) - {behind}")):
            for i, d in enumerate(group):
                start = _plus(fixed, self._length(group[:i]))
                if isinstance(d, core.SizeVar) and d.name in stmt.binds:
                    binds.append((d.name, f"{whole}[{start}]"))
                elif isinstance(d, core.Splice):
                    tests.append((d, f"{whole}[{start}:{_plus(fixed, self._length(group[: i + 1]))}]"))
                else:
                    tests.append((d, f"{whole}[{start}]"))
        if loose:
            splice = dims[at]
            assert isinstance(splice, core.Splice)
            binds.append((splice.name, f"{whole}[{ahead}:len({whole}) - {behind}]"))

        def rest() -> list[str]:
            return [f"{t} == {self.local(d.name) if isinstance(d, core.Splice) else self.size(d)}" for d, t in tests]

        return fits, binds, rest

    def _length(self, dims: tuple[core.SizeExpr | core.Splice, ...]) -> str:
        fixed = sum(not isinstance(d, core.Splice) for d in dims)
        spliced = [f"len({self.local(d.name)})" for d in dims if isinstance(d, core.Splice)]
        return f"({' + '.join([str(fixed), *spliced])})" if spliced else str(fixed)


def _plus(a: str, b: str) -> str:
    if a.isdigit() and b.isdigit():
        return str(int(a) + int(b))
    return a if b == "0" else b if a == "0" else f"{a} + {b}"


def make_tensor(v: core.TensorLit) -> Any:
    made = np.array(v.values, dtype=numpy_dtype(v.dtype)).reshape(v.shape)
    made.flags.writeable = False
    return made
