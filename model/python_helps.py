"""Helps for Python code: a fix of the traced Rx program, as an edit of the user's own expression.

The fix was applied to the program and checked there; its operands are then found in the Python, by their names or by the
place that made them, and the operations around them are written as methods of torch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from ..fixes.applied import why_left
from ..fixes.case import Fix, remaining
from ..fixes.edits import applied
from ..fixes.ranked import Ranked, ranked
from ..frontends.torch import places
from ..frontends.torch.bodies import defined
from ..frontends.torch.methods import method
from ..frontends.torch.run import Step
from ..lang import sweet
from ..lang.diagnostics import Diagnostic, Edit, Help
from ..lang.node import Node, replace
from ..lang.parser import parse_beside
from ..lang.source import Source, Span
from ..pipeline import Report
from ..simplify.known.outcome import Options
from .told import Told

_ATTRIBUTES = {"keepdims": "keepdim", "axis": "dim"}
_SIDES = ("left", "right")
_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)


class Helped(Node):
    """A help in Python; `left` is the reason not to apply it unasked, empty if only this can be meant."""

    help: Help
    left: str


class NoPython(Exception):
    """A fix that cannot be written as an edit of the Python."""


def with_helps(
    said: Sequence[Diagnostic], told: Told, report: Report, options: Options
) -> Iterator[tuple[Diagnostic, str | None]]:
    """The diagnostics, with a help if there is one and the reason to leave it to the user (see `Helped`), None without a
    help."""
    places_of = {(d.span.source.name, d.span.start) for d in said if d.severity != "note"}
    found = dict(_helps(told, report, options)) if places_of else {}
    for one in said:
        helped = found.get((one.span.source.name, one.span.start)) if one.severity != "note" else None
        if helped is None or one.edits:
            yield one, "it may not be what is meant" if one.edits else None
        else:
            help_ = helped.help
            yield replace(one, help=help_.text, edits=help_.edits, helps=(help_,)), helped.left


def _helps(told: Told, report: Report, options: Options) -> Iterator[tuple[tuple[str, int], Helped]]:
    seen: set[tuple[str, int]] = set()
    source = Source(told.name, told.trace.text)
    for ranking in ranked(report, told.folder, (), options):
        step = told.step(ranking.diagnostic.span.line)
        if step is None or not ranking.diagnostic.is_wrong:
            continue
        at = told.span(step.place)
        helped = None if (key := (at.source.name, at.start)) in seen else _first(told, ranking, source)
        if helped is not None:
            seen.add(key)
            yield key, helped


def _first(told: Told, ranking: Ranked, source: Source) -> Helped | None:
    for fix in ranking.fixes:
        if fix.is_of_operation and not fix.in_words:
            try:
                made = _Python(told).of(fix, source)
            except NoPython:
                continue
            made = replace(made, text=made.text + _after(told, ranking, fix))
            return Helped(made, _left(ranking, fix, source))
    return None


def _left(ranking: Ranked, fix: Fix, source: Source) -> str:
    why = why_left(ranking, source)
    if fix is not ranking.fixes[0] or why and len({m.meaning for m in ranking.fixes}) > 1:
        return "several fixes are possible"
    return "after the fix something else is wrong" if fix.remains else why


def _after(told: Told, ranking: Ranked, fix: Fix) -> str:
    """The findings that remain after a fix, at the user's lines."""
    own = told.step(ranking.diagnostic.span.line)
    found: list[tuple[str, str]] = []
    for one in fix.remains:
        step = told.step(one.line)
        if own is None or step is None or told.file_line(step.place) == told.file_line(own.place):
            found.append((one.code, ""))
        elif step.place.file == own.place.file:
            found.append((one.code, f"line {step.place.line}"))
        else:
            found.append((one.code, told.file_line(step.place)))
    return remaining(found)


