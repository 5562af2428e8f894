"""What a function demands of its inputs, as a signature: the weakest conditions, in the dimensions themselves where they fit.

Before and after: `@ff = fn(x : Tensor([?, ?], int8))` whose body reshapes `x` to `[x.dim(0), x.dim(1) // 4, 4]` gets the
signature `@ff = fn(x : Tensor([n, m * 4], int8))`. Every open check is necessary for the function to succeed where it is
reached, and all of them together are sufficient: so what is found is the weakest condition, unless something was left out
because only the data decides it (`complete` is False then), or more is asked of empty tensors than need be (`necessary` is
False then). Whether it really leaves nothing to check is seen by pasting it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from ..lang import core
from ..lang.checked import Demands, Takes
from ..lang.dtypes import DTYPES, DType
from ..lang.expressions import names_in
from ..lang.source import NOWHERE, Span
from ..ops.model import DTypeSymbol, Segment, TensorInfo
from .known.fresh import dims_of
from .known.state import State
from .known.values import Entry, Env, SizeValue, TupleValue, Value, tensors_in
from .solver.conditions import (
    Cond,
    Eq0,
    all_of,
    any_of,
    cond_variables,
    cond_vars,
    eq,
    evaluate_cond,
    ge,
    render_cond,
    substitute_cond,
)
from .solver.facts import Facts
from .solver.points import Point
from .solver.rendering import render
from .solver.shorter import entails, lighter
from .solver.sizes import only_var
from .solver.terms import Size, Term, Var, evaluate, mod, of_atom, substitute, variables
from .voice.describe import dtype_text
from .weakest import Demand, DTypeDemand, Inputs, is_rank, said, weakest

_LETTERS = ("n", "m", "k", "p", "q", "r", "s", "t", "u", "v", "w")
# A size that is longer than this is not for reading.
_LONGEST = 72
_DTYPE_LETTERS = ("d", "e", "dtype")
Door = tuple[tuple[Cond, object], ...]  # conditions, each with what asks for it
_UNDECLARED = core.Declaration((), (), None, None, None, ())


def demands(
    function: core.Function,
    params: Env,
    result: Entry | None,
    state: State,
    door: Door,
    open_checks: Iterable[Demand],
    dtypes: Iterable[DTypeDemand],
) -> Demands:
    """The signature of a function with what its body demands. `door` is what the signature says already, and why."""
    new = _Signature(function, params, result, state, door, stays=False).found(open_checks, dtypes)
    if new.keeps_door:
        return new.demands
    return _Signature(function, params, result, state, door, stays=True).found(open_checks, dtypes).demands


def takes(
    function: core.Function, params: Env, state: State, door: Door, open_checks: Iterable[Demand]
) -> Takes | None:
    """What tells of sizes, by their names, whether inputs that have them pass all checks; None where some check asks for
    more than sizes tell."""
    inputs = _Signature(function, params, None, state, door, stays=False).inputs()
    conds = [*inputs.door, *(said(state, inputs, check) for check in open_checks)]
    if None in conds:
        return None
    inside = {v for cond in conds if cond is not None for v in cond_variables(cond)}
    equations = [(cond.term, cond_vars(cond)) for cond in inputs.door if isinstance(cond, Eq0)]

    def all_hold(sizes: Mapping[str, int]) -> bool:
        point = {v: sizes[v.name] for v in inside if v.name in sizes}
        for term, names in equations:
            _complete(point, term, names)
        return point.keys() >= inside and all(evaluate_cond(c, point) for c in conds if c is not None)

    return all_hold


def _complete(point: Point, term: Term, names: Collection[Var]) -> None:
    """Puts the size into a point for which a term is 0, where all others in it are there."""
    left = [v for v in names if v not in point]
    if len(left) == 1:
        low, high = (evaluate(term, {**point, left[0]: n}) for n in (0, 1))
        if low != high:
            point[left[0]] = low // (low - high)


class _Found(NamedTuple):
    """A signature, and whether it asks for all that the declared one asks for."""

    demands: Demands
    keeps_door: bool


class _Signature:
    """With `stays` every shape of a parameter is as it is declared."""

    def __init__(
        self,
        function: core.Function,
        params: Env,
        result: Entry | None,
        state: State,
        door: Door,
        *,
        stays: bool,
    ) -> None:
        self.function = function
        self.params = params
        self.result = None if result is None else result.value
        self.state = state
        self.door = tuple(cond for cond, _ in door)
        self.door_of_dims = tuple(cond for cond, reason in door if not _is_where(reason))
        self.facts = Facts()
        for cond in self.door:
            self.facts.assume(cond)
        self.declared = function.declaration or _UNDECLARED
        self.written: dict[Var, Size] = {}
        self.names: dict[Var, str] = {}
        self.dims = dims_of((e.value for e in self.params.values()), self.state)
        self.sizes = self._size_params()
        self.open = set(params) if stays else self._open_params()
        self.stretches = dict(self._stretches())
        inside_open = {v for n in self.open for v in self._sizes_of(n)}
        self.unsayable = {v for v in inside_open if v.name not in self._names_in(self.open)} - self.sizes
        self.kept = self.sizes | self._written_by_alias() | inside_open
        self.spoken = self._names_used()

    # The conditions

    def found(
        self,
        open_checks: Iterable[Demand],
        dtypes: Iterable[DTypeDemand],
    ) -> _Found:
        needed, complete, necessary = weakest(self.state, self.inputs(), open_checks)
        conds = [c for c in needed if self._can_be_said(c)]
        complete = complete and len(conds) == len(needed)
        for cond in conds:
            self.facts.assume(cond)
        where = [c for c in sorted(conds, key=lambda c: not isinstance(c, Eq0)) if not self._absorb(c)]
        where.sort(key=conds.index)
        dtypes = _certain(dtypes)
        self._name_dims()
        self._name_dtypes(dtypes)
        params = tuple((name, self._param(name, entry.value)) for name, entry in self.params.items())
        lost = self._lost(params)
        unsaid = self._unsaid(params, conds, lost)
        keeps_door = all(map(self._can_be_said, unsaid))
        texts = [self._cond_text(c) for c in (*where, *unsaid) if self._can_be_said(c)]
        classes, says_all = self._dtype_conditions(dtypes)
        wheres = tuple(dict.fromkeys([*self._declared_where(lost), *texts, *classes]))
        complete = complete and says_all and keeps_door
        name, result = f"@{self.function.name}", self._result(lost)
        return _Found(Demands(name, params, wheres, result, complete, self._place(), necessary), keeps_door)

    def _can_be_said(self, cond: Cond) -> bool:
        """Whether all that a condition speaks of has a name in the signature."""
        inside = _sizes_in(cond)
        return self.unsayable.isdisjoint(inside) and not (self.open and any(map(is_rank, inside)))

    def _lost(self, params: Iterable[tuple[str, str]]) -> set[str]:
        """The names that the declared types bind, and those of the signature do not any more."""
        said = set(names_in(*(text for param in params for text in param)))
        return self._names_in(self.params) - said

    def _unsaid(self, params: Iterable[tuple[str, str]], conds: Iterable[Cond], lost: set[str]) -> list[Cond]:
        """What the signature asks of the sizes of types that are written in another way now, and they do not say."""
        changed = {v for name, text in params if not self._is_declared(name, text) for v in self._sizes_of(name)}
        wheres = [self._now(c) for c in self.door if c not in self.door_of_dims]
        said = Facts()
        for cond in (*map(self._now, conds), *(ge(self._write(d), 0) for d in self.dims), *(() if lost else wheres)):
            said.assume(cond)
        asked = [c for c in map(self._now, self.door_of_dims) if not changed.isdisjoint(_sizes_in(c))]
        found: list[Cond] = []
        for cond in (*asked, *(wheres if lost else ())):
            if said.decide(cond).kind != "proved":
                said.assume(cond)
                found.append(cond)
        return found

    def _now(self, cond: Cond) -> Cond:
        """A condition in the sizes that the signature speaks of."""
        now = {v: self._write(self.state.settled(of_atom(v))) for v in _sizes_in(cond)}
        return cond if isinstance(cond, bool) else substitute_cond(cond, now)

    def inputs(self) -> Inputs:
        inside = {v for d in self.dims for v in variables(d)}
        empties = {v for v in inside if any(substitute(d, {v: 0}) == 0 for d in self.dims)}
        return Inputs(inside | self.sizes, empties, self.door)

    def _place(self) -> Span:
        """Where the signature stands in the program: from the name to the body."""
        return self.declared.place or NOWHERE

    def _absorb(self, cond: Cond) -> bool:
        """Whether the condition goes into the dimensions themselves: a size that is another, a constant, a multiple."""
        if isinstance(cond, bool):
            return True
        if all(is_rank(v) for v in cond_variables(cond)):
            return True
        if not isinstance(cond, Eq0):
            return False
        term = self._write(cond.term)
        if isinstance(term, int):
            return term == 0
        for variable in sorted(variables(term), key=self._least_wanted):
            solved = _solved_for(term, variable)
            if solved is not None and self._may_replace(variable):
                self._replace(variable, solved)
                return True
        return self._absorb_multiple(term)

    def _least_wanted(self, variable: Var) -> tuple[bool, bool, int]:
        named = variable.name.rstrip("'").isidentifier()
        return variable.name in self.spoken, named, -variable.serial

    def _may_replace(self, variable: Var) -> bool:
        """A size whose name the body uses keeps it, and so does a parameter of sort Size."""
        return variable.name not in self.spoken and variable not in self.kept

    def _absorb_multiple(self, term: Term) -> bool:
        """`v % 4 == 0` of a dimension without a name: it is written `m * 4`."""
        for variable in sorted(variables(term)):
            factor = _divisor(term, variable) if self._may_replace(variable) else None
            if factor is not None:
                quotient = self.state.size("?")
                if variable.name.isidentifier():
                    self.names[only_var(quotient)] = variable.name
                self._replace(variable, quotient * factor)
                return True
        return False

    def _replace(self, variable: Var, size: Size) -> None:
        self.written = {v: substitute(s, {variable: size}) for v, s in self.written.items()}
        self.written[variable] = size

    def _write(self, size: Size) -> Size:
        return substitute(size, self.written) if self.written else size

    # The words

    def _sizes_of(self, name: str) -> set[Var]:
        """The sizes in the type of a parameter, as they are written now."""
        return {v for d in dims_of((self.params[name].value,), self.state) for v in variables(self._write(d))}

    def _names_in(self, params: Iterable[str]) -> set[str]:
        """The names in the declared types of some parameters."""
        types = map(self._declared_type, params)
        return {n for t in types if t is not None for n in t.names}

    def _is_declared(self, name: str, text: str) -> bool:
        declared = self._declared_type(name)
        if declared is not None and declared.shape is not None:
            return text.startswith(f"Tensor({declared.shape.span.text}")
        return declared is not None and text.startswith(declared.span.text)

    def _open_params(self) -> set[str]:
        """The parameters of unknown rank, and those that share a stretch of dimensions with one: their shapes stay as
        they are declared."""
        types = {name: self._declared_type(name) for name in self.params}
        stretches = {name: set(t.shape_names) if t is not None else set() for name, t in types.items()}
        found = {name for name, entry in self.params.items() if self._is_open(entry.value)}
        while True:
            shared = {s for name in found for s in stretches[name]}
            more = {name for name in self.params if stretches[name] & shared} - found
            if not more:
                return found
            found |= more

    def _stretches(self) -> Iterator[tuple[object, str]]:
        """The stretches of dimensions that the type of an open parameter names: the s of `[*s, d]`."""
        for name in self.open:
            declared, value = self._declared_type(name), self.params[name].value
            if declared is None or declared.kind != "tensor" or not isinstance(value, TensorInfo):
                continue
            found = [d.symbol for d in self.state.resolve(value.shape) if isinstance(d, Segment)]
            if len(found) == len(declared.shape_names) == 1:
                yield found[0], declared.shape_names[0]

    def _is_open(self, value: Value) -> bool:
        return any(isinstance(d, Segment) for t in tensors_in(value) for d in self.state.resolve(t.shape))

    def _written_by_alias(self) -> set[Var]:
        """The sizes inside of types that stay as they are declared."""
        types = {n: self._declared_type(n) for n in self.params}
        named = [self.params[n].value for n, t in types.items() if t is not None and t.kind == "name"]
        return {v for d in dims_of(named, self.state) for v in variables(d)}

    def _size_params(self) -> set[Var]:
        given = (self.state.settled(e.value.size) for e in self.params.values() if isinstance(e.value, SizeValue))
        return {v for size in given for v in variables(size)}

    def _name_dims(self) -> None:
        """Every size of the signature gets a name: its own, or a letter that nothing else has."""
        bound = set(self.declared.bound)
        taken = {*self.spoken, *bound, *self._names_in(self.params)}
        inside = (v for d in self.dims for v in variables(self._write(d)) if v not in self.unsayable)
        every = dict.fromkeys([*sorted(self.sizes), *inside])
        for variable in every:
            name = self.names.pop(variable, variable.name)
            if name.rstrip("'").isidentifier() and name not in bound:
                taken.add(name)
                self.names[variable] = name
        letters = _letters(_LETTERS)
        for variable in every:
            if variable not in self.names:
                name = next(n for n in letters if n not in taken)
                taken.add(name)
                self.names[variable] = name

    def _text(self, size: Size) -> str:
        size = self._write(size)
        named = {v: of_atom(Var(self.names.get(v, v.name), v.serial, v.nonneg)) for v in variables(size)}
        return render(substitute(size, named))

    def _cond_text(self, cond: Cond) -> str:
        assert not isinstance(cond, bool)
        cond = substitute_cond(cond, self.written)
        if isinstance(cond, bool):
            return str(cond).lower()
        named = {v: of_atom(Var(self.names.get(v, v.name), v.serial, v.nonneg)) for v in cond_variables(cond)}
        return render_cond(substitute_cond(cond, named))

    def _param(self, name: str, value: Value) -> str:
        """The type of a parameter, and its default value if it has one."""
        default = next((p.default for p in self.declared.params if p.name == name), None)
        text = self._type(self._declared_type(name), value, stays=name in self.open)
        return text if default is None else f"{text} = {default.span.text}"

    def _type(self, declared: core.Annotation | None, value: Value, *, stays: bool) -> str:
        """As it is declared where nothing new is known of it."""
        if isinstance(value, TupleValue) and declared is not None and declared.kind == "tuple":
            parts = zip(declared.items, value.items, strict=False)
            return f"({', '.join(self._type(t, v, stays=stays) for t, v in parts)})"
        if isinstance(value, TensorInfo) and (declared is None or declared.kind == "tensor"):
            if stays:
                shape = declared.shape.span.text if declared is not None and declared.shape is not None else "?"
                return _tensor_text(shape, dtype_text(value.dtype, self.state))
            return (
                declared.span.text if declared is not None and self._says_all(declared, value) else self._tensor(value)
            )
        return declared.span.text if declared is not None else "Tensor"

    def _says_all(self, declared: core.Annotation, value: TensorInfo) -> bool:
        """Whether the annotation gives every dimension its name or value already."""
        said = declared.names
        dtype = dtype_text(value.dtype, self.state)
        if (
            dtype != "?"
            and dtype not in said
            and not (declared.dtype is not None and dtype in declared.dtype.span.text)
        ):
            return False
        if declared.shape is None or (declared.dims is None and not declared.shape_names):
            return all(isinstance(d, Segment) for d in self.state.resolve(value.shape))
        inside = [v for d in self.state.resolve(value.shape) if not isinstance(d, Segment) for v in variables(d)]
        whole = declared.dims is None or len(declared.dims) >= len(self.state.resolve(value.shape))
        known = all(v not in self.written and (v.name in said or v.name in self.params) for v in inside)
        return whole and known and "?" not in declared.shape.span.text

    def _tensor(self, value: TensorInfo) -> str:
        dims = ", ".join(map(self._dim, self.state.resolve(value.shape)))
        return _tensor_text(f"[{dims}]", dtype_text(value.dtype, self.state))

    def _dim(self, dim: Size | Segment) -> str:
        return f"*{self.stretches[dim.symbol]}" if isinstance(dim, Segment) else self._text(dim)

    def _result_is_derived(self) -> bool:
        """Whether the result's type is made of the sizes that come in."""
        inside = {v for d in self.dims for v in variables(d)} | self.sizes
        shapes = [self.state.resolve(t.shape) for t in tensors_in(self.result)]
        plain = isinstance(self.result, TensorInfo | TupleValue)
        return plain and all(not isinstance(d, Segment) and set(variables(d)) <= inside for s in shapes for d in s)

    def _result(self, lost: set[str]) -> str | None:
        """The result's type; None where a size of it only the run decides and nothing was declared."""
        declared = self.declared.result
        known = self._known(self.result)
        if declared is None or _is_bare(declared) or not lost.isdisjoint(declared.names):
            return known
        return known if known is not None and self.written else declared.span.text

    def _known(self, value: Value | None) -> str | None:
        """The type of a value all of whose sizes have names."""
        if isinstance(value, TupleValue):
            parts = [self._known(item) for item in value.items]
            return None if None in parts else f"({', '.join(p for p in parts if p is not None)})"
        if not isinstance(value, TensorInfo) or value.dtype is None:
            return None
        shape = self.state.resolve(value.shape)
        if any(isinstance(d, Segment) and d.symbol not in self.stretches for d in shape):
            return None
        shape = tuple(d if isinstance(d, Segment) else lighter(self.facts, d) for d in shape)
        inside = [v for d in shape if not isinstance(d, Segment) for v in variables(self._write(d))]
        if any(v not in self.names for v in inside) or any(len(self._dim(d)) > _LONGEST for d in shape):
            return None
        return self._tensor(TensorInfo(shape, value.dtype))

    def _declared_type(self, name: str) -> core.Annotation | None:
        return next((p.annotation for p in self.declared.params if p.name == name), None)

    def _declared_where(self, lost: set[str]) -> tuple[str, ...]:
        return tuple(c.span.text for c in self.declared.where if lost.isdisjoint(c.names))

    def _names_used(self) -> frozenset[str]:
        """The names that a pasted signature has to keep: those of the body, of conditions, of types that stay as they are."""
        if self.declared.used is None:
            return frozenset()
        types = [p.annotation for p in self.declared.params]
        kept = [t for t in types if t is not None and t.kind not in ("tensor", "tuple")]
        kept += [self.declared.result] if self.declared.result is not None and not self._result_is_derived() else []
        said = [n for t in kept for n in t.names] + [n for c in self.declared.where for n in c.names]
        return frozenset({*self.declared.used, *said, *self.params})

    def _name_dtypes(self, demanded: Iterable[DTypeDemand]) -> None:
        """A dtype that two parameters share, or the result takes over, or that has to be of a class, gets a letter."""
        known = [
            self.state.dtype(t.dtype) for e in self.params.values() for t in tensors_in(e.value) if t.dtype is not None
        ]
        given = [self.state.dtype(t.dtype) for t in tensors_in(self.result) if t.dtype is not None]
        asked = [self.state.dtype(demand.dtype) for demand in demanded]
        taken = {
            *self.spoken,
            *self.names.values(),
            *(self.state.called(s) for s in known if isinstance(s, DTypeSymbol)),
        }
        for symbol in known:
            if not isinstance(symbol, DTypeSymbol) or self.state.called(symbol).isidentifier():
                continue
            if (known + given).count(symbol) > 1 or symbol in asked:
                self.state.call(symbol, next(n for n in _letters(_DTYPE_LETTERS) if n not in taken))
                taken.add(self.state.called(symbol))

    def _dtype_conditions(self, dtypes: Iterable[DTypeDemand]) -> tuple[list[str], bool]:
        """`d in numeric` for a dtype that has a name; whether all could be said."""
        texts, complete = [], True
        for demand in dtypes:
            known, names = self.state.dtype(demand.dtype), demand.classes
            if isinstance(known, DType):
                continue
            name = self.state.called(known)
            if name.isidentifier():
                single = len(names) == 1 and names[0] not in DTYPES
                texts.append(f"{name} in {names[0]}" if single else f"{name} in {{{', '.join(names)}}}")
            else:
                complete = False
        return texts, complete


