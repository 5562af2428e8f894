"""The differences between two contracts: sizes that only the old one accepts, other changes, and open questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from ..lang.expressions import renamed
from ..lang.listing import shape_text
from ..lang.node import Node
from ..simplify.solver.numbers import multiple
from ..simplify.solver.prove import prove
from .contract import SIZE, Contract, IndexRange, Shape, Typed

Relation = Literal["equal", "wider", "narrower", "different", "unknown"]


class NewlyRefused(Node):
    """A condition of the new contract that sizes break which the old one accepts, with these sizes by place."""

    condition: str
    node: str
    witness: Mapping[str, int]

    def __str__(self) -> str:
        sizes = ", ".join(f"{place} = {n}" for place, n in self.witness.items())
        return f"{self.node} now demands {self.condition}" + (
            f": with {sizes} it fails, and did not before" if sizes else ""
        )


class Comparison(Node):
    """A contract with `refused` is narrower, with `differences` different; `unknown` are open questions."""

    refused: tuple[NewlyRefused, ...]
    differences: tuple[str, ...]
    unknown: tuple[str, ...]
    is_wider: bool

    @property
    def relation(self) -> Relation:
        if self.refused:
            return "narrower"
        if self.differences:
            return "different"
        if self.unknown:
            return "unknown"
        return "wider" if self.is_wider else "equal"


class _Terms:
    """A contract over the sizes of the inputs by their places, independent of their names."""

    def __init__(self, contract: Contract, places: Mapping[tuple[str, int], str]) -> None:
        self.names: dict[str, str] = {}
        dims = [
            (places[value.name, axis], size)
            for value in contract.inputs
            for axis, size in enumerate(value.shape or ())
            if (value.name, axis) in places
        ]
        for place, size in dims:
            if isinstance(size, str) and size.isidentifier():
                self.names.setdefault(size, place)
        self.clauses = [(text, "the declaration of the inputs") for text in self._multiples(dims)]
        for place, size in dims:
            if self.names.get(str(size)) != place:
                self.clauses.append((f"{place} == {self.renamed(size)}", "the declaration of the inputs"))
        self.clauses += [
            (self.renamed(c.condition), c.demands[0].node if c.demands else "") for c in contract.conditions
        ]
        self.clauses += [(self.renamed(text), "what is given") for text in contract.given]

    def _multiples(self, dims: Iterable[tuple[str, int | str]]) -> Iterator[str]:
        """Define the name in `n * 2` as half of the size, which is even."""
        for place, size in dims:
            name, factor = multiple(size) or ("", 0)
            if name and name not in self.names:
                self.names[name] = f"({place} // {factor})"
                yield f"{place} % {factor} == 0"

    def renamed(self, size: int | str) -> str:
        return renamed(size, self.names)

    @property
    def assumed(self) -> list[str]:
        return [text for text, _ in self.clauses]


def compare(old: Contract, new: Contract, *, named: bool = True) -> Comparison:
    """The changes in the new contract. Outputs that are not `named` take their names from variables in the code, and are
    matched by position."""
    return _Comparing(old, new, named).compared()


class _Comparing:
    def __init__(self, old: Contract, new: Contract, named: bool) -> None:
        self.old, self.new, self.named = old, new, named
        befores = {v.name: v for v in old.inputs}
        self.pairs = [(befores[v.name], v) for v in new.inputs if v.name in befores]
        self.places = {
            (after.name, axis): f"at_{number}_{axis}"
            for number, (before, after) in enumerate(self.pairs)
            for axis in range(len(after.shape or ()) if _rank(before) == _rank(after) else 0)
        }
        self.before, self.after = _Terms(old, self.places), _Terms(new, self.places)
        self.refused: list[NewlyRefused] = []
        self.differences: list[str] = []
        self.unknown: list[str] = []

    def compared(self) -> Comparison:
        self.inputs()
        for text, node in self.after.clauses:
            self.clause(text, node)
        for one in self.new.ranges:
            self.range(one)
        self.outputs()
        if self.refused and not self.new.exact:
            self.unknown += [str(refused) for refused in self.refused]
            self.refused = []
        said = (tuple(self.refused), tuple(self.differences), tuple(self.unknown))
        return Comparison(*said, is_wider=not any(said) and self.is_wider())

    def inputs(self) -> None:
        names = {v.name for v in self.old.inputs}, {v.name for v in self.new.inputs}
        self.differences += [f"input `{name}` is new, and required" for name in sorted(names[1] - names[0])]
        self.differences += [f"input `{name}` is gone" for name in sorted(names[0] - names[1])]
        for before, after in self.pairs:
            self.differences += _differences(f"input `{after.name}`", before, after)

    def clause(self, text: str, node: str) -> None:
        answer = self.answer(self.before.assumed, text)
        if answer["result"] in ("neither", "unsat"):
            point = answer.get("witness") or self.answer(self.before.assumed, "one_more == 0").get("witness") or {}
            shown = self.shown_point(point)
            if shown:
                self.refused.append(NewlyRefused(self.shown(text), node, shown))
            elif not self.differences:  # a changed input explains it
                self.unknown.append(f"{node} demands {self.shown(text)}")
        elif answer["result"] not in ("valid", "vacuous"):
            self.unknown.append(f"{node} demands {self.shown(text)}, and it is not known whether that held before")

    def range(self, new: IndexRange) -> None:
        old = [r for r in self.old.ranges if r.input == new.input]
        goals = [
            f"{self.after.renamed(new.least)} <= {self.before.renamed(r.least)} && "
            f"{self.before.renamed(r.most)} <= {self.after.renamed(new.most)}" for r in old
        ]  # fmt: skip
        both = [*self.before.assumed, *self.after.assumed]
        results = [self.answer(both, goal)["result"] for goal in goals]
        if not any(result in ("valid", "vacuous") for result in results):
            text = f"{new.least} <= {new.input} <= {new.most}"
            if any(result in ("unknown", "error") for result in results):
                self.unknown.append(f"{new.demand.node} demands {text}")
            else:
                beyond = next(_beyond(old, new), None)
                at = {} if beyond is None else {f"an element of {new.input}": beyond}
                self.refused.append(NewlyRefused(text, new.demand.node, at))

    def outputs(self) -> None:
        old, new = self.old.outputs, self.new.outputs
        if len(old) != len(new) or self.named and [v.name for v in old] != [v.name for v in new]:
            said = [", ".join(v.name for v in values) for values in (old, new)]
            self.differences.append(f"the outputs were {said[0]}, and are {said[1]}")
            return
        for number, (before, after) in enumerate(zip(old, new, strict=True), 1):
            what = f"output `{after.name}`" if self.named or len(new) == 1 else f"result {number} (`{after.name}`)"
            self.differences += _differences(what, before, after)
            if before.shape is not None and after.shape is not None and _rank(before) == _rank(after):
                self.sizes(what, before.shape, after.shape)

    def sizes(self, what: str, old: Shape, new: Shape) -> None:
        both = [*self.before.assumed, *self.after.assumed]
        for axis, (before, after) in enumerate(zip(old, new, strict=True)):
            texts = self.before.renamed(before), self.after.renamed(after)
            if texts[0] == texts[1]:
                continue
            said = f"axis {axis} of {what} was {before}, and is {after}"
            known = "?" not in texts
            result = self.answer(both, f"{texts[0]} == {texts[1]}")["result"] if known else "neither"
            if result in ("neither", "unsat"):
                self.differences.append(said)
            elif result not in ("valid", "vacuous"):
                self.unknown.append(said)

    def is_wider(self) -> bool:
        """Whether the new contract drops a condition of the old one."""
        gone = (self.answer(self.after.assumed, text)["result"] != "valid" for text, _ in self.before.clauses)
        ranges = {(r.input, r.least, r.most) for r in self.old.ranges} != {
            (r.input, r.least, r.most) for r in self.new.ranges
        }
        return any(gone) or ranges

    def answer(self, assume: list[str], goal: str) -> dict[str, Any]:
        return {"result": "valid"} if goal in assume else prove(assume, goal)

    def shown(self, text: str) -> str:
        """A text with places instead of the generated names."""
        return renamed(text, {made: self.place(name, axis) for (name, axis), made in self.places.items()})

    def place(self, name: str, axis: int) -> str:
        is_size = any(v.name == name and v.dtype == SIZE for v in self.new.inputs)
        return name if is_size else f"{name}.{axis}"

    def shown_point(self, point: Mapping[str, int]) -> dict[str, int]:
        return {self.place(name, axis): point[made] for (name, axis), made in self.places.items() if made in point}


def _beyond(old: Iterable[IndexRange], new: IndexRange) -> Iterator[int]:
    """Elements just outside the new range that were inside all old ones, where all ends are numbers."""
    ends = [end for one in (*old, new) for end in (one.least, one.most)]
    if isinstance(new.least, int) and isinstance(new.most, int) and all(isinstance(end, int) for end in ends):
        for element in (new.most + 1, new.least - 1):
            if all(int(one.least) <= element <= int(one.most) for one in old):
                yield element


def _rank(value: Typed) -> int | None:
    return None if value.shape is None else len(value.shape)


def _differences(what: str, before: Typed, after: Typed) -> Iterator[str]:
    if before.dtype != after.dtype:
        yield f"{what} had the dtype {before.dtype or '?'}, and has {after.dtype or '?'}"
    if set(before.cases) != set(after.cases):
        yield f"{what} had the shape {_cases(before)}, and has {_cases(after)}"
    if _rank(before) != _rank(after):
        ranks = ["an unknown rank" if rank is None else f"rank {rank}" for rank in (_rank(before), _rank(after))]
        yield f"{what} had {ranks[0]}, and has {ranks[1]}"


def _cases(value: Typed) -> str:
    shapes = (f"{shape_text(case.shape)} {case}" for case in value.cases)
    return ", ".join(shapes) or ("[...]" if value.shape is None else shape_text(value.shape))
