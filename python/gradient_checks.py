"""`rx check --gradients`: compare each gradient of a program with central differences in float64, at randomly drawn sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from .. import pipeline
from ..interp.run import Machine
from ..interp.shape_error import ShapeError
from ..lang import codes, core
from ..lang.diagnostics import Diagnostic, RxError, error, note
from ..lang.node import Node, replace
from ..lang.summary import plural
from ..lang.walk import rewrite
from ..simplify.known.outcome import Options
from .drawn import Undrawn, arguments

Values = list[Any]
# The sets of sizes: three with sizes that all differ and are at least 2; one with some sizes of 1; one with some of 0.
_SETS: tuple[int | None, ...] = (None, None, None, 1, 0)
# The number of draws per set until the function accepts the arguments; the number of elements of an operand to compare.
_DRAWS, _ELEMENTS = 40, 2_000
# The most iterations of a `while`.
_TURNS = 1_000
_STEP, _CLOSE = 1e-5, 2e-4


class Tried(Node):
    """The result of the comparison: a diagnostic for each gradient that is wrong or could not be tried, a line for each right
    one."""

    diagnostics: tuple[Diagnostic, ...]
    lines: tuple[str, ...]


def tried(given: pipeline.Loaded, options: Options, allow_extern: bool = False) -> Tried:
    """Compare each gradient and each rule of a program that has no other errors."""
    asked: list[_Asked] = []
    consts: dict[str, int] = {}

    def change(program: core.Program) -> core.Program:
        functions = {f.name: f for f in program.functions}
        consts.update({c.name: c.value.value for c in program.consts if isinstance(c.value, core.SizeLit)})
        asked.extend(_asked(program, functions))
        return rewrite(replace(program, functions=tuple(functions.values())), _ending)

    report = pipeline.check_in_doubles(given, change, options)
    found, lines = [], []
    wrong = [d for d in report.diagnostics if d.severity == "error"]
    machine = None
    if report.checked is not None and not wrong:
        try:
            machine = pipeline.ready(report.checked, given.files, allow_extern=allow_extern)
        except RxError as problem:
            wrong = list(problem.diagnostics)
    for one in asked:
        if machine is None:
            found.append(_untried(one, f"the program cannot be run in float64: {wrong[0].message}"))
            continue
        counts, said = one.verdict(machine, consts, np.random.default_rng(0))
        found += [said] if said is not None else []
        lines += (
            [f"{one.title}: right at {plural(counts, 'set')} of sizes, beside central differences"] if counts else []
        )
    return Tried(tuple(found), tuple(lines))


def _asked(program: core.Program, functions: dict[str, core.Function]) -> Iterator[_Asked]:
    """The gradients and rules to try; for a primitive with a rule, a function that calls it is added."""
    for g in program.gradients:
        yield _Asked(g, f"@{g.name}", g.kind, functions[g.of], functions[g.name], g.wrt)
    for rule in program.rules:
        if rule.name is None:
            continue
        of = functions.get(rule.of) or _calling(rule, functions[rule.made[1]], functions[rule.name])
        functions[of.name] = of
        title = f"vjp @{rule.of.removeprefix('prelude.')}"
        yield _Asked(rule, title, "vjp", of, functions[rule.name], rule.wrt)


def _calling(rule: core.Rule, around: core.Function, own: core.Function) -> core.Function:
    """A function that calls a primitive with the arguments of its rule."""
    args = tuple(core.Arg(rule.span, p.name, core.variable(rule.span, p.name, p.sort)) for p in around.params)
    call = core.Call(rule.span, core.FnRef(rule.span, rule.of), args)
    sort = own.params[-1].sort
    is_tuple = isinstance(sort, core.TupleSort)
    values = tuple(
        core.Var(rule.span, f"result_{i}") for i in range(len(sort.items) if isinstance(sort, core.TupleSort) else 1)
    )
    let = core.Let(rule.span, tuple(v.name for v in values), is_tuple, None, call)
    body = core.Block(rule.span, (let,), core.TupleValue(rule.span, values) if is_tuple else values[0])
    return replace(around, name=f"{around.name}tried", result=sort, promises=(), impl=None, body=body)


def _ending(node: Node) -> Node:
    """A `while` that fails after `_TURNS` iterations, since it may not end for random arguments."""
    if not isinstance(node, core.Loop) or node.range is not None:
        return node
    span, turn = node.span, f"turn{node.span.start}{core.UNSAID}"
    range_ = core.Range(*(core.SizeLit(span, n) for n in (0, _TURNS + 1, 1)))
    below = core.Compare(span, "<", core.SizeVar(span, turn), core.SizeLit(span, _TURNS))
    origin = core.Origin(span, "assert", False, None, None, f"fewer than {_TURNS:,} turns of a while")
    ends = core.Assert(span, below, None, origin)
    return replace(node, index=turn, range=range_, body=replace(node.body, stmts=(ends, *node.body.stmts)))


class _Asked(Node):
    """A gradient: its place, its title, its kind, the function, its derivative, and the parameters of the derivative."""

    at: core.Gradient | core.Rule
    title: str
    kind: str
    of: core.Function
    gradient: core.Function
    wrt: tuple[str, ...]

    def verdict(
        self, machine: Machine, consts: dict[str, int], random: np.random.Generator
    ) -> tuple[int, Diagnostic | None]:
        """The number of sets of sizes at which it is right, and the error, or the reason why it was not tried."""
        count, reasons = 0, []
        for pinned in _SETS:
            try:
                args = self._drawn(machine, consts, pinned, random)
            except Undrawn as reason:
                reasons += [str(reason)] if pinned is None else []
                continue
            wrong = self._wrong(machine, args, random)
            if wrong is not None:
                return 0, wrong
            count += 1
        return (0, _untried(self, reasons[0])) if reasons else (count, None)

    def _drawn(
        self, machine: Machine, consts: dict[str, int], pinned: int | None, random: np.random.Generator
    ) -> Values:
        """Arguments that the function accepts, and for which its result is finite."""
        reason = "no sizes were found that it takes"
        for draw in range(_DRAWS):
            args = arguments(self.of, consts, pinned, random, draw)
            if args is None:
                continue
            try:
                result = machine.call(self.of.name, args)
            except ShapeError as problem:
                reason = f"what was drawn is refused: {problem.diagnostic.message}"
                continue
            if all(np.isfinite(r).all() for r in _leaves(result)):
                return args
            reason = "its value is not finite for what was drawn"
        raise Undrawn(reason)

    def _wrong(self, machine: Machine, args: Values, random: np.random.Generator) -> Diagnostic | None:
        """The error for the first operand whose gradient differs from central differences."""
        named = [p.name for p in self.of.params]
        places = [named.index(n) for n in self.wrt]
        at = partial(_at, partial(machine.call, self.of.name), args, places)
        like, still = [args[i] for i in places], [_map(np.zeros_like, args[i]) for i in places]
        g, along = (_map(partial(_random, random), a) for a in (at([]), tuple(like)))
        whole = along if len(places) > 1 else along[0]
        more = {"vjp": [g], "jvp": [whole], "hessian_vector": [whole]}.get(self.kind, [])
        try:
            made = machine.call(self.gradient.name, [*args, *more])
        except ShapeError as problem:
            said = f"{self.title} fails where @{self.of.name} does not: {problem.diagnostic.message}"
            return self._said(said, args)
        if self.kind == "jvp":
            wanted = _map(lambda a, b: (a - b) / (2 * _STEP), at([(_STEP, along)]), at([(-_STEP, along)]))
            return self._beside(made, wanted, "its result", args)
        gives = made[1:] if self.kind == "value_and_grad" else made if len(places) > 1 else (made,)
        for k, (name, got) in enumerate(zip(self.wrt, gives, strict=True)):
            value = partial(_along, at, k, still, g if self.kind == "vjp" else None)
            if self.kind == "hessian_vector":
                value = partial(_mixed, at, k, still, along)
            found = self._operand(f"`{name}`", got, like[k], value, args, random)
            if found is not None:
                return found
        return None

    def _operand(
        self, name: str, got: Any, like: Any, value: Callable[[Any], float], args: Values, random: np.random.Generator
    ) -> Diagnostic | None:
        """Compare in a random direction; if that differs, element by element, where elements at corners do not count."""
        for one, of in zip(_leaves(got), _leaves(like), strict=True):
            if one.shape != of.shape:
                said = f"has the shape {list(one.shape)}, and {name} has {list(of.shape)}"
                return self._said(f"{self.title} is wrong: what it gives for {name} {said}", args)
        ways = _map(partial(_random, random), like)
        told = sum(float(np.sum(a * b)) for a, b in zip(_leaves(got), _leaves(ways), strict=True))
        if _close(told, value(ways)):
            return None
        leaves = _leaves(like)
        elements = [(i, at) for i, a in enumerate(leaves) for at in np.ndindex(a.shape)]
        random.shuffle(elements)
        for i, at in elements[:_ELEMENTS]:
            zeros = [np.zeros_like(a) for a in leaves]
            zeros[i][at] = 1.0
            wanted, told = value(_formed(like, iter(zeros))), float(_leaves(got)[i][at])
            zeros[i][at] = 0.5
            if not _close(told, wanted) and _close(wanted, 2.0 * value(_formed(like, iter(zeros)))):
                item = f"item {i} of {name}" if len(leaves) > 1 else name
                return self._element(item, at, told, wanted, args)
        return None

    def _beside(self, made: Any, wanted: Any, name: str, args: Values) -> Diagnostic | None:
        for got, want in zip(_leaves(made), _leaves(wanted), strict=True):
            for at in np.ndindex(np.shape(want)):
                if not _close(float(got[at]), float(want[at])):
                    return self._element(name, at, float(got[at]), float(want[at]), args)
        return None

    def _element(self, name: str, at: tuple[int, ...], told: float, wanted: float, args: Values) -> Diagnostic:
        place = f"element {list(at)} of {name}" if at else name
        return self._said(
            f"{self.title} is wrong: for {place} it gives {told:.6g}, and central differences give {wanted:.6g}", args
        )

    def _said(self, message: str, args: Values) -> Diagnostic:
        taken = [f"{p.name} {_shown(a)}" for p, a in zip(self.of.params, args, strict=True)]
        return error(codes.R405, message, self.at.span, notes=(f"in float64, with {', '.join(taken)}",))


def _untried(one: _Asked, reason: str) -> Diagnostic:
    return note(codes.N304, f"{one.title} was not tried beside central differences: {reason}", one.at.span)


def _at(f: Callable[[Values], Any], args: Values, places: list[int], ways: list[tuple[float, Any]]) -> Any:
    """A function's result with some arguments moved along some directions."""
    moved = list(args)
    for by, way in ways:
        for i, w in zip(places, way, strict=True):
            moved[i] = _map(partial(_moved, by), moved[i], w)
    return f(moved)


