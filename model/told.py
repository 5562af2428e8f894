"""Diagnostics of a traced program, at the lines of the Python code and in its words."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ..frontends.torch.places import PythonPlace, expression
from ..frontends.torch.run import Step, Trace, several
from ..lang.diagnostics import Diagnostic, Edit, Help, Label, error
from ..lang.expressions import names_in
from ..lang.node import Node, replace
from ..lang.source import MadeSource, Source, Span
from ..pipeline import Report
from .replay import Parameter


class Told:
    """The steps of a trace as places in Python; translates diagnostics to the user's names."""

    def __init__(self, name: str, trace: Trace, folder: Path) -> None:
        self.name, self.trace, self.folder = name, trace, folder
        self.sources: dict[str, Source] = {}
        self.made = {line: self._made(step) for line, step in trace.steps.items()}

    def _made(self, step: Step) -> MadeSource:
        return MadeSource(f"line {step.place.line}", (), self.file_line(step.place), step.op)

    def file(self, place: PythonPlace) -> str:
        path = Path(place.file)
        return str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else place.file

    def file_line(self, place: PythonPlace) -> str:
        return f"{self.file(place)}:{place.line}"

    def span(self, place: PythonPlace | None) -> Span:
        """A place in the user's file."""
        if place is None or not place.line:
            return Span(Source(self.name, ""), 0, 0)
        source = self._source(place)
        starts = source.line_starts()
        if place.line > len(starts):
            return Span(source, 0, 0)
        text = source.line(place.line).encode()
        begin = starts[place.line - 1] + len(text[: place.start].decode(errors="ignore"))
        end = place.end if place.last in (0, place.line) and place.end > place.start else len(text)
        return Span(source, begin, max(begin, starts[place.line - 1] + len(text[:end].decode(errors="ignore"))))

    def _source(self, place: PythonPlace) -> Source:
        if place.file not in self.sources:
            self.sources[place.file] = Source(self.file(place), "".join(linecache.getlines(place.file)))
        return self.sources[place.file]

    def step(self, line: int) -> Step | None:
        return self.trace.steps.get(line)

    def of(self, said: Diagnostic) -> Diagnostic:
        """A diagnostic of the program, at the user's line and with the user's names."""
        step = self.step(said.span.line)
        if step is None:
            return replace(said, labels=(), helps=(), edits=(), help=None, change="")
        if step.kind == "memory" and said.severity == "error":
            asked = self.words(self.fact(said.span.line).partition(', "')[2].removesuffix('"'), step)
            return error(said.code, f"{asked}: this always fails", self.span(step.place), **self.with_copy(step))
        labels = tuple(self._label(label) for label in said.labels if self.step(label.span.line) is not None)
        return replace(
            said, span=self.span(step.place), message=self.words(said.message, step), labels=labels, helps=(), edits=(),
            help=None, change="", caption="", notes=tuple(self.words(n, step) for n in said.notes),
            subject=None, sentence=None, function=step.module or None,
        )  # fmt: skip

    def _label(self, label: Label) -> Label:
        step = self.step(label.span.line)
        assert step is not None
        return replace(label, span=self.span(step.place), message=self.words(label.message, step))

    def fact(self, line: int) -> str:
        """The fact about sizes that a line of the program states."""
        return self.trace.text.splitlines()[line - 1].strip().removeprefix("assert ")

    @cached_property
    def params(self) -> tuple[Parameter, ...]:
        """The parameters of the program."""
        head = next(line for line in self.trace.text.splitlines() if line.startswith("@main"))
        sizes = (Parameter(name, "Size", (name,)) for name in _SIZE.findall(head))
        inputs = (Parameter(i.name, i.dtype, i.shape) for i in self.trace.inputs)
        weights = (found for found in _WEIGHT.findall(head) if found[0] in self.trace.weights)
        shapes = ((name, dtype, tuple(int(d) for d in dims.split(",") if d.strip())) for name, dims, dtype in weights)
        return (*sizes, *inputs, *(Parameter(*weight) for weight in shapes))

    def words(self, text: str, step: Step) -> str:
        """A sentence with the user's names."""
        names = {**self.trace.variables, **self.trace.weights, **{i.name: i.called for i in self.trace.inputs}}
        text = text if step.op.endswith("einsum") else _LABEL.sub("", text)
        text = re.sub(r"`[^`]*`", lambda quoted: re.sub(r"\w+", lambda n: names.get(n[0], n[0]), quoted[0]), text)
        return re.sub(r"@[a-z_0-9.]+", step.op or "this", text).replace("torch.Tensor.", "Tensor.")

    def with_copy(self, step: Step) -> dict[str, Any]:
        """The help for a view that depends on the memory layout: the same call with `reshape`."""
        copy = self._copying(step) if step.kind == "memory" else None
        return {} if copy is None else {"help": copy.text, "edits": copy.edits, "helps": (copy,)}

    def _copying(self, step: Step) -> Help | None:
        node = expression(step.place)
        method = node.func if isinstance(node, ast.Call) else None
        if not isinstance(method, ast.Attribute) or method.attr not in _COPYING or method.end_lineno != step.place.line:
            return None
        end = method.end_col_offset or 0
        name = self.span(replace(step.place, start=end - len(method.attr), end=end, last=step.place.line))
        return Help(f"use `{_COPYING[method.attr]}`, which copies the elements", (Edit(name, _COPYING[method.attr]),))


