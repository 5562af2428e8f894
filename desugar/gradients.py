"""`@dloss = grad @loss wrt w1, w2` as a function: its signature is that of `@loss`, its results have the parameters' types.

Its body is a stand-in of the right sorts, a call of `@loss` and the parameters themselves, which grad/ replaces.
"""

from __future__ import annotations

from ..lang import codes, core, sweet
from ..lang.diagnostics import Label
from ..lang.dtypes import DTYPES
from .errors import fail
from .sorts import expand, sort_of
from .spelt import Spelt
from .symbols import FnInfo, SymbolTable, Unit


def derive(symbols: SymbolTable) -> None:
    """The functions that gradients are, those of which others are gradients first."""
    for unit in symbols.units:
        waiting = dict(unit.gradients)
        while waiting:
            item = next((i for i in waiting.values() if i.of.name not in waiting), next(iter(waiting.values())))
            del waiting[item.name.name]
            with symbols.reporting():
                info = symbols.called(unit, item.of)
                if not isinstance(info, FnInfo):
                    fail(codes.E231, f"@{item.of.name} is no function with a body in Rx", item.of.span)
                decl, made = _declared(unit, item, info)
                symbols.function(unit, decl, {})
                symbols.gradients.append(made)


def _declared(unit: Unit, item: sweet.Gradient, info: FnInfo) -> tuple[sweet.FnDecl, core.Gradient]:
    """The function that a gradient is, and what grad/ has to put into it. Raises RxError where there is none."""
    of, result = info.decl.fn, info.decl.fn.result
    if info.unit is not unit:
        fail(codes.E231, f"@{item.of.name} stands in another file: differentiate it there", item.of.span)
    if info.form != "sweet" or of.body is None:
        fail(codes.E231, f"@{item.of.name} has no body in Rx that could be differentiated", item.of.span)
    if result is None:
        name = info.decl.name
        message = f"@{name.name} has no result type, so the type of its gradient is not known"
        fail(codes.E231, message, name.span, labels=_asked(item), help="write its type before the body")
    if item.kind != "vjp" and not _is_scalar(expand(unit, result)):
        fail(
            codes.E230, f"the result of @{info.decl.name.name} is no scalar: its gradient wants a cotangent",
            info.decl.name.span, labels=_asked(item), help=f"`vjp @{item.of.name} wrt ...` takes it as its last parameter",
        )  # fmt: skip
    asked = [_parameter(unit, info, name) for name in item.wrt]
    types = [p.type for p in asked if p.type is not None]
    leaves = [leaf for type_ in types for leaf in _leaves(unit, type_)]
    taken = {p.name.name for p in of.params} | Spelt(of.params, result, of.where).identifiers
    params, where = of.params, (*of.where, *_floating(item, leaves))
    g = _free("g", taken)
    if item.kind == "vjp":
        params = (*params, sweet.Param(item.span, sweet.Ident(item.span, g), result, None))
    if item.kind == "value_and_grad":
        types = [result, *types]
    gives = types[0] if len(types) == 1 else sweet.TupleType(item.span, tuple(types))
    body = _stand_in(item, of, _free("value", taken), g if item.kind == "vjp" else None)
    fn = sweet.Fn(item.span, params, gives, where, body)
    made = core.Gradient(
        item.span, unit.qualified(item.name.name), item.kind, info.name, tuple(p.name.name for p in asked)
    )
    return sweet.FnDecl(item.span, (), item.name, fn, None), made


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _asked(item: sweet.Gradient) -> tuple[Label, ...]:
    return (Label(item.span, "its gradient is asked for here"),)


def _stand_in(item: sweet.Gradient, of: sweet.Fn, value: str, g: str | None) -> sweet.Block:
    span = item.span
    args = tuple(sweet.Arg(span, None, sweet.Name(span, p.name.name)) for p in of.params)
    named = ((value, sweet.Call(span, item.of, args)), *((("_", sweet.Name(span, g)),) if g is not None else ()))
    lets = tuple(sweet.Let(span, (sweet.Ident(span, n),), False, None, False, e) for n, e in named)
    names = [*([value] if item.kind == "value_and_grad" else []), *(w.name for w in item.wrt)]
    results = tuple(sweet.Name(span, n) for n in names)
    return sweet.Block(span, lets, results[0] if len(results) == 1 else sweet.TupleExpr(span, results))


def _is_scalar(type_: sweet.Type) -> bool:
    match type_:
        case sweet.TensorType(shape=sweet.ListExpr(items=())):
            return True
        case sweet.NamedType(name=name):
            return name in DTYPES
        case _:
            return False


def _parameter(unit: Unit, info: FnInfo, name: sweet.Ident) -> sweet.Param:
    """The parameter that a gradient is asked for; an error where it has none."""
    found = next((p for p in info.decl.fn.params if p.name.name == name.name), None)
    if found is None:
        own = ", ".join(f"`{p.name.name}`" for p in info.decl.fn.params) or "none"
        fail(codes.E231, f"@{info.decl.name.name} has no parameter `{name.name}`: its parameters are {own}", name.span)
    label = (Label(found.span, "declared here"),)
    for type_ in _leaves(unit, found.type):
        if type_ is not None and sort_of(type_) != core.TENSOR:
            kind = type_.name if isinstance(type_, sweet.NamedType) else "no tensor"
            fail(codes.E231, f"`{name.name}` is {kind}: only a tensor has a gradient", name.span, labels=label)
        dtype = _dtype(type_)
        if dtype is None:
            fail(codes.E231, f"the dtype of `{name.name}` is not declared, so that it is not known whether it has a gradient",
                 name.span, labels=label, help="`Tensor([n], float32)` says it")  # fmt: skip
        if dtype in DTYPES and DTYPES[dtype].kind != "float":
            fail(
                codes.E231, f"`{name.name}` is {dtype}: only a tensor of floats has a gradient", name.span, labels=label
            )
    return found


def _leaves(unit: Unit, type_: sweet.Type | None) -> list[sweet.Type | None]:
    """What a tuple is made of, tuples in it too."""
    type_ = None if type_ is None else expand(unit, type_)
    if isinstance(type_, sweet.TupleType):
        return [leaf for item in type_.items for leaf in _leaves(unit, item)]
    return [type_]


def _dtype(type_: sweet.Type | None) -> str | None:
    match type_:
        case sweet.TensorType(dtype=sweet.Name(name=name)) | sweet.NamedType(name=name):
            return name
    return None


def _floating(item: sweet.Gradient, types: list[sweet.Type | None]) -> list[sweet.Expr]:
    """That a dtype which only its name says is one of floats."""
    names = dict.fromkeys(n for n in map(_dtype, types) if n is not None and n not in DTYPES)
    return [
        sweet.InClass(item.span, sweet.Name(item.span, n), (sweet.Name(item.span, "floating"),), False) for n in names
    ]
