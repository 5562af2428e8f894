"""All facts at one point of a function, in scopes: facts about sizes, dtypes, parts of shapes."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from math import prod

from ...lang import core
from ...lang.dtypes import DTYPES, DType
from ...ops.dtypes_column import among, belongs
from ...ops.model import AnyDType, DTypeSymbol, Segment, Symbol
from ..solver.conditions import Cond, Condition, cond_vars, eq, ge
from ..solver.facts import Facts
from ..solver.rendering import render
from ..solver.sizes import only_var, single_var
from ..solver.terms import (
    Size,
    Term,
    TooLarge,
    Var,
    of_atom,
    smin,
    substitute,
    term_vars,
    var,
    variables,
)
from ..solver.trail import KeptTable, Past, Table
from .bounds import upper_bound
from .lasting import GivenNames, Lasting
from .values import Entry, SegmentSymbol, Shape, plain

_ALL = frozenset(DTYPES.values())


class State:
    """Facts with the tables beside them. `push` and `pop` open and close a scope (an arm, an inlined body).

    Closing a scope discards what was learnt in it about older values. Properties that a variable has from its beginning (only
    the run decides it, it is one of several sizes) remain: a size that leaves an arm keeps them.
    """

    def __init__(self) -> None:
        self.facts = Facts()
        # Off the trail: given names, and values made once.
        self._speak(GivenNames())
        self.lasting = Lasting()
        trail = self.facts.trail
        self._segments: KeptTable[int, Shape] = KeptTable(trail)
        self._dtypes: KeptTable[int, AnyDType | frozenset[DType]] = KeptTable(trail)
        self._solved: KeptTable[Var, Size] = KeptTable(trail)
        # Sizes with the user's names whose values facts fix; reports show the numbers.
        self._numbers: KeptTable[Var, int] = KeptTable(trail)
        # The names of symbols, and the least known ranks of open shapes.
        self._called: KeptTable[Symbol, str] = KeptTable(trail)
        # Stretches of axes that the program itself names.
        self._named_shapes: KeptTable[Symbol, None] = KeptTable(trail)
        self._reached: KeptTable[tuple[Shape, int], None] = KeptTable(trail)
        # Whether no dtype is left for some value.
        self.impossible = False
        # Whether a condition was assumed that may be unsatisfiable: then no refutation is certain.
        self.unsure = False
        self._scopes: list[tuple[bool, bool, int]] = []
        # The numbers that stand for truth values.
        self.truths: Table[Var, None] = Table(trail)
        # Sizes that only the run decides, with upper bounds; they are not displayed as expressions over the inputs.
        self.opaque: KeptTable[Var, Size | None] = KeptTable(trail)
        # Dimensions without a name; an annotation may still give them one.
        self.anonymous: Table[Var, None] = Table(trail)
        self.unnamed: list[Var] = []  # all that were ever anonymous, in order
        # The results of walks over inlined bodies, by the function's name and its arguments.
        self.inlined: Table[tuple[object, ...], tuple[Entry, core.Block]] = Table(trail)
        # Sizes that only the data decides, by the operation that counts them.
        self.counted: Table[tuple[object, ...], Size] = Table(trail)
        # Sizes that are one of several, each case with its condition.
        self.choices: Table[Var, tuple[tuple[Cond, Size], ...]] = Table(trail)
        # The common size of sizes that were broadcast together, and for each common size those sizes.
        self.broadcasts: Table[frozenset[Size], Term] = Table(trail)
        self.bases: Table[Var, frozenset[Size]] = Table(trail)
        # For sizes that differ between the arms of an `if`: their values in both arms.
        self.either: KeptTable[Var, tuple[Size, Size]] = KeptTable(trail)
        # Shapes as last resolved, by id (the table keeps the shapes alive), each with the trail's time; then the time that a
        # past State describes.
        self._resolved: dict[int, tuple[int, Shape, Shape]] = {}
        self._moment: int | None = None
        # Sizes as printed, with the time for which this is valid.
        self._printed: tuple[int, dict[Size, tuple[int | str, str, str | None]]] = (-1, {})
        self._texts: dict[Term, str] = {}
        # Results of operators on sizes, with the steps they take.
        self.worked_out: dict[tuple[str, Size, Size], tuple[Size, int]] = {}
        # The printed form of a size whose normal form is not readable.
        self.display: KeptTable[Term, tuple[str, tuple[Size, ...]]] = KeptTable(trail)

    def _speak(self, names: GivenNames) -> None:
        self.names, self.serial, self.size = names, names.serial, names.size

    # Scopes

    def push(self) -> None:
        self.facts.push()
        self._scopes.append((self.impossible, self.unsure, len(self.unnamed)))

    def pop(self) -> None:
        self.facts.pop()
        self.impossible, self.unsure, unnamed = self._scopes.pop()
        del self.unnamed[unnamed:]

    def truth(self, name: str) -> Term:
        """Return a number that is 1 if an unknown truth value is true; any other number means false."""
        number = self.size(name, nonneg=False)
        self.truths[only_var(number)] = None
        return number

    def past(self) -> State:
        """Return a copy for looking up values later as they are known now; it has no facts."""
        past = copy(self)
        past._moment = self.facts.trail.time
        past.facts = Facts()
        past._speak(copy(self.names))
        vars(past).update({name: Past(table) for name, table in vars(self).items() if isinstance(table, KeptTable)})
        return past

    def text(self, size: Term) -> str:
        """A size in Rx syntax."""
        found = self._texts.get(size)
        if found is None:
            found = self._texts[size] = render(size)
        return found

    # New sizes

    def bases_of(self, size: Size) -> frozenset[Size]:
        """The sizes that a common size was made of; a size of another kind is its own only base."""
        found = None if isinstance(size, int) else single_var(size)
        return self.bases.get(found, frozenset((size,))) if found is not None else frozenset((size,))

    def dimension(self, name: str) -> Term:
        """Return a new dimension of a tensor, about which nothing is known yet."""
        term = var(name, self.serial())
        self.leave_unnamed(only_var(term))
        return term

    def leave_unnamed(self, variable: Var) -> None:
        """Record that the variable has no name yet."""
        self.anonymous.begin(variable, None)
        self.unnamed.append(variable)

    def may_be_called(self, variable: Var, name: str) -> bool:
        """Whether the variable may take the name: it has none yet. `x.dim(0)` keeps its text if another size has the name."""
        return variable in self.anonymous and (name not in self.names.used or variable.name.startswith("?"))

    def unknown_integer(self) -> Term:
        """Return a new size of any sign that only the run decides."""
        term = var("?", self.serial(), nonneg=False)
        self.opaque.begin(only_var(term), None)
        return term

    def segment(self, name: str) -> Segment:
        return Segment(SegmentSymbol(name, self.serial()))

    def dtype_symbol(self, name: str) -> DTypeSymbol:
        return DTypeSymbol(name, self.serial())

    def call(self, symbol: Symbol, name: str) -> None:
        """Set the symbol's name from here on."""
        self._called[symbol] = name

    def name_shape(self, shape: Shape, name: str) -> None:
        """Record the program's name for a shape, if the shape is one open stretch."""
        if len(shape) == 1 and isinstance(shape[0], Segment):
            self.call(shape[0].symbol, name)
            self._named_shapes[shape[0].symbol] = None

    def is_named_shape(self, symbol: Symbol) -> bool:
        return symbol in self._named_shapes

    def called(self, symbol: Symbol) -> str:
        """The symbol's name."""
        return self._called.get(symbol, symbol.name)

    # Sizes

    def solve_anonymous(self, a: Size, b: Size) -> None:
        """If one side is a dimension without a name, write it as the other from here on."""
        for one, other in ((self.settled(a), b), (self.settled(b), a)):
            found = None if isinstance(one, int) else single_var(one)
            if found is not None and self._may_besettled(found, self.settled(other)):
                self._solved[found] = other
                return

    def settled(self, size: Size) -> Size:
        """Return the size with solved dimensions replaced."""
        solved = self._solved
        while not isinstance(size, int) and solved and not solved.keys().isdisjoint(term_vars(size)):
            before, size = size, substitute(size, solved)
            if size == before:
                break
        return size

    def number(self, size: Size) -> Size:
        """Return the size with its variables replaced by the numbers that facts fix, for reports and for rules that need a
        number. Facts keep the variable, so that a failure can name them as reasons."""
        if isinstance(size, int) or not self._numbers:
            return size
        with suppress(TooLarge):
            return substitute(size, self._numbers)
        return size

    def rename(self, variable: Var, named: Term) -> None:
        """Write the size `variable` as the new size `named` from here on."""
        self._solved[variable] = named
        self.anonymous.pop(variable)
        self.facts.rename(variable, named)
        if variable in self.opaque:
            self.opaque.begin(only_var(named), self.opaque[variable])

    def upper_bound(self, size: Size) -> Size | None:
        """An upper bound over the inputs for a size that only the run decides: `n * 3` for `k * 3` where k <= n."""
        return upper_bound(size, self.opaque)

    def _may_besettled(self, variable: Var, size: Size) -> bool:
        """Whether a variable without a name, or one that only the run decides, is better written as the size."""
        inside = variables(size)
        if variable in inside:
            return False
        return variable in self.anonymous or (variable in self.opaque and not any(v in self.opaque for v in inside))

    def learn_bound(self, size: Size, bound: Size) -> None:
        """Record `size <= bound` for a size that only the run decides."""
        found = single_var(size)
        known = any(v in self.opaque for v in variables(bound))
        if found is not None and not known and found in self.opaque:
            before = self.opaque[found]
            self.opaque[found] = bound if before is None else smin(before, bound)

    # Shapes

    def resolve(self, shape: Shape) -> Shape:
        """Return the shape with known segments and solved dimensions replaced."""
        if not self._segments and not self._solved:
            return shape
        now = self.facts.trail.time if self._moment is None else self._moment
        known = self._resolved.get(id(shape))
        if known is None or known[0] != now:
            found = tuple(d if isinstance(d, Segment) else self.settled(d) for d in self.spread(shape))
            known = self._resolved[id(shape)] = now, shape, found
        return known[2]

    def printed(self) -> dict[Size, tuple[int | str, str, str | None]]:
        """The printed sizes at this time, a cache that callers fill; it is empty again when more is known."""
        now = self.facts.trail.time if self._moment is None else self._moment
        if self._printed[0] != now:
            self._printed = now, {}
        return self._printed[1]

    def spread(self, shape: Shape) -> Shape:
        """Return the shape with known segments replaced and its dimensions unchanged."""
        if not self._segments or plain(shape):
            return shape
        parts: list[object] = []
        for part in shape:
            known = self._segments.get(part.symbol.serial) if isinstance(part, Segment) else None
            parts.extend(self.spread(known) if known is not None else (part,))
        return tuple(parts)

    def expand(self, segment: Segment, shape: Shape) -> None:
        """Record that the segment is `shape`."""
        self._segments[segment.symbol.serial] = shape
        known = self.lasting.elements.get(segment.symbol.serial)
        if known is not None:
            self.assume(eq(known, self.elements(shape)))

    def expand_to_rank(self, segment: Segment, rank: int) -> Shape:
        """Give the segment `rank` dimensions: new ones, or those that were already used."""
        symbol = segment.symbol
        dims = []
        for axis in range(rank):
            known = self.lasting.dims.get((symbol.serial, axis)) or self.lasting.dims.get((symbol.serial, axis - rank))
            dims.append(of_atom(known) if known else self.dimension(self._axis_name(symbol, axis)))
        self.expand(segment, tuple(dims))
        return tuple(dims)

    def segment_rank(self, segment: Segment) -> Term:
        symbol = segment.symbol
        known = self.lasting.ranks.get(symbol.serial)
        if known is None:
            known = only_var(var(f"{self.called(symbol)}.rank", self.serial()))
            self.lasting.ranks[symbol.serial] = known
        return of_atom(known)

    def segment_dim(self, segment: Segment, axis: int) -> Term:
        """A dimension of a segment that is not expanded, counted from its front (>= 0) or its end (< 0)."""
        key = (segment.symbol.serial, axis)
        if key not in self.lasting.dims:
            self.lasting.dims[key] = only_var(self.dimension(self._axis_name(segment.symbol, axis)))
        return of_atom(self.lasting.dims[key])

    def dim_between(self, shape: Shape, axis: int) -> Size:
        """A dimension that lies either in a segment or beside it: the last of `[n, *s]` is n if s is empty."""
        if (shape, axis) not in self.lasting.between:
            self.lasting.between[shape, axis] = self.dimension("?")
        return self.lasting.between[shape, axis]

    def has_rank_of(self, shape: Shape, least: int) -> bool:
        """Whether a shape provably has at least `least` dimensions."""
        if (shape, least) not in self._reached and self.facts.decide(ge(self.rank(shape), least)).kind == "proved":
            self._reached[shape, least] = None
        return (shape, least) in self._reached

    def rank(self, shape: Shape) -> Size:
        total: Size = 0
        for part in self.resolve(shape):
            total = total + (self.segment_rank(part) if isinstance(part, Segment) else 1)
        return total

    def elements(self, shape: Shape) -> Size:
        """The number of elements of a tensor of that shape."""
        return prod(self._segment_elements(d.symbol) if isinstance(d, Segment) else d for d in self.resolve(shape))

    def _segment_elements(self, symbol: Symbol) -> Term:
        if symbol.serial not in self.lasting.elements:
            is_named = self.is_named_shape(symbol)
            made = self.size(f"prod({self.called(symbol)})" if is_named else "?elements")
            if not is_named:
                self.opaque.begin(only_var(made), None)
            self.lasting.elements[symbol.serial] = made
        return self.lasting.elements[symbol.serial]

    # Dtypes

    def dtype(self, dtype: AnyDType) -> AnyDType:
        """Return the dtype itself if it is known by now, else its symbol."""
        while isinstance(dtype, DTypeSymbol):
            known = self._dtypes.get(dtype.serial)
            if known is None or isinstance(known, frozenset):
                return dtype
            dtype = known
        return dtype

    def allowed(self, dtype: AnyDType) -> frozenset[DType]:
        """The dtypes that it may be."""
        dtype = self.dtype(dtype)
        if isinstance(dtype, DType):
            return frozenset((dtype,))
        known = self._dtypes.get(dtype.serial)
        return known if isinstance(known, frozenset) else _ALL

    def known_dtypes(self, symbol: DTypeSymbol) -> frozenset[DType]:
        """The dtypes that a symbol is known to be one of; empty if nothing is known."""
        known = self._dtypes.get(symbol.serial)
        return known if isinstance(known, frozenset) else frozenset()

    def same_dtype(self, a: AnyDType, b: AnyDType) -> bool | None:
        if a is b:
            return True
        a, b = self.dtype(a), self.dtype(b)
        if a is b:
            return True
        if isinstance(a, DType) and isinstance(b, DType):
            return a == b
        return None if self.allowed(a) & self.allowed(b) else False

    def in_class(self, dtype: AnyDType, names: tuple[str, ...]) -> bool | None:
        dtype = self.dtype(dtype)
        if isinstance(dtype, DType):
            return belongs(dtype, names)
        among = self.among(dtype, names)
        return True if among == self.allowed(dtype) else None if among else False

    def among(self, dtype: AnyDType, names: tuple[str, ...]) -> frozenset[DType]:
        """The dtypes of the given classes that it may be."""
        return among(self.allowed(dtype), names)

    def unify(self, a: AnyDType, b: AnyDType) -> None:
        """Record that both are one dtype."""
        a, b = self.dtype(a), self.dtype(b)
        if a is b or a == b:
            return
        self.impossible = self.impossible or (isinstance(a, DType) and isinstance(b, DType))
        if isinstance(a, DType):
            a, b = b, a
        if isinstance(a, DTypeSymbol):
            both = self.allowed(a) & self.allowed(b)
            self._dtypes[a.serial] = b
            self.restrict(b, both)

    def restrict(self, dtype: AnyDType, wanted: frozenset[DType]) -> None:
        dtype = self.dtype(dtype)
        if isinstance(dtype, DTypeSymbol):
            known = self._dtypes.get(dtype.serial)
            left = known & wanted if isinstance(known, frozenset) else wanted
            self.impossible = self.impossible or not left
            self._dtypes[dtype.serial] = next(iter(left)) if len(left) == 1 else left

    def _axis_name(self, symbol: Symbol, axis: int) -> str:
        """`x.dim(1)`, or `?` for a tensor without a name."""
        name = self.called(symbol)
        return "?" if name.startswith("?") or name.endswith(core.UNSAID) else f"{name}.dim({axis})"

    def assume(self, cond: Cond, reason: object = None) -> None:
        """Take a condition as a fact; one that is too large to reason about is dropped."""
        with suppress(TooLarge):
            self.facts.assume(cond, reason)
            if isinstance(reason, core.Assert) and not isinstance(cond, bool):
                self._learn_numbers(cond)

    def _learn_numbers(self, cond: Condition) -> None:
        """Record the sizes that a condition written in the program fixes to numbers."""
        for v in sorted(v for v in cond_vars(cond) if v not in self._numbers and v not in self._solved):
            number = self.facts.number(v)
            if number is not None:
                self._numbers[v] = number
