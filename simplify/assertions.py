"""Assertions of a function's own code: decided, or taken as facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from ..lang import core
from ..lang.core import Status
from ..lang.node import replace
from ..lang.source import Span
from ..lang.walk import children
from ..ops.model import TensorInfo
from ..sizes.operators import SIZE_OPERATORS
from .arms import is_of_data, with_the_wrong_rank
from .frame import Frame
from .known import matching, naming
from .known.finding import Finding
from .known.fresh import dims_of_subject
from .known.shape_level import Obligation, Poisoned, ShapeLevel, Truth, _and
from .known.state import State
from .known.values import POISON, Entry, Env, Undecided
from .messages.claims import Claim, Valued
from .messages.origins import is_open, place_of, rank_of
from .solver.conditions import AnyOf, Cond
from .solver.terms import A_FACT, over, stride
from .visitor import VisitorPart


def contradictory(state: State) -> bool:
    """Whether no sizes satisfy the assumptions."""
    facts = state.facts
    if facts.contradictory or state.impossible:
        return True
    if not facts.count or facts.possible(True):
        return False
    return any(facts.decide(cond).kind == "vacuous" for cond, _ in facts.conditions())


class Assertions(VisitorPart):
    """Decides the assertions of the code, and assumes the promises of others."""

    def check(self, frame: Frame, stmt: core.Assert, env: Env) -> None:
        """Decide an assertion of the function's own code; afterwards it is a fact."""
        level = ShapeLevel(self.state, env)
        try:
            truth = with_needs(level.truth(stmt.cond), level.needs)
        except Poisoned:
            if any(n.cond is False for n in level.needs):
                self.prover.judge(frame, False, Valued(stmt.span, level.needs), claim=False)
            self.prover.hinder(frame)
            frame.out.write(replace(stmt, status=Status.RESIDUAL))
            return
        origin = stmt.origin
        asked = Claim(stmt, env, *(self._behind(origin, truth, env) if origin.claim and truth is not True else ()))
        sizes, empty_rule = dims_of_subject(origin, env, self.state), origin.declared is not None
        status, unproved = self.prover.judge(
            frame, truth, asked, claim=origin.claim, sizes=sizes, empty_rule=empty_rule
        )
        if unproved is not None and unproved.is_unproved and origin.claim and is_of_data(asked.entry):
            unproved.arm = with_the_wrong_rank(self.state, frame.path, stmt, asked.entry)
        self._keep(frame, stmt, status, env)

    def _behind(self, origin: core.Origin, truth: Truth, env: Env) -> tuple[frozenset[Span], Finding | None]:
        """Return possible causes of an open annotation: the place that left the rank of its tensor open, and the unproved
        claim about the call that made it, if its size is right in a case in which the call's operands fit."""
        entry = env.get(origin.declared.tensor) if origin.declared is not None else None
        if entry is None:
            return frozenset(), None
        open_at = frozenset((rank_of(self.state, entry).span,) if is_open(self.state, entry) else ())
        made = place_of(self.state, entry, origin.axis).made if origin.axis is not None else None
        unproved = made.unproved if made is not None else None
        if not isinstance(unproved, Finding) or isinstance(truth, Undecided):
            return open_at, None
        cases = unproved.cond.parts if isinstance(unproved.cond, AnyOf) else (unproved.cond,)
        return open_at, unproved if any(self._holds_where(case, truth) for case in cases) else None

    def _holds_where(self, case: Cond, truth: Cond) -> bool:
        self.state.push()
        self.state.assume(case)
        holds = self.state.facts.decide(truth).kind == "proved"
        self.state.pop()
        return holds

    def _keep(self, frame: Frame, stmt: core.Assert, status: Status, env: Env) -> None:
        """Write the rest of a decided assertion, and learn its facts."""
        if status is Status.REFUTED:
            frame.out.write(replace(stmt, status=status))
            if stmt.origin.declared is not None:
                # The other parts of the annotation and its consequences are not reported again.
                env[stmt.origin.declared.tensor] = Entry(POISON, stmt.span)
            return
        if status is Status.RESIDUAL:
            frame.out.write(replace(stmt, status=status))
            self.state.unsure = self.state.unsure or not self._open(stmt, env)
        level = ShapeLevel(self.state, env)
        level.learn(stmt.cond, reason=stmt)
        self._assume_needs(level, stmt)
        if stmt.origin.declared is not None:
            naming.name_dimension(frame.names, stmt, env, partial(self.bindings.rebind, frame))
            self._note_place(frame, stmt.origin, env)

    def _note_place(self, frame: Frame, origin: core.Origin, env: Env) -> None:
        """Record an annotation as the place of a size, for diagnostics."""
        declared = origin.declared
        entry = env.get(declared.tensor) if declared is not None else None
        if entry is None or origin.axis is None or not isinstance(entry.value, TensorInfo):
            return
        rank = len(self.state.resolve(entry.value.shape))
        if -rank <= origin.axis < rank:
            axes = list(entry.axes or (None,) * rank)
            axes[origin.axis] = origin.span
            self.bindings.rebind(frame, env, declared.tensor, replace(entry, axes=tuple(axes)))  # type: ignore[union-attr]

    def _open(self, stmt: core.Assert, env: Env) -> bool:
        """Whether the condition is known to be satisfiable."""
        level = ShapeLevel(self.state, env)
        truth = level.truth(stmt.cond)
        return isinstance(truth, Undecided) or self.state.facts.possible(truth)

    def match_shape(self, frame: Frame, stmt: core.MatchShape, env: Env) -> None:
        level = ShapeLevel(self.state, env)
        try:
            truth, found = matching.match(level, stmt)
        except Poisoned:
            self.prover.hinder(frame)
            frame.out.write(replace(stmt, status=Status.RESIDUAL))
            for name in stmt.binds:
                env[name] = Entry(POISON, stmt.span)
            return
        truth = with_needs(truth, level.needs)
        sizes = dims_of_subject(stmt.origin, env, self.state)
        status, _ = self.prover.judge(frame, truth, Claim(stmt, env), claim=stmt.origin.claim, sizes=sizes)
        if status is not Status.PROVED or stmt.binds:
            frame.out.write(replace(stmt, status=status))
        if status is not Status.REFUTED:
            matching.learn_match(level, stmt, found)
        elif stmt.origin.declared is not None:
            env[stmt.tensor] = Entry(POISON, stmt.span)

    # Facts

    def assume_all(
        self, frame: Frame, stmts: Iterable[core.Stmt], env: Env, *, name_dims: bool
    ) -> tuple[core.Stmt, ...]:
        """Take assertions as facts: a function's entry check inside it, a result's promises at a call."""
        kept: list[core.Stmt] = []
        for stmt in stmts:
            if isinstance(stmt, core.Assert):
                self._assume(frame, stmt, env, name_dims)
                stmt = replace(stmt, status=Status.ENTRY)
            elif isinstance(stmt, core.MatchShape):
                level = ShapeLevel(self.state, env)
                try:
                    _, found = matching.match(level, stmt)
                    matching.learn_match(level, stmt, found)
                except Poisoned:
                    for name in stmt.binds:
                        env[name] = Entry(POISON, stmt.span)
                stmt = replace(stmt, status=Status.ENTRY)
            else:
                inner = frame.block()
                self.visitor.stmt(inner, stmt, env)
                kept += (s for s in inner.out.stmts if isinstance(s, core.Assert))
            kept.append(stmt)
        for stmt in kept if name_dims else ():
            if isinstance(stmt, core.Assert):
                naming.name_computed(frame.names, stmt, env, partial(self.bindings.rebind, frame))
        return tuple(kept)

    def _assume(self, frame: Frame, stmt: core.Assert, env: Env, name_dims: bool) -> None:
        stride(A_FACT)
        if over():
            self.state.unsure = True
            return
        level = ShapeLevel(self.state, env)
        known = True
        try:
            level.learn(stmt.cond, reason=stmt)
        except Poisoned:
            known = False
        self._assume_needs(level, stmt)
        if name_dims and known:
            naming.name_dimension(frame.names, stmt, env, partial(self.bindings.rebind, frame))
            self._note_axes(stmt, env)

    def _assume_needs(self, level: ShapeLevel, stmt: core.Assert) -> None:
        for need in level.needs:
            if not isinstance(need.cond, Undecided):
                self.state.assume(need.cond, stmt)

    def _note_axes(self, stmt: core.Assert, env: Env) -> None:
        """Record the dimensions in a parameter's annotation as the places of its sizes."""
        declared = stmt.origin.declared
        if stmt.origin.what != "rank" or declared is None or declared.annotation is None:
            return
        dims, entry = declared.annotation.dims, env.get(declared.tensor)
        if dims is not None and entry is not None:
            env[declared.tensor] = replace(entry, axes=tuple(item.span for item in dims))

    # Conditions for a size to have a value

    def open_obligations(self, expr: core.ShapeLevel, env: Env) -> tuple[core.Assert, ...]:
        """Return the unproved conditions for a size or a condition to have a value; they are checked even if the value is
        unused."""
        level, kept = ShapeLevel(self.state, env), []
        origin = core.Origin(expr.span, "obligation", False, None, None, expr.span.text)
        for cond in obligations(expr):
            try:
                proved = self.prover.decide(with_needs(level.truth(cond), level.needs)) is True
            except Poisoned:
                proved = False
            if not proved:
                kept.append(core.Assert(expr.span, cond, None, origin, Status.RESIDUAL))
        return tuple(kept)


