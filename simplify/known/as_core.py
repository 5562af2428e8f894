"""Abstract values as data of the core tree: sizes as expressions over the checker's names for them."""

from __future__ import annotations

from ...lang import core
from ...lang.dtypes import DTYPES, DType
from ...lang.source import NOWHERE
from ...ops.model import AnyDType, TensorInfo
from ..solver.conditions import ge
from ..solver.terms import Floor, Max, Size, Term, Var, is_nonneg, mono_key, weight
from .state import State
from .values import SizeValue, Value, plain

# A heavier size is replaced by a name of its own.
_HEAVIEST = 60


class CoreWriter:
    """Writes known values under one State as core data, if `wanted`; equal sizes share one expression."""

    def __init__(self, state: State, *, wanted: bool = True) -> None:
        self.state, self.wanted = state, wanted
        self._sizes: dict[Size, core.SizeExpr] = {}
        self._latest: tuple[Value | None, core.Known | None] = (None, None)

    def known(self, value: Value) -> core.Known | None:
        """Return the facts about a tensor or a Size; None for any other value."""
        if self.wanted and value is not self._latest[0]:  # a call, and then the name that it is bound to
            self._latest = value, self._known(value)
        return self._latest[1]

    def _known(self, value: Value) -> core.Known | None:
        if isinstance(value, SizeValue):
            return core.Known(None, core.DTypeLit(NOWHERE, DTYPES["int64"]), self.size(value.size))
        if not isinstance(value, TensorInfo) or value.dtype is None:
            return None
        shape = self.state.resolve(value.shape)
        dims = tuple(map(self.size, shape)) if plain(shape) else None
        return core.Known(dims, self._dtype(value.dtype), self._data(value.sizes))

    def _data(self, sizes: Size | tuple[Size, ...] | None) -> core.SizeExpr | tuple[core.SizeExpr, ...] | None:
        if sizes is None:
            return None
        return tuple(map(self.size, sizes)) if isinstance(sizes, tuple) else self.size(sizes)

    def size(self, size: Size) -> core.SizeExpr:
        size = self.state.settled(size)
        found = self._sizes.get(size)
        if found is None:
            found = self._sizes[size] = self._written(size)
        return found

    def _dtype(self, dtype: AnyDType) -> core.DTypeExpr:
        dtype = self.state.dtype(dtype)
        if isinstance(dtype, DType):
            return core.DTypeLit(NOWHERE, dtype)
        return core.DTypeVar(NOWHERE, f"?{dtype.serial}")

    def _written(self, size: Size) -> core.SizeExpr:
        if isinstance(size, int):
            return core.SizeLit(NOWHERE, size)
        if weight(size) > _HEAVIEST:
            return core.SizeVar(NOWHERE, f"?size{len(self._sizes)}")
        monos = sorted(size.mons, key=mono_key)
        return core.operation(NOWHERE, "+", *(self._product(size, mono) for mono in monos))

    def _product(self, size: Term, mono: tuple[Var | Floor | Max, ...]) -> core.SizeExpr:
        factors = [self._atom(atom) for atom in mono]
        if size.mons[mono] != 1 or not factors:
            factors.append(core.SizeLit(NOWHERE, size.mons[mono]))
        return core.operation(NOWHERE, "*", *factors)

    def _atom(self, atom: Var | Floor | Max) -> core.SizeExpr:
        match atom:
            case Var(name=name, serial=serial):
                is_its_own = serial in self.state.names.own and name in self.state.names.used
                return core.SizeVar(NOWHERE, name if is_its_own else f"?{serial}")
            case Floor(num=num, den=den):
                return self._quotient(num, den)
        return core.operation(NOWHERE, "max", core.SizeLit(NOWHERE, 0), *map(self._written, atom.args))

    def _quotient(self, num: Size, den: Size) -> core.SizeExpr:
        """A quotient whose divisor is provably above 0, as its evaluation requires; a normal form may have both signs
        reversed."""
        if not isinstance(den, int) and not is_nonneg(den):
            if self.state.facts.decide(ge(-den, 1)).kind == "proved":
                num, den = -num, -den
            elif self.state.facts.decide(ge(den, 1)).kind != "proved":
                return core.SizeVar(NOWHERE, f"?size{len(self._sizes)}")
        return core.operation(NOWHERE, "//", self._written(num), self._written(den))
