"""Core functions to Python source text, one line per primitive call or check, with the site that each line stands for.

A failure is found again by its line: nothing is recorded while a program runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..lang import core
from ..lang.dtypes import CLASSES, DTYPES, DType, members
from ..lang.node import Node, replace
from ..lang.source import NOWHERE, Span
from ..ops import registry as rows
from ..ops.binding import bind
from ..ops.model import Param, Primitive
from .dtypes import is_extended, numpy_dtype
from .guards import make_guard
from .kernels import registry as kernels
from .names import Scope, mangle
from .trees import call_of, names_of

SIZE_LEVEL = (core.SizeLit, core.SizeVar, core.SizeOp, core.RankOf, core.DimOf)
SHAPE_LEVEL = (core.ShapeVar, core.ShapeOf, core.ShapeLit)
DTYPE_LEVEL = (core.DTypeLit, core.DTypeVar, core.DTypeOf)
BOOL_LEVEL = (core.BoolConst, core.BoolVar, core.Compare, core.InClass, core.Not, core.Logic)
SHAPE_LEVELS = (*SIZE_LEVEL, *SHAPE_LEVEL, *DTYPE_LEVEL, *BOOL_LEVEL)
NEGATED = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
LIVE = (core.Status.OPEN, core.Status.RESIDUAL, core.Status.ENTRY, core.Status.REFUTED)
# The dtypes that NumPy's own functions treat as the kernels do; `in` compares byte order as well.
PLAIN = frozenset(numpy_dtype(d) for d in DTYPES.values() if not is_extended(d) and d.kind != "string")
# Primitives that are one method of an array: called without a kernel in between.
METHODS = {
    "reshape": "{}.reshape({})",
    "permute_dims": "{}.transpose({})",
    "matrix_transpose": "{}.swapaxes(-1, -2)",
    "swapaxes": "{}.swapaxes({}, {})",
}
# Python takes a hundred levels of indentation; what is deeper is outlined.
DEEPEST = 40
# What the combined door check may raise on values that do not fit; the door's own statements then say which check failed.
UNFIT = "(ValueError, IndexError, ArithmeticError, TypeError, AttributeError)"


_MINUS_ONE = core.SizeLit(NOWHERE, -1)


class Site(Node):
    """What a generated line does, for the diagnostic when it fails.

    kind is check, door (the call of a function's own checks), call (of a function of the program), kernel, extern or size.
    `names` maps the Rx names that a check speaks of to Python locals; `operands` pairs a kernel's parameters with Python
    texts, which are locals where a diagnostic can show them. Of a callee's check that stands before its call, `call` is that
    call and `given` maps the callee's parameters to Python locals.
    """

    span: Span
    kind: str
    function: str
    check: core.Assert | core.MatchShape | None = None
    callee: str = ""
    names: tuple[tuple[str, str], ...] = ()
    operands: tuple[tuple[str, str], ...] = ()
    call: core.Call | None = None
    given: tuple[tuple[str, str], ...] = ()


Line = tuple[str, Site | None]


class Unit:
    """One program's generated module while it grows: its lines, the sites of the lines, and the constants it refers to."""

    def __init__(
        self, program: core.Program, *, direct: bool = True, guard_all: bool = False, count_checks: bool = False
    ) -> None:
        self.functions = {f.name: f for f in (*program.functions, *((program.main,) if program.main else ()))}
        self.impls = {i.name: i for i in program.impls}
        self.consts: set[str] = set()
        self.direct = direct
        self.guard_all = guard_all
        self.count_checks = count_checks
        self.lines: list[Line] = []
        self.later: list[Callable[[], None]] = []
        self._outlined = 0
        self.globals: dict[str, Any] = {}
        self.externs: dict[str, core.Function] = {}
        self.primitives: set[str] = set()
        # Whether a dtype of ml_dtypes or strings turned up, to which NumPy's functions do not do what the kernels do.
        self.extended = False
        self._pool: dict[Any, str] = {}

    def outlined_name(self) -> str:
        """A name that no other function has."""
        self._outlined += 1
        return f"a{self._outlined}"

    def constant(self, key: Any, make: Callable[[], Any]) -> str:
        """The global that holds `make()`; one per key."""
        if key not in self._pool:
            name = f"k{len(self._pool)}"
            self._pool[key] = name
            self.globals[name] = make()
        return self._pool[key]

    def dtype(self, dtype: DType) -> str:
        name = f"D_{dtype.name}"
        if name not in self.globals:
            self.globals[name] = numpy_dtype(dtype)
            self.extended = self.extended or numpy_dtype(dtype) not in PLAIN
        return name

    def array(self, key: Any, make: Callable[[], Any]) -> str:
        """The global that holds an array that is there before anything runs."""
        name = self.constant(key, make)
        self.extended = self.extended or self.globals[name].dtype not in PLAIN
        return name

    def row(self, name: str) -> Primitive:
        found = rows.lookup(name.removeprefix("prelude."))
        if found is None:
            raise LookupError(f"no function or primitive is called @{name}")
        return found

    def kernel(self, row: Primitive, *, plain: bool) -> str:
        """The global that holds what computes a primitive: a NumPy function where that is all there is to it."""
        kernel = kernels.lookup(row.name)
        direct = kernels.DIRECT.get(row.name) if plain and self.direct else None
        if direct is None:
            name = "kernel_" + mangle(row.name)
            self.globals[name] = kernel
            return name
        name = "np_" + direct.removeprefix("np.").replace(".", "_")
        self.globals.setdefault(name, numpy_function(direct.removeprefix("np.")))
        return name

    def write(self, indent: int, text: str, site: Site | None = None) -> int:
        """Append a line; gives its index, for a header that is completed later."""
        self.lines.append((" " * indent + text, site))
        return len(self.lines) - 1

    def finish(self) -> None:
        """Write the functions that were put off."""
        while self.later:
            self.later.pop()()

    def text(self) -> tuple[str, dict[int, Site]]:
        """The module's text and the site of each line that has one."""
        sites = {number: site for number, (_, site) in enumerate(self.lines, start=1) if site is not None}
        return "\n".join(text for text, _ in self.lines) + "\n", sites


def numpy_function(path: str) -> Any:
    found: Any = np
    for part in path.split("."):
        found = getattr(found, part)
    return found


class FunctionWriter:
    """Writes one Python function. An expression comes back as text; what must happen before it has been written by then."""

    def __init__(self, unit: Unit, function: str, params: Iterable[str], indent: int = 0) -> None:
        self.unit = unit
        self.function = function
        self.indent = indent
        self.outer: FunctionWriter | None = None
        self.captured: dict[str, str] = {}
        self.scope = Scope()
        self.extern: str | None = None
        self.used: set[str] | None = None
        self.dims: dict[tuple[str, int], str] = {}
        self._live: list[str] = []
        self._free: list[str] = []
        self._temps = 0
        self.params = [self._bind(p) for p in params]

    # Names

    def _bind(self, name: str) -> str:
        local = self.scope.reserve(name)
        self.scope.bind(name, local)
        return local

    def local(self, name: str) -> str:
        """The Python text of an Rx name: a local, one captured from the function around a Lambda, or a const."""
        found = self.scope.find(name)
        if found is not None:
            return found
        if self.outer is not None and self.outer.knows(name):
            outside = self.outer.local(name)
            if not outside.startswith("v_"):
                return outside
            inside = self.scope.reserve(name)
            root = self.scope
            while root.outer is not None:
                root = root.outer
            root.bind(name, inside)
            self.captured[inside] = outside
            return inside
        if name in self.unit.consts:
            return "c_" + mangle(name)
        raise LookupError(f"{name} is not bound in @{self.function}")

    def forget(self, name: str) -> None:
        """The tensor is bound again: its sizes are no longer the ones of the door."""
        for key in [k for k in self.dims if k[0] == name]:
            del self.dims[key]

    def knows(self, name: str) -> bool:
        if self.scope.find(name) is not None or name in self.unit.consts:
            return True
        return self.outer is not None and self.outer.knows(name)

    def temp(self) -> str:
        if self._free:
            name = self._free.pop()
        else:
            self._temps += 1
            name = f"t{self._temps}"
        self._live.append(name)
        return name

    def release(self, mark: int) -> None:
        """Temporaries made since `mark` are read by the line that is written next, and free after it."""
        self._free.extend(reversed(self._live[mark:]))
        del self._live[mark:]

    def write(self, text: str, site: Site | None = None) -> int:
        return self.unit.write(self.indent, text, site)

    # Shape-level expressions: pure text, evaluated where it stands

    def size(self, e: core.SizeExpr) -> str:
        match e:
            case core.SizeLit(value=value):
                return str(value) if value >= 0 else f"({value})"
            case core.SizeVar(name=name):
                return self.local(name)
            case core.RankOf(tensor=tensor):
                return f"{self.local(tensor)}.ndim"
            case core.DimOf(tensor=tensor, axis=axis):
                known = self.dims.get((tensor, axis)) if self.dims else None
                return known or f"{self.local(tensor)}.shape[{axis}]"
            case core.SizeOp(op=op, left=left, right=right):
                return self._size_op(op, left, right)

    def _size_op(self, op: str, left: core.SizeExpr, right: core.SizeExpr) -> str:
        a, b = self.size(left), self.size(right)
        positive = isinstance(right, core.SizeLit) and right.value > 0
        match op:
            case "+" | "-" | "*":
                return f"({a} {op} {b})"
            case "min" | "max":
                return f"{op}({a}, {b})"
            case "//" | "%":
                return f"({a} {op} {b})" if positive else f"{'floor' if op == '//' else 'modulo'}({a}, {b})"
            case "ceildiv":
                return f"(-(-{a} // {b}))" if positive else f"ceildiv({a}, {b})"
            case "/":
                return f"exact({a}, {b})"
        raise LookupError(f"no size operator {op}")

    def shape(self, e: core.ShapeExpr) -> str:
        match e:
            case core.ShapeVar(name=name):
                return self.local(name)
            case core.ShapeOf(tensor=tensor):
                return f"{self.local(tensor)}.shape"
            case core.ShapeLit(dims=dims):
                return _tuple(self.dim(d) for d in dims)

    def dim(self, d: core.SizeExpr | core.Splice) -> str:
        return f"*{self.local(d.name)}" if isinstance(d, core.Splice) else self.size(d)

    def dtype(self, e: core.DTypeExpr) -> str:
        match e:
            case core.DTypeLit(dtype=dtype):
                return self.unit.dtype(dtype)
            case core.DTypeVar(name=name):
                return self.local(name)
            case core.DTypeOf(tensor=tensor):
                return f"{self.local(tensor)}.dtype"

    def boolean(self, e: core.BoolExpr) -> str:
        match e:
            case core.BoolConst(value=value):
                return str(value)
            case core.BoolVar(name=name):
                return self.local(name)
            case core.Not(operand=operand):
                return self.negated(operand)
            case core.Logic(op=op, left=left, right=right):
                return f"({self.boolean(left)} {'and' if op == '&&' else 'or'} {self.boolean(right)})"
            case core.Compare(op=op, left=left, right=right):
                return f"{self.shape_level(left)} {op} {self.shape_level(right)}"
            case core.InClass(item=item, choices=choices):
                return f"{self.dtype(item)} in {self._choices(choices)}"

    def negated(self, e: core.BoolExpr) -> str:
        """The text that is true where e is false."""
        if isinstance(e, core.Compare):
            return f"{self.shape_level(e.left)} {NEGATED[e.op]} {self.shape_level(e.right)}"
        return f"not ({self.boolean(e)})"

    def _choices(self, choices: tuple[str, ...]) -> str:
        def make() -> frozenset[Any]:
            found = [d for c in choices for d in (members(c) if c in CLASSES else (DTYPES[c],))]
            return frozenset(numpy_dtype(d) for d in found)

        return self.unit.constant(("choices", choices), make)

    def shape_level(self, e: core.ShapeLevel) -> str:
        if isinstance(e, SIZE_LEVEL):
            return self.size(e)
        if isinstance(e, SHAPE_LEVEL):
            return self.shape(e)
        if isinstance(e, DTYPE_LEVEL):
            return self.dtype(e)
        return f"({self.boolean(e)})"

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
                return _tuple(self.atom(item) for item in items)
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
            if isinstance(v, SIZE_LEVEL + SHAPE_LEVEL + BOOL_LEVEL):
                site = Site(v.span, "size", self.function)
        self.release(mark)
        self.write(prefix + text, site)

    def _if(self, v: core.If, prefix: str) -> None:
        mark = len(self._live)
        cond = v.cond
        if isinstance(cond, BOOL_LEVEL):
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
        if self.extern is not None and name.rstrip("'") == self.extern + "_impl" and name not in self.unit.functions:
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
                return _tuple("WILDCARD" if d == _MINUS_ONE else self.dim(d) for d in v.dims)
            case "shape" | "sizes" | "ints" | "target":
                return self._sizes(v)
            case "tensors" | "pairs" if isinstance(v, core.ListValue | core.TupleValue):
                return _tuple(self._item(i) for i in v.items)
        return self.atom(v)

    def _sizes(self, v: core.Value) -> str:
        if isinstance(v, core.ListValue | core.TupleValue):
            return _tuple(self.argument(Param("", "size"), i) for i in v.items)
        if isinstance(v, SIZE_LEVEL):
            return f"({self.size(v)},)"
        if isinstance(v, SHAPE_LEVEL):
            return self.shape(v)
        mark = len(self._live)
        text = f"as_sizes({self.atom(v)})"
        self.release(mark)
        target = self.temp()
        self.write(f"{target} = {text}", Site(v.span, "size", self.function))
        return target

    def _item(self, v: core.Value) -> str:
        if isinstance(v, core.Number):
            return self.literal(v.value)
        if isinstance(v, core.ListValue | core.TupleValue):
            return _tuple(self._item(i) for i in v.items)
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
        inner.block(v.body, "return ")
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

    def let(self, stmt: core.Let) -> None:
        if self.used is not None and isinstance(stmt.value, SHAPE_LEVELS) and self.used.isdisjoint(stmt.names):
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


def _tuple(texts: Iterable[str]) -> str:
    items = list(texts)
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def make_tensor(v: core.TensorLit) -> Any:
    made = np.array(v.values, dtype=numpy_dtype(v.dtype)).reshape(v.shape)
    made.flags.writeable = False
    return made
