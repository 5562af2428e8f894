"""Fixes of calls as other libraries write them: `x.sum(1, keepdim=True)`, `F.softmax(x, dim=-1)`, `relu(x)`, `x.T`,
`x[:, None]`, `torch.float32`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...lang import sweet
from ...lang.diagnostics import Edit
from ...lang.dtypes import DTYPES
from ...lang.node import Node, replace
from ...lang.region import OTHER_WORDS
from ...lang.source import Span
from ...ops import elsewhere
from ...ops.elsewhere_args import LISTS, integer, is_spread, parameters
from ...ops.model import PrimitiveParam
from ...ops.registry import lookup
from ..case import Fix, FixCase, replaced
from ..weights import weight

_LONGEST = 70
_ALONG = 2  # a tensor and an axis, or values and their places
_TRUTHS = {"True": "true", "False": "false"}
# Attributes of tensors in other libraries, and whether they mean the same for a tensor of any rank.
_ATTRIBUTES = {"T": ("@matrix_transpose({})", False), "mT": ("@matrix_transpose({})", True)}


def fixes(case: FixCase) -> Iterator[Fix]:
    if case.diagnostic.code.phase != "names":
        return
    span = case.diagnostic.span
    attr = next((a for a in case.tree.around(span, sweet.Attr) if a.name.span == span), None)
    name = case.tree.find(span, sweet.Name) or case.tree.find(span, sweet.FnName)
    layer = case.tree.find(span, sweet.Call)
    arg = next((a for a in case.tree.around(span, sweet.Arg) if a.name is not None and a.name.span == span), None)
    call = case.tree.parent(arg) if arg is not None else layer
    if isinstance(call, sweet.Call) and isinstance(call.callee, sweet.FnName):
        yield from _with_places(case, call, call.callee.name, (), call.args)
        yield from _without(case, call, arg)
    yield from _of_arguments(case)
    if attr is not None:
        yield from _of_attribute(case, attr)
    elif name is not None:
        yield from _of_name(case, name)
    elif isinstance(layer, sweet.Call) and not layer.args:
        yield from _of_layer(case, layer)


def _of_arguments(case: FixCase) -> Iterator[Fix]:
    """Join sizes or tensors into a list, `@zeros(n, d)`; move a dtype to its own argument."""
    span = case.diagnostic.span
    call = case.tree.enclosing(span, sweet.Call)
    row = lookup(call.callee.name) if call is not None and isinstance(call.callee, sweet.FnName) else None
    if call is None or row is None or "\n" in call.span.text or case.tree.function(row.name) is not None:
        return
    text, _, listed = _call(case, row.name, row.name, (), call.args)
    if listed:
        yield written(case, call, text, 1, True)
    dtype = next((p.name for p in row.params if p.kind == "dtype"), None)
    name = case.tree.find(span, sweet.Name)
    if dtype is not None and name is not None and name.name in DTYPES:
        yield written(case, name, f"{dtype}={name.name}", 1, True)


def _without(case: FixCase, call: sweet.Call, arg: sweet.Arg | None) -> Iterator[Fix]:
    """Remove a flag that has no meaning here."""
    if arg is None or arg.name is None or not elsewhere.is_left_out(arg.name.name) or call.args[0] is arg:
        return
    before = call.args[call.args.index(arg) - 1].span
    edit = Edit(Span(before.source, before.end, arg.span.end), "")
    yield case.fix(f"leave out `{arg.name.name}`", [edit], 1, show=call.span)


def _of_attribute(case: FixCase, attr: sweet.Attr) -> Iterator[Fix]:
    name, above = attr.name.name, case.tree.parent(attr)
    foreign = is_library(case, attr.value)
    if isinstance(above, sweet.Call) and above.callee is attr:
        if foreign or elsewhere.another(name, "x") is None:
            yield from _calls(case, above, name, () if foreign else (attr.value,), above.args)
    elif name in _ATTRIBUTES and not foreign:
        text, sure = _ATTRIBUTES[name]
        yield written(case, attr, text.format(attr.value.span.text), 1, sure)
    elif name in DTYPES and foreign:
        yield written(case, attr, name, 1, True)


def _of_name(case: FixCase, name: sweet.Name | sweet.FnName) -> Iterator[Fix]:
    call = case.tree.parent(name)
    if isinstance(call, sweet.Index) and call.value is name:
        items = ", ".join(item.span.text for item in call.items)
        yield written(case, call, f"{name.name if isinstance(name, sweet.Name) else '@' + name.name}({items})", 1, True)
    elif isinstance(call, sweet.Call) and call.callee is name:
        head, _, called = name.name.rpartition(".")
        is_library = head.partition(".")[0] in elsewhere.LIBRARIES
        if is_library or isinstance(name, sweet.Name) or is_called_otherwise(case, name):
            yield from _calls(case, call, called, (), call.args)


def is_called_otherwise(case: FixCase, name: Node) -> bool:
    """Whether a call on one line is of a function with another name here: `@cat([x, y], dim=0)`."""
    call = case.tree.parent(name)
    if not isinstance(name, sweet.FnName) or not isinstance(call, sweet.Call) or "\n" in call.span.text:
        return False
    return call.callee is name and lookup(name.name) is None and bool(elsewhere.primitives(name.name))


def _of_layer(case: FixCase, layer: sweet.Call) -> Iterator[Fix]:
    """Replace `nn.ReLU()(x)` by the function that a layer without weights computes."""
    call, made = case.tree.parent(layer), layer.callee
    name = made.name.name if isinstance(made, sweet.Attr) else getattr(made, "name", "")
    if isinstance(call, sweet.Call) and call.callee is layer:
        yield from _calls(case, call, name, (), call.args)


def is_library(case: FixCase, value: sweet.Expr) -> bool:
    """Whether an expression looks like a module of another language, `torch.nn.functional`, and no tensor has its name."""
    while isinstance(value, sweet.Attr):
        value = value.value
    return (
        isinstance(value, sweet.Name)
        and value.name in elsewhere.LIBRARIES
        and case.tree.binding(value.name, value.span) is None
    )


# Calls


def _calls(
    case: FixCase, call: sweet.Call, name: str, of: Sequence[sweet.Expr], args: Sequence[sweet.Arg]
) -> Iterator[Fix]:
    """Call each function that may be meant, with its own arguments."""
    if "\n" in call.span.text or (name in OTHER_WORDS and lookup(name) is None):
        return
    pairs = list(_with_places(case, call, name, of, args))
    yield from pairs
    for rank, meant in enumerate(() if pairs else _meant(case, name)):
        text, sure, listed = _call(case, meant, name, of, args)
        yield written(case, call, text, weight("name") + rank + weight("listed") * listed, sure)


def _with_places(
    case: FixCase, call: sweet.Call, name: str, of: Sequence[sweet.Expr], args: Sequence[sweet.Arg]
) -> Iterator[Fix]:
    """Translate `let (v, i) = x.max(1)` and `x.max(1)[0]`: PyTorch's extremum along an axis comes with its place."""
    above = case.tree.parent(call)
    if name not in elsewhere.PLACES or len(of) + len(args) < _ALONG or "\n" in call.span.text:
        return
    values, places = (_call(case, n, n, of, args)[0] for n in (name, elsewhere.PLACES[name]))
    if isinstance(above, sweet.Let) and above.is_tuple and len(above.names) == _ALONG:
        yield written(case, call, f"({values}, {places})", 1, True)
    elif isinstance(above, sweet.Index) and above.value is call and len(above.items) == 1:
        part = integer(above.items[0])
        if part in (0, 1):
            yield written(case, above, values if part == 0 else places, 0, False)


