"""Sizes, shapes, dtypes and conditions: shape-level expressions of the sweet tree to those of the core."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import NoReturn

from ..lang import codes, core, sweet
from ..lang.diagnostics import Edit
from ..lang.dtypes import CLASSES, DTYPES, HOLDERS, dtype_named
from ..lang.node import replace
from ..lang.operators import BINARY
from ..lang.source import Span
from ..ops import elsewhere
from ..sizes.operators import PROD, SIZE_OPERATORS, is_function
from .code import FunctionCode, said_elsewhere, spelled
from .compounds import spelling
from .dtype_names import ELSEWHERE
from .errors import IN_BRACKETS, Broken, as_tensor, fail, nearest
from .levels import ATTRIBUTES, COMPARISONS, SIZE_SIGNS, level, literal_index, literal_int, named_number, word
from .scope import ScopeEntry
from .sorts import describe, opaque

# Attributes of tensors in other libraries that are functions of one tensor here.
_METHODS = {"T": "matrix_transpose", "mT": "matrix_transpose"}
# Names of sizes in other libraries, and how to write each here.
_SIZES = dict.fromkeys(("size", "numel", "nelement"), "the number of elements is a product of `{0}.dim(axis)`")
_RANKS = ("ndim", "ndims", "ndimension")
_SHORT = 40


# Sizes


def size(code: FunctionCode, expr: sweet.Expr) -> core.SizeExpr:
    match expr:
        case sweet.IntLit():
            return core.SizeLit(expr.span, expr.value)
        case sweet.Name() | sweet.Attr() if isinstance(number := named_number(code, expr), sweet.IntLit):
            return core.SizeLit(expr.span, number.value)
        case sweet.Name():
            return _named_size(code, expr)
        case sweet.Unary(op="+"):
            return replace(size(code, expr.operand), span=expr.span)
        case sweet.Unary(op="-", operand=sweet.IntLit() as literal):
            return core.SizeLit(expr.span, -literal.value)
        case sweet.Unary(op="-"):
            return core.operation(expr.span, "-", core.SizeLit(expr.span, 0), size(code, expr.operand))
        case sweet.Binary() if code.compounds and spelling(expr) in code.compounds:
            return _named_size(code, sweet.Name(expr.span, spelling(expr)))
        case sweet.Binary() if expr.op in SIZE_SIGNS:
            return core.operation(expr.span, expr.op, size(code, expr.left), size(code, expr.right))
        case sweet.Binary() if expr.op not in BINARY:  # an operator that the parser has reported
            raise Broken
        case sweet.Binary(op="**"):
            fail(codes.E206, "sizes have no `**`", expr.span, help="write the product out: `n * n`")
        case sweet.Attr():
            found = _attribute(code, expr, "Size")
            return found if isinstance(found, core.SizeExpr) else wrong_sort(code, expr, "Size")
        case sweet.Call(callee=sweet.Attr()):
            return _dim(code, expr)
        case sweet.Call(callee=sweet.Name(name=name)) if is_function(name) and code.scope.find(name) is None:
            if level(code, expr) != "Size":
                wrong_sort(code, expr, "Size")
            return _size_function(code, expr, name)
        case sweet.Index() if isinstance(part := _part(code, expr, core.SIZE), core.SizeExpr):
            return part
        case sweet.Call() | sweet.If() | sweet.For() | sweet.While():
            return _hoisted_size(code, expr)
    return wrong_sort(code, expr, "Size")


def _named_size(code: FunctionCode, expr: sweet.Name) -> core.SizeExpr:
    if code.scope.find(expr.name) is None and expr.name in DTYPES:
        wrong_sort(code, expr, "Size")
    entry = code.entry(expr.name, expr.span, lambda e: e.sort == core.SIZE)
    if entry.sort != core.SIZE:
        wrong_sort(code, expr, "Size")
    found = entry.at(expr.span)
    assert isinstance(found, core.SizeExpr)
    return found


_OF_TENSOR: dict[str, Callable[[Span, str], core.Value]] = {
    "Size": core.RankOf,
    "Shape": core.ShapeOf,
    "DType": core.DTypeOf,
}


def _attribute(code: FunctionCode, expr: sweet.Attr, want: str) -> core.Value:
    """Return the value of another file's name, or the attribute of a tensor that is a Size, a Shape or a DType."""
    entry = code.foreign(expr)
    if entry is not None:
        return entry.at(expr.span)
    found = ATTRIBUTES.get(expr.name.name)
    if found is None:
        _unknown_size(expr)
    return _OF_TENSOR[want](expr.span, tensor_name(code, expr.value)) if found == want else wrong_sort(code, expr, want)