def obligations(expr: core.ShapeLevel) -> Iterator[core.BoolExpr]:
    """Yield the obligations of an expression as conditions in the core: divisors are positive, `/` divides, axes exist, and
    broadcast operands fit (written as `e == e`)."""
    for part in (expr.left,) if isinstance(expr, core.Logic) else children(expr):
        if not isinstance(part, core.SizeLit | core.SizeVar):
            yield from obligations(part)  # type: ignore[arg-type]
    if isinstance(expr, core.SizeOp):
        yield from _of_operation(expr)
    elif isinstance(expr, core.BroadcastOf):
        yield core.Compare(expr.span, "==", expr, expr)
    elif isinstance(expr, core.DimOf):
        least = expr.axis + 1 if expr.axis >= 0 else -expr.axis
        yield core.Compare(expr.span, ">=", core.RankOf(expr.span, expr.tensor), core.SizeLit(expr.span, least))
    elif isinstance(expr, core.Logic):
        past = core.Not(expr.left.span, expr.left) if expr.op == "&&" else expr.left
        yield from (core.Logic(cond.span, "||", past, cond) for cond in obligations(expr.right))


def _of_operation(expr: core.SizeOp) -> Iterator[core.BoolExpr]:
    row = SIZE_OPERATORS[expr.op]
    if row.fits:
        yield core.Compare(expr.span, "==", expr, expr)
    if row.divides and not (isinstance(expr.right, core.SizeLit) and expr.right.value > 0):
        yield core.Compare(expr.span, ">=", expr.right, core.SizeLit(expr.span, 1))
    if row.exactly:
        rest = core.operation(expr.span, "%", expr.left, expr.right)
        yield core.Compare(expr.span, "==", rest, core.SizeLit(expr.span, 0))


def with_needs(truth: Truth, needs: list[Obligation]) -> Truth:
    for need in needs:
        truth = _and(need.cond, truth)
    return truth
