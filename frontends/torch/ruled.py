"""A call with a user's rule: the line of the program, and the shapes of its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from ...lang import sweet
from ...lang.dtypes import DTYPES
from ...lang.no_rule import target
from ...ops.model import TensorInfo
from ...sizes.operators import SIZE_OPERATORS, size_functions
from ..onnx.literals import quoted
from .rules import Rule, arguments
from .sizes import Symbolic
from .tensors import NotTraced, TracedTensor, all_traced
from .values import RX_DTYPES, TORCH_DTYPES, Value

if TYPE_CHECKING:
    from .trace import Tracer


def ruled(tracer: Tracer, rule: Rule, args: Any, kwargs: Any) -> Any:
    """The result of a call, by its rule."""
    given = arguments(rule, args, kwargs)
    return _by_shapes(tracer, rule, given) if rule.shapes is not None else _by_signature(tracer, rule, given)


def _by_shapes(tracer: Tracer, rule: Rule, given: Mapping[str, Any]) -> Any:
    """The result by a function of shapes: it gets shapes of tensors, and all other arguments as they are."""
    assert rule.shapes is not None
    found = rule.shapes(**{n: tuple(v.shape) if isinstance(v, torch.Tensor) else v for n, v in given.items()})
    tensors = [tracer.let(tracer.taken(v)) for v in given.values() if isinstance(v, torch.Tensor)]
    is_one = all(isinstance(size, (int, *Symbolic)) for size in found)
    dtype = RX_DTYPES[rule.dtype] if rule.dtype else tensors[0].dtype
    made = [opaque(tracer, tensors, tuple(shape), dtype, "call") for shape in ([found] if is_one else found)]
    return tracer.given(made[0] if is_one else tuple(made))


def _by_signature(tracer: Tracer, rule: Rule, given: Mapping[str, Any]) -> Any:
    assert rule.fn is not None
    missing = next((n for n in rule.params if n not in given), None)
    if missing is not None:
        raise NotTraced(f"the rule of {rule.name} speaks of `{missing}`, which this call does not give")
    values = {n: given[n] for n in rule.params}
    name = tracer.names.function(rule.name)
    tracer.externs[name] = f"extern @{name} = {rule.text} = {quoted(target('python', rule.name))}"
    bound: dict[str, Any] = {}
    for param in rule.fn.params:
        _bind(param.type, values[param.name.name], bound)
    taken = [tracer.let(tracer.taken(v)) if isinstance(v, torch.Tensor) else v for v in values.values()]
    texts = [v.text if isinstance(v, Value) else tracer.sizes.text(v) for v in taken]
    text = f"@{name}({', '.join(texts)})"
    tensors = [v for v in taken if isinstance(v, Value)]
    results = rule.fn.result
    if isinstance(results, sweet.TupleType):
        infos = tuple(_info(tracer, r, bound, tensors) for r in results.items)
        return tracer.given(Value(text, infos[0], infos))
    return tracer.given(Value(text, _info(tracer, results, bound, tensors)))


def _bind(kind: Any, value: Any, bound: dict[str, Any]) -> None:
    """Bind the names in a type to sizes; the checker reports where the argument does not fit."""
    if isinstance(kind, sweet.TensorType) and isinstance(value, (torch.Tensor, TracedTensor)):
        dims = list(kind.shape.items) if isinstance(kind.shape, sweet.ListExpr) else []
        sizes: list[Any] = list(value.shape)
        splice = next((n for n, d in enumerate(dims) if isinstance(d, sweet.Splice)), None)
        if splice is not None:
            behind = len(dims) - splice - 1
            name = _name(dims[splice])
            bound.setdefault(name, tuple(sizes[splice : len(sizes) - behind]))
            dims = dims[:splice] + dims[splice + 1 :]
            sizes = sizes[:splice] + sizes[len(sizes) - behind :]
        for dim, size in zip(dims, sizes, strict=False):
            _bind_size(dim, size, bound)


def _name(dim: Any) -> str:
    return str(dim.name.name)


def _bind_size(dim: Any, size: Any, bound: dict[str, Any]) -> None:
    match dim:
        case sweet.Name(name=name):
            bound.setdefault(name, size)
        case (
            sweet.Binary(op="*", left=sweet.Name(name=name), right=sweet.IntLit(value=n))
            | sweet.Binary(op="*", left=sweet.IntLit(value=n), right=sweet.Name(name=name))
        ):
            bound.setdefault(name, size // n)
        case _:
            pass  # other expressions define no name


def _info(tracer: Tracer, kind: Any, bound: Mapping[str, Any], tensors: Sequence[Value]) -> TensorInfo:
    if not isinstance(kind, sweet.TensorType) or not isinstance(kind.shape, sweet.ListExpr):
        raise NotTraced("a rule gives tensors, like `Tensor([n, m], float32)`")
    shape = tuple(_sizes(tracer, kind.shape.items, bound))
    named = kind.dtype.name if isinstance(kind.dtype, sweet.Name) else ""
    dtype = DTYPES.get(named) or (tensors[0].info.dtype if tensors else DTYPES["float32"])
    return TensorInfo(shape, dtype)


def _sizes(tracer: Tracer, dims: Sequence[Any], bound: Mapping[str, Any]) -> Iterator[Any]:
    for dim in dims:
        if isinstance(dim, sweet.Splice):
            yield from bound.get(_name(dim), ())
            continue
        size = size_of(dim.span.text, bound)
        yield tracer.fresh(3) if size is None else size


class _Symbolic:
    min, max = torch.sym_min, torch.sym_max


def size_of(text: str, bound: Mapping[str, Any]) -> Any:
    """A size of Rx over sizes of a trace; None where one of its names is unknown."""
    words = {name: partial(SIZE_OPERATORS[name].meaning, _Symbolic) for name in size_functions()}
    try:
        return eval(text, {"__builtins__": {}, **words}, dict(bound))
    except (NameError, SyntaxError, TypeError):
        return None


def is_traced(value: Any) -> bool:
    return any(True for _ in all_traced(value))


__all__ = ["is_traced", "ruled", "size_of"]


def opaque(
    tracer: Tracer, operands: Sequence[Value], shape: Sequence[Any], dtype: torch.dtype, kind: str = "supposed"
) -> Value:
    """The result of an operation without a row."""
    name = tracer.names.function(f"{tracer.op}_{len(tracer.externs)}")
    kinds = [
        f"x{n} : Tensor([{', '.join(f'd{n}_{a}' for a in range(v.rank))}], {v.info.dtype})"
        for n, v in enumerate(operands)
    ]
    rank = f"Tensor([{', '.join('?' for _ in shape)}], {TORCH_DTYPES[dtype]})"
    tracer.externs[name] = f"extern @{name} = fn({', '.join(kinds)}) : {rank} = {quoted(target('python', tracer.op))}"
    sizes = ", ".join(map(tracer.sizes.text, shape))
    text = f"@{name}({', '.join(v.text for v in operands)})"
    made = tracer.names.fresh(tracer.op.rpartition(".")[2])
    tracer.write(f"let {made} : Tensor([{sizes}], {TORCH_DTYPES[dtype]}) = {text}", kind)
    tracer.unread.difference_update(size.node.expr for size in shape if isinstance(size, torch.SymInt))
    return Value(made, TensorInfo(tuple(shape), DTYPES[TORCH_DTYPES[dtype]]), is_name=True)
