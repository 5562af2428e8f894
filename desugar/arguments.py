"""Arguments of calls: those of primitives in the sorts of their parameters, those of functions complete and in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NoReturn

from ..lang import codes, core, sweet
from ..lang.diagnostics import Edit, Label, RxError
from ..lang.dtypes import DTYPES
from ..lang.node import replace
from ..ops.binding import BindError, bind
from ..ops.model import Primitive, PrimitiveParam
from . import levels, shapes
from .code import FunctionCode, said_elsewhere, spelled
from .errors import Broken, as_tensor, count, fail, nearest, problem
from .folding import folded
from .keywords import by_position, in_our_words, no_parameter
from .literals import settled
from .scope import SHAPE_SORTS, SOME_TUPLE
from .sorts import describe
from .symbols import FnInfo, ParamInfo, PrimitiveInfo

_SHOWN = 60
_MOST_PARTS = 8

# Primitives


_LISTS = ("sizes", "shape", "target", "ints")


def _too_many(row: Primitive) -> str | None:
    """Return the help for a call with too many arguments, if a parameter is a list."""
    taken = next((p for p in row.params if p.kind in (*_LISTS, "tensors")), None)
    if taken is None:
        return None
    return f"`{taken.name}` is a list: `{'[x, y]' if taken.kind == 'tensors' else '[n, m]'}`"


def of_primitive(code: FunctionCode, found: PrimitiveInfo, call: sweet.Call) -> tuple[core.Arg, ...]:
    """Return the arguments as the user wrote them, each in the sort of its parameter. All mistakes in them are reported."""
    row = found.row
    _refuse_unlisted(row, call)
    given = in_our_words(code, row, call)
    most = len(row.params)
    more = [a for a in given[most:] if a.name is None]
    if more and _too_many(row) is not None:  # no other mistake is reported then
        _refuse_more(row, more)
    kept = [a for i, a in enumerate(given) if i < most or a.name is not None]
    unknown = [a for a in kept if a.name is not None and all(p.name != a.name.name for p in row.params)]
    parts = [partial(_primitive_argument, code, row, i, arg) for i, arg in enumerate(kept)]
    if more:
        parts.append(partial(_refuse_more, row, more))
    if unknown or more:
        parts.append(partial(_refuse_missing, row, call, kept, len(unknown)))
    args = code.each(parts)
    try:
        bind(row, core.Call(call.span, core.FnRef(call.span, found.name), tuple(args)))
    except BindError as problem:
        fail(codes.E205, problem.message, problem.span)
    return tuple(args)


def _refuse_more(row: Primitive, more: list[sweet.Arg]) -> core.Arg:
    most = count(len(row.params), "argument")
    span = more[0].span.to(more[-1].span)
    fail(codes.E205, f"@{row.name} takes at most {most}", span, help=_too_many(row))


def _refuse_missing(row: Primitive, call: sweet.Call, given: list[sweet.Arg], unknown: int) -> core.Arg:
    """Report missing arguments if they are more than those of unknown names, each of which may be meant for a parameter."""
    names = {a.name.name for a in given if a.name is not None}
    missing = [p.name for p in row.params[by_position(call) :] if p.required and p.name not in names]
    if len(missing) > unknown:
        listed = " and ".join(f"`{name}`" for name in missing)
        fail(codes.E205, f"@{row.name} is called without {listed}", call.callee.span)
    raise Broken


def _refuse_unlisted(row: Primitive, call: sweet.Call) -> None:
    """Reject `@concat(x, y)`, whose tensors belong in a list."""
    if not row.params or row.params[0].kind != "tensors":
        return
    tensors = [a.value for a in call.args if a.name is None and not isinstance(a.value, sweet.IntLit | sweet.Unary)]
    if len(tensors) > 1 and not any(isinstance(t, sweet.ListExpr | sweet.TupleExpr | sweet.StrLit) for t in tensors):
        shown = ", ".join(spelled(t.span) for t in tensors)
        more = "" if len(tensors) == len(call.args) else ", ..."
        fail(
            codes.E206, f"`{row.params[0].name}` is a list of tensors; this is one", tensors[0].span,
            help=f"write `@{row.name}([{shown}]{more})`" if len(shown) <= _SHOWN else "write `[x, y]`",
        )  # fmt: skip


def _primitive_argument(code: FunctionCode, row: Primitive, position: int, arg: sweet.Arg) -> core.Arg:
    param = _parameter(row.name, row.params, position, arg)
    return core.Arg(arg.span, arg.name.name if arg.name else None, _READERS[param.kind](code, param, arg.value))


def _parameter(name: str, params: tuple[PrimitiveParam, ...], position: int, arg: sweet.Arg) -> PrimitiveParam:
    if arg.name is None:
        return params[position]
    found = next((p for p in params if p.name == arg.name.name), None)
    if found is None:
        raise no_parameter(name, params, arg)
    return found


def tensor(code: FunctionCode, expr: sweet.Expr) -> core.Value:
    """Return a tensor-level operand; a size is not one by itself."""
    if isinstance(expr, sweet.Name):  # most operands are the name of a tensor
        entry = code.scope.find(expr.name)
        if entry is not None and entry.number is None and entry.sort == core.TENSOR:
            return entry.at(expr.span)
    found = levels.level(code, expr)
    if found in ("Size", "Shape", "DType", "Bool") and not levels.is_literal(code, expr):
        refuse_size(code, expr, found)
    value, sort = code.hooks.value(code, expr)
    if sort != core.TENSOR:
        fail(codes.E206, f"this is {describe(sort)}; a tensor is needed here", expr.span, help=_one_of(sort))
    return value


def _one_of(sort: core.Sort) -> str | None:
    if not isinstance(sort, core.TupleSort):
        return None
    names = ", ".join("abcdefgh"[: len(sort.items)]) + "," * (len(sort.items) == 1)
    if not sort.items:
        return "a tensor without elements is `tensor([])`"
    return f"`let ({names}) = ...` takes it apart" if len(sort.items) <= _MOST_PARTS else "`let` takes a tuple apart"


def _of_shape(shown: str) -> str:
    if not shown.endswith(".shape"):
        return "`@shape(x)` is the shape of x as a tensor"
    name = shown.removesuffix(".shape")
    return f"`@shape({name})` is it as a tensor, `@size_to_tensor({name}.dim(0), float32)` one of its sizes"


def refuse_size(code: FunctionCode, expr: sweet.Expr, found: str) -> NoReturn:
    """Reject a shape-level value in tensor arithmetic."""
    check_names(code, expr)
    shown = spelled(expr.span)
    helps = {
        "Size": as_tensor(shown),
        "Shape": _of_shape(shown),
        "Bool": "a condition is all over sizes or all over tensors: `@item` makes a Size, `@size_to_tensor` a tensor",
    }
    subject = f"`{shown}`" if len(shown) <= _SHOWN else "this"
    message = f"{subject} is a {found}, not a tensor: sizes and shapes do not mix with tensors"
    literal = isinstance(expr, sweet.ListExpr) and all(isinstance(i, sweet.IntLit) for i in expr.items)
    fail(codes.E207, message, expr.span, help=f"`tensor({shown})` is a tensor" if literal else helps.get(found))


def check_names(code: FunctionCode, expr: sweet.Expr) -> None:
    """Report the first unknown name in an expression."""
    for node in _names(expr):
        code.entry(node.name, node.span)


def _names(expr: sweet.Expr) -> list[sweet.Name]:
    match expr:
        case sweet.Name() if expr.name not in DTYPES:
            return [expr]
        case sweet.Unary():
            return _names(expr.operand)
        case sweet.Binary():
            return _names(expr.left) + _names(expr.right)
    return []


def _tensor(code: FunctionCode, param: PrimitiveParam, expr: sweet.Expr) -> core.Value:
    return tensor(code, expr)


def _tensors(code: FunctionCode, param: PrimitiveParam, expr: sweet.Expr) -> core.Value:
    if isinstance(expr, sweet.ListExpr | sweet.TupleExpr):
        return core.ListValue(
            expr.span, tuple(settled(v, None) for v in code.each(partial(tensor, code, i) for i in expr.items))
        )
    value, sort = code.hooks.value(code, expr)
    if not isinstance(sort, core.TupleSort):
        fail(
            codes.E206, f"`{param.name}` is a list of tensors; this is {describe(sort)}", expr.span,
            help=f"`[{spelled(expr.span)}]`",
        )  # fmt: skip
    return value


def _index(code: FunctionCode, param: PrimitiveParam, expr: sweet.Expr) -> core.Value:
    if isinstance(expr, sweet.ListExpr):
        return _index_list(code, expr)
    if levels.level(code, expr) in ("Size", "Number"):
        return shapes.size(code, expr)
    return tensor(code, expr)


def _index_list(code: FunctionCode, expr: sweet.ListExpr) -> core.Value:
    """Return `[0, 2]` as a tensor of indices."""
    values = [levels.literal_int(code, i) for i in expr.items]
    if not all(v is not None and -(2**63) <= v < 2**63 for v in values):
        fail(codes.E220, "a list of indices has to be literal", expr.span, help="`@stack` makes a tensor of tensors")
    return core.TensorLit(expr.span, (len(values),), tuple(v for v in values if v is not None), DTYPES["int64"])


def _size(code: FunctionCode, param: PrimitiveParam, expr: sweet.Expr) -> core.Value:
    return tensor(code, expr) if _is_tensor(code, expr) else shapes.size(code, expr)


def _is_tensor(code: FunctionCode, expr: sweet.Expr) -> bool:
    return levels.level(code, expr) == "Tensor" and not isinstance(expr, sweet.FloatLit)


def _sizes(code: FunctionCode, param: PrimitiveParam, expr: sweet.Expr) -> core.Value:
    if isinstance(expr, sweet.TupleExpr):
        return core.ShapeLit(expr.span, shapes.dims(code, expr.items))
    if _is_tensor(code, expr):
        return tensor(code, expr)
    if levels.level(code, expr) in ("Size", "Number"):
        return core.ShapeLit(expr.span, (shapes.size(code, expr),))
    return shapes.shape(code, expr)


def _pairs(code: FunctionCode, param: PrimitiveParam, expr: sweet.Expr) -> core.Value:
    if param.name == "pads" and not isinstance(expr, sweet.ListExpr | sweet.TupleExpr) and not _is_tensor(code, expr):
        pad = shapes.size(code, expr)
        return core.ListValue(expr.span, (core.TupleValue(expr.span, (pad, pad)),))
    items = expr.items if isinstance(expr, sweet.ListExpr | sweet.TupleExpr) else (expr,)
    pairs = [i.items for i in items if isinstance(i, sweet.ListExpr | sweet.TupleExpr) and len(i.items) == 2]
    if len(pairs) != len(items):
        fail(
            codes.E206,
            f"`{param.name}` is a list of pairs of Sizes",
            expr.span,
            help="a pair for each axis, before and after it: `[(1, 1), (1, 1)]`",
        )
    made = (tuple(shapes.size(code, s) for s in pair) for pair in pairs)
    return core.ListValue(expr.span, tuple(core.TupleValue(i.span, p) for i, p in zip(items, made, strict=True)))


def _int(code: FunctionCode, param: PrimitiveParam, expr: sweet.Expr) -> core.SizeExpr:
    value = levels.literal_int(code, expr)
    if value is None:
        _needs_literal(code, param, expr, "integer")
    return core.SizeLit(expr.span, value)


def _ints(code: FunctionCode, param: PrimitiveParam, expr: sweet.Expr) -> core.Value:
    if isinstance(expr, sweet.ListExpr | sweet.TupleExpr):
        return core.ShapeLit(expr.span, tuple(_int(code, param, i) for i in expr.items))
    return _int(code, param, expr)


def _float(code: FunctionCode, param: PrimitiveParam, expr: sweet.Expr) -> core.Value:
    value = _literal_number(code, expr)
    if value is None:
        _needs_literal(code, param, expr, "number")
    return core.Number(expr.span, value)


def _literal_number(code: FunctionCode, expr: sweet.Expr) -> int | float | None:
    match expr:
        case sweet.IntLit() | sweet.FloatLit():
            return expr.value
        case sweet.Unary(op="-" | "+", operand=operand):
            inner = _literal_number(code, operand)
            return inner if inner is None or expr.op == "+" else -inner
        case sweet.Binary():
            left, right = _literal_number(code, expr.left), _literal_number(code, expr.right)
            if left is not None and right is not None:
                return folded(expr.op, core.Number(expr.span, left), core.Number(expr.span, right))
        case sweet.Name() if (entry := code.scope.find(expr.name)) is not None and entry.literal is not None:
            return _literal_number(code, entry.literal)
        case sweet.Call(callee=sweet.FnName()) if isinstance(made := code.hooks.value(code, expr)[0], core.Number):
            return made.value
    return None


def _bool(code: FunctionCode, param: PrimitiveParam, expr: sweet.Expr) -> core.Value:
    if not isinstance(expr, sweet.BoolLit):
        _needs_literal(code, param, expr, "`true` or `false`")
    return core.Number(expr.span, expr.value)


def _str(code: FunctionCode, param: PrimitiveParam, expr: sweet.Expr) -> core.Value:
    if not isinstance(expr, sweet.StrLit):
        _needs_literal(code, param, expr, "string")
    return core.Text(expr.span, expr.value)


def _dtype(code: FunctionCode, param: PrimitiveParam, expr: sweet.Expr) -> core.Value:
    return shapes.dtype(code, expr)


def _needs_literal(code: FunctionCode, param: PrimitiveParam, expr: sweet.Expr, what: str) -> NoReturn:
    if isinstance(expr, sweet.Name) and (param.kind != "str" or said_elsewhere(expr.name)):
        code.entry(expr.name, expr.span)
    article = "" if what.startswith("`") else "a literal "
    meant = _as_literal(param, expr)
    fail(
        codes.E220, f"`{param.name}` has to be {article}{what}", expr.span,
        edits=() if meant is None else (Edit(expr.span, meant),), change=f"write `{meant}`",
    )  # fmt: skip


def _as_literal(param: PrimitiveParam, expr: sweet.Expr) -> str | None:
    """Return the likely text for a literal of the wrong kind, or for a word without quotes."""
    match param.kind, expr:
        case "str", sweet.Name() | sweet.IntLit() | sweet.FloatLit() | sweet.Unary():
            return f'"{spelled(expr.span)}"'
        case "bool", sweet.IntLit(value=0 | 1 as value):
            return str(bool(value)).lower()
        case "float", sweet.StrLit(value=text) if text.lstrip("-") == "inf":
            return text.replace("inf", "1e999")
        case "int" | "ints" | "float", sweet.StrLit(value=text) if text.lstrip("-").replace(".", "", 1).isdecimal():
            return text
    return None


_READERS: dict[str, Callable[[FunctionCode, PrimitiveParam, sweet.Expr], core.Value]] = {
    "tensor": _tensor, "tensors": _tensors, "index": _index, "size": _size, "sizes": _sizes, "shape": _sizes,
    "target": _sizes,
    "pairs": _pairs, "int": _int, "ints": _ints, "float": _float, "bool": _bool, "str": _str, "dtype": _dtype,
}  # fmt: skip


# Functions of the program


def of_function(code: FunctionCode, info: FnInfo, call: sweet.Call, name: str) -> tuple[core.Arg, ...]:
    """Return the arguments of a function call, positional and complete. All mistakes in them are reported."""
    given: dict[str, sweet.Arg] = {}
    problems: list[RxError] = []
    for position, arg in enumerate(call.args):
        try:
            param = _matching(info, name, position, arg)
        except RxError as wrong:
            problems.append(wrong)
            continue
        if param.name in given:
            problems.append(problem(codes.E205, f"@{name} gets `{param.name}` twice", arg.span))
        given[param.name] = arg
    missing = [p for p in info.params if p.name not in given and p.default is None]
    if len(missing) > len(problems):  # an argument of a wrong name may be one of them
        problems.append(_lacking(info, name, call, missing))
    if not problems:
        parts = (partial(_argument, code, info, param, given.get(param.name), call) for param in info.params)
        return tuple(code.each(parts))
    for found in problems:
        code.report(found)
    fit = [p for p in info.params if p.name in given]
    code.each(partial(_argument, code, info, p, given[p.name], call) for p in fit)
    raise Broken


def _lacking(info: FnInfo, name: str, call: sweet.Call, missing: list[ParamInfo]) -> RxError:
    label = Label(info.decl.name.span, f"@{name} is defined here")
    names = [p.name for p in missing]
    asked = ", ".join(spelled(p.span) for p in info.decl.fn.params if p.name.name in names)
    listed = " and ".join(filter(None, (", ".join(f"`{n}`" for n in names[:-1]), f"`{names[-1]}`")))
    return problem(
        codes.E205, f"@{name} is called without {listed}", call.span, labels=(label,), help=f"it asks for `{asked}`"
    )


def _all_of(info: FnInfo, known: str) -> str | None:
    """Return the help that lists the parameters of a function called with too many arguments."""
    if len(info.params) != 1:
        return f"they are {known}" if known else None
    is_tuple = isinstance(info.params[0].sort, core.TupleSort)
    return f"it is {known}" + (", a tuple: `((x, y))` is one argument" if is_tuple else "")


def _argument(
    code: FunctionCode, info: FnInfo, param: ParamInfo, given: sweet.Arg | None, call: sweet.Call
) -> core.Arg:
    if given is None:
        return _default(code, info, param, call)
    return replace(of_sort(code, given.value, param), span=given.span)


def _matching(info: FnInfo, name: str, position: int, arg: sweet.Arg) -> ParamInfo:
    if arg.name is None:
        if position >= len(info.params):
            label = Label(info.decl.name.span, f"@{name} is defined here")
            takes, known = count(len(info.params), "argument"), ", ".join(f"`{p.name}`" for p in info.params)
            fail(
                codes.E205,
                f"@{name} takes {takes}",
                arg.span,
                labels=(label,),
                help=_all_of(info, known),
            )
        return info.params[position]
    for param in info.params:
        if param.name == arg.name.name:
            return param
    known = ", ".join(p.name for p in info.params) or "none"
    meant = nearest(arg.name.name, (p.name for p in info.params))
    raise problem(
        codes.E205, f"@{name} has no parameter `{arg.name.name}`; its parameters are {known}", arg.name.span,
        meant=(meant,),
    )  # fmt: skip


def _default(code: FunctionCode, info: FnInfo, param: ParamInfo, call: sweet.Call) -> core.Arg:
    """Return a default, which is literal and so means the same in the caller's file."""
    assert param.default is not None
    home = FunctionCode(info.unit, code.function, code.taken, code.hooks)
    home.may_hoist = False
    return replace(of_sort(home, param.default, param), span=call.span)


