"""Map a signature that was made from annotations back to the user's text: the places and names of its parts."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from ..lang import core
from ..lang.diagnostics import Diagnostic
from ..lang.node import Node, replace
from ..lang.source import Placed, Source, Span
from ..lang.walk import rewrite
from . import notation, reading

T = TypeVar("T")


class Excerpt(Source):
    """A signature to be parsed, with blanks in place of the text around it and of parts left out; `whole` is the text to
    show."""

    __slots__ = ("whole",)

    def __init__(self, name: str, text: str, whole: str) -> None:
        super().__init__(name, text)
        self.whole = whole

    def without(self, spans: Iterable[Span]) -> Excerpt:
        text = self.text
        for span in spans:
            text = text[: span.start] + blank(span.text) + text[span.end :]
        return Excerpt(self.name, text, self.whole)

    def show(self) -> None:
        """Show the whole text from now on; the offsets are the same."""
        self.text, self._starts = self.whole, None


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


class Spot(NamedTuple):
    """A part of a signature, and the place in the user's text that it stands for."""

    start: int
    end: int
    place: Span


class Said(NamedTuple):
    """The places of a parameter or the result in a function: all of it, and its annotation."""

    whole: Span
    annotation: Span


class Places(NamedTuple):
    """The place of a function's head, and the places of its parameters and its result (`return`)."""

    head: Span
    said: Mapping[str, Said]


def file_of(function: Callable[..., Any]) -> tuple[str, str, int] | None:
    """A function's file as users know it, its text, and the number of its first line, decorators included."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    lines = linecache.getlines(code.co_filename) if code is not None else []
    if code is None or not lines:
        return None
    shown = os.path.relpath(code.co_filename)
    return code.co_filename if shown.startswith(os.pardir) else shown, "".join(lines), code.co_firstlineno


def places(function: Callable[..., Any], name: str, said: Mapping[str, Any]) -> Places:
    """The places in the function's file; without a file, in a line made of its annotations."""
    file = file_of(function)
    found = None if file is None else _definitions(file[1]).get((name_of(function), file[2]))
    if file is None or found is None:
        return _line(name, said)
    source = Source(file[0], file[1])
    args = found.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
    where = {a.arg: Said(_span(source, a), _span(source, a.annotation or a)) for a in every}
    if found.returns is not None:
        where["return"] = Said(*[_span(source, found.returns)] * 2)
    start = _offset(source, found.lineno, found.col_offset)
    end = max((s.whole.end for s in where.values()), default=start)
    return Places(Span(source, start, source.text.index(":", end)), where)


def name_of(function: Callable[..., Any]) -> str:
    return getattr(getattr(inspect.unwrap(function), "__code__", None), "co_name", "")


