"""A program, the same with a mistake, and what was made of it to a grade: does it demand and give what the program did?

Programs are compared by their values: every function whose text or callees differ is run at small sizes, on the same random
data, and beside the sizes that its signature allows also at some that it does not. Numbers are equal to 1e-6 of the largest
one; for that both programs compute in float64, where the original can. A program with another signature is run where it takes
the arguments that the original takes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rxlang as rx
from rxlang.fixes.applied import fixed, why_left
from rxlang.fixes.edits import applied
from rxlang.fixes.ranked import mistakes, ranked, told_once
from rxlang.lang import sweet
from rxlang.lang.diagnostics import Diagnostic
from rxlang.lang.parser import parse
from rxlang.lang.source import Source
from rxlang.lang.walk import walk
from rxlang.pipeline import check_text

# Sizes of one function: all of 1 to 4 where there are few names, else a sample; some with a 0 and some that are larger.
MOST_SIZES = 160
WITH_ZERO = 12
LARGER = 8
ELSEWHERE = 6  # sizes at which one dimension of one argument is moved, so that it does not fit
HERE = Path(__file__).parent

Sizes = dict[str, int]


class Refused:
    """What a run gives where the sizes do not fit."""


class Grade(NamedTuple):
    """What is different from the original, each as the first sizes that show it; all empty where nothing is.

    `refused` is the message of the check that rejects the program altogether, `narrower` sizes without a 0 that ran and are
    refused now, `empty` sizes with a 0, `wider` sizes or shapes that were refused and run now, `shapes` and `numbers` other
    results.
    """

    refused: str = ""
    narrower: str = ""
    shapes: str = ""
    wider: str = ""
    numbers: str = ""
    empty: str = ""

    @property
    def word(self) -> str:
        return next((name for name, shown in zip(self._fields, self, strict=True) if shown), "right")

    @property
    def is_right(self) -> bool:
        return self.word == "right"


def grade(original: str, fixed: str) -> Grade:
    """How a program that somebody fixed compares with the one that it is meant to be."""
    if fixed == original:
        return Grade()
    if _is_accepted(in_float64(original)):
        original, fixed = in_float64(original), in_float64(fixed)
    try:
        after = rx.loads(fixed)
    except rx.CheckError as problem:
        return Grade(refused=next(d.message for d in problem._diagnostics if d.severity == "error"))
    found: dict[str, str] = {}
    for name in touched(original, fixed):
        _compare(original, name, after, found)
    return Grade(**found)


def _compare(original: str, name: str, after: rx.Module, found: dict[str, str]) -> None:
    if name not in after:
        found.setdefault("shapes", f"there is no @{name}")
        return
    for sizes, args, was in runs(original, name):
        kind = _difference(was, run(after[name], args))
        if kind == "narrower" and 0 in sizes.values():
            kind = "empty"
        if kind:
            found.setdefault(kind, f"@{name} at {', '.join(f'{n} = {v}' for n, v in sizes.items())}")


def _difference(was: Any, now: Any) -> str:
    if isinstance(was, Refused) or isinstance(now, Refused):
        return "wider" if not isinstance(now, Refused) else "narrower" if not isinstance(was, Refused) else ""
    before, after = _arrays(was), _arrays(now)
    if [(a.shape, a.dtype) for a in before] != [(a.shape, a.dtype) for a in after]:
        return "shapes"
    return "" if all(map(are_equal, before, after)) else "numbers"


def are_equal(one: Any, other: Any) -> bool:
    """Whether two arrays have the same numbers, to 1e-6 of the largest one; of float32, whose sums depend on their order,
    1e-4."""
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape:
        return False
    by = 1e-4 if a.dtype == np.float32 else 1e-6
    largest = np.max(np.abs(a[np.isfinite(a)]), initial=0) if a.dtype.kind in "fc" else 0
    return bool(np.allclose(a, b, rtol=by, atol=by * largest, equal_nan=a.dtype.kind in "fc"))


def in_float64(text: str) -> str:
    return text.replace("float32", "float64")


@lru_cache(maxsize=256)
def _is_accepted(text: str) -> bool:
    try:
        _module(text)
    except rx.CheckError:
        return False
    return True


def _arrays(result: Any) -> list[Any]:
    return [a for part in result for a in _arrays(part)] if isinstance(result, tuple) else [result]


# Which functions can differ


Types = dict[str, sweet.TypeDecl]


def functions(text: str) -> dict[str, sweet.FnDecl]:
    module, _ = parse(Source("program.rx", text))
    return {i.name.name: i for i in module.items if isinstance(i, sweet.FnDecl)}


def types(text: str) -> Types:
    module, _ = parse(Source("program.rx", text))
    return {i.name.name: i for i in module.items if isinstance(i, sweet.TypeDecl)}


def touched(original: str, fixed: str) -> list[str]:
    """The original's functions that are written otherwise now, and those that call them."""
    before, after = functions(original), functions(fixed)
    changed = {n for n, f in before.items() if n not in after or after[n].span.text != f.span.text}
    changed |= after.keys() - before.keys()
    while True:
        calls = {n for n, f in after.items() if changed & set(re.findall(r"@(\w+)", f.span.text.split("=", 1)[1]))}
        if calls <= changed:
            return [n for n in before if n in changed]
        changed |= calls


