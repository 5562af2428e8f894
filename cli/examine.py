"""Check one program for `rx check`; many programs at once in separate processes.

Modules that few programs need are imported at their use, so that a cached result loads none of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..lang.checked import Demands
from ..lang.choices import choices
from ..lang.files import is_model, is_python
from ..lang.node import replace
from ..lang.pause import collector_spared
from ..lang.recorded import RecordedFiles
from . import cache
from .examined import Examined, OfModel, Wish
from .explanation import explanation, names
from .files import ProgramFile, Unusable

if TYPE_CHECKING:
    from .. import pipeline

# Fewer files than this are checked faster than processes start.
_MANY = 8


def examine_all(programs: Sequence[ProgramFile], wish: Wish) -> Iterator[Examined]:
    """The result of each program, in order, as soon as it is known."""
    kept = [
        None if wish.cache is None or is_model(p.name) or is_python(p.name) else cache.found(p, wish) for p in programs
    ]
    fresh = _examined([program for program, one in zip(programs, kept, strict=True) if one is None], wish)
    for one in kept:
        yield next(fresh) if one is None else one


def _examined(programs: Sequence[ProgramFile], wish: Wish) -> Iterator[Examined]:
    workers = min(os.cpu_count() or 1, len(programs))
    if len(programs) < _MANY or workers < 2:
        yield from (examine(program, wish) for program in programs)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(examine, programs, [wish] * len(programs), chunksize=max(1, len(programs) // workers // 8))


def examine(program: ProgramFile, wish: Wish) -> Examined:
    if is_model(program.name):
        return _told(*_model(program, wish), program, wish)
    if is_python(program.name):
        from .apart import apart  # few programs run the user's code

        return apart(program.name, examine_python, program, wish)
    from .. import pipeline

    files = RecordedFiles(program.base, wish.roots)
    check = collector_spared(pipeline.check_bytes)  # helps create many short-lived objects
    report = check(program.data, program.name, files, options=wish.options)
    found = _told(_with_helps(report, files, wish), None, program, wish)
    if wish.gradients and found.ok and report.checked is not None:
        found = _with_gradients(found, program, wish)
    if wish.cache is not None:
        cache.keep(program, wish, files, found)
    return found


def _with_gradients(found: Examined, program: ProgramFile, wish: Wish) -> Examined:
    """The result, extended by the comparison of the program's gradients."""
    from .. import pipeline
    from ..python.gradient_checks import tried  # it loads NumPy

    source, _ = pipeline.opened(program.data, program.name, program.base)
    made = tried(pipeline.loaded(source, program.base, wish.roots), wish.options, wish.allow_extern)
    wrong = any(d.severity == "error" for d in made.diagnostics)
    lines = (*found.extra, *made.lines)
    return found._replace(diagnostics=(*found.diagnostics, *made.diagnostics), ok=not wrong, extra=lines)


def _told(report: pipeline.Report, of_model: OfModel | None, program: ProgramFile, wish: Wish) -> Examined:
    checked = report.checked
    if checked is None:
        return Examined(report.files, report.diagnostics, None, {}, report.ok, ())
    signed = _signatures(report, program, wish) if wish.signature else ()
    told = explanation(checked, wish.explained) if wish.explained is not None else None
    return Examined(
        report.files,
        report.diagnostics,
        report.counts,
        dict(checked.questions),
        report.ok,
        (*signed, *((told,) if told is not None else ())),
        names(checked) if wish.explained is not None and told is None else None,
        report.unmet,
        tuple(choices(checked.program)) if wish.guards else (),
        of_model,
    )


def _model(program: ProgramFile, wish: Wish) -> tuple[pipeline.Report, OfModel]:
    """A model's report without unproved claims (its contract replaces them), and the other results for a model."""
    from ..model.check import check_model

    try:
        asked = (wish.dynamic, wish.at, wish.run, wish.prelude, wish.profile)
        found = check_model(Path(program.name), program.name, wish.roots, wish.options, *asked)
    except ValueError as wrong:
        raise Unusable(str(wrong)) from None
    told = found.report.diagnostics
    kept = tuple(d for d in told if not d.code.is_unproved) if found.contract is not None else told
    free = not (wish.dynamic or wish.at or wish.profile or wish.options.given)
    promised = found.model.metadata.get("rx.contract") if found.model is not None and free else None
    taken = found.at.sizes if found.at is not None and found.at.failure is None else None
    return replace(found.report, diagnostics=kept), OfModel(
        found.contract, promised, taken, found.fixes, left=found.left
    )


def examine_python(program: ProgramFile, wish: Wish) -> Examined:
    """The result for traced Python code, at its own lines. Call it in a separate process, since it loads torch."""
    try:
        from .known_traces import Known, Traces
        from .traced import answered  # these load torch
    except ModuleNotFoundError as missing:
        raise Unusable(
            f"{program.name!r} is PyTorch code, and {missing.name} is not installed: pip install 'rxlang[torch]'"
        ) from None

    traces = None if wish.cache is None or wish.python.at else Traces(wish.cache)
    try:
        found = answered(program.name, wish.python, program.base, wish.options, *((traces.look_up,) if traces else ()))
    except Known as known:
        return known.examined
    taken = found.at.sizes if found.at is not None and found.at.failure is None else None
    of_model = OfModel(found.found.contract, None, taken, supposed=found.supposed)
    examined = _told(found.found.report, of_model, program, wish)
    if traces is not None:
        traces.keep(examined)
    return examined


def _signatures(report: pipeline.Report, program: ProgramFile, wish: Wish) -> tuple[str, ...]:
    """The signatures in Rx syntax, ready to paste."""
    from ..fixes.signatures import signatures

    found = signatures(report, program.base, wish.roots, wish.options)
    return (*(f"{d}{_remark(d)}" for d in found), *_of_gradients(report))


def _of_gradients(report: pipeline.Report) -> Iterator[str]:
    """The signatures of the file's gradients, which follow from the signatures of their functions."""
    checked = report.checked
    assert checked is not None
    functions = {f.name: f for f in checked.program.functions}
    own = (g for g in checked.program.gradients if g.span.source.name == report.files[0])
    yield from (functions[g.name].signature for g in own)


def _remark(demands: Demands) -> str:
    """A comment on a signature: sets of sizes in words, conditions that are only sufficient, further checks at run time."""
    from ..simplify.solver.fitting import one_set_in_words

    sets = (one_set_in_words(text) for text in demands.where)
    sufficient = () if demands.necessary else ("sufficient: some empty tensors pass without it",)
    more = () if demands.complete else ("and more is checked at run time",)
    remarks = (*filter(None, sets), *sufficient, *more)
    return f"  # {', '.join(remarks)}" if remarks else ""


def _with_helps(report: pipeline.Report, files: RecordedFiles, wish: Wish) -> pipeline.Report:
    if all(d.severity == "note" and d.subject is None for d in report.diagnostics):
        return report
    from ..fixes.ranked import with_helps

    return with_helps(report, files, options=wish.options)