class _Python:
    """Fixes as edits of Python."""

    def __init__(self, told: Told) -> None:
        self.told = told
        self.lines = told.trace.text.splitlines()
        self.values: list[sweet.Expr] = []
        self.in_order: list[str] = []
        self.made = {name: n for n, line in enumerate(self.lines, 1) for name in defined(line)}

    def of(self, fix: Fix, source: Source) -> Help:
        """The help for a fix. Raises NoPython."""
        edits: list[Edit] = []
        shown: list[str] = []
        for line in dict.fromkeys(e.span.line for e in fix.edits):
            step = self.told.step(line)
            node = None if step is None else places.expression(step.place)
            if step is None or node is None:
                raise NoPython
            own = list(self._line(line, [e for e in fix.edits if e.span.line == line], source, step, node))
            span = self._span(step, node)
            shown.append(_edited(span, own) + ("" if line == fix.edits[-1].span.line else f" in line {node.lineno}"))
            edits += own
        what = self.told.words(fix.what, step) if step is not None else fix.what
        return Help(f"{what}: `{' and '.join(' '.join(s.split()) for s in shown)}` (checked)", tuple(edits))

    def _line(self, line: int, edits: Sequence[Edit], source: Source, step: Step, node: ast.expr) -> Iterator[Edit]:
        text = self.lines[line - 1]
        start = source.line_starts()[line - 1]
        moved = [replace(e, span=Span(source, e.span.start - start, e.span.end - start)) for e in edits]
        before, after = _call(text), _call(applied(text, moved))
        yield from self._changed(before, after, step, node)

    def _changed(self, before: sweet.Call, after: sweet.Call, step: Step, node: ast.expr) -> Iterator[Edit]:
        self.values = [value for _, value in _named(before)]
        self.in_order = [v.name if isinstance(v, sweet.Name) else "" for v in self.values]
        around: list[sweet.Call] = []
        while _name(after) != _name(before):
            around.append(after)
            inner = after.args[0].value if after.args else None
            if not isinstance(inner, sweet.Call):
                raise NoPython
            after = inner
        yield from self._arguments(before, after, step, node)
        if around:
            suffix = "".join(_method(call) for call in reversed(around))
            span = self._span(step, node)
            if not isinstance(node, _ATOMS):
                yield Edit(Span(span.source, span.start, span.start), "(")
                suffix = f"){suffix}"
            yield Edit(Span(span.source, span.end, span.end), suffix)

    def _arguments(self, before: sweet.Call, after: sweet.Call, step: Step, node: ast.expr) -> Iterator[Edit]:
        given = dict(_named(after))
        if not {key for key, _ in _named(before)} <= set(given):
            raise NoPython
        for nth, (key, value) in enumerate(_named(before)):
            new = given.pop(key)
            if new.span.text != value.span.text:
                yield from self._argument(value, new, step, node, nth)
        for key, new in given.items():
            if key != "keepdims" or not isinstance(node, ast.Call):
                raise NoPython
            span = self._span(step, node)
            yield Edit(Span(span.source, span.end - 1, span.end - 1), f", {_ATTRIBUTES[key]}={_number(new)}")

    def _argument(self, old: sweet.Expr, new: sweet.Expr, step: Step, node: ast.expr, nth: int) -> Iterator[Edit]:
        match old, new:
            case sweet.Name(), _:
                child = self._operand(old.name, step, node, nth)
                yield Edit(self._span(step, child), self._around(new, step, node))
            case sweet.ListExpr(), sweet.ListExpr() if len(old.items) == len(new.items):
                if all(isinstance(item, sweet.Name) for item in old.items) and _is_of_tensors(old, self.told):
                    self.in_order = [item.span.text for item in old.items]
                    for n, (one, other) in enumerate(zip(old.items, new.items, strict=True)):
                        if one.span.text != other.span.text:
                            yield from self._argument(one, other, step, node, n)
                else:
                    yield from self._sizes(old, new, step, node)
            case sweet.BoolLit(), _:
                given = [k.value for k in node.keywords if k.arg == "keepdim"] if isinstance(node, ast.Call) else []
                if len(given) != 1 or not isinstance(given[0], ast.Constant):
                    raise NoPython
                yield Edit(self._span(step, given[0]), _number(new))
            case _, _:
                if sum(map(_is_number, self.values)) > sum(_value(child) is not None for child in _operands(node)):
                    raise NoPython  # a number that is not written here may be the one
                child = _literal(node, int(_number(old)))
                yield Edit(self._span(step, child), _number(new))

    def _sizes(self, old: sweet.ListExpr, new: sweet.ListExpr, step: Step, node: ast.expr) -> Iterator[Edit]:
        """Sizes in another order, or with one replaced by -1."""
        if not isinstance(node, ast.Call):
            raise NoPython
        written = [a for a in node.args if not isinstance(a, ast.Starred)]
        if len(written) == 1 and isinstance(written[0], (ast.Tuple, ast.List)):
            written = written[0].elts
        before, after = ([item.span.text for item in side.items] for side in (old, new))
        if len(written) != len(before) or len({*before}) != len(before):
            raise NoPython
        texts = dict(zip(before, (self._span(step, w).text for w in written), strict=True))
        for child, one, other in zip(written, before, after, strict=True):
            if one != other:
                if other not in texts and other != "-1":
                    raise NoPython
                yield Edit(self._span(step, child), texts.get(other, other))

    def _around(self, expr: sweet.Expr, step: Step, node: ast.expr) -> str:
        match expr:
            case sweet.Name():
                child = self._operand(expr.name, step, node)
                text = self._span(step, child).text
                return text if isinstance(child, _ATOMS) else f"({text})"
            case sweet.Call() if expr.args:
                return self._around(expr.args[0].value, step, node) + _method(expr)
            case _:
                raise NoPython

    def _operand(self, name: str, step: Step, node: ast.expr, nth: int | None = None) -> ast.expr:
        """The Python expression of an operand of the program, the nth one there."""
        nth = self.in_order.index(name) if nth is None and name in self.in_order else nth
        if isinstance(node, ast.BinOp) and nth is not None and len(self.in_order) == len(_SIDES):
            return (node.left, node.right)[nth]  # under any name
        line = self.made.get(name)
        maker = None if line is None else self.told.step(line)
        called = self.told.trace.variables.get(name) if _is_of_one_call(maker, step) else None
        found = [
            child
            for child in _operands(node)
            if isinstance(child, ast.Name)
            and child.id == called
            or maker is not None
            and places.expression(maker.place) is child
        ]
        before = self.in_order[:nth].count(name)
        if len(found) <= before or before and len(found) != self.in_order.count(name):
            raise NoPython
        return found[before]

    def _span(self, step: Step, node: ast.expr) -> Span:
        end = node.end_lineno or node.lineno
        place = replace(step.place, line=node.lineno, last=node.lineno, start=node.col_offset)
        first = self.told.span(replace(place, end=node.col_offset + 1)).start
        place = replace(place, line=end, last=end, start=0, end=node.end_col_offset or 0)
        whole = self.told.span(place)
        return Span(whole.source, first, whole.end)


