"""The check of a model file: errors, and the contract of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from ..frontends.onnx.dynamic import with_symbols
from ..frontends.onnx.model import Model
from ..frontends.onnx.prelude import Prelude
from ..frontends.onnx.reading import read_model
from ..frontends.onnx.translate import translate
from ..lang.checked import Counts
from ..lang.diagnostics import Diagnostic, RxError
from ..lang.given import Given, read_given
from ..lang.node import Node, replace
from ..lang.source import Source
from ..pipeline import Report, loaded
from ..simplify.known.outcome import Options
from .accepted import with_short_outputs
from .at_sizes import Arrival, arrival, read_sizes
from .contract import Contract, contract_of, known_of
from .false_declarations import false_declarations
from .fixes import ModelFix, fixes
from .longest import longest
from .profiles import profiles
from .results import Changed
from .tried import Tried, tried_as
from .under_demands import joined, with_demands


class CheckedModel(Node):
    """`contract` is None if an error prevents one, `model` if the file cannot be read; `at` is the outcome at the requested
    sizes, `fixes` are changes of the model that were made and checked, `left` has the conditions on a size that have no fix,
    each with the reason."""

    report: Report
    model: Model | None = None
    contract: Contract | None = None
    at: Arrival | None = None
    fixes: tuple[ModelFix, ...] = ()
    left: Mapping[str, str] = {}


def check_model(
    path: Path,
    name: str,
    roots: tuple[Path, ...] = (),
    options: Options | None = None,
    dynamic: Sequence[str] = (),
    at: Sequence[str] = (),
    run: bool = False,
    prelude: Prelude | None = None,
    profile: Sequence[str] = (),
) -> CheckedModel:
    """Check a model with the sizes `dynamic` made free, at the sizes `at` if there are any, and `run` its kernels with the
    witnesses; `prelude` has rules for operators, `profile` the smallest and largest shapes of inputs. Raises ValueError for
    an unknown size or input."""
    options = replace(options or Options(), allow_empty=True, supposing=True)
    if profile:
        free = check_model(path, name, roots, options, dynamic, prelude=prelude)
        if free.contract is None:
            return free
        options = replace(options, given=(*options.given, *map(read_given, profiles(free.contract, profile))))
    check = partial(_tried, name, path.parent, roots, options, prelude)
    try:
        tried = check(with_symbols(read_model(path), dynamic))
    except RxError as problem:
        said = tuple(_at_file(d, name) for d in problem.diagnostics)
        return CheckedModel(Report((name,), said, Counts(), None))
    model, translation, report = tried.model, tried.translation, tried.report
    kept = tuple(d for d in report.diagnostics if not d.code.is_quiet)
    report = replace(report, diagnostics=(*translation.notes, *kept))
    values = known_of(model, translation, report)

    def again(demanded: Given) -> Tried:
        return tried.checked(replace(options, given=(*options.given, demanded)))

    made = contract_of(model, translation, report, values)
    second = None if made is None else with_demands(tried, again)
    if made is None:
        return CheckedModel(report, model)
    given = tuple(_held(report, options.given))
    made = with_short_outputs(replace(_with_demands(tried, second, made, again), given=given))
    report = _with(report, false_declarations(second or tried, None, options.strict))
    changed = Changed(tried, made, check, path.parent, roots)
    fixed = fixes(model, made, values, changed.check, changed.same)
    if run:
        report, made = _with_runs(report, made, path.parent, roots)
    found = None
    if at and report.checked is not None:
        found = arrival(report.checked, made, translation, read_sizes(made, translation, at), given)
        report = _with(report, () if found.failure is None else (found.failure,))
    return CheckedModel(report, model, made, found, fixed.fixes, fixed.left)


def _held(report: Report, given: Sequence[Given]) -> Iterator[str]:
    """The given conditions on sizes that the model has."""
    functions = () if report.checked is None else report.checked.before.functions
    checks = [check.span for f in functions if f.name == "main" for check in f.checks]
    for one in (g for g in given if g.is_for("main")):
        for span, text in zip((c.span for c in one.conditions), one.texts, strict=True):
            if any(at.source is span.source and span.start <= at.start < span.end for at in checks):
                yield text


def _with(report: Report, diagnostics: Iterable[Diagnostic]) -> Report:
    return replace(report, diagnostics=(*report.diagnostics, *diagnostics))


def _with_runs(report: Report, made: Contract, base: Path, roots: tuple[Path, ...]) -> tuple[Report, Contract]:
    """The contract with the kernels' results for its witnesses; unreadable weights are reported."""
    from .witnesses import with_runs  # a mere check loads no NumPy

    if report.checked is None:
        return report, made
    try:
        return report, with_runs(report.checked, made, base, roots)
    except RxError as problem:
        return _with(report, problem.diagnostics), made


def _tried(
    name: str, base: Path, roots: tuple[Path, ...], options: Options, prelude: Prelude | None, model: Model
) -> Tried:
    found = translate(model, prelude=prelude)
    translation = replace(found, source=Source(name, found.source.text, found.source.made))
    return tried_as(model, translation, loaded(translation.source, base, roots), options)


def _with_demands(first: Tried, second: Tried | None, made: Contract, check: Callable[[Given], Tried]) -> Contract:
    """The contract with facts that hold under its conditions, as the second check found them, and with the longest inputs
    that pass the remaining checks."""
    if second is not None:
        made = _joined(made, second)
    more = tuple(longest(first if second is None else second, made, check))
    if not more:
        return made
    made = replace(made, conditions=(*made.conditions, *more))
    third = with_demands(first, check, [c.condition for c in made.conditions])
    return made if third is None else _joined(made, third)


def _joined(made: Contract, tried: Tried) -> Contract:
    """The contract joined with that of the model under its conditions."""
    values = known_of(tried.model, tried.translation, tried.report)
    more = contract_of(tried.model, tried.translation, tried.report, values)
    return made if more is None else joined(made, more)


def _at_file(said: Diagnostic, name: str) -> Diagnostic:
    """Move diagnostics about a model as a whole into its file."""
    if said.span.source.text or said.span.source.name == name:
        return said
    return replace(said, span=said.span._replace(source=Source(name, "")))
