"""What was learnt in a scope ends with it: in a State, whatever is done to it, and in a program, whatever an arm says."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rxlang import pipeline
from rxlang.lang.dtypes import DTYPES, DType
from rxlang.ops.model import DTypeSymbol, Segment
from rxlang.simplify.known.state import State
from rxlang.simplify.known.values import SegmentSymbol, SizeValue
from rxlang.simplify.solver.conditions import Cond, any_of, eq, ge, le, ne
from rxlang.simplify.solver.sizes import only_var
from rxlang.simplify.solver.terms import Size, Term, Var, floordiv, mod
from rxlang.simplify.solver.trail import KeptTable, Table
from support import fuzz, metamorphic, random_programs as programs
from support.phases import checked_of

HERE = Path(".")

# What gives out new names, what counts the work that was done, and what was worked out last, with its time: none is known of
# anything.
SUPPLIES = {
    "names",
    "serial",
    "size",
    "counts",
    "_patience",
    "_session",
    "_answers",
    "_newest",
    "time",
    "history",
    "_resolved",
}
# What is made once: what was there stays.
MADE_ONCE = {"lasting"}


class Snapshot:
    """All that an object holds, by its attributes and theirs. Of what is newer than `newest` nothing is noted."""

    def __init__(self, newest: int) -> None:
        self.newest = newest
        self.seen: set[int] = set()

    def of(self, value: Any) -> Any:
        if isinstance(value, SegmentSymbol | DTypeSymbol):
            return (type(value).__name__, value.serial)
        if isinstance(value, Segment):
            return self.of(value.symbol)
        if isinstance(value, Var | Term | DType) or value is None or isinstance(value, int | str | bool):
            return value
        if isinstance(value, list | tuple):
            return tuple(map(self.of, value))
        if isinstance(value, set | frozenset):
            return frozenset(map(self.of, value))
        if isinstance(value, dict):
            return self._table(value)
        return self._object(value)

    def _table(self, table: dict[Any, Any]) -> Any:
        kept = {self.of(k): self.of(v) for k, v in table.items() if not self._is_new(k)}
        indexed = self._slots(table) if isinstance(table, Table) else {}
        return (frozenset((k, v) for k, v in kept.items() if v != (frozenset(), ())), tuple(indexed.items()))

    def _is_new(self, key: Any) -> bool:
        return isinstance(key, Var) and key.serial > self.newest

    def _object(self, value: Any) -> Any:
        module = type(value).__module__
        if not module.startswith("rxlang") or id(value) in self.seen:
            return type(value).__name__ if module.startswith("rxlang") else value
        if type(value).__name__ in ("Eq0", "Ne0", "Ge0", "AnyOf", "AllOf"):
            return value
        self.seen.add(id(value))
        return (type(value).__name__, tuple(self._slots(value).items()))

    def _slots(self, value: Any) -> dict[str, Any]:
        names = {n for c in type(value).__mro__ for n in getattr(c, "__slots__", ())} | set(
            getattr(value, "__dict__", ())
        )
        return {n: self.of(getattr(value, n)) for n in sorted(names - SUPPLIES - MADE_ONCE)}


def snapshot(state: State, newest: int) -> dict[str, Any]:
    return Snapshot(newest)._slots(state)


class Learner:
    """Does random things to a State; `DONE` has a name of each of its methods that changes it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.state = State()
        self.sizes: list[Term] = [self.state.size(name) for name in "nmk"]
        self.sizes += [self.state.dimension("?") for _ in range(3)] + [self.state.unknown_integer()]
        self.segments = [self.state.segment(name) for name in ("s", "?")]
        self.dtypes: list[DTypeSymbol] = [self.state.dtype_symbol(name) for name in ("d", "?", "?")]

    def a_size(self) -> Size:
        a, b = self.random.choice(self.sizes), self.random.choice(self.sizes)
        number = self.random.randint(0, 6)
        return self.random.choice((a, a, a + b, a * 2, a + number, a * b, number, floordiv(a, 2), mod(a, 3), a - b))

    def a_cond(self) -> Cond:
        make = self.random.choice((eq, eq, le, ge, ne))
        cond = make(self.a_size(), self.a_size())
        return any_of(cond, eq(self.a_size(), 2)) if self.random.random() < 0.2 else cond

    def a_shape(self) -> tuple[Any, ...]:
        parts = [self.a_size() for _ in range(self.random.randint(0, 3))]
        return (*parts, *self.random.sample(self.segments, self.random.randint(0, 1)))

    def an_open_segment(self) -> Segment | None:
        open_ = [s for s in self.segments if self.state.spread((s,)) == (s,)]
        return self.random.choice(open_) if open_ else None

    def expand(self) -> None:
        segment = self.an_open_segment()
        if segment is not None:
            self.state.expand(segment, tuple(self.a_size() for _ in range(self.random.randint(0, 2))))

    def expand_to_rank(self) -> None:
        segment = self.an_open_segment()
        if segment is not None:
            self.state.expand_to_rank(segment, self.random.randint(0, 3))

    def rename(self) -> None:
        open_ = [v for v in map(only_var, self.sizes) if isinstance(self.state.settled(Term({(v,): 1})), Term)]
        loose = [v for v in open_ if v in self.state.anonymous or v in self.state.opaque]
        loose = [v for v in loose if v not in self.state._solved]
        if loose:
            self.state.rename(self.random.choice(loose), self.state.size("q"))

    def solve_anonymous(self) -> None:
        self.state.solve_anonymous(self.random.choice(self.sizes), self.a_size())

    def learn_bound(self) -> None:
        self.state.learn_bound(self.random.choice(self.sizes), self.a_size())

    def call(self) -> None:
        self.state.call(self.random.choice([*self.dtypes, *(s.symbol for s in self.segments)]), "name")

    def name_shape(self) -> None:
        self.state.name_shape((self.random.choice(self.segments),), "name")

    def unify(self) -> None:
        self.state.unify(self.random.choice(self.dtypes), self.random.choice([*self.dtypes, *DTYPES.values()]))

    def restrict(self) -> None:
        wanted = frozenset(self.random.sample(sorted(DTYPES.values(), key=str), 3))
        self.state.restrict(self.random.choice(self.dtypes), wanted)

    def assume(self) -> None:
        self.state.assume(self.a_cond(), "reason")

    def ask(self) -> None:
        cond = self.a_cond()
        self.state.facts.decide(cond)
        self.state.facts.possible(cond)
        self.state.facts.witness(cond, False)

    def write(self) -> None:
        """Into the tables that others write into."""
        v, size = only_var(self.random.choice(self.sizes)), self.a_size()
        self.state.opaque[v] = size
        self.state.inlined[("f", size)] = SizeValue(size)
        self.state.choices.update({v: ((self.a_cond(), size),)})
        self.state.either |= {v: (size, self.a_size())}
        self.state.display.setdefault(self.random.choice(self.sizes), ("min", (size,)))
        self.state.anonymous.pop(v)
        self.random.choice((self.state.either.clear, self.state.choices.popitem))()

    def make(self) -> None:
        self.sizes.append(self.random.choice((self.state.dimension, self.state.size))("z"))
        self.sizes.append(self.state.unknown_integer())
        self.sizes.append(self.state.truth("t"))

    def segment_dim(self) -> None:
        self.state.segment_dim(self.random.choice(self.segments), self.random.randint(-2, 2))

    def elements(self) -> None:
        self.state.elements((self.random.choice(self.segments), self.a_size()))

    def segment_rank(self) -> None:
        self.state.segment_rank(self.random.choice(self.segments))

    def dim_between(self) -> None:
        self.state.dim_between(self.a_shape(), 1)

    def unsure(self) -> None:
        self.state.unsure = True

    def inner(self) -> None:
        """A scope in the scope."""
        self.state.push()
        self.some(self.random.randint(0, 4))
        self.state.pop()

    def some(self, number: int) -> None:
        for _ in range(number):
            self.random.choice(DOES)(self)


