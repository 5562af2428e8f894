"""Witnesses replayed: arguments of the sizes that a diagnostic names, a run of its function with every check, and its end.

What a witness leaves open (the elements of tensors, sizes that it does not name, what externs and functions that are given
give back) is drawn, many times: a witness is right if one of the runs fails at the check that it is about.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rxlang import pipeline
from rxlang.interp.arguments import convert
from rxlang.interp.compile import Options
from rxlang.interp.names import mangle
from rxlang.interp.run import Machine
from rxlang.interp.shape_error import ShapeError
from rxlang.lang import core
from rxlang.lang.checked import Checked
from rxlang.lang.diagnostics import Diagnostic, RxError
from rxlang.lang.files import Files
from rxlang.lang.node import replace
from rxlang.lang.source import Span
from rxlang.simplify.on_shapes import ArgumentShape

from . import all_sizes

ATTEMPTS = 300
# Sizes that are free, in the order in which they are tried alone.
FREE = (1, 2, 3, 0, 4, 5, 6)
DTYPES = ("float32", "int64", "bool", "int8", "float16", "int32", "uint8")
# More elements than this are not allocated: the function is then called with shapes alone.
MOST = 2_000_000
_PLAIN = {"Size", "Shape", "DType", "Bool", "Tensor", *DTYPES, "int16", "float64", "uint16", "uint32", "uint64"}


class TooBig(Exception):
    """A tensor that cannot be allocated."""


class Type(NamedTuple):
    """A type as it is written: kind is tensor, tuple, fn or name."""

    kind: str
    shape: str = "?"
    dtype: str = "?"
    items: tuple[Type, ...] = ()


def split(text: str) -> list[str]:
    """The parts of a list between commas that stand in no brackets."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    last = text[begin:].strip()
    return [*parts, last] if last else parts


