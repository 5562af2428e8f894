"""The annotations that assertions come from, in the user's spelling, and the names of annotated values."""

from __future__ import annotations

from .node import Node
from .shape_level import ShapeLevel, SizeExpr
from .source import Placed, Span


class Written(Placed):
    """A dimension, shape, dtype or condition in the user's spelling, which is the text of `span`.

    `names` are the names in it, each once, in order. `size` is a dimension's value over them, made of numbers, names and
    `+ - * / // %`; None for anything else (`?`, `*s`, a call).
    """

    names: tuple[str, ...]
    size: SizeExpr | None = None


class Annotation(Placed):
    """A type in the user's spelling. kind is tensor, name (`Size`, `int8`), tuple or function.

    `names` are all names in it, `shape_names` those of shapes (`*s`, `Tensor(s)`). `dims` is None if a tensor's shape is no
    list; `items` are a tuple's parts.
    """

    kind: str
    names: tuple[str, ...]
    shape_names: tuple[str, ...] = ()
    shape: Written | None = None
    dims: tuple[Written, ...] | None = None
    dtype: Written | None = None
    items: tuple[Annotation, ...] = ()


class Called(Node):
    """The user's name for an annotated value: its own name; for a result, the function `of` (empty if that has no name); for
    an argument of a function parameter, that parameter and the position `argument`; for a part of a tuple also the `items`
    that lead to it, outermost first, or their names in words."""

    name: str
    of: Called | None = None
    argument: int | None = None
    items: tuple[int | str, ...] = ()

    @property
    def is_result(self) -> bool:
        return self.of is not None and self.argument is None

    @property
    def as_its_own(self) -> str:
        """The value as a part of its function: `its result`, `item 1 of its result`, `its argument 2`."""
        if self.of is None:
            return self.quoted
        return " of ".join((*filter(None, (", ".join(self._items),)), f"its {self._place}"))

    @property
    def quoted(self) -> str:
        """The name as it stands in a sentence: in backquotes if the value has a name of its own."""
        return f"`{self}`" if self.of is None else self._in_words(self.of.speaking)

    @property
    def speaking(self) -> str:
        """A function as it stands in a sentence: `@f`, or a parameter in backquotes."""
        return "the function value" if self == NAMELESS else self.name if self.name.startswith("@") else self.quoted

    @property
    def _place(self) -> str:
        return "result" if self.argument is None else f"argument {self.argument + 1}"

    @property
    def _items(self) -> tuple[str, ...]:
        return tuple(i if isinstance(i, str) else f"item {i}" for i in self.items)

    def _in_words(self, function: str) -> str:
        whole = f"{'the ' * self.is_result}{self._place}" + (f" of {function}" if self.of != NAMELESS else "")
        return ", ".join((whole, *self._items))

    def __str__(self) -> str:
        return self.name + "".join(f"[{i}]" for i in self.items) if self.of is None else self._in_words(str(self.of))


NAMELESS = Called("")


class Declared(Placed):
    """The annotation that assertions were made of.

    `kind`: param, result, claim (`let y : T`), asserting (`let y ! T`), match_shape, const, extern; for loops carry, stack,
    range; for `@map` and the like their names.
    `subject` is the user's name for the value, or a condition; `tensor` is its core name here. `annotation` is None for a
    condition. `bound` maps each name of the annotation that was bound before and elsewhere to the core expression that it
    stands for: with it a diagnostic writes `Tensor([3, n], int8)`. `axes` tells where a condition's sizes stand ("axis 2 of
    `x`").
    """

    kind: str
    subject: Called
    tensor: str
    annotation: Annotation | None
    bound: tuple[tuple[str, ShapeLevel], ...]
    function: str | None
    position: int | None = None
    axes: tuple[tuple[str, str], ...] = ()

    @property
    def is_begun(self) -> bool:
        """Whether it is a carry without a type, which keeps that of its first value."""
        return self.kind == "carry" and self.annotation is None and self.tensor != ""

    @property
    def of_rows(self) -> bool:
        """Whether `@map` or the like asks for it, about tensors whose rows it reads."""
        return self.kind.startswith("@")

    @property
    def of_loop(self) -> str:
        """The part of a loop that asks for a condition; empty for any other condition."""
        return self.kind if self.of_rows else {"carry": "the loop", "range": "the range"}.get(self.kind, "")


class Origin(Placed):
    """The source of an assertion and the part: `what` is rank, dim, dtype, shape, where, assert, obligation.

    `span` is the part of the annotation (one dimension, the dtype) or the condition that the user wrote; `axis` goes with dim.
    `text` is the dimension or condition in the user's spelling. `claim` tells a claim from an assertion (`!`, assert, ...).
    """

    what: str
    claim: bool
    declared: Declared | None
    axis: int | None = None
    text: str = ""

    @property
    def asked(self) -> Span | None:
        """The annotation that asks."""
        if self.declared is None:
            return None
        return self.declared.annotation.span if self.declared.annotation is not None else self.span
