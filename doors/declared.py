"""A Python function and what is said of it to its declaration: the text of its signature, and which parameters may be None."""

from __future__ import annotations

import inspect
import linecache
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..lang import sweet
from ..lang.codes import E101
from ..lang.diagnostics import RxError, error
from ..lang.node import Node, replace
from ..lang.parser import parse
from ..lang.source import Placed, Source, Span
from . import notation
from .libraries import PREFIX
from .notation import Maybe, Parts, Read, Tensor, Unread

OPTIONAL = 4
"""So many parameters may be None: there is a door for each choice of those that are."""


class Unfit(TypeError):
    """What cannot be checked at its door; the message says why."""


class Excerpt(Source):
    """A signature as it is read, with blanks for what stands around it or is left out; where it is shown, all is there."""

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
        """From here on its text is what people see: the offsets are the same."""
        self.text = self.whole
        self._starts = None


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


class Declared(Node):
    """What is said of a function: `fn` is the declaration as it was parsed, from `source`; `optional` are the parameters that
    may be None, `maybe` says that of the result."""

    name: str
    fn: sweet.Fn
    source: Excerpt
    optional: tuple[str, ...] = ()
    maybe: bool = False

    @property
    def params(self) -> tuple[str, ...]:
        return tuple(p.name.name for p in self.fn.params)

    def program(self, absent: frozenset[str] = frozenset()) -> Excerpt:
        """The declaration without the parameters that are None, and the conditions on sizes that only these have."""
        kept = [p for p in self.fn.params if p.name.name not in absent]
        said = {word for p in kept for word in _words(p.span.text)}
        lost = {word for p in self.fn.params if p not in kept for word in _words(p.span.text)} - said
        where = [e for e in self.fn.where if lost.isdisjoint(_words(e.span.text))]
        return self.source.without((*self._dropped(self.fn.params, kept), *self._dropped(self.fn.where, where)))

    def _dropped(self, items: Sequence[Placed], kept: Sequence[Placed]) -> Iterator[Span]:
        """What is left out, with a comma; with the `where` itself where nothing is left behind it."""
        if not items or len(kept) == len(items):
            return
        if not kept:
            start = (
                self.source.text.rfind("where", 0, items[0].span.start)
                if items is self.fn.where
                else items[0].span.start
            )
            yield Span(self.source, start, items[-1].span.end)
            return
        last = kept[-1]
        for item, after in zip(items, items[1:], strict=False):
            if item not in kept:
                end = after.span.start if item.span.start < last.span.start else item.span.end
                yield Span(self.source, item.span.start, end)
        if items[-1] is not last:
            yield Span(self.source, last.span.end, items[-1].span.end)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d][\w']*", text))


def named(function: Callable[..., Any]) -> str:
    """A function's name as Rx takes it."""
    name = re.sub(r"\W", "_", getattr(function, "__name__", type(function).__name__)).strip("_")
    return name if name[:1].isalpha() else f"f{name}"


def declared(function: Callable[..., Any], signature: str | None) -> Declared:
    """Raises Unfit, and RxError for a signature with something wrong in its syntax."""
    params = _parameters(function)
    found = _of_annotations(function, params) if signature is None else _of_text(function, signature)
    known = list(found.params)
    for name in known:
        _usable(name, params, found.name)
    order = [name for name in params if name in known]
    if order != known:
        raise Unfit(
            f"the signature of @{found.name} has its parameters as {_listed(known)}, the function as {_listed(order)}"
        )
    optional = tuple(n for n in known if params[n].default is None or n in found.optional)
    if len(optional) > OPTIONAL:
        raise Unfit(
            f"@{found.name} has {len(optional)} parameters that may be None, and there are doors for {OPTIONAL}"
        )
    return replace(found, optional=optional)


def _usable(name: str, params: Mapping[str, inspect.Parameter], function: str) -> None:
    if name not in params:
        raise Unfit(f"the signature of @{function} speaks of `{name}`, and the function has {_listed(list(params))}")
    if params[name].kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        raise Unfit(f"`{name}` of @{function} is any number of arguments, for which a signature has no words")


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{n}`" for n in names) or "no parameters"


_KINDS: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (inspect.isclass, "a class: decorate its methods"),
    (inspect.isasyncgenfunction, "an asynchronous generator, whose results come one by one"),
    (
        inspect.iscoroutinefunction,
        "a coroutine: its result is there when it is awaited. Decorate the function that it calls",
    ),
    (
        inspect.isgeneratorfunction,
        "a generator, whose results come one by one: decorate the function that makes one of them",
    ),
    (lambda f: isinstance(f, property), "a property: decorate the function below it"),
    (lambda f: not callable(f), "nothing that can be called"),
)


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    inner = inspect.unwrap(function) if callable(function) else function
    # Of an object that is called, what is called.
    called = inner if inspect.isclass(inner) else inspect.getattr_static(type(inner), "__call__", None)
    for is_one, why in _KINDS:
        if is_one(inner) or (callable(called) and is_one(called)):
            raise Unfit(f"{getattr(function, '__name__', None) or type(function).__name__} is {why}")
    try:
        found = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        raise Unfit(f"{function!r} does not say what its parameters are: wrap it in a function") from None
    for name in found:
        if name.startswith(PREFIX):
            raise Unfit(f"`{name}` begins as the names of a door do: call it something else than {PREFIX}...")
    return found


# A signature in Rx


def _of_text(function: Callable[..., Any], signature: str) -> Declared:
    if not isinstance(signature, str):
        raise Unfit(
            f"a signature is text like 'fn(x : Tensor([n], float32)) : Tensor([n], float32)', not {signature!r}"
        )
    name = named(function)
    found = parsed(name, _source(function, f"extern @{name} = ", signature))
    for param in found.fn.params:
        if param.default is not None:
            raise Unfit(f"the default of `{param.name.name}` stands in the Python function, not in its signature")
    return found


_WRITTEN = "a signature is written `fn(x : Tensor([n, m], float32)) : Tensor([n], float32)`"


def parsed(name: str, source: Excerpt) -> Declared:
    """A declaration from its text; raises RxError."""
    module, problems = parse(source)
    if any(d.severity == "error" for d in problems):
        source.show()
        raise RxError(*(replace(d, help=d.help or _WRITTEN) for d in problems))
    match module.items:
        case (sweet.FnDecl(fn=sweet.Fn(body=None) as fn, target=None),):
            return Declared(name, fn, source)
    start = len(source.text) - len(source.text.lstrip())
    whole = Span(source, start, len(source.text.rstrip()))
    source.show()
    raise RxError(
        error(E101, "this is no signature, like `fn(x : Tensor([n], float32)) : Tensor([n], float32)`", whole)
    )


def _source(function: Callable[..., Any], head: str, signature: str) -> Excerpt:
    """The signature in the lines of its file, where it stands there to the letter; else by itself."""
    place = _place(function)
    if place is None:
        return Excerpt(f"<signature of {named(function)}>", head + signature, head + signature)
    shown, text, start = place
    below = text.find(signature, start)
    at = below if below >= 0 else text.find(signature)
    if at < len(head) or not signature.strip():
        return Excerpt(f"{shown}, the signature of {named(function)}", head + signature, head + signature)
    before, after = text[len(head) : at], text[at + len(signature) :]
    return Excerpt(shown, head + blank(before) + signature + blank(after), text)


def _place(function: Callable[..., Any]) -> tuple[str, str, int] | None:
    """A function's file as people call it, its text, and the offset of the first line of the function, decorators included."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    lines = linecache.getlines(code.co_filename) if code is not None else []
    if code is None or not lines:
        return None
    shown = os.path.relpath(code.co_filename)
    shown = code.co_filename if shown.startswith(os.pardir) else shown
    return shown, "".join(lines), sum(map(len, lines[: code.co_firstlineno - 1]))


# Annotations


class _Dtypes:
    """The names of dtypes of a class, which no size of the signature has."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.where: list[str] = []

    def type(self, read: Tensor | Parts) -> str:
        if isinstance(read, Parts):
            return f"({', '.join(map(self.type, read.items))})"
        return f"Tensor({read.shape}, {read.dtype if notation.is_dtype(read.dtype) else self._named(read.dtype)})"

    def _named(self, choices: str) -> str:
        names = ("d", "e", *(f"d{n}" for n in range(2, 1000)))
        name = next(n for n in names if n not in self.taken)
        self.taken.add(name)
        self.where.append(f"{name} in {choices}")
        return name


def _of_annotations(function: Callable[..., Any], params: Mapping[str, inspect.Parameter]) -> Declared:
    name = named(function)
    found = {p: _read(name, f"`{p}`", params[p].annotation, function) for p in params}
    result = _read(name, "the result", inspect.signature(function).return_annotation, function)
    if all(r is None for r in (*found.values(), result)):
        raise Unfit(
            f'@{name} says nothing of arrays: annotate it, like `x: Float32[Array, "b n"]`, or give a signature'
        )
    said = {n: r for n, r in found.items() if r is not None}
    optional = tuple(n for n, r in said.items() if isinstance(r, Maybe))
    plain = {n: r.inner if isinstance(r, Maybe) else r for n, r in said.items()}
    given = result.inner if isinstance(result, Maybe) else result
    sizes = _words(" ".join(_shapes(r) for r in (*plain.values(), given) if r is not None))
    for both in filter(sizes.__contains__, plain):
        raise Unfit(
            f"`{both}` is a parameter of @{name} and a size in its annotations: in a signature a name is one of them"
        )
    dtypes = _Dtypes({*params, *sizes})
    types = ", ".join(f"{n} : {dtypes.type(r)}" for n, r in plain.items())
    text = f"extern @{name} = fn({types}){'' if given is None else f' : {dtypes.type(given)}'}"
    text += f" where {', '.join(dtypes.where)}" if dtypes.where else ""
    place = _place(function)
    shown = f"<signature of {name}>" if place is None else f"{place[0]}, the signature of {name}"
    return replace(parsed(name, Excerpt(shown, text, text)), optional=optional, maybe=isinstance(result, Maybe))


def _shapes(read: Tensor | Parts) -> str:
    return " ".join(map(_shapes, read.items)) if isinstance(read, Parts) else read.shape


def _read(name: str, what: str, annotation: Any, function: Callable[..., Any]) -> Read:
    if annotation is inspect.Parameter.empty:
        return None
    try:
        return notation.read(annotation, _names(function))
    except Unread as why:
        raise Unfit(f"the annotation of {what} of @{name} cannot be checked: {why}") from None


def _names(function: Callable[..., Any]) -> dict[str, Any]:
    """What an annotation in a string may speak of."""
    inner = inspect.unwrap(function)
    return {**getattr(inner, "__globals__", {}), **dict(_closure(inner))}


def _closure(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
    for name, cell in zip(code.co_freevars if code is not None else (), cells, strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not bound yet
            continue
