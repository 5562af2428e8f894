"""`rx export`: write a function of a checked program as an ONNX model that keeps its contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .. import pipeline
from ..lang.diagnostics import RxError
from ..lang.files import Files, is_python
from ..lang.given import Given
from ..model.asked import AskedOfPython
from ..simplify.known.outcome import Options
from .apart import apart
from .files import Unusable, all_met, conditions, folders, given_option, of_main, read_program, reason
from .targets import arg_option, init_option, refuse
from .terminal import print_diagnostics

REJECTED = 1


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--function", "name", metavar="@F", help="The function to export.")
@init_option
@arg_option
@click.option("-o", "--out", required=True, metavar="MODEL.onnx", help="The model to write.")
@click.option(
    "--root", "roots", multiple=True, metavar="DIR", help="A folder besides the program's own to open files in."
)
@click.option(
    "--opset", type=click.IntRange(20, 22), default=20, show_default=True, help="The version of ONNX's operators."
)
@given_option
@click.option(
    "--checks",
    type=click.Choice(["refuse", "output", "drop"]),
    default="refuse",
    show_default=True,
    help="How to treat checks inside the function that are left for run time.",
)
def export(
    file: str,
    name: str | None,
    init: str | None,
    args: tuple[str, ...],
    out: str,
    roots: tuple[str, ...],
    opset: int,
    given: tuple[str, ...],
    checks: str,
) -> int:
    """Write a function of a program as an ONNX model, for all sizes, with its contract in the metadata; FILE may be PyTorch
    code, PATH.py:NAME, whose parameters are the model's weights."""
    refuse(file, {"name": "--function", "roots": "--root"})
    if is_python(file):
        options = Options(given=conditions(tuple(map(of_main, given))))
        return _python(file, AskedOfPython(init, args), options, out, checks, opset)
    if name is None:
        raise Unusable("--function says which function is exported")
    return _program(file, name.removeprefix("@"), folders(roots), conditions(given), out, checks, opset)


def _program(
    file: str, name: str, places: tuple[Path, ...], given: tuple[Given, ...], out: str, checks: str, opset: int
) -> int:
    program = read_program(file)
    options = Options(given=given)
    report = pipeline.check_bytes(program.data, program.name, program.base, places, options)
    print_diagnostics([d for d in report.diagnostics if d.severity != "note"])
    if not report.ok or report.checked is None:
        return REJECTED
    all_met(report.unmet)
    try:
        from ..interp.engines.onnx_export import export as exported, write  # it loads onnx
    except ModuleNotFoundError as wrong:
        raise Unusable(f"rx export needs {wrong.name}: pip install 'rxlang[onnxruntime]'") from wrong
    try:
        machine = pipeline.ready(report.checked, Files(program.base, places))
        function = machine.function(name)
        if function is None or function.kind == "private":
            raise Unusable(f"{file} has no function @{name}")
        made = exported(machine.program, function, machine.code, checks=checks, opset=opset)
    except RxError as problem:
        print_diagnostics(problem.diagnostics)
        return REJECTED
    print_diagnostics(made.notes)
    try:
        write(made.model, Path(out))
    except OSError as wrong:
        raise Unusable(f"cannot write {out!r}: {reason(wrong)}") from wrong
    click.echo(f"{out}: {len(made.model.graph.node)} nodes")
    return 0


def _python(name: str, asked: AskedOfPython, options: Options, out: str, checks: str, opset: int) -> int:
    found = apart(name, _exported, name, asked, Path.cwd(), options, out, checks, opset)
    print_diagnostics(found.diagnostics)
    if found.nodes is None:
        return REJECTED
    click.echo(f"{out}: {found.nodes} nodes")
    return 0


def _exported(name: str, *asked: Any) -> Any:
    try:
        from .traced import exported  # it loads torch

        return exported(name, *asked)
    except ModuleNotFoundError as missing:
        raise Unusable(f"rx export of {name!r} needs {missing.name}: pip install 'rxlang[torch,onnxruntime]'") from None
    except OSError as wrong:
        raise Unusable(f"cannot write {asked[3]!r}: {reason(wrong)}") from None
