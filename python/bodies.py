"""`rx.checked(..., body=True)`: prove once that the body of a PyTorch function keeps its signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..frontends.torch.arguments import DeclaredInput as Input
from ..lang import codes, sweet
from ..lang.diagnostics import Diagnostic, error
from ..lang.dtypes import DTYPES
from ..lang.expressions import names_in
from ..lang.files import line_at
from ..lang.given import Given, read_given
from ..lang.node import replace
from ..lang.source import Source, Span
from .api import CheckError
from .declared import DeclaredFunction, Unfit
from .entry_check import choices
from .notation import USUAL

if TYPE_CHECKING:
    from ..model.contract import Clause
    from ..model.python import Answered
    from ..model.traced import CheckedPython

_OF_AN_OBJECT = ("self", "cls")
BODIES: list[CheckedBody] = []
"""The functions whose bodies are to be proved, in the order of decoration."""


class Later:
    """Whether proofs wait until pytest has collected all tests."""

    is_asked = False


class CheckedBody:
    """A function whose body is proved to keep its signature: at the decoration if possible, else at the first call."""

    def __init__(self, function: Callable[..., Any], said: object, entry_check: Callable[..., Any]) -> None:
        if not isinstance(said, DeclaredFunction):
            raise Unfit("body=True needs one signature: sizes and dtypes of tensors, each a parameter of its own")
        self.function, self.said, self.entry_check = function, said, entry_check
        self.parameters = inspect.signature(function)
        self.inputs = dict(_inputs(said))
        self.proved: dict[object, tuple[str, ...]] = {}
        self.wrong: str | None = None
        BODIES.append(self)

    @property
    def needs_a_call(self) -> bool:
        """Whether it has parameters other than tensors, whose values only a call supplies."""
        others = [p for n, p in self.parameters.parameters.items() if n not in self.inputs]
        return any(p.default is p.empty for p in others)

    @property
    def entered(self) -> Callable[..., Any]:
        """The function; its first call proves the body unless it is already proved."""

        def function(*args: Any, **kwargs: Any) -> Any:
            others = self._others(args, kwargs)
            if _key(others) not in self.proved:
                self.prove(others)
            return self.entry_check(*args, **kwargs)

        return update_wrapper(function, self.entry_check)

    def begin(self) -> None:
        """Try the proof at the decoration; raises CheckError if the body contradicts the signature."""
        if not Later.is_asked and not self.needs_a_call:
            self.prove({}, is_whole=False)

    def prove(self, others: Mapping[str, Any], *, is_whole: bool = True) -> None:
        """Prove the body or raise CheckError; with `is_whole=False`, while the module is still incomplete, a trace that stops
        proves nothing."""
        left: list[str] = []
        for absent in choices(self.said.optional):
            found = self._answered(others, absent)
            checked = found.found
            if checked.trace is not None and checked.trace.stopped is not None and not is_whole:
                return
            wrong = [self._placed(d) for d in checked.report.diagnostics if d.severity == "error"]
            wrong = wrong or list(self._refused(checked))
            if wrong:
                problem = CheckError(wrong)
                self.wrong = str(problem)
                raise problem
            left += _left(found, self.said)
        self.proved[_key(others)] = tuple(dict.fromkeys(left))

    def _others(self, args: Any, kwargs: Any) -> dict[str, Any]:
        """The arguments that are not inputs."""
        try:
            given = self.parameters.bind(*args, **kwargs).arguments
        except TypeError:
            return {}  # the entry check says what is wrong
        return {n: v for n, v in given.items() if n not in self.inputs}

    def _answered(self, others: Mapping[str, Any], absent: frozenset[str]) -> Answered:
        from ..frontends.torch import target as targets  # these load torch
        from ..model.asked import AskedOfPython
        from ..model.python import answer
        from ..simplify.known.outcome import Options

        values = {n: None if n in absent else i for n, i in self.inputs.items()}
        values = {n: {**values, **others}[n] for n in self.parameters.parameters if n in values or n in others}
        target = targets.targeted(self.said.name, self.function, values)
        target = replace(target, promise=tuple(_promise(self.said)), ahead=tuple(self._ahead(values)))
        given = tuple(_given(self.said, target.sizes))
        return answer(target, AskedOfPython(), Path.cwd(), Options(given=given))

    def _ahead(self, values: Mapping[str, Any]) -> Iterator[str]:
        """The names of arguments passed by position, so that a parameter may have the same name as one of ours."""
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for name, param in self.parameters.parameters.items():
            if param.kind not in kinds or name not in values:
                return
            yield name

    def _refused(self, checked: CheckedPython) -> Iterator[Diagnostic]:
        """An error for each condition of the body that the signature does not state."""
        assert checked.contract is not None
        kept = _own_conditions(self.said)
        promised = len(list(_promise(self.said)))
        if promised and len(checked.contract.outputs) != promised:
            said = f"@{self.said.name} gives {len(checked.contract.outputs)} tensors, and its signature {promised}"
            yield error(codes.E302, said, self._span())
        for clause in checked.contract.conditions:
            if clause.condition not in kept:
                yield self._refusal(clause)

    def _refusal(self, clause: Clause) -> Diagnostic:
        reason = clause.demands[0] if clause.demands else None
        why = f": {reason.needs}" if reason is not None else ""
        said = f"the signature of @{self.said.name} accepts what its body refuses: it does not state {clause.condition}{why}"
        sizes = None if clause.witness is None else dict(clause.witness)
        span = line_at(reason.trace) if reason is not None and reason.trace else self._span()
        return error(codes.E302, said, span, witness=sizes)

    def _placed(self, said: Diagnostic) -> Diagnostic:
        """A diagnostic that belongs to no line of the body, such as one on a parameter that is returned, at the function's
        own line."""
        return said if said.span.source.text else replace(said, span=self._span(), labels=())

    def _span(self) -> Span:
        code = getattr(inspect.unwrap(self.function), "__code__", None)
        return line_at(f"{code.co_filename}:{code.co_firstlineno}") if code is not None else Span(Source("", ""), 0, 0)

    def __str__(self) -> str:
        return f"{self._span().source.name}:{self._span().line}: @{self.said.name}"


def _key(others: Mapping[str, Any]) -> object:
    """A key that is equal for other arguments with the same effect on the body."""
    plain = (bool, int, float, str, type(None))
    return tuple((n, v if isinstance(v, plain) else id(v)) for n, v in others.items())


def _left(found: Answered, said: DeclaredFunction) -> Iterator[str]:
    """The claims that are not proved, without being wrong."""
    contract = found.found.contract
    assert contract is not None
    yield from (f"{d.node}: {d.needs}" for d in contract.undecided if not d.is_of_elements)
    yield from (f"known where {text} only" for text in contract.given if text not in _own_conditions(said))
    yield from (str(d.message) for d in found.found.known_for)


# The signature's statements


def _inputs(said: DeclaredFunction) -> Iterator[tuple[str, Any]]:
    for param in said.fn.params:
        match param.type:
            case sweet.TensorType(shape=sweet.ListExpr(items=items), dtype=dtype):
                dims = [_dim(d, f"{param.name.name}_{n}") for n, d in enumerate(items)]
                yield param.name.name, Input(_dtype(said, dtype), tuple(dims))
            case sweet.NamedType(name="Size"):
                yield param.name.name, Input(None, (param.name.name,))
            case _:
                raise Unfit(f"body=True needs the rank and the sizes of `{param.name.name}`")


def _dim(dim: Any, name: str) -> int | str:
    match dim:
        case sweet.IntLit(value=value):
            return value
        case sweet.Unknown():
            return name
        case sweet.Splice() | sweet.Dots():
            raise Unfit("body=True needs the number of axes: `*` and `...` are any number")
        case _:
            return str(dim.span.text)


def _dtype(said: DeclaredFunction, dtype: Any) -> str:
    name = dtype.name if isinstance(dtype, sweet.Name) else "float32"
    if name in DTYPES:
        return name
    for item in said.fn.where:
        if isinstance(item, sweet.InClass) and item.item.span.text == name:
            first = item.choices[0].name
            return first if first in DTYPES else USUAL.get(first, "float32")
    return "float32"


def _promise(said: DeclaredFunction) -> Iterator[str]:
    """The types of the results."""
    result = said.fn.result
    if said.maybe or result is None:
        return
    for one in result.items if isinstance(result, sweet.TupleType) else (result,):
        if isinstance(one, sweet.TensorType) and one.shape is not None:
            yield f"Tensor({' '.join(one.shape.span.text.split())}, {_dtype(said, one.dtype)})"


def _own_conditions(said: DeclaredFunction) -> set[str]:
    return {" ".join(e.span.text.split()) for e in said.fn.where}


def _given(said: DeclaredFunction, sizes: tuple[str, ...]) -> Iterator[Given]:
    """The conditions on sizes after `where`."""
    for item in said.fn.where:
        text = " ".join(item.span.text.split())
        if not isinstance(item, sweet.InClass) and set(names_in(text)) <= set(sizes):
            yield read_given(f"@main: {text}")
