"""Calls of lists of implementations: the first member that fits is found here if possible, else when the program runs."""

from __future__ import annotations

from collections.abc import Sequence

from ..lang import core
from ..lang.core import Status
from ..lang.node import replace
from ..ops.model import Primitive
from .branches import Branches, is_older
from .calls import CallVisitor
from .frame import Frame
from .known.finding import Finding
from .known.fresh import settle
from .known.values import POISON, UNKNOWN, Entry, Env, NumberValue, Poison, is_wrong
from .messages.entry_checks import Chosen, Site
from .primitives import apply_primitive
from .solver.conditions import Cond, all_of
from .solver.terms import over
from .visitor import Visitor, VisitorPart

Member = core.Function | Primitive
Found = list[tuple[Entry, core.Value]]
# The most members that are tried for the calls in a function.
_MOST_LOOKED_AT = 1_000


class Lists(VisitorPart):
    """Finds the member of a list that a call means."""

    def __init__(self, visitor: Visitor, calls: CallVisitor, branches: Branches) -> None:
        super().__init__(visitor)
        self.calls, self.branches = calls, branches
        self.room = _MOST_LOOKED_AT

    def call(self, frame: Frame, impls: core.Impls, expr: core.Call, env: Env) -> tuple[Entry, core.Value]:
        """Take the first implementation whose entry check is proved, if those before it are refuted; else the run chooses."""
        found = self.visitor.values(frame, [a.value for a in expr.args], env)
        found = [
            (self.visitor.bindings.known_as(frame, env, e, v, sort), v)
            for (e, v), sort in zip(found, self._sorts(impls, len(found)), strict=True)
        ]
        args = tuple(replace(a, value=_weak(e, v)) for a, (e, v) in zip(expr.args, found, strict=True))
        after = replace(expr, args=args)
        members = self.members(impls)
        if any(is_wrong(e.value) for e, _ in found) or len(members) < len(impls.choices):
            return Entry(POISON, expr.span), after
        open_: list[tuple[str, Member]] = []
        for name, member in members:
            fits = self.fits(frame, member, _to(after, name), found, env) if self._may_try() else None
            if fits is not False:
                open_.append((name, member))
            if fits:
                break
        if len(open_) == 1:
            name, member = open_[0]
            return self._apply(frame, member, _to(after, name), found, env)
        if not open_:
            return self._none_fits(frame, impls, after, found, env)
        return self._dispatch(frame, open_, after, found, env)

    def call_with(self, frame: Frame, impls: core.Impls, given: dict[str, Entry], env: Env) -> Entry:
        """A call with arguments that are known only by their shapes, in the parameters' order."""
        env = {**env, **given}
        sorts = self._sorts(impls, len(given))
        args = tuple(
            core.Arg(impls.span, None, core.variable(impls.span, n, s)) for n, s in zip(given, sorts, strict=True)
        )
        return self.call(frame, impls, core.Call(impls.span, core.FnRef(impls.span, impls.name), args), env)[0]

    def members(self, impls: core.Impls) -> list[tuple[str, Member]]:
        """The members by their names in the core; those with an error are missing."""
        found = [(name, self._member(name)) for name in impls.choices]
        return [(name, member) for name, member in found if member is not None]

    def _member(self, name: str) -> Member | None:
        return self.program.functions.get(name) or self.program.lookup(name.removeprefix("prelude."))

    def _sorts(self, impls: core.Impls, number: int) -> tuple[core.Sort, ...]:
        """The sorts of the arguments, on which all members agree."""
        functions = [m for _, m in self.members(impls) if isinstance(m, core.Function)]
        params = functions[-1].params if functions else ()
        return tuple(p.sort for p in params) if len(params) == number else (core.TENSOR,) * number

    # Trials

    def fits(
        self,
        frame: Frame,
        member: Member,
        call: core.Call,
        found: Found,
        env: Env,
        captured: list[Finding] | None = None,
    ) -> bool | None:
        """Whether a member accepts the arguments; None if only the run can tell. The trial reports, learns and keeps
        nothing."""
        frame = frame.tried(captured)
        self.state.push()
        try:
            return self._fits(frame, member, call, found, env)
        finally:
            self.state.pop()

    def _fits(self, frame: Frame, member: Member, call: core.Call, found: Found, env: Env) -> bool | None:
        if isinstance(member, Primitive):
            entry, after = apply_primitive(self.visitor, frame, member, call, found, env)
            return (
                False
                if isinstance(entry.value, Poison)
                else None
                if isinstance(after, core.Call) and after.guard
                else True
            )
        typed = self.calls.typed(frame, member, found)
        if len(typed) != len(member.params):
            return False
        entries = tuple(e for e, _ in typed)
        site = Site(call.span, member, entries, tuple(a.span for a in call.args))
        _, kept = self.calls.entry_checks.decide(frame, member, entries, self.calls.entry_checks.consts(env), site)
        return False if kept is None else None if kept else True

    def _none_fits(
        self, frame: Frame, impls: core.Impls, call: core.Call, found: Found, env: Env
    ) -> tuple[Entry, core.Value]:
        """Report one error, with the reason why each member does not fit."""
        asked = Chosen(call.span, impls.name, tuple(e for e, _ in found), [])
        status, told = self.prover.judge(frame, False, asked, claim=True, demand=False)
        for name, member in self.members(impls) if told is not None else ():
            asked.reasons.append((name, self._reason(frame, member, _to(call, name), found, env)))
        return Entry(POISON if status is Status.REFUTED else UNKNOWN, call.span), call

    def _reason(self, frame: Frame, member: Member, call: core.Call, found: Found, env: Env) -> Finding | None:
        said: list[Finding] = []
        self.fits(frame, member, call, found, env, said)
        return said[0] if said else None

    def _may_try(self) -> bool:
        """Whether a member is tried; after many trials in this function the run chooses."""
        self.room -= 1
        return self.room >= 0 and not over()

    # The chosen member

    def _apply(self, frame: Frame, member: Member, call: core.Call, found: Found, env: Env) -> tuple[Entry, core.Value]:
        if isinstance(member, core.Function):
            return self.calls.apply_function(frame, member, call, found, env)
        return apply_primitive(self.visitor, frame, member, _without_wildcards(frame, call), found, env)

    def _dispatch(
        self, frame: Frame, choices: Sequence[tuple[str, Member]], call: core.Call, found: Found, env: Env
    ) -> tuple[Entry, core.Value]:
        """Leave the choice among several members to the run, which takes the first that fits; the needs of the last one are
        ordinary claims."""
        self.prover.hinder(frame)  # the run decides which member is called
        results: list[tuple[Entry, tuple[Cond, ...]]] = []
        base, newest = self.state.facts.count, self.state.serial()
        for name, member in choices:
            self.state.push()
            last = member is choices[-1][1]
            asked = frame.left_over() if last else frame.tried()
            looked_at = last or self._may_try()
            value = self._given(asked, member, _to(call, name), found, env) if looked_at else Entry(UNKNOWN, call.span)
            guard = tuple(c for c, _ in self.state.facts.conditions(base) if is_older(c, newest))
            results.append((settle(self.state, value), guard))
            self.state.pop()
        joined, guard = results[0]
        for number, (other, its_guard) in enumerate(results[1:], 2):
            behind = [all_of(*later) for _, later in results[number:]]
            joined = self.branches.join(frame, joined, other, call.span, (guard, its_guard), others=behind)
            guard = ()
        return joined, call

    def _given(self, frame: Frame, member: Member, call: core.Call, found: Found, env: Env) -> Entry:
        """The result of a member if it is taken."""
        if isinstance(member, Primitive):
            return apply_primitive(self.visitor, frame, member, call, found, env)[0]
        typed = self.calls.typed(frame, member, found)
        entries = tuple(e for e, _ in typed)
        site = Site(call.span, member, entries, tuple(a.span for a in call.args))
        if over():
            self.calls.entry_checks.leave_open(frame, member, self.calls.entry_checks.consts(env), site)
            return Entry(UNKNOWN, call.span)
        inner, kept = self.calls.entry_checks.decide(frame, member, entries, self.calls.entry_checks.consts(env), site)
        return Entry(UNKNOWN, call.span) if kept is None else self.calls.bodies.result(frame, member, inner, call.span)


def _without_wildcards(frame: Frame, call: core.Call) -> core.Call:
    """Name the Shapes with a -1 in a list's call: there it is a size like any other, not a literal of the primitive."""
    args = list(call.args)
    for i, arg in enumerate(args):
        if isinstance(arg.value, core.ShapeLit) and arg.name is None and core.SizeLit(arg.span, -1) in arg.value.dims:
            name = frame.out.temporary()
            frame.out.write(core.Let(arg.span, (name,), False, core.SHAPE, arg.value))
            args[i] = replace(arg, value=core.ShapeVar(arg.span, name))
    return replace(call, args=tuple(args))


def _to(call: core.Call, name: str) -> core.Call:
    return replace(call, callee=core.FnRef(call.callee.span, name))


def _weak(entry: Entry, value: core.Value) -> core.Value:
    """Keep a literal number until its parameter is known."""
    return core.Number(value.span, entry.value.value) if isinstance(entry.value, NumberValue) else value
