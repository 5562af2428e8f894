"""The concise form of a core program: an annotation's assertions about a binding become a comment below it.

let out = @matmul_impl(x, y)
# out's shape = [x.dim(0), y.dim(1)]
# out's dtype = x.dtype
# out's is_assertion = true
# out's checks = out.rank == 2; out.dim(0) == x.dim(0); out.dim(1) == y.dim(1); out.dtype == x.dtype

Other assertions stay statements. Only names that the core binds are used; a size without one is written `x.dim(1)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from ..lang import core
from ..lang.checked import Binding, Checked, FunctionShapes
from ..lang.core_printer import Comment, Place, print_expr, print_program
from ..lang.dtypes import DTYPES
from ..lang.node import Node, replace
from ..lang.source import Span
from ..lang.walk import rewrite, walk

# Stands for a line end in a comment while the program is printed: a character that no program contains.
_BREAK = "\ue000"
_HEAD = re.compile(r"(?:inline|private|extern) @(\S+) = fn\(.*\{")
_NAME = re.compile(r"(?<![.\w'])[^\W\d]\w*'*(?!\()")

Check = core.Assert | core.MatchShape
Key = tuple[str, Span]
T = TypeVar("T", bound=Node)


def print_annotated(program: core.Program, checked: Checked, comment: Comment) -> str:
    """The program with a comment below each binding, and comments for the parameters at the start of each function; `checked`
    has the program before and after simplification, `comment` gives the comments of the remaining statements."""
    notes = _Notes(checked.program, checked.shapes)
    for function in (*checked.before.functions, *((checked.before.main,) if checked.before.main else ())):
        notes.function(function)
    functions = tuple(notes.function(f) for f in program.functions)
    main = notes.function(program.main) if program.main is not None else None
    text = print_program(replace(program, functions=functions, main=main), lambda place: notes.said(place, comment))
    return "".join(f"{line}\n" for line in _lines(text.splitlines(), notes.entry_checks))


class _Notes:
    """The comments of a program, collected while the assertions of annotations are removed."""

    def __init__(self, checked: core.Program, shapes: Sequence[FunctionShapes]) -> None:
        everything = (*checked.functions, *((checked.main,) if checked.main else ()))
        self.checked = {f.name: f for f in everything}
        self.wrappers = {f.impl: f for f in everything if f.impl is not None}
        self.shapes = {s.name: s for s in shapes}
        self.entry_checks: dict[str, list[str]] = {}
        self.comments: dict[Key, list[str]] = {}
        # The assertions from annotations, whatever their status.
        self.written: dict[Key, list[Check]] = {}

    def said(self, place: Place, comment: Comment) -> str | None:
        lines = [line for n in place.names for line in self._of(n, place)] if isinstance(place, core.Let) else []
        return f"{_BREAK}{_BREAK.join(lines)}{_BREAK}" if lines else comment(place)

    def _of(self, name: str, let: core.Let) -> list[str]:
        return self.comments.get((name, let.span), [])

    def function(self, function: core.Function) -> core.Function:
        """The function without the assertions from annotations."""
        wrapper = self.wrappers.get(function.name)
        scope = _Scope(function, self.checked, self.shapes, wrapper)
        made = _entry_check(wrapper or function)
        self.entry_checks[function.name] = [
            line for p in function.params if p.sort == core.TENSOR
            for line in scope.facts(p.name, made.get(p.name, ()), None, wrapper is None, made.get(p.name, ()))
        ]  # fmt: skip
        checks = tuple(s for s in function.checks if not any(s is c for own in made.values() for c in own))
        everything = (*function.body.stmts, *function.promises)
        kept = self._without(everything, scope)
        after = len(function.body.stmts) - sum(not any(s is k for k in kept) for s in function.body.stmts)
        stmts = tuple(self._inner(s, scope) for s in kept[:after])
        body = replace(function.body, stmts=stmts, result=self._inner(function.body.result, scope))
        return replace(function, checks=checks, body=body, promises=kept[after:])

    def _without(self, stmts: tuple[core.Stmt, ...], scope: _Scope) -> tuple[core.Stmt, ...]:
        """The statements without the assertions from annotations; each binding gets its comment."""
        bound: dict[str, core.Let] = {}
        made: dict[Key, list[Check]] = {}
        kept: list[core.Stmt] = []
        for stmt in stmts:
            tensor = _annotated(stmt)
            let = bound.get(tensor) if tensor is not None else None
            if isinstance(stmt, core.Let):
                bound |= dict.fromkeys(stmt.names, stmt)
            if let is not None and tensor is not None and isinstance(stmt, Check):
                made.setdefault((tensor, let.span), []).append(stmt)
            else:
                kept.append(stmt)
        for stmt in (s for s in kept if isinstance(s, core.Let)):
            for name in stmt.names:
                key = name, stmt.span
                own = made.get(key, [])
                self.comments[key] = scope.facts(name, own, stmt, True, self.written.setdefault(key, own))
        return tuple(kept)

    def _inner(self, node: T, scope: _Scope) -> T:
        """Apply `_without` to every block inside."""

        def change(inner: Node) -> Node:
            return replace(inner, stmts=self._without(inner.stmts, scope)) if isinstance(inner, core.Block) else inner

        return rewrite(node, change)


def _entry_check(function: core.Function) -> dict[str, tuple[core.Assert, ...]]:
    """The entry assertions on each parameter's rank, sizes and dtype."""
    found: dict[str, list[core.Assert]] = {p.name: [] for p in function.params}
    for stmt in function.checks:
        tensor = _annotated(stmt)
        if tensor in found and isinstance(stmt, core.Assert):
            found[tensor].append(stmt)
    return {name: tuple(checks) for name, checks in found.items()}


