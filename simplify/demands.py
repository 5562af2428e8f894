"""A function's conditions on its inputs as a signature: the weakest ones, written into the dimensions where possible.

Before and after: `@ff = fn(x : Tensor([?, ?], int8))` whose body reshapes `x` to `[x.dim(0), x.dim(1) // 4, 4]` gets the
signature `@ff = fn(x : Tensor([n, m * 4], int8))`. Every open check is necessary for a run that reaches it, and all together
are sufficient: the result is the weakest condition, unless a check that only the data decides is left out (`complete` is
False then), or empty tensors are restricted more than necessary (`necessary` is False then). Pasting the signature shows
whether it really leaves nothing to check.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from ..lang import core
from ..lang.checked import Demands, Takes
from ..lang.dtypes import DTYPES, DType
from ..lang.expressions import names_in
from ..lang.source import NOWHERE, Span
from ..ops.model import Segment, TensorInfo
from .known.fresh import dims_of
from .known.state import State
from .known.values import Entry, Env, SizeValue, Value, tensors_in
from .messages.signature import SignatureText
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
    substitute_cond,
)
from .solver.facts import Facts
from .solver.points import Point
from .solver.shorter import entails
from .solver.sizes import only_var
from .solver.terms import Size, Term, Var, evaluate, mod, of_atom, substitute, variables
from .weakest import DTypeDemand, Inputs, OpenCheck, is_rank, said, weakest

EntryCheck = tuple[tuple[Cond, object], ...]  # conditions, each with its reason
_UNDECLARED = core.Declaration((), (), None, None, None, ())


def demands(
    function: core.Function,
    params: Env,
    result: Entry | None,
    state: State,
    entry_check: EntryCheck,
    open_checks: Iterable[OpenCheck],
    dtypes: Iterable[DTypeDemand],
) -> Demands:
    """Return the signature of a function with the demands of its body. `entry_check` has the conditions of the present
    signature, with their reasons."""
    new = _Signature(function, params, result, state, entry_check, stays=False).found(open_checks, dtypes)
    if new.keeps_all:
        return new.demands
    return _Signature(function, params, result, state, entry_check, stays=True).found(open_checks, dtypes).demands


def takes(
    function: core.Function, params: Env, state: State, entry_check: EntryCheck, open_checks: Iterable[OpenCheck]
) -> Takes | None:
    """Return a function that tells whether inputs with given sizes, by name, pass all checks; None if some check asks for
    more than sizes."""
    inputs = _Signature(function, params, None, state, entry_check, stays=False).inputs()
    conds = [*inputs.entry_check, *(said(state, inputs, check) for check in open_checks)]
    if None in conds:
        return None
    inside = {v for cond in conds if cond is not None for v in cond_variables(cond)}
    equations = [(cond.term, cond_vars(cond)) for cond in inputs.entry_check if isinstance(cond, Eq0)]

    def all_hold(sizes: Mapping[str, int]) -> bool:
        point = {v: sizes[v.name] for v in inside if v.name in sizes}
        for term, names in equations:
            _complete(point, term, names)
        return point.keys() >= inside and all(evaluate_cond(c, point) for c in conds if c is not None)

    return all_hold


def _complete(point: Point, term: Term, names: Collection[Var]) -> None:
    """Add to a point the size for which a term is 0, if it has all other sizes of the term."""
    left = [v for v in names if v not in point]
    if len(left) == 1:
        low, high = (evaluate(term, {**point, left[0]: n}) for n in (0, 1))
        if low != high:
            point[left[0]] = low // (low - high)


class _Found(NamedTuple):
    """A signature, and whether it asks for everything that the declared one asks for, also of the result."""

    demands: Demands
    keeps_all: bool


class _Signature:
    """The construction of a signature; with `stays` every parameter keeps its declared shape."""

    def __init__(
        self,
        function: core.Function,
        params: Env,
        result: Entry | None,
        state: State,
        entry_check: EntryCheck,
        *,
        stays: bool,
    ) -> None:
        self.function, self.params = function, params
        self.result = None if result is None else result.value
        self.state = state
        self.entry_check = tuple(cond for cond, _ in entry_check)
        self.entry_check_of_dims = tuple(cond for cond, reason in entry_check if not _is_where(reason))
        self.facts = Facts()
        for cond in self.entry_check:
            self.facts.assume(cond)
        self.declared = function.declaration or _UNDECLARED
        self.text = SignatureText(params, self.declared, state)
        self.dims = dims_of((e.value for e in self.params.values()), self.state)
        self.sizes = self._size_params()
        self.open = set(params) if stays else self._open_params()
        self.text.stretches = dict(self._stretches())
        inside_open = {v for n in self.open for v in self.text.sizes_of(n)}
        self.unsayable = {v for v in inside_open if v.name not in self.text.names_in(self.open)} - self.sizes
        self.kept = self.sizes | self._written_by_alias() | inside_open
        self.spoken = self._names_used()

    # The conditions

    def found(
        self,
        open_checks: Iterable[OpenCheck],
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
        self._name(dtypes)
        params = tuple((n, self.text.param(n, entry.value, stays=n in self.open)) for n, entry in self.params.items())
        lost = self._lost(params)
        unsaid = self._unsaid(params, conds, lost)
        keeps_entry_check = all(map(self._can_be_said, unsaid))
        texts = [self.text.cond_text(c) for c in (*where, *unsaid) if self._can_be_said(c)]
        classes, says_all = self._dtype_conditions(dtypes)
        wheres = tuple(dict.fromkeys([*self._declared_where(lost), *texts, *classes]))
        complete = complete and says_all and keeps_entry_check
        name, result = f"@{self.function.name}", self._result(lost)
        # A declared result is checked, so it has to stay.
        keeps_all = keeps_entry_check and (
            result is not None or self.declared.result is None or _is_bare(self.declared.result)
        )
        return _Found(Demands(name, params, wheres, result, complete, self._place(), necessary), keeps_all)

    def _can_be_said(self, cond: Cond) -> bool:
        """Whether everything in a condition has a name in the signature."""
        inside = cond_variables(cond)
        return self.unsayable.isdisjoint(inside) and not (self.open and any(map(is_rank, inside)))

    def _lost(self, params: Iterable[tuple[str, str]]) -> set[str]:
        """The names that the declared types bind and the new signature does not."""
        said = set(names_in(*(text for param in params for text in param)))
        return self.text.names_in(self.params) - said

    def _unsaid(self, params: Iterable[tuple[str, str]], conds: Iterable[Cond], lost: set[str]) -> list[Cond]:
        """The conditions of the signature on sizes of types that are now written in another way, if the new types do not
        imply them."""
        changed = {
            v for name, text in params if not self.text.is_declared(name, text) for v in self.text.sizes_of(name)
        }
        wheres = [self._now(c) for c in self.entry_check if c not in self.entry_check_of_dims]
        said = Facts()
        for cond in (
            *map(self._now, conds),
            *(ge(self.text.write(d), 0) for d in self.dims),
            *(() if lost else wheres),
        ):
            said.assume(cond)
        asked = [c for c in map(self._now, self.entry_check_of_dims) if not changed.isdisjoint(cond_variables(c))]
        found: list[Cond] = []
        for cond in (*asked, *(wheres if lost else ())):
            if said.decide(cond).kind != "proved":
                said.assume(cond)
                found.append(cond)
        return found

    def _now(self, cond: Cond) -> Cond:
        """A condition in the sizes that the signature uses."""
        now = {v: self.text.write(self.state.settled(of_atom(v))) for v in cond_variables(cond)}
        return cond if isinstance(cond, bool) else substitute_cond(cond, now)

    def inputs(self) -> Inputs:
        inside = {v for d in self.dims for v in variables(d)}
        empties = {v for v in inside if any(substitute(d, {v: 0}) == 0 for d in self.dims)}
        return Inputs(inside | self.sizes, empties, self.entry_check)

    def _place(self) -> Span:
        """The place of the signature in the program: from the name to the body."""
        return self.declared.place or NOWHERE

    def _absorb(self, cond: Cond) -> bool:
        """Write a condition into the dimensions: a size that is another, a constant, a multiple. Return whether it fits
        there."""
        if isinstance(cond, bool) or all(is_rank(v) for v in cond_variables(cond)):
            return True
        if not isinstance(cond, Eq0):
            return False
        term = self.text.write(cond.term)
        if isinstance(term, int):
            return term == 0
        for variable in sorted(variables(term), key=self._least_wanted):
            solved = _solved_for(term, variable)
            if solved is not None and self._may_replace(variable):
                self.text.replace(variable, solved)
                return True
        return self._absorb_multiple(term)

    def _least_wanted(self, variable: Var) -> tuple[bool, bool, int]:
        named = variable.name.rstrip("'").isidentifier()
        return variable.name in self.spoken, named, -variable.serial

    def _may_replace(self, variable: Var) -> bool:
        """Whether a size may be replaced; one whose name the body uses keeps it, and so does a parameter of sort Size."""
        return variable.name not in self.spoken and variable not in self.kept

    def _absorb_multiple(self, term: Term) -> bool:
        """Write a dimension with `v % 4 == 0` as `m * 4`, if it has no name; return whether it was."""
        for variable in sorted(variables(term)):
            factor = _divisor(term, variable) if self._may_replace(variable) else None
            if factor is not None:
                quotient = self.state.size("?")
                if variable.name.isidentifier():
                    self.text.names[only_var(quotient)] = variable.name
                self.text.replace(variable, quotient * factor)
                return True
        return False

    # The words

    def _open_params(self) -> set[str]:
        """The parameters of unknown rank, and those that share a stretch of dimensions with one: their shapes stay as
        declared."""
        types = {name: self.text.declared_type(name) for name in self.params}
        stretches = {name: set(t.shape_names) if t is not None else set() for name, t in types.items()}
        found = {name for name, entry in self.params.items() if self._is_open(entry.value)}
        while True:
            shared = {s for name in found for s in stretches[name]}
            more = {name for name in self.params if stretches[name] & shared} - found
            if not more:
                return found
            found |= more

    def _stretches(self) -> Iterator[tuple[object, str]]:
        """The stretches of dimensions that the types of open parameters name: the s of `[*s, d]`. If a check makes several
        one, that of the declared result comes last."""
        named = list(self._named_stretches())
        yield from named
        result = self.declared.result
        yield from (found for found in named if result is not None and found[1] in result.shape_names)

    def _named_stretches(self) -> Iterator[tuple[object, str]]:
        for name in (n for n in self.params if n in self.open):
            declared, value = self.text.declared_type(name), self.params[name].value
            if declared is None or declared.kind != "tensor" or not isinstance(value, TensorInfo):
                continue
            found = [d.symbol for d in self.state.resolve(value.shape) if isinstance(d, Segment)]
            if len(found) == len(declared.shape_names) == 1:
                yield found[0], declared.shape_names[0]

    def _is_open(self, value: Value) -> bool:
        return any(isinstance(d, Segment) for t in tensors_in(value) for d in self.state.resolve(t.shape))

    def _written_by_alias(self) -> set[Var]:
        """The sizes in types that stay as declared."""
        types = {n: self.text.declared_type(n) for n in self.params}
        named = [self.params[n].value for n, t in types.items() if t is not None and t.kind == "name"]
        return {v for d in dims_of(named, self.state) for v in variables(d)}

    def _size_params(self) -> set[Var]:
        given = (self.state.settled(e.value.size) for e in self.params.values() if isinstance(e.value, SizeValue))
        return {v for size in given for v in variables(size)}

    def _result(self, lost: set[str]) -> str | None:
        """The result's type; None if only the run decides one of its sizes and nothing was declared."""
        declared = self.declared.result
        known = self.text.known(self.result, self.facts)
        if declared is None or _is_bare(declared) or not lost.isdisjoint(declared.names):
            return known
        return known if known is not None and self.text.written else declared.span.text

    def _declared_where(self, lost: set[str]) -> tuple[str, ...]:
        return tuple(c.span.text for c in self.declared.where if lost.isdisjoint(c.names))

    def _name(self, dtypes: Iterable[DTypeDemand]) -> None:
        """Name all sizes and dtypes in the signature."""
        inside = (v for d in self.dims for v in variables(self.text.write(d)) if v not in self.unsayable)
        self.text.name_dims(dict.fromkeys([*sorted(self.sizes), *inside]), self.spoken)
        self.text.name_dtypes(self.result, [self.state.dtype(demand.dtype) for demand in dtypes], self.spoken)

    def _names_used(self) -> frozenset[str]:
        """The names that a pasted signature has to keep: those in the body, in conditions, in types that stay as they are,
        and those only in the result."""
        if self.declared.used is None:
            return frozenset()
        types = [p.annotation for p in self.declared.params]
        kept = [t for t in types if t is not None and t.kind not in ("tensor", "tuple")]
        said = [n for t in kept for n in t.names] + [n for c in self.declared.where for n in c.names]
        if self.declared.result is not None:  # names from the parameters are written anew in it
            said += set(self.declared.result.names) - self.text.names_in(self.params)
        return frozenset({*self.declared.used, *said, *self.params})

    def _dtype_conditions(self, dtypes: Iterable[DTypeDemand]) -> tuple[list[str], bool]:
        """`d in numeric` for each dtype with a name; and whether all could be written."""
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


