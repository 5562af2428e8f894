"""Compose functions with entry checks: whether each result fits into the next function is decided once, for all sizes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from .. import pipeline
from ..fixes.signatures import signatures
from ..lang import core
from ..lang.checked import Binding, Checked, Demands
from ..lang.diagnostics import Diagnostic, Label
from ..lang.dtypes import CLASSES, DTYPES
from ..lang.node import replace
from .api import CheckError
from .declared import Unfit
from .entry_check import EntryCheck
from .forms import Forms
from .module import Function
from .residual import Check, residual_checks


class Link(NamedTuple):
    """A function in a row, under a unique name; `spread` is whether it takes the parts of a tuple as arguments."""

    entry_check: EntryCheck
    function: Callable[..., Any]
    name: str
    spread: bool = False

    @property
    def is_bare(self) -> bool:
        """Whether the function is the entry check itself; a wrapper may take and give other values than its signature
        says."""
        return getattr(self.function, "__func__", self.function) is self.entry_check.function

    def declaration(self, absent: frozenset[str]) -> str:
        """Its declaration as a line of a program."""
        _, function = self.entry_check.variant(absent)
        return f"extern @{self.name} {function.signature.partition(' ')[2]}"


class Chain:
    """Functions in a row: their common program, and the remaining checks."""

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        self.links = list(_links(functions))
        self.first = self.links[0].entry_check
        self.optional = self.first.optional
        self.name = "_then_".join(link.name for link in self.links)
        self.reports = {v.absent: self._report(self._program(v.absent)) for v in self.first.variants}
        plain = self.reports[frozenset()]
        if not plain.ok or plain.checked is None:
            raise CheckError([self._with_both(d, plain.checked) for d in plain.diagnostics if not d.code.is_quiet])

    def _with_both(self, said: Diagnostic, checked: Checked | None) -> Diagnostic:
        """An error where functions do not fit, with the result's type beside the parameter's."""
        spans = [said.span, *(label.span for label in said.labels)]
        lines = {span.line for span in spans}
        declared = {f.name: f.declaration for f in checked.program.functions} if checked is not None else {}
        labels = list(said.labels)
        for at, link in enumerate(self.links[:-1], 1):
            one = declared.get(link.name)
            if at not in lines and at + 1 in lines and one is not None and one.result is not None:
                labels.append(Label(one.result.span, f"@{link.name} gives this"))
        return replace(said, labels=tuple(labels))

    def _report(self, text: str) -> pipeline.Report:
        return pipeline.check_text(text, f"<{self.name}>", Path())

    # The program

    def _program(self, absent: frozenset[str], demands: Demands | None = None) -> str:
        """The program: the functions, and one that calls them in a row; with `demands`, its signature is that of the
        demands."""
        lines = [
            self.links[0].declaration(absent),
            *(link.declaration(frozenset(link.entry_check.optional)) for link in self.links[1:]),
        ]
        _, first = self.first.variant(absent)
        head = _parameters(first) if demands is None else str(demands).partition("= ")[2]
        return "\n".join([*lines, f"@{self.name} = {head} {{", *self._calls(first), "}", ""])

    def _calls(self, first: core.Function) -> Iterator[str]:
        """The nested calls; the parts of a tuple get the names of the parameters that they become."""
        given = ", ".join(p.name for p in first.params)
        for link in self.links[1:]:
            call = f"@{self.links[self.links.index(link) - 1].name}({given})"
            given = call
            if link.spread:
                given = ", ".join(f"{name}'" for name in _wanted(link.entry_check, link.function))
                yield f"  let ({given}) = {call}"
        yield f"  @{self.links[-1].name}({given})"

    def variant(self, absent: frozenset[str]) -> tuple[Checked, core.Function]:
        """The program, and its function that calls all others, for the case that the parameters in `absent` are None."""
        report = self.reports[absent]
        if report.checked is None:
            raise CheckError(report.diagnostics)
        return report.checked, next(f for f in report.checked.program.functions if f.name == self.name)

    # Known facts

    @cached_property
    def residual(self) -> tuple[Check, ...]:
        """The checks that remain."""
        return tuple(residual_checks(self.variant(frozenset())[1]))

    @cached_property
    def signature(self) -> str:
        """The signature that follows from the functions' signatures."""
        text = self._program(frozenset())
        [demands] = signatures(self._report(text), Path())
        if demands.result is None:
            report = self._report(self._program(frozenset(), demands))
            checked = report.checked
            shapes = (
                next((f for f in checked.shapes if f.name == f"@{self.name}"), None) if checked is not None else None
            )
            if report.ok and shapes is not None and shapes.result is not None:
                head, where, conditions = str(demands).partition(" where ")
                return f"{head} : {_type(shapes.result)}{where}{conditions}"
        return str(demands)

    # Running

    def made(self) -> Callable[..., Any]:
        """A function that calls them in a row; it skips each entry check that is proved to pass, but still checks the
        result."""
        first, *rest = [(link, self._entered(link, at)) for at, link in enumerate(self.links)]
        run = first[1]
        for link, step in rest:
            run = _spread(run, step) if link.spread else _nested(run, step)
        return _named(run, self)

    def _entered(self, link: Link, at: int) -> Callable[..., Any]:
        is_own = link.function is link.entry_check.function and self.links[at - 1].is_bare
        if at == 0 or not is_own:
            return link.function
        fits = all(self._fits(report, link) for report in self.reports.values())
        return link.entry_check.entered() if fits else link.function

    def _fits(self, report: pipeline.Report, link: Link) -> bool:
        """Whether the arguments of a function are proved to pass its entry check."""
        if not report.ok or report.checked is None:
            return False
        function = next(f for f in report.checked.program.functions if f.name == self.name)
        return not any(self._asks(check, link) for check in residual_checks(function))

    def _asks(self, check: Check, link: Link) -> bool:
        line = check.span.line
        return line == self.links.index(link) + 1 or line > len(self.links)


