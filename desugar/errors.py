"""What desugaring can say: every code with its title, and the ways to raise it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from ..lang.diagnostics import Label, RxError, error
from ..lang.source import Span

CODES = {
    "E201": "a name that nothing binds",
    "E202": "a function that does not exist",
    "E203": "one name defined twice",
    "E204": "a size may not be bound again",
    "E205": "arguments that do not fit the parameters",
    "E206": "a value of another sort than is needed here",
    "E207": "a size where a tensor is needed",
    "E208": "an annotation that does not determine its names",
    "E209": "a shape with more than one unknown splice",
    "E210": "a block without a result",
    "E211": "a tensor literal that is no tensor",
    "E212": "recursion without an annotated result",
    "E213": "a script and @main in one file",
    "E214": "a core function that is not in core form",
    "E215": "an attribute that does not exist",
    "E216": "a type that does not exist",
    "E217": "a type defined by itself",
    "E218": "weights loaded in the wrong place",
    "E219": "an `if` whose arms do not fit together",
    "E220": "an attribute that has to be literal",
    "E221": "a form that cannot stand here",
    "E222": "implementations that do not fit together",
    "E223": "nested too deeply",
    "E224": "a private function that is called from outside",
    "E225": "a misspelt dtype",
    "E240": "a file that does not exist",
    "E241": "a file outside the program's folder",
    "E242": "a file that cannot be read",
    "E243": "files that import each other",
    "E244": "an import that needs a name",
    "E299": "not supported yet",
    "N201": "a name that is bound and never used",
    "N204": "a name for any dtype that is called like one",
}  # fmt: skip


def problem(code: str, message: str, span: Span, *, help: str | None = None, labels: Iterable[Label] = ()) -> RxError:
    """What gives up on the statement or declaration at hand, to be raised."""
    return RxError(error(code, message, span, help=help, labels=tuple(labels)))


def fail(code: str, message: str, span: Span, *, help: str | None = None, labels: Iterable[Label] = ()) -> NoReturn:
    raise problem(code, message, span, help=help, labels=labels)


class Broken(RxError):
    """Something this depends on is wrong and was reported already."""

    def __init__(self) -> None:
        super().__init__()


# So many letters of a name tell which one is meant, where only one goes on from them.
_ENOUGH = 3


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that is most likely meant, if one is near. A single letter is near to itself alone."""
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
    """The help that asks whether one of these names is meant; None if there are none."""
    quoted = [f"`{name}`" for name in names]
    listed = " or ".join(filter(None, (", ".join(quoted[:-1]), *quoted[-1:])))
    return f"did you mean {listed}?" if quoted else None


def distance(a: str, b: str) -> int:
    """Insertions, deletions and replacements from a to b; a swap of neighbours counts one."""
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
    """`1 argument`, `2 arguments`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
