"""What is wrong in Python code, and what is so beside it: the program is checked again as if its wrong lines were right."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from ..frontends.torch.run import Trace
from ..lang.diagnostics import Diagnostic
from ..lang.expressions import names_in
from ..lang.node import Node, replace
from ..lang.source import Span
from ..pipeline import Report
from .told import Told, causes, using
from .verdicts import Verdicts

# So often what was told is taken for right.
_MOST_ROUNDS = 4

Check = Callable[[Told], Report]


class _Errors(Node):
    """What is wrong by itself, what is only together with something below; their lines in the program, and where all is."""

    surely: tuple[Diagnostic, ...]
    together: tuple[Diagnostic, ...]
    lines: tuple[int, ...]
    doubtful: tuple[int, ...]
    places: frozenset[tuple[str, int]]


def wrong(told: Told, report: Report, check: Check) -> Iterator[Diagnostic]:
    """What checking says of a run; where something is wrong, also what is wrong in lines that do not use what that gives."""
    own = [d for d in report.diagnostics if not d.code.is_quiet and not d.code.is_doubt]
    yield from (told.of(d) for d in own if d.severity != "error")
    if report.ok:
        return
    first = _errors(told, report, check)
    after = (told.step(n) for n in using(told.trace, {*first.lines, *first.doubtful}))
    before = {*map(_line, first.surely), *(_line_of(told.span(s.place)) for s in after if s is not None)}
    more = {_line(d): d for d in _more(first, told, check) if _line(d) not in before}
    yield from (*first.surely, *more.values()) or first.together


def _more(first: _Errors, told: Told, check: Check) -> Iterator[Diagnostic]:
    """What is wrong whatever sizes the wrong lines give."""
    lines, unknown = {*first.lines, *first.doubtful}, set(first.lines)
    for _ in range(_MOST_ROUNDS):
        sized = _as_if_right(told.trace, lines)
        any_ = _as_if_right(told.trace, {*unknown, *first.doubtful}, unknown)
        if sized is None or any_ is None:
            return
        others = [Told(told.name, run, told.folder) for run in (sized, any_)]
        found, whatever = (_errors(one, check(one), check) for one in others)
        new = [d for d in found.surely if _line(d) in whatever.places]
        yield from new
        if lines.issuperset((*found.lines, *found.doubtful)):
            return
        lines.update(found.lines, found.doubtful)
        unknown.update(n for n in found.lines if _line_of(told.span(told.trace.steps[n].place)) in map(_line, new))


def _errors(told: Told, report: Report, check: Check) -> _Errors:
    if report.ok and report.checked is not None:
        verdicts = Verdicts(told)
        said = tuple(d for d in verdicts.of(report.checked, strict=False) if d.severity == "error")
        return _Errors(said, (), tuple(verdicts.wrong), (), frozenset(map(_line, said)))
    before, wrong = _before(told, report, check)
    errors = causes(told.trace, [d for d in report.diagnostics if d.severity == "error"], wrong)
    surely = [d for d in errors if all(label.span.line <= d.span.line for label in d.labels)]
    together = [d for d in errors if d not in surely]
    said = (*before, *map(told.of, surely))
    steps = [told.step(label.span.line) for d in together for label in d.labels]
    below = (_line_of(told.span(s.place)) for s in steps if s is not None)
    lines, doubtful = ([d.span.line for d in of if told.step(d.span.line)] for of in (surely, together))
    places = frozenset((*map(_line, said), *below))
    return _Errors(said, tuple(map(told.of, together)), (*wrong, *lines), tuple(doubtful), places)


def _line(said: Diagnostic) -> tuple[str, int]:
    return _line_of(said.span)


def _line_of(span: Span) -> tuple[str, int]:
    return span.source.name, span.line


def _before(told: Told, report: Report, check: Check) -> tuple[list[Diagnostic], list[int]]:
    """What is wrong in the lines of the program before the first one that never works, and these lines."""
    run = told.trace
    lines = [d.span.line for d in report.diagnostics if d.severity == "error" and d.span.line in run.steps]
    if not lines or not run.inputs:
        return [], []
    end = min(lines) - 1
    steps = {n: step for n, step in run.steps.items() if n <= end}
    whole = run.text.splitlines()
    text = "\n".join([*whole[:end], f"  {run.inputs[0].name}", *whole[whole.index("}", end) :]]) + "\n"
    verdicts = Verdicts(Told(told.name, replace(run, text=text, steps=steps), told.folder))
    before = check(verdicts.told)
    said = verdicts.of(before.checked, strict=False) if before.ok and before.checked is not None else ()
    return [d for d in said if d.severity == "error"], verdicts.wrong


def _as_if_right(run: Trace, wrong: Iterable[int], unknown: Collection[int] = ()) -> Trace | None:
    """A run whose wrong lines give what they should, those `unknown` of any sizes. None where no line is known so well."""
    lines, externs = run.text.splitlines(), list[str]()
    for number in wrong:
        line = lines[number - 1]
        name = line.partition(" = ")[0].strip().removeprefix("let ")
        if line.strip().startswith("assert "):
            lines[number - 1] = "  assert 0 == 0"
        elif name in run.types:
            dims, _, dtype = run.types[name].removeprefix("Tensor([").rpartition("]")
            ranks = ", ".join("?" for _ in range(_count(dims)))
            externs.append(f'extern @right_{number} = fn() : Tensor([{ranks}]{dtype} = "python:right"')
            is_known = number not in unknown and set(names_in(dims)) <= set(run.hints)
            kind = f" : {run.types[name]}" if is_known else ""
            lines[number - 1] = f"  let {name}{kind} = @right_{number}()"
    text = "\n".join((*lines, *externs)) + "\n"
    return None if text == run.text else replace(run, text=text)


def _count(dims: str) -> int:
    """How many sizes there are in a type, at whose commas no bracket is open."""
    open_ = [dims[:n].count("(") - dims[:n].count(")") for n, letter in enumerate(dims) if letter == ","]
    return open_.count(0) + bool(dims.strip())
