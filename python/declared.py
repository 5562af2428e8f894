"""Read the declaration of a Python function: the text of its signature, and the parameters that may be None."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ..lang import sweet
from ..lang.codes import E101
from ..lang.diagnostics import RxError, error
from ..lang.node import Node, replace
from ..lang.origins import Called
from ..lang.parser import parse
from ..lang.source import Placed, Span
from . import notation, reading
from .libraries import PREFIX
from .notation import UnreadAnnotation
from .places import Derived, Excerpt, Places, Said, Spot, blank, dimensions, file_of, places
from .reading import Item, Maybe, Read, Tensor, TupleParts, Whole

OPTIONAL = 4
"""The most parameters that may be None: each subset of them has an entry check of its own."""


class Unfit(TypeError):
    """Raised for a function that cannot be checked on entry; the message says why."""


class DeclaredFunction(Node):
    """A declared function: `fn` is the declaration, parsed from `source`; `optional` are the parameters that may be None;
    `maybe` is whether the result may. `derived` is set if the text was written from annotations."""

    name: str
    fn: sweet.Fn
    source: Excerpt
    optional: tuple[str, ...] = ()
    maybe: bool = False
    derived: Derived | None = None

    @property
    def params(self) -> tuple[str, ...]:
        return tuple(p.name.name for p in self.fn.params)

    def program(self, absent: frozenset[str] = frozenset()) -> Excerpt:
        """The declaration without the parameters that are None, and without conditions on sizes that only these have."""
        kept = [p for p in self.fn.params if p.name.name not in absent]
        said = {word for p in kept for word in _words(p.span.text)}
        lost = {word for p in self.fn.params if p not in kept for word in _words(p.span.text)} - said
        where = [e for e in self.fn.where if lost.isdisjoint(_words(e.span.text))]
        return self.source.without((*self._dropped(self.fn.params, kept), *self._dropped(self.fn.where, where)))

    def _dropped(self, items: Sequence[Placed], kept: Sequence[Placed]) -> Iterator[Span]:
        """The spans to leave out, commas included; `where` too if no condition remains."""
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
    """A function's name as a valid Rx name."""
    name = re.sub(r"\W", "_", getattr(function, "__name__", type(function).__name__)).strip("_")
    return name if name[:1].isalpha() else f"f{name}"


def declared(function: Callable[..., Any], signature: str | None) -> DeclaredFunction | AnnotationChecks:
    """The declaration from the signature or the annotations; AnnotationChecks if the arguments of each call decide how sizes
    apply. Raises Unfit, and RxError for a syntax error in a signature."""
    params = _parameters(function)
    found = _of_annotations(function, params) if signature is None else _of_text(function, signature)
    if isinstance(found, AnnotationChecks):
        return found
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
            f"@{found.name} has {len(optional)} parameters that may be None, and there are entry checks for {OPTIONAL}"
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
    # For a callable object, examine its `__call__`.
    called = inner if inspect.isclass(inner) else inspect.getattr_static(type(inner), "__call__", None)
    for is_one, why in _KINDS:
        if is_one(inner) or (callable(called) and is_one(called)):
            raise Unfit(f"{getattr(function, '__name__', None) or type(function).__name__} is {why}")
    try:
        found = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        raise Unfit(f"{function!r} has no signature that Python can read: wrap it in a function") from None
    for name in found:
        if name.startswith(PREFIX):
            raise Unfit(f"`{name}` begins as the names of an entry check do: call it something else than {PREFIX}...")
    return found


# A signature in Rx


def _of_text(function: Callable[..., Any], signature: str) -> DeclaredFunction:
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


def parsed(name: str, source: Excerpt) -> DeclaredFunction:
    """Parse a declaration; raises RxError."""
    module, problems = parse(source)
    if any(d.severity == "error" for d in problems):
        source.show()
        raise RxError(*(replace(d, help=d.help or _WRITTEN) for d in problems))
    match module.items:
        case (sweet.FnDecl(fn=sweet.Fn(body=None) as fn, target=None),):
            return DeclaredFunction(name, fn, source)
    start = len(source.text) - len(source.text.lstrip())
    whole = Span(source, start, len(source.text.rstrip()))
    source.show()
    raise RxError(
        error(E101, "this is no signature, like `fn(x : Tensor([n], float32)) : Tensor([n], float32)`", whole)
    )


