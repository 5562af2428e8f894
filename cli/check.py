"""`rx check`: decide every assertion of the given programs and report the outcome."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ..lang.cells import shown
from ..lang.checked import Counts
from ..lang.choices import Choice
from ..lang.diagnostics import Diagnostic, RxError, likeliest_first
from ..lang.files import is_model, is_python
from ..lang.summary import plural, summary
from ..model.asked import AskedOfPython
from ..simplify.known.outcome import Options
from . import cache as cached
from .examine import examine_all
from .examined import Examined, Wish
from .explanation import unknown
from .files import (
    ProgramFile,
    Unusable,
    all_met,
    conclude,
    conditions,
    folders,
    given_option,
    of_main,
    prelude_option,
    read_programs,
    rules,
)
from .following import followed
from .settings import WithSettings, from_command_line
from .targets import arg_option, init_option
from .terminal import print_diagnostics

if TYPE_CHECKING:
    from ..model.contract import Contract, Supposed


class CheckOutcome(NamedTuple):
    """The outcome of checking all programs. `counts` is None if every program failed before its assertions were checked."""

    names: tuple[str, ...]
    files: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    rejected: int
    counts: Counts | None
    questions: dict[str, int]
    seconds: float
    contracts: dict[str, Contract | None]
    supposed: tuple[Supposed, ...] | None


@click.command(cls=WithSettings)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--strict/--no-strict", help="Report claims that cannot be proved as errors.")
@click.option(
    "--allow-empty/--no-allow-empty", help="Report code that works only on empty tensors as a warning, not as an error."
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "sarif", "github"]), default="text", show_default=True,
    help="The format of the report.",
)  # fmt: skip
@click.option("--signature", is_flag=True, help="Print each function's signature with all its conditions.")
@click.option("--gradients", is_flag=True, help="Compare each gradient with central differences in float64.")
@click.option("--allow-extern", is_flag=True, help="With --gradients: let externs run the Python callables they name.")
@click.option("--explain", "explained", metavar="NAME", help="Print the known facts about a size or a binding.")
@click.option(
    "--fix",
    is_flag=True,
    help="Apply the unambiguous fixes and write the files; say why others are left.",
)
@given_option
@click.option(
    "--guards", is_flag=True, help="Print the conditions that choose plans, branches and implementations, and where."
)
@click.option(
    "--dynamic",
    multiple=True,
    metavar="INPUT.AXIS[=NAME]",
    help="For models: free a declared size, like images.0=b; *.0 is axis 0 of all inputs.",
)
@click.option("--at", multiple=True, metavar="SIZE=N", help="For models: check at a size, like h=40 or images.2=40.")
@click.option(
    "--run-witness", "run", is_flag=True, help="For models: run the kernels with sizes that break each condition."
)
@prelude_option
@click.option(
    "--profile",
    multiple=True,
    metavar="INPUT=MIN:MAX",
    help="For models: say whether all shapes between two are accepted, like x=1x3x32x32:8x3x640x640.",
)
@click.option(
    "--reasons", "reasoned", is_flag=True, help="For models: print all reasons of each condition, and the paths."
)
@click.option(
    "--verbose", is_flag=True, help="For models: print warnings in full, lines of the program, and an exporter's notes."
)
@click.option("--write-contract", "written", metavar="FILE", help="Write the model's contract as JSON.")
@click.option("--expect", "expected", metavar="FILE", help="Compare the model with a contract.")
@init_option
@arg_option
@click.option("--no-cache", is_flag=True, help="Check everything again, also files that have not changed.")
@click.option(
    "--stats", is_flag=True, help="Also print how many questions each part of the solver decided, and the time."
)
@click.option("--watch", "watched", is_flag=True, help="Check again whenever something changes, until interrupted.")
@click.option(
    "--root", "roots", multiple=True, metavar="DIR", help="A folder besides the program's own to open files in."
)
def check(
    paths: tuple[str, ...],
    strict: bool,
    allow_empty: bool,
    form: str,
    signature: bool,
    gradients: bool,
    allow_extern: bool,
    explained: str | None,
    fix: bool,
    given: tuple[str, ...],
    guards: bool,
    dynamic: tuple[str, ...],
    at: tuple[str, ...],
    run: bool,
    prelude: str | None,
    profile: tuple[str, ...],
    reasoned: bool,
    verbose: bool,
    written: str | None,
    expected: str | None,
    init: str | None,
    args: tuple[str, ...],
    no_cache: bool,
    stats: bool,
    watched: bool,
    roots: tuple[str, ...],
) -> int:
    """Decide every assertion of programs, without running them.

    PATH is a file, a folder with .rx and .onnx files in it, or - for standard input. For a model (.onnx) it prints the
    contract: which sizes the inputs may have, and which nodes demand it. It does so for PyTorch code as well, FILE.py:NAME or
    PACKAGE.MODULE:NAME, where NAME is a function, a class of modules, a module, or a function that makes one. Only this form
    imports and runs that code, in a separate process; FILE.py alone runs nothing and lists the names that you can check.

    [tool.rx] in the nearest pyproject.toml may set strict, allow-empty, roots and given; the command line wins.
    """
    places = folders(roots)
    if watched:
        _watchable(paths)
    programs, unread = read_programs(paths, models=True)
    of_models = [program for program in programs if is_model(program.name) or is_python(program.name)]
    _only_models((*dynamic, *at, *profile, written, expected, prelude), (run, reasoned, verbose), programs, of_models)
    _one_model((written, expected, *profile), of_models)
    python = _asked_of_python(programs, init, args, dynamic, at, profile)
    given = tuple(of_main(text) for text in given) if of_models else given
    try:
        own = rules(prelude)
    except RxError as problem:
        print_diagnostics(problem.diagnostics)
        return 1
    options = Options(strict=strict, allow_empty=allow_empty, given=conditions(given))
    more = no_cache or signature or gradients or fix or guards or stats or explained is not None
    of_model = (dynamic, at, run, _kept(more), own, profile, python)
    wish = Wish(places, options, signature, explained, guards, *of_model, gradients, allow_extern)
    if watched:
        return _watched(paths, wish, more)
    if fix:
        programs = _fixed(programs, wish, form)
    began = time.perf_counter()
    found = list(followed(examine_all(programs, wish), len(programs), "checking"))
    if of_models:
        found = _with_contracts([program.name for program in programs], found, form, written, expected)
    outcome = _gathered(programs, found, time.perf_counter() - began)
    if of_models and form == "text":
        _print_contracts([program.name for program in programs], found, reasoned or run, verbose)
    _print(outcome, form, verbose, [guard for one in found for guard in one.guards] if guards else None)
    for line in (*_asked_for(found, explained), *((_stats(outcome),) if stats else ())):
        click.echo(line, err=form in ("json", "sarif"))  # standard output then has one JSON object
    return _concluded(outcome, found, unread, given)


def _concluded(outcome: CheckOutcome, found: Sequence[Examined], unread: list[str], given: tuple[str, ...]) -> int:
    """The exit status; raises Unusable for unreadable files, and for a condition that applies to no function."""
    conclude(unread)
    if from_command_line(click.get_current_context(), "given"):
        all_met(text for text in given if found and all(text in one.unmet for one in found))
    return 2 if any(d.code.is_unread for d in outcome.diagnostics) else 1 if outcome.rejected else 0


def _asked_of_python(
    programs: Sequence[ProgramFile],
    init: str | None,
    args: tuple[str, ...],
    dynamic: tuple[str, ...],
    at: tuple[str, ...],
    profile: tuple[str, ...],
) -> AskedOfPython:
    """The options for Python code; raises Unusable if there is no Python code, or if an option does not apply to it."""
    count = sum(is_python(program.name) for program in programs)
    if not count and (init is not None or args):
        raise Unusable("--init and --arg are for Python code: MODEL.py:NAME or PACKAGE.MODULE:NAME")
    if count > 1 and init is not None:
        raise Unusable("--init takes one piece of Python code")
    asked = click.get_current_context()
    for name, option in _NOT_OF_PYTHON.items():
        if count and from_command_line(asked, name):
            raise Unusable(f"{option} is not for Python code")
    return AskedOfPython(init, args, dynamic, at, profile)


_NOT_OF_PYTHON = {
    "watched": "--watch",
    "run": "--run-witness",
    "prelude": "--prelude",
    "roots": "--root",
    "signature": "--signature",
    "gradients": "--gradients",
    "explained": "--explain",
    "guards": "--guards",
}


def _kept(more: bool) -> Path | None:
    """The cache folder; None if `more` than the usual report is asked for, since that is not cached."""
    return None if more else cached.folder()


def _watchable(paths: tuple[str, ...]) -> None:
    from .watching import refuse_what_is_read_once  # few runs watch

    refuse_what_is_read_once(paths)


def _watched(paths: tuple[str, ...], wish: Wish, more: bool) -> int:
    from .watching import watch  # few runs watch

    if more:
        raise Unusable(
            "--watch goes with none of --no-cache, --signature, --gradients, --explain, --fix, --guards and --stats"
        )
    return watch(click.get_current_context(), paths, wish)


def _with_contracts(
    names: Sequence[str], found: Sequence[Examined], form: str, written: str | None, expected: str | None
) -> list[Examined]:
    """The results with the contracts of models compared, written or added as notes."""
    from .contracts import concluded, with_notes  # few programs are models

    whole = [concluded(one, name, written, expected) for one, name in zip(found, names, strict=True)]
    if form in ("github", "sarif"):
        whole = [with_notes(one, name) for one, name in zip(whole, names, strict=True)]
    return whole


def _print_contracts(names: Sequence[str], found: Sequence[Examined], reasoned: bool, verbose: bool) -> None:
    from .contracts import told  # few programs are models

    told(found, names, reasoned, verbose)


def _only_models(
    texts: Iterable[str | None], flags: Iterable[bool], programs: Sequence[ProgramFile], models: Sequence[ProgramFile]
) -> None:
    is_asked = any(flags) or any(text is not None for text in texts)
    if is_asked and len(models) < len(programs):
        raise Unusable(
            "--dynamic, --at, --profile, --reasons, --verbose, --run-witness, --prelude, --write-contract and --expect are for "
            "models (.onnx)"
        )


def _one_model(asked: Iterable[str | None], models: Sequence[ProgramFile]) -> None:
    if any(text is not None for text in asked) and len(models) > 1:
        raise Unusable("--write-contract, --expect and --profile take one model")


def _asked_for(found: Sequence[Examined], name: str | None) -> Iterator[str]:
    """Signatures and explanations; a name unknown to all programs is reported once."""
    yield from (line for one in found for line in one.extra)
    checked = [one for one in found if one.counts is not None]
    if name is not None and checked and all(one.known is not None for one in checked):
        yield unknown(name, tuple(dict.fromkeys(n for one in checked for n in one.known or ())))


def _fixed(programs: Sequence[ProgramFile], wish: Wish, form: str) -> list[ProgramFile]:
    """Apply helps to the programs and return them; print what was fixed and what was left."""
    from . import fixing  # few runs change anything

    if any(program.name == "<stdin>" for program in programs):
        raise Unusable("--fix writes files, and standard input is none")
    changed = []
    for program in programs:
        if is_model(program.name):
            for line in fixing.fix_model(program, wish):
                click.echo(shown(line), err=form != "text")
            changed.append(program)
            continue
        if is_python(program.name):
            from .fixing_python import fix_python  # the code is checked more than once

            for line in fix_python(program, wish):
                click.echo(shown(line), err=form != "text")
            changed.append(program)
            continue
        after, found = fixing.fix(program, wish)
        changed.append(after)
        for line in fixing.reported(program, found):
            click.echo(line, err=form != "text")
    return changed


def _gathered(programs: Sequence[ProgramFile], found: Sequence[Examined], seconds: float) -> CheckOutcome:
    counted = [one.counts for one in found if one.counts is not None]
    questions: dict[str, int] = {}
    for one in found:
        for layer, count in one.questions.items():
            questions[layer] = questions.get(layer, 0) + count
    return CheckOutcome(
        tuple(program.name for program in programs),
        tuple(dict.fromkeys(file for one in found for file in one.files)),
        _each_once(d for one in found for d in one.diagnostics),
        sum(not one.ok for one in found),
        _sum(counted) if counted else None,
        questions,
        seconds,
        {program.name: one.contract for program, one in zip(programs, found, strict=True)},
        _supposed(found),
    )


def _supposed(found: Sequence[Examined]) -> tuple[Supposed, ...] | None:
    """The operations without a rule in Python code; None if there is no Python code."""
    told = [one.model.supposed for one in found if one.model is not None and one.model.supposed is not None]
    return tuple(s for one in told for s in one) if told else None


def _each_once(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Each diagnostic of a file once, even if other files import it; the one with helps is preferred."""
    found: dict[tuple[object, ...], Diagnostic] = {}
    for d in diagnostics:
        key = (d.code, d.span.source.name, d.span.start, d.span.end, d.message)
        if key not in found or (d.helps and not found[key].helps):
            found[key] = d
    return tuple(found.values())


