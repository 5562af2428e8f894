"""Changes of a model that make it accept more; each was made, checked and run.

A change gives the same results at the sizes that the model was exported with; where it gives others at sizes that were
accepted by accident, it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product

from ..frontends.onnx.edits import ModelEdit, NewNode, Place
from ..frontends.onnx.inference import Inferred
from ..frontends.onnx.model import Model
from ..frontends.onnx.ranges import Indices
from ..lang.expressions import names_in
from ..lang.node import Node
from ..simplify.solver.fitting import at_most, exported_at, is_plain, padded_to
from ..simplify.solver.numbers import holds_at
from ..simplify.solver.prove import prove
from .accepted import sizes_of
from .at_sizes import smallest
from .baked import Baked
from .contract import Clause, Contract
from .entries import SIZES, EntryChange, Writing, items_of
from .places import ModelNodes, ModelSpot
from .replay import Parameter

Values = Mapping[str, Inferred]
Point = Mapping[str, int]
Changes = dict[tuple[object, int], EntryChange]
State = tuple[Changes, Contract, Values]
# Checks a changed model: its contract, None where it is rejected, and the inferred values.
Check = Callable[[ModelEdit], tuple[Contract | None, Values]]
# Runs the model and the changed one at some sizes: whether the results agree, None where they cannot be run.
Replay = Callable[[ModelEdit, Point], bool | None]
# Rounds for each size, changes tried in a round, checks of one model, and nodes in all checks together.
_ROUNDS, _TRIES, _CHECKS, _MOST_NODES = 8, 4, 16, 6_000
# A change must let the model take this many more sizes; they are searched up to this far beyond.
_FEW, _NEAR = 3, 16
# Further accepted points where results are compared: how many, of how many sizes, below which value.
_MOST_TRIED, _TRIED_SIZES, _SMALL = 4, 3, 8


class ModelFix(Node):
    """A change, in words, with the nodes that it changes and the conditions that it removes; `edit` includes the changes
    before it. Where it `pads`, results at sizes that were refused before depend on the padding."""

    text: str
    nodes: tuple[str, ...]
    gone: tuple[str, ...]
    edit: ModelEdit
    pads: bool = False


class FixedModel(Node):
    """The possible changes of a model; `left` has the reason for each condition without one."""

    fixes: tuple[ModelFix, ...] = ()
    left: Mapping[str, str] = {}


def fixes(model: Model, contract: Contract, values: Values, check: Check, replay: Replay) -> FixedModel:
    """Find changes; `values` are those of the model as it is."""
    fixing = _Fixing(model, contract, values, check, replay)
    found = (*fixing.freed(), *fixing.zeros(), fixing.padded())
    return FixedModel(tuple(m for m in found if m is not None), fixing.reasons)


class Goal(Node):
    """Conditions to remove, the sizes `free` that they tie, and `point`, all sizes at the model's export; `others` are other
    possible points of the export."""

    clauses: tuple[Clause, ...]
    point: Point
    free: tuple[str, ...]
    others: tuple[Point, ...]


class _Fixing:
    def __init__(self, model: Model, contract: Contract, values: Values, check: Check, replay: Replay) -> None:
        self.model, self.contract, self.check, self.replay = model, contract, check, replay
        self.places, self.indices = ModelNodes(model, values), Indices(model, values)
        self.writing = Writing(self.places)
        self.texts = [c.condition for c in contract.conditions]
        self.inputs = {i.name: i.shape or () for i in contract.inputs}
        self.names = names_in(*(size for shape in self.inputs.values() for size in shape))
        self.lists = [*_lists(self.places)]
        self.checks = max(2, min(_CHECKS, _MOST_NODES // (len(self.places.spots) + 1)))
        # The changes found so far, and the contract and values of the model with them.
        self.changes: Changes = {}
        self.left, self.values = contract, values
        self.reasons: dict[str, str] = {}

    # Fixed numbers

    def freed(self) -> Iterator[ModelFix]:
        """Free sizes that are fixed to numbers, all together, then one after another: each change builds on those before
        it."""
        tied = {c.condition: (c, found) for c in self.left.conditions if (found := self._tied(c))}
        if len(tied) > 1 and (goal := self._goal([*tied.values()])) is not None:
            yield from self._freed(goal)
        tried: set[str] = set()
        while (clause := next((c for c in self.left.conditions if c.condition not in tried), None)) is not None:
            tried.add(clause.condition)
            found, before = self._tied(clause), self.left
            for at in range(len(found)):
                goal = self._goal([(clause, [*found[at:], *found[:at]])]) if self.left is before else None
                yield from () if goal is None else self._freed(goal)
            if self.left is before and any(n > 1 for sizes in found for n in sizes.values()):
                self.reasons.setdefault(clause.condition, "no change that was tried frees it")
            if not found and (longest := at_most(clause.condition)) is not None:
                goal = self._at_most(clause, *longest)
                yield from () if goal is None else self._freed(goal)

    def _at_most(self, clause: Clause, name: str, most: int) -> Goal | None:
        """The goal for a size with an upper bound, if a slice may end at the size; also record the tables with that many
        entries."""
        baked = Baked(ModelNodes(self.model, self.values), self.inputs, {name: most}, {name}, self.changes)
        found = [c for changes in baked.tried(self._spots(d.node for d in clause.demands)) for c in changes]
        self.reasons |= {clause.condition: "; ".join(baked.tables)} if baked.tables else {}
        ends = any(c.spot.operation.op_type == "Slice" for c in found)
        return self._goal([(clause, [{name: most}])]) if ends else None

    def _tied(self, clause: Clause) -> list[dict[str, int]]:
        """The numbers that a condition fixes sizes to, the likeliest first; an empty mapping if only other conditions have
        them."""
        spots = self._spots(d.node for d in clause.demands)
        found = list(exported_at(clause.condition, self.names, self._targets(spots), self.lists))
        is_open = (
            len(clause.sizes) > 1 and " == " in clause.condition or any(s.operation.op_type == "TopK" for s in spots)
        )
        return found or [{}] * is_open

    def _goal(self, tied: Sequence[tuple[Clause, list[dict[str, int]]]]) -> Goal | None:
        """The sizes of some conditions, each at its likeliest number."""
        sizes = {name: n for _, found in tied for name, n in found[0].items()}
        others = [{**sizes, **other} for _, found in tied for other in found[1:2]]
        free = dict.fromkeys(name for clause, found in tied for name in found[0] or clause.sizes)
        points = [self._point(one) for one in (sizes, *others)]
        clauses = tuple(clause for clause, _ in tied)
        if points[0] is None or not all(holds_at(c.condition, points[0]) for c in clauses):
            return None
        return Goal(clauses, self._beside(points[0], sizes), tuple(free), tuple(p for p in points[1:] if p is not None))

    def _point(self, sizes: Mapping[str, int]) -> Point | None:
        params = tuple(Parameter(i.name, i.dtype, i.shape) for i in self.contract.inputs)
        equations = [*self.contract.given, *(f"{name} == {n}" for name, n in sizes.items())]
        point = smallest(params, self.texts, equations)
        return point if all(point.get(name) == n for name, n in sizes.items()) else None

    def _beside(self, point: Point, tied: Collection[str] = ()) -> Point:
        """The same point with the other sizes larger and all different, where the model takes them."""
        found = dict(point)
        for at, name in enumerate(n for n in point if n not in tied):
            wider = {**found, name: point[name] + 6 + 2 * at}
            found = wider if all(holds_at(text, wider) for text in (*self.texts, *self.contract.given)) else found
        return found

    def _spots(self, nodes: Iterable[str]) -> list[ModelSpot]:
        return [spot for node in dict.fromkeys(nodes) for spot in self.places.named.get(node, ())]

    def _targets(self, spots: Sequence[ModelSpot]) -> dict[str, int]:
        """The numbers in the targets of reshapes at axes where the operand has a size."""
        found: dict[str, int] = {}
        for spot in spots:
            if spot.operation.op_type == "Reshape" and len(spot.operation.inputs) > 1:
                given, target = spot.operation.inputs[:2]
                sizes = zip(self.places.shape(spot, given) or (), self.places.data(spot, target) or (), strict=False)
                found |= {s: n for s, n in sizes if isinstance(s, str) and isinstance(n, int) and n > 1}
        return found

    def _freed(self, goal: Goal) -> Iterator[ModelFix]:
        """Free sizes round by round, since nothing is known after a node that fixes a number."""
        state, best = (self.changes, self.left, self.values), None
        for _ in range(_ROUNDS):
            baked = Baked(ModelNodes(self.model, state[2]), self.inputs, goal.point, goal.free, state[0])
            after = self._round(baked, goal, *state[:2])
            self.reasons |= {c.condition: "; ".join(baked.tables) for c in goal.clauses if baked.tables}
            if after is None:
                break
            state = after
            best = state if self._gone(goal, state[1]) and self._accepts(state[1]) else best
            if not self._held(goal, state[1]):
                break
        if best is not None and (fix := self._done(goal, *best)) is not None:
            yield fix

    def _round(self, baked: Baked, goal: Goal, changes: Changes, left: Contract) -> State | None:
        """The first of the changes that alters the conditions while the model still takes the goal's point."""
        held = {*self._held(goal, left)} or {c.condition for c in goal.clauses}
        demanding = self._spots(d.node for c in left.conditions if c.condition in held for d in c.demands)
        for tried in islice(baked.tried(demanding), _TRIES):
            more = _joined(changes, tried)
            made, known = self._checked(more) if more != changes else (None, {})
            is_exact = made is not None and _is_as_exact(made, left)
            if made is not None and is_exact and _holds(made, goal.point) and _state(made) != _state(left):
                return more, made, known
        return None

    def _held(self, goal: Goal, left: Contract) -> list[str]:
        """The goal's conditions that remain, and new ones that still bound a free size."""
        own = {c.condition for c in goal.clauses}
        more = [{**goal.point, name: goal.point[name] + 1} for name in goal.free]
        new = [c.condition for c in left.conditions if c.condition not in self.texts and {*goal.free} & {*c.sizes}]
        ends = [text for text in new if any(holds_at(text, point) is False for point in more)]
        return [*(c.condition for c in left.conditions if c.condition in own), *ends]

    def _checked(self, changes: Changes) -> tuple[Contract | None, Values]:
        if self.checks <= 0:
            return None, {}
        self.checks -= 1
        return self.check(self.writing.edit(changes.values()))

    def _accepts(self, made: Contract) -> bool:
        """Whether a changed model accepts all inputs that the model accepts."""
        known = [*self.contract.given, *self.texts]
        return _is_as_exact(made, self.contract) and all(_follows(known, c.condition) for c in made.conditions)

    def _gone(self, goal: Goal, made: Contract) -> list[str]:
        """The goal's conditions that no longer hold, where at least one of their sizes is free now."""
        texts = [c.condition for c in made.conditions]
        new = [
            c for c in made.conditions if c.condition not in self.texts and c.condition not in self._held(goal, made)
        ]
        if any(len(names_in(c.condition)) > 1 and not is_plain(c.condition) for c in new):
            return []
        return [
            c.condition for c in goal.clauses
            if not _follows([*self.contract.given, *texts], c.condition)
            and any(self._is_free(c.condition, texts, name, goal.point) for name in c.sizes)
        ]  # fmt: skip

    def _is_free(self, gone: str, texts: Sequence[str], name: str, point: Point) -> bool:
        """Whether a size may have several values that the old condition refused, and not only multiples of its own."""
        own = point[name]
        more = [n for n in range(1, 2 * own + _NEAR) if all(holds_at(t, {**point, name: n}) for t in texts)]
        taken = [n for n in more if not holds_at(gone, {**point, name: n})]
        return len(taken) >= _FEW and (own == 1 or any(n % own for n in taken))

    def _done(self, goal: Goal, changes: Changes, left: Contract, values: Values) -> ModelFix | None:
        """The fix without unneeded changes; None if it changes results at the sizes of the export."""
        gone = self._gone(goal, left)
        needed = {at: c for at, c in changes.items() if at in self.changes or _is_needed(c, values, goal.free)}
        if len(needed) < len(changes):
            made, known = self._checked(needed)
            if made is not None and self._accepts(made) and self._gone(goal, made) == gone:
                changes, left, values = needed, made, known
        edit = self.writing.edit(changes.values())
        remark = self._compared(edit, goal)
        if remark is None:
            self.reasons |= dict.fromkeys(gone, "the change that frees it gives other results")
            return None
        new = [c for at, c in changes.items() if self.changes.get(at) != c]
        self.changes, self.left, self.values = changes, left, values
        for text in gone:
            self.reasons.pop(text, None)
        nodes = tuple(dict.fromkeys(str(c.spot) for c in new))
        return ModelFix(
            f"{in_words(self.writing, new)}: then {self._result(goal, gone)}{remark}", nodes, tuple(gone), edit
        )

    def _result(self, goal: Goal, gone: Sequence[str]) -> str:
        texts = [c.condition for c in self.left.conditions]
        names = [n for n in goal.free if any(n in names_in(g) and self._is_free(g, texts, n, goal.point) for g in gone)]
        new = [c.condition for c in self.left.conditions if c.condition not in self.texts and {*names} & {*c.sizes}]
        said = f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} free"
        if len(names) == 1 and any("(" in text for text in new):  # a formula, which the set shows in words
            known = sizes_of(self.left).of(names[0])
            return said if known is None else f"{said} ({known.text})"
        return f"{said} but for {' and '.join(new)}" if new else said

    def _compared(self, edit: ModelEdit, goal: Goal) -> str | None:
        """A remark on the results; None if they differ at the sizes of the export or at larger ones beside them."""
        points = {tuple(p.items()): p for p in (goal.point, self._beside(goal.point))}
        same = [self.replay(edit, p) for p in points.values()]
        if False in same:
            return None
        changed = [p for p in (*goal.others, *self._accepted(goal)) if self.replay(edit, p) is False]
        said = " (results were not compared: the model is too large)" if None in same else ""
        for p in changed[:1]:
            sizes = ", ".join(f"{name} = {n}" for name, n in p.items() if n != goal.point[name] and name in goal.free)
            said += f"; at {sizes}, accepted before too, it gives other results"
        return said

    def _accepted(self, goal: Goal) -> Iterator[Point]:
        """Some more small sizes that the model accepts: `2 * 3` where a product is 6 * n."""
        names = list(dict.fromkeys(name for clause in goal.clauses for name in clause.sizes))[:_TRIED_SIZES]
        tried = (dict(zip(names, sizes, strict=True)) for sizes in product(range(1, _SMALL), repeat=len(names)))
        points = ({**goal.point, **sizes} for sizes in tried if any(goal.point.get(n) != sizes[n] for n in names))
        texts = (*self.texts, *self.contract.given)
        return islice((p for p in points if all(holds_at(text, p) for text in texts)), _MOST_TRIED)

    # Zeros

    def zeros(self) -> Iterator[ModelFix]:
        """Reshapes with the other meaning of a 0 in their target."""
        nodes = {str(o): o for o in self.model.graph.operations if o.op_type == "Reshape" and o.domain == ""}
        for clause in self.left.conditions:
            operation = nodes.get(clause.demands[0].node) if clause.demands else None
            if (
                operation is None
                or len(operation.inputs) < 2
                or 0 not in (self.indices.integers(operation.inputs[1]) or ())
            ):
                continue
            flag = int(not operation.attributes.get("allowzero", 0))
            edit = self.writing.edit(self.changes.values()) | ModelEdit(
                attributes={(operation.index, "allowzero"): flag}
            )
            made, _ = self.check(edit)
            if made is not None and self._frees(made, (clause.condition,)):
                means = "no elements" if flag else "the size that there is"
                text = f"set allowzero={flag} at {operation}: a 0 in its target means {means} then"
                yield ModelFix(text, (str(operation),), (clause.condition,), edit)

    # Multiples

    def padded(self) -> ModelFix | None:
        """The inputs padded to multiples."""
        found = {c.condition: m for c in self.contract.conditions if (m := padded_to(c.condition))}
        multiples = dict(found.values())
        edit, said = ModelEdit(), []
        for value in self.contract.inputs:
            wanted = tuple(multiples.get(str(size), 1) for size in value.shape or ())
            if any(n > 1 for n in wanted):
                edit = edit | self._padding(value.name, wanted)
                axes = (f"axis {axis} to a multiple of {n}" for axis, n in enumerate(wanted) if n > 1)
                said.append(f"`{value.name}`, {' and '.join(axes)}")
        gone = tuple(found)
        made = self.check(edit)[0] if said else None
        if made is None or not self._frees(made, gone):
            return None
        rest = len(gone) < len(self.contract.conditions)
        taken = "every size that the other conditions take" if rest else "every size"
        return ModelFix(f"pad {'; '.join(said)}: then {taken} is taken", (), gone, edit, pads=True)

    def _padding(self, name: str, multiples: tuple[int, ...]) -> ModelEdit:
        """Pad with zeros after the elements, up to the next multiples."""
        parts = ("sizes", "beyond", "count", "whole", "behind", "pads", "padded", "most", "by", "front")
        made = {part: self.writing.fresh(f"{name}_{part}") for part in parts}
        most, by, front = made["most"], made["by"], made["front"]
        nodes = (
            NewNode("Shape", (name,), made["sizes"]),
            NewNode("Add", (made["sizes"], most), made["beyond"]),
            NewNode("Div", (made["beyond"], by), made["count"]),
            NewNode("Mul", (made["count"], by), made["whole"]),
            NewNode("Sub", (made["whole"], made["sizes"]), made["behind"]),
            NewNode("Concat", (front, made["behind"]), made["pads"], {"axis": 0}),
            NewNode("Pad", (name, made["pads"]), made["padded"]),
        )
        constants = {most: tuple(n - 1 for n in multiples), by: multiples, front: (0,) * len(multiples)}
        used: dict[tuple[Place, int], str] = {
            (o.index, at): made["padded"]
            for o in self.model.graph.operations for at, given in enumerate(o.inputs) if given == name
        }  # fmt: skip
        return ModelEdit(constants, nodes, used)

    def _frees(self, made: Contract, gone: tuple[str, ...]) -> bool:
        """Whether a changed model accepts all inputs that satisfy the other conditions."""
        kept = [c.condition for c in self.contract.conditions if c.condition not in gone]
        return _is_as_exact(made, self.contract) and all(_follows(kept, c.condition) for c in made.conditions)


