"""Abstract values in the user's words: `Tensor([3, n], int8)`, sizes in Rx syntax, and the record of a binding."""

from __future__ import annotations

from ...lang import core
from ...lang.checked import Binding
from ...lang.dtypes import DType
from ...lang.source import Span
from ...ops.held import NOTHING, HeldElements, Inside, held
from ...ops.model import Segment, TensorInfo
from ...ops.tracked import Ratio
from ..known.state import State
from ..known.texts import LISTED, is_whole, readable, size_text
from ..known.values import BoolValue, DTypeValue, FnValue, NumberValue, Shape, ShapeValue, SizeValue, TupleValue, Value
from ..solver.rendering import UNKNOWN, render
from ..solver.sizes import single_var
from ..solver.term_sizes import written_size
from ..solver.terms import Size, Term, variables
from .choices import as_formula

OF_DATA = "a size that only the data decides"


def told(size: Size, state: State) -> str:
    """Return a size in words if Rx has no text for it: `3 or 6` if two arms of an `if` give it, `at most 5` if it is
    bounded."""
    text = size_text(size, state)
    settled = state.settled(size)
    if is_whole(text) or isinstance(settled, int):
        return text
    variable = single_var(settled)
    cases = [size_text(one, state) for one in state.either.get(variable, ())] if variable is not None else []
    if cases and all(map(readable, cases)):
        return " or ".join(cases)
    return bounded(settled, state) or (OF_DATA if variable is not None and variable in state.opaque else text)


def bounded(size: Size, state: State) -> str | None:
    """`at most n * 3` for a size that only the run decides; None without a readable bound."""
    bound = state.upper_bound(state.settled(size))
    text = UNKNOWN if bound is None else size_text(bound, state)
    return f"at most {text}" if readable(text) else None


def shape_text(shape: Shape, state: State) -> str:
    """`[2, n * 4]`, or `?` for one open stretch that the program does not name."""
    shape = state.resolve(shape)
    if len(shape) == 1 and isinstance(shape[0], Segment) and not state.is_named_shape(shape[0].symbol):
        return UNKNOWN
    return f"[{', '.join(_part(d, state) for d in shape)}]"


def _part(part: object, state: State) -> str:
    if isinstance(part, Segment):
        name = state.called(part.symbol)
        return f"*{name}" if name.isidentifier() and name != core.REST else "..."
    return size_text(part, state)  # type: ignore[arg-type]


def dtype_text(dtype: object, state: State) -> str:
    if dtype is None:
        return UNKNOWN
    known = state.dtype(dtype)  # type: ignore[arg-type]
    if isinstance(known, DType):
        return known.name
    name = state.called(known)
    return name if name.isidentifier() else UNKNOWN


def type_text(value: Value, state: State) -> str:
    """The type of a value as the user would write it."""
    match value:
        case TensorInfo():
            shape, dtype = shape_text(value.shape, state), dtype_text(value.dtype, state)
            if is_opaque(value, state):
                return dtype
            return "Tensor" if (shape, dtype) == (UNKNOWN, UNKNOWN) else f"Tensor({shape}, {dtype})"
        case TupleValue():
            return f"({', '.join(type_text(v, state) for v in value.items)})"
        case NumberValue():
            return "a number"
        case SizeValue():
            return named("size", size_text(value.size, state))
        case ShapeValue():
            return named("shape", shape_text(value.dims, state))
        case DTypeValue():
            return named("dtype", dtype_text(value.dtype, state))
        case FnValue():
            return "a function" if value.name == "fn" else f"the function @{value.name}"
    return "something that is not known"


def is_opaque(value: TensorInfo, state: State) -> bool:
    """Whether the value is one container of others (a sequence, an optional, a map)."""
    dtype = None if value.dtype is None else state.dtype(value.dtype)
    return isinstance(dtype, DType) and dtype.is_opaque and state.resolve(value.shape) == ()


def named(noun: str, text: str) -> str:
    """`the size n`, or `an unknown size`."""
    return f"an unknown {noun}" if text == UNKNOWN else f"the {noun} {text}"


def annotation_text(annotation: core.Annotation, sizes: dict[str, Size], dtypes: dict[str, str], state: State) -> str:
    """An annotation with the known names filled in: `Tensor([3, n], int8)`."""
    if annotation.shape is None:
        return "Tensor"
    shape = annotation.shape.span.text or UNKNOWN
    if annotation.dims is not None:
        shape = f"[{', '.join(_dim_text(d, sizes, state) for d in annotation.dims)}]"
    if annotation.dtype is None:
        return f"Tensor({shape})"
    dtype = annotation.dtype.span.text or UNKNOWN
    return f"Tensor({shape}, {dtypes.get(dtype, dtype)})"


def _dim_text(dim: core.Written, sizes: dict[str, Size], state: State) -> str:
    known = written_size(dim.size, sizes)
    text = UNKNOWN if known is None else size_text(known, state)
    return text if is_whole(text) and ".dim(" not in text else dim.span.text


