"""The texts of `--arg` and `--init`: names with Python expressions, in which `float32[b, 3, h, w]` declares an input."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...lang.expressions import names_in
from ...lang.node import Node
from ..onnx.names import RESERVED

# The dtypes of declared inputs; `float32[]` is no Python, so `_SCALAR` replaces it.
DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip
_SCALAR = re.compile(rf"\b({'|'.join(DTYPES)})\[\s*\]")
_LIKE = {"--arg": "x=float32[b, 3]", "--init": "dim=64, heads=4"}
# The name of the inputs in a compiled expression.
_INPUTS = "__rx_inputs__"


class UnreadInput(ValueError):
    """A text that is no argument; the message says why."""


class DeclaredInput(Node):
    """A declared input: `float32[b, 3, h, w]`; a Size has no dtype, and its name as its shape."""

    dtype: str | None
    shape: tuple[int | str, ...]


class WrittenArgument(Node):
    """An argument as it was written: its name, the option, and its expression with the declared inputs."""

    name: str
    option: str
    code: Any
    inputs: tuple[DeclaredInput, ...]

    def value(self, scope: Mapping[str, Any]) -> Any:
        """The value in a module's namespace; raises the exceptions of the expression."""
        return eval(self.code, {**scope, _INPUTS: self.inputs})


def written(option: str, text: str) -> Iterator[WrittenArgument]:
    """The arguments in a text, `x=float32[b, 3], n=Size`. Raises UnreadInput."""
    told = f"{option} {text!r}"
    for keyword in _keywords(text, told):
        assert keyword.arg is not None
        if isinstance(keyword.value, ast.Name) and keyword.value.id == "Size" and option == "--arg":
            _size(keyword.arg, told)
            yield WrittenArgument(
                keyword.arg, told, compile(f"{_INPUTS}[0]", f"<{told}>", "eval"), (DeclaredInput(None, (keyword.arg,)),)
            )
            continue
        found = _Inputs(told, keyword.arg)
        tree = ast.fix_missing_locations(ast.Expression(found.visit(keyword.value)))
        yield WrittenArgument(keyword.arg, told, compile(tree, f"<{told}>", "eval"), tuple(found.inputs))