DOES: list[Callable[[Learner], None]] = [
    Learner.expand, Learner.expand_to_rank, Learner.rename, Learner.solve_anonymous, Learner.learn_bound, Learner.call,
    Learner.unify, Learner.restrict, Learner.assume, Learner.assume, Learner.assume, Learner.ask, Learner.write,
    Learner.make, Learner.segment_dim, Learner.segment_rank, Learner.elements, Learner.dim_between, Learner.unsure,
    Learner.inner, Learner.name_shape,
]  # fmt: skip
TRIED = {f.__name__ for f in DOES} | {
    "size",
    "dimension",
    "leave_unnamed",
    "unknown_integer",
    "truth",
    "segment",
    "dtype_symbol",
}
ASKS = {
    "settled", "upper_bound", "resolve", "spread", "has_rank_of", "rank", "dtype", "allowed", "same_dtype", "in_class",
    "number", "push", "pop", "bases_of", "past", "called", "is_named_shape",
    "printed", "text", "known_dtypes", "among", "may_be_called",
}  # fmt: skip


def test_every_method_of_a_state_is_tried_here_or_only_asks() -> None:
    assert {n for n in vars(State) if not n.startswith("_")} == (TRIED & set(vars(State))) | ASKS


def test_what_was_in_a_table_at_some_time_can_be_looked_up_later() -> None:
    for case in fuzz.cases("tables of the past"):
        with case as seed:
            learner = Learner(seed)
            state, held = learner.state, []
            for _ in range(4):
                learner.some(learner.random.randint(0, 4))
                if learner.random.random() < 0.5:
                    state.push()
                held.append((state.past(), {n: dict(t) for n, t in vars(state).items() if isinstance(t, KeptTable)}))
            for _ in state._scopes.copy():
                learner.some(2)
                state.pop()
            learner.some(4)
            assert held[0][1].keys() >= {"_solved", "_segments", "_dtypes", "opaque", "display"}
            for past, tables in held:
                for name, table in tables.items():
                    keys = getattr(state, name).history.keys()
                    assert {k: getattr(past, name)[k] for k in keys if k in getattr(past, name)} == table