def _moved(by: float, value: Any, way: Any) -> Any:
    return value + by * way


def _random(random: np.random.Generator, like: Any) -> Any:
    way = np.zeros_like(like)
    return way if way.dtype.kind != "f" else random.normal(size=np.shape(like))


def _along(at: Callable[[Any], Any], k: int, still: Values, g: Any, ways: Any) -> float:
    """The derivative of the value with respect to one operand, in a direction."""
    way = [ways if i == k else s for i, s in enumerate(still)]
    above, below = (_value(at([(by, way)]), g) for by in (_STEP, -_STEP))
    return (above - below) / (2 * _STEP)


def _mixed(at: Callable[[Any], Any], k: int, still: Values, along: Any, ways: Any) -> float:
    """The mixed second derivative of the value along two directions."""
    h = 1e-4
    way = [ways if i == k else s for i, s in enumerate(still)]
    found = sum(a * b * _value(at([(a * h, way), (b * h, along)]), None) for a in (1, -1) for b in (1, -1))
    return float(found) / (4 * h * h)


def _value(result: Any, g: Any) -> float:
    weights = _leaves(g) if g is not None else [np.ones(())] * len(_leaves(result))
    return float(sum(float(np.sum(a * b)) for a, b in zip(_leaves(result), weights, strict=True)))


def _close(a: float, b: float) -> bool:
    return bool(np.isclose(a, b, _CLOSE, _CLOSE)) or (not np.isfinite(a) and not np.isfinite(b))


def _shown(value: Any) -> str:
    shapes = [list(v.shape) if isinstance(v, np.ndarray) else v for v in _leaves(value)]
    return str(shapes[0]) if not isinstance(value, tuple) else f"({', '.join(map(str, shapes))})"


def _leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, tuple | list) else [value]


def _map(change: Callable[..., Any], value: Any, *others: Any) -> Any:
    """Apply `change` to each array of a tuple."""
    if isinstance(value, tuple | list):
        return tuple(_map(change, *parts) for parts in zip(value, *others, strict=True))
    return change(value, *others)


def _formed(like: Any, values: Iterator[Any]) -> Any:
    return tuple(_formed(item, values) for item in like) if isinstance(like, tuple | list) else next(values)