def compose(*functions: Callable[..., Any]) -> Callable[..., Any]:
    """`rx.compose(f, g)` is `g(f(...))`. Rx decides here, for all sizes, whether the result of `f` fits into `g`.

    Raises CheckError if it never does; `rx.signature(h).residual` has the checks that remain. A tuple enters a function
    of several parameters part by part.

    >>> import rxlang as rx
    >>> @rx.checked("fn(x : Tensor([n * 2], float32)) : Tensor([n], float32)")
    ... def half(x):
    ...     return x[::2]
    >>> str(rx.signature(rx.compose(half, half)))
    '@half_then_half_2 = fn(x : Tensor([n * 4], float32)) : Tensor([n], float32)'
    """
    if len(functions) < 2:
        raise TypeError("rx.compose takes two functions or more")
    return Chain(functions).made()


# The functions


def _links(functions: Sequence[Callable[..., Any]]) -> Iterator[Link]:
    before: EntryCheck | None = None
    taken: set[str] = set()
    for entry_check, function in _flat(functions):
        name = next(
            n
            for n in (entry_check.name, *(f"{entry_check.name}_{i}" for i in range(2, len(taken) + 3)))
            if n not in taken
        )
        taken.add(name)
        spread = before is not None and _is_spread(before, entry_check, function)
        yield Link(entry_check, function, name, spread)
        before = entry_check


def _flat(functions: Sequence[Callable[..., Any]]) -> Iterator[tuple[EntryCheck, Callable[..., Any]]]:
    for function in functions:
        entry_check = getattr(function, "__rx_entry_check__", None)
        if isinstance(entry_check, Chain):
            yield from ((link.entry_check, link.function) for link in entry_check.links)
        elif isinstance(entry_check, EntryCheck):
            yield entry_check, function
        else:
            name = getattr(function, "__name__", None) or repr(function)
            if isinstance(entry_check, Forms):
                raise Unfit(entry_check.unsigned)
            if isinstance(function, Function):
                raise TypeError(f"{name} is a program's function: a row is of those that rx.checked decorated")
            raise TypeError(f"{name} has no signature: decorate it with rx.checked")