def _tensor_text(shape: str, dtype: str) -> str:
    if (shape, dtype) == ("?", "?"):
        return "Tensor"
    return f"Tensor({shape})" if dtype == "?" else f"Tensor({shape}, {dtype})"


def _sizes_in(cond: Cond) -> tuple[Var, ...]:
    return () if isinstance(cond, bool) else cond_variables(cond)


def _is_where(reason: object) -> bool:
    return isinstance(reason, core.Assert) and reason.origin.what == "where"


def _certain(dtypes: Iterable[DTypeDemand]) -> tuple[DTypeDemand, ...]:
    """The classes that are asked for whatever arms are taken."""
    found: dict[tuple[int, tuple[str, ...]], tuple[DTypeDemand, Cond]] = {}
    for demand in dtypes:
        key = (id(demand.dtype), demand.classes)
        _, covered = found.get(key, (demand, False))
        here = False if None in demand.path else all_of(*(c for c in demand.path if c is not None))
        found[key] = (demand, any_of(covered, here))
    return tuple(demand for demand, covered in found.values() if entails((), covered))


def _letters(letters: tuple[str, ...]) -> Iterator[str]:
    return (f"{letter}{i or ''}" for i in range(100) for letter in letters)


def _is_bare(type_: core.Annotation) -> bool:
    return type_.kind == "tensor" and type_.shape is None


def _solved_for(term: Term, variable: Var) -> Size | None:
    """The size that makes `term == 0`, where the variable occurs once, alone and with coefficient 1 or -1, and the size
    cannot be negative."""
    factor = term.mons.get((variable,), 0)
    if factor not in (1, -1) or sum(variable in variables(of_atom(a)) for mono in term.mons for a in mono) != 1:
        return None
    rest = of_atom(variable) - term if factor == 1 else of_atom(variable) + term
    if isinstance(rest, int):
        return rest if rest >= 0 else None
    return rest if all(k >= 0 for k in rest.mons.values()) else None


def _divisor(term: Term, variable: Var) -> int | None:
    """The k of `variable % k == 0`, if the term says just that."""
    for k in sorted({abs(f) for f in term.mons.values() if abs(f) > 1}):
        rest = mod(of_atom(variable), k)
        if eq(rest, 0) == eq(term, 0):
            return k
    return None
