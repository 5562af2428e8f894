"""Hints in a checked file: inferred shapes, sizes at calls, checks that remain for run time; above functions, the derived
signature and the number of entry checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..lang import core, sweet
from ..lang.checked import Binding
from ..lang.core import Status
from ..lang.listing import type_text
from ..lang.source import Span
from ..lang.walk import walk
from .analysis import PieceVerdict, SliceFacts
from .hover import bindings
from .pieces import EditorPiece

KINDS = ("shapes", "sizes", "checks")
_LONGEST = 36


class InlayHint(NamedTuple):
    """A hint at an offset of the file; `whole` is its text before shortening."""

    offset: int
    text: str
    kind: str
    whole: str


class Lens(NamedTuple):
    """A text above a function, whose name is at these offsets."""

    start: int
    end: int
    text: str


def hints(facts: SliceFacts, start: int, end: int, kinds: frozenset[str] = frozenset(KINDS)) -> list[InlayHint]:
    """The hints between two offsets, of the wanted kinds."""
    made = {"shapes": _shapes, "sizes": _sizes, "checks": _checks}
    found: list[InlayHint] = []
    for piece, at in zip(facts.pieces.pieces, facts.pieces.starts, strict=True):
        verdict = facts.verdicts.get(piece)
        if verdict is not None and at < end and start < at + len(piece.text):
            for kind in sorted(kinds):
                found += [
                    InlayHint(at + place, _cut(text), kind, text) for place, text in made[kind](facts, verdict, piece)
                ]
    return sorted({h for h in found if start <= h.offset <= end})


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _shapes(facts: SliceFacts, verdict: PieceVerdict, piece: EditorPiece) -> Iterator[tuple[int, str]]:
    """The types of names bound by a `let` without an annotation."""
    bound = _bound(verdict, piece)
    for let in walk(*piece.items):
        if isinstance(let, sweet.Let) and let.type is None:
            for name in let.names:
                found = bound.get((name.name, let.span.start))
                text = type_text(found) if found is not None else ""
                if text and "Tensor" in text or text.startswith(("Size =", "Shape =")):
                    yield name.span.end, f" : {text}"


def _bound(verdict: PieceVerdict, piece: EditorPiece) -> dict[tuple[str, int], Binding]:
    return {(b.name, b.span.start): b for b in bindings(verdict.shapes) if b.span.source is piece}


def _sizes(facts: SliceFacts, verdict: PieceVerdict, piece: EditorPiece) -> Iterator[tuple[int, str]]:
    """The values of a callee's sizes at a call, if they differ from the names."""
    for call in walk(*piece.items):
        if isinstance(call, sweet.Call) and isinstance(call.callee, sweet.FnName):
            names = _sizes_at(verdict, piece, call)
            if names:
                yield call.callee.span.end, f"[{', '.join(f'{n} = {size}' for n, size in names.items())}]"


def _sizes_at(verdict: PieceVerdict, piece: EditorPiece, call: sweet.Call) -> dict[str, str]:
    assert isinstance(call.callee, sweet.FnName)
    declared = _declaration(verdict, call.callee.name)
    if declared is None:
        return {}
    found: dict[str, str] = {}
    positions = {p.name: i for i, p in enumerate(declared.params)}
    for position, arg in enumerate(call.args):
        at = position if arg.name is None else positions.get(arg.name.name, len(declared.params))
        given = _given(verdict, piece, arg.value)
        if at < len(declared.params) and given is not None:
            for name, size in _matched(declared.params[at].annotation, given):
                found.setdefault(name, size)
    return {name: size for name, size in found.items() if name != size}


def _declaration(verdict: PieceVerdict, name: str) -> core.Declaration | None:
    """The declaration of a function of the program; an imported function may have another alias in its own program."""
    functions = verdict.checked.program.functions
    return next((f.declaration for f in functions if f.name == name and f.kind != "private"), None)


def _given(verdict: PieceVerdict, piece: EditorPiece, value: sweet.Expr) -> Binding | None:
    """The binding of an argument that is a name: the last one before the call."""
    if not isinstance(value, sweet.Name):
        return None
    there = [b for b in bindings(verdict.shapes) if b.name == value.name and b.span.source is piece]
    before = [b for b in there if b.span.end <= value.span.start]
    return max(before, key=lambda b: b.span.start) if before else None


def _matched(annotation: core.Annotation | None, given: Binding) -> Iterator[tuple[str, str]]:
    dims = annotation.dims if annotation is not None else None
    if dims is not None and given.shape is not None and len(dims) == len(given.shape):
        for dim, size in zip(dims, given.shape, strict=True):
            if isinstance(dim.size, core.SizeVar) and dim.span.text == dim.size.name and size != "?":
                yield dim.size.name, str(size)


def _checks(facts: SliceFacts, verdict: PieceVerdict, piece: EditorPiece) -> Iterator[tuple[int, str]]:
    """The places of checks that remain for run time, except where an error is reported."""
    wrong = [d.span for d in verdict.diagnostics if d.severity == "error"]
    for span in residual(verdict):
        if span.source is piece and not any(span.start < w.end and w.start < span.end for w in wrong):
            yield span.end, " checked when it runs"


def residual(verdict: PieceVerdict) -> set[Span]:
    """The places of the remaining checks."""
    program = verdict.checked.program
    return {span for node in walk(program.functions, program.main or ()) for span in _left(node)}


def _left(node: object) -> Iterator[Span]:
    if isinstance(node, core.Assert | core.MatchShape) and node.status is Status.RESIDUAL:
        yield node.origin.asked or node.origin.span
    elif (
        isinstance(node, core.Call) and node.guard or isinstance(node, core.Stacked) and node.status is Status.RESIDUAL
    ):
        yield node.span


def lenses(facts: SliceFacts) -> list[Lens]:
    """For each function, the derived signature if it says more than the written one, and the number of entry checks."""
    found = []
    for piece, verdict in facts.verdicts.items():
        demands = {d.name[1:]: d for d in verdict.demands}
        checks = {f.name: _on_entry(f) for f in verdict.checked.program.functions if f.kind != "private"}
        for item in piece.items:
            place = facts.pieces.place(item.name.span) if isinstance(item, sweet.FnDecl) else None
            if isinstance(item, sweet.FnDecl) and place is not None:
                told = demands.get(item.name.name)
                signature = (str(told),) if told is not None and _says_more(item, str(told)) else ()
                count = checks.get(item.name.name, 0)
                entry_check = (f"{count} check{'s' * (count != 1)} on entry",) if count else ()
                found += [Lens(*place, text) for text in (*signature, *entry_check)]
    return sorted(found)


def _on_entry(function: core.Function) -> int:
    return sum(isinstance(s, core.Assert | core.MatchShape) for s in function.checks)


def _says_more(item: sweet.FnDecl, demands: str) -> bool:
    end = item.fn.body.span.start if item.fn.body is not None else item.span.end
    return _plain(item.span.source.text[item.span.start : end]) != _plain(demands)


def _plain(text: str) -> str:
    return "".join(text.split()).replace(",)", ")")
