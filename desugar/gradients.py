"""`@dloss = grad @loss wrt w1, w2` as a function: its signature is that of `@loss`, its results have the parameters' types.

Its body is a placeholder of the right sorts, a call of `@loss` and the parameters themselves, which grad/ replaces.
"""

from __future__ import annotations

from ..lang import codes, core, sweet
from ..lang.diagnostics import Label
from ..lang.dtypes import DTYPES
from ..lang.expressions import unused
from ..lang.node import replace
from .errors import count, fail
from .sorts import expand, sort_of
from .spelt import Spelt
from .symbols import FnInfo, ImplsInfo, PrimitiveInfo, SymbolTable, Unit


def derive(symbols: SymbolTable) -> None:
    """Add the functions of rules and of gradients; a gradient comes before the gradients of itself."""
    for unit in symbols.units:
        for rule in unit.rules:
            with symbols.reporting():
                _rule(symbols, unit, rule)
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
    """Return the function for a gradient, and its description for grad/. Raise RxError if there is no gradient."""
    of, result = info.decl.fn, info.decl.fn.result
    if info.unit is not unit:
        fail(codes.E231, f"@{item.of.name} stands in another file: differentiate it there", item.of.span)
    has_rule = info.name in {r.of for r in unit.symbols.rules} or item.kind == "rule"
    if (info.form != "sweet" or of.body is None) and not has_rule:
        fail(codes.E231, f"@{item.of.name} has no body in Rx that could be differentiated", item.of.span)
    if result is None:
        name = info.decl.name
        message = f"@{name.name} has no result type, so the type of its gradient is not known"
        fail(codes.E231, message, name.span, labels=_asked(item), help="write its type before the body")
    if item.kind not in ("vjp", "jvp", "rule") and not _is_scalar(expand(unit, result)):
        fail(
            codes.E230, f"the result of @{info.decl.name.name} is no scalar: its gradient wants a cotangent",
            info.decl.name.span, labels=_asked(item), help=f"`vjp @{item.of.name} wrt ...` takes it as its last parameter",
        )  # fmt: skip
    asked = _wanted(unit, item, info, result)
    types = [p.type for p in asked if p.type is not None]
    leaves = [leaf for type_ in types for leaf in _leaves(unit, type_)]
    taken = {p.name.name for p in of.params} | Spelt(of.params, result, of.where).identifiers
    params, where = of.params, (*of.where, *_floating(item, leaves))
    along = _together(item, types)
    more = {"vjp": ("g", result), "rule": ("g", result), "jvp": ("v", along), "hessian_vector": ("v", along)}.get(
        item.kind
    )
    given = None if more is None else unused(more[0], taken)
    if more is not None and given is not None:
        params = (*params, sweet.Param(item.span, sweet.Ident(item.span, given), more[1], None))
    gives = {"value_and_grad": _together(item, [result, *types]), "jvp": result}.get(item.kind, along)
    fn = sweet.Fn(item.span, params, gives, where, _stand_in(item, of, unused("value", taken), given))
    made = core.Gradient(
        item.span, unit.qualified(item.name.name), item.kind, info.name, tuple(p.name.name for p in asked)
    )
    return sweet.FnDecl(item.span, (), item.name, fn, None), made


def _wanted(unit: Unit, item: sweet.Gradient, info: FnInfo, result: sweet.Type) -> list[sweet.Param]:
    """Return the parameters after `wrt`; check that each occurs once and that the result can have gradients."""
    again = next((n for i, n in enumerate(item.wrt) if n.name in {m.name for m in item.wrt[:i]}), None)
    if again is not None:
        fail(codes.E231, f"`{again.name}` stands behind `wrt` twice", again.span)
    asked = [_parameter(unit, info, name) for name in item.wrt]
    dtype = _dtype(expand(unit, result))
    if item.kind != "rule" and dtype in DTYPES and DTYPES[dtype].kind != "float":
        message = f"the result of @{info.decl.name.name} is {dtype}: only a result of floats has a gradient"
        fail(codes.E231, message, info.decl.name.span, labels=_asked(item))
    if item.kind != "rule" and any(leaf and sort_of(leaf) != core.TENSOR for leaf in _leaves(unit, result)):
        message = f"the result of @{info.decl.name.name} is not only of tensors: only tensors have a gradient"
        fail(codes.E231, message, info.decl.name.span, labels=_asked(item))
    return asked


