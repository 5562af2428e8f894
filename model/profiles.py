"""Conditions on the sizes of a model from the smallest and the largest shapes of inputs, in TensorRT's notation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .contract import Contract

Shape = tuple[int, ...]


def profiles(contract: Contract, texts: Sequence[str]) -> Iterator[str]:
    """Translate `x=1x3x32x32:8x3x640x640` to `@main: 1 <= b, b <= 8, ...`; inputs are separated by commas, and a shape
    between the smallest and the largest is ignored. Raises ValueError for other texts, and for shapes that contradict the
    model."""
    for text in (part for whole in texts for part in whole.split(",")):
        name, equal, shapes = text.strip().rpartition("=")
        ends = [_shape(shape) for shape in shapes.split(":")]
        if not equal or len(ends) not in (2, 3) or None in ends:
            raise ValueError(f"--profile {text!r} is not like x=1x3x32x32:8x3x640x640")
        least, most = ends[0] or (), ends[-1] or ()
        yield from _of_input(contract, name, least, most, text)


def _shape(text: str) -> Shape | None:
    sizes = text.split("x")
    return tuple(map(int, sizes)) if all(n.isascii() and n.isdecimal() for n in sizes) else None


def _of_input(contract: Contract, name: str, least: Shape, most: Shape, text: str) -> Iterator[str]:
    value = next((i for i in contract.inputs if i.name == name), None)
    if value is None:
        names = ", ".join(i.name for i in contract.inputs)
        raise ValueError(f"--profile {text!r}: the model has no input `{name}`; it has {names}")
    shape = value.shape or ()
    if not len(shape) == len(least) == len(most):
        raise ValueError(f"--profile {text!r}: `{name}` has {len(shape)} axes")
    for axis, (size, low, high) in enumerate(zip(shape, least, most, strict=True)):
        if low > high or isinstance(size, int) and not low == size == high:
            found = (
                f"is {size}" if isinstance(size, int) else f"has {low} as its smallest size and {high} as its largest"
            )
            raise ValueError(f"--profile {text!r}: axis {axis} of `{name}` {found}")
        if isinstance(size, str):
            yield f"@main: {low} <= {size}, {size} <= {high}"
