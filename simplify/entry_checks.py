"""The entry check of a function at a call, decided under the caller's facts."""

from __future__ import annotations

from ..lang import core
from ..lang.core import Status
from ..lang.node import replace
from ..lang.source import Span
from ..lang.walk import walk
from .arms import with_the_wrong_rank
from .assertions import with_needs
from .bodies import Bodies
from .frame import Frame
from .known import matching
from .known.fresh import dims_of, settle, sizes_among, unknown
from .known.naming import Names
from .known.shape_level import Poisoned, ShapeLevel
from .known.values import UNDECIDED, UNKNOWN, Entry, Env, FnValue, Undecided, is_wrong
from .messages.entry_checks import Entrance, Site, parameter
from .opaque import lost, no_holder, unsaid
from .program import Check
from .solver.terms import A_CALL, stride
from .visitor import Visitor, VisitorPart


class EntryChecks(VisitorPart):
    """Decides a function's conditions on its arguments, also on functions among them."""

    def __init__(self, visitor: Visitor, bodies: Bodies) -> None:
        super().__init__(visitor)
        self.bodies = bodies

    def decide(
        self, frame: Frame, function: core.Function, entries: tuple[Entry, ...], env: Env, site: Site
    ) -> tuple[Env, tuple[core.Stmt, ...] | None]:
        """Decide the callee's entry check under the caller's facts. Return the callee's names, and the remaining checks in
        them, None if one is refuted."""
        inner = dict(env)
        for param, entry in zip(function.params, entries, strict=True):
            inner[param.name] = entry
        stride(A_CALL)
        kept: list[core.Stmt] = []
        # One warning is enough for a parameter of unknown rank.
        vague: set[Span] = set()
        given = ((param, entry.value) for param, entry in zip(function.params, entries, strict=True))
        for stmt in (*function.checks, *unsaid(self.state, given, function.checks, function.span)):
            if not isinstance(stmt, Check):
                kept += self._named(frame, stmt, inner)
                continue
            declared = stmt.origin.declared
            status = self._check(frame, stmt, inner, site, aloud=declared is None or declared.span not in vague)
            if status is Status.REFUTED:
                return inner, None
            if status is Status.RESIDUAL and declared is not None and stmt.origin.what == "rank":
                vague.add(declared.span)
            if status is Status.RESIDUAL or (isinstance(stmt, core.MatchShape) and stmt.binds):
                kept.append(replace(stmt, status=status))
        # A function's signature refers to the other arguments, which satisfy their annotations by now.
        for param, entry in zip(function.params, entries, strict=True):
            if isinstance(param.sort, core.FnSort) and isinstance(entry.value, FnValue):
                self._check_passed(frame, param, param.sort.signature, entry.value, inner, site)
                inner[param.name] = replace(entry, value=replace(entry.value, passed_as=param.sort.signature))
        if not any(isinstance(s, Check) and s.status is Status.RESIDUAL for s in kept):
            kept = []
        return inner, tuple(kept)

    def _check(self, frame: Frame, stmt: Check, env: Env, site: Site, *, aloud: bool) -> Status:
        level = ShapeLevel(self.state, env)
        found, readable = None, True
        try:
            if isinstance(stmt, core.Assert):
                truth = level.truth(stmt.cond)
            else:
                truth, found = matching.match(level, stmt)
            truth = with_needs(truth, level.needs)
        except Poisoned:
            truth = with_needs(UNDECIDED, level.needs)
            if truth is not False and any(is_wrong(e.value) for e in env.values()):
                return Status.REFUTED  # it was reported
            readable = False

        involved = () if truth is True else dims_of((e.value for e in site.entries), self.state)
        empty_rule = aloud and stmt.origin.declared is not None
        asked = Entrance(stmt, env, site)
        status, unproved = self.prover.judge(frame, truth, asked, claim=aloud, sizes=involved, empty_rule=empty_rule)
        if unproved is not None and unproved.is_unproved and stmt.origin.claim and stmt.origin.declared is not None:
            unproved.arm = with_the_wrong_rank(
                self.state, frame.path, stmt, site.given.get(stmt.origin.declared.tensor)
            )
        if status is Status.REFUTED:
            return status
        if status is Status.RESIDUAL:
            self.state.unsure = self.state.unsure or isinstance(truth, Undecided)
        if not readable:
            env.update((name, Entry(UNKNOWN, stmt.span)) for name in core.bound_names(stmt))
        elif isinstance(stmt, core.Assert):
            if truth is not True or not (isinstance(stmt.cond, core.Compare) and stmt.cond.op == "=="):
                level.learn(stmt.cond, reason=stmt)  # an equation that is already true adds nothing
            for need in level.needs:
                if not isinstance(need.cond, Undecided):
                    self.state.assume(need.cond, stmt)
        elif found is not None:
            matching.learn_match(level, stmt, found)
        return status

    def _named(self, frame: Frame, stmt: core.Stmt, env: Env) -> list[core.Stmt]:
        """Walk a name that an entry check binds, for its value and its open obligations."""
        silent = frame.silent(stmt.span)
        self.visitor.stmt(silent, stmt, env)
        return [*(s for s in silent.out.stmts if isinstance(s, core.Assert)), stmt]

    def leave_open(self, frame: Frame, function: core.Function, env: Env, site: Site) -> bool:
        """Leave an entry check open for lack of steps: the function checks it when called, and one warning says so. Return
        whether it has one."""
        checks = [s for s in function.checks if isinstance(s, Check)]
        self.bodies.may_not_end(frame, function)
        if checks:
            asked = Entrance(checks[0], {**env, **site.given}, site)
            self.prover.judge(frame, UNDECIDED, asked, claim=True)
            if not frame.quiet:
                self.prover.log.count(Status.RESIDUAL, len(checks) - 1)
        return bool(checks)

    def consts(self, env: Env) -> Env:
        """The part of an environment that every function sees."""
        return {name: env[name] for name in self.program.consts if name in env}

    def _check_passed(
        self, frame: Frame, param: core.Param, signature: core.Function, given: FnValue, env: Env, site: Site
    ) -> None:
        """Check a function argument against the parameter's signature: for every call that the signature allows, the
        function's entry check holds and its result is as the signature says. Open checks run when it is called."""
        target = given.function
        if given.closure is not None:
            target = as_function(given.closure)
        if target is None or target is signature or len(target.params) != len(signature.params):
            return
        inner, own = dict(env), dict(given.env if given.env is not None else self.consts(env))
        self.state.push()
        # The signature's sizes keep their names, unless the function sees sizes of outside.
        spoken = (
            None
            if given.closure
            else sizes_among([inner[n].value for n in _named_outside(signature, inner)], self.state)
        )
        with self.state.names.apart(spoken):
            inner.update((p.name, Entry(unknown(self.state, p.sort, "?"), site.span)) for p in signature.params)
            frame = replace(frame.block(), names=Names(self.state))
            self.visitor.assume_all(frame, signature.checks, inner, name_dims=True)
            entries = tuple(inner[p.name] for p in signature.params)
            called = parameter(site.function, param)
            at_call = Site(site.span, target, entries, (), called, called)
            result_env, kept = self.decide(frame, target, entries, own, at_call)
            if kept is not None:
                self._check_promise(frame, signature, target, result_env, inner, replace(site, every=called))
        self.state.pop()

    def _check_promise(
        self, frame: Frame, signature: core.Function, target: core.Function, result_env: Env, env: Env, site: Site
    ) -> None:
        """Check the function's result against the signature's promises."""
        [out] = signature.body.stmts
        assert isinstance(out, core.Let)
        env[out.names[0]] = settle(self.state, self.bodies.result(frame, target, result_env, site.span))
        for stmt in signature.promises:
            if isinstance(stmt, Check):
                self._check(frame, stmt, env, site, aloud=True)
            else:
                self._named(frame, stmt, env)
        if lost(self.state, env[out.names[0]].value, signature.promises):
            self._check(frame, no_holder(out.names[0], site.span), env, site, aloud=True)


def _named_outside(signature: core.Function, env: Env) -> set[str]:
    """The outside names in a function parameter's signature."""
    said = walk((signature.checks, signature.promises))
    return {
        n.tensor if isinstance(n, core.DimOf) else n.name for n in said if isinstance(n, core.DimOf | core.SizeVar)
    } & env.keys()


def as_function(closure: core.Lambda) -> core.Function:
    return core.Function(closure.span, "inline", "fn", closure.params, closure.result, closure.checks, closure.body)
