"""`rx desugar`: print the core program of a file, before or after simplification."""

from __future__ import annotations

from pathlib import Path

import click

from .. import pipeline
from ..lang import core
from ..lang.checked import Checked
from ..lang.core_printer import Comment, Place, print_program
from ..lang.diagnostics import Diagnostic
from ..lang.files import is_python
from ..lang.node import replace
from ..model.asked import AskedOfPython
from .annotated import print_annotated
from .files import ProgramFile, Unusable, folders, read_program
from .targets import arg_option, as_program, init_option, python, refuse, status
from .terminal import print_diagnostics

_STATUS = {
    core.Status.PROVED: "proved",
    core.Status.REFUTED: "refuted: always fails",
    core.Status.RESIDUAL: "residual: checked at run time",
    core.Status.ENTRY: "entry: decided at each call",
}
_LEFT = (core.Status.REFUTED, core.Status.RESIDUAL)


@click.command()
@click.argument("file")
@click.option(
    "--simplified", is_flag=True, help="Print it after simplification, with the status of every remaining assertion."
)
@click.option("--inline", is_flag=True, help="With --simplified: replace calls by the results of shape propagation.")
@click.option(
    "--annotated", is_flag=True, help="Print the known facts about each binding as comments instead of assertions."
)
@click.option("--dps", is_flag=True, help="Print each function as a shape program and a data program.")
@click.option("--function", "name", metavar="@F", help="Print only this function, with its implementation.")
@init_option
@arg_option
@click.option(
    "--root", "roots", multiple=True, metavar="DIR", help="A folder besides the program's own to open files in."
)
def desugar(
    file: str,
    simplified: bool,
    inline: bool,
    annotated: bool,
    dps: bool,
    name: str | None,
    init: str | None,
    args: tuple[str, ...],
    roots: tuple[str, ...],
) -> int:
    """Print the core program of a file.

    The output is itself a program with the same meaning. For PyTorch code, FILE.py:NAME or PACKAGE.MODULE:NAME, it is the
    program read from it; only this form imports and runs that code, in a separate process.
    """
    if inline and not simplified:
        raise click.UsageError("--inline goes with --simplified")
    if dps and (simplified or annotated):
        raise click.UsageError("--dps goes with neither --simplified nor --annotated")
    refuse(file, {"roots": "--root"})
    program, places = read_program(file), folders(roots)
    if is_python(program.name):
        read = python(file, AskedOfPython(init, args))
        if any(d.code.is_unread for d in read.diagnostics):
            return status(read)
        program = as_program(file, read)
    if dps:
        return _paired(program, places, name)
    if simplified or annotated:
        return _checked(program, places, simplified, inline, annotated, name)
    found, diagnostics = _desugared(program, places)
    print_diagnostics(() if is_python(file) else diagnostics)
    if found is not None:
        click.echo(_printed(_chosen(found, name, file)), nl=False)
    return int(found is None or any(d.severity == "error" for d in diagnostics))


def _desugared(program: ProgramFile, places: tuple[Path, ...]) -> tuple[core.Program | None, tuple[Diagnostic, ...]]:
    source, wrong = pipeline.opened(program.data, program.name, program.base)
    if any(d.severity == "error" for d in wrong):
        return None, wrong
    return pipeline.desugar_source(source, program.base, places)


def _checked(
    program: ProgramFile, places: tuple[Path, ...], simplified: bool, inline: bool, annotated: bool, name: str | None
) -> int:
    report = pipeline.check_bytes(program.data, program.name, program.base, places)
    print_diagnostics(
        () if is_python(program.name) else report.diagnostics
    )  # of Python code they are shown at its lines
    if report.checked is None:
        return 1
    found = report.checked.program if simplified else report.checked.before
    chosen = _chosen(pipeline.inlined(report.checked) if inline else found, name, program.name)
    click.echo(listing(chosen, report.checked if annotated else None), nl=False)
    return 0 if report.ok else 1


def _paired(program: ProgramFile, places: tuple[Path, ...], name: str | None) -> int:
    from ..interp.dps import pairs  # loads NumPy
    from .dps import print_pair

    report = pipeline.check_bytes(program.data, program.name, program.base, places)
    print_diagnostics(
        () if is_python(program.name) else report.diagnostics
    )  # of Python code they are shown at its lines
    if report.checked is None or not report.ok:
        return 1
    _chosen(report.checked.program, name, program.name)
    wanted = name.removeprefix("@") if name is not None else None
    found = [print_pair(p) for n, p in pairs(report.checked.program).items() if wanted in (None, n)]
    click.echo("\n\n".join(found))
    return 0


def listing(program: core.Program, annotated: Checked | None = None) -> str:
    """A program with the status of each assertion; in the concise form if `annotated` is given."""
    if annotated is None:
        return _printed(program, _status_of)
    functions = tuple(f for own in map(_with_a_body, program.functions) for f in own)
    return print_annotated(replace(program, functions=functions), annotated, _status_of)


def _printed(program: core.Program, comment: Comment | None = None) -> str:
    """The program. A function with errors in its body keeps its signature; its body becomes a call of itself, so that the
    output is a program."""
    split = [_with_a_body(f) for f in program.functions]
    left_out = {f"private @{own[1].name} " for own in split if len(own) > 1}
    text = print_program(replace(program, functions=tuple(f for own in split for f in own)), comment)
    lines = text.splitlines(keepends=True)
    return "".join(f"{line}{_LEFT_OUT}" if line.startswith(tuple(left_out)) else line for line in lines)


_LEFT_OUT = "  # the body has errors: it is left out\n"


def _with_a_body(function: core.Function) -> tuple[core.Function, ...]:
    written = function.declaration is not None and function.declaration.used is not None
    if function.kind != "extern" or not written:
        return (function,)
    [call] = function.body.stmts
    assert (
        isinstance(call, core.Let) and isinstance(call.value, core.Call) and isinstance(call.value.callee, core.FnRef)
    )
    again = replace(call.value, callee=core.FnRef(call.span, function.name))
    body = core.Block(function.body.span, (), again)
    impl = core.Function(function.span, "private", call.value.callee.name, function.params, function.result, (), body)
    return replace(function, kind="inline"), impl


def _status_of(place: Place) -> str | None:
    if isinstance(place, core.Assert | core.MatchShape):
        return _STATUS.get(place.status)
    if isinstance(place, core.Invariant):
        found = [("before the first turn", place.entry), ("after each turn", place.turn)]
        return ", ".join(f"{when} {_STATUS[status]}" for when, status in found if status in _LEFT)
    if isinstance(place, core.Stacked):
        return f"one shape in all turns: {_STATUS[place.status]}" if place.status in _LEFT else None
    if isinstance(place, core.Call) and place.guard:
        return f"what {_called(place)} needs: residual: checked at run time"
    return None


def _called(call: core.Call) -> str:
    return f"@{call.callee.name}" if isinstance(call.callee, core.FnRef) else call.callee.name


def _chosen(program: core.Program, name: str | None, file: str) -> core.Program:
    """The program, or the parts of one function: itself, its implementation, or its list of implementations."""
    if name is None:
        return program
    wanted, owners = name.removeprefix("@"), core.owners(program)
    functions = tuple(f for f in program.functions if wanted in (f.name, owners.get(f.name)))
    impls = tuple(i for i in program.impls if i.name == wanted)
    main = program.main if wanted == "main" else None
    if not functions and not impls and main is None:
        raise Unusable(f"{file!r} has no function {name!r}")
    return replace(program, functions=functions, impls=impls, main=main, consts=())
