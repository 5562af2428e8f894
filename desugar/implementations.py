"""Lists of implementations, `@mm = [@mm_16, @mm_any]`, to the signature that their callers see; members have to fit
together."""

from __future__ import annotations

from ..lang import codes, core, sweet
from ..ops.binding import bind
from ..ops.model import Primitive
from . import arguments
from .code import FunctionCode, Typed
from .errors import Broken, count, fail
from .sorts import describe, fn_sort, of_results
from .symbols import FnInfo, ImplsInfo, PrimitiveInfo, SymbolTable

# The sorts of a function's parameters that a primitive's kind of parameter accepts; a literal one accepts none.
_TAKEN: dict[str, tuple[core.Sort, ...]] = {
    "tensor": (core.TENSOR,), "index": (core.TENSOR, core.SIZE), "size": (core.SIZE,), "sizes": (core.SHAPE,),
    "shape": (core.SHAPE,), "target": (core.SHAPE,), "dtype": (core.DTYPE,),
}  # fmt: skip

Member = FnInfo | PrimitiveInfo


def gather(symbols: SymbolTable, info: ImplsInfo) -> None:
    """Record the members of a list; the last one that is a function of the program determines the arguments of calls."""
    unit = next(u for u in symbols.units if info in u.impls.values())
    members: list[Member] = []
    for choice in info.item.choices:
        found = symbols.target(unit, choice.name)
        if isinstance(found, ImplsInfo):
            help = f"`@prelude.{choice.name}` is the primitive" if symbols.lookup(choice.name) else None
            fail(codes.E222, f"@{choice.name} is a list of implementations itself", choice.span, help=help)
        found = symbols.called(unit, choice)
        assert not isinstance(found, ImplsInfo)
        if isinstance(found, FnInfo):
            symbols.refuse_private(found, choice, None)
        members.append(found)
    functions = [m for m in members if isinstance(m, FnInfo)]
    model = functions[-1] if functions else members[-1]
    for member, choice in zip(members, info.item.choices, strict=True):
        _compare(member, model, choice)
    for function in functions:
        function.is_choice = True
    info.members = tuple(members)
    info.choices = tuple(m.name for m in members)
    info.model = model


def _compare(member: Member, model: Member, choice: sweet.FnName) -> None:
    """Check that a member accepts the arguments of the model."""
    least, most = _number(member)
    wanted = _number(model)[0]
    if not least <= wanted <= most:
        shown = count(least if wanted < least else most, "argument")
        fail(codes.E222, f"@{member.name} takes {shown}, @{model.name} takes {wanted}", choice.span)
    if isinstance(model, PrimitiveInfo):
        return
    for i, param in enumerate(model.params):
        if param.sort is not None and not _takes(member, i, param.sort):
            found = _shown(member, i)
            message = f"`{param.name}` is {describe(param.sort)} for @{model.name}, and {found} for @{member.name}"
            fail(codes.E222, message, choice.span)


def _number(member: Member) -> tuple[int, int]:
    """Return the least and the greatest number of arguments of a member."""
    if isinstance(member, FnInfo):
        return len(member.params), len(member.params)
    return sum(p.required for p in member.row.params), len(member.row.params)


def _takes(member: Member, position: int, sort: core.Sort) -> bool:
    if isinstance(member, FnInfo):
        own = member.params[position].sort
        return own is None or arguments.fits(sort, own)
    kind = member.row.params[position].kind
    if kind == "tensors":
        return isinstance(sort, core.TupleSort) and all(s == core.TENSOR for s in sort.items)
    return sort in _TAKEN.get(kind, ())


def _shown(member: Member, position: int) -> str:
    if isinstance(member, FnInfo):
        return describe(member.params[position].sort)
    kind = member.row.params[position].kind
    known = _TAKEN.get(kind)
    return describe(known[0]) if known else "a list of tensors" if kind == "tensors" else "a literal"


# Results


def result(code: FunctionCode, info: ImplsInfo, at: sweet.FnName) -> core.Sort:
    """Return the sort of a call's result."""
    match info.model:
        case FnInfo() as model:
            return code.hooks.result(model, at.span)
        case PrimitiveInfo() as model:
            return of_results(model.row)
    raise Broken


def compare_results(info: ImplsInfo) -> None:
    """Check that all members give values of one sort, once the bodies have been read."""
    sorts = [(m, _result_of(m), c) for m, c in zip(info.members, info.item.choices, strict=False)]
    known = [(m, s, c) for m, s, c in sorts if s is not None]
    for member, sort, choice in known[1:]:
        first, wanted, _ = known[0]
        if not arguments.fits(sort, wanted):
            message = f"@{member.name} gives {describe(sort)}, @{first.name} gives {describe(wanted)}"
            fail(codes.E222, message, choice.span)


def _result_of(member: Member) -> core.Sort | None:
    if isinstance(member, FnInfo):
        return None if member.state == "broken" else member.result
    return of_results(member.row)


# Calls


def call(code: FunctionCode, info: ImplsInfo, expr: sweet.Call, callee: sweet.FnName) -> Typed:
    """Return a call of the list. The checker or the run chooses the member."""
    match info.model:
        case FnInfo() as model:
            args = arguments.of_function(code, model, expr, callee.name)
        case PrimitiveInfo() as model:
            args = _by_position(model.row, arguments.of_primitive(code, model, expr), expr, callee)
        case None:
            raise Broken
    return core.Call(expr.span, core.FnRef(callee.span, info.name), args), result(code, info, callee)


def _by_position(
    row: Primitive, args: tuple[core.Arg, ...], expr: sweet.Call, callee: sweet.FnName
) -> tuple[core.Arg, ...]:
    """Return the required arguments by position, as all members take them; optional ones keep their names."""
    bound = bind(row, core.Call(expr.span, core.FnRef(callee.span, row.name), args))
    return tuple(core.Arg(v.span, None if p.required else p.name, v) for p, v in bound if v is not None)


def as_value(code: FunctionCode, info: ImplsInfo, expr: sweet.FnName) -> Typed:
    """Return `@matmul` as a value."""
    match info.model:
        case FnInfo() as model:
            sorts = [p.sort for p in model.params]
            text = ""
        case PrimitiveInfo() as model:
            sorts, text = [core.TENSOR for p in model.row.params if p.required], "?"
        case None:
            raise Broken
    if any(s is None for s in sorts):
        raise Broken
    return core.FnRef(expr.span, info.name), fn_sort(
        text, tuple(s for s in sorts if s is not None), result(code, info, expr), expr
    )
