"""Bodies of modules that occur more than once in a trace, as one function of the program.

Bodies are equal if their lines are, apart from names. Sizes have the same names in the whole program, so that a function's
types agree with the caller's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from ...lang.expressions import grouped
from ...lang.lexer import WORDS
from ...lang.node import Node, replace
from ...ops import registry
from ..onnx.names import RESERVED
from .run import ModuleCall, Step, Trace, several

T = TypeVar("T")
# Shorter bodies stay in line.
_LEAST = 4
# A name of a value: not of a function or an argument, and not in quotes.
_NAME = re.compile(r'"[^"]*"|(?<![@\w])[A-Za-z_]\w*(?!\w|=(?!=))')
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


class ModuleBody(Node):
    """The lines of one call of a module, `first` to `last`, counted from 1: the names from outside in order, the names that
    are read after it, and the `key` of equal bodies."""

    call: ModuleCall
    first: int
    last: int
    free: tuple[str, ...]
    results: tuple[str, ...]
    key: tuple[str, ...]


class SharedBody(Node):
    """Equal bodies; the function is made of the first one."""

    name: str
    bodies: tuple[ModuleBody, ...]


class WantedBody(Node):
    """Conditions that a function assumes beside the earlier facts; if its first body stays in line, its conditions are
    reported there."""

    where: Mapping[str, tuple[str, ...]] = {}
    in_line: frozenset[str] = frozenset()


def functions(trace: Trace) -> tuple[SharedBody, ...]:
    """The bodies that occur more than once, the outermost ones."""
    lines = _Lines(trace)
    taken: set[int] = set()
    names = {line.partition("@")[2].partition(" ")[0] for line in trace.text.splitlines() if not line.startswith(" ")}
    found = []
    for calls in lines.alike():
        groups: dict[tuple[str, ...], list[ModuleBody]] = {}
        for call, first, last in calls:
            body = lines.body(call, first, last) if taken.isdisjoint((first, last)) else None
            if body is not None:
                groups.setdefault(body.key, []).append(body)
        for bodies in groups.values():
            free = [b for b in bodies if taken.isdisjoint((b.first, b.last))]
            if len(free) > 1 and (len(free) - 1) * (free[0].last - free[0].first) > _LEAST:
                taken |= {n for b in free for n in range(b.first, b.last + 1)}
                found.append(SharedBody(_function_name(free[0].call.kind, names), tuple(free)))
    return tuple(found)


def folded(trace: Trace, found: Sequence[SharedBody], wanted: WantedBody) -> Trace:
    """The program with calls of these functions."""
    lines = _Lines(trace)
    made = [_Written(f, lines, wanted.where.get(f.name, ())) for f in found]
    instead: dict[int, tuple[int, str, Step]] = {}
    for one in made:
        for body in one.function.bodies[one.function.name in wanted.in_line :]:
            instead[body.first] = (body.last, one.call(body), one.step(body))
    kept = list(lines.replaced(instead))
    head = next(i for i, (line, _) in enumerate(kept) if line.startswith("@main"))
    kept[head:head] = [pair for one in made for pair in one.lines()]
    steps = {n: step for n, (_, step) in enumerate(kept, 1) if step is not None}
    extra = {new: old for one in made for old, new in one.renamed.items()}
    return replace(
        trace, text="\n".join(line for line, _ in kept) + "\n", steps=steps,
        weights=_with(trace.weights, extra), variables=_with(trace.variables, extra), fixed=_with(trace.fixed, extra),
    )  # fmt: skip


def first_calls(trace: Trace) -> Iterator[tuple[int, str]]:
    """The first call of each function of bodies: its line, and the function's name."""
    seen: set[str] = set()
    for n, line in enumerate(trace.text.splitlines(), 1):
        if n in trace.steps and trace.steps[n].kind == "body":
            name = line.partition(" = ")[2].partition("(")[0]
            if name not in seen:
                seen.add(name)
                yield n, name


def shared(trace: Trace, found: Iterable[SharedBody]) -> Trace:
    """The trace, in which the first bodies stand for the others: their lines have the modules of all."""
    return replace(trace, steps={**trace.steps, **dict(_shared(trace, found))})


def _shared(trace: Trace, found: Iterable[SharedBody]) -> Iterator[tuple[int, Step]]:
    for function in found:
        own = function.bodies[0].call.path
        for n in range(function.bodies[0].first, function.bodies[0].last + 1):
            step = trace.steps[n]
            inner = step.module.removeprefix(own)
            paths = [body.call.path + inner for body in function.bodies]
            yield n, replace(step, module=several(paths))


def _with(found: Mapping[str, T], extra: Mapping[str, str]) -> Mapping[str, T]:
    return {**found, **{new: found[old] for new, old in extra.items() if old in found}}


def _function_name(kind: str, taken: set[str]) -> str:
    legal = "_".join(_WORDS.findall(kind)).lower().strip("_") or "body"
    name, count = legal, 2
    while name in taken or name in RESERVED or registry.lookup(name) is not None or not name[0].isalpha():
        name, count = f"{legal}_{count}" if legal[0].isalpha() else f"body_{legal}", count + 1
    taken.add(name)
    return name


