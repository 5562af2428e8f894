"""`rx shapes`: print the shape and dtype of each binding."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .. import pipeline
from ..lang.checked import Binding, FunctionShapes
from ..lang.expressions import names_in
from ..lang.files import is_model, is_python
from ..lang.formats import shapes_object
from ..lang.listing import listing
from ..model.asked import AskedOfPython
from ..simplify.known.outcome import Options
from .files import Unusable, all_met, conditions, folders, given_option, of_main, read_program
from .targets import arg_option, as_program, echo, init_option, python, refuse, shapes_object as python_shapes
from .terminal import print_diagnostics

if TYPE_CHECKING:
    from .sized import FunctionSizes


@click.command()
@click.argument("file")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it."
)
@given_option
@click.option(
    "--program", "programs", is_flag=True, help="Print each function's shape program, which computes sizes from sizes."
)
@click.option("--memory", is_flag=True, help="Print the bytes that a call of each function takes beyond its arguments.")
@click.option(
    "--size", "sizes", multiple=True, metavar="NAME=N", help="A size, to print --memory as a number; may be repeated."
)
@init_option
@arg_option
@click.option(
    "--root", "roots", multiple=True, metavar="DIR", help="A folder besides the program's own to open files in."
)
def shapes(
    file: str,
    form: str,
    given: tuple[str, ...],
    programs: bool,
    memory: bool,
    sizes: tuple[str, ...],
    init: str | None,
    args: tuple[str, ...],
    roots: tuple[str, ...],
) -> int:
    """Print the shape and dtype of each binding.

    A size is exact unless it is printed with an upper bound or as unknown. FILE may be PyTorch code, FILE.py:NAME or
    PACKAGE.MODULE:NAME: only this form imports and runs that code, in a separate process.
    """
    if sizes and not memory:
        raise click.UsageError("--size goes with --memory")
    refuse(file, {"roots": "--root"})
    program = read_program(file)
    if is_python(program.name):
        given = tuple(map(of_main, given))
        read = python(file, AskedOfPython(init, args), conditions(given))
        if not programs and not memory:
            return echo(form, read, python_shapes(read))
        program = as_program(file, read)
    options = Options(given=conditions(given))
    report = pipeline.check_bytes(program.data, program.name, program.base, folders(roots), options)
    notes = not is_model(program.name) and not is_python(program.name)  # a model's text is not edited by anyone
    print_diagnostics([d for d in report.diagnostics if notes or d.is_wrong])
    all_met(report.unmet)
    if report.checked is None:
        return 1
    parts = _parts(report, programs, memory, _numbers(sizes))
    _print(report.checked.shapes, parts, form, programs or memory)
    return 0 if report.ok else 1


def _parts(report: pipeline.Report, programs: bool, memory: bool, numbers: dict[str, int]) -> tuple[FunctionSizes, ...]:
    if not report.ok or report.checked is None or not (programs or memory):
        return ()
    from .sized import parts_of  # loads NumPy

    parts = parts_of(report.checked, programs=programs, memory=memory, sizes=numbers)
    _have_meaning(numbers, report.checked.shapes, parts)
    return parts


def _print(functions: tuple[FunctionShapes, ...], parts: tuple[FunctionSizes, ...], form: str, in_parts: bool) -> None:
    if form == "json":
        found = shapes_object(functions)
        for part in parts:
            found["functions"][part.function].update(part.data)
        click.echo(json.dumps(found, indent=2))
    elif in_parts:
        click.echo("\n\n".join(part.text for part in parts))
    else:
        click.echo("\n\n".join(listing(function) for function in functions))


def _numbers(sizes: tuple[str, ...]) -> dict[str, int]:
    """Sizes and their numbers, from texts like `n=4`."""
    found = {}
    for text in sizes:
        name, _, number = text.partition("=")
        if not name or not number.removeprefix("-").isdecimal():
            raise Unusable(f"--size takes NAME=N, like n=4, not {text!r}")
        found[name] = int(number)
    return found


def _leaves(binding: Binding) -> Iterator[Binding]:
    """A binding, or the parts of a tuple at any depth."""
    for item in binding.items:
        yield from _leaves(item)
    if not binding.items:
        yield binding


def _have_meaning(
    numbers: dict[str, int], functions: tuple[FunctionShapes, ...], parts: tuple[FunctionSizes, ...]
) -> None:
    """Raise Unusable unless each size occurs in a signature or in the memory of a call, and no dimension is negative."""
    params = [part for f in functions for p in f.params for part in _leaves(p)]
    free = {p.name for p in params if p.sort == "Size"}
    sizes = [size for p in params for size in (p.open, *(p.shape or ()))]
    named = free.union(names_in(*sizes, *(str(part.data.get("memory")) for part in parts)))
    for name, number in numbers.items():
        if name not in named:
            raise Unusable(f"--size {name}={number}: no function has a size `{name}`")
        if number < 0 and name not in free:
            raise Unusable(f"--size {name}={number}: a dimension is not below 0")