def _source(function: Callable[..., Any], head: str, signature: str) -> Excerpt:
    """The signature at its place in the user's file, if the file contains this exact text; else a source of its own."""
    place = file_of(function)
    if place is None:
        return Excerpt(f"<signature of {named(function)}>", head + signature, head + signature)
    shown, text, line = place
    below = text.find(signature, sum(map(len, text.splitlines(keepends=True)[: line - 1])))
    at = below if below >= 0 else text.find(signature)
    if at < len(head) or not signature.strip():
        return Excerpt(f"{shown}, the signature of {named(function)}", head + signature, head + signature)
    before, after = text[len(head) : at], text[at + len(signature) :]
    return Excerpt(shown, head + blank(before) + signature + blank(after), text)


# Annotations


class AnnotationChecks(NamedTuple):
    """The conditions in a function's annotations, by parameter (`return` for the result), with the names of sizes and the
    places of the annotations."""

    name: str
    items: dict[str, Item]
    sizes: frozenset[str]
    places: Places

    def is_plain(self, params: Mapping[str, inspect.Parameter]) -> bool:
        """Whether one signature covers all calls."""
        of_any_number = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        maybe = [
            n for n, i in self.items.items() if n in params and (isinstance(i, Maybe) or params[n].default is None)
        ]
        return (
            len(maybe) <= OPTIONAL
            and all(_is_plain(i.inner if isinstance(i, Maybe) else i) for i in self.items.values())
            and not any(params[n].kind in of_any_number for n in self.items if n in params)
        )


def _is_plain(item: Item) -> bool:
    match item:
        case TupleParts(items=items):
            return all(i is not None and _is_plain(i) for i in items)
        case Tensor():
            return item.is_plain
    return isinstance(item, Whole)


def _of_annotations(
    function: Callable[..., Any], params: Mapping[str, inspect.Parameter]
) -> DeclaredFunction | AnnotationChecks:
    name, said = named(function), {n: p.annotation for n, p in params.items()}
    said = {
        n: a for n, a in {**said, "return": inspect.signature(function).return_annotation}.items() if a is not _EMPTY
    }
    names = names_of(function, _around(function))
    found = {n: _read(name, n, a, names) for n, a in said.items()}
    tensors = [t for item in found.values() for t in reading.tensors(item)]
    if not tensors:
        raise Unfit(
            f'@{name} says nothing of arrays: annotate it, like `x: Float32[Array, "b n"]`, or give a signature'
        )
    sizes = frozenset(_words(" ".join(t.shape() for t in tensors)))
    items = {n: i for n, i in found.items() if i is not None and (reading.of_arrays(i) is not None or n in sizes)}
    for both in sizes & params.keys() & {n for n, i in items.items() if reading.of_arrays(i) is not None}:
        raise Unfit(
            f"`{both}` is a parameter of @{name} and a size in its annotations: in a signature a name is one of them"
        )
    asked = AnnotationChecks(name, items, sizes, places(function, name, said))
    return _in_one(asked, params) if asked.is_plain(params) else asked


_EMPTY = inspect.Parameter.empty


def _in_one(asked: AnnotationChecks, params: Mapping[str, inspect.Parameter]) -> DeclaredFunction:
    """The single signature that the annotations make."""
    text = DeclaredText(asked, {*params, *asked.sizes})
    plain = {n: i.inner if isinstance(i, Maybe) else i for n, i in asked.items.items()}
    for n, item in plain.items():
        if n != "return":
            text.param(n, n, item)
    if "return" in plain:
        text.result([plain["return"]])
    optional = tuple(n for n, i in asked.items.items() if isinstance(i, Maybe) and n != "return")
    return text.declared(optional=optional, maybe=isinstance(asked.items.get("return"), Maybe))


