"""The ways to raise diagnostics of desugaring."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from ..lang.codes import Code
from ..lang.diagnostics import Edit, Label, RxError, error
from ..lang.source import Span

# `Tensor(n, m)` has the shape `n` and the dtype `m`.
IN_BRACKETS = "sizes stand in brackets: `Tensor([n, m], float32)`"
_LONGEST = 60  # the longest piece of a program quoted in a help


def problem(
    code: Code, message: str, span: Span, *, help: str | None = None, labels: Iterable[Label] = (),
    meant: Iterable[str | None] = (), edits: tuple[Edit, ...] = (), change: str = "",
) -> RxError:  # fmt: skip
    """Return the error that ends the current statement or declaration; `meant` are names for its suggestion, `edits` the
    edits that the help proposes, `change` the end of the help for them."""
    names = tuple(filter(None, meant))
    help = help or did_you_mean(names)
    found = error(code, message, span, help=help, labels=tuple(labels), meant=names, edits=edits, change=change)
    return RxError(found)


def fail(
    code: Code, message: str, span: Span, *, help: str | None = None, labels: Iterable[Label] = (),
    meant: Iterable[str | None] = (), edits: tuple[Edit, ...] = (), change: str = "",
) -> NoReturn:  # fmt: skip
    raise problem(code, message, span, help=help, labels=labels, meant=meant, edits=edits, change=change)


class Broken(RxError):
    """Something that this depends on is wrong, and its error was reported."""

    def __init__(self) -> None:
        super().__init__()


# A prefix of this length identifies a name if only one continues it.
_ENOUGH = 3


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that is most likely meant, if one is near. A single letter is near only to its other case."""
    if len(name) == 1:
        return next((c for c in candidates if c != name and c.lower() == name.lower()), None)
    best, least = None, max(1, len(name) // 3) + 1
    candidates = list(candidates)
    for candidate in candidates:
        if abs(len(candidate) - len(name)) < least:
            found = distance(name, candidate)
            if found < least:
                best, least = candidate, found
                if least == 1:
                    break
    begun = [c for c in candidates if len(name) >= _ENOUGH and c.startswith(f"{name}_")]
    return begun[0] if best is None and len(begun) == 1 else best


def did_you_mean(names: Iterable[str]) -> str | None:
    """Return the help that asks whether one of these names is meant; None if there are none."""
    quoted = [f"`{name}`" for name in names]
    listed = " or ".join(filter(None, (", ".join(quoted[:-1]), *quoted[-1:])))
    return f"did you mean {listed}?" if quoted else None


def as_tensor(shown: str) -> str:
    """Return the help for a Size that stands where a tensor is needed."""
    if len(shown) > _LONGEST:
        return "`@size_to_tensor(n, float32)` makes a float32 tensor of a Size `n`, `@size_to_tensor(n)` an int64 one"
    return f"`@size_to_tensor({shown}, float32)` makes a float32 tensor of it, `@size_to_tensor({shown})` an int64 one"


def distance(a: str, b: str) -> int:
    """Count the insertions, deletions and replacements from a to b; a swap of neighbours counts one."""
    earlier: list[int] = []
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        earlier, above = above, row
    return above[-1]


def count(number: int, noun: str) -> str:
    """Return `1 argument`, `2 arguments`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
