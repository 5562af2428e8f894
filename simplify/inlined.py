"""A simplified program with its wrappers inlined: each call as the expression that shape propagation gives.

A call of a function whose result is annotated becomes the call of its implementation, between the facts about its arguments
and those about its result, with known sizes filled in. All these assertions are proved: they document the facts.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import core
from ..lang.core import Status
from ..lang.node import Node, replace
from ..lang.renaming import renamed
from ..lang.source import NOWHERE, Span
from ..lang.walk import rewrite
from ..sizes.integers import folded
from .frame import Emitter, Temporaries
from .program import bound_below

Facts = dict[str, core.Known]
Check = core.Assert | core.MatchShape


def inlined(before: core.Program, program: core.Program) -> core.Program:
    """Inline every call of a wrapper that has an implementation, in implementations, unannotated bodies and the script.
    `before` has the promises of each wrapper, `program` the checks that are left of them."""
    left = {f.name: f for f in program.functions}
    wrappers = {
        f.name: _promising(f, left[f.name]) for f in before.functions if f.impl is not None and f.kind == "inline"
    }
    owners = {f.impl: f for f in wrappers.values()}
    consts = {c.name for c in program.consts}

    def done(function: core.Function) -> core.Function:
        if function.impl is not None:
            return function
        work = _Inlining(wrappers, {*bound_below(function), *consts})
        return replace(
            function, body=work.block(function.body, _of_params(function, owners.get(function.name, function)))
        )

    main = done(program.main) if program.main is not None else None
    return replace(program, functions=tuple(map(done, program.functions)), main=main)


def _of_params(function: core.Function, wrapper: core.Function) -> Facts:
    """The numbers that a function's checks give for its parameters."""
    conds = [s.cond for s in wrapper.checks if isinstance(s, core.Assert) and isinstance(s.cond, core.Compare)]
    said = {c.left: c.right for c in conds if c.op == "==" and isinstance(c.right, core.SizeLit | core.DTypeLit)}
    found = {}
    for param, given in zip(function.params, wrapper.params, strict=True):
        rank = said.get(core.RankOf(NOWHERE, given.name))
        if isinstance(rank, core.SizeLit):
            unknown = core.SizeVar(NOWHERE, "?")
            dims = (said.get(core.DimOf(NOWHERE, given.name, i), unknown) for i in range(rank.value))
            dtype = said.get(core.DTypeOf(NOWHERE, given.name), core.DTypeVar(NOWHERE, "?"))
            found[param.name] = core.Known(tuple(dims), dtype)  # type: ignore[arg-type]
    return found


def _promising(before: core.Function, after: core.Function) -> core.Function:
    """A wrapper with all its promises, each with its status."""
    left = {s.span: s for s in after.promises if isinstance(s, Check)}
    promises = tuple(
        left.get(s.span, replace(s, status=Status.PROVED)) if isinstance(s, Check) else s for s in before.promises
    )
    return replace(before, promises=promises)


