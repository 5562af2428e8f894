"""The edit of a model that replaces a fixed size: constants, and nodes that compute sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count, groupby

from ..frontends.onnx.edits import ModelEdit, NewNode, all_names
from ..lang.node import Node
from ..lang.onnx_weights import ELEMENTS
from .places import ModelNodes, ModelSpot

_NUMBERS = {name: number for number, name in ELEMENTS.items()}
# Inputs that hold sizes: the index of the input, and its name in the standard.
SIZES: dict[str, tuple[int, str]] = {
    "Reshape": (1, "target"), "Expand": (1, "shape"), "ConstantOfShape": (0, "shape"), "Resize": (3, "sizes"),
    "Tile": (1, "repeats"), "Slice": (2, "ends"), "Range": (1, "limit"), "TopK": (1, "K"), "OneHot": (1, "depth"),
    "Loop": (0, "trip count"), "CenterCropPad": (1, "shape"), "AffineGrid": (1, "size"), "Split": (1, "split"),
    "Pad": (1, "pads"), "Upsample": (1, "scales"), "Col2Im": (1, "image_shape"), "MaxUnpool": (2, "output_shape"),
}  # fmt: skip


class Length(Node):
    """The product of some axes of a value, multiplied by `times`, `plus` a number, at most `most`; `text` shows it as a
    size."""

    value: str
    axes: tuple[int, ...]
    text: str
    times: int = 1
    most: int | None = None
    plus: int = 0

    def __str__(self) -> str:
        return self.text if self.most is None else f"min({self.most}, {self.text})"


class Item(Node):
    """An element of a value that has `count` elements."""

    value: str
    index: int
    count: int


Entry = int | Length


class EntryChange(Node):
    """A change of a node's input: new sizes by their index in `entries`; or in `lines` axes to repeat it along, each with the
    length and the step from a line to the next; or, for a Split into so many equal `parts`, its removal."""

    spot: ModelSpot
    at: int
    entries: Mapping[int, Entry] = {}
    lines: Mapping[int, tuple[Length, int]] = {}
    parts: int = 0

    def __or__(self, other: EntryChange) -> EntryChange:
        return EntryChange(
            self.spot, self.at, {**self.entries, **other.entries}, {**self.lines, **other.lines}, other.parts
        )


class Writing:
    """The edit of a model for some changes."""

    def __init__(self, places: ModelNodes) -> None:
        self.places = places
        self.taken = frozenset(all_names(places.model.graph))

    def fresh(self, name: str) -> str:
        """A name that the model does not have; a model that was changed before may have this one."""
        others = (f"{name}_{i}" for i in count(2))
        return name if name not in self.taken else next(n for n in others if n not in self.taken)

    def shown(self, change: EntryChange) -> str:
        """The sizes of a changed input, with the new ones."""
        name = change.spot.operation.inputs[change.at]
        data, parts = self.places.data(change.spot, name), items_of(self.places, change.spot, name) or ()
        sizes = [p.value if isinstance(p, Item) else p for p in parts] if data is None else data
        items = [*map(str, (change.entries.get(at, size) for at, size in enumerate(sizes)))]
        return items[0] if self.places.shape(change.spot, name) == () else f"[{', '.join(items)}]"

    def edit(self, changes: Iterable[EntryChange]) -> ModelEdit:
        made = ModelEdit()
        for change in changes:
            made = made | _Writer(self, change).edit()
        return made


class _Writer:
    """The edit for one change."""

    def __init__(self, writing: Writing, change: EntryChange) -> None:
        self.writing, self.places, self.change = writing, writing.places, change
        self.spot, self.given = change.spot, change.spot.operation.inputs[change.at]
        what = (
            "shape" if self.spot.operation.op_type == "Reshape" else SIZES.get(self.spot.operation.op_type, (0, ""))[1]
        )
        self.name = (
            f"{next(filter(None, self.spot.operation.outputs))}_{what.replace(' ', '_') or f'input_{change.at}'}"
        )
        self.constants: dict[str, int | tuple[int, ...]] = {}
        self.nodes: list[NewNode] = []

    def edit(self) -> ModelEdit:
        place, version = self.spot.place, self.places.model.opsets.get("", 1)
        if attribute := self.places.attributes.get(self.given):
            return ModelEdit(
                attributes={(place, attribute): None if self.change.parts else tuple(map(_number, self.items()))}
            )
        if self.change.parts:
            counted = {(place, "num_outputs"): self.change.parts} if version >= 18 else {}
            return ModelEdit(inputs={(place, self.change.at): ""}, attributes=counted)
        made = self.repeated() if self.change.lines else self.sizes()
        read = self.spot.operation.op_type == "Reshape" and 0 in self.change.entries.values()
        return ModelEdit(
            self.constants, tuple(self.nodes), {(place, self.change.at): made},
            {(place, "allowzero"): 0} if read and self.spot.operation.attributes.get("allowzero", 0) else {},
        )  # fmt: skip

    def new(self, op_type: str, inputs: tuple[str, ...], name: str = "", **attributes: int | tuple[int, ...]) -> str:
        made = self.writing.fresh(name or f"{self.name}_{op_type.lower()}_{len(self.nodes)}")
        self.nodes.append(NewNode(op_type, inputs, made, attributes, self.spot.place))
        return made

    def constant(self, value: int | tuple[int, ...], name: str = "") -> str:
        """Add a constant; in a function as a node, since it has no initializers."""
        made = self.writing.fresh(name or f"{self.name}_constant_{len(self.constants) + len(self.nodes)}")
        if self.spot.region:
            key = "value_ints" if isinstance(value, tuple) else "value_int"
            self.nodes.append(NewNode("Constant", (), made, {key: value}, self.spot.place))
        else:
            self.constants[made] = value
        return made

    def sizes(self) -> str:
        """Write the input with its new entries."""
        whole, items = f"{self.name}_for_all", self.items()
        if self.places.shape(self.spot, self.given) == ():
            (item,) = items
            made = self.length(item, True) if isinstance(item, Length) else self.constant(_number(item))
            return self.cast(made)
        groups = [(kind, list(run)) for kind, run in groupby(items, _kind)]
        if len(groups) == 1 and groups[0][0] == "number" and self.is_whole():
            return self.constant(tuple(map(_number, items)), whole)
        pieces = tuple(self.piece(run) for _, run in groups)
        return self.cast(pieces[0] if len(pieces) == 1 else self.new("Concat", pieces, whole, axis=0))

    def items(self) -> list[Entry | Item]:
        given = items_of(self.places, self.spot, self.given) or ()
        return [self.change.entries.get(at, item) for at, item in enumerate(given)]

    def is_whole(self) -> bool:
        return self.places.dtype(self.spot, self.given) in ("int64", None)

    def cast(self, made: str) -> str:
        """Convert a value to the dtype of the input."""
        dtype = self.places.dtype(self.spot, self.given)
        return made if dtype in ("int64", None) else self.new("Cast", (made,), to=_NUMBERS[dtype or ""])

    def piece(self, run: Sequence[Entry | Item]) -> str:
        match run[0]:
            case Item(value=value, count=whole):
                at = tuple(item.index for item in run if isinstance(item, Item))
                return value if at == tuple(range(whole)) else self.new("Gather", (value, self.constant(at)))
            case Length() as first:
                axes = tuple(item.axes[0] for item in run if isinstance(item, Length))
                return self.gathered(first.value, axes) if len(run) > 1 else self.length(first)
        return self.constant(tuple(map(_number, run)))

    def length(self, length: Length, is_one: bool = False) -> str:
        """Write sizes as a list, or as one number."""
        made = self.gathered(length.value, length.axes[0] if is_one else length.axes)
        if len(length.axes) > 1:
            made = self.new("ReduceProd", (made,), keepdims=1)
        times, plus = length.times if length.times != 1 else None, length.plus or None
        for op_type, number in (("Mul", times), ("Add", plus), ("Min", length.most)):
            if number is not None:
                made = self.new(op_type, (made, self.constant(number if is_one else (number,))))
        return made

    def gathered(self, value: str, axes: int | tuple[int, ...]) -> str:
        return self.new("Gather", (self.new("Shape", (value,)), self.constant(axes)))

    def repeated(self) -> str:
        """Write the input's first line along each axis, repeated; numbers that count up go on counting."""
        made, shape = self.given, self.places.shape(self.spot, self.given) or ()
        for axis, size in enumerate(shape):
            if axis in self.change.lines and size != 1:
                made = self.new("Gather", (made, self.constant((0,))), axis=axis)
        plain = [self.change.lines[axis][0] if axis in self.change.lines else 1 for axis in range(len(shape))]
        if all(step == 0 for _, step in self.change.lines.values()):
            runs = [list(run) for _, run in groupby(plain, _kind)]
            pieces = tuple(self.piece(run) for run in runs)
            target = pieces[0] if len(pieces) == 1 else self.new("Concat", pieces, axis=0)
            return self.new("Expand", (made, target), f"{self.name}_for_all")
        for axis, (length, step) in self.change.lines.items():
            made = self.counted(made, length, step, len(shape) - axis)
        return made

    def counted(self, made: str, length: Length, step: int, behind: int) -> str:
        """Write numbers that count up from a first line, along the axis `behind` from the end."""
        ends = (self.constant(0), self.length(length, True), self.constant(1))
        up = self.new("Range", ends)
        if step != 1:
            up = self.new("Mul", (up, self.constant(step)))
        if behind > 1:
            up = self.new("Reshape", (up, self.constant((-1, *(1 for _ in range(behind - 1))))))
        return self.new("Add", (made, self.cast(up)))


