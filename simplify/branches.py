"""The arms of an `if`: each walked under its condition, then joined; with the checks that fail in one of them alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..lang import core
from ..lang.core import Status
from ..lang.dtypes import WEAK
from ..lang.source import Span
from ..ops.model import TensorInfo, Truth as TruthElement
from .arms import JOIN
from .frame import DataChoice, Frame, Side
from .known import joining
from .known.fresh import settle
from .known.shape_level import Poisoned, ShapeLevel, Truth
from .known.state import State
from .known.values import UNDECIDED, Entry, Env, Made, NumberValue, TupleValue, Undecided, Value, plain
from .messages import claims
from .messages.claims import Decides
from .solver.conditions import Cond, Condition, all_of, any_of, cond_variables, eq, negate
from .solver.sizes import only_var
from .solver.terms import AN_IF, Size, Term, Var, over, smax, stride, variables
from .visitor import VisitorPart

Promises = tuple[tuple[Condition, frozenset[Var]], ...]


class Branches(VisitorPart):
    """Walks both arms, or the one that is taken."""

    def choose(self, frame: Frame, expr: core.If, env: Env) -> tuple[Entry, core.Value]:
        if isinstance(expr.cond, core.ShapeLevel):
            return self._if_on_sizes(frame, expr, expr.cond, env)  # type: ignore[arg-type]
        entry, cond = self.visitor.value(frame, expr.cond, env)
        entry = self.bindings.known_as(frame, env, entry, cond, core.TENSOR)
        decided = _decided_by_sizes(entry.value)
        known = _constant(entry.value) if decided is None else self.prover.decide(decided)
        if known is not None:
            return self._taken(frame, expr, known, env)
        if isinstance(entry.value, TensorInfo | NumberValue):
            cond = self.truth_value(frame, entry.value, cond, "`if`")
        return self._both(frame, expr, cond, None, env, decided)

    def truth_value(self, frame: Frame, value: TensorInfo | NumberValue, cond: core.Value, where: str) -> core.Value:
        """Check that a tensor that decides an `if` or a loop is one truth value: rank 0, boolean or integer."""
        span = cond.span
        if isinstance(value, NumberValue):
            value = TensorInfo((), WEAK[type(value.value)])
        dtype = self.state.dtype(value.dtype) if value.dtype is not None else WEAK[bool]
        known = self.state.in_class(dtype, ("boolean", "integer"))
        checks: tuple[tuple[Truth, str], ...] = (
            (eq(self.state.rank(value.shape), 0), "rank 0"),
            (UNDECIDED if known is None else known, "a boolean or integer dtype"),
        )
        name: str | None = cond.name if isinstance(cond, core.Var) else None
        for position, (truth, what) in enumerate(checks):
            asked = Decides(span, value, where, what, of_rank=position == 0)
            status, _ = self.prover.judge(frame, truth, asked, claim=True, empty_rule=False)
            if status is Status.REFUTED:
                break
            if status is Status.RESIDUAL:
                if name is None:
                    name = frame.out.temporary()
                    frame.out.write(core.Let(span, (name,), False, None, cond))
                frame.out.write(_condition_check(span, name, position == 0, what))
        return cond if name is None else core.Var(span, name)

    def _if_on_sizes(self, frame: Frame, expr: core.If, cond: core.BoolExpr, env: Env) -> tuple[Entry, core.Value]:
        level = ShapeLevel(self.state, env)
        try:
            truth = level.truth(cond)
        except Poisoned:
            self.visitor.value(frame, cond, env)
            return self._both(frame, expr, cond, None, env)
        if level.needs:
            self.visitor.value(frame, cond, env)
        known = self.prover.decide(truth)
        if known is not None:
            return self._taken(frame, expr, known, env)
        return self._both(frame, expr, cond, cond, env)

    def _taken(self, frame: Frame, expr: core.If, known: bool, env: Env) -> tuple[Entry, core.Value]:
        """Walk the arm that a decided condition takes; the other one is dropped, with a note."""
        arm, dropped = (expr.then, expr.orelse) if known else (expr.orelse, expr.then)
        # An arm of a gradient has the span of its condition: nobody wrote it.
        written = dropped.span != expr.cond.span and (dropped.stmts or isinstance(dropped.result, core.Call))
        if not frame.quiet and written:
            self.prover.log.remark(claims.dropped(self.prover.function, dropped, expr.cond.span, known))
        inner = dict(env)
        since = self.bindings.mark()
        entry, block = self.visitor.block(frame, arm, inner)
        entry = settle(self.state, entry)
        self.bindings.close(since)
        if any(name in env for stmt in block.stmts for name in core.bound_names(stmt)):
            return entry, core.If(expr.span, core.BoolConst(expr.cond.span, True), block, block)
        frame.out.write(*block.stmts)
        return entry, block.result

    def _both(
        self,
        frame: Frame,
        expr: core.If,
        cond: core.BoolExpr | core.Value,
        sizes: core.BoolExpr | None,
        env: Env,
        decided: Cond | None = None,
    ) -> tuple[Entry, core.Value]:
        """Walk both arms. The condition is one on `sizes`, or a tensor that such a condition may have `decided`: callers are
        asked for that, but it is no fact in an arm, because a check there that never holds is nobody's mistake."""
        stride(AN_IF)
        if over():
            return self._unread(frame, expr, cond, sizes is not None, env)
        if (first := self.prover.side(DataChoice(expr.span, frame.calls))) is not None:
            return self._on_side(frame, expr, cond, expr.then if first else expr.orelse, env)
        newest = self.state.serial()
        base = self.state.facts.count
        self.prover.choices += 1
        log, choice = self.prover.log, self.prover.choices
        sides = ((expr.then, Side(choice, True)), (expr.orelse, Side(choice, False)))
        begins, arms, since = [], [], len(self.prover.demands)
        for block, side in sides:
            begins.append(len(log.findings))
            arms.append(self._arm(frame, block, side, sizes, dict(env), decided, base))
        log.keep_what_both_have(*begins)
        self.prover.fail_where_both_arms_do(frame, choice, since)
        (then, then_settled, then_block, then_facts, _), (orelse, else_settled, else_block, else_facts, _) = arms
        if then.value == orelse.value:
            joined = Entry(then.value, expr.span)
        else:
            taken = self._taken_where(sizes, env, True) if decided is None else decided
            if _differ_in_rank(self.state, then_settled.value, else_settled.value):
                self.prover.rank_rests_on(frame, DataChoice(expr.span, frame.calls) if taken is None else taken)
            promised = (_about_new(then_facts, newest), _about_new(else_facts, newest))
            guards = (arms[0][4], arms[1][4])
            joined = self.join(frame, then_settled, else_settled, expr.span, guards, taken, promised, newest=newest)
        self._learn_common(then_facts, else_facts, newest)
        return joined, core.If(expr.span, cond, then_block, else_block)

    def _on_side(
        self, frame: Frame, expr: core.If, cond: core.BoolExpr | core.Value, arm: core.Block, env: Env
    ) -> tuple[Entry, core.Value]:
        """Walk the one arm of the current case."""
        since = self.bindings.mark()
        entry, block = self.visitor.block(frame, arm, dict(env))
        entry = settle(self.state, entry)
        self.bindings.close(since)
        return entry, core.If(expr.span, cond, block, block)

    def _arm(
        self,
        frame: Frame,
        block: core.Block,
        side: Side,
        sizes: core.BoolExpr | None,
        env: Env,
        decided: Cond | None,
        base: int,
    ) -> tuple[Entry, Entry, core.Block, list[Cond], tuple[Cond, ...]]:
        """Return an arm's value, as it is and settled, its block, its facts, and those of its condition."""
        self.state.push()
        since, positive = self.bindings.mark(), side.first
        where = self._taken_where(sizes, env, positive) if decided is None else _side(decided, positive)
        if sizes is not None:
            reason = sizes if positive else core.Not(sizes.span, sizes)
            ShapeLevel(self.state, env).learn(sizes, positive, reason=reason)
            self.state.unsure = True
        guard = tuple(c for c, _ in self.state.facts.conditions(base))
        entry, after = self.visitor.block(frame.arm(where, side if frame.turn is None else None), block, env)
        learned = [c for c, _ in self.state.facts.conditions(base)]
        found = entry, settle(self.state, entry), after, learned, guard
        self.bindings.close(since)
        self.state.pop()
        return found

    def _unread(
        self, frame: Frame, expr: core.If, cond: core.BoolExpr | core.Value, on_sizes: bool, env: Env
    ) -> tuple[Entry, core.Value]:
        """Walk both arms when no steps are left: the arms learn nothing from the condition, and the code after them nothing
        from the arms."""
        arms = []
        for block in (expr.then, expr.orelse):
            self.state.push()
            since = self.bindings.mark()
            self.state.unsure = self.state.unsure or on_sizes
            entry, after = self.visitor.block(frame.arm(None), block, dict(env))
            arms.append((settle(self.state, entry), after))
            self.bindings.close(since)
            self.state.pop()
        (then, then_block), (orelse, else_block) = arms
        value = joining.join(self.state, then.value, orelse.value, [])
        return Entry(value, expr.span), core.If(expr.span, cond, then_block, else_block)

    def _taken_where(self, sizes: core.BoolExpr | None, env: Env, positive: bool) -> Cond | None:
        """The condition on sizes under which an arm is taken; None if something else decides."""
        truth = UNDECIDED if sizes is None else ShapeLevel(self.state, env).truth(sizes)
        if isinstance(truth, Undecided):
            return None
        return truth if positive else negate(truth)

    def join(
        self,
        frame: Frame,
        a: Entry,
        b: Entry,
        span: Span,
        guards: tuple[tuple[Cond, ...], tuple[Cond, ...]] = ((), ()),
        taken: Cond | None = None,
        promised: tuple[Promises, Promises] = ((), ()),
        others: Iterable[Cond] = (),
        newest: int | None = None,
    ) -> Entry:
        """Join the values of both arms: equal sizes stay; a size that differs is one of the two, each under its arm's
        condition and with the arm's facts (`promised`) about sizes that are new in it; or one of the `others` holds, and
        neither arm is taken. It is at most the greater one, if sizes up to the `newest` before the arms bound both."""
        cases: joining.Cases = []
        value = joining.join(self.state, a.value, b.value, cases)
        if cases:
            known = [_speaking_of((case[i] for case in cases), promised[i - 1]) for i in (1, 2)]
            one = all_of(*guards[0], *(eq(both, size) for both, size, _ in cases), *known[0])
            other = all_of(*guards[1], *(eq(both, size) for both, _, size in cases), *known[1])
            self.state.assume(any_of(one, other, *others))
            for both, x, y in cases:
                self.state.either.begin(only_var(both), (x, y))
                if newest is not None:
                    self._bound(both, (x, y), newest)
                if taken is not None:
                    self.state.choices.begin(only_var(both), ((taken, x), (negate(taken), y)))
        return Entry(value, span, origin=Made(JOIN, (("then", a), ("else", b)), None, guards, len(frame.path)))

    def _bound(self, both: Term, sizes: tuple[Size, Size], newest: int) -> None:
        bounds = [self.state.upper_bound(size) for size in sizes]
        known = [b for b in bounds if b is not None and all(v.serial <= newest for v in variables(b))]
        if len(known) == len(sizes):
            self.state.opaque.begin(only_var(both), smax(*known))

    def _learn_common(self, then_facts: list[Cond], else_facts: list[Cond], newest: int) -> None:
        """Assume after both arms the facts that both entail."""
        if not then_facts or not else_facts:
            return
        for own, other in ((then_facts, else_facts), (else_facts, then_facts)):
            self.state.push()
            for cond in other:
                self.state.assume(cond)
            common = [c for c in own[:8] if is_older(c, newest) and self.state.facts.decide(c).kind == "proved"]
            self.state.pop()
            for cond in common:
                self.state.assume(cond)