def of_sort(code: FunctionCode, expr: sweet.Expr, param: ParamInfo) -> core.Arg:
    """Return an argument for a parameter of a function."""
    if param.sort is None:
        raise Broken
    return core.Arg(expr.span, None, of(code, expr, param.sort, param.name))


def of(code: FunctionCode, expr: sweet.Expr, sort: core.Sort, what: str | None = None) -> core.Value:
    """Return an expression in the sort that its place asks for; `what` names the parameter."""
    match sort:
        case core.BaseSort(name="Size"):
            return shapes.size(code, expr)
        case core.BaseSort(name="Shape"):
            return shapes.shape(code, expr)
        case core.BaseSort(name="DType"):
            return shapes.dtype(code, expr)
        case core.BaseSort(name="Bool"):
            return shapes.condition(code, expr)
        case core.BaseSort():
            return tensor(code, expr)
        case core.TupleSort():
            return _tuple(code, expr, sort, what)
        case core.FnSort():
            return _function(code, expr, sort, what)


def direct(code: FunctionCode, expr: sweet.Expr, sort: core.Sort) -> core.Value:
    """Return the whole expression of a `let` or a result: a call or an `if` that gives a size needs no name of its own."""
    if sort not in SHAPE_SORTS or not isinstance(expr, sweet.Call | sweet.If | sweet.For | sweet.While):
        return of(code, expr, sort)
    if isinstance(expr, sweet.Call) and not _gives_size(code, expr):
        return of(code, expr, sort)
    value, found = code.hooks.value(code, expr, sort)
    if found != sort:
        fail(codes.E206, f"this is {describe(found)}; {describe(sort)} is needed here", expr.span)
    return value