def unknown_attribute(code: FunctionCode, expr: sweet.Attr) -> NoReturn:
    """Reject an attribute; the help names the function that replaces a method of another library."""
    name = _METHODS.get(expr.name.name, expr.name.name)
    of = spelled(expr.value.span)
    known = code.symbols.target(code.unit, name) is not None and len(of) <= _SHORT
    if _is_module(code, expr.value):
        of, more = "", "..."
    else:
        more = "" if name != expr.name.name else ", ..."
    said = elsewhere.method(expr.name.name, of or "x")
    other = elsewhere.another(expr.name.name, of or "x")
    _no_attribute(expr, other or (f"write `@{name}({of}{more})`" if known else said))


def _is_module(code: FunctionCode, value: sweet.Expr) -> bool:
    """Whether this may be a module of another language: `np.exp(x)`, `torch.nn.functional.relu(x)`."""
    while isinstance(value, sweet.Attr):
        value = value.value
    return isinstance(value, sweet.Name) and code.scope.find(value.name) is None


def _unknown_size(expr: sweet.Attr, args: tuple[sweet.Arg, ...] | None = None) -> NoReturn:
    """Reject an attribute that no function of tensors replaces; `args` are its arguments if it is called."""
    name, of = expr.name.name, spelled(expr.value.span)
    if name in _RANKS:
        _no_attribute(expr, f"write `{of}.rank`", (Edit(expr.name.span, "rank"),) if args is None else ())
    if name == "size" and args is not None and len(args) == 1:
        _no_attribute(expr, f"write `{of}.dim({spelled(args[0].span)})`", (Edit(expr.name.span, "dim"),))
    meant = _SIZES.get(name)
    _no_attribute(expr, meant.format(of) if meant is not None and len(of) <= _SHORT else None)


def _no_attribute(expr: sweet.Attr, help: str | None, edits: tuple[Edit, ...] = ()) -> NoReturn:
    of = expr.value
    if expr.name.name == "dim":
        help = f"`{spelled(of.span)}.dim(0)` is the size of an axis"
    if isinstance(of, sweet.Name):
        help = help or said_elsewhere(of.name)
    help = help or elsewhere.attribute(expr.name.name) or "a tensor has .rank, .dim(axis), .shape and .dtype"
    fail(codes.E215, f"there is no `.{expr.name.name}`", expr.name.span, help=help, edits=edits)


def _dim(code: FunctionCode, expr: sweet.Call) -> core.SizeExpr:
    assert isinstance(expr.callee, sweet.Attr)
    if expr.callee.name.name != "dim":
        _unknown_size(expr.callee, expr.args)
    if not expr.args:
        of = spelled(expr.callee.value.span)
        help = f"`{of}.dim(0)` is the size of its first axis, `{of}.rank` the number of its axes"
        fail(
            codes.E205,
            ".dim takes one axis",
            expr.span,
            help=help,
            edits=(Edit(expr.span, f"{of}.rank"),),
            change=f"write `{of}.rank`",
        )
    if len(expr.args) != 1 or expr.args[0].name is not None:
        fail(codes.E205, ".dim takes one axis", expr.span, help="`x.dim(0)`, or `x.dim(-1)` for the last")
    axis = literal_int(code, expr.args[0].value)
    if axis is None:
        fail(codes.E220, "the axis of .dim has to be a literal", expr.args[0].span, help="`x.dim(0)`")
    return core.DimOf(expr.span, tensor_name(code, expr.callee.value), axis)


