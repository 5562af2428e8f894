"""The place in the user's Python where something is asked: the line, the frames above it, and the name that it binds."""

from __future__ import annotations

import ast
import contextlib
import dis
import inspect
import linecache
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

import torch

from ...lang.node import Node, replace

# The parts of this package that run while code is traced.
_OWN = tuple(str(Path(__file__).parents[2] / name) for name in ("frontends", "lang", "ops", "sizes"))
_TORCH = (str(Path(torch.__file__).parent), contextlib.__file__, "<frozen", "<row")
# The files of torch's symbolic numbers.
_NUMBERS = tuple(str(Path(torch.__file__).parent / name) for name in ("__init__.py", "fx", "utils"))
_LIBRARY = (*_TORCH, sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), "<string>")
# The function of this package that calls the user's code: frames above it are not the user's.
ENTRY = "run_user_code"
# Exceptions that catch the errors of torch's functions; functions of torch that state a condition.
_CAUGHT = frozenset({"RuntimeError", "Exception", "BaseException"})
_STATING = frozenset({"_assert", "_check", "_check_with", "_check_value", "_check_index", "_check_is_size"})


class PythonPlace(Node):
    """A place in a Python file: its line, columns in bytes from 0, and the places above it (`FILE:LINE`, the outermost
    first)."""

    file: str
    line: int
    start: int
    end: int
    above: tuple[str, ...] = ()
    # The line on which the expression ends.
    last: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def key(self) -> str:
        """A key that is the same for all questions of one expression."""
        return f"{self.file}:{self.line}:{self.start}"

    @property
    def source(self) -> str:
        return linecache.getline(self.file, self.line).strip()


NO_PLACE = PythonPlace("<python>", 0, 0, 0)


def of_function(function: Any) -> PythonPlace:
    """The line at which a function begins."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return NO_PLACE
    text = linecache.getline(code.co_filename, code.co_firstlineno).encode().rstrip()
    return PythonPlace(code.co_filename, code.co_firstlineno, len(text) - len(text.lstrip()), len(text))


_MADE = "_rx_made"


def frames() -> list[FrameType]:
    """The frames of the user's code, the innermost first; those of installed packages if there are no others."""
    found: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != ENTRY:
        if not _is_within(frame.f_code.co_filename):
            found.append(frame)
        frame = frame.f_back
    return [f for f in found if not is_library(f.f_code.co_filename)] or found


def is_of_torch() -> bool:
    """Whether torch's own Python asks, as its modules do about their inputs."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((*_OWN, *_NUMBERS)):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(_TORCH[0])


def is_own(frame: FrameType) -> bool:
    """Whether a frame runs code of torch or of this package."""
    return _is_within(frame.f_code.co_filename)


def is_stating() -> bool:
    """Whether one of torch's functions that state a condition is running."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != ENTRY:
        if frame.f_code.co_name in _STATING and frame.f_code.co_filename.startswith(_TORCH):
            return True
        frame = frame.f_back
    return False


@cache
def _is_within(file: str) -> bool:
    """Whether a file is torch's or of this package."""
    return file.startswith((*_OWN, *_TORCH))


@cache
def is_library(file: str) -> bool:
    """Whether a file is of an installed package or of Python."""
    return file.startswith(_LIBRARY)


def here() -> tuple[PythonPlace, FrameType | None]:
    """The place that runs in the user's code, and its frame."""
    own = frames()
    if not own:
        return NO_PLACE, None
    above = tuple(f"{f.f_code.co_filename}:{f.f_lineno}" for f in reversed(own[1:]))
    line, last, start, end = _position(own[0].f_code, own[0].f_lasti, own[0].f_lineno)
    return PythonPlace(own[0].f_code.co_filename, line, start, end, above, last), own[0]


@contextlib.contextmanager
def following_modules() -> Iterator[None]:
    """During this, each module remembers where it is made."""
    own = torch.nn.Module.__init__

    def init(module: Any, *args: Any, **kwargs: Any) -> None:
        vars(module)[_MADE] = replace(here()[0], above=())
        own(module, *args, **kwargs)

    with patch.object(torch.nn.Module, "__init__", init):
        yield


def made(module: Any) -> PythonPlace:
    """The place where a module was made, used as its place if only torch's own containers call it."""
    found: PythonPlace = vars(module).get(_MADE, NO_PLACE)
    return found


