"""`rx export`: a function of a checked program as an ONNX model that keeps its contract."""

from __future__ import annotations

import click

from .. import pipeline
from ..lang.diagnostics import RxError
from ..lang.files import Files
from ..simplify.known.outcome import Options
from .files import Unusable, all_met, conditions, folders, given_option, read_program, replace_file
from .terminal import print_diagnostics

REJECTED = 1


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--function", "name", required=True, metavar="@F", help="The function to export.")
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
    file: str, name: str, out: str, roots: tuple[str, ...], opset: int, given: tuple[str, ...], checks: str
) -> int:
    """Write a function of a program as an ONNX model, for all sizes, with its contract in the metadata."""
    program, places = read_program(file), folders(roots)
    options = Options(given=conditions(given))
    report = pipeline.check_bytes(program.data, program.name, program.base, places, options)
    print_diagnostics([d for d in report.diagnostics if d.severity != "note"])
    if not report.ok or report.checked is None:
        return REJECTED
    all_met(report.unmet)
    try:
        from ..interp.engines.onnx_export import export as exported  # it loads onnx
    except ModuleNotFoundError as wrong:
        raise Unusable(f"rx export needs {wrong.name}: pip install 'rxlang[onnxruntime]'") from wrong
    try:
        machine = pipeline.ready(report.checked, Files(program.base, places))
        function = machine.function(name.removeprefix("@"))
        if function is None or function.kind == "private":
            raise Unusable(f"{file} has no function @{name.removeprefix('@')}")
        made = exported(machine.program, function, machine.code, checks=checks, opset=opset)
    except RxError as problem:
        print_diagnostics(problem.diagnostics)
        return REJECTED
    print_diagnostics(made.notes)
    replace_file(out, made.model.SerializeToString(deterministic=True))
    click.echo(f"{out}: {len(made.model.graph.node)} nodes")
    return 0