def _condition_check(span: Span, name: str, rank: bool, what: str) -> core.Assert:
    origin = core.Origin(span, "condition", True, None, None, f"the condition has {what}")
    if rank:
        cond: core.BoolExpr = core.Compare(span, "==", core.RankOf(span, name), core.SizeLit(span, 0))
    else:
        floating = core.InClass(span, core.DTypeOf(span, name), ("integer",), False)
        boolean = core.Compare(span, "==", core.DTypeOf(span, name), core.DTypeLit(span, WEAK[bool]))
        cond = core.Logic(span, "||", boolean, floating)
    return core.Assert(span, cond, None, origin, Status.RESIDUAL)


def _constant(value: Value) -> bool | None:
    """The truth of a literal condition; a float has none."""
    if isinstance(value, NumberValue) and isinstance(value.value, int):
        return bool(value.value)
    if isinstance(value, TensorInfo) and isinstance(value.sizes, int):
        return bool(value.sizes)
    return None


def _differ_in_rank(state: State, a: Value, b: Value) -> bool:
    """Whether two values are tensors of different ranks, or have such parts."""
    if isinstance(a, TupleValue) and isinstance(b, TupleValue):
        return any(_differ_in_rank(state, x, y) for x, y in zip(a.items, b.items, strict=False))
    shapes = [state.resolve(v.shape) if isinstance(v, TensorInfo) else () for v in (a, b)]
    return all(map(plain, shapes)) and len(shapes[0]) != len(shapes[1])