class _Lines:
    """The lines of a trace with the names in them."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.text = trace.text.splitlines()
        bound = {name for line in self.text for name in defined(line)}
        self.sizes = frozenset(trace.hints) | (bound - {*trace.types})

    @cached_property
    def names(self) -> list[list[str]]:
        """The names in each line."""
        return [[n for n in _NAME.findall(line) if n not in WORDS] for line in self.text]

    @cached_property
    def last_read(self) -> dict[str, int]:
        return {name: n for n, names in enumerate(self.names, 1) for name in names}

    def alike(self) -> Iterator[list[tuple[ModuleCall, int, int]]]:
        """The calls of modules with as many lines as others of their kind, grouped by length, the longest first."""
        spans: dict[int, list[int]] = {}
        for n, step in self.trace.steps.items():
            for call in step.calls:
                spans.setdefault(call, [n, n])[1] = n
        made = [(self.trace.calls[call], first, last) for call, (first, last) in spans.items()]
        counts = Counter((call.kind, last - first) for call, first, last in made)
        kept = [one for one in made if one[2] - one[1] + 1 >= _LEAST and counts[one[0].kind, one[2] - one[1]] > 1]
        for length in sorted({last - first for _, first, last in kept}, reverse=True):
            yield [one for one in kept if one[2] - one[1] == length]

    def body(self, call: ModuleCall, first: int, last: int) -> ModuleBody | None:
        own: dict[str, str] = {}
        free: list[str] = []
        key = [call.kind]
        for n in range(first, last + 1):
            bound = set(defined(self.text[n - 1]))
            for name in self.names[n - 1]:
                if name not in own and name in bound:
                    own[name] = f"v{len(own)}"
                elif name not in own and name in self.trace.types:
                    own[name] = f"v{len(own)}"
                    free.append(name)
                    key.append(self.trace.types[name])
            key.append(renamed(self.text[n - 1], own))
        made = [name for name in own if name not in free]
        results = tuple(name for name in made if self.last_read[name] > last)
        types = [self.trace.types.get(name) for name in results]
        if not results or any(t is None or not {*_NAME.findall(t)}.isdisjoint(made) for t in types):
            return None
        return ModuleBody(call, first, last, tuple(free), results, (*key, *(own[r] for r in results), *map(str, types)))

    def replaced(self, instead: Mapping[int, tuple[int, str, Step]]) -> Iterator[tuple[str, Step | None]]:
        n = 1
        while n <= len(self.text):
            last, line, step = instead.get(n, (n, self.text[n - 1], self.trace.steps.get(n)))
            yield line, step
            n = last + 1

    def facts(self, before: int) -> Iterator[str]:
        for n in range(1, before):
            line = self.text[n - 1].strip()
            if line.startswith("assert "):
                yield line.removeprefix("assert ")


def defined(line: str) -> list[str]:
    """The names that a line binds."""
    head, _, _ = line.strip().partition(" = ")
    if not head.startswith("let "):
        return []
    return _NAME.findall(head.removeprefix("let ").partition(" : ")[0])


def renamed(text: str, names: Mapping[str, str]) -> str:
    return _NAME.sub(lambda found: names.get(found[0], found[0]), text)


class _Written:
    """A function as Rx text."""

    def __init__(self, function: SharedBody, lines: _Lines, where: Iterable[str]) -> None:
        self.function, self.trace, self.where = function, lines.trace, where
        self.body = body = function.bodies[0]
        span = range(body.first, body.last + 1)
        self.text = [lines.text[n - 1] for n in span]
        self.steps = [self.trace.steps.get(n) for n in span]
        self.types = [self.trace.types[name] for name in body.free]
        self.results = [self.trace.types[name] for name in body.results]
        named = {*_NAME.findall(" ".join((*self.types, *self.results, *self.text)))}
        own = {name for line in self.text for name in defined(line)}
        self.sizes = sorted((named & lines.sizes) - own)
        self.facts = [f for f in lines.facts(body.first) if {*_NAME.findall(f)} <= {*self.sizes}]
        self.renamed = dict(self._weights(named | lines.sizes))
        bound = {d.strip() for kind in self.types for d in kind.partition("[")[2].partition("]")[0].split(",")}
        self.given = [name for name in self.sizes if name not in bound]

    def _weights(self, used: set[str]) -> Iterator[tuple[str, str]]:
        """The weights, with their names in the module."""
        path = self.body.call.path + "."
        for name in self.body.free:
            own = self.trace.weights.get(name, "")
            short = own.removeprefix(path).replace(".", "_")
            if own.startswith(path) and short.isidentifier() and short not in used and short not in RESERVED:
                used.add(short)
                yield name, short

    def lines(self) -> Iterator[tuple[str, Step | None]]:
        params = [f"{name} : Size" for name in self.given]
        params += [f"{self.renamed.get(n, n)} : {kind}" for n, kind in zip(self.body.free, self.types, strict=True)]
        where = ", ".join(dict.fromkeys((*self.facts, *self.where)))
        result = self.results[0] if len(self.results) == 1 else f"({', '.join(self.results)})"
        head = f"@{self.function.name} = fn({', '.join(params)}) : {result}" + (f" where {where}" if where else "")
        yield f"{head} {{", None
        for text, step in zip(self.text, self.steps, strict=True):
            yield renamed(text, self.renamed), step
        yield f"  {grouped(self.body.results)}", None
        yield "}", None

    def call(self, body: ModuleBody) -> str:
        return f"  let {grouped(body.results)} = @{self.function.name}({', '.join((*self.given, *body.free))})"

    def step(self, body: ModuleBody) -> Step:
        """The step of the module's call, inside the calls around it."""
        calls = self.trace.calls
        outer = tuple(c for c in self.trace.steps[body.first].calls if calls[c] is not body.call)
        outer = outer[: next((n for n, c in enumerate(outer) if calls[c].path.startswith(body.call.path + ".")), None)]
        return Step("body", body.call.kind, body.call.place, body.call.path, (), outer)