def test_what_is_done_in_a_scope_is_undone_with_it() -> None:
    for case in fuzz.cases("scopes"):
        with case as seed:
            learner = Learner(seed)
            learner.some(learner.random.randint(0, 8))
            newest = learner.state.serial()
            made = vars(learner.state.lasting)
            names = {n: dict(table) for n, table in made.items()}
            before = snapshot(learner.state, newest)
            learner.state.push()
            sizes = list(learner.sizes)
            learner.some(learner.random.randint(1, 12))
            learner.state.pop()
            learner.sizes = sizes
            after = snapshot(learner.state, newest)
            assert [n for n in before if before[n] != after[n]] == []
            assert all(names[n].items() <= table.items() for n, table in made.items())


def test_the_comparison_sees_a_table_that_is_not_on_the_trail() -> None:
    state = State()
    size = state.size("n")
    before = snapshot(state, state.serial())
    state.beside = {only_var(size): 3}  # type: ignore[attr-defined]
    assert snapshot(state, state.serial()) != before
    before = snapshot(state, state.serial())
    state.opaque.begin(only_var(size), 3)
    assert snapshot(state, state.serial()) != before


# Programs


def learnt(maker: programs.Maker, scope: list[str], at: int) -> str:
    """An arm, or a lambda that nobody calls, that learns something of the tensors in scope and changes nothing."""
    rng = maker.random
    x, y = rng.choice(scope), rng.choice(scope)
    facts = (
        f"assert {x}.dim(0) <= {rng.randint(0, 4)}",
        f"assert {x}.dim(0) == {y}.dim(0)",
        f"assert {x}.dim(-1) == {rng.randint(1, 4)}",
        f"assert {x}.dtype == {y}.dtype",
        f"assert {x}.shape == {y}.shape",
        f"assert {x}.rank == {rng.randint(1, 2)}",
        f"match_shape({x}, [g{at}, ...], [g{at}, ...])",
        f"let h{at} ! Tensor([g{at}, ...]) = {x}",
        f"let h{at} ! Tensor([g{at} * 2]) = {x}",
    )
    said = "; ".join(rng.sample(facts[:6], rng.randint(0, 2)) + [rng.choice(facts)])
    if rng.random() < 0.3:
        return f"  let _z{at} = fn(a{at} : Tensor) : Tensor {{ {said}; a{at} }}"
    arms = [f"{{ {said}; 1.0 }}", "{ 2.0 }"]
    rng.shuffle(arms)
    return f"  let _z{at} = if (@sum(@cast({scope[0]}, float32)) > 3.0) {arms[0]} else {arms[1]}"


