"""A function in which sizes decide a rank, walked once more for each case of these sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from ..lang import core
from ..lang.checked import Binding, Case, FunctionShapes
from ..lang.core import Status
from ..lang.expressions import names_in
from ..lang.node import Node, replace
from ..lang.source import NOWHERE, Span
from ..lang.walk import rewrite, walk as nodes
from .bindings import Recorded
from .contract import cond_text, sizes_of
from .findings import FindingRemark
from .frame import DataChoice, Frame, Side
from .known.finding import Finding
from .known.fresh import settle
from .known.state import State
from .known.texts import is_whole
from .known.values import Entry, Env
from .messages.solutions import in_words
from .program import is_open
from .solver.conditions import Cond, all_of, any_of, cond_variables, eq, negate
from .solver.shorter import shorter
from .solver.terms import Size, over, variables
from .walk import Walk
from .weakest import Inputs, OpenCheck, facts_of, over_inputs, weakest

# The most cases in which a function is walked.
MOST = 8

Path = tuple[bool, ...]
Body = Callable[[Frame], tuple[Entry, tuple[core.Function, ...]]]


class Begun(NamedTuple):
    """A walk at the beginning of a function, its parameters there, and a function that walks the rest, to its result and its
    code."""

    walk: Walk
    opened: Env
    body: Body


class CaseLeaf(NamedTuple):
    """One case: its conditions, its bindings, its remaining code, and whether a run may reach its end."""

    when: tuple[Cond, ...]
    bound: tuple[Recorded, ...]
    left: tuple[core.Function, ...]
    ends: bool


class ShapeCase(NamedTuple):
    """A shape, and the condition under which a value has it."""

    when: Cond
    sizes: tuple[Size, ...]


def by_cases(first: Walk, opened: Env, begin: Callable[[], Begun]) -> Cases | None:
    """Walk the function in the cases that its first walk asked for, and those that these ask for; None if there are none, or
    if the steps do not suffice."""
    wanted: dict[Path, Cond | DataChoice] = {}
    asked = _asked(first, _inputs(first.state, opened), ())
    more: dict[Path, Cond | DataChoice] = {} if asked is None else {(): asked}
    found = None
    while more and not over():
        wanted |= more
        found = Cases(begin(), wanted)
        if over():
            return None
        more = dict(islice(found.more.items(), MOST - 1 - len(wanted)))
    return found


def _asked(walk: Walk, inputs: Inputs, when: tuple[Cond, ...], since: int = 0) -> Cond | DataChoice | None:
    """The first condition on input sizes that decides a rank and is still open; else the first `if` that other data
    decides."""
    asked = walk.prover.open_ranks[since:]
    for one in (one for one in asked if not isinstance(one, DataChoice)):
        cond = over_inputs(walk.state, inputs, one, None)
        if cond is not None and not isinstance(cond, bool) and cond not in when and negate(cond) not in when:
            return cond
    return next((one for one in asked if isinstance(one, DataChoice)), None)


def _inputs(state: State, opened: Env) -> Inputs:
    """The input sizes, which conditions may contain."""
    sizes = {v for size in sizes_of(state, opened) for v in variables(size)}
    return Inputs(sizes, (), tuple(cond for cond, _ in state.facts.conditions()))


class Cases:
    """A walk by cases. `wanted` has the conditions that separate them, each with the path to it: whether those before it
    hold."""

    def __init__(self, begun: Begun, wanted: Mapping[Path, Cond | DataChoice]) -> None:
        self.walk, self.opened, self._body = begun
        self._wanted = wanted
        self.leaves: list[CaseLeaf] = []
        self.more: dict[Path, Cond | DataChoice] = {}
        self.are_of_sizes = not any(isinstance(one, DataChoice) for one in wanted.values())
        self._inputs = _inputs(self.walk.state, self.opened)
        self.entry_check = self._inputs.entry_check
        self._shorts: dict[Cond, Cond] = {}
        self.walk.bindings.keeps_sizes = True
        self.result = self._at(self.walk.frame, (), ())

    def _at(self, frame: Frame, path: Path, when: tuple[Cond, ...]) -> Entry:
        cond = self._wanted.get(path)
        if cond is None:
            return self._leaf(frame, path, when)
        if isinstance(cond, DataChoice):
            return self._by_data(frame, path, when, cond)
        state, newest = self.walk.state, self.walk.state.serial()
        since, base, arms = len(self.walk.prover.demands), state.facts.count, []
        for holds, side in ((cond, True), (negate(cond), False)):
            state.push()
            state.assume(holds)
            state.unsure = True
            guard = tuple(c for c, _ in state.facts.conditions(base))
            entry = self._at(replace(frame.arm(holds), is_case=True), (*path, side), (*when, holds))
            arms.append((settle(state, entry), guard))
            state.pop()
        self.walk.prover.fail_where_both_cases_do(frame, cond, since)
        (a, guard_a), (b, guard_b) = arms
        return self.walk.branches.join(frame, a, b, a.span, (guard_a, guard_b), cond, newest=newest)

    def _by_data(self, frame: Frame, path: Path, when: tuple[Cond, ...], choice: DataChoice) -> Entry:
        """Walk both arms of an `if` that data decides, each with everything around it."""
        prover, state, newest = self.walk.prover, self.walk.state, self.walk.state.serial()
        prover.choices += 1
        since, number, begins, arms = len(prover.demands), prover.choices, [], []
        for first in (True, False):
            prover.sides[choice] = first
            state.push()
            state.unsure = True
            begins.append(len(prover.log.findings))
            inner = replace(frame.arm(None, Side(number, first)), is_case=not prover.log.certain)
            arms.append(settle(state, self._at(inner, (*path, first), when)))
            state.pop()
            del prover.sides[choice]
        prover.log.keep_what_both_have(*begins)
        prover.fail_where_both_arms_do(frame, number, since)
        return self.walk.branches.join(frame, arms[0], arms[1], arms[0].span, newest=newest)

    def _leaf(self, frame: Frame, path: Path, when: tuple[Cond, ...]) -> Entry:
        since, asked = self.walk.bindings.mark(), len(self.walk.prover.open_ranks)
        demanded = len(self.walk.prover.demands)
        result, left = self._body(frame)
        bound = self.walk.bindings.taken(since, result)
        self.leaves.append(CaseLeaf(when, bound, left, not self.walk.prover.never_passes(frame, demanded)))
        self.walk.prover.sort_by_sides(demanded)
        more = _asked(self.walk, self._inputs, when, asked)
        self.more |= {} if more is None else {path: more}
        return result

    # Results for all cases together

    def without_proved(self, function: core.Function) -> tuple[core.Function, int]:
        """A function without the checks that every case proves, and their number."""
        left = [f for leaf in self.leaves for f in leaf.left]
        places = {node.span for f in left for node in nodes(f.body, f.promises) if is_open(node)}
        gone: list[Node] = []

        def proved(node: Node) -> Node:
            if isinstance(node, core.Block):
                return replace(node, stmts=kept(node.stmts))
            if not is_open(node) or any(p.within(node.span) or node.span.within(p) for p in places):
                return node
            gone.append(
                replace(node, guard=False) if isinstance(node, core.Call) else replace(node, status=Status.PROVED)
            )
            return gone[-1]

        def kept(stmts: tuple[core.Stmt, ...]) -> tuple[core.Stmt, ...]:
            return tuple(s for s in stmts if not (isinstance(s, core.Assert) and s.status is Status.PROVED))

        body, promises = rewrite(function.body, proved), kept(rewrite(function.promises, proved))
        return replace(function, body=body, promises=promises), len(gone)

    def told(self, general: Iterable[Finding], found: Iterable[Finding]) -> Iterator[Finding]:
        """Yield the first walk's findings where cases find something too, if these are about inputs alone or fail in one arm
        of an `if` on data; else the findings of the cases."""
        kept = [f for f in general if not isinstance(f.asked, FindingRemark)]
        of_cases: dict[Span, list[Finding]] = {}
        for finding in found:
            if not isinstance(finding.asked, FindingRemark):
                of_cases.setdefault(finding.span, []).append(finding)
        yield from (f for f in general if isinstance(f.asked, FindingRemark))
        some = {s for s, findings in of_cases.items() if not self.are_of_sizes and len(findings) < len(self.leaves)}
        said = {f.span for f in kept if f.span in of_cases and (f.span in some or self._is_of_inputs(f.outcome.cond))}
        yield from (f for f in kept if f.span in said)
        yield from (self._in_all(findings) for span, findings in of_cases.items() if span not in said)

    def _in_all(self, findings: list[Finding]) -> Finding:
        """The first finding of the cases at one place, errors before others, with the conditions of all cases."""
        found = next((f for f in findings if f.is_error), findings[0])
        checks = [OpenCheck(f.outcome.cond, ()) for f in findings]
        if not found.is_error and len(findings) > 1:
            all_hold = weakest(self.walk.state, self._inputs, checks)
            only = in_words(all_of(*all_hold.conds)) if all_hold.complete else None
            found.outcome = replace(found.outcome, only=only)
        return found

    def _is_of_inputs(self, cond: Cond | None) -> bool:
        """Whether a condition is on input sizes alone, and so the same in all cases."""
        return cond is not None and all(v in self._inputs.sizes for v in cond_variables(cond))

    def described(self, general: FunctionShapes) -> FunctionShapes:
        """The record of each name: without cases, or case by case if sizes decide its rank."""
        found: dict[tuple[str, Span], list[tuple[Cond, Recorded]]] = {}
        for leaf in self.leaves:
            for one in leaf.bound if leaf.ends else (r for r in leaf.bound[:-1] if r.sizes is not None):
                found.setdefault((one.binding.name, one.binding.span), []).append((all_of(*leaf.when), one))
        inputs = set(names_in(*(size for p in general.params for size in p.shape or ())))
        bindings = tuple(self._merged(b, inputs, found.get((b.name, b.span), [])) for b in general.bindings)
        result = general.result and self._merged(general.result, inputs, found.get(("result", NOWHERE), []))
        return replace(general, bindings=bindings, result=result)

    def _merged(self, general: Binding, inputs: set[str], found: list[tuple[Cond, Recorded]]) -> Binding:
        """Merge one binding from all cases. Facts without cases about the inputs' sizes are kept."""
        if general.items and all(len(r.items) == len(general.items) for _, r in found):
            parts = zip(*([(cond, item) for item in r.items] for cond, r in found), strict=True)
            items = tuple(self._merged(g, inputs, list(part)) for g, part in zip(general.items, parts, strict=False))
            return replace(general, items=items or general.items)
        whole = general.shape is not None and _is_known(general.shape)
        if (whole and inputs.issuperset(names_in(*general.shape or ()))) or any(r.sizes is None for _, r in found):
            return general
        kept = self._apart(found)
        if len(kept) == 1:
            known = kept[0][1].binding
            return replace(known, name=general.name, span=general.span, data=general.data)
        shapes = [one.binding.shape or () for _, one in kept]
        said = [size for shape in shapes for size in shape]
        if not kept or (general.shape is not None and not (_is_known(said) and inputs.issuperset(names_in(*said)))):
            return general
        if len(set(map(len, shapes))) > 1:
            general = replace(general, shape=None, exactness=(), bounds=())
        whens = (cond_text(self._short(cond)) if self.are_of_sizes else None for cond, _ in kept)
        return replace(general, cases=tuple(map(Case, whens, shapes)))

    def shapes(self) -> tuple[ShapeCase, ...] | list[Any]:
        """The shapes of the result with their conditions, none if one is unknown; for a tuple a list of those of its
        parts."""
        return self._shapes([(all_of(*leaf.when), leaf.bound[-1]) for leaf in self.leaves if leaf.ends])

    def _shapes(self, found: list[tuple[Cond, Recorded]]) -> tuple[ShapeCase, ...] | list[Any]:
        if found and len({len(r.items) for _, r in found} | {0}) == 2:
            return [
                self._shapes(list(part)) for part in zip(*([(c, i) for i in r.items] for c, r in found), strict=True)
            ]
        if any(r.sizes is None for _, r in found):
            return ()
        return tuple(ShapeCase(self._short(cond), r.sizes or ()) for cond, r in self._apart(found))

    def _apart(self, found: Iterable[tuple[Cond, Recorded]]) -> list[tuple[Cond, Recorded]]:
        """Cases with different shapes, the highest rank first."""
        kept: list[tuple[Cond, Recorded]] = []
        for cond, one in found:
            self._add(kept, cond, one)
        return sorted(kept, key=lambda case: -len(case[1].sizes or ()))

    def _add(self, kept: list[tuple[Cond, Recorded]], cond: Cond, one: Recorded) -> None:
        """Add a case, merged with one of the same shape if there is one."""
        for at, (other, known) in enumerate(kept):
            for shape, where in ((known, cond), (one, other)):
                if self._has(known if shape is one else one, shape, where):
                    kept[at] = any_of(other, cond), shape
                    return
        kept.append((cond, one))

    def _has(self, one: Recorded, shape: Recorded, where: Cond) -> bool:
        """Whether a value has the same shape as in another case."""
        if one.sizes is None or shape.sizes is None or len(one.sizes) != len(shape.sizes):
            return False
        if not _is_known(shape.binding.shape or ()):
            ends = [(r.binding.shape, r.binding.exactness, r.binding.bounds) for r in (one, shape)]
            return ends[0] == ends[1]
        facts = facts_of((*self.entry_check, where))
        pairs = zip(one.sizes, shape.sizes, strict=True)
        return all(a == b or facts.decide(eq(a, b)).kind == "proved" for a, b in pairs)

    def _short(self, cond: Cond) -> Cond:
        if cond not in self._shorts:
            self._shorts[cond] = shorter(facts_of(self.entry_check), cond)
        return self._shorts[cond]


def _is_known(shape: Iterable[int | str]) -> bool:
    return all(is_whole(str(size)) for size in shape)
