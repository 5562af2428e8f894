"""Checks a core program: every assertion is proved, refuted or left for run time, and the shape of every binding is found.

Each function is checked once for all its callers: its checks are assumed, its body is walked, its promises about the result
are decided. At a call the callee's wrapper is inlined: its checks are decided under the caller's facts, its promises become
facts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache, cached_property, partial

from ..lang import core
from ..lang.checked import Checked, Conditions, Demands, Explanation, FunctionShapes, Takes
from ..lang.core import Status
from ..lang.diagnostics import Diagnostic
from ..lang.node import Node, replace
from ..lang.pause import collect_new
from ..lang.source import Span
from ..lang.walk import walk as nodes
from ..ops.model import Primitive, TensorInfo
from .asserted_bindings import with_asserted
from .assertions import contradictory
from .cases import Begun, Cases, by_cases
from .contract import conditions
from .demands import demands, takes
from .excluding import excluding
from .explaining import choose
from .findings import Log, Mark
from .frame import Frame
from .implementations import Found, Member
from .known.fresh import settle, unknown
from .known.outcome import IN_WORDS, Options
from .known.state import State
from .known.values import Entry, Env, FnValue
from .messages import entry_checks
from .messages.describe import binding
from .messages.explain import explain
from .messages.telling import in_short, told, unread, without_z3
from .program import ProgramContext, Uses, is_total
from .solver.search import no_z3
from .solver.terms import Share, StepBudget
from .walk import Walk

Header = Callable[[core.Load], TensorInfo | None]


class KnownConst(Node):
    """A checked const, with the data that its result rests on, and the names that it uses."""

    before: core.ConstDef
    uses: Uses
    loads: tuple[core.Load, ...]
    headers: tuple[TensorInfo | None, ...]
    value: Entry
    after: core.ConstDef


# The consts of a program that was checked before, by place: each the same node as then, and everything that it uses
# unchanged.
KnownConsts = dict[Span, KnownConst]


def check(
    program: core.Program,
    lookup: Callable[[str], Primitive | None],
    options: Options,
    header: Header,
    consts: KnownConsts | None = None,
) -> Checked:
    """Check a program. `header` tells shape and dtype of a weights file without reading its data (None if there is none).
    Known `consts` produce no diagnostics; new ones are added to them."""
    checker = Checker(program, lookup, options, header, consts)
    with StepBudget(checker.program.budget, checker.program.walks) as budget:
        checked = checker.run()
    checker.ended = budget.ended
    return replace(checked, steps=budget.spent, walked=budget.walked, ended=budget.ended, length=checker.program.length)


# Longer lists are not searched for members that are never chosen.
_MOST_MEMBERS = 24
# With more functions than this, their data is released, the second number at a time, and found again on demand.
_MOST_KEPT, _AT_A_TIME = 4_000, 100


class Checker:
    def __init__(
        self,
        program: core.Program,
        lookup: Callable[[str], Primitive | None],
        options: Options,
        header: Header,
        known: KnownConsts | None = None,
        like: ProgramContext | None = None,
    ) -> None:
        self.before, self.known = program, known
        self.reused: set[str] = set()
        self.options = options
        self.log = Log()
        self.program = ProgramContext(program, lookup, header, like)
        # Whether each function's data is kept for later questions: for very many it would take too much memory.
        self.keeps = len(program.functions) <= _MOST_KEPT
        self.closed = 0
        self.walks: dict[str, Walk] = {}
        self.questions: dict[str, int] = {}
        self.shapes: dict[str, Callable[[], FunctionShapes]] = {}
        self.wanted: dict[str, Callable[[], Demands]] = {}
        self.asked: dict[str, Callable[[], Conditions]] = {}
        self.taking: dict[str, Callable[[], Takes | None]] = {}
        self.consts: list[tuple[str, Callable[[], Explanation]]] = []
        # The functions with questions that only z3 would decide, if it cannot be used.
        self.unasked: list[str] = []
        # Whether the program's steps ran out: then none are left for later questions.
        self.ended = False

    def run(self) -> Checked:
        consts = [self.const(c) for c in self.before.consts]
        for impls in self.before.impls:
            self._never_chosen(impls)
        functions: list[core.Function] = []
        done: dict[str, core.Function] = {}
        for name in self.options.believed & self.program.functions.keys():
            wrapper = self.program.functions[name]
            impl = self.program.implementation(wrapper)
            done.update((f.name, f) for f in (wrapper, impl) if f is not None)
        left: list[core.Function] = []
        for function in self.program.callees_first():
            if function.kind != "private" and function.name not in done:
                if self.log.is_full:
                    left.append(function)
                    continue
                with self._share(function):
                    wrapper, impl = self._function(function)
                done[wrapper.name] = wrapper
                if impl is not None:
                    done[impl.name] = impl
        for function in self.before.functions:
            if function.name not in done and not self.log.is_full:
                with self._share(function):
                    done[function.name] = self._private(function)
            functions.append(done.get(function.name, function))
        main = self.before.main
        if main is not None and not self.log.is_full:
            with Share(self.program.shares[""]):
                main = self._main(main)
        return self._checked(
            replace(self.before, functions=tuple(functions), consts=tuple(consts), main=main), unread(left)
        )

    def _checked(self, after: core.Program, unseen: tuple[Diagnostic, ...]) -> Checked:
        """Return the result: the diagnostics to report, and functions that answer later questions."""
        chosen, silent = choose(self.log.findings)
        chosen = [f for f in chosen if f.is_error] if self.options.errors_only else chosen
        in_words = [f for f in chosen if f.is_whole][:IN_WORDS]
        said = set(in_words)
        others = [f for f in chosen if f not in said]
        unsaid = () if self.options.errors_only else self.log.left
        return Checked(
            (*map(told, in_words), *in_short(others, unsaid), *unseen, *self._without_z3()),
            self.log.counts,
            self.program.solutions.put(self.before),
            after,
            self.questions,
            cache(lambda: self.described(after)),
            cache(self.demanded),
            self.explained,
            lambda: tuple(told(f) for f in silent[:IN_WORDS] if f.is_whole),
            require=cache(self.required),
            taking=self.takes,
            anew=self.anew,
        )

    def _without_z3(self) -> tuple[Diagnostic, ...]:
        """A note that z3 was not asked, once: at the first function with a question for it."""
        before = self.before
        items = (*before.functions, *((before.main,) if before.main else ()), *before.consts)
        spans = [item.span for item in items if item.name in self.unasked]
        return (without_z3(self.questions["unasked"], no_z3(), spans[0]),) if spans else ()

    def anew(self, program: core.Program, options: Options, header: Header) -> Checker:
        """Return a checker for the same program, with or without its solutions written into it."""
        return Checker(program, self.program.lookup, options, header, like=self.program)

    def explained(self, name: str) -> tuple[Explanation, ...]:
        """The explanations of a name, in each function that has it: everything is walked once more, with that name
        recorded."""
        again = self._again(name)
        told = [e for n in again._in_order(again.walks) for e in again.walks[n].bindings.explained(name)]
        return (*(work() for const, work in again.consts if const == name), *told)

    def _again(self, explained: str | None = None) -> Checker:
        options = replace(self.options, stopped=None)  # the check may be given up, this question is not
        again = self.anew(self.before, options, self.program.header)
        again.keeps, again.program.explained = True, explained
        with StepBudget(self.program.budget, self.program.walks):
            again.run()
        return again

    @cached_property
    def _kept(self) -> Checker:
        """A checker with the data of every function; a new one if that was released."""
        return self if self.keeps else self._again()

    def demanded(self) -> tuple[Demands, ...]:
        wanted = self._kept.wanted
        with self._asked_later():
            return tuple(wanted[name]() for name in self._in_order(wanted))

    def required(self) -> tuple[Conditions, ...]:
        asked = self._kept.asked
        with self._asked_later():
            return tuple(asked[name]() for name in self._in_order(asked))

    def takes(self, function: str) -> Takes | None:
        taking = self._kept.taking
        with self._asked_later():
            return taking[function]() if function in taking else None

    def _asked_later(self) -> StepBudget:
        """The steps for later questions about a checked program: as many as the check had."""
        return StepBudget(0, 0) if self.ended else StepBudget(self.program.budget, self.program.walks)

    def described(self, after: core.Program) -> tuple[FunctionShapes, ...]:
        functions = {f.name: f for f in (*after.functions, *((after.main,) if after.main else ()))}
        found = []
        known = self._kept.shapes
        for name in self._in_order(known):
            shapes = known[name]()
            wrapper = functions.get(shapes.name[1:])
            names = (wrapper.name, wrapper.impl) if wrapper is not None else ()
            found.append(with_asserted(shapes, [functions[n] for n in names if n in functions]))
        return tuple(found)

    def _in_order(self, names: Collection[str]) -> list[str]:
        """Functions in the order of the source, then the others."""
        written = [f.name for f in self.before.functions if f.kind != "private" and f.name in names]
        return [*written, *(name for name in names if name not in written)]

    # One function

    def _share(self, function: core.Function) -> Share:
        """The steps of a function: its own, and its implementation's."""
        shares = self.program.shares
        return Share(shares[function.name] + (shares.get(function.impl, 0) if function.impl is not None else 0))

    def walk_of(self, name: str, *pieces: core.Function | core.ConstDef) -> Walk:
        return Walk(self.program, self.log, self.options, name, pieces)

    def consts_for(self, walk: Walk, used_in: core.Function | core.ConstDef | core.Impls) -> Env:
        """The consts that are used there, directly or through calls."""
        used = self.program.consts_used(used_in)
        return {name: walk.bindings.adopt(name, self.program.consts[name]) for name in used}

    def _function(self, function: core.Function) -> tuple[core.Function, core.Function | None]:
        impl, before = self.program.implementation(function), self.log.mark()
        walk, env, params, entry = self._entered(function, impl)
        if contradictory(walk.state):
            self.log.remark(
                entry_checks.impossible_signature(function, excluding(function, partial(self._contradictory, function)))
            )
            return function, impl
        if impl is None and function.impl is not None:
            return self._extern(function, walk, entry), None
        opened, said = {p.name: env[p.name] for p in function.params}, walk.state.facts.count
        result, wrapper, body = walk.function_body(function, impl, env)
        general = partial(self._described, walk, function.name, opened, result)
        cases = self._by_cases(function, impl, walk, opened, before)
        if cases is not None:
            walk, opened, result = cases.walk, cases.opened, cases.result
            wrapper, body = self._without_proved(cases, wrapper), body and self._without_proved(cases, body)
        if not walk.prover.may_fail:
            self.program.sure.add(function.name)
            if is_total((body or wrapper).body, wrapper.promises):
                self.program.total.add(function.name)
        self.program.bodies[function.name] = wrapper.body
        params = {n: opened.get(n, e) for n, e in params.items()}
        self._close(walk, function.name, params, result)
        if not self.keeps:
            return replace(wrapper, checks=entry), body
        if cases is not None:
            self.shapes[function.name] = lambda: cases.described(general())
        known = walk.state.facts.conditions()[:said]
        self.wanted[function.name] = lambda: demands(
            function, params, result, walk.state, known, walk.prover.demands, walk.prover.dtype_demands
        )
        self.taking[function.name] = lambda: (
            None if walk.prover.dtype_demands else takes(function, params, walk.state, known, walk.prover.demands)
        )
        self.asked[function.name] = lambda: conditions(
            f"@{function.name}", params, walk.state, tuple(cond for cond, _ in known), walk.prover
        )
        return replace(wrapper, checks=entry), body

    def _entered(
        self, function: core.Function, impl: core.Function | None
    ) -> tuple[Walk, Env, Env, tuple[core.Stmt, ...]]:
        """Return the walk at the beginning of a function, the names there, its parameters, and its checks."""
        walk = self.walk_of(f"@{function.name}", *(f for f in (function, impl) if f is not None))
        env = self.consts_for(walk, function)
        params = self._bind_params(walk, function, env)
        entry = walk.assume_all(walk.frame, function.checks, env, name_dims=True)
        number = sum(isinstance(s, core.Assert | core.MatchShape) for s in entry)
        self.log.count(Status.ENTRY, number)
        self.log.inner += number * (function.name in self.program.inner)
        walk.prover.newest_input = walk.state.serial()
        return walk, env, params, entry

    def _by_cases(
        self, function: core.Function, impl: core.Function | None, first: Walk, opened: Env, before: Mark
    ) -> Cases | None:
        """Walk the function by the cases that its first walk asked for, if it asked for some and found nothing wrong."""
        general = self.log.findings[before.findings :]
        if not first.prover.open_ranks or any(f.is_error or f.outcome.status is Status.REFUTED for f in general):
            return None

        def begin() -> Begun:
            self.log.reset(before)
            walk, env, _, _ = self._entered(function, impl)

            def body(frame: Frame) -> tuple[Entry, tuple[core.Function, ...]]:
                result, wrapper, inner = walk.function_body(function, impl, dict(env), frame)
                return result, (wrapper,) if inner is None else (wrapper, inner)

            return Begun(walk, {p.name: env[p.name] for p in function.params}, body)

        solutions, after = self.program.solutions.kept_apart(), self.log.mark()
        cases = by_cases(first, opened, begin)
        found = self.log.reset(before)
        self.program.solutions.back_to(solutions)
        self.log.again(after, general if cases is None else cases.told(general, found))
        return cases

    def _without_proved(self, cases: Cases, function: core.Function) -> core.Function:
        """A function without the checks that hold in every case."""
        function, gone = cases.without_proved(function)
        self.log.count(Status.RESIDUAL, -gone)
        self.log.count(Status.PROVED, gone)
        return function

    def _never_chosen(self, impls: core.Impls) -> None:
        """Note members that only get calls which fit an earlier one."""
        members = self.walk_of(f"@{impls.name}").lists.members(impls)
        places = impls.places
        if len(members) != len(places) or len(members) > _MOST_MEMBERS:
            return
        for i, (name, _) in enumerate(members):
            before = next((j for j in range(i) if self._covers(members, j, i, impls)), None)
            if before is not None:
                said = entry_checks.never_chosen(name, places[i], members[before][0], places[before])
                self.log.remark(said)

    def _covers(self, members: list[tuple[str, Member]], before: int, behind: int, impls: core.Impls) -> bool:
        """Whether every call that fits one member surely fits another one."""
        walk = self.walk_of(f"@{impls.name}")
        env = self.consts_for(walk, impls)
        member = members[behind][1]
        if isinstance(member, core.Function):
            self._bind_params(walk, member, env)
            walk.assume_all(walk.frame, member.checks, env, name_dims=False)
            params = [(p.name, p.sort) for p in member.params]
            if contradictory(walk.state):
                return False
        else:
            functions = [m for _, m in members if isinstance(m, core.Function)]
            sorts = [p.sort for p in functions[-1].params] if functions else None
            taken = [p for p in member.params if p.required]
            params = list(zip((p.name for p in taken), sorts or [core.TENSOR] * len(taken), strict=False))
            env.update({n: Entry(unknown(walk.state, s, n), impls.span) for n, s in params})
        found: Found = [(env[n], core.variable(impls.span, n, s)) for n, s in params]
        args = tuple(core.Arg(impls.span, None, v) for _, v in found)
        name, other = members[before]
        call = core.Call(impls.span, core.FnRef(impls.span, name), args)
        return walk.lists.fits(walk.frame, other, call, found, env) is True

    def _contradictory(self, function: core.Function, checks: list[core.Stmt]) -> bool:
        """Whether a function's parameters cannot satisfy some checks."""
        walk = self.walk_of(f"@{function.name}")
        env = self.consts_for(walk, function)
        self._bind_params(walk, function, env)
        walk.assume_all(walk.frame, checks, env, name_dims=True)
        return contradictory(walk.state)

    def _extern(self, function: core.Function, walk: Walk, entry: tuple[core.Stmt, ...]) -> core.Function:
        """Leave the result of an extern to be checked at run time."""
        promises = tuple(
            replace(s, status=Status.ENTRY) if isinstance(s, core.Assert | core.MatchShape) else s
            for s in function.promises
        )
        self.log.count(Status.ENTRY, sum(isinstance(s, core.Assert | core.MatchShape) for s in promises))
        self._close(walk, function.name, {}, None)
        return replace(function, checks=entry, promises=promises)

    def _private(self, function: core.Function) -> core.Function:
        """Check a private function that no wrapper calls: nothing is known of its parameters."""
        walk = self.walk_of(f"@{function.name}", function)
        env = self.consts_for(walk, function)
        params = self._bind_params(walk, function, env)
        function = walk.with_known(function, env)
        result, body = walk.block(walk.frame, function.body, env)
        self._close(walk, function.name, params, result)
        return replace(function, body=body)

    def _main(self, main: core.Function) -> core.Function:
        walk = self.walk_of("@main", main)
        result, body = walk.block(walk.frame, main.body, self.consts_for(walk, main))
        self._close(walk, "main", {}, result)
        return replace(main, body=body)

    def _bind_params(self, walk: Walk, function: core.Function, env: Env) -> Env:
        params = {
            p.name: Entry(
                unknown(walk.state, p.sort, p.name), core.param_span(function, p.name), number=walk.bindings.number()
            )
            for p in function.params
        }
        env.update(params)
        for name, entry in params.items():
            if isinstance(entry.value, FnValue):
                env[name] = params[name] = replace(entry, value=replace(entry.value, env=env))
        return params

    def _close(self, walk: Walk, name: str, params: Env, result: Entry | None) -> None:
        for layer, number in walk.state.facts.counts.items():
            self.questions[layer] = self.questions.get(layer, 0) + number
        if walk.state.facts.counts["unasked"]:
            self.unasked.append(name)
        walk.state.facts.rest()
        self.closed += 1
        if not self.keeps:
            if self.closed % _AT_A_TIME == 0:
                collect_new()
            return
        self.walks[name] = walk
        walk.bindings.params = params

        self.shapes[name] = lambda: self._described(walk, name, params, result)

    def _described(self, walk: Walk, name: str, params: Env, result: Entry | None) -> FunctionShapes:
        described = tuple(binding(n, e.value, e.span, walk.state) for n, e in params.items())
        last = binding("result", result.value, result.span, walk.state) if result else None
        return FunctionShapes(f"@{name}", described, walk.bindings.described(), last)

    # Consts

    def const(self, const: core.ConstDef) -> core.ConstDef:
        """Check a const. Its checks run once, when the weights are loaded; those about a file's header are decided now."""
        before = self._as_before(const)
        if before is not None:
            return before
        loads = tuple(node for node in nodes(const.value) if isinstance(node, core.Load))
        headers = tuple(map(self.program.header, loads))
        known = [header for header in headers if header is not None]
        if loads == (const.value,) and known and not const.checks:  # a model has thousands of these
            settled, after, state = Entry(known[0], const.span), const, None
        else:
            settled, after, state = self._checked_const(const, len(known) == len(headers))
        self.program.consts[const.name] = settled
        self.consts.append((const.name, lambda: self._explained_const(const.name, settled, state)))
        if self.known is not None:
            uses = self.program.uses_of(const)
            self.known[const.span] = KnownConst(const, uses, loads, headers, settled, after)
        return after

    def _explained_const(self, name: str, value: Entry, state: State | None) -> Explanation:
        return explain("the program", name, value, state or self.walk_of(name).state)

    def _checked_const(self, const: core.ConstDef, known: bool) -> tuple[Entry, core.ConstDef, State | None]:
        """A const's value and definition, with its checks decided or, if the header of a file that it loads is unknown,
        assumed."""
        walk = self.walk_of(const.name, const)
        env = self.consts_for(walk, const)
        entry, value = walk.value(walk.frame, const.value, env)
        env[const.name] = Entry(entry.value, const.span)
        checks: list[core.Stmt] = []
        for stmt in const.checks:
            if known:
                frame = walk.frame.block()
                walk.stmt(frame, stmt, env)
                checks.extend(frame.out.stmts)
            else:
                checks.extend(walk.assume_all(walk.frame, (stmt,), env, name_dims=True))
        if not known:
            self.log.count(Status.ENTRY, sum(isinstance(s, core.Assert | core.MatchShape) for s in checks))
        settled = settle(walk.state, env[const.name])
        return settled, replace(const, value=value, checks=tuple(checks)), walk.state

    def _as_before(self, const: core.ConstDef) -> core.ConstDef | None:
        """A const of an earlier check, if it and the consts that it names are unchanged."""
        found = None if self.known is None else self.known.get(const.span)
        if found is None or found.before is not const:
            return None
        if found.headers != tuple(map(self.program.header, found.loads)):
            return None
        self.program.uses[id(const)] = found.uses
        if not self.reused.issuperset(self.program.consts_used(const)):
            return None
        self.reused.add(const.name)
        self.program.consts[const.name] = found.value
        return found.after
