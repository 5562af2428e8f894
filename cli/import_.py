"""`rx import`: write a model as a program in Rx, with its weights beside it."""

from __future__ import annotations

from pathlib import Path

import click

from ..frontends.onnx.reading import read_model
from ..frontends.onnx.translate import translate
from ..frontends.onnx.weights import write_weights
from ..lang.diagnostics import RxError
from ..lang.formatter import format_source
from .files import Unusable, model_file, prelude_option, reason, replace_file, rules
from .terminal import print_diagnostics


@click.command("import")
@click.argument("file", metavar="MODEL.onnx")
@click.option("-o", "--out", metavar="DIR", required=True, help="The folder to write the program and its weights into.")
@prelude_option
def import_(file: str, out: str, prelude: str | None) -> int:
    """Write a model as an .rx program, with its weights as .safetensors beside it."""
    folder, path = Path(out), model_file(file)
    if not path.stem.isprintable():  # the program names its weights file
        raise Unusable(f"a program cannot be called {path.stem!r}: give the model another name")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        model = read_model(path)
        found = translate(model, f"{path.stem}.safetensors", rules(prelude), keeps_functions=True)
        if found.wrong:
            raise RxError(*found.wrong)
        weights = write_weights(model, folder)
    except RxError as problem:
        print_diagnostics(problem.diagnostics)
        return 1
    except OSError as wrong:
        raise Unusable(f"cannot write into {out!r}: {reason(wrong)}") from wrong
    program = folder / f"{path.stem}.rx"
    laid_out, _ = format_source(found.source)
    replace_file(str(program), (laid_out or found.source.text).encode())
    print_diagnostics(found.notes)
    click.echo(f"{program} and {weights}")
    return 0