def binding(name: str, value: Value, span: Span, state: State) -> Binding:
    """The record of a name for `rx shapes`."""
    match value:
        case TensorInfo():
            return _tensor_binding(name, value, span, state)
        case TupleValue():
            items = tuple(binding(f"{name}.{i}", v, span, state) for i, v in enumerate(value.items))
            return Binding(name, span, "Tuple", None, (), (), UNKNOWN, False, items)
        case SizeValue():
            return Binding(
                name, span, "Size", (_dim(value.size, state)[0],), *_ends([_dim(value.size, state)]), "int64"
            )
        case ShapeValue():
            shape = state.resolve(value.dims)
            if any(isinstance(d, Segment) for d in shape):
                text = shape_text(shape, state)
                return Binding(
                    name, span, "Shape", None, (), (), "int64", open=UNKNOWN if text == f"[*{name}]" else text
                )
            dims = [_dim(d, state) for d in shape]
            return Binding(name, span, "Shape", tuple(d[0] for d in dims), *_ends(dims), "int64")
        case NumberValue():
            return Binding(
                name, span, "Tensor", (), (), (), {bool: "bool", int: "int64", float: "float64"}[type(value.value)]
            )
    sort = "Fn" if isinstance(value, FnValue) else "Bool" if isinstance(value, BoolValue) else UNKNOWN
    return Binding(name, span, sort, None, (), (), UNKNOWN)


def _opaque_binding(name: str, dtype: DType, value: Inside, span: Span, state: State) -> Binding:
    """The record of a container, with the facts about each held value, or about all of them."""
    sort, _, _ = dtype.name.partition("(")
    known = value if isinstance(value, HeldElements) else NOTHING
    parts = [(UNKNOWN, known.each)] if known.items is None else list(enumerate(known.items))
    items = tuple(_held_binding(f"{name}[{at}]", dtype.of[-1], part, span, state) for at, part in parts)
    return Binding(name, span, sort, (), (), (), dtype.name, items=items)


def _held_binding(name: str, dtype: DType, value: Inside, span: Span, state: State) -> Binding:
    if dtype.is_opaque:
        return _opaque_binding(name, dtype, value, span, state)
    if value is None or isinstance(value, HeldElements):
        return Binding(name, span, "Tensor", None, (), (), dtype.name)
    dims = [(UNKNOWN, "unknown", None) if d is None else _dim(d, state) for d in value]
    return Binding(name, span, "Tensor", tuple(d[0] for d in dims), *_ends(dims), dtype.name)


def _tensor_binding(name: str, value: TensorInfo, span: Span, state: State) -> Binding:
    if is_opaque(value, state):
        held_type = state.dtype(value.dtype)  # type: ignore[arg-type]
        assert isinstance(held_type, DType)
        return _opaque_binding(name, held_type, held(value), span, state)
    shape, dtype = state.resolve(value.shape), dtype_text(value.dtype, state)
    if any(isinstance(d, Segment) for d in shape):
        return Binding(name, span, "Tensor", None, (), (), dtype, open=shape_text(shape, state))
    dims = [_dim(d, state) for d in shape]
    return Binding(name, span, "Tensor", tuple(d[0] for d in dims), *_ends(dims), dtype, data=_data(value, state))


def _data(value: TensorInfo, state: State) -> tuple[int | str, ...] | None:
    """The elements as text if all are sizes, even in a floating dtype."""
    found = tuple(e.num if isinstance(e, Ratio) and e.den == 1 else e for e in value.data or (None,))
    if not all(isinstance(e, int | Term) for e in found):
        return None
    texts = tuple(_dim(e, state)[0] for e in found if isinstance(e, int | Term))
    return None if UNKNOWN in texts else texts


Dim = tuple[int | str, str, str | None]


def _ends(dims: list[Dim]) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    return tuple(d[1] for d in dims), tuple(d[2] for d in dims)


def _dim(size: Size, state: State) -> Dim:
    """Text, exactness and upper bound of one dimension."""
    if isinstance(size, int):
        return size, "exact", None
    known = state.printed()
    if size not in known:
        known[size] = _printed(size, state)
    return known[size]


def _printed(size: Size, state: State) -> Dim:
    size = state.settled(size)
    if not isinstance(size, int) and single_var(size) is None:
        size = state.number(size)
    known, bound = exactness(size, state)
    if known != "exact" and (formula := as_formula(size, state)) is not None:
        size, (known, bound) = formula, exactness(formula, state)
    if known == "exact":
        text = size if isinstance(size, int) else size_text(size, state, longest=LISTED)
        return (text, known, None) if isinstance(text, int) or is_whole(text) else (UNKNOWN, "unknown", None)
    return UNKNOWN, known, None if bound is None else render(bound)


def exactness(size: Size, state: State) -> tuple[str, Size | None]:
    """Whether a size is known exactly, as an upper bound (with that bound), or not at all; a bound with an unnamed part does
    not count."""
    if isinstance(size, int) or not any(v in state.opaque or not is_whole(v.name) for v in variables(size)):
        return "exact", None
    bound = state.upper_bound(size)
    return ("unknown", None) if bound is None or UNKNOWN in render(bound) else ("upper_bound", bound)
