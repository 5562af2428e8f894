"""The ranks of tensors, as far as statements show them: arms of a rule for other ranks are left out."""

from __future__ import annotations

from ..lang import core
from ..lang.dtypes import DTYPES
from ..ops.ground import GroundCtx, NeedsData, Violation, outcomes
from ..ops.model import RankUnknown, TensorInfo
from ..ops.registry import lookup

Ranks = dict[str, int]


class _AnyDType(GroundCtx):
    def dtype_in(self, *_: object) -> bool:
        return True


def learn(cond: core.BoolExpr, ranks: Ranks) -> None:
    """Record the rank that an asserted condition implies."""
    match cond:
        case core.Compare(op="==", left=core.RankOf(tensor=name), right=core.SizeLit(value=rank)):
            ranks[name] = rank
        case core.Compare(op="==", left=core.ShapeOf(tensor=name), right=shape):
            rank_there = of_shape(shape, ranks)
            if rank_there is not None:
                ranks[name] = rank_there
        case _:
            pass


def of_shape(shape: object, ranks: Ranks) -> int | None:
    if isinstance(shape, core.ShapeOf):
        return ranks.get(shape.tensor)
    dims = shape.dims if isinstance(shape, core.ShapeLit) else None
    return None if dims is None or any(isinstance(d, core.Splice) for d in dims) else len(dims)


def decided(cond: core.Value, ranks: Ranks) -> bool | None:
    """Whether a tensor has the rank that is asked for; None if unknown."""
    match cond:
        case core.Compare(op="==", left=core.RankOf(tensor=name), right=core.SizeLit(value=rank)) if name in ranks:
            return ranks[name] == rank
        case _:
            return None


def of_results(call: core.Call, ranks: Ranks) -> list[int]:
    """Return the ranks of a call's results, or none if they are unknown. The primitive's rule is applied to tensors whose
    sizes are all alike; it must give the same ranks for two such sizes that it accepts."""
    row = lookup(call.callee.name.removeprefix("prelude."))
    if row is None or row.rule is None or row.results == "size":
        return []
    given = {row.params[i].name if a.name is None else a.name: a.value for i, a in enumerate(call.args)}
    shapes = [given[p.name] for p in row.params if p.kind in ("shape", "target") and p.name in given]
    if shapes:
        rank = of_shape(shapes[0], ranks)
        return [] if rank is None else [rank]
    found = []
    for size in (12, 2, 1):
        try:
            args = [_read(given[p.name], p.kind, size, ranks) if p.name in given else p.default for p in row.params]
            found.append([len(out.shape) for out in outcomes(row, row.rule(_AnyDType(), *args))])
        except (Violation, NeedsData, RankUnknown, _NotRead):
            continue
    return found[0] if len(found) > 1 and all(f == found[0] for f in found) else []


class _NotRead(Exception):
    """Nothing is known of an argument."""


def _read(value: object, kind: str, size: int, ranks: Ranks) -> object:
    """Return an argument as a rule takes it."""
    if isinstance(value, core.Var) and value.name in ranks:
        return TensorInfo((size,) * ranks[value.name], DTYPES["int64" if kind == "index" else "float32"])
    if isinstance(value, core.Number) and kind in ("tensor", "tensors"):
        return TensorInfo((), None)
    if isinstance(value, core.SizeLit):
        return (value.value,) if kind == "ints" else value.value
    if isinstance(value, core.Number | core.BoolConst | core.Text):
        return value.value
    if isinstance(value, core.DTypeLit):
        return value.dtype
    if isinstance(value, core.ListValue | core.TupleValue | core.ShapeLit):
        items = value.dims if isinstance(value, core.ShapeLit) else value.items
        return tuple(_read(item, "int" if kind == "ints" else kind, size, ranks) for item in items)
    if isinstance(value, core.SizeExpr):
        return size
    raise _NotRead
