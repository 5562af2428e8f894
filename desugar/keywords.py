"""The keywords of a primitive's call to the names of its parameters."""

from __future__ import annotations

from ..lang import codes, sweet
from ..lang.diagnostics import RxError
from ..lang.node import replace
from ..ops import elsewhere
from ..ops.elsewhere_args import parameters
from ..ops.model import Primitive, PrimitiveParam
from .code import FunctionCode
from .errors import nearest, problem


def in_our_words(code: FunctionCode, row: Primitive, call: sweet.Call) -> list[sweet.Arg]:
    """Return the arguments with another library's keywords renamed to those of Rx, and report each."""
    if by_position(call) == len(call.args):
        return list(call.args)
    taken = {a.name.name for a in call.args if a.name is not None} | {p.name for p in row.params[: by_position(call)]}
    given = []
    for arg in call.args:
        name = arg.name.name if arg.name is not None else ""
        if arg.name is None or any(p.name == name for p in row.params):
            given.append(arg)
            continue
        ours = parameters(name, arg.value, row.params)
        kinds = {p.name: p.kind for p in row.params}
        if len(ours) == 1 and ours[0] not in taken and kinds[ours[0]] != "str":  # the literals differ too
            code.symbols.report(no_parameter(row.name, row.params, arg))
            given.append(replace(arg, name=replace(arg.name, name=ours[0])))
        elif elsewhere.is_left_out(name):
            code.symbols.report(no_parameter(row.name, row.params, arg))
        else:
            given.append(arg)
    return given


def by_position(call: sweet.Call) -> int:
    return len([a for a in call.args if a.name is None])


def no_parameter(name: str, params: tuple[PrimitiveParam, ...], arg: sweet.Arg) -> RxError:
    assert arg.name is not None
    known = ", ".join(p.name for p in params)
    found = parameters(arg.name.name, arg.value, params)
    said = None if found else elsewhere.flag(arg.name.name)
    near = None if found or said else nearest(arg.name.name, (p.name for p in params))
    return problem(
        codes.E205, f"@{name} has no parameter `{arg.name.name}`; its parameters are {known}", arg.name.span,
        help=said, meant=found if near is None else (near,),
    )  # fmt: skip