def _annotated(stmt: core.Stmt) -> str | None:
    """The tensor that an annotation's assertion is about, if it concerns a rank, a size or a dtype."""
    if not isinstance(stmt, core.Assert) or stmt.message is not None or stmt.origin.declared is None:
        return None
    return stmt.origin.declared.tensor if stmt.origin.what in ("rank", "dim", "dtype") else None


class _Scope:
    """The facts that comments in one function may state."""

    def __init__(
        self,
        function: core.Function,
        checked: Mapping[str, core.Function],
        shapes: Mapping[str, FunctionShapes],
        wrapper: core.Function | None,
    ) -> None:
        after = checked.get(function.name, function)
        described = shapes.get(f"@{(wrapper or function).name}")
        self.bound = {p.name for p in function.params} | set(_bound(function))
        self.found = {(b.name, b.span): b for b in described.bindings} if described is not None else {}
        promises = (wrapper or after).promises
        # A fact known at the end may depend on a check after the binding.
        self.end = _last_check(after) if not any(isinstance(s, Check) for s in promises) else None

    def facts(
        self, name: str, checks: Sequence[Check], let: core.Let | None, asserted: bool, written: Sequence[Check]
    ) -> list[str]:
        """The comment lines of one binding, from its remaining assertions of those that were `written`; in an implementation,
        the wrapper's assertions are facts."""
        binding = self.found.get((name, let.span)) if let is not None else None
        if let is not None and not written and (binding is None or binding.sort != "Tensor"):
            return []
        known = binding if let is not None and self.end is not None and let.span.start >= self.end else None
        told = {"shape": self._shape(name, written, known), "dtype": self._dtype(name, written, known)}
        told["is_assertion"] = str(bool(checks) and asserted).lower()
        if checks and asserted:
            told["checks"] = "; ".join(map(_text, checks))
        return [f"{name}'s {what} = {value}" for what, value in told.items()]

    def _shape(self, name: str, checks: Sequence[Check], known: Binding | None) -> str:
        ranks = (right for kind, _, right in _equations(checks) if kind is core.RankOf)
        rank = next((right.value for right in ranks if isinstance(right, core.SizeLit)), None)
        inferred = known.shape if known is not None else None
        rank = len(inferred) if rank is None and inferred is not None else rank
        if rank is None:
            return f"{name}.shape"
        dims = [f"{name}.dim({i})" for i in range(rank)]
        if inferred is not None and len(inferred) == rank:
            dims = [str(d) if self._is_bound(str(d)) else own for d, own in zip(inferred, dims, strict=True)]
        for kind, axis, right in _equations(checks):
            if kind is core.DimOf and -rank <= axis < rank and self._is_bound(print_expr(right)):
                dims[axis] = print_expr(right)
        return f"[{', '.join(dims)}]"

    def _dtype(self, name: str, checks: Sequence[Check], known: Binding | None) -> str:
        asserted = [print_expr(right) for kind, _, right in _equations(checks) if kind is core.DTypeOf]
        inferred = [known.dtype] if known is not None and known.dtype in DTYPES else []
        return next(
            (text for text in (*asserted, *inferred) if text in DTYPES or self._is_bound(text)), f"{name}.dtype"
        )

    def _is_bound(self, text: str) -> bool:
        return "?" not in text and self.bound.issuperset(_NAME.findall(text))


def _bound(function: core.Function) -> Iterator[str]:
    for node in walk(function.checks, function.body, function.promises):
        if isinstance(node, core.Let):
            yield from node.names
        elif isinstance(node, core.MatchShape):
            yield from node.binds


def _last_check(function: core.Function) -> int:
    """The start of the last check that runs in the body."""
    places = [
        n.span.start for n in walk(function.body)
        if isinstance(n, Check) and n.status is not core.Status.PROVED or isinstance(n, core.Call) and n.guard
    ]  # fmt: skip
    return max(places, default=0)


def _equations(checks: Sequence[Check]) -> Iterator[tuple[type[Node], int, core.ShapeLevel]]:
    """The asserted equations: the kind of quantity, its axis, and its value."""
    for check in checks:
        cond = check.cond if isinstance(check, core.Assert) else None
        if isinstance(cond, core.Compare) and cond.op == "==":
            axis = cond.left.axis if isinstance(cond.left, core.DimOf) else 0
            yield type(cond.left), axis, cond.right


def _text(check: Check) -> str:
    """An assertion, with its status if that is known."""
    text = print_expr(check.cond) if isinstance(check, core.Assert) else ""
    return text if check.status is core.Status.OPEN else f"{text} ({check.status.value})"


# Comments on lines of their own


def _lines(printed: Sequence[str], entry_checks: Mapping[str, list[str]]) -> Iterator[str]:
    """The comments of a statement on lines of their own below it; those of parameters below the head."""
    for line in printed:
        code, comments = _apart(line)
        yield code
        indent = line[: len(line) - len(line.lstrip())]
        yield from (f"{indent}# {comment}" for comment in comments)
        head = _HEAD.fullmatch(line)
        yield from (f"  # {fact}" for fact in (entry_checks.get(head[1], ()) if head else ()))


def _apart(line: str) -> tuple[str, list[str]]:
    """A line without the comments that belong below it, and these comments."""
    if _BREAK not in line:
        return line, []
    before, *comments, after = line.split(_BREAK)
    rest = after.removeprefix("; ")
    return f"{before}{rest}" if rest else before.removesuffix("  # "), comments