def closing(text: str) -> int:
    """Where the bracket that the text begins with is closed."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return i
    raise ValueError(text)


def parse(text: str, aliases: Mapping[str, str]) -> Type:
    text = " ".join(text.split())
    if text in aliases:
        return parse(aliases[text], {k: v for k, v in aliases.items() if k != text})
    name, _, given = text.partition("(")
    pattern = next((a for a in aliases if name and a.startswith(f"{name}(")), None)
    if pattern is not None:
        put_in = dict(zip(split(pattern[len(name) + 1 : -1]), split(given[:-1]), strict=True))
        body = re.sub(r"\w+", lambda word: put_in.get(word[0], word[0]), aliases[pattern])
        return parse(body, {k: v for k, v in aliases.items() if k != pattern})
    if text.startswith("Tensor("):
        shape, dtype = [*split(text[7:-1]), "?"][:2]
        return Type("tensor", shape, dtype)
    if text == "Tensor":
        return Type("tensor")
    if text.startswith("fn("):
        end = 2 + closing(text[2:])
        result = text[end + 1 :].lstrip(" :") or "Tensor"
        return Type("fn", items=(*(parse(t, aliases) for t in split(text[3:end])), parse(result, aliases)))
    if text.startswith("("):
        return Type("tuple", items=tuple(parse(t, aliases) for t in split(text[1:-1])))
    if text in _PLAIN and text not in ("Size", "Shape", "DType", "Bool", "Tensor"):
        return Type("tensor", "[]", text)
    return Type("name", text)


class Draw:
    """One choice of all that a witness leaves open; the sizes that it names are fixed."""

    def __init__(self, attempt: int, fixed: Mapping[str, int]) -> None:
        self.attempt = attempt
        self.random = random.Random(attempt)
        self.sizes = dict(fixed)
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.dtypes: dict[str, str] = {}

    def a_size(self) -> int:
        if self.attempt < len(FREE):
            return FREE[self.attempt]
        if self.sizes and self.random.random() < 0.3:
            return max(0, self.random.choice(list(self.sizes.values())))
        return self.random.choice(FREE) if self.random.random() < 0.7 else self.random.randrange(13)

    def size(self, text: str) -> int:
        """A dimension as it is written; a name that is not fixed is drawn."""
        for name in all_sizes.names_in(text):
            if name not in self.sizes:
                self.sizes[name] = self.a_size()
        return int(all_sizes.value(text, self.sizes))

    def stretch(self, name: str) -> tuple[int, ...]:
        """The dimensions that `*s` stands for; each `...` is its own."""
        if name and name in self.shapes:
            return self.shapes[name]
        found = tuple(self.a_size() for _ in range(self.random.randint(0, 3)))
        if name:
            self.shapes[name] = found
        return found

    def shape(self, text: str) -> tuple[int, ...]:
        if text in ("?", "..."):
            return self.stretch("")
        if not text.startswith("["):
            return self.stretch(text)
        found: list[int] = []
        for dim in split(text[1:-1]):
            if dim == "?":
                found.append(self.a_size())
            elif dim == "..." or dim.startswith("*"):
                found += self.stretch(dim.removeprefix("*").replace("...", ""))
            else:
                found.append(self.size(dim))
        return tuple(found)

    def dtype(self, text: str) -> str:
        if text in _PLAIN:
            return text
        if text == "?" or not text.isidentifier():
            return self.random.choice(DTYPES) if self.attempt % 2 else "float32"
        if text not in self.dtypes:
            self.dtypes[text] = self.random.choice(DTYPES) if self.attempt % 2 else "float32"
        return self.dtypes[text]

    def elements(self, shape: tuple[int, ...], dtype: str) -> Any:
        if min(shape, default=0) < 0:
            raise ValueError(f"no tensor has the shape {shape}")
        number = int(np.prod(shape, dtype=object)) if shape else 1
        if number > MOST:
            raise TooBig
        rng = np.random.default_rng(self.attempt)
        kinds: list[Callable[[], Any]] = [
            lambda: np.zeros(number), lambda: np.ones(number), lambda: rng.integers(0, 4, number),
            lambda: np.arange(number), lambda: rng.integers(-3, 9, number),
        ]  # fmt: skip
        kind = self.attempt % 2 if self.attempt < 8 else self.random.randrange(len(kinds))
        return kinds[kind]().astype(dtype).reshape(shape)

    def value(self, wanted: Type, name: str = "") -> Any:
        match wanted.kind:
            case "tensor":
                return self.elements(self.shape(wanted.shape), self.dtype(wanted.dtype))
            case "tuple":
                return tuple(self.value(t) for t in wanted.items)
            case "fn":
                return lambda *args: self.given_back(wanted.items[:-1], wanted.items[-1], args)
        match wanted.shape:
            case "Size":
                return self.size(name) if name else self.a_size()
            case "Shape":
                return self.stretch(name)
            case "DType":
                return self.dtype(name or "?")
            case "Bool":
                return self.random.random() < 0.5
        raise ValueError(f"no value of the type {wanted.shape}")

    def given_back(self, params: tuple[Type, ...], result: Type, args: tuple[Any, ...]) -> Any:
        """What a function that is not the program's gives back for arguments: a result as it is declared."""
        inner = Draw(self.attempt, {})
        for type_, arg in zip(params, args, strict=False):
            inner.learn(type_, arg)
        return inner.value(result)

    def learn(self, wanted: Type, arg: Any) -> None:
        """The names of a type from an argument that has it."""
        if wanted.kind == "tuple":
            for t, a in zip(wanted.items, arg, strict=False):
                self.learn(t, a)
        if wanted.kind != "tensor":
            return
        self.dtypes.setdefault(wanted.dtype, str(arg.dtype))
        if not wanted.shape.startswith("["):
            self.shapes.setdefault(wanted.shape, arg.shape)
            return
        dims = split(wanted.shape[1:-1])
        at = next((i for i, d in enumerate(dims) if d.startswith(("*", "..."))), len(dims))
        behind = len(dims) - at - 1
        if at < len(dims):
            self.shapes.setdefault(dims[at].removeprefix("*"), arg.shape[at : arg.ndim - behind])
        for i, dim in enumerate(dims):
            if i != at:
                self._learn_size(dim, arg.shape[i if i < at else i - len(dims)])

    def _learn_size(self, dim: str, size: int) -> None:
        names = [n for n in all_sizes.names_in(dim) if n not in self.sizes]
        if len(names) == 1:
            fits = (n for n in range(200) if all_sizes.value(dim, {**self.sizes, names[0]: n}) == size)
            self.sizes.update((names[0], n) for n in fits)