# Runs of the original


@lru_cache(maxsize=256)
def runs(original: str, name: str) -> list[tuple[Sizes, list[Any], Any]]:
    """Sizes, arguments and results of a function, or Refused; at sizes that its signature allows, and at some others."""
    function, params, named = _module(original)[name], functions(original)[name].fn.params, types(original)
    rng = random.Random(name)
    data = np.random.default_rng(7)
    found = []
    for sizes in assignments(names_of(params), rng):
        args = arguments(params, sizes, data, named)
        if args is not None:
            found.append((sizes, *_run_with_positions(function, args)))
    good = [sizes for sizes, _, was in found if not isinstance(was, Refused)]
    for sizes in rng.sample(good, min(ELSEWHERE, len(good))):
        found += [(sizes, args, run(function, args)) for args in misfits(params, sizes, data, named)]
    return found


def _run_with_positions(function: Any, args: list[Any]) -> tuple[list[Any], Any]:
    """A run; where positions in a table that is too short for them may be why it was refused, all of them are 0."""
    result = run(function, args)
    if isinstance(result, Refused) and any(isinstance(a, np.ndarray) and a.dtype.kind == "i" for a in args):
        args = [np.zeros_like(a) if isinstance(a, np.ndarray) and a.dtype.kind == "i" else a for a in args]
        result = run(function, args)
    return args, result


@lru_cache(maxsize=256)
def _module(text: str) -> rx.Module:
    return rx.loads(text)


def names_of(params: Sequence[sweet.Param]) -> list[str]:
    """The sizes that a signature speaks of."""
    found = [p.name.name for p in params if _is_size(p)]
    tensors = [n for n in walk(*(p.type for p in params)) if isinstance(n, sweet.TensorType | sweet.NamedType)]
    for node in tensors:
        dims = node.shape if isinstance(node, sweet.TensorType) else node.args
        found += [n.name for n in walk(dims) if isinstance(n, sweet.Name)]
        found += [n.name.name for n in walk(dims) if isinstance(n, sweet.Splice)]
    return list(dict.fromkeys(found))


def _is_size(param: sweet.Param) -> bool:
    return isinstance(param.type, sweet.NamedType) and param.type.name == "Size"