def _keywords(text: str, told: str) -> list[ast.keyword]:
    plain = _SCALAR.sub(r"\1[()]", text)
    try:
        call: ast.expr | None = ast.parse(f"f({plain})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        call = None
    is_plain_call = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args
    if isinstance(call, ast.Call) and is_plain_call and all(k.arg for k in call.keywords):
        return call.keywords
    unnamed = call.args if isinstance(call, ast.Call) else []
    why = f": `{ast.unparse(unnamed[0])}` has no name" if unnamed else ""
    raise UnreadInput(f"{told} is not like `{_LIKE.get(told.partition(' ')[0], 'float32[b, 3]')}`{why}")


class _Inputs(ast.NodeTransformer):
    """Puts inputs in place of their declarations."""

    def __init__(self, told: str, name: str) -> None:
        self.told, self.name = told, name
        self.inputs: list[DeclaredInput] = []
        self.called: list[ast.expr] = []

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        dtype = ast.unparse(node.value).removeprefix("torch.")
        if dtype not in DTYPES:
            if isinstance(node.value, ast.Name) and node.value.id in ("int", "float", "complex"):
                raise UnreadInput(f"{self.told}: `{node.value.id}` is not a dtype; the dtypes are {', '.join(DTYPES)}")
            return self.generic_visit(node)
        dims = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        computed = {f"{self.name}_{n}": dim for n, dim in enumerate(dims) if _is_computed(dim)}
        if computed:
            raise UnreadInput(f"{self.told}: {_with_names(dtype, dims, computed)}")
        self.inputs.append(DeclaredInput(dtype, tuple(self._dim(dim) for dim in dims)))
        return ast.parse(f"{_INPUTS}[{len(self.inputs) - 1}]", mode="eval").body

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.called.append(node.func)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Declare a size among others, as in `size=(Size, Size)`, with a name from its position."""
        if node.id != "Size" or self.told.startswith("--init"):
            return node
        if node in self.called:
            raise UnreadInput(f"{self.told}: `Size` stands for a size as it is: `{self.name}=Size`")
        name = f"{self.name}_{sum(one.dtype is None for one in self.inputs)}"
        self.inputs.append(DeclaredInput(None, (_size(name, self.told),)))
        return ast.parse(f"{_INPUTS}[{len(self.inputs) - 1}]", mode="eval").body

    def _dim(self, dim: ast.expr) -> int | str:
        if isinstance(dim, ast.Constant) and type(dim.value) is int:
            return dim.value
        return _size(ast.unparse(dim), self.told)


_COUNTS = (ast.BinOp, ast.Name, ast.Constant, ast.Load, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)


def _is_computed(dim: ast.expr) -> bool:
    """Whether a size is computed from others by a formula that a condition can state."""
    return isinstance(dim, ast.BinOp) and all(isinstance(part, _COUNTS) for part in ast.walk(dim))


def _with_names(dtype: str, dims: Sequence[ast.expr], computed: Mapping[str, ast.expr]) -> str:
    """The text to write where sizes are computed: names, and conditions on them."""
    names = {dim: name for name, dim in computed.items()}
    shape = ", ".join(names.get(dim) or ast.unparse(dim) for dim in dims)
    given = ", ".join(f"{name} == {ast.unparse(dim).replace(' / ', ' // ')}" for name, dim in computed.items())
    first = ast.unparse(next(iter(names)))
    return f"`{first}` is neither a number nor a name: write {dtype}[{shape}] and --given '{given}'"


def _size(text: str, told: str) -> str:
    if not is_size(text):
        why = "is a word of Rx" if text.isidentifier() and text in RESERVED else "is no size"
        raise UnreadInput(
            f"{told}: `{text}` {why}: a size is a whole number of at least 0, or a name, like b in float32[b, 3]"
        )
    return text


def is_size(text: str) -> bool:
    """Whether a text may name a size."""
    return text.isidentifier() and text.isascii() and text not in RESERVED and not text.startswith("__")


def declared_in(value: Any) -> Iterator[DeclaredInput]:
    """The inputs in an argument, in order."""
    if isinstance(value, DeclaredInput):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        yield from declared_in(one)


def sizes_in(value: Any) -> list[str]:
    """The names of sizes in an argument."""
    return list(dict.fromkeys(names_in(*(size for one in declared_in(value) for size in one.shape))))


def resized(args: Mapping[str, Any], axis: str, size: int | str) -> dict[str, Any] | None:
    """Arguments with another size for axis `x.1` of an input, or for `*.1` of all. None where there is no such axis."""
    name, _, number = axis.rpartition(".")
    if not number.isascii() or not number.isdecimal():
        return None
    found = _Resized(name, int(number), size)
    made = {key: found.of(key, value) for key, value in args.items()}
    return made if found.count else None


class _Resized:
    def __init__(self, name: str, axis: int, size: int | str) -> None:
        self.name, self.axis, self.size, self.count = name, axis, size, 0

    def of(self, name: str, value: Any) -> Any:
        match value:
            case DeclaredInput() if (
                value.dtype is not None and self.name in (name, "*") and self.axis < len(value.shape)
            ):
                self.count += 1
                shape = (*value.shape[: self.axis], self.size, *value.shape[self.axis + 1 :])
                return DeclaredInput(value.dtype, shape)
            case dict():
                return {k: self.of(f"{name}_{k}", v) for k, v in value.items()}
            case list() | tuple():
                return rebuilt(value, [self.of(f"{name}_{n}", v) for n, v in enumerate(value)])
        return value


def rebuilt(value: Any, items: list[Any]) -> Any:
    """A list or a tuple of the same kind with other items."""
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
