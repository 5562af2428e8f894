"""The annotations that assertions come from, in the user's spelling, and the names of annotated values."""

from __future__ import annotations

from .node import Node
from .shape_level import ShapeLevel, SizeExpr
from .source import Placed, Span


class Written(Placed):
    """A dimension, shape, dtype or condition in the user's spelling, which is the text of `span`.

    `names` are those that it speaks of, each once, in order. `size` is a dimension's value over them, made of numbers, names
    and `+ - * / // %`; None where it is something else (`?`, `*s`, a call).
    """

    names: tuple[str, ...]
    size: SizeExpr | None = None


class Annotation(Placed):
    """A type in the user's spelling. kind is tensor, name (`Size`, `int8`), tuple or function.

    `names` are all that stand in it, `shape_names` those of shapes (`*s`, `Tensor(s)`). `dims` is None where a tensor's shape
    is no list; `items` are a tuple's parts.
    """

    kind: str
    names: tuple[str, ...]
    shape_names: tuple[str, ...] = ()
    shape: Written | None = None
    dims: tuple[Written, ...] | None = None
    dtype: Written | None = None
    items: tuple[Annotation, ...] = ()


class Called(Node):
    """What people call an annotated value: its name or, of a result, the function that gives it (empty where that has no name),
    of what a function parameter is given, that parameter and the `argument`'s place; of a part of a tuple also which, from
    the outside, or what that is called in words."""

    name: str
    of: Called | None = None
    argument: int | None = None
    items: tuple[int | str, ...] = ()

    @property
    def is_result(self) -> bool:
        return self.of is not None and self.argument is None

    @property
    def as_its_own(self) -> str:
        """What belongs to a function where that is spoken of: `its result`, `item 1 of its result`, `its argument 2`."""
        if self.of is None:
            return self.quoted
        return " of ".join((*filter(None, (", ".join(self._items),)), f"its {self._place}"))

    @property
    def quoted(self) -> str:
        """As it stands in a sentence: what has a name in backquotes."""
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

    `kind`: param, result, claim (`let y : T`), asserting (`let y ! T`), match_shape, const, extern; of loops carry, stack,
    range, and `@map` and the like by their names.
    `subject` is what the user calls it, or a condition; `tensor` is the core name it has here.
    `annotation` is None for a condition. `bound` maps each name of the annotation that was bound somewhere else, before this
    annotation, to the core expression it stands for: with it a diagnostic writes `Tensor([3, n], int8)`. `axes` says of a
    condition's sizes where they stand ("axis 2 of `x`").
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
        """Whether `@map` and the like ask for it, of tensors whose rows they read."""
        return self.kind.startswith("@")

    @property
    def of_loop(self) -> str:
        """Who asks for a condition that a loop has; empty for any other."""
        return self.kind if self.of_rows else {"carry": "the loop", "range": "the range"}.get(self.kind, "")


class Origin(Placed):
    """What an assertion was made of, and which part: `what` is rank, dim, dtype, shape, where, assert, obligation.

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
