"""`rx infer`: print the shapes of every value of a model, and write them into the model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

import click

from ..lang.cells import shown
from ..lang.diagnostics import RxError
from ..lang.files import is_python
from ..lang.formats import case_object
from ..lang.listing import shape_text
from ..model.asked import AskedOfPython
from ..model.contract_file import contract_text
from ..python.onnx import Inferences, Policy, infer_model
from .files import Unusable, model_file, prelude_option, read_program, reason, rules
from .targets import arg_option, echo, inferred_object, init_option, python, refuse
from .terminal import print_diagnostics

if TYPE_CHECKING:
    from ..frontends.onnx.inference import Inference, Inferred


@click.command()
@click.argument("file", metavar="MODEL.onnx|FILE.py:NAME")
@click.option("-o", "--out", metavar="OUT.onnx", help="Where to write the model with its shapes.")
@click.option(
    "--policy", type=click.Choice(get_args(Policy)), default="reconcile", show_default=True,
    help="How to treat shapes that the model declares.",
)  # fmt: skip
@click.option(
    "--copy-data/--link-data", default=True, show_default=True,
    help="External data beside OUT.onnx: a copy, or a link to it, which some readers refuse.",
)  # fmt: skip
@click.option(
    "--dynamic",
    multiple=True,
    metavar="INPUT.AXIS[=NAME]",
    help="Free a declared size, like images.0=b or '*.0'; may be repeated.",
)
@click.option("--write", "kept", is_flag=True, help="Write the model's contract into it too, under rx.contract.")
@prelude_option
@init_option
@arg_option
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it.",
)  # fmt: skip
def infer(
    file: str,
    out: str | None,
    policy: Policy,
    copy_data: bool,
    dynamic: tuple[str, ...],
    kept: bool,
    prelude: str | None,
    init: str | None,
    args: tuple[str, ...],
    form: str,
) -> int:
    """Print the symbolic shapes of every value of an ONNX model, or of PyTorch code.

    FILE.py:NAME and PACKAGE.MODULE:NAME are PyTorch code: only this form imports and runs that code, in a separate process.
    """
    refuse(
        file,
        {"out": "--out", "policy": "--policy", "copy_data": "--link-data", "kept": "--write", "prelude": "--prelude"},
    )
    if is_python(file):
        read = python(read_program(file).name, AskedOfPython(init, args, dynamic))
        return echo(form, read, inferred_object(read))
    try:
        found = infer_model(model_file(file), policy, dynamic, rules(prelude))
    except RxError as problem:
        print_diagnostics(problem.diagnostics)
        return 1
    except ValueError as wrong:
        raise Unusable(f"--dynamic {wrong}") from wrong
    print_diagnostics(found.diagnostics)
    if form == "json":
        click.echo(json.dumps(as_json(found.inference), indent=2))
    else:
        _print(found.inference)
    if out is not None or kept:
        _write(file, found, out or file, copy_data, kept)
    return 0 if found.ok else 1


def _print(found: Inference) -> None:
    width = max(map(len, map(shown, found.values)), default=0)
    for name, value in found.values.items():
        for text in _texts(value):
            click.echo(f"  {shown(name):<{width}} : {shown(text)}")


def _write(file: str, found: Inferences, out: str, copy_data: bool, kept: bool) -> None:
    try:
        found.write(out, copy_data, _contract(file, found) if kept else None)
    except OSError as wrong:
        raise Unusable(f"cannot write {out!r}: {reason(wrong)}") from wrong


def _contract(file: str, found: Inferences) -> str:
    contract = found.contract
    if contract is None:
        raise Unusable(f"{file!r} has no contract: `rx check` says why")
    return contract_text(contract)


def _texts(value: Inferred) -> list[str]:
    """The type of a value; one line per case if sizes decide its rank."""
    cases = [f"Tensor({shape_text(c.shape)}, {value.dtype or '?'})  # {c}" for c in value.cases]
    return cases or [_text(value)]


def _text(value: Inferred) -> str:
    if value.element is not None:
        return f"{(value.dtype or '').partition('(')[0]} of {_text(value.element)}"
    shape = shape_text(value.shape)
    bounds = [f"axis {i} is at most {b}" for i, b in enumerate(value.bounds) if b is not None]
    return f"Tensor({shape}, {value.dtype or '?'})" + (f"  # {'; '.join(bounds)}" if bounds else "")


def _value(value: Inferred) -> dict[str, Any]:
    """One value; with `bounds` if its sizes have some, with `element` if it is a container."""
    shape = None if value.shape is None else list(value.shape)
    made: dict[str, Any] = {"shape": shape, "dtype": value.dtype, "exactness": list(value.exactness)}
    if any(bound is not None for bound in value.bounds):
        made["bounds"] = list(value.bounds)
    if value.cases:
        made["cases"] = [case_object(case) for case in value.cases]
    return made if value.element is None else {**made, "element": _value(value.element)}


def as_json(found: Inference) -> dict[str, Any]:
    values = {name: _value(v) for name, v in found.values.items()}
    nodes = [
        {"name": n.name, "op_type": n.op_type, "domain": n.domain, "status": n.status, "message": n.message}
        for n in found.nodes
    ]
    counts = found.counts
    checks = {"proved": counts.proved, "refuted": counts.refuted, "residual": counts.residual}
    return {"values": values, "nodes": nodes, "checks": checks}
