"""`rx check`: decides every assertion of the programs it is given and says how that ended."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from .. import pipeline
from ..lang.checked import Checked, Counts
from ..lang.diagnostics import Diagnostic
from ..simplify.judge import Options
from .explanation import explanation
from .files import Program, folders, read_programs
from .terminal import plural, print_diagnostics, summary


class Outcome(NamedTuple):
    """What checking all the programs gave. `counts` is None if no program got so far."""

    names: tuple[str, ...]
    files: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    rejected: int
    counts: Counts | None
    questions: dict[str, int]
    seconds: float


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--strict", is_flag=True, help="A claim that cannot be proved is an error.")
@click.option("--allow-empty", is_flag=True, help="What works only on empty tensors is a warning, no error.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "sarif", "github"]), default="text", show_default=True,
    help="How to print what was found.",
)  # fmt: skip
@click.option("--signature", is_flag=True, help="Print each function's signature with all that it demands.")
@click.option(
    "--explain", "explained", metavar="NAME", help="Print what is known of a size or a binding, fact by fact."
)
@click.option("--stats", is_flag=True, help="Also print who decided how many questions, and the time.")
@click.option(
    "--root", "roots", multiple=True, metavar="DIR", help="A folder besides the program's own to open files in."
)
def check(
    paths: tuple[str, ...],
    strict: bool,
    allow_empty: bool,
    form: str,
    signature: bool,
    explained: str | None,
    stats: bool,
    roots: tuple[str, ...],
) -> int:
    """Decide every assertion of programs, without running them.

    PATH is a file, a folder with .rx files in it, or - for standard input.
    """
    places = folders(roots)
    programs = read_programs(paths)
    options = Options(strict=strict, allow_empty=allow_empty)
    began = time.perf_counter()
    reports = [pipeline.check_bytes(p.data, p.name, p.base, places, options) for p in programs]
    reports = [_with_helps(report, program, places, options) for program, report in zip(programs, reports, strict=True)]
    outcome = _gathered(programs, reports, time.perf_counter() - began)
    _print(outcome, form)
    for report in reports:
        if report.checked is not None and signature:
            _print_signatures(report.checked)
        if report.checked is not None and explained is not None:
            click.echo(explanation(report.checked, explained))
    if stats:
        click.echo(_stats(outcome), err=form in ("json", "sarif"))
    return 1 if outcome.rejected else 0


def _print_signatures(checked: Checked) -> None:
    """In Rx syntax, to be pasted back."""
    for demands in checked.demands:
        click.echo(str(demands) if demands.complete else f"{demands}  # and more, which only the run can tell")


def _with_helps(
    report: pipeline.Report, program: Program, roots: tuple[Path, ...], options: Options
) -> pipeline.Report:
    if all(d.severity == "note" for d in report.diagnostics):
        return report
    from ..helps.offer import with_helps  # a program with nothing wrong does not wait for it

    return with_helps(report, program.base, roots, options)


def _gathered(programs: Sequence[Program], reports: Sequence[pipeline.Report], seconds: float) -> Outcome:
    counted = [report.counts for report in reports if report.checked is not None]
    questions: dict[str, int] = {}
    for report in reports:
        for layer, count in () if report.checked is None else report.checked.questions.items():
            questions[layer] = questions.get(layer, 0) + count
    return Outcome(
        tuple(program.name for program in programs),
        tuple(dict.fromkeys(file for report in reports for file in report.files)),
        _each_once(d for report in reports for d in report.diagnostics),
        sum(not report.ok for report in reports),
        _sum(counted) if counted else None,
        questions,
        seconds,
    )


def _each_once(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """What is wrong in a file is said once, though the file was also imported by another."""
    found: dict[tuple[object, ...], Diagnostic] = {}
    for d in diagnostics:
        found.setdefault((d.code, d.span.source.name, d.span.start, d.span.end, d.message), d)
    return tuple(found.values())


def _sum(counts: Sequence[Counts]) -> Counts:
    fields = ("total", "proved", "refuted", "residual", "entry")
    return Counts(*(sum(getattr(count, field) for count in counts) for field in fields))


def _print(outcome: Outcome, form: str) -> None:
    if form == "text":
        print_diagnostics(outcome.diagnostics)
        click.echo(summary(outcome.names, outcome.rejected, outcome.counts, outcome.diagnostics))
        return
    from .machine import written  # these formats are not loaded for people

    for text in written(form, outcome.files, outcome.diagnostics, outcome.counts or Counts()):
        click.echo(text)
    if form == "github":
        click.echo(summary(outcome.names, outcome.rejected, outcome.counts, outcome.diagnostics))


def _stats(outcome: Outcome) -> str:
    answers = ", ".join(f"{count} {layer}" for layer, count in outcome.questions.items() if count)
    total = plural(sum(outcome.questions.values()), "question")
    solver = f"{total}: {answers}" if answers else total
    return f"solver: {solver}\ntime: {outcome.seconds:.3f} s for {plural(len(outcome.names), 'file')}"