def assignments(names: list[str], rng: random.Random) -> list[Sizes]:
    if 4 ** len(names) <= MOST_SIZES:
        small = [[1 + (i // 4**k) % 4 for k in range(len(names))] for i in range(4 ** len(names))]
    else:
        small = [[rng.randint(1, 4) for _ in names] for _ in range(MOST_SIZES)]
        small += [[v] * len(names) for v in (1, 2, 3, 4)]
    zero = [[0 if rng.random() < 0.3 else rng.randint(1, 3) for _ in names] for _ in range(WITH_ZERO)]
    larger = [[rng.choice((2, 5, 6, 7, 8, 9)) for _ in names] for _ in range(LARGER)]
    unique = dict.fromkeys(tuple(values) for values in (*small, *zero, *larger))
    return [dict(zip(names, values, strict=True)) for values in unique]


def arguments(params: Sequence[sweet.Param], sizes: Sizes, data: np.random.Generator, named: Types) -> list[Any] | None:
    """Arguments of these sizes; None where a dimension would be negative."""
    try:
        return [sizes[p.name.name] if _is_size(p) else _made(p.type, sizes, data, named) for p in params]
    except (ValueError, ZeroDivisionError):
        return None


def _made(type: sweet.Type | None, sizes: Sizes, data: np.random.Generator, named: Types) -> Any:
    if isinstance(type, sweet.TupleType):
        return tuple(_made(t, sizes, data, named) for t in type.items)
    if isinstance(type, sweet.NamedType):
        declared = named[type.name]
        inside = {p.name: _sizes(a, sizes)[0] for p, a in zip(declared.params, type.args, strict=True)}
        return _made(declared.type, inside, data, named)
    assert isinstance(type, sweet.TensorType) and isinstance(type.shape, sweet.ListExpr), type
    shape = tuple(d for dim in type.shape.items for d in _sizes(dim, sizes))
    dtype = type.dtype.span.text if type.dtype is not None else "float32"
    return values(shape, dtype, data)


def _sizes(dim: sweet.Expr, sizes: Sizes) -> tuple[int, ...]:
    """The value of one dimension; for sizes that are spliced in, two of them."""
    if isinstance(dim, sweet.Splice):
        return sizes[dim.name.name], 2
    return (eval(dim.span.text, {}, dict(sizes)),)  # noqa: S307 - text of our own programs


def values(shape: tuple[int, ...], dtype: str, data: np.random.Generator) -> Any:
    if dtype == "bool":
        return data.random(shape) < 0.7
    if dtype.startswith("int"):
        return data.integers(0, 2, shape, dtype)
    return data.uniform(0.05, 1.0, shape).astype(dtype)


def misfits(
    params: Sequence[sweet.Param], sizes: Sizes, data: np.random.Generator, named: Types
) -> Iterator[list[Any]]:
    """Arguments of which one has one dimension that is one larger, or one dimension more."""
    for i in range(len(params)):
        args = arguments(params, sizes, data, named)
        assert args is not None
        if not isinstance(args[i], np.ndarray):
            continue
        shape, dtype = args[i].shape, str(args[i].dtype)
        for other in (*((*shape[:k], d + 1, *shape[k + 1 :]) for k, d in enumerate(shape)), (*shape, 1)):
            yield [*args[:i], values(other, dtype, data), *args[i + 1 :]]


def run(function: Any, args: list[Any]) -> Any:
    """What the function gives; Refused where it does not take the arguments."""
    try:
        with np.errstate(all="ignore"):
            return function(*args)
    except (rx.ShapeError, TypeError, ValueError):
        return Refused()


# What is said of a mistake


class Verdict(NamedTuple):
    """What the product says and does about one mistake."""

    diagnostics: tuple[Diagnostic, ...]
    blamed: bool
    help: str | None  # the program after the first fix; None where none is offered
    help_text: str
    help_grade: Grade | None
    fix: str | None  # the program after --fix; None where nothing was changed
    fix_texts: tuple[str, ...]
    fix_grade: Grade | None


def judged(original: str, mutant: str, line: int) -> Verdict:
    every = list(ranked(check_text(mutant, "program.rx", HERE), HERE))
    every = [o for o in every if o.diagnostic.severity in ("error", "warning")]
    every.sort(key=lambda o: (o.diagnostic.severity, o.span.start))  # errors first, as they are told
    found = [o for o in every if o.fixes]
    first = found[0].fixes[0] if found else None
    wrong = tuple(map(told_once, mistakes(every)))
    fix = applied(mutant, first.edits) if first is not None else None
    # where no help stands alone, --fix leaves the file as it is
    source = Source("program.rx", mutant)
    text, done = fixed(source, HERE) if not all(why_left(o, source) for o in found) else (mutant, ())
    return Verdict(
        wrong, bool(wrong) and blames(wrong[0], line),
        fix, first.text if first is not None else "", grade(original, fix) if fix is not None else None,
        text if done else None, tuple(f.text for f in done), grade(original, text) if done else None,
    )  # fmt: skip


def blames(diagnostic: Diagnostic, line: int) -> bool:
    """Whether its primary place covers a line."""
    source, start, end = diagnostic.span
    return source.position(start)[0] <= line <= source.position(max(start, end - 1))[0]


def says_something(text: str) -> bool:
    """Whether a check finds something in it but a mistake of syntax or of sorts."""
    report = check_text(text, "program.rx", HERE)
    codes = {d.code for d in report.diagnostics if d.severity in ("error", "warning")}
    return bool(codes) and all(code[1] == "3" for code in codes)


def changes_what_runs(original: str, mutant: str) -> bool:
    """Whether it refuses sizes that the original takes."""
    found = grade(original, mutant)
    return bool(found.refused or found.narrower)