@cache
def _position(code: CodeType, at: int, line: int) -> tuple[int, int, int, int]:
    for n, (first, last, start, end) in enumerate(code.co_positions()):
        if n == at // 2 and first is not None:
            return first, last or first, start or 0, end or 0
    return line, line, 0, 0


def bound_names(place: PythonPlace) -> tuple[str, ...]:
    """The variables that take the value of the expression at a place, or each of its parts if it is unpacked. A target that
    is no variable is ""."""
    return _bindings(place.file).get((place.line, place.start, place.last, place.end), ())


def names_of_parts(place: PythonPlace, call: str) -> int:
    """The number of names that unpack the result of a call at a place; 0 where it is not the whole of an assignment."""
    return len(bound_names(place)) if call in place.source else 0


@cache
def _bindings(file: str) -> dict[tuple[int, ...], tuple[str, ...]]:
    tree, found = parsed(file), dict[tuple[int, ...], tuple[str, ...]]()
    for node in ast.walk(tree) if tree is not None else ():
        match node:
            case ast.Assign(targets=[target, *_], value=value):
                found |= _bound(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                found |= _bound(target, value)
            case ast.AugAssign(target=target):
                found[_span(node)] = _names(target)
            case ast.Tuple(ctx=ast.Store()) | ast.List(ctx=ast.Store()):
                found[_span(node)] = _names(node)
    return found


def _bound(target: ast.expr, value: ast.expr) -> dict[tuple[int, ...], tuple[str, ...]]:
    match target, value:
        case (ast.Tuple(elts=names), ast.Tuple(elts=values)) if len(names) == len(values):
            return {at: bound for pair in zip(names, values, strict=True) for at, bound in _bound(*pair).items()}
    found = {_span(value): _names(target)}
    match value:
        case ast.Call(func=ast.Attribute() as func) if (
            func.end_lineno != value.lineno
        ):  # its place is the method's name
            start = (func.end_lineno or 0, (func.end_col_offset or 0) - len(func.attr))
            found[(*start, *_span(value)[2:])] = _names(target)
    return found


def _names(target: ast.expr) -> tuple[str, ...]:
    each = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    is_open = any(isinstance(one, ast.Starred) for one in each)
    return () if is_open else tuple(one.id if isinstance(one, ast.Name) else "" for one in each)


def _span(node: ast.expr | ast.stmt) -> tuple[int, ...]:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def unpacked(frame: FrameType | None) -> int | None:
    """The number of names in the assignment that unpacks in a frame."""
    found = [i for i in dis.get_instructions(frame.f_code) if i.offset == frame.f_lasti] if frame is not None else []
    return found[0].arg if found and found[0].opname == "UNPACK_SEQUENCE" else None


@cache
def parsed(file: str) -> ast.AST | None:
    """The syntax tree of a file, or None if it is no Python."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None


Spot = tuple[int, int]


def is_stated(place: PythonPlace, answer: bool, asked: Iterable[PythonPlace]) -> bool:
    """Whether the code states the answer to a question, in an `assert` or in an `if` that raises: with the other answer it
    raises in any case. `asked` are the places of earlier questions."""
    return wanted(place, asked) is answer


def wanted(place: PythonPlace, asked: Iterable[PythonPlace] = ()) -> bool | None:
    """The answer that the code needs in order not to raise; None where this answer alone does not decide it."""
    found = _test_at(place.file, place.line, place.start)
    if found is None:
        return None
    test, raises_on = found
    before = {(p.line, p.start) for p in asked if p.file == place.file and _holds(test, (p.line, p.start))}
    return _wanted(test, (place.line, place.start), raises_on, before)


def is_caught(place: PythonPlace) -> bool:
    """Whether the code goes on where torch raises at a place: inside a `try` that catches the error."""
    above = (at.rpartition(":") for at in place.above)
    at = [(place.file, place.line), *((file, int(line)) for file, _, line in above)]
    return any(first <= line <= last for file, line in at for first, last in _tries(file))


@cache
def _tries(file: str) -> list[tuple[int, int]]:
    """The first and last lines of `try` blocks that catch torch's errors."""
    nodes = ast.walk(parsed(file) or ast.Module([], []))
    tries = [n for n in nodes if isinstance(n, ast.Try) and any(map(_goes_on, n.handlers))]
    return [(n.body[0].lineno, n.body[-1].end_lineno or 0) for n in tries]


def _goes_on(handler: ast.ExceptHandler) -> bool:
    names = {n.id for n in ast.walk(handler.type) if isinstance(n, ast.Name)} if handler.type is not None else _CAUGHT
    return not names.isdisjoint(_CAUGHT) and not isinstance(handler.body[-1], ast.Raise)


@cache
def is_in_while(file: str, line: int) -> bool:
    """Whether the innermost loop around a line is a `while`."""
    tree = parsed(file)
    loops = [n for n in ast.walk(tree) if isinstance(n, (ast.While, ast.For))] if tree is not None else []
    around = [n for n in loops if n.lineno <= line <= (n.end_lineno or 0)]
    return bool(around) and isinstance(max(around, key=lambda n: n.lineno), ast.While)


@cache
def _test_at(file: str, line: int, start: int) -> tuple[ast.expr, bool] | None:
    """The test around a place, and its value with which the code raises."""
    tree = parsed(file)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.Assert, ast.If)) and _holds(node.test, (line, start)):
            if isinstance(node, ast.Assert):
                return node.test, False
            raising = [any(isinstance(s, ast.Raise) for s in side) for side in (node.orelse, node.body)]
            return (node.test, raising[True]) if any(raising) and not all(raising) else None
    return None


