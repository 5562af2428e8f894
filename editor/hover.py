"""The Markdown for a place in a file: the facts about a size or a tensor, a function's signature, the page of a primitive,
the contract of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..lang import sweet
from ..lang.checked import Binding, Explanation, Fact, FunctionShapes
from ..lang.expressions import names_in
from ..lang.files import is_model
from ..lang.listing import remarks, shape_text
from ..lang.source import Span
from ..lang.walk import walk
from ..ops.page import page
from ..ops.registry import lookup as primitive
from .analysis import SliceFacts, related
from .lookup import Lookup, NameMeaning, TextPlace
from .names import Local, Occurrence

# Makes the link to a place in a file.
Link = Callable[[TextPlace], str]


class Hover(NamedTuple):
    """The text to show, and the range it is about."""

    markdown: str
    start: int
    end: int


def hover(facts: SliceFacts, offset: int, link: Link) -> Hover | None:
    """The hover at an offset; None if nothing is known."""
    model = _model(facts, offset)
    if model is not None:
        return model
    lookup = Lookup(facts.program)
    found = lookup.at(offset)
    place = facts.pieces.place(found.span) if found is not None else None
    if found is None or place is None:
        return None
    symbol = lookup.symbol(found)
    text = _of(facts, lookup, found, symbol, link)
    return Hover(text, *place) if text else None


def _of(facts: SliceFacts, lookup: Lookup, found: Occurrence, symbol: NameMeaning | None, link: Link) -> str:
    if symbol is None:
        return ""
    match symbol.kind:
        case "primitive":
            row = primitive(symbol.name)
            return page(row) if row is not None else ""
        case "function" | "type" | "const":
            return _declared(facts, lookup, symbol)
        case "import":
            return _import(lookup, symbol)
    place = facts.pieces.place(found.span)
    verdict = facts.verdict(place[0]) if place is not None else None
    if verdict is None:
        return ""
    best = _nearest(verdict.explained(found.name), found)
    return _explained(facts, best, link) if best is not None else ""


def _nearest(told: tuple[Explanation, ...], found: Occurrence) -> Explanation | None:
    """The explanation of the value bound at the name's definition, if a name has several values."""
    start = found.meaning.start if isinstance(found.meaning, Local) else -1
    return next((e for e in told if e.span.start <= start < e.span.end), told[0] if told else None)


def origins(facts: SliceFacts, offset: int) -> list[TextPlace]:
    """The places where the sizes of a value come from: those of the facts known about it."""
    found = Lookup(facts.program).at(offset)
    verdict = facts.verdict(offset)
    best = _nearest(verdict.explained(found.name), found) if verdict is not None and found is not None else None
    if best is None:
        return []
    places = [related(facts, fact.place) for fact in best.facts]
    return list(
        dict.fromkeys(
            [*(TextPlace(path, *at) for path, at in filter(None, places)), *_sizes(facts, offset, best.known)]
        )
    )


def _sizes(facts: SliceFacts, offset: int, shape: str) -> Iterator[TextPlace]:
    """The places that bind the sizes of a shape."""
    names, piece = names_in(shape), facts.pieces.at(offset)[0]
    for found in Lookup(facts.program).occurrences():
        if found.defines and found.name in names and found.span.source is piece:
            place = facts.pieces.place(found.span)
            yield from (TextPlace(facts.pieces.path, *place),) if place is not None else ()


def _explained(facts: SliceFacts, told: Explanation, link: Link) -> str:
    bound = binding_at(facts, told.name, told.span)
    exact = (remarks(bound) or ("every size is exact",)) if bound is not None and bound.shape else ()
    lines = [*(f"- {text}" for text in exact), *(f"- {_fact(facts, fact, link)}" for fact in told.facts)]
    known = "Size" if told.known == told.name else told.known
    return "\n\n".join(filter(None, (f"```rx\n{told.name} : {known}\n```", "\n".join(lines))))