def _is_as_exact(made: Contract, before: Contract) -> bool:
    return made.exact or made.narrower or not before.exact


def _follows(assumed: Iterable[str], goal: str) -> bool:
    known = list(assumed)
    return goal in known or prove(known, goal)["result"] == "valid"


def in_words(writing: Writing, changes: Sequence[EntryChange]) -> str:
    """The changes in words."""
    said: list[str] = []
    for change in changes:
        node, name = change.spot, change.spot.operation.inputs[change.at]
        if change.entries:
            is_start = node.operation.op_type == "Slice" and change.at == 1
            start = f"change the {'starts' if is_start else SIZES[node.operation.op_type][1]} of"
            again = bool(said) and said[-1].startswith((start, "of")) and start in "".join(said)
            said.append(f"{'of' if again else start} {node} to {writing.shown(change)}")
        elif change.parts:
            said.append(f"leave out the sizes of the parts of {node}, which are equal")
        for length, step in change.lines.values():
            what = f"`{name}`, input {change.at} of {node}, up to {length}"
            said.append(f"count {what}" if step else f"repeat input {change.at} of {node}, `{name}`, {length} times")
    return ", ".join(said)


def _lists(places: ModelNodes) -> Iterator[list[int]]:
    """The numbers in the targets of reshapes."""
    for spot in places.spots:
        if spot.operation.op_type == "Reshape" and len(spot.operation.inputs) > 1:
            yield [n for n in items_of(places, spot, spot.operation.inputs[1]) or () if isinstance(n, int)]


def _holds(made: Contract, point: Point) -> bool:
    """Whether a model takes some sizes, as far as sizes decide it."""
    return not any(holds_at(c.condition, point) is False for c in made.conditions)


def _state(made: Contract) -> list[tuple[object, ...]]:
    """The conditions of a contract, and who demands them."""
    return [(c.condition, *((d.node, d.needs) for d in c.demands)) for c in made.conditions]


def _joined(changes: Changes, more: Iterable[EntryChange]) -> Changes:
    found = dict(changes)
    for change in more:
        at = change.spot.place, change.at
        found[at] = found[at] | change if at in found else change
    return found


def _is_needed(change: EntryChange, values: Values, free: tuple[str, ...]) -> bool:
    """Whether a changed target gives one of the sizes; all other changes are needed."""
    is_target = change.spot.operation.op_type == "Reshape" and not change.spot.region
    return not is_target or any(_speaks_of(values.get(o), free) for o in change.spot.operation.outputs)


def _speaks_of(value: Inferred | None, names: tuple[str, ...]) -> bool:
    shape = value.shape if value is not None else None
    return shape is None or not set(names).isdisjoint(names_in(*shape))
