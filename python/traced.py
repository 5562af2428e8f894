"""`rx.trace`: trace and check PyTorch code in this process; the result's signature follows from the code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..frontends.torch.arguments import DTYPES, UnreadInput, written
from ..lang.expressions import renamed, sizes_text
from ..lang.listing import shape_text
from ..model.block import block
from ..model.contract import SIZE, Contract, Demand, Shape, Typed
from ..pipeline import Report
from ..simplify.solver.numbers import holds_at, size_at
from ..simplify.solver.prove import prove
from .api import CheckError
from .inputs import annotated, promised
from .size import Size

if TYPE_CHECKING:
    from ..model.python import Answered

Dims = Sequence[int | str]


class NotExpected(AssertionError):
    """Raised, for pytest, if code does not accept all sizes that it was expected to accept."""


class Traced:
    """Traced PyTorch code: the `report` of its check, its `contract` (None if an error prevents it), its `signature`, and
    the `text` of the Rx program that was read. `str` is the report of `rx check`."""

    def __init__(self, name: str, args: Mapping[str, Any], found: Answered) -> None:
        self._name, self._args, self._found = name, args, found

    @property
    def report(self) -> Report:
        return self._found.found.report

    @property
    def contract(self) -> Contract | None:
        return self._found.found.contract

    @property
    def text(self) -> str:
        trace = self._found.found.trace
        return trace.text if trace is not None else ""

    @property
    def signature(self) -> str:
        """The signature in Rx; raises CheckError if there is none."""
        contract = self._accepted()
        params = ", ".join(f"{i.name} : {_type(i)}" for i in contract.inputs)
        results = [_type(o) for o in contract.outputs]
        result = results[0] if len(results) == 1 else f"({', '.join(results)})"
        where = ", ".join(_conditions(contract))
        return f"@{self._name} = fn({params}) : {result}" + (f" where {where}" if where else "")

    def shapes(self, **inputs: Dims | int | str) -> Any:
        """The shapes of the results for shapes of the inputs, whose sizes are numbers or names (`x=(2, "t")`, `n=3` for a
        Size); raises ValueError if they do not fit."""
        contract = self._accepted()
        sizes = _bound(contract, inputs)
        if all(isinstance(size, int) for size in sizes.values()):
            numbers = {name: size for name, size in sizes.items() if isinstance(size, int)}
            for text in _conditions(contract):
                if holds_at(text, numbers) is False:
                    raise ValueError(f"{self._name} needs {text}, and the sizes are {sizes_text(numbers)}")
        found = [tuple(_size(size, sizes) for size in _shape_at(o, sizes)) for o in contract.outputs]
        return found[0] if len(found) == 1 else tuple(found)

    def expect(self, *conditions: str) -> Traced:
        """Raise NotExpected if the code refuses some sizes that satisfy these conditions, CheckError if it never works."""
        contract = self._accepted()
        reasons = {c.condition: c.demands for c in contract.conditions}
        for text in _conditions(contract):
            said = prove(list(conditions), text)
            if said["result"] == "error":
                raise ValueError(f"{', '.join(conditions)}: {said['message']}")
            if said["result"] not in ("valid", "vacuous"):
                raise NotExpected(_narrower(self._name, text, reasons.get(text, ()), said))
        return self

    def _accepted(self) -> Contract:
        if self.contract is None or not self.report.ok:
            raise CheckError(self.report.diagnostics)
        return self.contract

    def __str__(self) -> str:
        lines = [] if self.contract is None else block(self._name, self.contract)
        return "\n".join((*lines, str(self.report)))

    def __repr__(self) -> str:
        return f"<rx trace {self.report.summary}>"


def trace(code: Callable[..., Any], /, **inputs: Any) -> Traced:
    """Trace a function or a module with symbolic sizes, and check it for all of them.

    Inputs are described as for `rx check --arg`, in texts, tuples, lists and dictionaries; other arguments are passed on
    unchanged. Inputs that annotations declare may be left out. The result has `report`, `contract`, `signature` and
    `text`. Raises ValueError for arguments that the code does not take.

    >>> import torch, rxlang as rx  # doctest: +SKIP
    >>> rx.trace(lambda x: x.flatten(1), x="float32[b, 3, h, w]").signature  # doctest: +SKIP
    """
    from ..frontends.torch import target as targets  # these load torch
    from ..model.asked import AskedOfPython
    from ..model.python import answer

    name = getattr(code, "__name__", type(code).__name__).strip("<>")
    try:
        target = promised(targets.targeted(name, code, {n: _value(n, v) for n, v in inputs.items()}, annotated))
    except (targets.Unloadable, UnreadInput) as wrong:
        raise ValueError(str(wrong)) from None
    return Traced(name, target.args, answer(target, AskedOfPython(), Path.cwd()))


def _value(name: str, value: Any) -> Any:
    """The input that a description stands for."""
    match value:
        case str() if value == "Size" or value.lstrip("([{").startswith(tuple(f"{d}[" for d in DTYPES)):
            [one] = written("--arg", f"{name}={value}")
            return one.value({})
        case dict():
            return {k: _value(name, v) for k, v in value.items()}
        case list() | tuple() if not hasattr(value, "_fields"):
            return type(value)(_value(name, v) for v in value)
    return value


def _conditions(contract: Contract) -> list[str]:
    """The conditions on the inputs, and the conditions of the path taken."""
    return [*(c.condition for c in contract.conditions), *contract.given]


def _type(value: Typed) -> str:
    return SIZE if value.dtype == SIZE else f"Tensor({shape_text(value.shape)}, {value.dtype or '?'})"


def _bound(contract: Contract, inputs: Mapping[str, Dims | int | str]) -> dict[str, int | str]:
    found: dict[str, int | str] = {}
    for value in contract.inputs:
        if value.name not in inputs:
            example = f"{value.name}=({', '.join(map(str, value.shape or ()))})"
            raise ValueError(f"the shape of `{value.name}` is not given: {example}")
        one = inputs[value.name]
        dims: tuple[int | str, ...] = (one,) if isinstance(one, int | str) else tuple(one)
        shape = value.shape or ()
        if len(dims) != len(shape):
            raise ValueError(f"`{value.name}` has {len(shape)} axes, and {len(dims)} sizes are given")
        for axis, (size, given) in enumerate(zip(shape, dims, strict=True)):
            wanted = size if isinstance(size, int) else found.setdefault(size, given)
            if wanted != given:
                raise ValueError(f"axis {axis} of `{value.name}` is {wanted}, and {given} is given")
    return found


def _shape_at(value: Typed, sizes: Mapping[str, int | str]) -> Shape:
    """The shape of a result for given sizes; if it has cases, the shape of the case that holds."""
    numbers = {name: size for name, size in sizes.items() if isinstance(size, int)}
    here = [case.shape for case in value.cases if case.when is not None and holds_at(case.when, numbers)]
    if value.cases and not here:
        cases = ", ".join(f"{shape_text(case.shape)} {case}" for case in value.cases)
        raise ValueError(f"the shape of {value.name} is in cases, so all sizes have to be numbers: {cases}")
    return here[0] if here else value.shape or ()


def _size(size: int | str, sizes: Mapping[str, int | str]) -> int | Size:
    numbers = {name: value for name, value in sizes.items() if isinstance(value, int)}
    number = size_at(size, numbers)
    if number is not None:
        return number
    return Size(renamed(str(size), {name: f"({value})" for name, value in sizes.items()}))


def _narrower(name: str, text: str, demands: Sequence[Demand], said: Mapping[str, Any]) -> str:
    why = f" ({demands[0].node}: {demands[0].needs})" if demands else ""
    witness = said.get("witness")
    fails = f": it fails at {sizes_text(witness)}" if witness else ""
    return f"{name} needs {text}{why}{fails}"


__all__ = ["NotExpected", "Traced", "trace"]
