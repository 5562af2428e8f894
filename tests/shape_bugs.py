"""Programs in the small notation of the shape bugs, as Rx: one statement of the notation becomes one line."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

# Operations that no primitive stands for: a function each, put before the program where it is used.
HELPERS = {
    "matmul2d": (
        "@matmul2d = fn(x : Tensor([m, k], float32), y : Tensor([k, n], float32)) : Tensor([m, n], float32) {\n"
        "  @matmul(x, y)\n}"
    ),
    "same": "@same = fn(x : Tensor(s, d), y : Tensor(s, d)) : Tensor(s, d) where d in numeric { x - y }",
    "select": (
        "extern @select = fn(c : Tensor(?, bool), x : Tensor(s, d), y : Tensor(s, d)) : Tensor(s, d)"
        ' = "elsewhere:select"'
    ),
    "rank_at_least": "@rank_at_least = fn(x : Tensor, r : Size) : Tensor where x.rank >= r { x }",
    "scalar": "@scalar = fn(x : Tensor([], d)) : Tensor([], d) { x }",
    "dense": (
        "@dense = fn(x : Tensor([*s, d], float32), units : Size) : Tensor([*s, units], float32) where units >= 0 {\n"
        "  @linear(x, @zeros([units, d]))\n}"
    ),
    "rnn": 'extern @rnn = fn(x : Tensor([n, _t, _d], float32), units : Size) : Tensor([n, units], float32) = "elsewhere:rnn"',
    "rnn_all": (
        "extern @rnn_all = fn(x : Tensor([n, t, _d], float32), units : Size) : Tensor([n, t, units], float32)"
        ' = "elsewhere:rnn"'
    ),
}
BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
UNARY = ("relu", "log", "softmax", "gelu", "exp", "tanh", "sigmoid", "sqrt", "square", "abs")
SIZE_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.Eq: "==", ast.NotEq: "!=",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
DTYPES = {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64", "bool": "bool"}


class Unmapped(Exception):
    """An operation of the notation that has no counterpart."""


def statements(row: dict[str, Any]) -> list[str]:
    return [part.strip() for part in row["ops"].split(";") if part.strip()]


def program(row: dict[str, Any]) -> str:
    """The row as an Rx program."""
    return Translation(row).text()


class Translation:
    """One row: parameters from `in`, `param` and `size`, the body from the rest, in the order of the notation."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.statements = statements(row)
        self.params: list[str] = []
        self.conditions: list[str] = []
        self.body: list[str] = []
        self.helpers: dict[str, str] = {}
        self.sizes: set[str] = set()
        self.lets: dict[str, str] = {}
        self.line_of_statement: dict[int, tuple[str, int]] = {}
        self.tensors: dict[str, str] = {}
        # The result that a statement says it has.
        self.claimed = ""
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

    def _tensor(self, name: str) -> str:
        """A tensor's name; sizes and tensors live in one scope in Rx."""
        return self.tensors.get(name, name)

    def _bind(self, name: str) -> str:
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
        value = self.expr(ast.parse(expr.strip(), mode="eval").body)
        names = [self._bind(t.strip()) for t in targets.split(",")]
        target = names[0] if len(names) == 1 else f"({', '.join(names)})"
        self.body.append(f"let {target}{f' ! {self.claimed}' if self.claimed else ''} = {value}")
        return None

    def _parameter(self, rest: str) -> None:
        found = re.fullmatch(r"(\w+)\s*:\s*(\[.*\])\s*(\w+)?", rest)
        assert found is not None, rest
        dims = ast.parse(found[2], mode="eval").body
        assert isinstance(dims, ast.List)
        shape = ", ".join(self.size(d, inline=True) for d in dims.elts)
        self.sizes.update(self._names(dims))
        self.params.append(f"{self._bind(found[1])} : Tensor([{shape}], {DTYPES[found[3] or 'f32']})")

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
        self.body.append(f"match_shape({self._tensor(name)}, [{', '.join(new)}], {self.shape(dims)})")

    # Sizes

    def _names(self, tree: ast.AST) -> list[str]:
        return list(dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name)))

    def size(self, tree: ast.AST, *, inline: bool = False) -> str:
        """A size; in a signature what `let` named is written out."""
        match tree:
            case ast.Constant():
                return str(tree.value)
            case ast.Name():
                return f"({self.lets[tree.id]})" if inline and tree.id in self.lets else tree.id
            case ast.UnaryOp(op=ast.USub()):
                return f"-{self.size(tree.operand, inline=inline)}"
            case ast.BinOp():
                left, right = self.size(tree.left, inline=inline), self.size(tree.right, inline=inline)
                left = f"({left})" if isinstance(tree.left, ast.BinOp) and not _is_chain(tree) else left
                right = f"({right})" if isinstance(tree.right, ast.BinOp) else right
                return f"{left} {SIZE_OPERATORS[type(tree.op)]} {right}"
            case ast.Compare():
                left, right = self.size(tree.left, inline=inline), self.size(tree.comparators[0], inline=inline)
                return f"{left} {SIZE_OPERATORS[type(tree.ops[0])]} {right}"
        raise Unmapped(ast.dump(tree))

    def shape(self, tree: ast.AST) -> str:
        assert isinstance(tree, ast.List | ast.Tuple)
        return f"[{', '.join(self.size(d) for d in tree.elts)}]"

    # Expressions

    def expr(self, tree: ast.AST) -> str:
        match tree:
            case ast.Name():
                return self._tensor(tree.id)
            case ast.IfExp():
                test = self.size(tree.test)
                return f"if ({test}) {{ {self.expr(tree.body)} }} else {{ {self.expr(tree.orelse)} }}"
            case ast.Call(func=ast.Name(id=name)):
                options = {k.arg: k.value for k in tree.keywords if k.arg}
                return self.call(name, tree.args, options)
        raise Unmapped(ast.dump(tree))

    def call(self, name: str, args: list[ast.expr], options: dict[str, ast.expr]) -> str:
        if name in BINARY:
            return f"({self.expr(args[0])} {BINARY[name]} {self.expr(args[1])})"
        if name in UNARY:
            return f"@{name}({self.expr(args[0])})"
        if name in ("matmul2d", "same", "select", "scalar"):
            return self.helper(name, *(self.expr(a) for a in args))
        translate = getattr(self, f"op_{name}", None)
        if translate is None:
            raise Unmapped(name)
        return str(translate(*args, **options))

    def helper(self, name: str, *args: str) -> str:
        self.helpers[name] = HELPERS[name]
        return f"@{name}({', '.join(args)})"

    def op_reshape(self, x: ast.expr, shape: ast.expr) -> str:
        return f"@reshape({self.expr(x)}, {self.shape(shape)})"

    def op_transpose(self, x: ast.expr, axes: ast.expr) -> str:
        return f"@permute_dims({self.expr(x)}, {self.shape(axes)})"

    def op_swap(self, x: ast.expr, a: ast.expr, b: ast.expr) -> str:
        return f"@swapaxes({self.expr(x)}, {self.size(a)}, {self.size(b)})"

    def op_matmul(self, x: ast.expr, y: ast.expr) -> str:
        return f"@matmul({self.expr(x)}, {self.expr(y)})"

    def op_linear(self, x: ast.expr, weight: ast.expr, *bias: ast.expr) -> str:
        return f"@linear({', '.join(self.expr(a) for a in (x, weight, *bias))})"

    def op_embedding(self, ids: ast.expr, table: ast.expr) -> str:
        return f"@embedding({self.expr(ids)}, {self.expr(table)})"

    def op_sum_(self, x: ast.expr, axis: ast.expr | None = None) -> str:
        return self._reduction("sum", x, axis)

    def op_mean(self, x: ast.expr, axis: ast.expr | None = None) -> str:
        return self._reduction("mean", x, axis)

    def op_argmax(self, x: ast.expr, axis: ast.expr | None = None) -> str:
        return self._reduction("argmax", x, axis)

    def _reduction(self, name: str, x: ast.expr, axis: ast.expr | None) -> str:
        return f"@{name}({self.expr(x)}{'' if axis is None else f', axis={self.size(axis)}'})"

    def op_squeeze(self, x: ast.expr, axis: ast.expr | None = None) -> str:
        return self._reduction("squeeze", x, axis)

    def op_expand_dims(self, x: ast.expr, axis: ast.expr) -> str:
        return self._reduction("expand_dims", x, axis)

    def op_flatten(self, x: ast.expr, start: ast.expr | None = None, end: ast.expr | None = None) -> str:
        last = "" if end is None else f", {self.size(end)}"
        return f"@flatten({self.expr(x)}, {'1' if start is None else self.size(start)}{last})"

    def op_zeros(self, shape: ast.expr) -> str:
        return f"@zeros({self.shape(shape)})"

    op_random_ = op_zeros

    def op_concat(self, xs: ast.expr, axis: ast.expr) -> str:
        assert isinstance(xs, ast.List)
        return f"@concat([{', '.join(self.expr(x) for x in xs.elts)}], axis={self.size(axis)})"

    def op_slice_(self, x: ast.expr, axis: ast.expr, start: ast.expr, stop: ast.expr) -> str:
        return f"@slice({self.expr(x)}, {self.size(start)}, {self.size(stop)}, axes={self.size(axis)})"

    def op_take(self, x: ast.expr, index: ast.expr) -> str:
        return f"@take({self.expr(x)}, {self.size(index)}, axis=0)"

    def op_split(self, x: ast.expr, sections: ast.expr, axis: ast.expr) -> str:
        return f"@split({self.expr(x)}, {self.size(sections)}, axis={self.size(axis)})"

    def op_greater(self, x: ast.expr, y: ast.expr) -> str:
        return f"({self.expr(x)} > {self.expr(y)})"

    def op_join(self, a: ast.expr, b: ast.expr) -> str:
        if "flag : Tensor([], bool)" not in self.params:
            self.params.append("flag : Tensor([], bool)")
        return f"if (flag) {{ {self.expr(a)} }} else {{ {self.expr(b)} }}"

    def op_rank_at_least(self, x: ast.expr, rank: ast.expr) -> str:
        return self.helper("rank_at_least", self.expr(x), self.size(rank))

    def op_conv2d_transpose_check(self, x: ast.expr, w: ast.expr, shape: ast.expr, stride: ast.expr) -> str:
        assert isinstance(shape, ast.Tuple)
        sizes = [self.size(d) for d in shape.elts]
        self.claimed = f"Tensor([{', '.join(sizes)}], float32)"
        return (
            f'@conv_transpose2d({self.expr(x)}, {self.expr(w)}, strides={self.size(stride)}, auto_pad="same_upper",'
            f' output_shape=[{", ".join(sizes[1:-1])}], layout="channels_last")'
        )

    def _convolution(self, name: str, x: ast.expr, w: ast.expr, **options: ast.expr) -> str:
        return f"@{name}({self.expr(x)}, {self.expr(w)}{self._windows(options)})"

    def op_conv1d(self, x: ast.expr, w: ast.expr, **options: ast.expr) -> str:
        return self._convolution("conv1d", x, w, **options)

    def op_conv2d(self, x: ast.expr, w: ast.expr, **options: ast.expr) -> str:
        return self._convolution("conv2d", x, w, **options)

    def op_conv3d(self, x: ast.expr, w: ast.expr, **options: ast.expr) -> str:
        return self._convolution("conv3d", x, w, **options)

    def _pooling(self, name: str, x: ast.expr, size: ast.expr, **options: ast.expr) -> str:
        return f"@{name}({self.expr(x)}, {self.ints(size)}{self._windows(options)})"

    def op_maxpool2d(self, x: ast.expr, size: ast.expr, **options: ast.expr) -> str:
        return self._pooling("max_pool2d", x, size, **options)

    def op_avgpool2d(self, x: ast.expr, size: ast.expr, **options: ast.expr) -> str:
        return self._pooling("average_pool2d", x, size, **options)

    def op_maxpool3d(self, x: ast.expr, size: ast.expr, **options: ast.expr) -> str:
        return self._pooling("max_pool3d", x, size, **options)

    def ints(self, tree: ast.expr) -> str:
        return self.shape(tree) if isinstance(tree, ast.Tuple | ast.List) else self.size(tree)

    def _windows(self, options: dict[str, ast.expr]) -> str:
        """The attributes of convolution and pooling; the notation's tensors have their channels last."""
        text = ""
        layout = options.pop("layout", None)
        for name, value in options.items():
            match name, value:
                case "pad", ast.Constant(value=str(kind)):
                    text += f', auto_pad="{"same_upper" if kind == "SAME" else "valid"}"'
                case "pad", ast.Constant(value=int(n)):
                    text += f", pads=[({n}, {n})]"
                case "pad", ast.Tuple():
                    text += f", pads=[{', '.join(f'({self.size(p)}, {self.size(p)})' for p in value.elts)}]"
                case "stride" | "dil", _:
                    text += f", {'strides' if name == 'stride' else 'dilations'}={self.ints(value)}"
                case "groups", _:
                    text += f", groups={self.size(value)}"
                case "ceil", ast.Constant():
                    text += f", ceil_mode={str(value.value).lower()}"
                case _:
                    raise Unmapped(f"{name}=")
        first = isinstance(layout, ast.Constant) and str(layout.value).startswith("NC")
        return text if first else f'{text}, layout="channels_last"'

    def op_dense(self, x: ast.expr, units: ast.expr) -> str:
        return self.helper("dense", self.expr(x), self.size(units))

    def op_rnn(self, x: ast.expr, units: ast.expr, seq: ast.expr | None = None) -> str:
        every = isinstance(seq, ast.Constant) and seq.value
        return self.helper("rnn_all" if every else "rnn", self.expr(x), self.size(units))

    def op_mse(self, x: ast.expr, target: ast.expr) -> str:
        return f"@mse_loss({self.expr(x)}, {self.expr(target)})"

    def op_sparse_xent(self, logits: ast.expr, labels: ast.expr) -> str:
        return f"@cross_entropy_loss({self.expr(logits)}, @cast({self.expr(labels)}, int64), axis=-1)"

    def op_softmax_xent(self, logits: ast.expr, labels: ast.expr) -> str:
        return f"@softmax_cross_entropy({self.expr(logits)}, {self.expr(labels)})"

    def op_nll(self, x: ast.expr, labels: ast.expr, weight: ast.expr | None = None) -> str:
        more = "" if weight is None else f", {self.expr(weight)}"
        return f"@nll_loss({self.expr(x)}, @cast({self.expr(labels)}, int64){more})"

    def op_zeropad2d(self, x: ast.expr, n: ast.expr) -> str:
        pair = f"({self.size(n)}, {self.size(n)})"
        return f"@pad({self.expr(x)}, [(0, 0), {pair}, {pair}, (0, 0)])"


def _is_chain(tree: ast.BinOp) -> bool:
    """`a * b * c` and `a * b + c` need no brackets."""
    return (
        isinstance(tree.left, ast.BinOp)
        and isinstance(tree.left.op, ast.Mult)
        and isinstance(tree.op, ast.Mult | ast.Add)
    )


# What a hint speaks of, in the words of the program that had the bug, and the notation's operations for it.
HINTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"loss|cross_entropy", ("mse", "sparse_xent", "softmax_xent", "nll")),
    (r"feed|fit|sess\.run|while_loop|dynamic_rnn|weights=|result|return", ("match",)),
    (r"transpose|convt", ("conv2d_transpose_check",)),
    (r"matmul", ("matmul2d", "matmul")),
    (r"conv\w*2d", ("conv2d",)),
    (r"concat", ("concat",)),
    (r"tf\.case", ("join",)),
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
    calls = [i for i, s in enumerate(every) if not s.startswith(("in ", "param ", "match "))]
    return calls[-1]
