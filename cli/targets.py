"""Python code as the argument of a command: its options, and the program read from it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ..lang.cells import shown
from ..lang.files import is_python
from ..lang.formats import Object, binding_object
from ..lang.given import Given
from ..lang.listing import type_text
from ..lang.source import Span
from ..model.asked import AskedOfPython
from ..simplify.known.outcome import Options
from .files import ProgramFile, Unusable
from .terminal import print_diagnostics

if TYPE_CHECKING:
    from .traced import PythonReading, TracedLine

init_option = click.option(
    "--init", metavar="NAME=EXPR, ...", help="For Python code: arguments to build a class or to call a function."
)
arg_option = click.option(
    "--arg", "args", multiple=True, metavar="NAME=VALUE", help="For Python code: an input, like x=float32[b, 3]."
)


def refuse(name: str, wrong: dict[str, str]) -> None:
    """Raise Unusable for an option that has no effect: those in `wrong` do not apply to Python code, by parameter."""
    source = click.get_current_context().get_parameter_source
    unused = wrong if is_python(name) else {"init": "--init", "args": "--arg"}
    for parameter, option in unused.items():
        if source(parameter) is not ParameterSource.DEFAULT:
            raise Unusable(f"{option} is {'not ' if is_python(name) else ''}for Python code")


def python(name: str, asked: AskedOfPython, given: tuple[Given, ...] = ()) -> PythonReading:
    """The program read from Python code, which runs in a separate process; its diagnostics are printed."""
    from .apart import apart  # few programs run the user's code

    found = apart(name, _read, name, asked, Path.cwd(), Options(given=given))
    print_diagnostics(found.diagnostics)
    return found


def _read(name: str, asked: AskedOfPython, folder: Path, options: Options) -> PythonReading:
    try:
        from .traced import read  # it loads torch
    except ModuleNotFoundError as missing:
        raise Unusable(
            f"{name!r} is PyTorch code, and {missing.name} is not installed: pip install 'rxlang[torch]'"
        ) from None
    return read(name, asked, folder, options)


def as_program(name: str, found: PythonReading) -> ProgramFile:
    return ProgramFile(name, found.text.encode(), Path.cwd())


def status(found: PythonReading) -> int:
    """The exit status of a command that reads Python code."""
    return 2 if any(d.code.is_unread for d in found.diagnostics) else 0 if found.ok else 1


# Values


def texts(found: PythonReading) -> Iterator[str]:
    """A line for each value: its place, its name and its type."""
    places = [_place(line.value.span) for line in found.lines]
    first = max(map(len, places), default=0)
    second = max((len(line.value.name) for line in found.lines), default=0)
    for place, line in zip(places, found.lines, strict=True):
        yield shown(f"  {place:<{first}}  {line.value.name:<{second}} : {type_text(line.value)}")
    if found.path:
        yield f"where {', '.join(found.path)}: at other sizes the code takes another path"


def _place(span: Span) -> str:
    return f"{span.source.name}:{span.line}" if span.source.text else "input"


def shapes_object(found: PythonReading) -> Object:
    """The values in the form of `rx shapes`, with the file of each value."""
    objects = [(line.op, {**binding_object(line.value), **_file(line)}) for line in found.lines]
    params, bindings = ([o for op, o in objects if bool(op) == made] for made in (False, True))
    return {"functions": {"@main": {"params": params, "bindings": bindings, "result": None}}, **_where(found)}


def _file(line: TracedLine) -> Object:
    return {"file": line.value.span.source.name} if line.op else {}


def inferred_object(found: PythonReading) -> Object:
    """The values by name in the form of `rx infer`; names that are not unique are followed by the place."""
    count = Counter(line.value.name for line in found.lines)
    values: dict[str, Any] = {}
    nodes = []
    for line in found.lines:
        name = line.value.name if count[line.value.name] == 1 else f"{line.value.name} {_place(line.value.span)}"
        name = name if name not in values else f"{name} #{len(values)}"
        one = binding_object(line.value)
        values[name] = {key: one[key] for key in ("shape", "dtype", "exactness")}
        if line.op:
            is_known = one["shape"] is not None and "?" not in one["shape"]
            status = "success" if is_known else "partial"
            nodes.append({"name": name, "op_type": line.op, "domain": "", "status": status, "message": None})
    checks = {name: getattr(found.counts, name) for name in ("proved", "refuted", "residual")}
    return {"values": values, "nodes": nodes, "checks": checks, **_where(found)}


def _where(found: PythonReading) -> Object:
    """The conditions of the path taken, if there are other paths."""
    return {"where": list(found.path)} if found.path else {}


def echo(form: str, found: PythonReading, made: Object) -> int:
    """Print the values in a form; return the exit status."""
    click.echo(json.dumps(made, indent=2) if form == "json" else "\n".join(texts(found)))
    return status(found)