def _size_function(code: FunctionCode, expr: sweet.Call, name: str) -> core.SizeExpr:
    if name == PROD:
        [arg] = _operands(expr, "prod takes one shape", 1)
        return core.ProdOf(expr.span, shape(code, arg))
    several = SIZE_OPERATORS[name].several
    args = _operands(expr, f"{name} takes {'two or more' if several else 'two'} sizes", 2, several)
    return core.operation(expr.span, name, *(size(code, a) for a in args))


def _operands(expr: sweet.Call, takes: str, least: int, several: bool = False) -> list[sweet.Expr]:
    if any(a.name for a in expr.args) or len(expr.args) < least or (len(expr.args) > least and not several):
        fail(codes.E205, takes, expr.span)
    return [a.value for a in expr.args]


def _hoisted_size(code: FunctionCode, expr: sweet.Call | sweet.If | sweet.For | sweet.While) -> core.SizeExpr:
    if isinstance(expr, sweet.Call) and level(code, expr) not in ("Size", "?"):
        wrong_sort(code, expr, "Size")
    found = code.hoist(expr, core.SIZE)
    assert isinstance(found, core.SizeExpr)
    return found


def tensor_name(code: FunctionCode, expr: sweet.Expr) -> str:
    """Return the core name of a tensor whose rank, dimensions or dtype is read; other expressions than names get one."""
    if isinstance(expr, sweet.Name):
        entry = code.entry(expr.name, expr.span, lambda e: e.sort == core.TENSOR)
        if entry.sort != core.TENSOR:
            wrong_sort(code, expr, "Tensor")
        entry.used = True
        assert isinstance(entry.expr, core.Var)
        return entry.expr.name
    value, sort = code.hooks.value(code, expr)
    if isinstance(value, core.Var) and sort == core.TENSOR:
        return value.name
    if sort != core.TENSOR:
        fail(codes.E206, f"this is {describe(sort)}; a tensor is needed here", expr.span)
    named = code.name(value, sort, "t")
    assert isinstance(named, core.Var)
    return named.name


# Shapes


def shape(code: FunctionCode, expr: sweet.Expr) -> core.ShapeExpr:
    match expr:
        case sweet.ListExpr():
            return core.ShapeLit(expr.span, dims(code, expr.items))
        case sweet.Name():
            entry = code.entry(expr.name, expr.span, lambda e: e.sort == core.SHAPE)
            found = entry.at(expr.span) if entry.sort == core.SHAPE else wrong_sort(code, expr, "Shape")
        case sweet.Attr():
            found = _attribute(code, expr, "Shape")
        case sweet.Index() if isinstance(part := _part(code, expr, core.SHAPE), core.ShapeExpr):
            found = part
        case sweet.Call(callee=sweet.Name(name="broadcast")) if code.scope.find("broadcast") is None:
            args = _operands(expr, "broadcast takes two or more shapes", 2, several=True)
            found = reduce(lambda a, b: core.BroadcastOf(expr.span, a, b), [shape(code, a) for a in args])
        case sweet.Call() | sweet.If() | sweet.For() | sweet.While():
            found = code.hoist(expr, core.SHAPE)
        case _:
            wrong_sort(code, expr, "Shape")
    return found if isinstance(found, core.ShapeExpr) else wrong_sort(code, expr, "Shape")


def dims(code: FunctionCode, items: tuple[sweet.Expr, ...]) -> tuple[core.SizeExpr | core.Splice, ...]:
    """Return the dimensions of a shape in brackets."""
    return tuple(_dimension(code, item) for item in items)


def _dimension(code: FunctionCode, item: sweet.Expr) -> core.SizeExpr | core.Splice:
    match item:
        case sweet.Splice():
            return splice(code, item)
        case sweet.Dots() | sweet.Unknown():
            shown = f"`{spelled(item.span)}` can stand in a type, not here"
            fail(codes.E221, shown, item.span, help="sizes are written out; one of a reshape may be `-1`")
    return size(code, item)