def _meant(case: FixCase, name: str) -> tuple[str, ...]:
    """Return the functions that a name may stand for."""
    if case.tree.function(name) is not None or lookup(name) is not None:
        return (name,)
    return elsewhere.primitives(name) if elsewhere.otherwise(name) is None else ()


def _call(
    case: FixCase, meant: str, name: str, of: Sequence[sweet.Expr], args: Sequence[sweet.Arg]
) -> tuple[str, bool, bool]:
    """Return a call, whether it surely means the same, and whether some of its arguments became a list."""
    own = case.tree.function(meant) is not None
    row = None if own else lookup(meant)
    params = row.params if row is not None else ()
    order = elsewhere.order(name, params)[len(of) :]
    given = [_said(case, a.value) for a in args if a.name is None]
    texts, listed = [text for text, _ in given], False
    at = next((i for i, p in enumerate(order) if p.kind in LISTS), len(order))
    if is_spread(order[at:], len(order), [a.value for a in args if a.name is None][at:], len(texts)):
        texts, listed = [*texts[:at], f"[{', '.join(texts[at:])}]"], True
    elif order != list(params)[len(of) :]:
        texts = [f"{p.name}={t}" if i else t for i, (p, t) in enumerate(zip(order, texts, strict=False))]
    flags = [a for a in args if a.name is not None and not elsewhere.is_left_out(a.name.name)]
    named = [(_keyword(a, params), *_said(case, a.value)) for a in flags]
    first = [_said(case, expr) for expr in of]
    text = f"@{meant}({', '.join([*(t for t, _ in first), *texts, *(f'{k}={t}' for k, t, _ in named)])})"
    is_pair = name in elsewhere.PLACES and len(of) + len(args) >= _ALONG  # PyTorch's is one, NumPy's is not
    sure = own or elsewhere.is_sure(name) and not is_pair
    return text, sure and all(s for *_, s in (*first, *given, *named)), listed


