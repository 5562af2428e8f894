"""Complete the text at a place of an unfinished program, and show the signature of the call around it.

The text may be invalid there: the text before the place is read as words, and the last known facts about the file are used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ..lang import sweet
from ..lang.checked import Binding
from ..lang.dtypes import CLASSES, DTYPES
from ..lang.listing import type_text
from ..lang.printer import print_type
from ..ops.dtypes_column import Word, parse_dtypes
from ..ops.model import Primitive
from ..ops.page import call_text, page, parameter_text
from ..ops.registry import lookup as primitive, names as primitive_names
from .analysis import SliceFacts, programs
from .hover import bindings
from .names import SORTS
from .pieces import EditorPiece, Pieces
from .words import KEYWORDS

_BEFORE = re.compile(r"(@?)((?:[^\W\d][\w']*\.)*)([^\W\d][\w']*|)$")
_IMPORT = re.compile(r"^\s*import\s+\"([^\"\n]*)$")
_OPERAND = re.compile(r"[\w']*\(\s*([^\W\d][\w']*)\s*[,)]")
_BOUND = re.compile(
    r"\blet\s+([^\W\d][\w']*)|\blet\s+\(([^)=]*)\)|([^\W\d][\w']*)\s*:\s*(?=[A-Z(])|\bfor\s+([^\W\d][\w']*)"
)
_SHAPES = re.compile(r"\[([^\[\]\n]*)\]")
_WORD = re.compile(r"[^\W\d][\w']*")
_ALONE = re.compile(r"(?<![\w.@'])[^\W\d][\w']*(?![\w.(])")
_BEING_BOUND = re.compile(r"\blet\s[^=\n]*=[^\n]*$")
_TYPE_POSITION = re.compile(r"(?:Tensor\(\s*\[[^\[\]]*\]\s*,\s*|:\s*|!\s*)[\w.]*$")
_SHAPE_POSITION = re.compile(r"\[[^\[\]\n]*$")
ATTRIBUTES = (
    ("rank", "the number of axes"),
    ("shape", "all sizes"),
    ("dtype", "the element type"),
    ("dim", "x.dim(0)"),
)


class CompletionItem(NamedTuple):
    """A completion: `order` sorts, `kind` is function, primitive, variable, size, const, type, dtype, keyword, file or field.
    It replaces the text from `start` on."""

    label: str
    kind: str
    detail: str
    order: str
    start: int


class CallSignature(NamedTuple):
    """The signature of a call: the offsets of each parameter in the label; the index of the parameter at the place; the
    page."""

    label: str
    parameters: tuple[tuple[int, int], ...]
    active: int | None
    page: str


def completions(facts: SliceFacts, offset: int) -> list[CompletionItem]:
    piece, within = facts.pieces.at(offset)
    before = piece.text[:within]
    line = before[before.rfind("\n") + 1 :]
    if line.count('"') % 2 and "import" in line:
        found = _IMPORT.match(line)
        return list(_paths(facts, found[1], offset - len(found[1]))) if found else []
    if "#" in re.sub(r"\"[^\"]*\"", "", line) or line.count('"') % 2:
        return []
    match = _BEFORE.search(before)
    assert match is not None
    at, head, name = match.groups()
    start = offset - len(name)
    if at:
        after = piece.text[within:]
        return list(_functions(facts, head[:-1], start, _operand(_known(facts, piece, within), before, after)))
    if head:
        return list(_members(facts, head[:-1], start))
    return list(_names(facts, _known(facts, piece, within), before, start))


def warm() -> None:
    """Compute the data for every completion in advance."""
    for name in primitive_names():
        _call(name)


# Functions


def _functions(facts: SliceFacts, alias: str, start: int, operand: Binding | None) -> Iterator[CompletionItem]:
    program = facts.program
    if alias and alias != "prelude":
        other = program.units.get(program.links[""].get(alias, "?"))
        yield from _declared(other, "", start) if other is not None else ()
        return
    if not alias:
        yield from _declared(facts.pieces, "", start)
        for link, target in program.links[""].items():
            if target in program.units:
                yield from _declared(program.units[target], f"{link}.", start)
    for name in primitive_names():
        row = _row(name)
        if row is not None:
            yield CompletionItem(name, "primitive", _call(name), f"{'1' if _fits(row, operand) else '3'}{name}", start)


def _declared(unit: Pieces, prefix: str, start: int) -> Iterator[CompletionItem]:
    for piece in unit.pieces:
        for item in piece.items:
            if isinstance(item, sweet.FnDecl) and "private" not in item.prefixes:
                name = f"{prefix}{item.name.name}"
                yield CompletionItem(name, "function", _head(item), f"{'0' if not prefix else '2'}{name}", start)
            elif isinstance(item, sweet.Impls):
                yield CompletionItem(f"{prefix}{item.name.name}", "function", "", f"2{item.name.name}", start)


def _head(item: sweet.FnDecl) -> str:
    end = item.fn.body.span.start if item.fn.body is not None else item.fn.span.end
    return " ".join(item.span.source.text[item.fn.span.start : end].split())


@cache
def _row(name: str) -> Primitive | None:
    return primitive(name)


@cache
def _call(name: str) -> str:
    row = _row(name)
    return call_text(row) if row is not None else ""


@cache
def _word(dtypes: str) -> Word | None:
    """The dtypes that the first operand may have."""
    found = parse_dtypes(dtypes).inputs if dtypes else ()
    return found[0] if found else None


def _fits(row: Primitive, operand: Binding | None) -> bool:
    """Whether a primitive may take a tensor as its first operand, judged by its dtype; primitives that take a list first do
    not fit."""
    if operand is None or not row.params:
        return operand is None
    if operand.sort != "Tensor" or row.params[0].kind != "tensor":
        return False
    word, dtype = _word(row.dtypes), DTYPES.get(operand.dtype)
    return word is None or dtype is None or word.allows(dtype)


def _operand(known: dict[str, Binding], before: str, after: str) -> Binding | None:
    """The first operand if it is already written, else the last tensor bound."""
    written = _OPERAND.match(after)
    if written and written[1] in known:
        return known[written[1]]
    there = [known[name] for name in _bound(before) if name in known and known[name].sort == "Tensor"]
    return there[-1] if there else None


# Names


def _bound(before: str) -> list[str]:
    """The names bound in the text before a place, in order."""
    found = []
    for match in _BOUND.finditer(_BEING_BOUND.sub("", before)):
        found += _WORD.findall(" ".join(filter(None, match.groups())))
    return found


def _known(facts: SliceFacts, piece: EditorPiece, within: int) -> dict[str, Binding]:
    """The last known bindings of the names in a piece, as they are before a place."""
    verdict = facts.verdicts.get(piece)
    found: dict[str, Binding] = {}
    for binding in bindings(verdict.shapes) if verdict is not None else ():
        if binding.span.start < within or binding.name not in found:
            found[binding.name] = binding
    return found


def _names(facts: SliceFacts, known: dict[str, Binding], before: str, start: int) -> Iterator[CompletionItem]:
    in_shape, in_type = _SHAPE_POSITION.search(before), _TYPE_POSITION.search(before)
    sizes = dict.fromkeys(w for dims in _SHAPES.findall(before) for w in _ALONE.findall(dims) if w not in DTYPES)
    bound = dict.fromkeys(_bound(before))
    for name in bound:
        what = known.get(name)
        order = "4" if in_shape and (what is None or what.sort != "Size") else "1"
        yield CompletionItem(name, "variable", type_text(what) if what is not None else "", f"{order}{name}", start)
    for name in sizes:
        if name not in bound:
            yield CompletionItem(name, "size", "Size", f"{'0' if in_shape else '2'}{name}", start)
    yield from _items(facts, start)
    for name in (*sorted(SORTS), *DTYPES):
        yield CompletionItem(
            name, "dtype" if name in DTYPES else "type", "", f"{'0' if in_type and not in_shape else '6'}{name}", start
        )
    if re.search(r"\bin\s+\w*$", before):
        yield from (CompletionItem(name, "dtype", "a class of dtypes", f"0{name}", start) for name in CLASSES)
    yield from (CompletionItem(word, "keyword", "", f"7{word}", start) for word in KEYWORDS)


def _items(facts: SliceFacts, start: int) -> Iterator[CompletionItem]:
    """Consts, types and imports."""
    for piece in facts.pieces.pieces:
        for item in piece.items:
            if isinstance(item, sweet.Const):
                yield CompletionItem(
                    item.name.name, "const", print_type(item.type) if item.type else "", f"3{item.name.name}", start
                )
            elif isinstance(item, sweet.TypeDecl):
                yield CompletionItem(item.name.name, "type", print_type(item.type), f"5{item.name.name}", start)
    yield from (CompletionItem(link, "import", "", f"5{link}", start) for link in facts.program.links[""])


def _members(facts: SliceFacts, head: str, start: int) -> Iterator[CompletionItem]:
    """The members after a dot: consts and types of an import, attributes of a tensor."""
    other = facts.program.units.get(facts.program.links[""].get(head, "?"))
    if other is None:
        yield from (CompletionItem(name, "field", what, f"0{name}", start) for name, what in ATTRIBUTES)
        return
    for piece in other.pieces:
        for item in piece.items:
            if isinstance(item, sweet.Const | sweet.TypeDecl):
                detail = print_type(item.type) if item.type is not None else ""
                kind = "const" if isinstance(item, sweet.Const) else "type"
                yield CompletionItem(item.name.name, kind, detail, f"0{item.name.name}", start)


def _paths(facts: SliceFacts, written: str, start: int) -> Iterator[CompletionItem]:
    """The files that an import may name, as written relative to this file or a root."""
    files = facts.program.files
    for folder in dict.fromkeys((files.base, *files.roots)):
        for path in programs(folder):
            name = path.relative_to(folder).as_posix()
            if path != facts.pieces.path and name.startswith(written):
                yield CompletionItem(name, "file", "", f"0{name}", start)


# The call around


def signature(facts: SliceFacts, offset: int) -> CallSignature | None:
    """The signature of the innermost call that is open at an offset."""
    piece, within = facts.pieces.at(offset)
    opened = _open_call(piece.text[:within])
    if opened is None:
        return None
    name, given = opened
    found = _signature_of(facts, name)
    if found is None:
        return None
    label, parameters, names, text = found
    last = given.rpartition("=")[0].split(",")[-1].strip() if "=" in given.split(",")[-1] else ""
    at = names.index(last) if last in names else _commas(given)
    return CallSignature(label, parameters, at if at < len(names) else None, text)


def _open_call(text: str) -> tuple[str, str] | None:
    """The function of the innermost open call, and the text of its arguments so far."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        character = text[at]
        if character in ")]}":
            depth += 1
        elif character in "([{":
            if depth:
                depth -= 1
                continue
            called = re.search(r"@([\w.']+)\s*$", text[:at]) if character == "(" else None
            if called and text[:at][: called.start()].rstrip().endswith(("fn",)):
                return None
            if called:
                return called[1], text[at + 1 :]
            if character == "{":
                return None
    return None