def _together(item: sweet.Gradient, types: list[sweet.Type]) -> sweet.Type:
    return types[0] if len(types) == 1 else sweet.TupleType(item.span, tuple(types))


# Rules that the program defines


def _rule(symbols: SymbolTable, unit: Unit, item: sweet.FnDecl) -> None:
    """Add `vjp @f = fn(...)` as a function, and a second one with the required signature that calls it: checking the call
    shows that the two fit for all sizes."""
    name, params = item.name, item.fn.params
    target = symbols.called(unit, sweet.FnName(name.span, name.name))
    taken = {n.rpartition(".")[2].rstrip("'") for n in symbols.names}
    own = unused(f"vjp_{name.name}".replace(".", "_"), taken) + core.UNSAID
    if target.name in {r.of for r in symbols.rules if r.name is not None}:
        fail(codes.E203, f"`vjp @{name.name}` stands in another file already", name.span)
    if isinstance(target, ImplsInfo):
        fail(codes.E231, f"@{name.name} is a list of implementations: each may have a rule", name.span)
    if not params:
        fail(
            codes.E205,
            f"the rule of @{name.name} does not take what is handed back to its result",
            name.span,
            help=_TAKES,
        )
    symbols.function(unit, replace(item, prefixes=(), name=replace(name, name=own)), {})
    called, made = sweet.FnName(name.span, own), unit.qualified(own)
    if isinstance(target, FnInfo):
        decl, wrt = _of_function(unit, item, target, called)
        own, params = decl.name.name, decl.fn.params
    else:
        decl, wrt = _of_primitive(unit, item, target, called)
    symbols.function(unit, decl, {})
    named = tuple(p.name.name for p in params[:-1])
    symbols.rules.append(
        core.Rule(name.span, target.name, unit.qualified(own), named, wrt, (made, unit.qualified(decl.name.name)))
    )


_TAKES = (
    "a rule is `vjp @f = fn(<the parameters of @f>, g : <the type of its result>) : <those of its gradients> { ... }`"
)


def _of_function(
    unit: Unit, item: sweet.FnDecl, info: FnInfo, own: sweet.FnName
) -> tuple[sweet.FnDecl, tuple[str, ...]]:
    """Return the function that calls a rule with the parameters of its function, by position, and the cotangent of the
    result."""
    span, of = item.name.span, info.decl.fn
    if len(item.fn.params) != len(of.params) + 1:
        has, wants = count(len(item.fn.params), "parameter"), len(of.params) + 1
        label = (Label(info.decl.name.span, f"@{info.decl.name.name} has {count(len(of.params), 'parameter')}"),)
        fail(
            codes.E205,
            f"the rule of @{info.decl.name.name} has {has} and needs {wants}",
            span,
            labels=label,
            help=_TAKES,
        )
    wrt = tuple(p.name for p in of.params if _is_floating(unit, p.type))
    asked = sweet.Gradient(
        span, sweet.Ident(span, own.name + "'"), "rule", sweet.FnName(span, info.decl.name.name), wrt
    )
    if not wrt:
        fail(codes.E231, f"@{info.decl.name.name} has no parameter of floats that could have a gradient", span)
    decl, made = _declared(unit, asked, info)
    args = tuple(sweet.Arg(span, None, sweet.Name(span, p.name.name)) for p in decl.fn.params)
    body = sweet.Block(span, (), sweet.Call(span, own, args))
    return replace(decl, fn=replace(decl.fn, body=body)), made.wrt