class DeclaredText:
    """A signature written part by part from annotations."""

    def __init__(self, asked: AnnotationChecks, taken: set[str]) -> None:
        self.asked, self.taken = asked, taken
        self.text = f"extern @{asked.name} = fn("
        self.spots: list[Spot] = []
        self.where: list[tuple[str, Span]] = []
        self.called: dict[str, Called] = {}
        self.shown: dict[Called, str] = {}
        self.results: tuple[Called, ...] = ()
        self._after: dict[str, int] = {}

    def param(self, name: str, of: str, item: Item, sizes: tuple[int, ...] | None = None) -> None:
        """Write the parameter `name`, which is made from the function's parameter `of`."""
        self.text += ", " * (not self.text.endswith("("))
        start, place = len(self.text), self._place(of)
        self.text += f"{name} : "
        self._type(item, of, sizes)
        self.spots.append(Spot(start, len(self.text), place.whole))

    def result(self, items: Sequence[Item], sizes: Sequence[tuple[int, ...] | None] = (None,)) -> None:
        self.text += ") : " + "(" * (len(items) > 1)
        for i, (item, size) in enumerate(zip(items, sizes, strict=True)):
            self.text += ", " * (i > 0)
            self._type(item, "return", size)
        self.text += ")" * (len(items) > 1)

    def _place(self, of: str) -> Said:
        return self.asked.places.said.get(of) or Said(self.asked.places.head, self.asked.places.head)

    def _type(self, item: Item, of: str, sizes: tuple[int, ...] | None) -> None:
        start, place = len(self.text), self._place(of).annotation
        match item:
            case TupleParts(items=items):
                for i, part in enumerate(items):
                    self.text += "(" if i == 0 else ", "
                    assert part is not None
                    self._type(part, of, sizes)
                self.text += ")"
            case Tensor():
                self._tensor(item, place, of, sizes)
            case _:
                self.text += "Size"
        self.spots.append(Spot(start, len(self.text), place))

    def _tensor(self, item: Tensor, place: Span, of: str, sizes: tuple[int, ...] | None) -> None:
        [kind, *dims] = [*dimensions(place, item.dims, self._after.get(of, 0))] or [place]
        self._after[of] = kind.start + 1 if dims else 0
        self.text += "Tensor("
        start = len(self.text)
        written = (item.rx,) if item.rx else notation.shape(item.dims, sizes)
        self.text += "" if item.rx else "["
        for i, dim in enumerate(written):
            self.text += ", " * (i > 0) + dim
            self.spots += [Spot(len(self.text) - len(dim), len(self.text), dims[i])] if dims else []
        self.text += "" if item.rx else "]"
        self.spots.append(Spot(start, len(self.text), dims[0].to(dims[-1]) if dims else place))
        self.text += f", {item.dtype if notation.is_dtype(item.dtype) else self._named(item.dtype, kind)}"
        self.spots.append(Spot(self.text.rindex(" "), len(self.text), kind))
        self.text += ")"

    def _named(self, choices: str, place: Span) -> str:
        """A name for a dtype of a class; no size of the signature has this name."""
        names = ("d", "e", *(f"d{n}" for n in range(2, 1000)))
        name = next(n for n in names if n not in self.taken)
        self.taken.add(name)
        self.where.append((f"{name} in {choices}", place))
        return name

    def declared(self, **said: Any) -> DeclaredFunction:
        """Parse the text and return the declared function."""
        self.text += "" if ") : " in self.text else ")"
        for i, (condition, place) in enumerate(self.where):
            self.text += ", " if i else " where "
            self.spots.append(Spot(len(self.text), len(self.text) + len(condition), place))
            self.text += condition
        head = self.asked.places.head
        self.spots.append(Spot(0, len(self.text), head))
        found = parsed(self.asked.name, Excerpt(head.source.name, self.text, self.text))
        derived = Derived(tuple(self.spots), tuple(self.called.items()), self.results, tuple(self.shown.items()))
        return replace(found, derived=derived, **said)


def _read(name: str, param: str, annotation: Any, names: Mapping[str, Any]) -> Read:
    try:
        return reading.read(annotation, names)
    except UnreadAnnotation as why:
        what = "the result" if param == "return" else f"`{param}`"
        raise Unfit(f"the annotation of {what} of @{name} cannot be checked: {why}") from None


def names_of(function: Callable[..., Any], around: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """The names that an annotation in a string may use; `around` has the names at the place of decoration."""
    inner = inspect.unwrap(function)
    return {**getattr(inner, "__globals__", {}), **around, **dict(_closure(inner))}


def _around(function: Callable[..., Any]) -> dict[str, Any]:
    """The local names of the functions and classes around a function while it is being decorated."""
    space = getattr(inspect.unwrap(function), "__globals__", None)
    frame, found = inspect.currentframe(), list[Mapping[str, Any]]()
    while frame is not None and (frame.f_globals is space or not found):
        found += [frame.f_locals] if frame.f_globals is space else []
        frame = frame.f_back
    return {name: value for names in reversed(found) for name, value in names.items()}


def _closure(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
    for name, cell in zip(code.co_freevars if code is not None else (), cells, strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not bound yet
            continue