def _edited(span: Span, edits: Iterable[Edit]) -> str:
    inner = [replace(e, span=Span(span.source, e.span.start - span.start, e.span.end - span.start)) for e in edits]
    return applied(span.text, inner)


def _call(line: str) -> sweet.Call:
    """Parse the call in a line of the program."""
    module, problems = parse_beside(Source("", f"@f = fn() {{\n{line}\n  x\n}}\n"))
    item = next(iter(module.items), None)
    if problems or not isinstance(item, sweet.FnDecl) or item.fn.body is None:
        raise NoPython
    stmt = next(iter(item.fn.body.stmts), None)
    if not isinstance(stmt, sweet.Let) or not isinstance(stmt.value, sweet.Call):
        raise NoPython
    return stmt.value


def _name(call: sweet.Call) -> str:
    return call.callee.name if isinstance(call.callee, sweet.FnName) else ""


def _named(call: sweet.Call) -> Iterator[tuple[str | int, sweet.Expr]]:
    for n, arg in enumerate(call.args):
        yield n if arg.name is None else arg.name.name, arg.value


def _is_of_tensors(items: sweet.ListExpr, told: Told) -> bool:
    return all(isinstance(i, sweet.Name) and i.name in told.trace.types for i in items.items)


def _method(call: sweet.Call) -> str:
    """The method call that applies an operation to an operand."""
    numbers = [int(_number(v)) for arg in call.args[1:] for v in _items(arg.value)]
    found = method(_name(call), numbers)
    if found is None:
        raise NoPython
    return found


def _items(value: sweet.Expr) -> Sequence[sweet.Expr]:
    return value.items if isinstance(value, (sweet.ListExpr, sweet.TupleExpr)) else (value,)


def _number(value: sweet.Expr) -> str:
    match value:
        case sweet.IntLit():
            return str(value.value)
        case sweet.BoolLit():
            return str(value.value)
        case sweet.Unary(op="-", operand=sweet.IntLit(value=number)):
            return str(-number)
        case _:
            raise NoPython


def _is_number(value: sweet.Expr) -> bool:
    return isinstance(value, (sweet.IntLit, sweet.Unary))


def _is_of_one_call(maker: Step | None, step: Step) -> bool:
    """Whether the maker of a value, None for an input, and its user run in one call of one function: then a variable has the
    same name in both."""
    if maker is None:
        return not step.place.above
    return maker.place.above == step.place.above and places.function(maker.place) == places.function(step.place)


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.Compare(left=left, comparators=comparators):
            yield from (left, *comparators)
        case ast.Subscript(value=value):
            yield value
        case ast.Call(func=func, args=args, keywords=keywords):
            given = [*args, *(k.value for k in keywords)]
            if isinstance(func, ast.Attribute):
                yield func.value
            for one in given:
                yield from one.elts if isinstance(one, (ast.List, ast.Tuple)) else (one,)


def _literal(node: ast.expr, number: int) -> ast.expr:
    """The only operand of a call that is this number."""
    found = [child for child in _operands(node) if _value(child) == number]
    if len(found) != 1:
        raise NoPython
    return found[0]


def _value(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return -number
    return None