def splice(code: FunctionCode, item: sweet.Splice) -> core.Splice:
    """Return `*s`. If s stands for `x.shape`, it is named first: only names can be spliced."""
    entry = code.entry(item.name.name, item.name.span, lambda e: e.sort == core.SHAPE)
    if entry.sort != core.SHAPE:
        wrong_sort(code, sweet.Name(item.name.span, item.name.name), "Shape")
    found = entry.at(item.span)
    if not isinstance(found, core.ShapeVar):
        assert isinstance(found, core.ShapeExpr)
        entry.expr = found = name_shape(code, entry, found)
    return core.Splice(item.span, found.name)


def name_shape(code: FunctionCode, entry: ScopeEntry, found: core.ShapeExpr) -> core.ShapeVar:
    name = code.core_name(entry.name)
    code.emit(core.Let(entry.span, (name,), False, core.SHAPE, found))
    return core.ShapeVar(entry.span, name)


# Dtypes


def dtype(code: FunctionCode, expr: sweet.Expr) -> core.DTypeExpr:
    match expr:
        case sweet.Name():
            named = dtype_named(expr.name) if code.scope.find(expr.name) is None else None
            if named is not None:
                return core.DTypeLit(expr.span, named)
            if code.scope.find(expr.name) is None:
                known = ELSEWHERE.get(expr.name) or nearest(expr.name, DTYPES)
                fail(
                    codes.E201, f"there is no dtype `{expr.name}`", expr.span,
                    meant=(known,),
                )  # fmt: skip
            entry = code.entry(expr.name, expr.span, lambda e: e.sort == core.DTYPE)
            found = entry.at(expr.span) if entry.sort == core.DTYPE else wrong_sort(code, expr, "DType")
        case sweet.Attr():
            found = _attribute(code, expr, "DType")
        case sweet.Index() if isinstance(part := _part(code, expr, core.DTYPE), core.DTypeExpr):
            found = part
        case sweet.Call(callee=sweet.Name(name=holder), args=args) if holder in HOLDERS:
            return core.DTypeLit(expr.span, opaque(expr, holder, tuple(a.value for a in args)))
        case sweet.Call() | sweet.If() | sweet.For() | sweet.While():
            found = code.hoist(expr, core.DTYPE)
        case _:
            wrong_sort(code, expr, "DType")
    return found if isinstance(found, core.DTypeExpr) else wrong_sort(code, expr, "DType")


# Conditions


def condition(code: FunctionCode, expr: sweet.Expr) -> core.BoolExpr:
    match expr:
        case sweet.BoolLit():
            return core.BoolConst(expr.span, expr.value)
        case sweet.Name() | sweet.Attr() if isinstance(literal := named_number(code, expr), sweet.BoolLit):
            return core.BoolConst(expr.span, literal.value)
        case sweet.Name():
            entry = code.entry(expr.name, expr.span, lambda e: e.sort == core.BOOL)
            found = entry.at(expr.span) if entry.sort == core.BOOL else wrong_sort(code, expr, "Bool")
            return found if isinstance(found, core.BoolExpr) else wrong_sort(code, expr, "Bool")
        case sweet.Unary(op="!"):
            return core.Not(expr.span, condition(code, expr.operand))
        case sweet.Binary(op="&&" | "||"):
            return core.Logic(expr.span, expr.op, condition(code, expr.left), condition(code, expr.right))
        case sweet.Binary() if expr.op in COMPARISONS:
            return _compare(code, expr)
        case sweet.InClass():
            return _in_class(code, expr)
        case sweet.Index() if isinstance(part := _part(code, expr, core.BOOL), core.BoolExpr):
            return part
        case sweet.Attr() if (entry_ := code.foreign(expr)) is not None:
            found = entry_.at(expr.span)
            return found if isinstance(found, core.BoolExpr) else wrong_sort(code, expr, "Bool")
        case sweet.If():
            return _hoisted_condition(code, expr)
        case sweet.Call() | sweet.For() | sweet.While() if level(code, expr) == "Bool":
            return _hoisted_condition(code, expr)
    return wrong_sort(code, expr, "Bool")