def _fact(facts: SliceFacts, fact: Fact, link: Link) -> str:
    place = related(facts, fact.place)
    if place is None:
        return f"`{fact.text}`"
    path, (start, end) = place
    line, _ = facts.program.units[facts.program.paths[path]].source.position(start)
    return f"`{fact.text}` ([{path.name}:{line}]({link(TextPlace(path, start, end))}))"


def _declared(facts: SliceFacts, lookup: Lookup, symbol: NameMeaning) -> str:
    item = lookup.declared(symbol)
    if item is None:
        return ""
    end = item.fn.body.span.start if isinstance(item, sweet.FnDecl) and item.fn.body is not None else item.span.end
    text = item.span.source.text[item.span.start : end].strip()
    demanded = (
        demands_of(facts, symbol.name) if symbol.path == facts.pieces.path and symbol.kind == "function" else None
    )
    is_new = demanded is not None and "".join(demanded.split()) != "".join(text.split()).replace(",)", ")")
    derived = f"Derived from the body:\n```rx\n{demanded}\n```" if is_new else ""
    return "\n\n".join(filter(None, (f"```rx\n{text}\n```", derived)))


def demands_of(facts: SliceFacts, name: str) -> str | None:
    """The demands of a function on its inputs, if its signature does not state them."""
    for piece in facts.pieces.by_name.get(name, ()):
        verdict = facts.verdicts.get(piece)
        found = next((d for d in verdict.demands if d.name == f"@{name}"), None) if verdict is not None else None
        if found is not None:
            return str(found)
    return None


def _import(lookup: Lookup, symbol: NameMeaning) -> str:
    at = lookup.defined(symbol)
    if at is None:
        return ""
    unit = lookup.unit(at.path)
    functions = (
        [f"`@{symbol.name}.{i.name.name}`" for i in unit.module.items if isinstance(i, sweet.FnDecl)] if unit else []
    )
    return "\n\n".join((f"`{at.path.name}`", ", ".join(functions)))


# Models


def _model(facts: SliceFacts, offset: int) -> Hover | None:
    """The contract of the model whose file is named at an offset."""
    piece, within = facts.pieces.at(offset)
    for node in walk(*piece.items):
        if isinstance(node, sweet.StrLit) and node.span.start <= within < node.span.end and is_model(node.value):
            path = facts.program.files.base / node.value
            place = facts.pieces.place(node.span)
            text = contract_text(path) if facts.program.files.allows(path.resolve()) and path.is_file() else ""
            return Hover(text, *place) if text and place is not None else None
    return None


def contract_text(path: Path) -> str:
    """The demands of a model on its inputs."""
    from ..model.check import check_model  # few programs name models

    found = check_model(path, str(path))
    if found.contract is None:
        return "\n".join(f"- {d.code}: {d.message}" for d in found.report.diagnostics[:5])
    contract = found.contract
    lines = [f"{v.name} : Tensor({shape_text(v.shape)}, {v.dtype or '?'})" for v in contract.inputs]
    results = [f"{v.name} : Tensor({shape_text(v.shape)}, {v.dtype or '?'})" for v in contract.outputs]
    needs = [f"- `{c.condition}`: {c.demands[0].node if c.demands else 'the model'}" for c in contract.conditions]
    parts = (f"**{path.name}** takes", "```rx\n" + "\n".join(lines) + "\n```", "\n".join(needs))
    return "\n\n".join(filter(None, (*parts, "and gives", "```rx\n" + "\n".join(results) + "\n```")))


# Bindings


def bindings(shapes: tuple[FunctionShapes, ...]) -> Iterator[Binding]:
    for function in shapes:
        yield from (*function.params, *function.bindings)


def binding_at(facts: SliceFacts, name: str, span: Span) -> Binding | None:
    """The binding of a name within a place."""
    place = facts.pieces.place(span)
    verdict = facts.verdict(place[0]) if place is not None else None
    found = [b for b in bindings(verdict.shapes) if b.name == name] if verdict is not None else []
    return next((b for b in found if b.span.start <= span.start < b.span.end and b.span.source is span.source), None)