class _Inlining:
    def __init__(self, wrappers: dict[str, core.Function], taken: set[str]) -> None:
        self.wrappers, self.taken = wrappers, taken
        self.temporaries = Temporaries(taken)

    def fresh(self, name: str) -> str:
        """Return the name, with primes if it is taken."""
        while name in self.taken:
            name += "'"
        self.taken.add(name)
        return name

    def block(self, block: core.Block, known: Facts) -> core.Block:
        """Rewrite a block; `known` has the facts about tensors around it."""
        out, known = Emitter(self.temporaries), dict(known)
        for stmt in block.stmts:
            if isinstance(stmt, core.Let | core.ExprStmt):
                stmt = replace(stmt, value=self.value(stmt.value, out, known))
            out.write(stmt)
            if isinstance(stmt, core.Let):
                known |= {n: k for n, k in zip(stmt.names, stmt.known, strict=False) if k is not None}
        result = self.value(block.result, out, known)
        return core.Block(block.span, tuple(out.stmts), result)

    def value(self, value: core.Value, out: Emitter, known: Facts) -> core.Value:
        """Rewrite a value; the replacements of its calls are written before it."""
        match value:
            case core.Call():
                args = tuple(replace(a, value=self.value(a.value, out, known)) for a in value.args)
                value = replace(value, args=args)
                wrapper = self.wrappers.get(value.callee.name)
                inlines = wrapper is not None and value.decided
                return self._inlined(wrapper, value, out, known) if wrapper is not None and inlines else value
            case core.TupleValue() | core.ListValue():
                return replace(value, items=tuple(self.value(item, out, known) for item in value.items))
            case core.If():
                return replace(value, then=self.block(value.then, known), orelse=self.block(value.orelse, known))
            case core.Loop():
                carries = tuple(replace(c, init=self.value(c.init, out, known)) for c in value.carries)
                return replace(value, carries=carries, body=self.block(value.body, known))
            case core.Lambda():
                return replace(value, body=self.block(value.body, known))
            case core.Var() | core.FnRef() | core.Number() | core.TensorLit() | core.Load() | core.Text():
                return value
        return self._level(value)

    def _level(self, value: core.ShapeLevel) -> core.Value:
        return value

    def _inlined(self, wrapper: core.Function, call: core.Call, out: Emitter, known: Facts) -> core.Value:
        names: dict[str, core.Value] = {}
        args, facts = [], dict(known)
        for param, arg in zip(wrapper.params, call.args, strict=True):
            args.append(self._named(param, arg, out, facts))
            names[param.name] = args[-1].value
        for arg in args:
            if isinstance(arg.value, core.Var) and arg.value.name in facts:
                out.write(*_said(arg.value.name, facts[arg.value.name], arg.span))
        for stmt in wrapper.checks:
            for bound in core.bound_names(stmt):
                names[bound] = core.Var(stmt.span, self.fresh(bound))
                out.write(renamed(stmt, names))
        [made] = wrapper.body.stmts
        assert isinstance(made, core.Let) and isinstance(made.value, core.Call) and wrapper.impl is not None
        result = self.fresh(made.names[0])
        names[made.names[0]] = core.Var(call.span, result)
        callee = core.FnRef(call.span, wrapper.impl)
        if call.known is not None:
            known[result] = call.known
        out.write(replace(made, names=(result,), value=replace(call, callee=callee, args=tuple(args), decided=False)))
        for stmt in wrapper.promises:
            for bound in core.bound_names(stmt):
                names[bound] = core.Var(stmt.span, self.fresh(bound))
            out.write(_filled(renamed(stmt, names), facts))
        return core.Var(call.span, result)

    def _named(self, param: core.Param, arg: core.Arg, out: Emitter, facts: Facts) -> core.Arg:
        """Return the argument, with a name if promises may mention it."""
        if not isinstance(arg.value, core.Call | core.If | core.Loop | core.TensorLit | core.TupleValue):
            return arg
        name = out.temporary()
        out.write(core.Let(arg.span, (name,), False, None, arg.value))
        if isinstance(arg.value, core.Call) and arg.value.known is not None:
            facts[name] = arg.value.known
        if isinstance(arg.value, core.TensorLit):
            dims = tuple(core.SizeLit(arg.span, n) for n in arg.value.shape)
            facts[name] = core.Known(dims, core.DTypeLit(arg.span, arg.value.dtype))
        return replace(arg, value=core.variable(arg.span, name, param.sort))


def _said(name: str, known: core.Known, span: Span) -> Iterator[core.Assert]:
    """The known numbers of a tensor, as proved assertions."""
    conds: list[core.BoolExpr] = []
    if known.shape is not None:
        conds.append(core.Compare(span, "==", core.RankOf(span, name), core.SizeLit(span, len(known.shape))))
        dims = ((core.DimOf(span, name, i), d) for i, d in enumerate(known.shape) if isinstance(d, core.SizeLit))
        conds += [core.Compare(span, "==", dim, size) for dim, size in dims]
    if isinstance(known.dtype, core.DTypeLit):
        conds.append(core.Compare(span, "==", core.DTypeOf(span, name), known.dtype))
    for cond in conds:
        yield core.Assert(span, cond, None, core.Origin(span, "assert", False, None), Status.PROVED)


def _filled(stmt: core.Stmt, facts: Facts) -> core.Stmt:
    """Fill in the known numbers of a statement's tensors."""

    def change(node: Node) -> Node:
        known = facts.get(node.tensor) if isinstance(node, core.DimOf | core.RankOf | core.DTypeOf) else None
        if known is not None and isinstance(node, core.DTypeOf) and isinstance(known.dtype, core.DTypeLit):
            return known.dtype
        if known is not None and known.shape is not None:
            if isinstance(node, core.RankOf):
                return core.SizeLit(node.span, len(known.shape))
            if isinstance(node, core.DimOf) and isinstance(known.shape[node.axis], core.SizeLit):
                return known.shape[node.axis]
        return folded(node)

    return rewrite(stmt, change)