def _hoisted_condition(code: FunctionCode, expr: sweet.Expr) -> core.BoolExpr:
    found = code.hoist(expr, core.BOOL)
    assert isinstance(found, core.BoolExpr)
    return found


def _compare(code: FunctionCode, expr: sweet.Binary) -> core.BoolExpr:
    kind = _compared(code, expr)
    if kind == "Part":
        wrong_sort(code, next(side for side in (expr.left, expr.right) if level(code, side) == kind), "Size")
    if kind not in ("Size", "Number") and expr.op not in ("==", "!="):
        fail(codes.E206, f"`{expr.op}` compares Sizes; these are {kind}s", expr.span, help="`==` and `!=` compare them")
    read = {"Shape": shape, "DType": dtype, "Bool": condition, "Truth": condition}.get(kind, size)
    left, right = code.each(partial(read, code, side) for side in (expr.left, expr.right))
    return core.Compare(expr.span, expr.op, left, right)


def _compared(code: FunctionCode, expr: sweet.Binary) -> str:
    left, right = level(code, expr.left), level(code, expr.right)
    if left == right == "Tensor":
        code.each(partial(refuse_part_of_shape, code, side) for side in (expr.left, expr.right))
        of = " and ".join(f"`{spelled(side.span)}`" for side in (expr.left, expr.right))
        fail(codes.E206, f"sizes, shapes and dtypes are compared here; {of} are tensors", expr.span, help=_ALIKE)
    for side, found in ((expr.left, left), (expr.right, right)):
        if found == "Tensor":
            wrong_sort(code, side, "Size")
    return left if left not in ("?", "Number", "Truth") else right if right != "?" else left


def _in_class(code: FunctionCode, expr: sweet.InClass) -> core.BoolExpr:
    for choice in expr.choices:
        if choice.name not in DTYPES and choice.name not in CLASSES:
            known = nearest(choice.name, (*CLASSES, *DTYPES))
            fail(
                codes.E201, f"there is no dtype and no class of dtypes called `{choice.name}`", choice.span,
                help=None if known else f"classes are {', '.join(CLASSES)}", meant=(known,),
            )  # fmt: skip
    return core.InClass(expr.span, dtype(code, expr.item), tuple(c.name for c in expr.choices), expr.braces)


# Parts


def _part(code: FunctionCode, expr: sweet.Index, want: core.Sort) -> core.Value:
    """Return a tuple's part of a shape-level sort."""
    value, sort = code.hooks.value(code, expr)
    return value if sort == want else wrong_sort(code, expr, word(want))


_ALIKE = (
    "`x.shape == y.shape` compares shapes; elements are known only when the program runs: `if (@all(x == y)) { ... }`"
)


# Wrong sorts

_NAME_IT = "give it a name where it is bound"


def wrong_sort(code: FunctionCode, expr: sweet.Expr, want: str) -> NoReturn:
    """Reject an expression of another sort than the place asks for."""
    found = level(code, expr)
    if isinstance(expr, sweet.Name) and found == "?":
        code.entry(expr.name, expr.span)
    refuse_part_of_shape(code, expr)
    if isinstance(expr, sweet.Call) and isinstance(expr.callee, sweet.FnName):
        code.symbols.called(code.unit, expr.callee)
    if (
        isinstance(expr, sweet.Call)
        and isinstance(expr.callee, sweet.Name)
        and code.scope.find(expr.callee.name) is None
        and not is_function(expr.callee.name)
    ):
        code.hooks.value(code, expr)  # this call reports an unknown name
    shown = spelled(expr.span)
    if found == "Part":
        fail(codes.E221, f"`{shown}` names nothing, and a {want} is needed here", expr.span, help=_NAME_IT)
    name = {"Tensor": "tensor", "Fn": "function", "Tuple": "tuple", "List": "list", "Text": "text"}.get(found, found)
    name = "number" if isinstance(expr, sweet.FloatLit) else {"Number": "number", "Truth": "Bool"}.get(name, name)
    wanted = "tensor" if want == "Tensor" else want
    subject = f"`{shown}`" if len(shown) <= 40 else "this"
    message = f"{subject} is a {name}; a {wanted} is needed here" if found != "?" else f"a {wanted} is needed here"
    advice = (
        _whole(expr) if isinstance(expr, sweet.FloatLit) else _untyped(code, expr, want) or _advice(found, want, shown)
    )
    fail(codes.E206 if want != "Tensor" or found != "Size" else codes.E207, message, expr.span, help=advice)


