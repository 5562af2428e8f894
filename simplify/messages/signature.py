"""A function's signature as text: the types of its parameters and its conditions, with a name for every size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ...lang import core
from ...ops.model import AnyDType, DTypeSymbol, Segment, TensorInfo
from ..known.fresh import dims_of
from ..known.state import State
from ..known.values import Env, TupleValue, Value, tensors_in
from ..solver.conditions import Cond, cond_variables, render_cond, substitute_cond
from ..solver.facts import Facts
from ..solver.rendering import render
from ..solver.shorter import lighter
from ..solver.terms import Size, Var, of_atom, substitute, variables
from .describe import dtype_text

_LETTERS = ("n", "m", "k", "p", "q", "r", "s", "t", "u", "v", "w")
# Longer sizes are not readable.
_LONGEST = 72
_DTYPE_LETTERS = ("d", "e", "dtype")


class SignatureText:
    """Writes a function's parameters when more is known of them than is `declared`. `written` maps sizes to sizes that
    replace them, `names` the remaining ones to names; `stretches` has the names of stretches of dimensions."""

    def __init__(self, params: Env, declared: core.Declaration, state: State) -> None:
        self.params, self.declared, self.state = params, declared, state
        self.written: dict[Var, Size] = {}
        self.names: dict[Var, str] = {}
        self.stretches: dict[object, str] = {}

    # Sizes

    def replace(self, variable: Var, size: Size) -> None:
        self.written = {v: substitute(s, {variable: size}) for v, s in self.written.items()}
        self.written[variable] = size

    def write(self, size: Size) -> Size:
        return substitute(size, self.written) if self.written else size

    # Declared types

    def sizes_of(self, name: str) -> set[Var]:
        """The sizes in a parameter's type, as currently written."""
        return {v for d in dims_of((self.params[name].value,), self.state) for v in variables(self.write(d))}

    def declared_type(self, name: str) -> core.Annotation | None:
        return next((p.annotation for p in self.declared.params if p.name == name), None)

    def names_in(self, params: Iterable[str]) -> set[str]:
        """The names in the declared types of some parameters."""
        types = map(self.declared_type, params)
        return {n for t in types if t is not None for n in (*t.names, *t.shape_names)}

    def is_declared(self, name: str, text: str) -> bool:
        declared = self.declared_type(name)
        if declared is not None and declared.shape is not None:
            return text.startswith(f"Tensor({declared.shape.span.text}")
        return declared is not None and text.startswith(declared.span.text)

    # Names

    def name_dims(self, every: Collection[Var], spoken: Collection[str]) -> None:
        """Give every size of the signature a name: its own, or an unused letter outside `spoken`."""
        bound = set(self.declared.bound)
        taken = {*spoken, *bound, *self.names_in(self.params)}
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

    def name_dtypes(self, result: Value | None, asked: Collection[AnyDType], spoken: Collection[str]) -> None:
        """Keep the written name of a dtype. Give a letter to a dtype without a name that two parameters share, that the
        result takes over, or that is in `asked`, and to one whose name is taken."""
        found = self._dtypes_of(*(e.value for e in self.params.values()), result)
        named = dict(reversed(list(self._declared_dtypes(result))))
        taken = {*spoken, *self.names.values(), *named.values()}
        for symbol in found:
            if not isinstance(symbol, DTypeSymbol):
                continue
            name = named.get(symbol, self.state.called(symbol))
            is_nameless = not name.isidentifier()
            if is_nameless and found.count(symbol) == 1 and symbol not in asked:
                continue
            if is_nameless or (symbol not in named and name in taken):
                name = next(n for n in _letters(_DTYPE_LETTERS) if n not in taken)
            named[symbol] = name
            taken.add(name)
            self.state.call(symbol, name)

    def _declared_dtypes(self, result: Value | None) -> Iterator[tuple[DTypeSymbol, str]]:
        """The dtypes written with a name, those of parameters first."""
        typed = [(self.declared_type(name), entry.value) for name, entry in self.params.items()]
        typed += [] if result is None else [(self.declared.result, result)]
        while typed:
            declared, value = typed.pop(0)
            if declared is not None and isinstance(value, TupleValue):
                typed += zip(declared.items, value.items, strict=False)
            elif declared is not None and declared.dtype is not None and isinstance(value, TensorInfo):
                name, known = declared.dtype.span.text, None if value.dtype is None else self.state.dtype(value.dtype)
                if name in declared.names and isinstance(known, DTypeSymbol):
                    yield known, name

    def _dtypes_of(self, *values: Value | None) -> list[AnyDType]:
        return [self.state.dtype(t.dtype) for t in tensors_in(*values) if t.dtype is not None]

    # Texts

    def _text(self, size: Size) -> str:
        size = self.write(size)
        named = {v: of_atom(Var(self.names.get(v, v.name), v.serial, v.nonneg)) for v in variables(size)}
        return render(substitute(size, named))

    def cond_text(self, cond: Cond) -> str:
        assert not isinstance(cond, bool)
        cond = substitute_cond(cond, self.written)
        if isinstance(cond, bool):
            return str(cond).lower()
        named = {v: of_atom(Var(self.names.get(v, v.name), v.serial, v.nonneg)) for v in cond_variables(cond)}
        return render_cond(substitute_cond(cond, named))

    def param(self, name: str, value: Value, *, stays: bool) -> str:
        """The type of a parameter, and its default value if it has one."""
        default = next((p.default for p in self.declared.params if p.name == name), None)
        text = self._type(self.declared_type(name), value, stays=stays)
        return text if default is None else f"{text} = {default.span.text}"

    def _type(self, declared: core.Annotation | None, value: Value, *, stays: bool) -> str:
        """The type as declared if nothing new is known of it."""
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
        """Whether the annotation already gives every dimension its name or value."""
        said = declared.names
        dtype = dtype_text(value.dtype, self.state)
        if (
            dtype != "?"
            and dtype not in said
            and not (declared.dtype is not None and dtype in declared.dtype.span.text)
        ):
            return False
        if declared.shape_names and not any(isinstance(d, Segment) for d in self.state.resolve(value.shape)):
            return False  # their number is known now
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

    def known(self, value: Value | None, facts: Facts) -> str | None:
        """The type of a value if all its sizes have names, else None."""
        if isinstance(value, TupleValue):
            parts = [self.known(item, facts) for item in value.items]
            return None if None in parts else f"({', '.join(p for p in parts if p is not None)})"
        if not isinstance(value, TensorInfo) or value.dtype is None:
            return None
        shape = self.state.resolve(value.shape)
        if any(isinstance(d, Segment) and d.symbol not in self.stretches for d in shape):
            return None
        shape = tuple(d if isinstance(d, Segment) else lighter(facts, d) for d in shape)
        inside = [v for d in shape if not isinstance(d, Segment) for v in variables(self.write(d))]
        if any(v not in self.names for v in inside) or any(len(self._dim(d)) > _LONGEST for d in shape):
            return None
        return self._tensor(TensorInfo(shape, value.dtype))


def _tensor_text(shape: str, dtype: str) -> str:
    if (shape, dtype) == ("?", "?"):
        return "Tensor"
    return f"Tensor({shape})" if dtype == "?" else f"Tensor({shape}, {dtype})"


def _letters(letters: tuple[str, ...]) -> Iterator[str]:
    return (f"{letter}{i or ''}" for i in range(100) for letter in letters)
