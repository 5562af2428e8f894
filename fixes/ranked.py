"""From a report to the same report with fixes: each is applied in memory, checked, and shown only if it helps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..lang.diagnostics import Diagnostic, Help, Label, in_order
from ..lang.files import Files, is_model
from ..lang.node import Node, replace
from ..lang.source import Source, Span
from ..pipeline import Report, check_source
from ..simplify.known.outcome import GivenUp, Options
from ..simplify.solver.terms import over
from . import unread
from .case import Fix
from .place import place, told_at
from .tree import TextTree
from .trials import Trials

# The longest text on a line between "= help: " and " (checked)".
_LINE = 81


class Ranked(Node):
    """The working fixes of one diagnostic, the best first, and the place to show it; `cut`: the steps ran out before all were
    tried."""

    diagnostic: Diagnostic
    fixes: tuple[Fix, ...]
    span: Span
    cut: bool = False


def with_helps(
    report: Report, base: Path | Files, roots: tuple[Path, ...] = (), options: Options | None = None
) -> Report:
    """Return the report with a help, and its edits, on each diagnostic with a working fix; the other arguments are those of
    checking. Diagnostics with the same fix are one mistake, which is reported once. A model gets no helps, since its text is
    generated."""
    if is_model(report.files[0]):
        return report
    found = (o for o in ranked(report, base, roots, options) if o.diagnostic.code.phase != "text")
    helped: dict[int, Diagnostic | None] = {}
    for mistake in mistakes(found):
        helped |= dict.fromkeys((id(o.diagnostic) for o in mistake), None)
        helped[id(mistake[0].diagnostic)] = told_once(mistake)
    said = (helped.get(id(d), d) for d in report.diagnostics)
    return replace(report, diagnostics=tuple(in_order([d for d in said if d is not None])))


def mistakes(found: Iterable[Ranked]) -> Iterable[list[Ranked]]:
    """Group the diagnostics by mistake: those with the same best fix, if nothing is wrong with the function after it, and
    rewritten calls that lie inside another one."""
    together: dict[object, list[Ranked]] = {}
    keys: dict[int, object] = {}
    found = sorted(found, key=lambda o: -_breadth(o))
    for ranking in found:
        around = next((o for o in found if _holds(o, ranking)), None)
        if around is not None:
            together[keys[id(around.diagnostic)]].append(ranking)
            continue
        best, own = next(iter(ranking.fixes), None), ranking.diagnostic
        is_settled = best is not None and best.settles and own.is_wrong
        keys[id(own)] = key = (best.edits, own.function) if best and is_settled else id(own)
        together.setdefault(key, []).append(ranking)
    return together.values()


def _breadth(ranking: Ranked) -> int:
    edits = ranking.fixes[0].edits if ranking.fixes and ranking.diagnostic.code.phase == "names" else ()
    return edits[0].span.end - edits[0].span.start if len(edits) == 1 else 0


def _holds(outer: Ranked, inner: Ranked) -> bool:
    """Whether one rewritten call contains the other one."""
    if not 0 < _breadth(inner) < _breadth(outer):
        return False
    ((around,), (inside,)) = outer.fixes[0].edits, inner.fixes[0].edits
    within = around.span.start <= inside.span.start and inside.span.end <= around.span.end
    return around.span.source is inside.span.source and within and inside.text in around.text


def told_once(mistake: Sequence[Ranked]) -> Diagnostic:
    """Return the first diagnostic of a mistake, with the places of the others."""
    said = told(mistake[0])
    shown = {said.span, *(label.span for label in said.labels)}
    others = {o.diagnostic.span: o.diagnostic for o in mistake[1:]}
    more = tuple(Label(d.span, _either(d)) for d in others.values() if d.span not in shown)
    return replace(said, labels=(*said.labels, *more)) if more else said


def _either(diagnostic: Diagnostic) -> str:
    return diagnostic.message if diagnostic.code.phase == "names" else "this does not fit either"


def told(ranking: Ranked) -> Diagnostic:
    """Return the diagnostic with its helps, at the operation to edit."""
    texts = zip(ranking.fixes, _texts(ranking.fixes), strict=True)
    helps = tuple(Help(f"{text} (checked)", () if m.in_words else m.edits) for m, text in texts)
    said = told_at(ranking.diagnostic, ranking.span)
    return replace(said, help=helps[0].text, edits=helps[0].edits, helps=helps) if helps else said


def _texts(fixes: tuple[Fix, ...]) -> Iterator[str]:
    """Yield the text of each fix; if several sizes would do at one place, the first text names them all."""
    if not fixes:
        return
    best = fixes[0]
    legal = sorted(m.legal for m in fixes if m.legal is not None and m.edits[0].span == best.edits[0].span)
    nearest = f"the nearest legal sizes{' ' * bool(best.legal_for)}{best.legal_for} are {' and '.join(map(str, legal))}"
    yield nearest if best.legal and len(legal) > 1 else shortest(best)
    yield from (m.text for m in fixes[1:])


def shortest(fix: Fix) -> str:
    """Return the text of a fix, shortened to the new operand if it does not fit into a line: "move the axes of `x`:
    `@permute_dims(...)`"."""
    operand = fix.edits[0].text if len(fix.edits) == 1 else ""
    is_long = fix.shown and not fix.remains and len(fix.text) > _LINE
    return replace(fix, shown=f"`{operand}`").text if is_long and operand.startswith("@") else fix.text


def ranked(
    report: Report, base: Path | Files, roots: tuple[Path, ...] = (), options: Options | None = None
) -> Iterator[Ranked]:
    """Yield the working fixes of each error and warning in the program's own file, and of notes with a subject. An unreadable
    text gets only fixes of its syntax."""
    asking = [d for d in report.diagnostics if d.is_wrong or d.subject is not None]
    wrong = [d for d in asking if d.span.source.name == report.files[0]]
    if not wrong:
        return
    tree = TextTree(wrong[0].span.source, _imported(report, wrong[0].span.source))
    if tree.broken:
        of_text = [d for d in wrong if d.code.phase == "text"]
        yield from (Ranked(d, tuple(unread.fixes(d, of_text)), d.span) for d in of_text[: unread.MOST])
        return

    asked = options or Options()
    stopped = asked.stopped or (lambda: False)

    def recheck(part: Source, believed: frozenset[str]) -> Report | None:
        until = replace(asked, believed=believed, stopped=lambda: over() or stopped())
        try:
            return check_source(part, base, roots, until)
        except GivenUp:
            if stopped():
                raise
            return None

    trials = Trials(report, recheck, tree)
    for diagnostic in sorted(
        wrong, key=lambda d: d.severity != "error"
    ):  # unproved claims get the steps that errors leave
        found = trials.fixes(diagnostic, tree)
        yield Ranked(diagnostic, found, place(diagnostic, found, tree), trials.cut)


def _imported(report: Report, own: Source) -> dict[str, Source]:
    """Return the files of the program's other functions."""
    functions = report.checked.program.functions if report.checked is not None else ()
    return {f.name: f.span.source for f in functions if f.span.source is not own}
