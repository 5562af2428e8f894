"""Programs in the small notation of the shape bugs, as Rx: one statement of the notation becomes one line."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from . import bug_notation as notation

Unmapped: type[Exception] = notation.Unmapped
DECLARATIONS = ("in ", "param ", "size ")


def statements(row: dict[str, Any]) -> list[str]:
    return [part.strip() for part in row["ops"].split(";") if part.strip()]


def program(row: dict[str, Any]) -> str:
    """The row as an Rx program."""
    return Translation(row).text()


class Translation(notation.Notation):  # type: ignore[misc, name-defined]
    """One row: parameters from `in`, `param` and `size`, the body from the rest, in the order of the notation."""

    def __init__(self, row: dict[str, Any]) -> None:
        super().__init__()
        self.statements = statements(row)
        self.conditions: list[str] = []
        self.body: list[str] = []
        self.sizes: set[str] = set()
        self.line_of_statement: dict[int, tuple[str, int]] = {}
        self._sizes_of_types = self._names_of_sizes()
        for position, statement in enumerate(self.statements):
            self._statement(position, statement)

    def text(self) -> str:
        lines = [line for helper in self.helpers.values() for line in helper.split("\n")]
        where = f" where {', '.join(self.conditions)}" if self.conditions else ""
        lines.append("@main = fn(")
        lines.extend(f"  {p}," for p in self.params)
        lines.append(f") : Tensor{where} {{")
        lines.extend(f"  {line}" for line in self.body)
        return "\n".join([*lines, "  0", "}", ""])

    def line(self, position: int) -> int:
        """The line of the program that a statement became."""
        kind, index = self.line_of_statement[position]
        before = sum(helper.count("\n") + 1 for helper in self.helpers.values()) + 2
        return before + index + (len(self.params) + 1 if kind == "body" else 0)

    # Names

    def _names_of_sizes(self) -> set[str]:
        found: set[str] = set()
        for statement in self.statements:
            if shape := re.search(r":\s*(\[.*\])", statement):
                found.update(re.findall(r"[A-Za-z_]\w*", shape[1]))
            if names := re.match(r"size (.*)", statement):
                found.update(re.findall(r"\w+", names[1]))
        return found

    def _bind(self, name: str, dtype: str) -> str:
        self.dtypes[name] = dtype
        shown = name
        while shown in self._sizes_of_types or shown in ("in", "fn", "as", "let", "if"):
            shown += "_"
        self.tensors[name] = shown
        return shown

    # Statements

    def _statement(self, position: int, statement: str) -> None:
        word, _, rest = statement.partition(" ")
        add: Callable[[str], None] | None = {
            "in": self._parameter, "param": self._parameter, "size": self._size, "let": self._let,
            "assume": self._assume, "match": self._match,
        }.get(word)  # fmt: skip
        kind = "params" if word in ("in", "param", "size") else "body"
        self.line_of_statement[position] = (kind, len(self.params if kind == "params" else self.body))
        if add is not None:
            return add(rest)
        targets, _, expr = statement.partition("=")
        self.claimed = ""
        value, dtype = self.typed(ast.parse(expr.strip(), mode="eval").body)
        names = [self._bind(t.strip(), dtype) for t in targets.split(",")]
        target = names[0] if len(names) == 1 else f"({', '.join(names)})"
        self.body.append(f"let {target}{f' ! {self.claimed}' if self.claimed else ''} = {value}")
        return None

    def _parameter(self, rest: str) -> None:
        found = re.fullmatch(r"(\w+)\s*:\s*(\[.*\])\s*(\w+)?", rest)
        if found is None:
            raise Unmapped(rest)
        dims = ast.parse(found[2], mode="eval").body
        assert isinstance(dims, ast.List)
        shape = ", ".join(self.size(d, inline=True) for d in dims.elts)
        self.sizes.update(self._names(dims))
        dtype = notation.DTYPES.get(found[3] or "f32", found[3])
        self.params.append(f"{self._bind(found[1], dtype)} : Tensor([{shape}], {dtype})")

    def _size(self, rest: str) -> None:
        for name in re.findall(r"\w+", rest):
            self.params.append(f"{name} : Size")
            self.conditions.append(f"{name} >= 0")
            self.sizes.add(name)

    def _let(self, rest: str) -> None:
        name, _, expr = (p.strip() for p in rest.partition("="))
        tree = ast.parse(expr, mode="eval").body
        self.body.append(f"let {name} : Size = {self.size(tree)}")
        self.lets[name] = self.size(tree, inline=True)
        self.sizes.add(name)

    def _assume(self, rest: str) -> None:
        self.body.append(f"assert {self.size(ast.parse(rest, mode='eval').body)}")

    def _match(self, rest: str) -> None:
        name, _, shape = (p.strip() for p in rest.partition(":"))
        dims = ast.parse(shape, mode="eval").body
        new = [n for n in self._names(dims) if n not in self.sizes]
        self.sizes.update(new)
        self.body.append(f"match_shape({self.tensor(name)}, [{', '.join(new)}], {self.shape(dims)})")

    def _names(self, tree: ast.AST) -> list[str]:
        return list(dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name)))


LOSSES = ("mse", "sparse_xent", "softmax_xent", "nll", "cross_entropy", "bce", "kl_div", "l1_loss", "same")
# What a hint speaks of, in the words of the program that had the bug, and the notation's operations for it.
HINTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"loss|cross_entropy|criterion", (*LOSSES, "mean")),
    (r"feed|fit|match|predict|sess\.run|while_loop|dynamic_rnn|weights=|result|return", ("match",)),
    (r"transpose|convt", ("conv2d_transpose_check",)),
    (r"matmul", ("matmul2d", "matmul")),
    (r"conv\w*2d", ("conv2d",)),
    (r"concat", ("concat",)),
    (r"\b(case|cond)\b", ("join",)),
    (r"tf\.where", ("select",)),
    (r"imread", ("let",)),
    (r"pred-y", ("sub",)),
    (r" \+ ", ("add",)),
    (r"sets\.", ("rank_at_least",)),
    (r"gather", ("take",)),
    (r"reshape|flat", ("reshape",)),
    (r"zeropadding", ("zeropad2d",)),
    (r"decoder_layer", ("linear",)),
    (r"lstm", ("rnn",)),
    (r"item", ("scalar",)),
)


def line_of(row: dict[str, Any], text: str) -> int:
    """The line of the program where the row's `line_hint` puts the blame."""
    translation = Translation(row)
    assert translation.text() == text
    return translation.line(statement_of(row))


