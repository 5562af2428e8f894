"""`rx run`: check a program, then run its script, `@main` or the requested function, and print the results.

Modules that only a run needs are imported at their use, so that a rejected program loads none of them.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import pipeline
from ..interp.core_uses import as_called, reachable
from ..interp.trace import Clock
from ..lang import core, no_rule
from ..lang.cells import shown
from ..lang.checked import Checked
from ..lang.diagnostics import RxError
from ..lang.files import Files, is_model
from ..lang.given import Given
from ..lang.node import replace
from ..lang.summary import plural
from ..simplify.known.outcome import Options
from .files import ProgramFile, Unusable, all_met, conditions, folders, given_option, of_main, read_program, reason
from .terminal import print_diagnostics

if TYPE_CHECKING:
    from ..model.index_checks import IndexChecks

REJECTED, FAILED = 1, 3
MOST_CHANGES = 100


def _kept(name: str, **settings: Any) -> Callable[[Any], Any]:
    """An option that the job reads from the context."""

    def keep(ctx: click.Context, option: click.Parameter, value: str | None) -> None:
        ctx.meta[name] = value

    return click.option(name, expose_value=False, callback=keep, **settings)


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--call", "name", metavar="@F", help="The function to call; otherwise the script or @main.")
@click.option("--arg", "args", multiple=True, metavar="NAME=VALUE", help="An argument; may be repeated.")
@click.option("--out", metavar="DIR", help="Also write each result as a .npy file into this folder.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The seed of random arguments.")
@click.option(
    "--stats", is_flag=True, help="Also print how many checks were proved and ran, and the time per function."
)
@click.option("--stats-json", "stats_file", metavar="FILE", help="Write what --stats prints as JSON into a file.")
@click.option("--log", is_flag=True, help="Print each change of the shapes that functions are called with.")
@given_option
@click.option("--hint", "hints", multiple=True, metavar="COND", help="Sizes to optimise for, like '@f: n = 128'.")
@_kept("--engine", metavar="NAME", help="The engine that computes: numpy, onnxruntime or torch.")
@_kept("--device", metavar="D", help="The device of an engine that has several.")
@click.option("--dps", is_flag=True, help="Allocate memory by shape programs, and compute into it.")
@click.option("--allow-extern", is_flag=True, help="Let extern functions run the Python callables that they name.")
@click.option(
    "--allow-empty", is_flag=True, help="Report code that works only on empty tensors as a warning, not as an error."
)
@click.option(
    "--data-checks/--no-data-checks",
    "data_checks",
    default=True,
    help="Whether a model's indices are checked before it runs.",
)
@click.option(
    "--root", "roots", multiple=True, metavar="DIR", help="A folder besides the program's own to open files in."
)
def run(
    file: str,
    name: str | None,
    args: tuple[str, ...],
    out: str | None,
    seed: int,
    stats: bool,
    stats_file: str | None,
    log: bool,
    given: tuple[str, ...],
    hints: tuple[str, ...],
    dps: bool,
    allow_extern: bool,
    allow_empty: bool,
    data_checks: bool,
    roots: tuple[str, ...],
) -> int:
    """Check a program, then run it.

    FILE is an .rx file, or - for standard input. VALUE is a file (x.npy, x.npz:key, x.safetensors:key, x.onnx:key), a literal
    (3, '[[1, 2], [3, 4]]:int8'), a generated tensor ('float32[2,3]:random', zeros, ones, arange) or a
    tuple of those ('(3; float32[2]:ones)').
    """
    program, places = read_program(file), folders(roots)
    options = Options(allow_empty=allow_empty, given=_given(program.name, given))
    report = pipeline.check_bytes(program.data, program.name, program.base, places, options)
    if not report.ok:
        from ..fixes.ranked import with_helps

        report = with_helps(report, program.base, places, options)
    of_model = is_model(program.name) and report.ok  # its remaining checks are its contract, which `rx check` prints
    print_diagnostics([d for d in report.diagnostics if d.severity != "note" and not (of_model and d.code.is_unproved)])
    if not report.ok or report.checked is None:
        return REJECTED
    all_met(report.unmet)
    fast = _fast(program, places, options, report.checked, conditions(hints, "--hint")) if hints else None
    ranged = of_model and data_checks
    files, watched = Files(program.base, places), stats or stats_file is not None
    job = Job(
        program, report, files, allow_extern, watched, ToldChecks(log), fast, dps, ranged=ranged, stats_file=stats_file
    )
    return job.run(name.removeprefix("@") if name else None, args, out, seed)


def _given(file: str, texts: Sequence[str]) -> tuple[Given, ...]:
    """The given conditions; for a model they apply to its only function."""
    return conditions(tuple(map(of_main, texts)) if is_model(file) else tuple(texts))


def _fast(
    program: ProgramFile, places: tuple[Path, ...], options: Options, checked: Checked, hints: tuple[Given, ...]
) -> Any:
    """The program under each hint; raises Unusable if a hint applies to no function."""

    def recheck(*more: Given) -> pipeline.Report:
        given = replace(options, given=(*options.given, *more))
        return pipeline.check_bytes(program.data, program.name, program.base, places, given)

    report = recheck(*hints)
    all_met(report.unmet, "--hint")
    sources = {id(hint.source) for hint in hints}
    wrong = [d.message for d in report.diagnostics if d.code < "E3" and id(d.span.source) in sources]
    if wrong:
        raise Unusable("\n".join(f"--hint: {message}" for message in wrong))
    return pipeline.hinted(checked, hints, recheck)


class Job:
    """One run of a checked program."""

    def __init__(
        self,
        program: ProgramFile,
        report: pipeline.Report,
        files: Files,
        allow_extern: bool,
        stats: bool,
        told: ToldChecks,
        fast: Any,
        dps: bool,
        *,
        ranged: bool = False,
        stats_file: str | None = None,
    ) -> None:
        assert report.checked is not None
        self.report, self.checked = report, report.checked
        self.core = report.checked.program
        self.files, self.allow_extern, self.stats, self.told = files, allow_extern, stats, told
        self.fast, self.dps, self.ranged, self.stats_file = fast, dps, ranged, stats_file
        kept = click.get_current_context().meta
        self.engine: str = kept.get("--engine") or "numpy"
        self.device: str | None = kept.get("--device")
        self.clock = Clock()
        self.place = program.base / Path(program.name).name
        self.name = shown(program.name)
        self.called = ""

    def run(self, name: str | None, args: Sequence[str], out: str | None, seed: int) -> int:
        function = self._function(name)
        externs = _externs(self.core, function, self.called)
        missing = dict.fromkeys(filter(None, (no_rule.said(f.target) for f in externs)))
        if missing:
            raise Unusable(f"{self.name}: {'; '.join(missing)}")
        if externs and not self.allow_extern:
            names = ", ".join(f"@{f.name}" for f in externs)
            raise Unusable(f"{self.name} runs Python code ({names}): allow it with --allow-extern")
        folder = _folder(out)
        from ..interp.shape_error import ShapeError
        from .values import arguments

        entry_check = self._entry_check()
        values = (
            arguments(function, args, seed, () if entry_check is None else entry_check.names)
            if function is not None
            else None
        )
        if function is None and args:
            raise Unusable(f"{self.name} has a script, which takes no arguments; --call @f calls a function")
        refusal = (
            entry_check.refusal(values) if self.ranged and entry_check is not None and values is not None else None
        )
        if refusal is not None:
            print_diagnostics((refusal,))
            return FAILED
        began = time.perf_counter()
        try:
            watched = self.stats or self.told.log
            machine = pipeline.ready(
                self.checked, self.files, allow_extern=True, instrument=watched, dps=self.dps, fast=self.fast
            )
            run = partial(self._results, machine, function, values)
            run = partial(self.clock.watch, run) if self.stats else run
            results = _with_progress(partial(self.told.listen, run) if watched else run)
        except ShapeError as problem:
            from ..fixes.run_failures import explained

            print_diagnostics((explained(problem.diagnostic, problem.met, self.files.base, self.files.roots),))
            return FAILED
        except KeyboardInterrupt as stop:
            _say_where(stop)
            raise
        except RxError as problem:  # weights that cannot be read, or something that an engine cannot run
            print_diagnostics(problem.diagnostics)
            return REJECTED if self.engine != "numpy" else Unusable.exit_code
        seconds = time.perf_counter() - began
        self._show(results, folder)
        if self.stats:
            self._tell_stats(machine, seconds)
        return 0

    def _entry_check(self) -> IndexChecks | None:
        """The checks of a model's inputs before the run, with the model's names for them; None for other programs."""
        if not is_model(self.place.name):
            return None
        from ..model.index_checks import IndexChecks

        return IndexChecks(self.place)

    def _function(self, name: str | None) -> core.Function | None:
        """The function to call; None for the script."""
        callable_ = {f.name: f for f in self.core.functions if f.kind != "private"}
        callable_ |= {i.name: as_called(self.core, i) for i in self.core.impls}
        if name is None and self.core.main is not None:
            return None
        if name is None and "main" in callable_:
            name = "main"
        if name is None:
            known = ", ".join("@" + n for n in callable_) or "none"
            raise Unusable(f"{self.name} has neither a script nor @main: --call one of its functions ({known})")
        if name == "main" and self.core.main is not None:
            return None
        if name not in callable_:
            known = ", ".join("@" + n for n in callable_) or "no functions"
            raise Unusable(f"{self.name} has no function @{name}; it has {known}")
        self.called = name
        return callable_[name]

    def _results(self, machine: Any, function: core.Function | None, values: Any) -> list[tuple[str, Any]]:
        if function is None:
            if self.engine != "numpy":
                raise Unusable(f"the engine {self.engine} runs functions, and {self.name} has a script: --call one")
            return list(machine.script().items())
        runner = self._runner(machine)
        result = machine.call(self.called, values) if runner is None else runner.call(function, values)
        if isinstance(result, tuple) and not isinstance(function.result, core.BaseSort):
            return [(f"result {i}", part) for i, part in enumerate(result)]
        return [("result", result)]

    def _runner(self, machine: Any) -> Any:
        """The runner that calls the function on another engine; None for NumPy."""
        if self.engine == "numpy":
            return None
        from ..interp.engines.runners import Unavailable, runner  # few runs are on another engine

        try:
            found = runner(self.engine, machine, self.device, self.place if is_model(self.place.name) else None)
        except Unavailable as wrong:
            raise Unusable(str(wrong)) from wrong
        assert found is not None
        found.prepare([self.called])
        return found

    def _show(self, results: Sequence[tuple[str, object]], folder: Path | None) -> None:
        from .values import printed, write_array

        for name, value in results:
            click.echo(printed(name, value))
        for name, value in results if folder is not None else ():
            assert folder is not None
            write_array(folder, name, value)

    def _tell_stats(self, machine: Any, seconds: float) -> None:
        """Print the statistics, or write them to a file."""
        from .step_times import StepTimes

        times = StepTimes(self.clock.steps())
        if self.stats_file is None:
            self._show_stats(machine, seconds)
            for line in times.lines():
                click.echo(shown(line))
            return
        counts = self.report.counts
        found = {
            "proved": counts.proved, "residual": counts.residual, "entry": counts.entry,
            "executed": machine.tally.total, "ms": seconds * 1e3, **times.as_json(),
        }  # fmt: skip
        try:
            Path(self.stats_file).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        except OSError as wrong:
            raise Unusable(f"cannot write {self.stats_file!r}: {reason(wrong)}") from wrong

    def _show_stats(self, machine: Any, seconds: float) -> None:
        counts = self.report.counts
        left = counts.residual + counts.entry
        click.echo(
            f"checks: {counts.proved} proved, {left} left ({counts.residual} inside, {counts.entry} on entry); "
            f"{machine.tally.total} executed"
        )
        click.echo(f"weights: {plural(machine.weights.count, 'array')} read")
        click.echo(f"time: {seconds * 1e3:.2f} ms")
        times: dict[str, tuple[int, int]] = {}
        for name, (calls, spent) in (item for code in machine.codes() for item in code.times.items()):
            before = times.get(name, (0, 0))
            times[name] = before[0] + calls, before[1] + spent
        for name, (calls, spent) in sorted(times.items(), key=lambda item: -item[1][1]):
            if calls:
                click.echo(f"  @{name}: {plural(calls, 'call')}, {spent / 1e6:.2f} ms")
        for name, counts in machine.plan_counts().items():
            click.echo(f"@{name}: compiled {machine.compiled}, plans made {counts.made}, plans used {counts.used}")
        for line in self.told.lines:
            click.echo(f"  {line}")
        if self.told.more:
            click.echo(f"  and {self.told.more} more changes of shapes")


class ToldChecks(logging.Handler):
    """Collects the changes of shapes during a run; with `log`, also prints each at once."""

    def __init__(self, log: bool) -> None:
        super().__init__(logging.INFO)
        self.log = log
        self.lines: list[str] = []
        self.more = 0

    def listen(self, action: Callable[[], list[tuple[str, Any]]]) -> list[tuple[str, Any]]:
        """The result of an action; its changes of shapes are collected."""
        logger = logging.getLogger("rxlang")
        before = logger.level
        logger.addHandler(self)
        logger.setLevel(logging.INFO)
        try:
            return action()
        finally:
            logger.removeHandler(self)
            logger.setLevel(before)

    def emit(self, record: logging.LogRecord) -> None:
        if len(self.lines) < MOST_CHANGES:
            self.lines.append(record.getMessage())
        else:
            self.more += 1
        if self.log:
            click.echo(record.getMessage(), err=True)


def _say_where(stop: KeyboardInterrupt) -> None:
    """Say in which iteration of which loop a run was interrupted."""
    from ..interp.blame import interrupted
    from ..interp.trace import failure

    found = failure(stop)
    where = interrupted(found) if found is not None else ""
    if where:
        click.echo(f"interrupted {where}", err=True)


def _externs(program: core.Program, start: core.Function | None, called: str) -> list[core.Function]:
    """The externs that a run may reach; `called` is the called name, which may be a list of implementations."""
    choices = next((i.choices for i in program.impls if i.name == called), ())
    first = start or program.main
    begin = [f for f in program.functions if f.name in choices] or ([first] if first is not None else [])
    reached = {name for f in begin for name in reachable(program, f)}
    return [f for f in program.functions if f.kind == "extern" and f.name in reached]


def _folder(out: str | None) -> Path | None:
    if out is None:
        return None
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise Unusable(f"cannot write into {out!r}: {reason(wrong)}") from wrong
    return Path(out)


def _with_progress(action: Callable[[], object]) -> Any:
    """Show a progress bar after half a second, on a terminal."""
    if not sys.stderr.isatty():
        return action()
    from .progress import watched

    return watched(action)
