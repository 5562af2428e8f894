"""Changes that may free a size that a model fixes to one number: the places of the number, and its replacements.

They are candidates: the caller makes each and checks the model again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import permutations
from math import prod

from ..lang.expressions import names_in
from ..lang.node import Node, replace
from ..simplify.solver.numbers import size_at
from .entries import SIZES, EntryChange, Length, items_of
from .places import ATTRIBUTES, ModelNodes, ModelSpot, Sizes

# At most this many nodes are searched before one that demands a number.
_MOST_SPOTS = 200
# The sizes of these stand at the axes of their results: an entry is tried at the wanted axis first.
_PLACED = frozenset({"Resize", "Expand", "ConstantOfShape", "Tile", "CenterCropPad"})
# The value of a slice's attribute that selects a whole axis.
_WHOLE = {"starts": 0, "ends": 2**63 - 1}


class WantedSize(Node):
    """A number where an operand beside it has a size, with the axis counted from the first and from the last."""

    number: int
    size: str
    first: int
    last: int


class Baked:
    """The numbers in a model that stand for one of the sizes `free`; `point` has all sizes at the model's export, `changes`
    were made already."""

    def __init__(
        self,
        places: ModelNodes,
        inputs: Mapping[str, Sizes],
        point: Mapping[str, int],
        free: Collection[str],
        changes: Mapping[tuple[object, int], EntryChange],
    ) -> None:
        self.places, self.inputs, self.point, self.free = places, inputs, point, frozenset(free)
        self.changes = changes
        # Constants that fix the size and cannot grow, as sentences.
        self.tables: dict[str, None] = {}

    def tried(self, demanding: Sequence[ModelSpot]) -> Iterator[list[EntryChange]]:
        """Changes for all the nodes that demand the number, the likeliest first."""
        found = [list(self._behind(spot)) for spot in demanding]
        for at in range(max(map(len, found), default=0)):
            changes = {(c.spot.place, c.at): c for one in found if one for c in one[min(at, len(one) - 1)]}
            yield [*changes.values(), *self._alike(list(changes.values()))]

    def _behind(self, last: ModelSpot) -> Iterator[list[EntryChange]]:
        """Possible changes at a node, or else at the nearest ones before it."""
        wanted, level, seen = list(self._wanted(last)), [last], {last.place}
        while level and len(seen) < _MOST_SPOTS:
            for spot in level:
                for inner in (spot, *self.places.called(spot)):
                    for tried in self._at(inner, wanted, inner is last):
                        yield from filter(None, [[c for change in tried if (c := self._writable(change))]])
            more = [s for spot in level for s in self._before(spot, wanted if spot is last else [])]
            level = list({s.place: s for s in more if s.place not in seen}.values())
            seen |= {s.place for s in level}

    def _writable(self, change: EntryChange) -> EntryChange | None:
        """A change that the model can hold; for an attribute with the equivalent numbers, None if there are none."""
        spot, given = change.spot, change.spot.operation.inputs[change.at]
        name = self.places.attributes.get(given)
        if name is None or change.parts:
            return change
        shape = self._shape(spot, spot.operation.inputs[0])
        axes = spot.operation.attributes.get("axes") or range(len(shape))
        entries = dict(change.entries)
        for at, entry in change.entries.items():
            if isinstance(entry, Length):
                own = name in _WHOLE and entry.text.removeprefix("-") == shape[axes[at]]
                entries |= {at: _WHOLE[name]} if own else {}
        entries = {at: entry for at, entry in entries.items() if isinstance(entry, int)}
        if len(entries) < len(change.entries):
            self._computed(spot, name)
        return EntryChange(spot, change.at, entries) if entries else None

    def _computed(self, spot: ModelSpot, name: str) -> None:
        since, _ = ATTRIBUTES[spot.operation.op_type]
        said = f"`{name}` of {spot} is an attribute, and can be computed from opset {since} on"
        self.tables[f"{said}: convert the model first"] = None

    def _before(self, spot: ModelSpot, wanted: Sequence[WantedSize]) -> Iterator[ModelSpot]:
        """The nodes that make a node's inputs; if known, only those that make the numbers."""
        numbers = {w.number for w in wanted}
        makers = [self.places.makers.get((spot.region, name)) for name in spot.operation.inputs]
        named = [
            m
            for m, name in zip(makers, spot.operation.inputs, strict=True)
            if m and (spot.region, name) not in self.places.held and numbers & {*self._shape(spot, name)}
        ]
        yield from named or self.places.before(spot)

    def _at(self, spot: ModelSpot, wanted: Sequence[WantedSize], is_last: bool) -> Iterator[list[EntryChange]]:
        operation = spot.operation
        if spot.region:
            yield from self._in_function(spot)
        elif _is_reshape(spot):
            yield from self._reshaped(spot)
        elif operation.op_type == "Split" and len(operation.inputs) > 1:
            yield from self._split(spot)
        else:
            yield from self._sized(spot, wanted)
        yield from self._lines(spot, wanted, is_last)

    # Sizes

    def _number(self, size: int | str) -> int | None:
        return size_at(size, self.point)

    def _speaks(self, size: int | str) -> bool:
        return isinstance(size, str) and not self.free.isdisjoint(names_in(size))

    def _shape(self, spot: ModelSpot, name: str) -> Sizes:
        return self.places.shape(spot, name) or ()

    def _wanted(self, spot: ModelSpot) -> Iterator[WantedSize]:
        """Axes along which one operand has a number and another one a size to free."""
        shapes = [self._shape(spot, name) for name in spot.operation.inputs]
        crosses = _multiplies(spot)
        for one, other in permutations(shapes, 2):
            for axis, number in enumerate(one):
                last = len(one) - axis
                places = {axis, len(other) - last, *((len(other) - 3 + last,) if crosses and last < 3 else ())}
                beside = [other[at] for at in places if 0 <= at < len(other) and self._speaks(other[at])]
                same = [str(size) for size in beside if self._number(size) == number]
                yield from (WantedSize(number, size, axis, last) for size in same if isinstance(number, int))

    def _length(self, size: str, spot: ModelSpot) -> Length | None:
        """A place where a size can be read before a node: an input of the model, or else another value."""
        given = ((name, axis) for name, shape in self.inputs.items() for axis, one in enumerate(shape) if one == size)
        found = next(given, None) or next(self._made(size, spot), None)
        return None if found is None else Length(found[0], (found[1],), size)

    def _made(self, size: str, spot: ModelSpot) -> Iterator[tuple[str, int]]:
        for maker in self.places.spots:
            for name in maker.operation.outputs if isinstance(maker.place, int) and not maker.region else ():
                shape = self._shape(maker, name) if name else ()
                if size in shape and not self.places.leads_to(_outermost(self.places, spot), maker):
                    yield name, shape.index(size)

    def _meant(self, number: int, wanted: Sequence[WantedSize], axis: int | None = None, rank: int = 0) -> str | None:
        """The size that a number stands for, at the given axis if there is one."""
        for w in wanted:
            if w.number == number and (axis is None or axis == w.first or rank - axis == w.last):
                return w.size
        own = (name for name in sorted(self.free) if self.point.get(name) == number)
        return next(own, None) if axis is None and number > 1 else None

    # Reshape

    def _reshaped(self, spot: ModelSpot) -> Iterator[list[EntryChange]]:
        """Targets whose axes with free sizes are copied (0), inferred (-1) or computed."""
        given, name = spot.operation.inputs[:2]
        before, items = self._shape(spot, given), items_of(self.places, spot, name)
        done = self.changes[spot.place, 1].entries if (spot.place, 1) in self.changes else {}
        items = items and [done.get(at, item) for at, item in enumerate(items)]
        data = self.places.data(spot, name)
        known = [self._number(size) for size in before]
        if items is None or data is None or not before or None in known:
            return
        target = self._filled(spot, data, [n or 0 for n in known])
        if target is None:
            return
        liked = [{self.point[name] for name in self.free.intersection(names_in(size))} for size in before]
        carried, copied, others = _carried([n or 0 for n in known], target, liked), {}, {}
        for axis, axes in enumerate(carried):
            is_open = items[axis] in (0, -1) or isinstance(items[axis], Length) or self._speaks(data[axis])
            if is_open or not any(self._speaks(before[j]) for j in axes):
                continue
            if axis < len(before) and axes == [axis] and known[axis] == target[axis]:
                copied[axis] = 0
            else:
                others[axis] = axes
        if (0 in items and spot.operation.attributes.get("allowzero", 0)) or not copied and not others:
            return
        worked = {at: self._worked(spot, before, axes, target[at]) for at, axes in others.items()}
        left = {at: -1 for at in list(others)[-1:] if -1 not in items}
        for entries in ({**worked, **left, **copied}, {**worked, **copied}):
            sizes = {at: size for at, size in entries.items() if size is not None}
            if sizes:
                yield [EntryChange(spot, 1, sizes)]

    def _filled(self, spot: ModelSpot, data: Sizes, before: Sequence[int]) -> list[int] | None:
        """A target as numbers, with each 0 and -1 resolved."""
        copies = not spot.operation.attributes.get("allowzero", 0)
        sizes = [
            before[at] if size == 0 and copies and at < len(before) else self._number(size)
            for at, size in enumerate(data)
        ]
        numbers = [n for n in sizes if n is not None]
        rest = prod(n for n in numbers if n != -1)
        if len(numbers) < len(sizes) or not rest or prod(before) % rest:
            return None
        filled = [prod(before) // rest if n == -1 else n for n in numbers]
        return filled if prod(filled) == prod(before) else None

    def _worked(self, spot: ModelSpot, before: Sizes, axes: Sequence[int], size: int) -> Length | None:
        """The size of an axis of the target: part of an axis of the operand, or the product of axes."""
        names = [name for axis in axes for name in names_in(before[axis]) if name in self.free and before[axis] != name]
        own = next((name for name in names if self.point[name] == size > 1), None)
        if own is not None:
            return self._length(own, spot)
        given = spot.operation.inputs[0]
        whole = prod(self._number(before[axis]) or 0 for axis in axes)
        if not whole or size % whole:
            return None
        text = " * ".join(str(before[axis]) for axis in axes)
        times = size // whole
        return Length(given, tuple(axes), f"{text} * {times}" if times > 1 else text, times)

    def _alike(self, changes: Sequence[EntryChange]) -> Iterator[EntryChange]:
        """The same change for equal targets elsewhere: after a node that demands the number, no shapes are known."""
        made = {self._looks(c.spot): c for c in changes if c.entries and _is_reshape(c.spot)}
        done = {c.spot.place for c in changes}
        for spot in self.places.spots if made else ():
            like = made.get(self._looks(spot)) if _is_reshape(spot) and spot.place not in done else None
            given = None if like is None else like.spot.operation.inputs[0]
            if like is not None and all(isinstance(e, int) or e.value == given for e in like.entries.values()):
                own = spot.operation.inputs[0]
                moved = {at: e if isinstance(e, int) else replace(e, value=own) for at, e in like.entries.items()}
                yield EntryChange(spot, 1, moved)

    def _looks(self, spot: ModelSpot) -> tuple[object, ...]:
        shapes = [self._shape(spot, spot.operation.inputs[0]), self.places.data(spot, spot.operation.inputs[1]) or ()]
        return tuple(tuple(self._number(size) for size in shape) for shape in shapes)

    def _in_function(self, spot: ModelSpot) -> Iterator[list[EntryChange]]:
        """Changes in a function, where no shape is known."""
        operation = spot.operation
        if operation.op_type != "Reshape" or operation.domain or len(operation.inputs) < 2:
            return
        numbers, target = (
            {self.point[name] for name in self.free},
            items_of(self.places, spot, operation.inputs[1]) or [],
        )
        axes = [axis for axis, size in enumerate(target) if size in numbers]
        first = dict.fromkeys([axis for axis in axes if target[axis] not in target[:axis]], 0)
        is_one = all(isinstance(size, int) for size in target) and len(axes) == 1 and -1 not in target
        yield from (
            [EntryChange(spot, 1, entries)] for entries in (first, *({axis: -1} for axis in axes if is_one)) if entries
        )

    # Other sizes

    def _sized(self, spot: ModelSpot, wanted: Sequence[WantedSize]) -> Iterator[list[EntryChange]]:
        """Changes of entries of an operand that holds a shape, an end or a count."""
        operation = spot.operation
        at, _ = SIZES.get(operation.op_type, (-1, "")) if not operation.domain else (-1, "")
        if not 0 <= at < len(operation.inputs) or not operation.inputs[at]:
            return
        items = items_of(self.places, spot, operation.inputs[at])
        numbers = {axis: n for axis, n in enumerate(items or ()) if isinstance(n, int) and n > 0}
        if operation.op_type == "TopK":
            yield self._at_most(spot, numbers)
            return
        if operation.op_type == "Range":
            yield self._limit(spot, numbers, wanted)
            return
        if operation.op_type == "Upsample":  # no sizes, but factors
            if name := self.places.attributes.get(operation.inputs[at]):
                self._computed(spot, name)
            return
        if operation.op_type == "Pad":
            yield from self._padded(spot, numbers, wanted)
            return
        rank = len(items or ())
        axes = operation.attributes.get("axes") or tuple(range(rank))
        placed = (
            {a: self._meant(n, wanted, axes[a], rank) for a, n in numbers.items()}
            if operation.op_type in _PLACED
            else {}
        )
        meant = {a: self._meant(n, wanted) for a, n in numbers.items()}
        for sizes in (placed, meant, *({a: size} for a, size in meant.items() if len(meant) > 1)):
            entries = {a: made for a, size in sizes.items() if size and (made := self._length(size, spot))}
            if operation.op_type == "Resize" and len(axes) == rank:
                entries = {**self._enlarged(spot, numbers, axes), **entries}
            if entries:
                yield [EntryChange(spot, at, entries)]
        if operation.op_type == "Slice":
            yield from self._from_the_end(spot, wanted)

    def _enlarged(self, spot: ModelSpot, numbers: Mapping[int, int], axes: Sequence[int]) -> dict[int, Length]:
        """Sizes that are multiples of the operand's."""
        shape, found = self._shape(spot, spot.operation.inputs[0]), {}
        for at, n in numbers.items():
            own = self._number(shape[axes[at]]) if self._speaks(shape[axes[at]]) else None
            length = self._length(str(shape[axes[at]]), spot) if own and n % own == 0 else None
            if own and length is not None:
                times = n // own
                found[at] = replace(length, text=f"{length.text} * {times}" if times > 1 else length.text, times=times)
        return found

    def _from_the_end(self, spot: ModelSpot, wanted: Sequence[WantedSize]) -> Iterator[list[EntryChange]]:
        """Negative starts of a slice, which select the last elements of an axis."""
        items = items_of(self.places, spot, spot.operation.inputs[1]) or ()
        meant = {a: self._meant(-n, wanted) for a, n in enumerate(items) if isinstance(n, int) and n < 0}
        found = {a: made for a, size in meant.items() if size and (made := self._length(size, spot))}
        if found:
            yield [EntryChange(spot, 1, {a: replace(n, text=f"-{n.text}", times=-1) for a, n in found.items()})]

    def _limit(self, spot: ModelSpot, numbers: Mapping[int, int], wanted: Sequence[WantedSize]) -> list[EntryChange]:
        """A `Range`'s limit that gives as many numbers, from its start and by its step."""
        (start, *_), (step, *_) = ((*(self.places.data(spot, name) or ()), None) for name in spot.operation.inputs[::2])
        if 0 not in numbers or not isinstance(start, int) or not isinstance(step, int) or step < 1:
            return []
        count = len(range(start, numbers[0], step))
        size, plus = self._meant(count, wanted), numbers[0] - count * step
        length = self._length(size, spot) if size is not None else None
        if length is None:
            return []
        text = (f"{size} * {step}" if step > 1 else f"{size}") + (f" {'-+'[plus > 0]} {abs(plus)}" if plus else "")
        return [EntryChange(spot, 1, {0: replace(length, text=text, times=step, plus=plus)})]

    def _padded(
        self, spot: ModelSpot, numbers: Mapping[int, int], wanted: Sequence[WantedSize]
    ) -> Iterator[list[EntryChange]]:
        """An axis that is padded to a fixed size; its last padding is tried first."""
        shape = self._shape(spot, spot.operation.inputs[0])
        given = spot.operation.inputs[3] if len(spot.operation.inputs) > 3 else ""
        axes = (self.places.data(spot, given) if given else None) or range(len(shape))
        pads = items_of(self.places, spot, spot.operation.inputs[1]) or ()
        for at in sorted(numbers, reverse=True):
            axis, other = int(axes[at % len(axes)]), pads[(at + len(axes)) % len(pads)]
            size = self._number(shape[axis]) if self._speaks(shape[axis]) else None
            length = self._length(str(shape[axis]), spot) if isinstance(other, int) and size is not None else None
            if length is not None and isinstance(other, int) and size is not None:
                whole = size + numbers[at]
                if any(w.number == whole + other for w in wanted):
                    entry = replace(length, text=f"{whole} - {length.text}", times=-1, plus=whole)
                    yield [EntryChange(spot, 1, {at: entry})]

    def _at_most(self, spot: ModelSpot, numbers: Mapping[int, int]) -> list[EntryChange]:
        """TopK's count, bounded by the length of the axis."""
        shape, operation = self._shape(spot, spot.operation.inputs[0]), spot.operation
        axis = operation.attributes.get("axis", -1) % max(len(shape), 1)
        if len(shape) == 0 or not self._speaks(shape[axis]) or 0 not in numbers:
            return []
        if self.places.model.opsets.get("", 1) < 12:
            least = f"the least of K of {spot} and {shape[axis]}"
            self.tables[f"{least} can be computed from opset 12 on: convert the model first"] = None
            return []
        return [EntryChange(spot, 1, {0: Length(operation.inputs[0], (axis,), str(shape[axis]), 1, numbers[0])})]

    def _split(self, spot: ModelSpot) -> Iterator[list[EntryChange]]:
        """A `Split` into equal parts."""
        parts, shape = (
            self.places.data(spot, spot.operation.inputs[1]) or (),
            self._shape(spot, spot.operation.inputs[0]),
        )
        axis = spot.operation.attributes.get("axis", 0)
        is_baked = -len(shape) <= axis < len(shape) and self._speaks(shape[axis]) and isinstance((*parts, "")[0], int)
        if is_baked and len(parts) > 1 and len(set(parts)) == 1:
            yield [EntryChange(spot, 1, parts=len(parts))]

    # Constants

    def _lines(self, spot: ModelSpot, wanted: Sequence[WantedSize], is_last: bool) -> Iterator[list[EntryChange]]:
        """Operands as long as the size: constants whose lines are all equal or count up, and any operand with one line."""
        operation = spot.operation
        if operation.op_type == "Concat" and self.places.data(spot, operation.outputs[0]) is not None:
            return  # these elements are sizes
        for at, name in enumerate(spot.operation.inputs):
            if (
                name
                and name not in self.places.attributes
                and at != SIZES.get(spot.operation.op_type, (-1, ""))[0]
                and not spot.region
            ):
                shape = self._shape(spot, name)
                lines = {axis: self._line(spot, at, axis, wanted, is_last) for axis in range(len(shape))}
                made = {axis: line for axis, line in lines.items() if line is not None}
                if made:
                    yield [EntryChange(spot, at, lines=made)]

    def _line(
        self, spot: ModelSpot, at: int, axis: int, wanted: Sequence[WantedSize], is_last: bool
    ) -> tuple[Length, int] | None:
        name = spot.operation.inputs[at]
        shape, tensor = self._shape(spot, name), self.places.held.get((spot.region, name))
        number = shape[axis]
        if not isinstance(number, int) or not (number > 1 and tensor is not None or number == 1 and is_last):
            return None
        beside = [w for w in wanted if number > 1 or w.first == axis]
        size = self._meant(number, beside, axis, len(shape)) or (None if is_last else self._meant(number, beside))
        length = self._length(size, spot) if size is not None else None
        if length is None or self.places.model.opsets.get("", 1) < 8:
            return None
        if number > 1 and axis >= len(shape) - 2 and _multiplies(spot):
            return None  # more lines would change the sum
        step = 0 if number == 1 or tensor is None else self.places.step(tensor, axis)
        step = None if step is not None and step < 0 else step  # further entries would be negative
        if step is None:
            said = f"`{name}` at {spot} is a table with {number} entries along axis {axis}"
            self.tables[f"{said}, and has no others"] = None
        return None if step is None else (length, step)


def _is_reshape(spot: ModelSpot) -> bool:
    """Whether a node is a Reshape with a target, in the model's graph or an inner one."""
    return spot.operation.op_type == "Reshape" and not spot.region and len(spot.operation.inputs) > 1


def _outermost(places: ModelNodes, spot: ModelSpot) -> ModelSpot:
    """The node of the model's graph that contains a node."""
    if not isinstance(spot.place, tuple) or spot.region:
        return spot
    return next(s for s in places.spots if s.place == spot.place[0] and not s.region)


def _carried(before: Sequence[int], target: Sequence[int], liked: Sequence[Collection[int]]) -> list[list[int]]:
    """For each axis of a target the operand's axes that it holds, by comparing strides. If several target axes share one,
    those whose number is in `liked` get it, else the slowest one."""
    found: list[list[int]] = [[] for _ in target]
    parts = [(at, n, prod(target[at + 1 :])) for at, n in enumerate(target)]
    for axis, size in enumerate(before):
        near = prod(before[axis + 1 :])
        ones = [at for at, n, stride in parts if n == 1 and stride == near]
        ends = [at for at, n, stride in parts if stride * n == near]
        shared = [at for at, n, stride in parts if stride < near * size and near < stride * n]
        if size == 1:
            shared = [at for at in ones or ends if at == axis] or (ones or ends)[:1]
        for at in [at for at in shared if target[at] in liked[axis]] or shared[:1]:
            found[at].append(axis)
    return found


def _multiplies(spot: ModelSpot) -> bool:
    """Whether a node multiplies matrices."""
    return "MatMul" in spot.operation.op_type or spot.operation.op_type == "Gemm"
