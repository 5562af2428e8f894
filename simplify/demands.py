"""What a function demands of its inputs: the checks that stay open in its body, as a signature that makes them hold.

Before and after: `@ff = fn(x : Tensor([?, ?], int8))` whose body reshapes `x` to `[x.dim(0), x.dim(1) // 4, 4]` gets the
signature `@ff = fn(x : Tensor([n, m * 4], int8))`. Every open check on a path that is always taken is necessary for the
function to succeed, and all of them together are sufficient: so what is found is the weakest condition, unless something
was left out because only the data decides it (`complete` is False then).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..lang import core, sweet
from ..lang.checked import Demands
from ..lang.dtypes import DTYPES, DType
from ..ops.model import Segment, TensorInfo
from .conditions import Cond, Eq0, cond_variables, eq, render_cond, substitute_cond
from .describe import dtype_text
from .facts import Facts
from .rendering import render
from .sizes import as_term, only_var
from .state import State
from .terms import Size, Term, Var, mod, of_atom, substitute, variables
from .values import AnyDType, DTypeSymbol, Entry, Env, TupleValue, Value

_LETTERS = ("n", "m", "k", "p", "q", "r", "s", "t", "u", "v", "w")


class Demand:
    """One open check: its condition (None where it cannot be said), and the conditions of the arms that it stands in."""

    __slots__ = ("cond", "path")

    def __init__(self, cond: Cond | None, path: tuple[Cond | None, ...]) -> None:
        self.cond = cond
        self.path = path


def demands(
    function: core.Function,
    params: Env,
    result: Entry | None,
    state: State,
    door: tuple[Cond, ...],
    open_checks: Iterable[Demand],
    dtypes: Iterable[tuple[AnyDType, tuple[str, ...]]],
) -> Demands:
    """The signature of a function with what its body demands. `door` is what the signature says already."""
    return _Signature(function, params, state, door).found(open_checks, dtypes, result)


class _Signature:
    def __init__(self, function: core.Function, params: Env, state: State, door: tuple[Cond, ...]) -> None:
        self.function = function
        self.params = params
        self.state = state
        self.facts = Facts()
        self.door = door
        for cond in door:
            self.facts.assume(cond)
        self.spoken = _names_used(function)
        self.written: dict[Var, Size] = {}
        self.names: dict[Var, str] = {}
        self.entry = {v for d in self._dims() for v in variables(d)} | self._size_params()

    # The conditions

    def found(
        self,
        open_checks: Iterable[Demand],
        dtypes: Iterable[tuple[AnyDType, tuple[str, ...]]],
        result: Entry | None,
    ) -> Demands:
        complete = True
        where: list[Cond] = []
        for demand in open_checks:
            cond = self._sayable(demand)
            if cond is None:
                complete = False
            elif cond is not True and self.facts.decide(cond).kind != "proved":
                self.facts.assume(cond)
                if not self._absorb(cond):
                    where.append(cond)
        where = _needed(where, self.door)
        self._name_dims()
        texts = [self._cond_text(c) for c in where]
        classes, says_all = self._dtype_conditions(dtypes)
        return Demands(
            f"@{self.function.name}",
            tuple((name, self._type(name, entry.value)) for name, entry in self.params.items()),
            tuple(dict.fromkeys([*self._declared_where(), *texts, *classes])),
            None if result is None else self._result(result.value),
            complete and says_all,
        )

    def _sayable(self, demand: Demand) -> Cond | None:
        """The condition over the sizes that come in, where it can be said and its place is always reached."""
        if demand.cond is None or demand.path:
            return None
        cond = without_empty(self._settled(demand.cond))
        if isinstance(cond, bool):
            return cond
        return cond if all(v in self.entry or self._is_rank(v) for v in cond_variables(cond)) else None

    def _settled(self, cond: Cond) -> Cond:
        if isinstance(cond, bool):
            return cond
        return substitute_cond(cond, {v: self.state.settled(as_term(v)) for v in cond_variables(cond)})

    def _is_rank(self, variable: Var) -> bool:
        return variable.name.endswith(".rank")

    def _absorb(self, cond: Cond) -> bool:
        """Whether the condition goes into the dimensions themselves: a size that is another, a constant, a multiple."""
        if isinstance(cond, bool):
            return True
        if all(self._is_rank(v) for v in cond_variables(cond)):
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
        return variable.name not in self.spoken and variable not in self._size_params()

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

    def _dims(self) -> Iterator[Size]:
        for entry in self.params.values():
            for value in _tensors(entry.value):
                yield from (d for d in self.state.resolve(value.shape) if not isinstance(d, Segment))

    def _size_params(self) -> set[Var]:
        from_sizes = (getattr(e.value, "size", 0) for e in self.params.values())
        return {v for s in from_sizes for v in variables(s)}

    def _name_dims(self) -> None:
        """Every size of the signature gets a name: its own, or a letter that nothing else has."""
        taken = set(self.spoken)
        every = dict.fromkeys(v for d in self._dims() for v in variables(self._write(d)))
        for variable in every:
            name = self.names.get(variable, variable.name)
            if name.rstrip("'").isidentifier():
                taken.add(name)
                self.names[variable] = name
        letters = (f"{letter}{i or ''}" for i in range(100) for letter in _LETTERS)
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

    def _type(self, name: str, value: Value) -> str:
        declared = self._declared_type(name)
        if isinstance(value, TensorInfo) and (declared is None or isinstance(declared, sweet.TensorType)):
            return self._tensor(value)
        return declared.span.text if declared is not None else "Tensor"

    def _tensor(self, value: TensorInfo) -> str:
        parts = []
        for part in self.state.resolve(value.shape):
            if isinstance(part, Segment):
                known = part.symbol.name.isidentifier() and part.symbol.name not in self.params
                parts.append(f"*{part.symbol.name}" if known else "...")
            else:
                parts.append(self._text(part))
        dtype = dtype_text(value.dtype, self.state)
        shape = "?" if parts == ["..."] else f"[{', '.join(parts)}]"
        if (shape, dtype) == ("?", "?"):
            return "Tensor"
        return f"Tensor({shape})" if dtype == "?" else f"Tensor({shape}, {dtype})"

    def _result(self, value: Value) -> str | None:
        """The result's type; None where a size of it only the run decides and nothing was declared."""
        fn = self.function.origin.fn if self.function.origin is not None else None
        if fn is not None and fn.result is not None and not _is_bare(fn.result):
            return self._declared_result(fn.result, value)
        if isinstance(value, TensorInfo):
            shape = self.state.resolve(value.shape)
            inside = [v for d in shape if not isinstance(d, Segment) for v in variables(self._write(d))]
            if any(isinstance(d, Segment) for d in shape) or any(v not in self.names for v in inside):
                return None
            return self._tensor(value)
        return None

    def _declared_result(self, declared: sweet.Type, value: Value) -> str:
        if self.written and isinstance(value, TensorInfo):
            shape = self.state.resolve(value.shape)
            inside = [v for d in shape if not isinstance(d, Segment) for v in variables(self._write(d))]
            if not any(isinstance(d, Segment) for d in shape) and all(v in self.names for v in inside):
                return self._tensor(value)
        return declared.span.text

    def _declared_type(self, name: str) -> sweet.Type | None:
        if self.function.origin is None:
            return None
        return next((p.type for p in self.function.origin.fn.params if p.name.name == name), None)

    def _declared_where(self) -> tuple[str, ...]:
        return tuple(c.span.text for c in self.function.origin.fn.where) if self.function.origin is not None else ()

    def _dtype_conditions(self, dtypes: Iterable[tuple[AnyDType, tuple[str, ...]]]) -> tuple[list[str], bool]:
        """`d in numeric` for a dtype that has a name; whether all could be said."""
        texts, complete = [], True
        for dtype, names in dtypes:
            known = self.state.dtype(dtype)
            if isinstance(known, DType):
                continue
            if isinstance(known, DTypeSymbol) and known.name.isidentifier():
                single = len(names) == 1 and names[0] not in DTYPES
                texts.append(f"{known.name} in {names[0]}" if single else f"{known.name} in {{{', '.join(names)}}}")
            else:
                complete = False
        return texts, complete