def _is_where(reason: object) -> bool:
    return isinstance(reason, core.Assert) and reason.origin.what == "where"


def _certain(dtypes: Iterable[DTypeDemand]) -> tuple[DTypeDemand, ...]:
    """The classes that are required whichever arms are taken."""
    found: dict[tuple[int, tuple[str, ...]], tuple[DTypeDemand, Cond]] = {}
    for demand in dtypes:
        key = (id(demand.dtype), demand.classes)
        _, covered = found.get(key, (demand, False))
        here = False if None in demand.path else all_of(*(c for c in demand.path if c is not None))
        found[key] = (demand, any_of(covered, here))
    return tuple(demand for demand, covered in found.values() if entails((), covered))


def _is_bare(type_: core.Annotation) -> bool:
    return type_.kind == "tensor" and type_.shape is None


def _solved_for(term: Term, variable: Var) -> Size | None:
    """The size that makes `term == 0`, if the variable occurs once, alone and with coefficient 1 or -1, and the size cannot
    be negative."""
    factor = term.mons.get((variable,), 0)
    if factor not in (1, -1) or sum(variable in variables(of_atom(a)) for mono in term.mons for a in mono) != 1:
        return None
    rest = of_atom(variable) - term if factor == 1 else of_atom(variable) + term
    if isinstance(rest, int):
        return rest if rest >= 0 else None
    return rest if all(k >= 0 for k in rest.mons.values()) else None


def _divisor(term: Term, variable: Var) -> int | None:
    """The k of `variable % k == 0`, if that is equivalent to `term == 0`."""
    for k in sorted({abs(f) for f in term.mons.values() if abs(f) > 1}):
        rest = mod(of_atom(variable), k)
        if eq(rest, 0) == eq(term, 0):
            return k
    return None