def told(text: str) -> Any:
    """What is said of a program: its shapes, and what is wrong, but for the lines that were put in; None where what was put in
    is itself an error (then the tensors of its line are poisoned)."""
    report = pipeline.check_text(text, "scopes.rx", HERE)
    assert report.checked is not None
    added = {i for i, line in enumerate(text.split("\n"), 1) if "let _z" in line}
    shapes = [
        (f.name, f.params, f.result, [(b.name, b.shape, b.dtype, b.exactness, b.bounds) for b in f.bindings
                                      if b.span.line not in added])
        for f in report.checked.shapes
    ]  # fmt: skip
    plain = [
        (s[0], [(p.name, p.shape, p.bounds) for p in s[1]], s[2] and (s[2].shape, s[2].bounds), s[3]) for s in shapes
    ]
    found = [d for d in report.diagnostics if d.severity != "note" and d.span.line not in added]
    if any(d.severity == "error" and d.span.line in added for d in report.diagnostics):
        return None
    return plain, sorted((d.code, d.message) for d in found)


def test_an_arm_that_gives_nothing_away_changes_nothing_that_is_said() -> None:
    for case in fuzz.cases("arms that tell nothing"):
        with case as seed:
            maker = programs.Maker(seed)
            lines = maker.own.split("\n")
            end = metamorphic.end_of(lines)
            at = maker.random.randint(1, end)
            bound = [m[1] for line in lines[1:at] if (m := re.match(r"  let (\w+)\b", line)) and " fn(" not in line]
            scope = [name for name, dims, _ in maker.params if dims] + [n for n in bound if n.startswith("t")]
            if not scope:
                continue
            changed = [*lines[:at], learnt(maker, scope, at), *lines[at:]]
            texts = ["\n".join(text) for text in (lines, changed)]
            source, longer = (text + programs.library_of(text) for text in texts)
            found = told(longer)
            assert found is None or found == told(source), longer


ARMS = {
    "a bound": ("let u = if (y.dim(0) <= 3) { y } else { y + 1.0 }", "?"),
    "a bound by a tensor": ("let u = if (@sum(x) > 1.0) { assert y.dim(0) <= 3; y } else { y }", "?"),
    "a bound in a lambda": ("let u = fn(a : Tensor) : Tensor { assert y.dim(0) <= 3; a }", "?"),
    "a bound in an arm of an arm": (
        "let u = if (@sum(x) > 1.0) { if (y.dim(0) <= 3) { y } else { y + 1.0 } } else { y }", "?",
    ),
    "a bound in the second arm": ("let u = if (y.dim(0) > 3) { y } else { y + 1.0 }", "?"),
    "a name": ("let u = if (@sum(x) > 1.0) { match_shape(y, [q], [q]); y } else { y }", "?"),
}  # fmt: skip


@pytest.mark.parametrize(("arm", "size"), ARMS.values(), ids=ARMS)
def test_what_an_arm_learns_of_a_size_that_only_the_run_decides_ends_with_it(arm: str, size: str) -> None:
    text = (
        'extern @g = fn(x : Tensor([n], float32)) : Tensor([?], float32) = "numpy:asarray"\n'
        f"@f = fn(x : Tensor([n], float32)) : Tensor {{\n  let y = @g(x)\n  {arm}\n  y\n}}\n"
    )
    result = next(f for f in checked_of(text).shapes if f.name == "@f").result
    assert result is not None and (result.shape, result.bounds) == ((size,), (None,))
