"""A model and its contract to changes of the model that make it accept more: each was made and checked before it is offered.

A change gives the same results at all sizes that were accepted before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import count

from ..frontends.onnx.edits import Edit, NewNode, all_names
from ..frontends.onnx.inference import Inferred
from ..frontends.onnx.model import Model, Operation
from ..frontends.onnx.ranges import Indices
from ..lang.expressions import names_in
from ..lang.node import Node
from ..simplify.solver.numbers import divided, fixed, size_at
from ..simplify.solver.prove import prove
from .contract import Clause, Contract

Values = Mapping[str, Inferred]
Sizes = tuple[int | str, ...]
# What checks a changed model: its contract, None where it is rejected, and what is known of its values.
Check = Callable[[Edit], tuple[Contract | None, Values]]
_ROUNDS = 8
# The opset that has Expand.
_EXPAND = 8


class ModelMend(Node):
    """A change, in words, with the nodes that it changes and the conditions that are gone then. Where it `pads`, results of
    sizes that were refused before depend on what they are padded with."""

    text: str
    nodes: tuple[str, ...]
    gone: tuple[str, ...]
    edit: Edit
    pads: bool = False


def mends(model: Model, contract: Contract, values: Values, check: Check) -> tuple[ModelMend, ...]:
    """`values` are those of the model as it is."""
    mending = _Mending(model, contract, values, check)
    return tuple(m for m in (*mending.thawed(), *mending.zeros(), mending.padded()) if m is not None)


class _Mending:
    def __init__(self, model: Model, contract: Contract, values: Values, check: Check) -> None:
        self.model, self.contract, self.values, self.check = model, contract, values, check
        self.indices = Indices(model, values)
        self.taken = frozenset(all_names(model.graph))

    def _named(self, name: str) -> str:
        """A name for something new, which the model does not have: one that was mended before has such names."""
        others = (f"{name}_{i}" for i in count(2))
        return name if name not in self.taken else next(n for n in others if n not in self.taken)

    # What holds a number

    def thawed(self) -> Iterator[ModelMend | None]:
        for clause in self.contract.conditions:
            name, number = fixed(clause.condition) or ("", 0)
            if number > 0:
                yield self._thawed(clause, name, number)

    def _thawed(self, clause: Clause, name: str, number: int) -> ModelMend | None:
        """Targets of reshapes with a number that is a size: round by round, since behind what holds it nothing is known."""
        edit, values, left = Edit(), self.values, self.contract
        for _ in range(_ROUNDS):
            demanding = {d.node for c in left.conditions if c.condition == clause.condition for d in c.demands}
            more = (
                self._targets(edit, values, name, number)
                or self._first_axes(edit, demanding)
                or self._repeated(edit, values, demanding, name, number)
            )
            made, values = self.check(edit | more) if more is not None else (None, {})
            if more is None or made is None:
                return None
            edit, left = edit | more, made
            if self._accepts(made, (clause.condition,)):
                return self._needed(edit, values, clause, name)
        return None

    def _repeated(self, edit: Edit, values: Values, nodes: Collection[str], name: str, number: int) -> Edit | None:
        """Operands of the nodes that demand it with a 1 where another one has the size: repeated to that size."""
        found = Edit()
        known = any(name in (i.shape or ()) for i in self.contract.inputs) and self.model.opsets.get("", 1) >= _EXPAND
        for operation in self.model.graph.operations if number == 1 and known else ():
            if str(operation) not in nodes or not operation.inputs:
                continue
            shapes = [(values[i].shape if i in values else None) or () for i in operation.inputs]
            for at, shape in enumerate(shapes):
                axes = {axis for other in shapes for axis, size in enumerate(other) if size == name}
                axes &= {axis for axis, size in enumerate(shape) if size == 1}
                if axes and (operation.index, at) not in edit.inputs:
                    found = found | self._repeating(operation, at, [axis in axes for axis in range(len(shape))], name)
        return found if found.inputs else None

    def _repeating(self, operation: Operation, at: int, wanted: list[bool], name: str) -> Edit:
        """An operand repeated along the wanted axes: Expand leaves the others as they are where it reads a 1."""
        given = operation.inputs[at]
        source = next(i for i in self.contract.inputs if name in (i.shape or ()))
        sizes = source.shape or ()
        parts = ("sizes", "axes", "target", "ones", "whole", "for_all")
        made = {part: self._named(f"{given}_{operation.index}_{part}") for part in parts}
        new, whole = partial(NewNode, before=operation.index), made["whole"]
        nodes = (
            new("Shape", (source.name,), made["sizes"]),
            new("Concat", (made["sizes"], made["ones"]), whole, {"axis": 0}),
            new("Gather", (whole, made["axes"]), made["target"]),
            new("Expand", (given, made["target"]), made["for_all"]),
        )
        axes = tuple(sizes.index(name) if is_wanted else len(sizes) for is_wanted in wanted)
        return Edit({made["axes"]: axes, made["ones"]: (1,)}, nodes, {(operation.index, at): made["for_all"]})

    def _first_axes(self, edit: Edit, nodes: Collection[str]) -> Edit | None:
        """Of the reshapes that demand the number, though they have it in no axis: a first axis that is made of it."""
        found = Edit()
        for operation in self.model.graph.operations:
            if str(operation) in nodes and operation.op_type == "Reshape" and (operation.index, 1) not in edit.inputs:
                target = self.indices.integers(operation.inputs[1])
                if target and -1 not in target and not (operation.attributes.get("allowzero", 0) and 0 in target):
                    found = found | self._retargeted(operation, _with(target, 0, -1))
        return found if found.inputs else None

    def _targets(self, edit: Edit, values: Values, name: str, number: int) -> Edit | None:
        """Of each reshape that is left the first such number in its target, as what means the same there."""
        found = Edit()
        for operation in self.model.graph.operations:
            if operation.op_type == "Reshape" and operation.domain == "" and (operation.index, 1) not in edit.inputs:
                target = self._target(operation, values, name, number)
                if target is not None:
                    found = found | self._retargeted(operation, target)
        return found if found.inputs else None

    def _target(self, operation: Operation, values: Values, name: str, number: int) -> tuple[int, ...] | None:
        target = self.indices.integers(operation.inputs[1])
        if target is None or (operation.attributes.get("allowzero", 0) and 0 in target):
            return None
        before, after = (self._sizes(values.get(v), name, number) for v in (operation.inputs[0], operation.outputs[0]))
        for axis, size in enumerate(target):
            if size != number:
                continue
            if axis < len(before) and before[axis] == number:
                return _with(target, axis, 0)
            free = _plain(target, after)
            if -1 not in free:
                return _with(free, axis, -1)
        return None

    def _sizes(self, value: Inferred | None, name: str, number: int) -> Sizes:
        """The sizes of a value where that size is the number."""
        shape = value.shape if value is not None and value.shape is not None else ()
        return tuple(s if (n := size_at(s, {name: number})) is None else n for s in shape)

    def _needed(self, edit: Edit, values: Values, clause: Clause, name: str) -> ModelMend | None:
        """Without the targets whose number was no such size after all."""
        if edit.nodes:
            return self._all(edit, clause, name)
        outputs = {o.index: o.outputs[0] for o in self.model.graph.operations}
        nodes = {o.index: str(o) for o in self.model.graph.operations}
        used = {i for i, _ in edit.inputs if _speaks_of(values.get(outputs[i]), name)}
        kept = {place: made for place, made in edit.inputs.items() if place[0] in used}
        read = {place: n for place, n in edit.attributes.items() if place[0] in used}
        less = Edit({made: edit.constants[made] for made in kept.values()}, (), kept, read)
        made, _ = self.check(less)
        if made is None or not self._accepts(made, (clause.condition,)):
            less, used = edit, {i for i, _ in edit.inputs}
        held = sorted(used)
        changes = [f"{nodes[i]} to {list(less.constants[less.inputs[i, 1]])}" for i in held]
        text = f"change the target of {', of '.join(changes)}: then {name} is free"
        return ModelMend(text, tuple(nodes[i] for i in held), (clause.condition,), less)

    def _all(self, edit: Edit, clause: Clause, name: str) -> ModelMend:
        """Operands that are repeated, and the targets that came with them."""
        known = {o.index: o for o in self.model.graph.operations}
        changes = []
        for (index, at), made in edit.inputs.items():
            target = edit.constants.get(made)
            if target is None:
                changes.append(f"repeat input {at} of {known[index]}, `{known[index].inputs[at]}`, {name} times")
            else:
                changes.append(f"change the target of {known[index]} to {list(target)}")
        held = tuple(dict.fromkeys(str(known[index]) for index, _ in edit.inputs))
        return ModelMend(f"{', '.join(changes)}: then {name} is free", held, (clause.condition,), edit)

    def _retargeted(self, operation: Operation, target: tuple[int, ...]) -> Edit:
        """A reshape with another target, in which a 0 is the size that there is."""
        made = self._named(f"{operation.outputs[0]}_shape_for_all")
        read = {(operation.index, "allowzero"): 0} if 0 in target else {}
        return Edit({made: target}, (), {(operation.index, 1): made}, read)

    # Zeros

    def zeros(self) -> Iterator[ModelMend]:
        """Reshapes that read a 0 in their target otherwise."""
        nodes = {str(o): o for o in self.model.graph.operations if o.op_type == "Reshape" and o.domain == ""}
        for clause in self.contract.conditions:
            operation = nodes.get(clause.demands[0].node) if clause.demands else None
            if operation is None or 0 not in (self.indices.integers(operation.inputs[1]) or ()):
                continue
            flag = int(not operation.attributes.get("allowzero", 0))
            edit = Edit(attributes={(operation.index, "allowzero"): flag})
            made, _ = self.check(edit)
            if made is not None and self._accepts(made, (clause.condition,)):
                means = "no elements" if flag else "the size that there is"
                text = f"set allowzero={flag} at {operation}: a 0 in its target means {means} then"
                yield ModelMend(text, (str(operation),), (clause.condition,), edit)

    # Multiples

    def padded(self) -> ModelMend | None:
        """The inputs padded to multiples."""
        found = {c.condition: m for c in self.contract.conditions if (m := divided(c.condition))}
        multiples = dict(found.values())
        edit, said = Edit(), []
        for value in self.contract.inputs:
            wanted = tuple(multiples.get(str(size), 1) for size in value.shape or ())
            if any(n > 1 for n in wanted):
                edit = edit | self._padding(value.name, wanted)
                axes = (f"axis {axis} to a multiple of {n}" for axis, n in enumerate(wanted) if n > 1)
                said.append(f"`{value.name}`, {' and '.join(axes)}")
        gone = tuple(found)
        made = self.check(edit)[0] if said else None
        if made is None or not self._accepts(made, gone):
            return None
        rest = len(gone) < len(self.contract.conditions)
        taken = "every size that the other conditions take" if rest else "every size"
        return ModelMend(f"pad {'; '.join(said)}: then {taken} is taken", (), gone, edit, pads=True)

    def _padding(self, name: str, multiples: tuple[int, ...]) -> Edit:
        """Zeros behind the elements, up to the next multiples."""
        parts = ("sizes", "beyond", "count", "whole", "behind", "pads", "padded", "most", "by", "front")
        made = {part: self._named(f"{name}_{part}") for part in parts}
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
        used = {
            (o.index, at): made["padded"]
            for o in self.model.graph.operations for at, given in enumerate(o.inputs) if given == name
        }  # fmt: skip
        return Edit(constants, nodes, used)

    def _accepts(self, made: Contract, gone: tuple[str, ...]) -> bool:
        """Whether a changed model accepts what the other conditions say."""
        kept = [c.condition for c in self.contract.conditions if c.condition not in gone]
        return made.exact >= self.contract.exact and all(_follows(kept, c.condition) for c in made.conditions)


def _follows(assumed: Iterable[str], goal: str) -> bool:
    known = list(assumed)
    return goal in known or prove(known, goal)["result"] == "valid"


def _plain(target: tuple[int, ...], after: Sizes) -> tuple[int, ...]:
    """A target with the number that its -1 is, where it is one."""
    at = target.index(-1) if -1 in target else None
    size = after[at] if at is not None and at < len(after) else None
    return target if at is None or not isinstance(size, int) else _with(target, at, size)


def _with(target: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*target[:axis], size, *target[axis + 1 :])


def _speaks_of(value: Inferred | None, name: str) -> bool:
    shape = value.shape if value is not None else None
    return shape is None or name in names_in(*shape)