def _gives_size(code: FunctionCode, expr: sweet.Call) -> bool:
    """Whether the result of a call is shape-level."""
    if isinstance(expr.callee, sweet.Name):
        return code.scope.find(expr.callee.name) is not None
    return isinstance(expr.callee, sweet.FnName) and levels.level(code, expr) in ("Size", "Shape", "DType", "Bool")


def _tuple(code: FunctionCode, expr: sweet.Expr, sort: core.TupleSort, what: str | None) -> core.Value:
    if isinstance(expr, sweet.TupleExpr) and sort != SOME_TUPLE:
        if len(expr.items) != len(sort.items):
            fail(codes.E206, f"{describe(sort)} is needed here; this has {len(expr.items)} items", expr.span)
        pairs = zip(expr.items, sort.items, strict=True)
        return core.TupleValue(expr.span, tuple(code.each(partial(of, code, i, s, what) for i, s in pairs)))
    value, found = code.hooks.value(code, expr, sort)
    if not fits(found, sort):
        subject = f"`{what}` is {describe(sort)}" if what else f"{describe(sort)} is needed here"
        fail(codes.E206, f"{subject}; this is {describe(found)}", expr.span)
    return value


def _function(code: FunctionCode, expr: sweet.Expr, sort: core.FnSort, what: str | None) -> core.Value:
    value, found = code.hooks.value(code, expr, sort)
    subject = f"`{what}` is a function" if what else "a function is needed here"
    if not isinstance(found, core.FnSort):
        fail(codes.E206, f"{subject}; this is {describe(found)}", expr.span, help="`@f` is a function as a value")
    wanted, has = len(sort.signature.params), len(found.signature.params)
    if wanted != has and found.text != "?":
        fail(codes.E206, f"{subject} of {count(wanted, 'argument')}; this one takes {has}", expr.span)
    return value


def fits(found: core.Sort, wanted: core.Sort) -> bool:
    """Whether a value of one sort can stand for another; the checker compares the insides of function sorts."""
    match found, wanted:
        case core.FnSort(), core.FnSort():
            return True
        case core.TupleSort(a), core.TupleSort(b):
            if SOME_TUPLE in (found, wanted):
                return True
            return len(a) == len(b) and all(fits(x, y) for x, y in zip(a, b, strict=True))
    return found == wanted
