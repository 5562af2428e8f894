"""A function with all small sizes of its names tried: arguments of those shapes, a run with every check, and where it ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from types import CodeType

import numpy as np
from rxlang.interp.compile import Options
from rxlang.interp.run import Machine
from rxlang.interp.shape_error import ShapeError
from rxlang.lang.checked import Checked
from rxlang.lang.diagnostics import Diagnostic
from rxlang.lang.files import Files

Sizes = dict[str, int]
_WORDS = {"min", "max", "ceildiv", "and", "or", "not"}


def names_in(text: str) -> list[str]:
    return sorted(set(re.findall(r"[A-Za-z_]\w*", text)) - _WORDS)


def value(text: str, sizes: Sizes) -> int:
    """A size or a condition in the notation of Rx (or of a message), for these sizes."""
    return eval(_compiled(text), {"min": min, "max": max, "ceildiv": lambda a, b: -(-a // b)}, sizes)  # type: ignore[no-any-return]  # noqa: S307


@cache
def _compiled(text: str) -> CodeType:
    plain = re.sub(r"(?<!/)/(?!/)", "//", text.replace("&&", " and ").replace("||", " or "))
    return compile(plain.strip(), text, "eval")


def holds(text: str, sizes: Sizes) -> bool:
    """Whether a condition holds for these sizes: where it divides by 0 it does not."""
    try:
        return bool(value(text, sizes))
    except ZeroDivisionError:
        return False


def of_message(text: str) -> str:
    """`n = 0 or n = 1`, `a == b, h >= 3 and w >= 3` as a condition."""
    text = re.sub(r"(?<![<>=!])=(?!=)", "==", text)
    parts = re.split(r", and | and |, (?![^()]*\))", text)
    return " and ".join(f"({part})" for part in parts)


def signature(text: str) -> dict[str, tuple[str, ...]]:
    """The parameters of the `@main` of a program whose parameters are tensors, each with its dimensions."""
    head = re.search(r"@main = fn\((.*?)\) :", text)
    assert head is not None
    found = re.findall(r"(\w+) : Tensor\(\[(.*?)\], float32\)", head[1])
    return {name: tuple(filter(None, dims.split(", "))) for name, dims in found}


def every(params: dict[str, tuple[str, ...]], most: int) -> Iterator[Sizes]:
    names = sorted({n for dims in params.values() for d in dims for n in names_in(d)})
    for sizes in product(range(most + 1), repeat=len(names)):
        yield dict(zip(names, sizes, strict=True))


class Tried:
    """Runs `@main` of a checked program as it was before anything was simplified."""

    def __init__(self, checked: Checked) -> None:
        self.machine = Machine(checked.before, Files(Path(".")), Options(guard_all=True))

    def __call__(self, params: dict[str, tuple[str, ...]], sizes: Sizes) -> Diagnostic | None:
        """What refuses arguments of these sizes; None where they run."""
        shapes = [tuple(value(d, sizes) for d in dims) for dims in params.values()]
        try:
            with np.errstate(all="ignore"):
                self.machine.call("main", [np.zeros(shape, np.float32) for shape in shapes])
        except ShapeError as problem:
            return problem.diagnostic
        return None
