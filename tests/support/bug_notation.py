"""An expression of the small notation as Rx: each operation becomes the primitive that its name and arguments stand for.

A name is compared without underscores and capitals, after what other libraries call it (`maxpool2d`, `cat`, `unsqueeze`) was
put into the prelude's words. Arguments go to parameters by name, by what else that attribute is called (`dim`, `padding`),
or by the kind of what they are. What takes more than that has a rule of its own, and what has none is Unmapped.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from inspect import signature

from rxlang.lang.dtypes import DTYPES as ALL_DTYPES
from rxlang.ops.dtypes_column import Word, parse_dtypes
from rxlang.ops.model import Primitive, PrimitiveParam
from rxlang.ops.registry import lookup, names

# Operations that no primitive stands for: a function each, put before the program where it is used.
HELPERS = {
    "matmul2d": (
        "@matmul2d = fn(x : Tensor([m, k], float32), y : Tensor([k, n], float32)) : Tensor([m, n], float32) {\n"
        "  @matmul(x, y)\n}"
    ),
    "bmm": (
        "@bmm = fn(x : Tensor([b, m, k], float32), y : Tensor([b, k, n], float32)) : Tensor([b, m, n], float32) {\n"
        "  @matmul(x, y)\n}"
    ),
    "mv": (
        "@mv = fn(x : Tensor([m, k], float32), y : Tensor([k], float32)) : Tensor([m], float32) {\n  @matmul(x, y)\n}"
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
OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "greater": ">", "less": "<", "equal": "=="}
BINARY: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "pow", ast.MatMult: "matmul",
}  # fmt: skip
SIZE_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Div: "/", ast.Mod: "%", ast.Eq: "==",
    ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.And: "&&", ast.Or: "||",
}  # fmt: skip
DTYPES = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "i8": "int8",
    "i32": "int32",
    "i64": "int64",
    "bool": "bool",
}

# What operations are called elsewhere, without underscores; a name of the prelude needs no entry.
NAMES = {
    "sub": "subtract", "minus": "subtract", "mul": "multiply", "times": "multiply", "div": "divide", "truediv": "divide",
    "power": "pow", "neg": "negative", "gt": "greater", "lt": "less", "ge": "greater_equal", "le": "less_equal",
    "eq": "equal", "ne": "not_equal", "invert": "logical_not", "amax": "max", "amin": "min", "reducemax": "max",
    "reducemin": "min", "reducesum": "sum", "reducemean": "mean", "variance": "var", "cumsum": "cumulative_sum",
    "cumprod": "cumulative_prod", "view": "reshape", "permute": "permute_dims", "swap": "swapaxes",
    "unsqueeze": "expand_dims", "expand": "broadcast_to", "broadcast": "broadcast_to", "cat": "concat",
    "concatenate": "concat", "hstack": "concat", "pack": "stack", "unbind": "unstack", "chunk": "split", "dot": "matmul",
    "mm": "matmul2d", "diag": "diagonal", "inner": "vecdot", "random": "zeros", "randn": "zeros", "rand": "zeros",
    "normal": "zeros", "empty": "zeros", "astype": "cast", "onehot": "one_hot", "lookup": "embedding",
    "embeddinglookup": "embedding", "fullyconnected": "linear", "selfattention": "attention", "clamp": "clip",
    "clipbyvalue": "clip", "lrelu": "leaky_relu", "swish": "silu", "layernormalization": "layer_norm",
    "globalavgpool": "global_average_pool", "mse": "mse_loss", "meansquarederror": "mse_loss", "mae": "l1_loss",
    "l1": "l1_loss", "huber": "huber_loss", "smoothl1": "smooth_l1_loss", "kldivloss": "kl_div", "kl": "kl_div",
    "bce": "binary_cross_entropy", "bcewithlogits": "binary_cross_entropy_with_logits", "nll": "nll_loss",
    "softmaxxent": "softmax_cross_entropy", "crossentropy": "cross_entropy_loss", "xent": "cross_entropy_loss",
    "categoricalcrossentropy": "softmax_cross_entropy", "deconv": "conv_transpose", "depthwiseconv2d": "conv2d",
    "convtranspose2d": "conv_transpose2d", "conv2dtranspose": "conv_transpose2d", "upsampling2d": "upsample",
    "upsampling": "upsample", "interpolate": "resize",
    "mt": "matrix_transpose", "t": "matrix_transpose", "adjoint": "matrix_transpose",
}  # fmt: skip
# Words inside a name that the prelude writes out.
WORDS = (("avgpool", "averagepool"), ("batchnorm", "batchnormalization"), ("groupnorm", "groupnormalization"),
         ("instancenorm", "instancenormalization"), ("deconv", "convtranspose"))  # fmt: skip
# What a parameter is called elsewhere.
ATTRIBUTES = {
    "dim": "axis", "dims": "axis", "axes": "axis", "perm": "axes", "pad": "pads", "padding": "pads", "stride": "strides",
    "dil": "dilations", "dilation": "dilations", "keep": "keepdims", "keepdim": "keepdims", "group": "groups",
    "ceil": "ceil_mode", "kernel": "kernel_shape", "kernel_size": "kernel_shape", "pool_size": "kernel_shape",
    "window": "kernel_shape", "output_size": "output_shape", "start_dim": "start", "end_dim": "end",
    "size": "sizes", "scale": "scales", "scale_factor": "scales", "upscale_factor": "factor", "block_size": "block",
    "r": "factor", "num": "repeats", "n": "repeats", "multiples": "repeats", "reps": "repeats", "depth": "depth",
    "num_classes": "depth", "gamma": "scale", "beta": "bias", "eps": "epsilon", "index": "indices", "dim0": "axis1",
    "dim1": "axis2", "offset": "offset", "causal": "causal", "attn_mask": "mask", "filters": "weight", "w": "weight",
    "num_or_size_splits": "sections", "chunks": "sections", "num_heads": "heads", "values": "xs", "data_format": "layout",
}  # fmt: skip
# Operations of those whose images have their channels first.
CHANNELS_FIRST = frozenset((
    "upsample", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "batch_norm", "group_norm",
    "instance_norm", "adaptive_avg_pool2d", "adaptive_max_pool2d", "adaptive_avgpool2d", "adaptive_maxpool2d",
))  # fmt: skip
# The order of positional arguments where it is not the row's.
ORDERS = {"split": ("x", "sections", "axis"), "group_normalization": ("x", "scale", "bias", "num_groups"),
          "clip": ("x", "min", "max"), "one_hot": ("indices", "depth")}  # fmt: skip


def _canonical() -> dict[str, str]:
    return {name.replace("_", ""): name for name in names()}


CANONICAL = _canonical()


class Unmapped(Exception):
    """Something of the notation that has no counterpart."""


def operation(name: str) -> str:
    """The primitive or helper that an operation stands for; its own name if there is none."""
    bare = name.rstrip("_")
    if name in HELPERS or bare in HELPERS:
        return name if name in HELPERS else bare
    short = bare.lower().replace("_", "")
    for word, written in WORDS:
        if written not in short:
            short = short.replace(word, written)
    for candidate in (short, re.sub(r"[123]d$", "", short)):
        known = NAMES.get(candidate) or CANONICAL.get(candidate)
        if known is not None:
            return known
    return bare


class Notation:
    """Translates expressions; knows the tensors that were bound, their dtypes, and the sizes that `let` named."""

    def __init__(self) -> None:
        self.params: list[str] = []
        self.helpers: dict[str, str] = {}
        self.lets: dict[str, str] = {}
        self.tensors: dict[str, str] = {}
        self.dtypes: dict[str, str] = {}
        # The result that a statement says it has.
        self.claimed = ""

    def tensor(self, name: str) -> str:
        """A tensor's name; sizes and tensors live in one scope in Rx."""
        return self.tensors.get(name, name)

    # Sizes

    def size(self, tree: ast.AST, *, inline: bool = False) -> str:
        """A size or a condition on sizes; in a signature what `let` named is written out."""

        def part(operand: ast.AST, *, brackets: bool) -> str:
            text = self.size(operand, inline=inline)
            return f"({text})" if brackets and isinstance(operand, ast.BinOp) else text

        match tree:
            case ast.Constant(value=bool(value)):
                return str(value).lower()
            case ast.Constant():
                return str(tree.value)
            case ast.Name():
                return f"({self.lets[tree.id]})" if inline and tree.id in self.lets else tree.id
            case ast.Starred(value=ast.Name(id=name)):
                return f"*{name}"
            case ast.UnaryOp(op=ast.USub()):
                return f"-{part(tree.operand, brackets=True)}"
            case ast.UnaryOp(op=ast.Not()):
                return f"!({self.size(tree.operand, inline=inline)})"
            case ast.BinOp() if type(tree.op) in SIZE_OPERATORS:
                left = part(tree.left, brackets=not _is_chain(tree))
                return f"{left} {SIZE_OPERATORS[type(tree.op)]} {part(tree.right, brackets=True)}"
            case ast.Compare():
                sides = [self.size(side, inline=inline) for side in (tree.left, *tree.comparators)]
                pairs = zip(sides, (SIZE_OPERATORS[type(op)] for op in tree.ops), sides[1:], strict=False)
                return " && ".join(f"{left} {op} {right}" for left, op, right in pairs)
            case ast.BoolOp():
                return f" {SIZE_OPERATORS[type(tree.op)]} ".join(
                    f"({self.size(v, inline=inline)})" for v in tree.values
                )
            case ast.Call(func=ast.Name(id="min" | "max" | "ceildiv" as name)):
                return f"{name}({', '.join(self.size(a, inline=inline) for a in tree.args)})"
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=axis):
                return f"{self.tensor(name)}.dim({self.size(axis)})"
            case ast.Call(func=ast.Name(id="dim" | "size"), args=[ast.Name(id=name), axis]):
                return f"{self.tensor(name)}.dim({self.size(axis)})"
            case ast.Attribute(value=ast.Name(id=name), attr="rank" | "ndim"):
                return f"{self.tensor(name)}.rank"
        raise Unmapped(f"{ast.unparse(tree)} as a size")

    def shape(self, tree: ast.AST) -> str:
        if not isinstance(tree, ast.List | ast.Tuple):
            raise Unmapped(f"{ast.unparse(tree)} as a shape")
        return f"[{', '.join(self.size(d) for d in tree.elts)}]"

    def listed(self, tree: ast.AST) -> str:
        return self.shape(tree) if isinstance(tree, ast.Tuple | ast.List) else self.size(tree)

    # Expressions

    def is_tensor(self, tree: ast.AST) -> bool:
        match tree:
            case ast.Name():
                return tree.id in self.tensors
            case ast.Call(func=ast.Name(id=name)):
                return name not in ("min", "max", "ceildiv", "dim", "size") or any(map(self.is_tensor, tree.args))
            case ast.IfExp():
                return self.is_tensor(tree.body)
            case ast.BinOp():
                return self.is_tensor(tree.left) or self.is_tensor(tree.right)
            case ast.UnaryOp():
                return self.is_tensor(tree.operand)
        return False

    def expr(self, tree: ast.AST) -> str:
        return self.typed(tree)[0]

    def typed(self, tree: ast.AST) -> tuple[str, str]:
        """An expression in Rx, and its dtype; a number's is empty."""
        match tree:
            case ast.Constant(value=float() | int()):
                return str(tree.value), ""
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float() | int() as number)):
                return f"-{number}", ""
            case ast.UnaryOp(op=ast.USub()):
                return self.call("negative", [tree.operand], {})
            case ast.Name():
                return self.tensor(tree.id), self.dtypes.get(tree.id, "float32")
            case ast.IfExp():
                return self._choice(tree)
            case ast.BinOp() if type(tree.op) in BINARY:
                return self.call(BINARY[type(tree.op)], [tree.left, tree.right], {})
            case ast.Call(func=ast.Name(id=name)):
                options = {k.arg: k.value for k in tree.keywords if k.arg}
                return self.call(name, tree.args, options)
        raise Unmapped(ast.unparse(tree))

    def _choice(self, tree: ast.IfExp) -> tuple[str, str]:
        test = self.expr(tree.test) if self.is_tensor(tree.test) else self.size(tree.test)
        body, dtype = self.typed(tree.body)
        return f"if ({test}) {{ {body} }} else {{ {self.expr(tree.orelse)} }}", dtype

    def call(self, name: str, args: list[ast.expr], options: dict[str, ast.expr]) -> tuple[str, str]:
        own: Callable[..., str | tuple[str, str]] | None = getattr(self, f"op_{name.rstrip('_')}", None)
        meant = operation(name)
        own = own or getattr(self, f"op_{meant}", None)
        if own is not None:
            try:
                given = signature(own).bind(*args, **options)
            except TypeError as problem:
                raise Unmapped(f"{name}: {problem}") from problem
            found = own(*given.args, **given.kwargs)
            return found if isinstance(found, tuple) else (found, "float32")
        if meant in HELPERS:
            texts = [
                self._converted(*self.typed(a), "float32") if self._wants_float(meant) else self.expr(a) for a in args
            ]
            return self.helper(meant, *texts), self.typed(args[-1])[1]
        row = lookup(meant)
        if row is None:
            raise Unmapped(f"no primitive stands for `{name}`")
        if name in CHANNELS_FIRST:
            options = {"layout": ast.Constant("NCHW"), **options}
        return self.primitive(row, args, options)

    @staticmethod
    def _wants_float(name: str) -> bool:
        return name in ("matmul2d", "bmm", "mv")

    def helper(self, name: str, *args: str) -> str:
        self.helpers[name] = HELPERS[name]
        return f"@{name}({', '.join(args)})"

    # Primitives

    def primitive(self, row: Primitive, args: list[ast.expr], options: dict[str, ast.expr]) -> tuple[str, str]:
        """A call of a primitive, its arguments found by name or kind, its operands converted to dtypes that it takes."""
        given = self._bound(row, args, options)
        operands, dtype = self._operands(row, given)
        texts: list[str] = []
        for i, param in enumerate(row.params):
            if param.name in operands:
                text = operands[param.name]
            elif param.name in given:
                text = self.attribute(param, given[param.name])
            else:
                continue
            named = len(texts) < i or not (param.required or param.kind == "tensor")
            texts.append(f"{param.name}={text}" if named else text)
        if dtype == "" and "dtype" not in given and any(p.name == "dtype" for p in row.params):
            texts, dtype = [*texts, "dtype=float32"], "float32"
        texts += self._layout(row, options)
        operator = OPERATORS.get(row.name)
        if operator is not None and len(texts) == 2:
            return f"({texts[0]} {operator} {texts[1]})", dtype
        return f"@{row.name}({', '.join(texts)})", dtype

    def _bound(self, row: Primitive, args: list[ast.expr], options: dict[str, ast.expr]) -> dict[str, ast.expr]:
        by_name = {p.name: p for p in row.params}
        given: dict[str, ast.expr] = {}
        for written, value in options.items():
            meant = next((n for n in (written, ATTRIBUTES.get(written, ""), f"{written}s") if n in by_name), None)
            if meant == "layout" or (meant is None and written in ("layout", "data_format")):
                continue
            if meant == "pads" and isinstance(value, ast.Constant) and isinstance(value.value, str):
                meant = "auto_pad"
            if meant is None:
                raise Unmapped(f"@{row.name} has no attribute `{written}`")
            given[meant] = value
        order = [by_name[n] for n in ORDERS.get(row.name, tuple(by_name))]
        for position, arg in enumerate(args):
            while order and (order[0].name in given or not (order[0].required or self._fits(row, order[0], arg))):
                order.pop(0)
            if not order:
                raise Unmapped(f"@{row.name} takes no argument `{ast.unparse(arg)}`")
            rest = args[position:]
            last = len(order) == 1 and order[0].kind in ("tensors", "sizes", "shape", "target", "ints")
            if last and len(rest) > 1 and not isinstance(arg, ast.List | ast.Tuple):
                given[order.pop(0).name] = ast.List(rest, ast.Load())
                break
            given[order.pop(0).name] = arg
        return given

    def _fits(self, row: Primitive, param: PrimitiveParam, arg: ast.expr) -> bool:
        """Whether an argument that is given by position may be meant for an optional parameter."""
        if param.kind in ("tensor", "tensors"):
            only_tensors = all(p.kind == "tensor" for p in row.params)
            return self.is_tensor(arg) or (isinstance(arg, ast.Constant) and only_tensors)
        if param.kind == "str":
            return isinstance(arg, ast.Constant) and isinstance(arg.value, str)
        if param.kind == "bool":
            return isinstance(arg, ast.Constant) and isinstance(arg.value, bool)
        if param.kind == "dtype":
            return isinstance(arg, ast.Name) and arg.id in DTYPES
        return not self.is_tensor(arg)

    def _operands(self, row: Primitive, given: dict[str, ast.expr]) -> tuple[dict[str, str], str]:
        """The tensors among the arguments, with casts where their dtypes do not go together, and the result's dtype."""
        column = parse_dtypes(row.dtypes)
        slots = iter(column.inputs)
        found: list[tuple[str, Word, list[tuple[str, str]], bool]] = []
        for param in row.params:
            if param.kind not in ("tensor", "tensors", "index"):
                continue
            slot = next(slots)
            tree = given.get(param.name)
            if tree is None or (param.kind == "index" and not self.is_tensor(tree)):
                continue
            several = param.kind == "tensors"
            if several and not isinstance(tree, ast.List | ast.Tuple):
                raise Unmapped(f"{ast.unparse(tree)} as a list of tensors")
            trees = tree.elts if several else [tree]  # type: ignore[attr-defined]
            found.append((param.name, slot, [self.typed(t) for t in trees], several))
        common = {slot.var: _common([d for _, s, ts, _ in found if s.var == slot.var for _, d in ts], slot)
                  for _, slot, _, _ in found if slot.var}  # fmt: skip
        operands = {}
        for name, slot, typed, several in found:
            wanted = common[slot.var] if slot.var else slot.classes[0]
            texts = [self._converted(text, dtype, wanted) for text, dtype in typed]
            operands[name] = f"[{', '.join(texts)}]" if several else texts[0]
        result = column.results[0] if column.results else None
        return operands, self._result(result, common, given)

    def _result(self, word: Word | None, common: dict[str, str], given: dict[str, ast.expr]) -> str:
        if word is None:
            return ""
        chosen = given.get(word.param) if word.param else None
        if chosen is not None:
            return self._dtype(chosen)
        if word.var:
            return common.get(word.var, "float32")
        return word.classes[0] if word.classes else "float32"

    @staticmethod
    def _converted(text: str, dtype: str, wanted: str) -> str:
        return text if not dtype or not wanted or dtype == wanted else f"@cast({text}, {wanted})"

    def _dtype(self, tree: ast.expr) -> str:
        name = tree.id if isinstance(tree, ast.Name) else str(tree.value) if isinstance(tree, ast.Constant) else ""
        name = DTYPES.get(name, name)
        if name not in ALL_DTYPES:
            raise Unmapped(f"{ast.unparse(tree)} as a dtype")
        return name

    def attribute(self, param: PrimitiveParam, tree: ast.expr) -> str:
        match param.kind, tree:
            case "dtype", _:
                return self._dtype(tree)
            case "str", ast.Constant(value=str(text)) if param.name == "auto_pad":
                return {"SAME": '"same_upper"'}.get(text.upper(), f'"{text.lower()}"')
            case "str", ast.Constant(value=str(text)):
                return f'"{text}"'
            case "bool", ast.Constant(value=value):
                return str(bool(value)).lower()
            case "float", ast.Constant(value=value):
                return str(value)
            case "pairs", ast.Tuple() | ast.List():
                return f"[{', '.join(self._pair(p) for p in tree.elts)}]"
            case "pairs", _:
                return f"[{self._pair(tree)}]"
            case (("shape" | "target"), ast.Tuple() | ast.List()):
                return self.shape(tree)
            case (("shape" | "target"), _):
                return f"[{self.size(tree)}]"
            case (("ints" | "sizes"), _):
                return self.listed(tree)
        return self.size(tree)

    def _pair(self, tree: ast.expr) -> str:
        both = tree.elts if isinstance(tree, ast.Tuple | ast.List) else [tree, tree]
        return f"({', '.join(self.size(p) for p in both)})"

    def _layout(self, row: Primitive, options: dict[str, ast.expr]) -> list[str]:
        """The notation's images have their channels last, unless it says otherwise."""
        param = next((p for p in row.params if p.name == "layout"), None)
        if param is None or param.default != "channels_first":
            return []
        written = options.get("layout", options.get("data_format"))
        first = isinstance(written, ast.Constant) and re.match(r"NC|channels_first", str(written.value))
        return [] if first else ['layout="channels_last"']

    # Operations that are called otherwise than the primitive they stand for

    def op_random(self, *shape: ast.expr, **_: ast.expr) -> tuple[str, str]:
        return self.call("zeros", list(shape), {})

    def op_slice(self, x: ast.expr, axis: ast.expr, start: ast.expr, stop: ast.expr) -> tuple[str, str]:
        text, dtype = self.typed(x)
        return f"@slice({text}, {self.size(start)}, {self.size(stop)}, axes={self.size(axis)})", dtype

    def op_narrow(self, x: ast.expr, axis: ast.expr, start: ast.expr, length: ast.expr) -> tuple[str, str]:
        return self.op_slice(x, axis, start, ast.BinOp(start, ast.Add(), length))

    def op_flatten(self, x: ast.expr, start: ast.expr | None = None, end: ast.expr | None = None) -> tuple[str, str]:
        text, dtype = self.typed(x)
        last = "" if end is None else f", {self.size(end)}"
        return f"@flatten({text}, {'1' if start is None else self.size(start)}{last})", dtype

    def op_take(self, x: ast.expr, index: ast.expr, axis: ast.expr | None = None) -> tuple[str, str]:
        row = lookup("take")
        assert row is not None
        return self.primitive(row, [x, index], {"axis": axis or ast.Constant(0)})

    def op_gather(self, x: ast.expr, a: ast.expr, b: ast.expr | None = None, **options: ast.expr) -> tuple[str, str]:
        """Rows that indices name, as `gather(x, ids)`; elements along an axis, as `gather(x, axis, index)`."""
        axis = options.pop("axis", options.pop("dim", None))
        if b is not None and not self.is_tensor(a):
            return self.call("take_along_axis", [x, b, a], options)
        return self.op_take(x, a, axis or b)

    def op_repeat(self, x: ast.expr, count: ast.expr, axis: ast.expr | None = None) -> tuple[str, str]:
        if isinstance(count, ast.Tuple | ast.List):
            return self.call("tile", [x, count], {})
        text, dtype = self.typed(x)
        return f"@repeat({text}, {self.size(count)}{'' if axis is None else f', axis={self.size(axis)}'})", dtype

    def op_transpose(self, x: ast.expr, *axes: ast.expr) -> tuple[str, str]:
        if not axes:
            return self.call("matrix_transpose", [x], {})
        exchanged = len(axes) == 2 and not isinstance(axes[0], ast.List | ast.Tuple)
        return self.call("swapaxes" if exchanged else "permute_dims", [x, *axes], {})

    def op_interpolate(self, x: ast.expr, size: ast.expr | None = None, **options: ast.expr) -> tuple[str, str]:
        first: dict[str, ast.expr] = {"layout": ast.Constant("NCHW")}
        return self.call(
            "resize" if size is not None else "upsample", [x] if size is None else [x, size], first | options
        )

    def op_masked_fill(self, x: ast.expr, mask: ast.expr, value: ast.expr) -> tuple[str, str]:
        return self.call("where", [mask, value, x], {})

    def op_arange(self, *bounds: ast.expr) -> tuple[str, str]:
        start = "0, " if len(bounds) == 1 else ""
        return f"@arange({start}{', '.join(self.size(b) for b in bounds)})", "int64"

    def op_join(self, a: ast.expr, b: ast.expr) -> tuple[str, str]:
        if "flag : Tensor([], bool)" not in self.params:
            self.params.append("flag : Tensor([], bool)")
        text, dtype = self.typed(a)
        return f"if (flag) {{ {text} }} else {{ {self.expr(b)} }}", dtype

    def op_rank_at_least(self, x: ast.expr, rank: ast.expr) -> str:
        return self.helper("rank_at_least", self.expr(x), self.size(rank))

    def op_select(self, test: ast.expr, x: ast.expr, y: ast.expr) -> tuple[str, str]:
        text, dtype = self.typed(x)
        return self.helper("select", self._converted(*self.typed(test), "bool"), text, self.expr(y)), dtype

    def op_conv2d_transpose_check(self, x: ast.expr, w: ast.expr, shape: ast.expr, stride: ast.expr) -> str:
        assert isinstance(shape, ast.Tuple | ast.List)
        sizes = [self.size(d) for d in shape.elts]
        self.claimed = f"Tensor([{', '.join(sizes)}], float32)"
        return (
            f'@conv_transpose2d({self.expr(x)}, {self.expr(w)}, strides={self.size(stride)}, auto_pad="same_upper",'
            f' output_shape=[{", ".join(sizes[1:-1])}], layout="channels_last")'
        )

    def op_dense(self, x: ast.expr, units: ast.expr, *bias: ast.expr) -> tuple[str, str]:
        if not self.is_tensor(units):
            return self.helper("dense", self.expr(x), self.size(units)), "float32"
        row = lookup("dense")
        assert row is not None
        return self.primitive(row, [x, units, *bias], {})

    def _recurrent(self, name: str, args: tuple[ast.expr, ...], options: dict[str, ast.expr]) -> tuple[str, str]:
        """A layer by its number of units, the last state or with `seq` every one of them; or the primitive by its weights."""
        if len(args) != 2 or self.is_tensor(args[1]):
            row = lookup(name)
            assert row is not None
            return self.primitive(row, list(args), options)
        every = any(isinstance(o, ast.Constant) and o.value for o in options.values())
        return self.helper("rnn_all" if every else "rnn", self.expr(args[0]), self.size(args[1])), "float32"

    def op_rnn(self, *args: ast.expr, **options: ast.expr) -> tuple[str, str]:
        return self._recurrent("rnn", args, options)

    def op_lstm(self, *args: ast.expr, **options: ast.expr) -> tuple[str, str]:
        return self._recurrent("lstm", args, options)

    def op_gru(self, *args: ast.expr, **options: ast.expr) -> tuple[str, str]:
        return self._recurrent("gru", args, options)

    def op_sparse_xent(self, logits: ast.expr, labels: ast.expr) -> tuple[str, str]:
        return self.call("cross_entropy", [logits, labels], {"axis": ast.Constant(-1)})

    def op_zeropad2d(self, x: ast.expr, n: ast.expr) -> str:
        pair = self._pair(n)
        return f"@pad({self.expr(x)}, [(0, 0), {pair}, {pair}, (0, 0)])"


def _common(dtypes: list[str], slot: Word) -> str:
    """The dtype that operands of one variable are brought to: theirs, if they agree and the row takes it."""
    known = [d for d in dtypes if d]
    allowed = [d for d in known if slot.allows(ALL_DTYPES[d])]
    if known and len(set(known)) == 1 and allowed:
        return known[0]
    if not known:
        return ""
    floating = [d for d in allowed if d.startswith("float")]
    if floating:
        return max(floating)
    return next((d for d in ("float32", "int64", "bool") if slot.allows(ALL_DTYPES[d])), "")


def _is_chain(tree: ast.BinOp) -> bool:
    """`a * b * c` and `a * b + c` need no brackets."""
    return (
        isinstance(tree.left, ast.BinOp)
        and isinstance(tree.left.op, ast.Mult)
        and isinstance(tree.op, ast.Mult | ast.Add)
    )