def refuse_part_of_shape(code: FunctionCode, expr: sweet.Expr, bound: sweet.Ident | None = None) -> None:
    """Reject `x.shape[0]`, which is `x.dim(0)`; `bound` is the name that a `let` without a type binds to it."""
    axis = literal_index(code, expr) if isinstance(expr, sweet.Index) else None
    match expr:
        case sweet.Index(value=sweet.Attr(value=sweet.Name(name=name), name=sweet.Ident(name="shape"))) if (
            axis is not None
        ):
            size, called = f"{name}.dim({axis})", "k" if bound is None else bound.name
            named = f"`let {called} : Size = {size}`"
            sort = () if bound is None else (Edit(Span(bound.span.source, bound.span.end, bound.span.end), " : Size"),)
            fail(
                codes.E207, f"`{name}.shape` is a Shape, which has no parts", expr.span,
                help=f"write `{size}`, and {named} for a name of it; `@shape({name})` is the shape as a tensor",
                edits=(*sort, Edit(expr.span, size)), change=f"write {named if sort else f'`{size}`'}",
            )  # fmt: skip


def _whole(expr: sweet.FloatLit) -> str | None:
    return f"a Size is an integer: `{int(expr.value)}`" if expr.value.is_integer() else None


def _untyped(code: FunctionCode, expr: sweet.Expr, want: str) -> str | None:
    """Return the help for a parameter without a type, which is a tensor."""
    info = code.unit.fns.get(code.function or "")
    params = info.decl.fn.params if info is not None and isinstance(expr, sweet.Name) else ()
    found = next((p for p in params if p.name.name == spelled(expr.span) and p.type is None), None)
    return f"a parameter without a type is a tensor: write `{found.name.name} : {want}`" if found else None


# The help for an expression of the wrong sort, by its sort and the wanted one.
_ADVICE = {
    ("DType", "Shape"): IN_BRACKETS,
    ("Tuple", "Size"): "`{0}[0]` is its first part",
    ("Tensor", "Size"): "`@item({0})` reads a rank-0 integer tensor as a Size; `.dim(0)` is a dimension",
    ("Tensor", "Bool"): "an assertion is about sizes, shapes and dtypes; `@item` reads a number out of a tensor",
    ("Size", "Bool"): "a condition compares sizes, as in `{0} >= 1`",
    ("Size", "Shape"): "`[{0}]` is a Shape of one dimension",
    ("Number", "Shape"): "`[{0}]` is a Shape of one dimension",
    ("Size", "DType"): "a shape is a list of sizes: `[n, m]`",
    ("Shape", "Tensor"): "`@shape({0})` is the shape of x as a tensor",
}


def _advice(found: str, want: str, shown: str) -> str | None:
    match found, want:
        case "Text", "Size" if shown.strip('"').isidentifier():
            return f"write `{shown.strip(chr(34))}`"
        case "Text", "DType" if (name := shown.strip("\"'")) in DTYPES:
            return f"write `{name}`"
        case "Tuple", "Shape" if shown.startswith("("):
            return f"write `[{shown[1:-1]}]`"
        case "Shape", "Size" if shown.endswith(".shape"):
            return f"`{shown.removesuffix('.shape')}.dim(0)` is its first dimension"
        case "Tensor", ("Shape" | "DType") if shown.isidentifier():
            return f"`{shown}.{want.lower()}` is the {want.lower()} of a tensor"
        case "Size", "Tensor":
            return as_tensor(shown)
        case "Size", "Bool" if "%" in shown:
            return f"`{shown} == 0` is a Bool"
    advice = _ADVICE.get((found, want))
    return None if advice is None else advice.replace("{0}", shown)