def _of_primitive(
    unit: Unit, item: sweet.FnDecl, info: PrimitiveInfo, own: sweet.FnName
) -> tuple[sweet.FnDecl, tuple[str, ...]]:
    """Return the function that calls a rule with the parameters of its primitive, by name; the cotangent has the type of the
    result of a call with them."""
    span, (*params, g) = item.name.span, item.fn.params
    known = [p.name for p in info.row.params]
    for param in params:
        if param.name.name not in known:
            said = f"@{item.name.name} has no parameter `{param.name.name}`; its parameters are {', '.join(known)}"
            fail(codes.E205, said, param.span, help=_TAKES)
    wrt = [p for p in params if _is_floating(unit, p.type)]
    if not wrt:
        fail(codes.E231, f"the rule of @{item.name.name} has no parameter of floats that could have a gradient", span)
    types = tuple(p.type for p in wrt if p.type is not None)
    gives = types[0] if len(types) == 1 else sweet.TupleType(span, types)
    taken = {p.name.name for p in params} | Spelt(params).identifiers
    where = tuple(w for w in item.fn.where if Spelt(w).identifiers <= taken)
    type_ = None if g.type is None else expand(unit, g.type)
    parts = len(type_.items) if isinstance(type_, sweet.TupleType) else None
    given = tuple(sweet.Arg(span, p.name, sweet.Name(span, p.name.name)) for p in params)
    call = sweet.Call(span, sweet.FnName(span, item.name.name), given)
    fn = sweet.Fn(span, tuple(params), gives, where, _tried(own, call, parts, taken))
    return sweet.FnDecl(span, (), sweet.Ident(span, own.name + "'"), fn, None), tuple(p.name.name for p in wrt)


def _tried(own: sweet.FnName, call: sweet.Call, parts: int | None, taken: set[str]) -> sweet.Block:
    """Return a call of a rule with the arguments of a call of its primitive, and zeros in the form of its results."""
    span = call.span
    names = [unused(f"out{i}", taken) for i in range(parts or 1)]
    let = sweet.Let(span, tuple(sweet.Ident(span, n) for n in names), parts is not None, None, False, call)
    like = sweet.FnName(span, "prelude.zeros_like")
    zeros = tuple(sweet.Call(span, like, (sweet.Arg(span, None, sweet.Name(span, n)),)) for n in names)
    handed = zeros[0] if parts is None else sweet.TupleExpr(span, zeros)
    args = (*(sweet.Arg(span, None, a.value) for a in call.args), sweet.Arg(span, None, handed))
    return sweet.Block(span, (let,), sweet.Call(span, own, args))


def _is_floating(unit: Unit, type_: sweet.Type | None) -> bool:
    """Whether a parameter has a gradient."""
    leaves = _leaves(unit, type_)
    dtypes = [_dtype(leaf) for leaf in leaves if leaf is not None and sort_of(leaf) == core.TENSOR]
    return len(dtypes) == len(leaves) and all(
        d is not None and (d not in DTYPES or DTYPES[d].kind == "float") for d in dtypes
    )


def _asked(item: sweet.Gradient) -> tuple[Label, ...]:
    return (Label(item.span, "its gradient is asked for here"),)


def _stand_in(item: sweet.Gradient, of: sweet.Fn, value: str, g: str | None) -> sweet.Block:
    span = item.span
    args = tuple(sweet.Arg(span, None, sweet.Name(span, p.name.name)) for p in of.params)
    named = ((value, sweet.Call(span, item.of, args)), *((("_", sweet.Name(span, g)),) if g is not None else ()))
    lets = tuple(sweet.Let(span, (sweet.Ident(span, n),), False, None, False, e) for n, e in named)
    names = [
        *([value] if item.kind in ("value_and_grad", "jvp") else []),
        *(w.name for w in item.wrt if item.kind != "jvp"),
    ]
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
    """Return the parameter that a gradient is asked for; raise an error if it has none."""
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
    """Return the leaves of a tuple type, nested tuples included."""
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
    """Return the conditions that dtypes given by a name are floating."""
    names = dict.fromkeys(n for n in map(_dtype, types) if n is not None and n not in DTYPES)
    return [
        sweet.InClass(item.span, sweet.Name(item.span, n), (sweet.Name(item.span, "floating"),), False) for n in names
    ]
