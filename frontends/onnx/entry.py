"""The contract of the exported function, kept in a model's metadata, as the first lines of the model's program."""

from __future__ import annotations

from collections.abc import Iterator

from ...lang.entry_contract import KEY, EntryContract, read_entry
from ...lang.expressions import renamed
from ...lang.source import MadeSource
from .model import Model, TensorType
from .names import ScopeNames

_MADE = MadeSource("the contract in its metadata")


def promised(model: Model) -> EntryContract | None:
    """The conditions in the metadata on the inputs. Raises ValueError where they do not fit the model's inputs."""
    text = model.metadata.get(KEY)
    if text is None:
        return None
    found = read_entry(text)
    types = {v.name: v.type for v in model.graph.inputs}
    shapes = [kind.shape or () for kind in types.values() if isinstance(kind, TensorType)]
    for size in found.sizes:
        if not isinstance(kind := types.get(size), TensorType) or (kind.dtype, kind.shape) != ("int64", ()):
            raise ValueError(f"has a Size `{size}`, which is no input of int64 and rank 0")
    known = {size for shape in shapes for size in shape if isinstance(size, str)} | {*found.sizes}
    strange = [name for name in found.names() if name not in known]
    if strange:
        raise ValueError(f"speaks of `{strange[0]}`, which is no size of an input")
    return found


def entry_lines(found: EntryContract, names: ScopeNames) -> Iterator[tuple[str, MadeSource]]:
    """The conditions as assertions, after lines that read the inputs of type Size."""
    asked = found.names()
    called = {name: names.fresh(f"{name}_size") if name in found.sizes else names.size(name) for name in asked}
    for size in found.sizes:
        if size in called:
            yield f"let {called[size]} = @item({names.value(size)})", _MADE
    for condition in found.conditions:
        yield f"assert {renamed(condition, called)}", _MADE
