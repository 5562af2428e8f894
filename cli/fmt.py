"""`rx fmt`: format programs in the canonical layout."""

from __future__ import annotations

import click

from ..lang.cells import shown
from ..lang.diagnostics import Diagnostic
from ..lang.formatter import format_source
from ..lang.parser import decode
from .files import STDIN, ProgramFile, conclude, read_programs, replace_file
from .terminal import print_diagnostics


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--check", "only_check", is_flag=True, help="Change nothing; exit 1 if a file is not in canonical layout."
)
@click.option("--diff", is_flag=True, help="Change nothing; print what would be changed, and exit 1 if anything would.")
def fmt(files: tuple[str, ...], only_check: bool, diff: bool) -> int:
    """Format programs in place, in the one canonical layout.

    FILE may be a folder; - formats standard input to standard output.
    """
    status = 0
    programs, unread = read_programs(files)
    for program in programs:
        path = STDIN if program.name == "<stdin>" else program.name
        text, diagnostics = _formatted(program)
        print_diagnostics(diagnostics)
        if text is None:
            status = 1
        elif path == STDIN and not only_check and not diff:
            click.echo(text, nl=False)
        elif text.encode("utf-8") != program.data:
            if diff:
                click.echo(_difference(program, text), nl=False)
            status = max(status, _report(path, program.name, text, only_check) if only_check or not diff else 1)
    conclude(unread)
    return status


def _formatted(program: ProgramFile) -> tuple[str | None, tuple[Diagnostic, ...]]:
    source, wrong = decode(program.data, program.name)
    if wrong:
        return None, tuple(wrong)
    text, diagnostics = format_source(source)
    return text, tuple(diagnostics)


def _difference(program: ProgramFile, text: str) -> str:
    """A unified diff for `patch`; line ends and control characters are escaped for a terminal."""
    from difflib import unified_diff  # few runs need it

    name = shown(program.name)
    before = decode(program.data, program.name)[0].text
    lines = unified_diff(_lines(before), _lines(text), name, f"{name} (formatted)", lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _lines(text: str) -> list[str]:
    *lines, last = map(shown, text.split("\n"))
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _report(path: str, name: str, text: str, only_check: bool) -> int:
    """Report a change and, unless only checking, make it."""
    if only_check:
        click.echo(f"{shown(name)}: not in canonical layout")
        return 1
    replace_file(path, text.encode("utf-8"))
    click.echo(f"{shown(name)}: formatted")
    return 0