def statement_of(row: dict[str, Any]) -> int:
    """The statement that a hint means: what it assigns, else the first one that does what it speaks of, else the last."""
    hint, every = row["line_hint"], statements(row)
    target = re.match(r"(\w+)( = |$)", hint)
    for position, statement in enumerate(every):
        if target and re.match(rf"(match )?{target[1]}( =| :)", statement) and not statement.startswith("in "):
            asserted = [i for i, s in enumerate(every) if s.startswith(f"match {target[1]} ")]
            return asserted[-1] if asserted and not target[2] else position
    for pattern, operations in HINTS:
        if re.search(pattern, hint, re.IGNORECASE):
            # Of several reshapes the last one makes the flat features.
            order = reversed(range(len(every))) if operations == ("reshape",) else range(len(every))
            for position in order:
                statement = every[position]
                if any(re.search(rf"\b{o}(\(| )", statement) for o in operations):
                    return position
    meant = {notation.operation(word) for word in re.findall(r"[A-Za-z_]\w*", hint)}
    for position, statement in enumerate(every):
        if meant & {notation.operation(word) for word in re.findall(r"(\w+)\(", statement)}:
            return position
    calls = [i for i, s in enumerate(every) if not s.startswith((*DECLARATIONS, "match ", "assume ", "let "))]
    return calls[-1] if calls else len(every) - 1