def items_of(places: ModelNodes, spot: ModelSpot, name: str) -> list[Entry | Item] | None:
    """The elements of an input that holds sizes: numbers, and elements of other values."""
    data, shape = places.data(spot, name), places.shape(spot, name)
    maker = places.makers.get((spot.region, name))
    if maker is not None and maker.operation.op_type == "Concat" and not maker.operation.domain:
        parts = [items_of(places, spot, part) for part in maker.operation.inputs]
        if all(part is not None for part in parts):
            return [item for part in parts for item in part or ()]
    whole = len(data) if data is not None else shape[0] if shape is not None and len(shape) == 1 else None
    if spot.region and maker is not None and whole is None:
        whole = 1  # shapes in a function are unknown, and most parts of a target are one size
    if not isinstance(whole, int):
        return None
    return [n if data and isinstance(n := data[at], int) else Item(name, at, whole) for at in range(whole)]


def _kind(item: Entry | Item) -> str:
    """A key that is equal for neighbours that can be written as one value."""
    if isinstance(item, int):
        return "number"
    is_plain = isinstance(item, Item) or (len(item.axes), item.times, item.plus, item.most) == (1, 1, 0, None)
    return f"{type(item).__name__} {item.value}" if is_plain else f"{item}"


def _number(item: Entry | Item) -> int:
    assert isinstance(item, int)
    return item
