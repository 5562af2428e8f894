"""What is wrong in Python code beside what is told first: the program is checked again as if the lines with errors were right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..frontends.torch.run import Trace
from ..lang.codes import Code
from ..lang.expressions import names_in
from ..lang.node import replace

# So often what was told is taken for right.
MOST_ROUNDS = 4


def as_if_right(run: Trace, wrong: Mapping[int, Code | None]) -> Trace | None:
    """A run whose wrong lines give what they would if they were right, as far as that is known; None where none is."""
    lines, externs = run.text.splitlines(), list[str]()
    for number, code in wrong.items():
        line = lines[number - 1]
        name = line.partition(" = ")[0].strip().removeprefix("let ")
        if line.strip().startswith("assert "):
            lines[number - 1] = "  assert 0 == 0"
        elif (kind := _type_of(run, name, line, code)) is not None:
            externs.append(f'extern @right_{number} = fn() : {kind[0]} = "python:right"')
            lines[number - 1] = f"  let {name} : {kind[1]} = @right_{number}()"
    text = "\n".join((*lines, *externs)) + "\n"
    return None if text == run.text else replace(run, text=text)


def _type_of(run: Trace, name: str, line: str, code: Code | None) -> tuple[str, str] | None:
    """The type of a result, as a function without arguments has it, and as the program does."""
    head, sign, inside = run.types.get(name, "").partition("[")
    dims, _, dtype = inside.rpartition("]")
    if not sign or not set(names_in(dims)) <= set(run.hints):
        return None
    sizes = _sizes(dims) if code is not None and not code.of_result else list(_unquestioned(run, dims, line))
    if code is None or code.of_last_axes:
        _transpose(sizes, [_shape(run, n) for n in _operands(run, line)])
    unknown = ", ".join("?" for _ in sizes)
    return f"{head}[{unknown}]{dtype}", f"{head}[{', '.join(sizes)}]{dtype}"


def _unquestioned(run: Trace, dims: str, line: str) -> Iterator[str]:
    """The sizes of a result that all operands agree about: those that do not fit may be any."""
    result = _sizes(dims)
    operands = [_shape(run, n) for n in _operands(run, line)]
    aligned = max(map(len, operands), default=0) == len(result)
    for axis, size in enumerate(result, -len(result)):
        own = {o[axis] for o in operands if len(o) >= -axis} - {"1"}
        yield size if aligned and len(own) <= 1 else "?"


def _transpose(sizes: list[str], operands: list[list[str]]) -> None:
    """Makes the sizes of a product those that it has with one of its matrices transposed, where that fits."""
    if len(operands) == 2 and min(map(len, operands)) >= 2 <= len(sizes):
        left, right = operands
        if left[-1] == right[-1]:
            sizes[-1] = right[-2]
        elif left[-2] == right[-2]:
            sizes[-2] = left[-1]


def _operands(run: Trace, line: str) -> Iterable[str]:
    return (n for n in names_in(line.partition(" = ")[2]) if n in run.types)


def _shape(run: Trace, name: str) -> list[str]:
    return _sizes(run.types[name].partition("[")[2].rpartition("]")[0])


def _sizes(dims: str) -> list[str]:
    """The sizes in a type, at whose commas no bracket is open."""
    found, depth = [""], 0
    for letter in dims:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [size.strip() for size in found if size.strip()]