def without_empty(cond: Cond) -> Cond:
    """`n * p == 0` as `p == 0`: that it also holds for n = 0, where a tensor has no elements, nobody asks for."""
    if not isinstance(cond, Eq0):
        return cond
    monos = list(cond.term.mons)
    shared = [a for a in monos[0] if isinstance(a, Var) and a.nonneg and all(a in mono for mono in monos)]
    if not shared:
        return cond
    rest: Size = 0
    for mono, factor in cond.term.mons.items():
        left = list(mono)
        left.remove(shared[0])
        part: Size = factor
        for atom in left:
            part = part * of_atom(atom)
        rest = rest + part
    return without_empty(eq(rest, 0))


def _needed(conds: list[Cond], door: tuple[Cond, ...]) -> list[Cond]:
    """The conditions without those that the others entail."""
    kept = list(conds)
    for cond in conds:
        others = [c for c in kept if c is not cond]
        facts = Facts()
        for known in (*door, *others):
            facts.assume(known)
        if facts.decide(cond).kind == "proved":
            kept = others
    return kept


def _tensors(value: Value) -> Iterator[TensorInfo]:
    if isinstance(value, TensorInfo):
        yield value
    elif isinstance(value, TupleValue):
        for item in value.items:
            yield from _tensors(item)


def _names_used(function: core.Function) -> frozenset[str]:
    """The names that the body itself uses: a pasted signature has to keep them."""
    if function.origin is None or function.origin.fn.body is None:
        return frozenset()
    found: set[str] = set()
    stack: list[object] = [function.origin.fn.body, *function.origin.fn.where]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(node)
        elif isinstance(node, sweet.Name):
            found.add(node.name)
        elif hasattr(node, "_compared"):
            stack.extend(getattr(node, f) for f in node._compared)
    return frozenset(found)


def _is_bare(type_: sweet.Type) -> bool:
    return isinstance(type_, sweet.TensorType) and type_.shape is None


def _solved_for(term: Term, variable: Var) -> Size | None:
    """The size that makes `term == 0`, where the variable occurs once, alone and with coefficient 1 or -1, and the size
    cannot be negative."""
    factor = term.mons.get((variable,), 0)
    if factor not in (1, -1) or sum(variable in variables(of_atom(a)) for mono in term.mons for a in mono) != 1:
        return None
    rest = as_term(variable) - term if factor == 1 else as_term(variable) + term
    if isinstance(rest, int):
        return rest if rest >= 0 else None
    return rest if all(k >= 0 for k in rest.mons.values()) else None


def _divisor(term: Term, variable: Var) -> int | None:
    """The k of `variable % k == 0`, if the term says just that."""
    for k in sorted({abs(f) for f in term.mons.values() if abs(f) > 1}):
        rest = mod(as_term(variable), k)
        if eq(rest, 0) == eq(term, 0):
            return k
    return None