@cache
def expression(place: PythonPlace) -> ast.expr | None:
    """The expression at a place; a method call on several lines may have the place of the method's name."""
    tree = parsed(place.file)
    found = [n for n in ast.walk(tree) if isinstance(n, ast.expr)] if tree is not None else []
    ends = [n for n in found if (n.end_lineno, n.end_col_offset) == (place.last or place.line, place.end)]
    whole = next((n for n in ends if (n.lineno, n.col_offset) == (place.line, place.start)), None)
    methods = [n for n in ends if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    return whole or next((n for n in methods if n.func.end_lineno == place.line != n.lineno), None)


def function(place: PythonPlace) -> tuple[str, Spot]:
    """The innermost function around a place: its file and its beginning."""
    tree, at = parsed(place.file), (place.line, place.start)
    nodes = ast.walk(tree) if tree is not None else ()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    begins = [(n.lineno, n.col_offset) for n in nodes if isinstance(n, kinds) and _holds(n, at)]
    return place.file, max(begins, default=(0, 0))


def _holds(node: ast.expr | ast.stmt, at: Spot) -> bool:
    return (node.lineno, node.col_offset) <= at <= (node.end_lineno or 0, node.end_col_offset or 0)


def _wanted(test: ast.expr, at: Spot, raises_on: bool, asked: set[Spot]) -> bool | None:
    """The answer at a place in a test that keeps the test from being `raises_on`; None where other parts decide as well."""
    match test:
        case ast.BoolOp():
            inside = next((n for n, v in enumerate(test.values) if _holds(v, at)), None)
            if inside is None:
                return None
            is_one_enough = isinstance(test.op, ast.Or) is raises_on
            is_alone = inside == len(test.values) - 1 and not any(
                _holds(value, spot) for value in test.values[:-1] for spot in asked
            )
            return _wanted(test.values[inside], at, raises_on, asked) if is_one_enough or is_alone else None
        case ast.UnaryOp(op=ast.Not()):
            return _wanted(test.operand, at, not raises_on, asked)
        case ast.Compare() if len(test.ops) > 1:
            return None if raises_on else True
        case ast.Call(func=ast.Name(id="any" | "all" as name)):
            return not raises_on if (name == "any") is raises_on else None
        case ast.Compare() | ast.Name() | ast.Attribute() | ast.Subscript() | ast.BinOp():
            return not raises_on
    return not raises_on if at == (test.lineno, test.col_offset) else None


def of_traceback(problem: BaseException) -> PythonPlace:
    """The place where the user's code raised, or called code that raised."""
    at, found, place = problem.__traceback__, [], NO_PLACE
    while at is not None:
        code, own = at.tb_frame.f_code, at.tb_frame.f_locals.get("self")
        place = made(own) if isinstance(own, torch.nn.Module) and made(own).line else place
        if not _is_within(code.co_filename):
            found.append((code, at.tb_lasti, at.tb_lineno))
        at = at.tb_next
    found = [f for f in found if not is_library(f[0].co_filename)] or found
    if not found:
        return place
    code, lasti, lineno = found[-1]
    line, last, start, end = _position(code, lasti, lineno)
    above = tuple(f"{c.co_filename}:{n}" for c, _, n in found[:-1])
    return PythonPlace(code.co_filename, line, start, end, above, last)