def _side(cond: Cond, positive: bool) -> Cond:
    return cond if positive else negate(cond)


def _decided_by_sizes(value: Value) -> Cond | None:
    """The condition on sizes under which a tensor is true; None if there is none, or none that is exact."""
    found = value.data[0] if isinstance(value, TensorInfo) and value.shape == () and value.data else None
    if not isinstance(found, TruthElement):
        return None
    yes: Any = found.yes
    no: Any = found.no
    made: Cond | None = yes if negate(no) == yes else None
    return made


# The most facts about an arm's new sizes that are kept after it.
_MOST_PROMISES = 8


def _about_new(facts: list[Cond], newest: int) -> Promises:
    """The facts about variables newer than `newest`, each with those variables."""
    plain = [c for c in facts if not isinstance(c, bool)]
    found = ((c, frozenset(v for v in cond_variables(c) if v.serial > newest)) for c in plain)
    return tuple((c, new) for c, new in found if new)


def _speaking_of(sizes: Iterable[Size], facts: Promises) -> tuple[Condition, ...]:
    """The facts about the new variables of some sizes, and about variables that such facts connect with them; none if they
    are many."""
    reached = {v for size in sizes for v in variables(size)}
    kept: list[Condition] = []
    while more := [(c, new) for c, new in facts if c not in kept and not reached.isdisjoint(new)]:
        kept += [c for c, _ in more]
        reached.update(*(new for _, new in more))
    return tuple(kept) if len(kept) <= _MOST_PROMISES else ()


def is_older(cond: Cond, newest: int) -> bool:
    return not isinstance(cond, bool) and all(v.serial <= newest for v in cond_variables(cond))