def _parts(entry_check: EntryCheck) -> int:
    sort = entry_check.variants[0].function.result
    return len(sort.items) if isinstance(sort, core.TupleSort) else 1


def _is_spread(before: EntryCheck, entry_check: EntryCheck, function: Callable[..., Any]) -> bool:
    """Whether the parts of a tuple become the arguments, one each; raises Unfit if the result cannot fill the parameters."""
    if before.declared.maybe or before.variants[0].function.result is None:
        what = "may be None" if before.declared.maybe else "is not annotated"
        raise Unfit(f"the result of @{before.name} {what}: nothing says whether it fits into @{entry_check.name}")
    wanted = _wanted(entry_check, function)
    if len(wanted) == 1:
        return False
    if _parts(before) == len(wanted):
        return True
    raise Unfit(f"@{entry_check.name} takes {len(wanted)} arguments, and @{before.name} gives {_parts(before)}")


def _wanted(entry_check: EntryCheck, function: Callable[..., Any]) -> list[str]:
    """The parameters that another function's result fills; raises Unfit if a call needs more than these."""
    wanted = [n for n in entry_check.declared.params if n not in entry_check.optional]
    params = inspect.signature(function).parameters.values()
    positional = [p.name for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p.name for p in params if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if positional[: len(wanted)] != wanted or not set(needed) <= set(wanted):
        names = ", ".join(f"`{n}`" for n in dict.fromkeys([*wanted, *needed]))
        raise Unfit(f"@{entry_check.name} cannot be called with the result of another function alone: it needs {names}")
    return wanted


# Text


def _parameters(function: core.Function) -> str:
    """`fn(...) where ...` without the result, which follows from the calls, and without conditions on the result alone."""
    depth, text = 0, function.signature.partition("= ")[2]
    for at, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0 and sign == ")":
            text = text[: at + 1]
            break
    said = function.declaration
    if said is None or not said.where:
        return text
    bound = {name for p in said.params for name in (p.name, *(p.annotation.names if p.annotation is not None else ()))}
    own = {*said.result.names} - {*bound, *DTYPES, *CLASSES} if said.result is not None else set()
    where = ", ".join(w.span.text for w in said.where if own.isdisjoint(w.names))
    return f"{text} where {where}" if where else text


def _type(binding: Binding) -> str:
    """A type in Rx's notation."""
    if binding.items:
        return f"({', '.join(map(_type, binding.items))})"
    if binding.sort != "Tensor":
        return binding.sort
    shape = binding.open if binding.shape is None else f"[{', '.join(map(str, binding.shape))}]"
    return f"Tensor({shape}, {binding.dtype})"


# Calls


def _nested(first: Callable[..., Any], then: Callable[..., Any]) -> Callable[..., Any]:
    def composed(*args: Any, **named: Any) -> Any:
        return then(first(*args, **named))

    return composed


def _spread(first: Callable[..., Any], then: Callable[..., Any]) -> Callable[..., Any]:
    def composed(*args: Any, **named: Any) -> Any:
        return then(*first(*args, **named))

    return composed


def _named(run: Any, chain: Chain) -> Callable[..., Any]:
    last = chain.links[-1].entry_check.parameters
    run.__name__ = run.__qualname__ = chain.name
    first = inspect.signature(chain.links[0].function)
    run.__signature__ = first.replace(return_annotation=last.return_annotation)
    run.__doc__ = " then ".join(link.name for link in chain.links)
    run.__rx_entry_check__ = chain
    made: Callable[..., Any] = run
    return made