def _sum(counts: Sequence[Counts]) -> Counts:
    fields = ("total", "proved", "refuted", "residual", "entry", "inner")
    return Counts(*(sum(getattr(count, field) for count in counts) for field in fields))


def _print(outcome: CheckOutcome, form: str, verbose: bool, guards: Sequence[Choice] | None) -> None:
    if form == "text":
        in_short = () if verbose else tuple(name for name, c in outcome.contracts.items() if c is not None)
        told = [
            d for d in outcome.diagnostics
            if d.severity == "error" or d.code.is_gap or d.span.source.name not in in_short
        ]  # fmt: skip
        print_diagnostics(likeliest_first(told), verbose)
    else:
        from .machine import written  # text output does not need these formats

        contracts = {name: c for name, c in outcome.contracts.items() if c is not None}
        said = outcome.files, outcome.diagnostics, outcome.counts or Counts()
        for text in written(form, *said, guards, contracts, outcome.supposed):
            click.echo(text)
    if form in ("text", "github"):
        click.echo(summary(outcome.names, outcome.rejected, outcome.counts, outcome.diagnostics))
    for guard in guards or () if form != "json" else ():
        click.echo(_guard(guard), err=form == "sarif")


def _guard(guard: Choice) -> str:
    return shown(f"{guard.span.source.place(guard.span.start)}: {guard.function}: {guard.chosen} if {guard.condition}")


def _stats(outcome: CheckOutcome) -> str:
    answers = ", ".join(f"{count} {layer}" for layer, count in outcome.questions.items() if count)
    total = plural(sum(outcome.questions.values()), "question")
    solver = f"{total}: {answers}" if answers else total
    return f"solver: {solver}\ntime: {outcome.seconds:.3f} s for {plural(len(outcome.names), 'file')}"
