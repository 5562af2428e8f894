"""The tensors that the user's code computes with: no data, a shape of symbolic sizes, and a name in the Rx program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any

import torch

from . import places
from .sizes import is_same
from .values import Value

if TYPE_CHECKING:
    from .trace import Tracer


class NotTraced(Exception):
    """A call that the trace cannot follow, such as one that reaches torch's kernels without data."""


class Layout(Enum):
    """The order of elements in memory: row by row, or unknown."""

    CONTIGUOUS = "contiguous"
    UNKNOWN = "unknown"


Strides = tuple[Any, ...] | Layout


class TracedTensor(torch.Tensor):
    """A tensor of a trace. All calls of torch come to the tracer by `__torch_function__`."""

    value: Value
    tracer: Tracer
    # The tensor, its views, and the tensor that it is a view of: a write into one in place changes the elements of all.
    family: list[TracedTensor]
    strides: Strides

    @staticmethod
    def made(tracer: Tracer, value: Value) -> TracedTensor:
        found = torch.Tensor._make_wrapper_subclass(TracedTensor, (), dtype=value.dtype, device="cpu")
        assert isinstance(found, TracedTensor)
        found.value, found.tracer, found.family, found.strides = value, tracer, [found], Layout.CONTIGUOUS
        return found

    def joins(self, base: TracedTensor) -> None:
        """Record that this may be a view of another tensor."""
        base.family.append(self)
        self.family = base.family

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tracer = next(t.tracer for t in all_traced((args, kwargs or {})))
        return tracer.called(func, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotTraced(f"{func} is called past torch's functions")

    @property
    def shape(self) -> Any:
        return torch.Size(self.value.shape)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.value.shape[dim]

    def dim(self) -> int:
        return self.value.rank

    ndimension = dim
    ndim = property(dim)

    def numel(self) -> Any:
        total: Any = 1
        for size in self.value.shape:
            total = total * size
        return total

    nelement = numel

    def __len__(self) -> Any:
        if not self.value.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.value.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(_rows(self))

    def __bool__(self) -> bool:
        return self.tracer.truth_of(self)

    def item(self) -> Any:
        return self.tracer.item_of(self)

    def tolist(self) -> Any:
        return [one.tolist() for one in self] if self.value.rank else self.item()

    def __int__(self) -> int:
        return int(self.item())

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.item())

    def __repr__(self, **_: Any) -> str:
        return f"<{self.value.text} : {self.value.info.dtype} of rank {self.value.rank}>"

    __hash__ = object.__hash__


def _rows(x: TracedTensor) -> list[Any]:
    """The rows to iterate over: as many as the assignment unpacks, each named after its target, else all of them. If a known
    number of rows has too few names, there is one row more, so that Python itself raises its error."""
    (place, frame), tracer, size = places.here(), x.tracer, x.value.shape[0]
    count, hints = places.unpacked(frame), places.bound_names(place)
    if not isinstance(size, int) and count is not None:
        with tracer.calling("unpack"):
            rows = tracer.sizes.text(size)
            tracer.write(f'assert {rows} == {count}, "{count} names take the {rows} rows of a tensor"')
    elif count is not None:
        count += int(size) > count
    made = []
    for i in range(int(size) if count is None else count):
        tracer.row = hints[i : i + 1]
        made.append(x[i])
    tracer.row = ()
    return made


def written_into(tracer: Tracer, out: Any, found: Any) -> Any:
    """Write a result into `out=`, which takes its shape."""
    if isinstance(out, (list, tuple)):
        return type(found)([written_into(tracer, one, own) for one, own in zip(out, found, strict=True)])
    one, own = tracer.taken(out), tracer.taken(found)
    is_as_large = one.rank == own.rank and all(map(is_same, one.shape, own.shape))
    if one.dtype != own.dtype or not is_as_large and not (isinstance(out, TracedTensor) and len(out.family) == 1):
        raise NotTraced("writes into an `out=` of another dtype or shape are not followed")
    return tracer.put(out, own)


# Functions whose results may be views of their first operand.
VIEWS = frozenset([
    "view", "reshape", "view_as", "reshape_as", "transpose", "swapaxes", "swapdims", "t", "permute", "movedim", "flatten",
    "unflatten", "squeeze", "unsqueeze", "expand", "expand_as", "split", "split_with_sizes", "chunk", "unbind",
    "tensor_split", "narrow", "select", "diagonal", "unfold", "detach", "contiguous", "to", "type", "float", "double",
    "half", "long", "int", "bool", "cpu", "__getitem__", "__get__", "real", "imag", "broadcast_to", "requires_grad_",
    "moveaxis", "hsplit", "vsplit", "dsplit", "adjoint", "ravel", "cuda", "bfloat16",
])  # fmt: skip


def all_traced(value: Any) -> Iterator[TracedTensor]:
    if isinstance(value, TracedTensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from all_traced(one)
    elif isinstance(value, dict):
        yield from all_traced(tuple(value.values()))
    elif isinstance(value, slice):
        yield from all_traced((value.start, value.stop, value.step))


def mapped(value: Any, of: Callable[[Any], Any]) -> Any:
    """An argument with each of its leaves replaced."""
    if isinstance(value, slice):
        return slice(mapped(value.start, of), mapped(value.stop, of), mapped(value.step, of))
    if isinstance(value, (list, tuple)):
        made = [mapped(v, of) for v in value]
        return type(value)(made) if type(value) in (list, tuple) else tuple(made)
    return {k: mapped(v, of) for k, v in value.items()} if isinstance(value, dict) else of(value)


def results(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in what the code returns."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict) or hasattr(value, "items"):
        yield from results(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from results(one)
    elif hasattr(value, "__dataclass_fields__"):
        yield from results([getattr(value, name) for name in value.__dataclass_fields__])


def paths(module: Any) -> Iterator[tuple[int, str]]:
    if isinstance(module, torch.nn.Module):
        yield from ((id(m), name) for name, m in module.named_modules())


def tensor_names(module: Any) -> Iterator[tuple[int, str]]:
    if isinstance(module, torch.nn.Module):
        yield from ((id(t), name) for name, t in module.named_buffers())
        yield from ((id(t), name) for name, t in module.named_parameters())
