"""Kernels that are one expression, as rows of text: names of primitives, and an expression over their parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...ops import registry
from ...ops.model import Primitive
from ..engine_types import Kernel, RunValue

Space = dict[str, RunValue]
# The primitives for the operators in a composition.
_OPERATORS: dict[type, str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.USub: "negative", ast.Lt: "less",
    ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal",
}  # fmt: skip


def kernels(
    text: str, space: Space, first: str = "", reader: type[Reader] | None = None
) -> Iterator[tuple[str, Kernel]]:
    """The rows `NAMES | EXPRESSION` as functions of `first` and of a primitive's parameters; `space` has the other names."""
    for line in text.strip().replace("\n    ", " ").splitlines():
        names, _, expression = line.partition(" | ")
        for name in names.split():
            row = registry.lookup(name)
            assert row is not None, name
            params = ", ".join([*([first] if first else []), *(p.name for p in row.params)])
            tree = ast.parse(f"lambda {params}: {expression}", mode="eval")
            read = tree if reader is None else ast.fix_missing_locations(reader(row, tree).visit(tree))
            yield name, eval(compile(read, f"<@{name}>", "eval"), space)


class Reader(ast.NodeTransformer):
    """Reads a row: `own` are the names that it binds."""

    def __init__(self, row: Primitive, tree: ast.AST) -> None:
        self.row = row
        bound = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.own = bound | {p.name for p in row.params}


class Composed(Reader):
    """Reads a composition: names of primitives and operators become calls of `ops`; between numbers operators stay
    Python's."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        is_ours = node.id not in self.own and (node.id in ("named", "dtype_of") or registry.lookup(node.id) is not None)
        return _of("ops", node.id) if is_ours else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return self._called(node, node.op, node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        return self._called(node, node.op, node.operand)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        return self._called(node, node.ops[0], node.left, *node.comparators)

    def _called(self, node: ast.expr, op: ast.AST, *operands: ast.expr) -> ast.expr:
        self.generic_visit(node)
        if type(op) not in _OPERATORS or all(isinstance(o, ast.Constant) for o in operands):
            return node
        children = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
        return ast.Call(_of("ops", _OPERATORS[type(op)]), children, [])


class Nodes(Reader):
    """Reads a kernel that writes nodes: a name in capitals is an operator of ONNX, and its tensor operands become names of
    values."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or not node.func.id[0].isupper():
            return node
        tensors = {p.name for p in self.row.params if p.kind == "tensor"}
        args = [_of(a.id, "value") if isinstance(a, ast.Name) and a.id in tensors else a for a in node.args]
        return ast.Call(_of("e", "node"), [ast.Constant(node.func.id), *args], node.keywords)


def _of(name: str, attribute: str) -> ast.expr:
    return ast.Attribute(ast.Name(name, ast.Load()), attribute, ast.Load())
