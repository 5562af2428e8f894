"""The concise form of a core program: instead of assertions, comments that say what holds of each binding.

let out = @matmul_impl(x, y)
# out's shape = [m, n]
# out's dtype = int8
# out's is_assertion = false
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..lang import core
from ..lang.checked import Binding, FunctionShapes
from ..lang.core_printer import print_program
from ..lang.node import Node, replace
from ..lang.source import Span
from ..lang.walk import rewrite, walk

# Stands for a line end in a comment while the program is printed: a character that no program needs.
_BREAK = "\ue000"
_HEAD = re.compile(r"(?:inline|private|extern) @(\S+) = fn\(.*\{")

Check = core.Assert | core.MatchShape
Comments = dict[tuple[tuple[str, ...], Span], str]


def print_annotated(program: core.Program, shapes: Sequence[FunctionShapes]) -> str:
    """The program with a comment below each binding, and one for each parameter at the begin of its function."""
    known, owners = {function.name: function for function in shapes}, core.owners(program)
    comments: Comments = {}
    doors: dict[str, list[str]] = {}
    for function in (*program.functions, *((program.main,) if program.main else ())):
        described = known.get(f"@{owners.get(function.name, function.name)}")
        if described is not None:
            doors[function.name] = _door(function, described)
            comments.update(_body(function, described))
    text = print_program(_bare(program), lambda place: _said(place, comments))
    return "".join(f"{line}\n" for line in _lines(text.splitlines(), doors))


def _said(place: core.Stmt | core.Call, comments: Comments) -> str | None:
    return comments.get((place.names, place.span)) if isinstance(place, core.Let) else None


def _door(function: core.Function, described: FunctionShapes) -> list[str]:
    """What holds of the parameters; it is asserted in the wrapper, and so a fact in the implementation."""
    asserted = _asserted(function.checks)
    params = {p.name for p in function.params}
    return [line for b in described.params if b.name in params for line in _facts(b.name, b, b.name in asserted)]


def _body(function: core.Function, described: FunctionShapes) -> Comments:
    """What holds of each `let`, the nth binding of a name for the nth `let` of it."""
    found: dict[str, list[Binding]] = {}
    for binding in described.bindings:
        found.setdefault(binding.name, []).append(binding)
    asserted = _asserted((*function.body.stmts, *function.promises))
    comments: Comments = {}
    for let in (n for n in walk(function.checks, function.body, function.promises) if isinstance(n, core.Let)):
        for name in let.names:
            if found.get(name):
                facts = _facts(name, found[name].pop(0), name in asserted)
            elif function.kind == "inline" and described.result and isinstance(let.value, core.Call):
                facts = _facts(name, described.result, name in asserted)
            else:
                continue
            key = let.names, let.span
            comments[key] = _BREAK.join([comments[key], *facts] if key in comments else facts)
    return comments


def _asserted(stmts: Iterable[core.Stmt]) -> set[str]:
    """The tensors that the checks are about."""
    checks = (s for s in stmts if isinstance(s, Check) and s.status is not core.Status.PROVED)
    return {s.origin.declared.tensor for s in checks if s.origin.declared is not None}


def _facts(name: str, binding: Binding, asserted: bool) -> list[str]:
    if binding.sort != "Tensor":
        return []
    shape = "?" if binding.shape is None else f"[{', '.join(map(str, binding.shape))}]"
    told = {"shape": shape, "dtype": binding.dtype, "is_assertion": str(asserted or binding.asserted).lower()}
    return [f"{name}'s {what} = {value}" for what, value in told.items()]


# The program without its checks


def _bare(program: core.Program) -> core.Program:
    return rewrite(program, _without_checks)


def _without_checks(node: Node) -> Node:
    if isinstance(node, core.Function):
        return replace(node, checks=_kept(node.checks), promises=_kept(node.promises))
    if isinstance(node, core.Lambda):
        return replace(node, checks=_kept(node.checks))
    return replace(node, stmts=_kept(node.stmts)) if isinstance(node, core.Block) else node


def _kept(stmts: tuple[core.Stmt, ...]) -> tuple[core.Stmt, ...]:
    return tuple(s for s in stmts if not isinstance(s, Check))


# Comments on lines of their own


def _lines(printed: Iterable[str], doors: Mapping[str, list[str]]) -> Iterator[str]:
    """What stands behind a statement is put below it, line by line; what holds of the parameters below the head."""
    for line in printed:
        code, mark, said = line.partition("  # ")
        comments = said.split(_BREAK) if mark and _BREAK in said else []
        yield code if comments else line
        indent = line[: len(line) - len(line.lstrip())]
        yield from (f"{indent}# {comment}" for comment in comments)
        head = _HEAD.fullmatch(line)
        yield from (f"  # {fact}" for fact in (doors.get(head[1], ()) if head else ()))