@lru_cache(maxsize=16)
def _definitions(text: str) -> dict[tuple[str, int], ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a file, by name and first line."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):  # a notebook's cell with magics
        return {}
    found = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {(n.name, min([n.lineno, *(d.lineno for d in n.decorator_list)])): n for n in found}


def _span(source: Source, node: Any) -> Span:
    return Span(
        source, _offset(source, node.lineno, node.col_offset), _offset(source, node.end_lineno, node.end_col_offset)
    )


def _offset(source: Source, line: int, column: int) -> int:
    """The offset in the text; Python counts columns in bytes."""
    return source.line_starts()[line - 1] + len(source.line(line).encode()[:column].decode())


def _line(name: str, said: Mapping[str, Any]) -> Places:
    text, spans = f"def {name}(", dict[str, tuple[int, int, int]]()
    for param, annotation in said.items():
        text += ") -> " if param == "return" else ", " if spans else ""
        start, text = len(text), text + ("" if param == "return" else f"{param}: ")
        spans[param] = start, len(text), len(text) + len(reading.shown(annotation))
        text += reading.shown(annotation)
    source = Source(f"<annotations of {name}>", f"{text}{'' if 'return' in spans else ')'}:")
    where = {p: Said(Span(source, a, c), Span(source, b, c)) for p, (a, b, c) in spans.items()}
    return Places(Span(source, 0, len(source.text)), where)


def dimensions(annotation: Span, dims: str, after: int) -> Iterator[Span]:
    """The place of a tensor's dtype class in an annotation, then those of its dimensions; nothing if the annotation is an
    alias. The search starts at `after`."""
    text = annotation.text
    found = re.compile(rf"""(\w+)\s*\[[^\[\]"']*(?:\[[^\[\]"']*\][^\[\]"']*)*["']+\s*({re.escape(dims)})\s*["']""")
    match = found.search(text, max(after - annotation.start, 0)) or found.search(text)
    if match is not None:
        yield Span(annotation.source, annotation.start + match.start(1), annotation.start + match.end(1))
        at = annotation.start + match.start(2)
        for dim in notation.axes(dims):
            at += annotation.source.text[at:].index(dim)
            yield Span(annotation.source, at, at + len(dim))


class Derived(Node):
    """The user's side of a signature written from annotations: the places of its parts (`spots`), the names of its parameters
    and results, and the annotations in the user's words."""

    spots: tuple[Spot, ...]
    called: tuple[tuple[str, core.Called], ...]
    result: tuple[core.Called, ...]
    shown: tuple[tuple[core.Called, str], ...]

    def moved(self, tree: T, function: core.Function | None = None) -> T:
        """A program of the signature, or a diagnostic about it, in the user's places and words."""
        names = _called(function, dict(self.called), self.result) if function is not None else {}
        plain = _called(function, {}, ()) if function is not None else {}
        subjects = {called: names[name] for name, called in plain.items()}
        shown = dict(self.shown)

        def change(node: Node) -> Node:
            if isinstance(node, core.Called):
                return subjects.get(node, node)
            if isinstance(node, core.Declared) and isinstance(node.annotation, core.Annotation):
                of, annotation = node.subject, node.annotation
                place = Span(Source("", shown[of]), 0, len(shown[of])) if of in shown else annotation.span
                node = replace(node, annotation=replace(annotation, span=place, dims=None))
            elif isinstance(node, core.Assert):
                node = _of_dtype(node, names)
            if isinstance(node, Placed | Diagnostic) and isinstance(node.span.source, Excerpt):
                spot = self._spot(node.span)
                is_dim = isinstance(node, core.Origin) and node.what == "dim" and spot[:2] == node.span[1:]
                node = replace(node, span=spot.place, **{"text": spot.place.text} if is_dim else {})
            return node

        return rewrite(tree, change, frozenset())

    def _spot(self, span: Span) -> Spot:
        inside = [s for s in self.spots if s.start <= span.start and span.end <= s.end]
        return min(inside, key=lambda s: s.end - s.start, default=self.spots[-1])


def _of_dtype(node: core.Assert, names: Mapping[str, core.Called]) -> core.Assert:
    """A condition on a parameter's dtype, presented as that of its annotation."""
    match node.cond:
        case core.InClass(item=core.DTypeOf(tensor=tensor)) if tensor in names:
            declared = node.origin.declared
            if node.origin.what != "where" or declared is None:
                return node
            kind = "param" if names[tensor].of is None else declared.kind
            asked = replace(declared, kind=kind, subject=names[tensor], tensor=tensor)
            return replace(node, origin=replace(node.origin, what="dtype", declared=asked))
        case _:
            return node


def _called(
    function: core.Function, called: Mapping[str, core.Called], result: Sequence[core.Called]
) -> dict[str, core.Called]:
    names = {p.name: called.get(p.name, core.Called(p.name)) for p in function.params}
    given = function.body.result
    out = given.name if isinstance(given, core.Var) else ""
    names[out] = result[0] if len(result) == 1 else core.Called("", core.Called(f"@{function.name}"))
    for stmt in (*function.checks, *function.promises):
        match stmt:
            case core.Let(names=parts, is_tuple=True, value=core.Var(name=whole)):
                for i, part in enumerate(parts):
                    of = names[whole]
                    names[part] = result[i] if whole == out and result else replace(of, items=(*of.items, i))
    return names
