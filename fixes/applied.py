"""From a program to the same program with its unambiguous fixes, and the reasons why other messages were left."""

from __future__ import annotations

from pathlib import Path

from ..lang import sweet
from ..lang.diagnostics import Diagnostic
from ..lang.files import Files
from ..lang.node import Node
from ..lang.parser import parse
from ..lang.source import Source
from ..lang.walk import walk
from ..ops.requirements import AxisInRange
from ..pipeline import Report, check_source
from ..simplify.known.outcome import Options
from .case import Fix
from .edits import applied
from .ranked import Ranked, ranked

MOST_ROUNDS = 10
# The greatest number of fixes named for one message.
_MOST_NAMED = 3
_OF_SIGNATURE = "only the author can decide the types of a function"


class Applied(Node):
    """A help that was applied: the line of its message in the text before, and what it did."""

    line: int
    text: str


class Left(Node):
    """A remaining error or warning: its line, its code, and why it was not fixed."""

    line: int
    code: str
    reason: str


class Fixed(Node):
    """The result of fixing a program."""

    text: str
    done: tuple[Applied, ...]
    left: tuple[Left, ...]


def fixed(
    source: Source, base: Path, roots: tuple[Path, ...] = (), options: Options | None = None
) -> tuple[str, tuple[Applied, ...]]:
    """Return the text with each help applied that is the only one for its error or warning; and the helps, in order."""
    found = fixed_and_left(source, base, roots, options)
    return found.text, found.done


def fixed_and_left(
    source: Source, base: Path | Files, roots: tuple[Path, ...] = (), options: Options | None = None
) -> Fixed:
    done: list[Applied] = []
    while True:
        report = check_source(source, base, roots, options)
        found = list(ranked(report, base, roots, options))
        ranking = next((o for o in found if not why_left(o, source)), None)
        if ranking is None or len(done) >= MOST_ROUNDS:
            return Fixed(source.text, tuple(done), _left(report, found, source))
        fix, span = ranking.fixes[0], ranking.span
        done.append(Applied(source.position(span.start)[0], fix.text))
        source = Source(source.name, applied(source.text, fix.edits))


def _left(report: Report, found: list[Ranked], source: Source) -> tuple[Left, ...]:
    offered = {id(o.diagnostic): o for o in found}
    return tuple(_left_of(d, offered.get(id(d)), source) for d in report.diagnostics if d.is_wrong)


def _left_of(diagnostic: Diagnostic, ranking: Ranked | None, source: Source) -> Left:
    span = diagnostic.span if ranking is None else ranking.span
    reason = (
        why_left(ranking, source) or "too many changes for one run; run it again"
        if ranking
        else _unasked(diagnostic, source)
    )
    return Left(span.line, diagnostic.code, reason)


def _unasked(diagnostic: Diagnostic, source: Source) -> str:
    return "no fix is known" if diagnostic.span.source.name == source.name else "it is in another file"


def why_left(ranking: Ranked, source: Source) -> str:
    """Return why only the author can apply a fix; empty if it is unambiguous."""
    if not ranking.fixes:
        return "no fix is known"
    fixes = {m.meaning: m for m in ranking.fixes if m.is_of_operation}
    if not fixes:
        kinds = {m.kind for m in ranking.fixes}
        if "dimension" in kinds:
            return _OF_SIGNATURE
        return f"{'an assertion' if kinds == {'assert'} else 'a `where`'} is for the author to write"
    if len(fixes) > 1:
        others = " or ".join(m.text for m in list(fixes.values())[1:_MOST_NAMED])
        return f"{len(fixes)} fixes are possible: the help or {others}"
    (fix,) = fixes.values()
    return _too_bold(ranking, fix, source) or _unsure(ranking, fix)


def _unsure(ranking: Ranked, fix: Fix) -> str:
    if len(ranking.fixes) > 1 and any(not m.is_of_operation for m in ranking.fixes):
        return "a `where` may be meant as well"
    if ranking.cut:
        return "not every possible fix was tried"
    if fix.guess or fix.remote:
        return "the fix is a guess at what was meant"
    if fix.around and _is_of_axis(ranking.diagnostic):
        return "the axis may be wrong"
    if ranking.diagnostic.code.phase == "sizes" and not fix.settles:
        return "the function is not right after the fix"
    return ""


def _is_of_axis(diagnostic: Diagnostic) -> bool:
    """Whether an operand lacks the axis asked for: the axis may be wrong, and adding another hides that."""
    return diagnostic.subject is not None and isinstance(diagnostic.subject.asked, AxisInRange)


def _too_bold(ranking: Ranked, fix: Fix, source: Source) -> str:
    """Return the change that a fix makes and that is up to the author: of a signature, or the removal of an operation."""
    after = Source(source.name, applied(source.text, fix.edits))
    (before, unread), (now, problems) = parse(source), parse(after)
    if unread:  # an unreadable text cannot be compared
        return ""
    if problems:
        return "the fix is not understood"
    if _signatures(before) != _signatures(now):
        return _OF_SIGNATURE
    if _operations(now) < _operations(before) and ranking.diagnostic.code.phase != "names":  # an unknown name is none
        return "only the author can decide to remove an operation"
    return ""


def _signatures(module: sweet.Module) -> list[str]:
    """Return the text of each function up to its body."""
    found = []
    for item in module.items:
        if isinstance(item, sweet.FnDecl):
            end = item.fn.body.span.start if item.fn.body is not None else item.fn.span.end
            found.append(item.span.source.text[item.fn.span.start : end])
    return found


def _operations(module: sweet.Module) -> int:
    return sum(isinstance(n, sweet.Call | sweet.Binary | sweet.Index) for n in walk(module))
