"""The other ways that PyTorch code takes: a run at the boundary of each condition, and what it gives there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from ..frontends.torch.run import Step, Trace
from ..lang.expressions import names_in
from ..lang.node import Node, replace
from ..simplify.solver.numbers import holds_at
from ..simplify.solver.prove import prove

# So many runs beside the first two.
_MOST = 12
_WAYS = ("branch", "operation")

Run = Callable[[Mapping[str, int], frozenset[str]], Trace]


class Other(Node):
    """A run that takes another way: the sizes or the place that lead there, and which facts of the first run do not hold."""

    run: Trace
    broken: frozenset[str]
    place: str | None = None

    @property
    def point(self) -> Mapping[str, int]:
        return self.run.hints

    def is_same(self, first: Trace) -> bool:
        """Whether it is the first run but for what was asked."""
        return self.run.stopped is None and program(self.run) == program(first)


class Ways(Node):
    """The first run without the facts that change nothing, the other ways, and the facts whose other side was not run."""

    first: Trace
    others: tuple[Other, ...]
    uncrossed: frozenset[str]


def branches(run: Trace) -> dict[str, Step]:
    """The facts that say which way was taken, of those that speak of the inputs' sizes alone."""
    return {t: s for t, s in run.facts if s.kind in _WAYS and set(names_in(t)) <= set(run.hints)}


def ways(run: Run, first: Trace) -> Ways:
    """The runs beside the first one, at boundaries of one size at a time."""
    if first.stopped is not None and first.stopped.is_unread:
        return Ways(first, (), frozenset(branches(first)))
    facts = branches(first)
    others: list[Other] = []
    left: set[str] = set()
    for name in first.hints:
        own = frozenset(t for t in facts if name in names_in(t))
        found, is_whole = _of_size(run, first, name, own, _MOST - len(others)) if own else ([], True)
        others += found
        left |= set() if is_whole else own
    others += [Other(run(first.hints, frozenset({p})), frozenset(), p) for p in _data(first)[: _MOST - len(others)]]
    crossed = {t for o in others for t in o.broken} - left
    free = {t for t in crossed if all(o.is_same(first) for o in others if t in o.broken)}
    closed = {o.place for o in others if o.place is not None and o.is_same(first)}
    data = tuple(p for p in first.open_data if p.key not in closed)
    kept = tuple(o for o in others if not o.is_same(first))
    return Ways(replace(_without(first, free), open_data=data), kept, frozenset(set(facts) - crossed))


def _of_size(run: Run, first: Trace, name: str, own: frozenset[str], most: int) -> tuple[list[Other], bool]:
    """Runs until each value of a size, the others being as they were, is in one; whether there is none outside."""
    stated = [t for t, s in first.facts if s.kind == "stated"]
    fixed = [f"{n} == {size}" for n, size in first.hints.items() if n != name]
    regions = [_joined(own)]
    found: list[Other] = []
    for least in (1, 0):
        while True:
            answer = prove([*stated, *fixed, f"{name} >= {least}"], " || ".join(regions))
            size = (answer.get("witness") or {}).get(name)
            if size is None:
                if answer["result"] not in ("valid", "vacuous"):
                    return found, False
                break
            if len(found) >= most:
                return found, False
            other = run({**first.hints, name: size}, frozenset())
            found.append(Other(other, frozenset(t for t in own if not holds_at(t, other.hints))))
            theirs = [t for t in branches(other) if name in names_in(t) and holds_at(t, other.hints)]
            regions.append(_joined([*theirs, f"{name} == {size}"] if other.stopped is not None else theirs))
            if not theirs:
                return found, False
    return found, True


def _joined(facts: Iterable[str]) -> str:
    return f"({' && '.join(f'({t})' for t in facts)})"


def _data(run: Trace) -> list[str]:
    return list(dict.fromkeys(p.key for p in run.open_data))


def program(run: Trace) -> list[str]:
    """The lines that compute."""
    lines = run.text.splitlines()
    return [line for n, line in enumerate(lines, 1) if n not in run.steps or run.steps[n].kind not in _WAYS]


def _without(run: Trace, facts: set[str]) -> Trace:
    """A run without some of its facts."""
    kept = list(_kept(run, facts))
    steps = {n: run.steps[old] for n, (old, _) in enumerate(kept, 1) if old in run.steps}
    text = "\n".join(line for _, line in kept) + "\n"
    return replace(run, text=text, steps=steps, facts=tuple(f for f in run.facts if f[0] not in facts))


def _kept(run: Trace, facts: set[str]) -> Iterator[tuple[int, str]]:
    for n, line in enumerate(run.text.splitlines(), 1):
        is_way = n in run.steps and run.steps[n].kind in _WAYS
        if not (is_way and line.strip().removeprefix("assert ") in facts):
            yield n, line
