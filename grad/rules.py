"""A primitive's gradient as Rx: from rules.txt, or by the form of the call (written.py)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ..lang import core
from ..lang.core_printer import print_expr
from ..lang.node import Node
from ..lang.walk import rewrite
from ..ops.dtypes_column import parse_dtypes
from ..ops.model import TENSORS, Primitive, PrimitiveParam
from ..ops.page import default_text
from .texts import Texts, axes_of, items_of
from .written import COMPOSED, LISTS, WRITTEN

_WORD = re.compile(r"(?<![@.\w'])[A-Za-z_][\w']*(?!\s*=[^=])")
_MAYBE = re.compile(r"<<(.*?)>>")
_LOCAL = re.compile(r"let (?:\(([\w, ]+)\)|(\w+))|match_shape\(\w+, \[([\w, ]+)\]")
# The conditions of a row (attributes and their texts), and its text.
Row = tuple[tuple[tuple[str, str], ...], str]


@cache
def table() -> tuple[dict[str, list[Row]], frozenset[str]]:
    """Return the rows of rules.txt by `primitive.operand`, or by primitive if it is composed of others; and the primitives
    without gradients."""
    rows: dict[str, list[Row]] = {}
    still: set[str] = set()
    text = Path(__file__).with_name("rules.txt").read_text(encoding="utf-8")
    for line in re.sub(r"\n +", "\0", re.sub(r" =\n +", " = ", text)).splitlines():
        head, _, said = line.partition(" = ")
        if not line or line.startswith("#"):
            continue
        names, *guards = re.split(r"(?<!,) ", head)
        if not said:
            still.add(line)
        for name in names.split(", "):
            held = tuple((a, b) for a, _, b in (g.partition("=") for g in guards))
            rows.setdefault(name, []).append((held, said.replace("\0", "\n").strip()))
    return rows, frozenset(still)


def is_still(name: str) -> bool:
    """Whether a primitive has no gradient for any operand."""
    return name in table()[1]


def _row(key: str, texts: Texts) -> str | None:
    """Return the text of rules.txt for a call."""
    rows = table()[0].get(key, [])
    return next(
        (t for held, t in rows if t and all((texts.get(a.rstrip("!")) == b) is (a[-1] != "!") for a, b in held)), None
    )


def composition(name: str, texts: Texts, fresh: Callable[[str], str]) -> str | None:
    """Return a call's primitive in terms of others."""
    written = COMPOSED.get(name)
    text = (written(texts) if written is not None else None) or _row(name, texts)
    return None if text is None else "\n".join(locals_apart(text, texts, fresh))


def rule_of(name: str, operand: str, texts: Texts, items: tuple[core.Value, ...], place: int) -> str | None:
    """Return the gradient of an operand, or of one of a list; None if there is no rule."""
    if (name, operand) in LISTS:
        return LISTS[name, operand](texts, [print_expr(i) for i in items], place)
    written: Callable[[Texts], str | None] | None = WRITTEN.get(f"{name}.{operand}")
    return written(texts) if written is not None else _row(f"{name}.{operand}", texts)


def takes_floats(row: Primitive, operand: str) -> bool:
    """Whether an operand may consist of floats."""
    places = [p.name for p in row.params if p.kind in TENSORS]
    word = parse_dtypes(row.dtypes).inputs[places.index(operand)] if operand in places else None
    return word is not None and (not word.classes or bool(_FLOATS & set(word.classes)))


_FLOATS = frozenset({
    "any", "numeric", "inexact", "floating", "real", "ordered", "complex", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128",
})  # fmt: skip


def texts_of(row: Primitive, call: core.Call) -> tuple[Texts, dict[str, core.Value]]:
    """Return the words of a rule for a call, and the call's arguments by the names of their parameters."""
    given = {a.name or row.params[i].name: a.value for i, a in enumerate(call.args)}
    texts: Texts = {}
    for param in row.params:
        value = given.get(param.name)
        if value is not None:
            texts |= _said(param, value)
        else:
            texts[param.name] = _default(param.default)
    if "keepdims" in texts:
        is_kept = texts["keepdims"] == "true" or texts.get("axis", "none") == "none"
        for name in ("g", "out"):
            texts[f"{name}'"] = name if is_kept else f"@expand_dims({name}, axis={texts['axis']})"
        texts["number"] = filled(_number(texts.get("axis", "none")), texts)
    return texts, given


def _number(axis: str) -> str:
    """Return the number of elements that a reduction combines."""
    axes = None if axis == "none" else axes_of(axis)
    sizes = " * ".join(f"x.dim({a})" for a in axes or ())
    return f"@size_to_tensor({sizes or 1}, x.dtype)" if axes is not None else "@cast(@size(x), x.dtype)"


def _said(param: PrimitiveParam, value: core.Value) -> Texts:
    """Return the words for a parameter and for the items of a list, and the value's kind."""
    texts = {param.name: print_expr(rewrite(value, _apart)), f"{param.name} kind": _kind(value)}
    if param.kind == "float" and isinstance(value, core.Number):
        texts[param.name] = _default(float(value.value))
    for i, item in enumerate(items_of(texts[param.name]) or ()):
        texts[f"{param.name}_{i}"] = item
        if item.startswith("("):
            texts |= {f"{param.name}_{i}_{j}": t for j, t in enumerate(items_of(f"[{item[1:-1]}]") or ())}
    return texts


def _apart(node: Node) -> Node:
    """Put parentheses around a size expression, which a rule may use beside operators."""
    return core.SizeVar(node.span, f"({print_expr(node)})") if isinstance(node, core.SizeOp) else node


def _kind(value: core.Value) -> str:
    if isinstance(value, core.SizeLit | core.Number):
        return "number"
    return "tensor" if isinstance(value, core.Var | core.TensorLit) else "size"


def _default(default: object) -> str:
    return default_text(default).replace("inf", "1e999")


def words_of(text: str) -> set[str]:
    """Return the names in a text."""
    return set(_WORD.findall(text))


def filled(text: str, words: Texts) -> str:
    """Replace names in a text by words; a part in << >> is left out if one of its words is not given."""

    def part(found: re.Match[str]) -> str:
        return "" if any(words.get(w) == "none" for w in words_of(found[1])) else found[1]

    return _WORD.sub(lambda found: words.get(found.group(), found.group()), _MAYBE.sub(part, text))


def locals_apart(text: str, words: Texts, fresh: Callable[[str], str], made: dict[str, str] | None = None) -> list[str]:
    """Fill in a text and return its statements, with the result last; the names that it binds become fresh. A statement in
    `made` keeps its name from there, and is not repeated."""
    *stmts, last = _split(text)
    words, lines = dict(words), []
    for stmt in stmts:
        found = _LOCAL.match(stmt)
        assert found is not None
        new = [n for group in found.groups() if group for n in re.split(r",\s*", group) if n not in ("_", "")]
        before, is_let = words, stmt.startswith("let")
        rest = filled(stmt[found.end() :], before)
        if made is not None and is_let and rest in made:
            words = words | {new[0]: made[rest]}
            continue
        named = {n: fresh(n) for n in new}
        words = words | named
        if made is not None and is_let and found[2]:
            made[rest] = named[new[0]]
        head = filled(found.group(), words if is_let else before | named)
        lines.append(head + (rest if is_let else filled(stmt[found.end() :], before | named)))
    return [*lines, filled(last, words)]


def _split(text: str) -> list[str]:
    """Return the statements of a text, and its result."""
    parts = []
    while text.startswith(("let ", "match_shape", "assert ")):
        stmt, _, text = text.partition("\n")
        parts.append(stmt)
    return [*parts, text]
