"""`rx desugar`: prints the core program that a file means, before or after simplification."""

from __future__ import annotations

from pathlib import Path

import click

from .. import pipeline
from ..lang import core
from ..lang.core_printer import print_program
from ..lang.diagnostics import Diagnostic
from ..lang.node import replace
from ..lang.parser import decode
from .annotated import print_annotated
from .files import Program, Unusable, folders, read_program
from .terminal import print_diagnostics

_STATUS = {
    core.Status.PROVED: "proved",
    core.Status.REFUTED: "refuted: always fails",
    core.Status.RESIDUAL: "residual: checked at run time",
    core.Status.ENTRY: "entry: decided at each call",
}


@click.command()
@click.argument("file")
@click.option("--simplified", is_flag=True, help="After simplification, with the status of every assertion left.")
@click.option("--annotated", is_flag=True, help="What is known of each binding as comments, instead of assertions.")
@click.option("--function", "name", metavar="@F", help="This function alone, with its implementation.")
@click.option(
    "--root", "roots", multiple=True, metavar="DIR", help="A folder besides the program's own to open files in."
)
def desugar(file: str, simplified: bool, annotated: bool, name: str | None, roots: tuple[str, ...]) -> int:
    """Print the core program that a file means.

    What is printed is itself a program, and means the same.
    """
    program, places = read_program(file), folders(roots)
    if simplified or annotated:
        return _checked(program, places, simplified, annotated, name)
    found, diagnostics = _desugared(program, places)
    print_diagnostics(diagnostics)
    if found is not None:
        click.echo(print_program(_chosen(found, name, file)), nl=False)
    return _status(found, diagnostics)


def _desugared(program: Program, places: tuple[Path, ...]) -> tuple[core.Program | None, tuple[Diagnostic, ...]]:
    source, wrong = decode(program.data, program.name)
    if any(d.severity == "error" for d in wrong):
        return None, wrong
    return pipeline.desugar_text(source.text, program.name, program.base, places)


def _checked(program: Program, places: tuple[Path, ...], simplified: bool, annotated: bool, name: str | None) -> int:
    report = pipeline.check_bytes(program.data, program.name, program.base, places)
    print_diagnostics(report.diagnostics)
    if report.checked is None:
        return 1
    chosen = _chosen(report.checked.program if simplified else report.checked.before, name, program.name)
    if annotated:
        click.echo(print_annotated(chosen, report.checked.shapes), nl=False)
    else:
        click.echo(print_program(chosen, _status_of), nl=False)
    return 0 if report.ok else 1


def _status(found: core.Program | None, diagnostics: tuple[Diagnostic, ...]) -> int:
    return int(found is None or any(d.severity == "error" for d in diagnostics))


def _status_of(place: core.Stmt | core.Call) -> str | None:
    if isinstance(place, core.Assert | core.MatchShape):
        return _STATUS.get(place.status)
    if isinstance(place, core.Call) and place.guard:
        return f"what {_called(place)} needs: residual: checked at run time"
    return None


def _called(call: core.Call) -> str:
    return f"@{call.callee.name}" if isinstance(call.callee, core.FnRef) else call.callee.name


def _chosen(program: core.Program, name: str | None, file: str) -> core.Program:
    """The program, or what of it belongs to one function: itself, its implementation, or the list it stands for."""
    if name is None:
        return program
    wanted, owners = name.removeprefix("@"), core.owners(program)
    functions = tuple(f for f in program.functions if wanted in (f.name, owners.get(f.name)))
    impls = tuple(i for i in program.impls if i.name == wanted)
    main = program.main if wanted == "main" else None
    if not functions and not impls and main is None:
        raise Unusable(f"{file!r} has no function {name!r}")
    return replace(program, functions=functions, impls=impls, main=main, consts=())