def _keyword(arg: sweet.Arg, params: Sequence[PrimitiveParam]) -> str:
    assert arg.name is not None
    found = parameters(arg.name.name, arg.value, params)
    return arg.name.name if not found or arg.name.name in [p.name for p in params] else found[0]


def _said(case: FixCase, expr: sweet.Expr) -> tuple[str, bool]:
    """Return an expression in Rx's words: `True`, dtypes as texts or of a library, and inner foreign calls; and whether it
    surely means the same."""
    text = expr.span.text
    dtype = text.strip("\"'").rpartition(".")[2]
    if dtype in DTYPES and not isinstance(expr, sweet.Name):
        return dtype, True
    match expr:
        case sweet.Attr(value=value, name=sweet.Ident(name=name)) if name in _ATTRIBUTES:
            inside, sure = _said(case, value)
            return _ATTRIBUTES[name][0].format(inside), sure and _ATTRIBUTES[name][1]
        case sweet.Call(callee=sweet.Attr(value=value, name=sweet.Ident(name=name)), args=args):
            of = () if is_library(case, value) else (value,)
            return _said_call(case, expr, name, of, args)
        case sweet.Call(callee=sweet.Name(name=name), args=args) if case.tree.binding(name, expr.span) is None:
            return _said_call(case, expr, name, (), args)
    return _TRUTHS.get(text, text), True


def _said_call(
    case: FixCase, call: sweet.Call, name: str, of: Sequence[sweet.Expr], args: Sequence[sweet.Arg]
) -> tuple[str, bool]:
    meant = _meant(case, name)
    if len(meant) != 1 or (of and elsewhere.another(name, "x") is not None) or name in ("min", "max", "tensor", "load"):
        return call.span.text, True
    text, sure, _ = _call(case, meant[0], name, of, args)
    return text, sure


def written(case: FixCase, expr: sweet.Expr, text: str, rank: int, sure: bool) -> Fix:
    what = f"write `{text}`" if len(text) <= _LONGEST else "call it as it is written here"
    return replace(case.fix(what, [replaced(expr, text)], rank, guess=not sure), shown="", meaning=text)
