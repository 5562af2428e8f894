"""Types of a model that are no tensors, as Rx writes them."""

from __future__ import annotations

from ...lang import codes
from ...lang.diagnostics import RxError, error
from ...lang.source import NOWHERE
from .model import MapType, OptionalType, SequenceType, TensorType, ValueType

HOLDERS = {SequenceType: "Sequence", OptionalType: "Optional"}


def opaque_text(kind: ValueType, name: str) -> str:
    """`Sequence(float32)`; of a tensor its dtype alone. What a model declares of the shapes inside is not said. Raises RxError
    where it does not say what is inside `name`."""
    match kind:
        case SequenceType(element=element) | OptionalType(element=element) if element is not None:
            return f"{HOLDERS[type(kind)]}({opaque_text(element, name)})"
        case MapType(key=key, value=value) if value is not None:
            return f"Map({key}, {opaque_text(value, name)})"
        case TensorType(dtype=dtype) if dtype is not None:
            return dtype
    raise RxError(error(codes.E247, f"the model does not say what `{name}` holds", NOWHERE))