def _commas(given: str) -> int:
    depth = count = 0
    for character in given:
        depth += (character in "([{") - (character in ")]}")
        count += character == "," and not depth
    return count


def _signature_of(facts: SliceFacts, name: str) -> tuple[str, tuple[tuple[int, int], ...], list[str], str] | None:
    head, _, rest = name.partition(".")
    other = facts.program.units.get(facts.program.links[""].get(head, "?")) if rest else facts.pieces
    unit, bare = (other, rest or name) if other is not None else (facts.pieces, name)
    for piece in unit.by_name.get(bare, ()):
        for item in piece.items:
            if isinstance(item, sweet.FnDecl) and item.name.name == bare:
                params = [" ".join(p.span.text.split()) for p in item.fn.params]
                result = f" : {' '.join(item.fn.result.span.text.split())}" if item.fn.result is not None else ""
                return *_labelled(name, params, result), [p.name.name for p in item.fn.params], ""
    row = primitive(name.removeprefix("prelude."))
    if row is None:
        return None
    return *_labelled(name, list(map(parameter_text, row.params)), ""), [p.name for p in row.params], page(row)


def _labelled(name: str, params: list[str], result: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    label, places = f"@{name}(", []
    for i, param in enumerate(params):
        label += ", " * bool(i)
        places.append((len(label), len(label) + len(param)))
        label += param
    return f"{label}){result}", tuple(places)