class Replay:
    """The functions of a checked program as it was before anything was simplified, with externs that give back zeros."""

    def __init__(self, checked: Checked, text: str, base: Path = Path(".")) -> None:
        self.checked = checked
        self.program = checked.before
        self.base = base
        self.aliases = dict(re.findall(r"^type (\w+(?:\(.*?\))?) = (.*)$", text, re.MULTILINE))
        self._machine: Machine | None = None
        self.draw = Draw(0, {})

    def machine(self) -> Machine:
        if self._machine is None:
            self._machine = Machine(self.program, Files(self.base), Options(guard_all=True, allow_extern=True))
            for function in self.program.functions:
                if function.kind == "extern":
                    self._machine.code.namespace["x_" + mangle(function.name)] = self._extern(function)
        return self._machine

    def _extern(self, function: core.Function) -> Callable[..., Any]:
        params, result = self.types(function), Type("tensor")
        if function.declaration is not None and function.declaration.result is not None:
            result = parse(function.declaration.result.span.text, self.aliases)
        return lambda *args: self.draw.given_back(tuple(params.values()), result, args)

    def types(self, function: core.Function) -> dict[str, Type]:
        declared = function.declaration
        if declared is None:
            return {p.name: Type("tensor") for p in function.params}
        return {
            p.name: Type("tensor") if p.annotation is None else parse(p.annotation.span.text, self.aliases)
            for p in declared.params
        }

    def run(self, function: core.Function, draw: Draw) -> Diagnostic | None:
        """What refuses one call; None where it has an end."""
        self.draw = draw
        values = [draw.value(t, name) for name, t in self.types(function).items()]
        try:
            with np.errstate(all="ignore"):
                self.machine().call(function.name, convert(function, values))
        except ShapeError as problem:
            return problem.diagnostic
        return None

    def on_shapes(self, function: core.Function, draw: Draw) -> list[Diagnostic]:
        """What is said of a call with these shapes."""
        given: dict[str, Any] = {}
        for name, t in self.types(function).items():
            given[name] = ArgumentShape(draw.shape(t.shape)) if t.kind == "tensor" else draw.value(t, name)
        return list(pipeline.call_on_shapes(self.checked, function.name, given)[0][2])

    def script(self) -> Diagnostic | None:
        try:
            self.machine().script()
        except ShapeError as problem:
            return problem.diagnostic
        return None


def places(said: Diagnostic) -> tuple[Span, ...]:
    return (said.span, *(label.span for label in said.labels))


def is_about(found: Diagnostic | None, said: Diagnostic) -> bool:
    """Whether a run failed at what a diagnostic is about: at its place, or at a place inside or around it."""
    if found is None:
        return False
    if said.sentence is not None and said.sentence.verdict.startswith("with its use"):
        return found.function == said.function or found.span in places(said)  # it says that one of some checks fails
    if found.span == said.span or said.span in places(found) or found.span in places(said):
        return True
    return found.span.within(said.span) or said.span.within(found.span)


def function_of(replay: Replay, said: Diagnostic) -> core.Function | None:
    """The function that a diagnostic speaks of, as it is called."""
    return next((f for f in replay.program.functions if f"@{f.name}" == said.function), None)


def replayed(replay: Replay, said: Diagnostic) -> str | None:
    """What is wrong with the witness of a diagnostic; None where a run shows it."""
    witness = said.witness or {}
    function = function_of(replay, said)
    try:
        if function is None:
            return None if is_about(replay.script(), said) else f"the script does not fail there: {said.message}"
        ends = set()
        for attempt in range(ATTEMPTS):
            draw = Draw(attempt, witness)
            try:
                end = replay.run(function, draw)
                if is_about(end, said):
                    return None
                ends.add("runs" if end is None else f"{end.message} ({end.span.text})")
            except (ValueError, ZeroDivisionError) as problem:
                ends.add(f"{type(problem).__name__} {problem}")
            except (TooBig, MemoryError):
                if any(is_about(d, said) for d in replay.on_shapes(function, Draw(attempt, witness))):
                    return None
                ends.add("shapes fit")
    except RxError as problem:
        return f"cannot run: {problem}"
    return f"{dict(witness)} does not show: {said.code} {said.message} ({said.function}); but {sorted(ends)[:4]}"


def wrong_witnesses(text: str, base: Path = Path("."), name: str = "replayed.rx") -> list[str]:
    report = pipeline.check_text(text, name, base)
    return wrong_in(report, text, base)


def wrong_in(report: pipeline.Report, text: str, base: Path) -> list[str]:
    if report.checked is None:
        return []
    told = [d for d in report.diagnostics if d.witness]
    replay = Replay(report.checked, text, base)
    return [wrong for d in told if (wrong := replayed(replay, d)) is not None]


def with_witness(said: Diagnostic, witness: Mapping[str, int]) -> Diagnostic:
    """The same, said of other sizes."""
    return replace(said, witness=witness)