_COPYING = {"view": "reshape", "view_as": "reshape_as"}
_LABEL = re.compile(r", both `\w`,")  # in an equation that the user did not write
_SIZE = re.compile(r"(\w+) : Size\b")
_WEIGHT = re.compile(r"(\w+) : Tensor\(\[([^\]]*)\], (\w+)\)")


class ReadRun(Node):
    """The check of a run, whose lines `told` has: equal module bodies are one function if all in it is proved, else its
    conditions are in `inner`."""

    report: Report
    told: Told
    inner: tuple[str, ...] = ()


_WAYS = ("branch", "operation", "number")


def causes(run: Trace, said: Sequence[Diagnostic], wrong: Sequence[int] = ()) -> list[Diagnostic]:
    """The diagnostics of a program without errors that may follow from others: in lines that use their results, or in facts
    that select the path. The lines `wrong` have errors already."""
    lines = {d.span.line for d in said if d.severity == "error"}
    own = {n for n in lines if n not in run.steps or run.steps[n].kind not in _WAYS} if len(lines) > 1 else lines
    after = using(run, {*own, *wrong})
    first, text = min({*own, *wrong}, default=0), run.text.splitlines()
    after |= {
        n for n in own if n > first and text[n - 1].lstrip().startswith("assert ")
    }  # facts about sizes, which are wrong by then
    return [d for d in said if d.severity != "error" or d.span.line in (own or lines) and d.span.line not in after]


def using(run: Trace, wrong: set[int]) -> set[int]:
    """The lines of a program that use the results of some lines."""
    found, names, spoilt = set[int](), set[str](), ""
    for number, line in enumerate(run.text.splitlines(), 1):
        made, _, call = line.partition(" = ")
        place = run.steps[number].place.key if number in run.steps else ""
        if names.intersection(names_in(call or line)):
            found.add(number)
        spoilt = place if number in wrong else spoilt if place == spoilt else ""
        if number in found or spoilt:
            names.update(names_in(made.partition(" :")[0].replace("let ", "")) if call else ())
    return found


def once(said: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Merge equal sentences at one place, with all their modules: equal layers have equal mistakes. Of errors of one kind in
    one line, keep the first."""
    found: dict[tuple[object, ...], list[Diagnostic]] = {}
    lines: dict[tuple[object, ...], tuple[object, ...]] = {}
    for one in said:
        place = one.code, one.span.source.name
        key = *place, one.span.start, one.message
        if one.severity != "error" or lines.setdefault((*place, one.span.line), key) == key:
            found.setdefault(key, []).append(one)
    for alike in found.values():
        yield replace(alike[0], function=several([d.function for d in alike if d.function]) or None)
