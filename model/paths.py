"""The other paths of PyTorch code: a run at the boundary of each condition, and its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

from ..frontends.torch.run import Step, Trace
from ..lang.expressions import names_in
from ..lang.node import Node, replace
from ..simplify.solver.numbers import holds_at
from ..simplify.solver.prove import prove

# The most runs beside the first two; of them with several sizes changed, and of one size that stop for another reason than
# sizes.
_MOST, _MOST_TOGETHER, _MOST_STOPPED = 16, 4, 4
BRANCHES = ("branch", "operation")

Run = Callable[[Mapping[str, int], frozenset[str]], Trace]


class OtherPath(Node):
    """A run on another path: the sizes or the place that lead there, the facts of the first run that it breaks, and whether
    it computes the same."""

    run: Trace
    broken: frozenset[str]
    place: str | None = None
    same: bool = False

    @property
    def point(self) -> Mapping[str, int]:
        return self.run.hints

    def is_same(self, first: Trace) -> bool:
        """Whether it computes as the first run does, apart from its branches."""
        return self.run.stopped is None and program(self.run) == program(first)


class FoundPaths(Node):
    """The first run without facts that make no difference, the other paths, and the places where its data goes
    `otherwise`."""

    first: Trace
    others: tuple[OtherPath, ...]
    otherwise: frozenset[str] = frozenset()


def branches(run: Trace) -> dict[str, Step]:
    """The facts that select the path, of those about sizes of the inputs alone."""
    return {t: s for t, s in run.facts if s.kind in BRANCHES and set(names_in(t)) <= set(run.hints)}


def paths_of(run: Run, first: Trace, given: Sequence[str] = (), otherwise: frozenset[str] = frozenset()) -> FoundPaths:
    """The runs beside the first one: at boundaries of one size at a time, where several differ, and where data decides. All
    of them satisfy `given`."""
    if first.stopped is not None and first.stopped.is_unread:
        return FoundPaths(first, (), otherwise)

    def at(sizes: Mapping[str, int]) -> Trace:
        return run(sizes, otherwise)

    facts = branches(first)
    before = takewhile(lambda fact: fact[1].kind not in BRANCHES, first.facts)
    stated = [*given, *(t for t, s in before if s.kind == "stated")]  # on all paths
    others: list[OtherPath] = []
    left: set[str] = set()
    for name in first.hints:
        own = frozenset(t for t in facts if name in names_in(t))
        found, is_whole = _of_size(at, first, stated, name, own, _MOST - len(others)) if own else ([], True)
        others += found
        left |= set() if is_whole else own
    others += _together(at, first, stated, others)
    room = max(0, _MOST - len(others))
    others += [OtherPath(run(first.hints, otherwise ^ {p}), frozenset(), p) for p in _data(first)[:room]]
    crossed = {t for o in others for t in o.broken} - left
    told = tuple(replace(o, same=o.is_same(first)) for o in others)
    free = _free(told, crossed)
    closed = {o.place for o in told if o.place is not None and o.same}
    data = tuple(p for p in first.open_data if p.key not in closed)
    return FoundPaths(replace(_without(first, free), open_data=data), told, otherwise)


def _free(others: Sequence[OtherPath], crossed: set[str]) -> set[str]:
    """The crossed facts that make no difference: a run that breaks no others computes the same."""
    free = set(crossed)
    for other in sorted(others, key=lambda o: len(o.broken)):
        if other.broken <= free and not other.same:
            alone = {t for o in others if o.same and o.broken < other.broken for t in o.broken}
            free -= other.broken - alone or other.broken
    return {t for o in others if o.broken <= free for t in o.broken}


def _of_size(
    run: Callable[[Mapping[str, int]], Trace],
    first: Trace,
    stated: Sequence[str],
    name: str,
    own: frozenset[str],
    most: int,
) -> tuple[list[OtherPath], bool]:
    """Run the code until every value of a size is in a region, the others unchanged; also return whether none is left."""
    fixed = [f"{n} == {size}" for n, size in first.hints.items() if n != name]
    regions = [joined(own)]
    found: list[OtherPath] = []
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
            other = run({**first.hints, name: size})
            found.append(OtherPath(other, frozenset(t for t in own if not holds_at(t, other.hints))))
            theirs = [t for t in branches(other) if name in names_in(t) and holds_at(t, other.hints)]
            is_whole = other.stopped is None or other.stopped.last is not None
            regions.append(joined(theirs if is_whole else [*theirs, f"{name} == {size}"]))
            if (
                not theirs
                or sum(o.run.stopped is not None and o.run.stopped.last is None for o in found) >= _MOST_STOPPED
            ):
                return found, False
    return found, True


def _together(
    run: Callable[[Mapping[str, int]], Trace], first: Trace, stated: Sequence[str], others: Sequence[OtherPath]
) -> list[OtherPath]:
    """Runs where several sizes together lead to another path."""
    facts, found = branches(first), list[OtherPath]()
    regions = [region_of(first), *(region_of(o.run) for o in others)]
    if len({name for one in (first, *(o.run for o in others)) for t in branches(one) for name in names_in(t)}) < 2:
        return []
    while True:
        answer = prove([*stated, *(f"{name} >= 1" for name in first.hints)], " || ".join(regions))
        witness = answer.get("witness")
        if witness is None:
            return found
        point = {name: witness.get(name, hint) for name, hint in first.hints.items()}
        if len(found) == _MOST_TOGETHER or any(holds_at(one, point) for one in regions):
            return found
        other = run(point)
        found.append(OtherPath(other, frozenset(t for t in facts if not holds_at(t, other.hints))))
        regions.append(region_of(other))


def region_of(run: Trace) -> str:
    """The sizes that take a run's path; only its own if it stopped for a reason that is no condition on sizes."""
    theirs = [t for t in branches(run) if holds_at(t, run.hints)]
    is_whole = run.stopped is None or run.stopped.last is not None
    return joined(theirs if is_whole and theirs else [f"{n} == {size}" for n, size in run.hints.items()])


def joined(facts: Iterable[str]) -> str:
    """Facts as one condition."""
    return f"({' && '.join(f'({t})' for t in facts)})"


def _data(run: Trace) -> list[str]:
    return list(dict.fromkeys(p.key for p in run.open_data))


def program(run: Trace) -> list[str]:
    """The lines that compute."""
    lines = run.text.splitlines()
    return [line for n, line in enumerate(lines, 1) if n not in run.steps or run.steps[n].kind not in BRANCHES]


def _without(run: Trace, facts: set[str]) -> Trace:
    """A run without some of its facts."""
    kept = list(_kept(run, facts))
    steps = {n: run.steps[old] for n, (old, _) in enumerate(kept, 1) if old in run.steps}
    text = "\n".join(line for _, line in kept) + "\n"
    return replace(run, text=text, steps=steps, facts=tuple(f for f in run.facts if f[0] not in facts))


def _kept(run: Trace, facts: set[str]) -> Iterator[tuple[int, str]]:
    for n, line in enumerate(run.text.splitlines(), 1):
        is_branch = n in run.steps and run.steps[n].kind in BRANCHES
        if not (is_branch and line.strip().removeprefix("assert ") in facts):
            yield n, line
