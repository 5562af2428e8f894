"""Wrap a Python function in an entry check that checks its arguments and its result against a signature."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import update_wrapper
from itertools import combinations
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any, Protocol

import numpy as np

from .. import pipeline
from ..interp.shape_error import ShapeError
from ..lang import core
from ..lang.checked import Checked
from ..lang.dtypes import DTYPES
from ..lang.node import replace
from ..lang.walk import walk
from .api import CheckError
from .authority import Authority
from .declared import DeclaredFunction, Unfit
from .libraries import PREFIX, SHARED, take_up
from .module import Registry
from .residual import Check
from .text import CheckLine, Counted, Variant, listing, variant_lines

ENTRIES: Registry[EntryCheck] = Registry()
Lines = Sequence[Sequence[CheckLine]]


class EntryCheck:
    """A function with an entry check: its declaration, its programs, the lines of its checks."""

    def __init__(self, function: Callable[..., Any], declared: DeclaredFunction) -> None:
        self.target, self.declared, self.optional = function, declared, declared.optional
        self.parameters = _parameters(function, declared)
        absences = list(choices(declared.optional))
        plain = [_program(declared, absent) for absent in absences]
        self.programs = [_in_user_s_words(p, declared) for p in plain]
        found = zip(absences, self.programs, strict=True)
        self.variants = [Variant(absent, _function(program, declared), i) for i, (absent, program) in enumerate(found)]
        pairs = zip(self.programs, self.variants, plain, strict=True)
        self.authorities = [Authority(p, v.function, _function(q, declared), declared.derived) for p, v, q in pairs]
        self.lines = self._lines(decided=False)
        self.function = self._made(self.lines)
        # The compiled functions with their lines; counting rewrites all of them.
        self.copies = [(self.function, self.lines)]
        ENTRIES.add(self)

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def signature(self) -> str:
        return self.variants[0].function.signature

    @property
    def file(self) -> str | None:
        """The file where the function is defined."""
        code = getattr(inspect.unwrap(self.target), "__code__", None)
        return None if code is None else code.co_filename

    @property
    def residual(self) -> tuple[Check, ...]:
        """The remaining checks between functions: none for a single function."""
        return ()

    def variant(self, absent: frozenset[str]) -> tuple[Checked, core.Function]:
        """The program, and the declared function in it, for the case that the parameters in `absent` are None."""
        found = next(v for v in self.variants if v.absent == absent)
        return self.programs[found.place], found.function

    def entered(self) -> Callable[..., Any]:
        """The function for callers whose arguments are known to fit: only its result is checked."""
        lines = self._lines(decided=True)
        self.copies.append((self._made(lines), lines))
        ENTRIES.told(self)
        return self.copies[-1][0]

    def _lines(self, *, decided: bool) -> Lines:
        call, maybe = call_of(self.parameters), self.declared.maybe
        return [variant_lines(v, call, result_may_be_none=maybe, decided=decided) for v in self.variants]

    def _made(self, lines: Lines) -> Callable[..., Any]:
        return finished(self._compiled(self.text(lines)), self)

    def _compiled(self, text: str) -> Any:
        return compiled(text, self, (self._refuse, self._reject, self._tell))

    def text(self, lines: Lines, counted: Counted | None = None) -> str:
        """The entry check as Python text."""
        body: list[str] = []
        for variant, own in reversed(list(zip(self.variants, lines, strict=True))):
            if variant.absent:
                tests = " and ".join(f"{n} is None" for n in self.optional if n in variant.absent)
                body.append(f"        if {tests}:")
            body += listing(own, 3 if variant.absent else 2, counted)
        return written(self.parameters, ("refuse", "reject", "tell"), body)

    def every_check(self) -> Iterator[core.Assert | core.MatchShape]:
        """The checks of all lines of all copies."""
        for _, lines in self.copies:
            yield from (line.reached for own in lines for line in own if line.reached is not None)

    def rewrite(self, counted: Counted | None) -> None:
        """Count the checks from now on; stop counting if `counted` is None."""
        for function, lines in self.copies:
            function.__code__ = self._compiled(self.text(lines, counted)).__code__

    def _refuse(self, variant: int, args: Sequence[Any]) -> None:
        __tracebackhide__ = True
        with refusing():
            self.authorities[variant].refuse(args)

    def _reject(self, variant: int, args: Sequence[Any], result: Any) -> None:
        __tracebackhide__ = True
        with refusing():
            self.authorities[variant].reject(args, result)

    def _tell(self, problem: BaseException, variant: int, seen: Mapping[str, Any]) -> None:
        authority = self.authorities[variant]
        tell(problem, lambda: authority.note(authority.seen(seen)))


# A refusal by the entry check ends the traceback at the call; an exception raised in the function gets a note.
_REFUSED = "_rx_refused"


@contextmanager
def refusing() -> Iterator[None]:
    """Mark each ShapeError raised here as a refusal by the entry check."""
    __tracebackhide__ = True
    try:
        yield
    except ShapeError as problem:
        vars(problem)[_REFUSED] = True
        raise


def tell(problem: BaseException, note: Callable[[], str]) -> None:
    """Remove the entry check's frames from its own refusal; add the note, once, to any other exception."""
    if vars(problem).pop(_REFUSED, False):
        problem.__traceback__ = None
    elif (text := note()) and text not in getattr(problem, "__notes__", ()):
        with suppress(TypeError):  # its notes are not a list
            problem.add_note(text)


# An entry check as Python


class Owner(Protocol):
    """The owner of an entry check: the checked function, and its parameters."""

    target: Callable[..., Any]
    parameters: inspect.Signature

    @property
    def name(self) -> str: ...


def written(parameters: inspect.Signature, helpers: Sequence[str], body: Sequence[str]) -> str:
    """The Python text of a function that makes the entry check from the checked function and the helpers."""
    given = ", ".join(f"{PREFIX}{name}" for name in ("target", *helpers))
    return "\n".join(
        [f"def make({given}):", f"    def entry_check{_head(parameters)}:", *body, "    return entry_check", ""]
    )


def compiled(text: str, owner: Owner, helpers: Sequence[Callable[..., Any]]) -> Any:
    space: dict[str, Any] = {}
    exec(compile(text, f"<entry check of {owner.name}>", "exec"), SHARED, space)
    return space["make"](owner.target, *map(_unseen, helpers))


def finished(entry_check: Any, owner: Owner) -> Callable[..., Any]:
    """An entry check that looks like the checked function."""
    take_up()
    update_wrapper(entry_check, owner.target)
    defaults = [p for p in owner.parameters.parameters.values() if p.default is not p.empty]
    entry_check.__defaults__ = tuple(p.default for p in defaults if p.kind is not p.KEYWORD_ONLY) or None
    entry_check.__kwdefaults__ = {p.name: p.default for p in defaults if p.kind is p.KEYWORD_ONLY} or None
    entry_check.__rx_entry_check__ = owner
    made: Callable[..., Any] = entry_check
    return made


def _unseen(action: Callable[..., Any]) -> Callable[..., Any]:
    """A function that a compiler does not look into; in PyTorch's a graph ends there."""

    def unseen(*args: Any) -> Any:
        __tracebackhide__ = True
        torch = sys.modules.get("torch")
        return action(*args) if torch is None else torch.compiler.disable(action)(*args)

    unseen._torchdynamo_disable = True  # type: ignore[attr-defined]
    unseen.__code__ = unseen.__code__.replace()  # the compiler limits continuations per code object: each has its own
    return unseen


def choices(optional: Sequence[str]) -> Iterator[frozenset[str]]:
    """Each set of parameters that may be None at once; the empty set first."""
    for count in range(len(optional) + 1):
        yield from map(frozenset, combinations(optional, count))


def _program(declared: DeclaredFunction, absent: frozenset[str]) -> Checked:
    """The declaration as a checked program; raises CheckError if it is wrong."""
    source = declared.program(absent)
    report = pipeline.check_source(source, Path())
    source.show()
    if not report.ok or report.checked is None:
        if absent:
            names = " and ".join(f"`{n}`" for n in sorted(absent))
            why = "; ".join(d.message for d in report.diagnostics if d.severity == "error")
            raise Unfit(f"@{declared.name} cannot be checked without {names}: {why}")
        derived = declared.derived
        raise CheckError(report.diagnostics if derived is None else derived.moved(tuple(report.diagnostics)))
    return report.checked


def _in_user_s_words(checked: Checked, declared: DeclaredFunction) -> Checked:
    if declared.derived is None:
        return checked
    program = declared.derived.moved(checked.program, _function(checked, declared))
    return replace(checked, program=program)


def _function(checked: Checked, declared: DeclaredFunction) -> core.Function:
    found = next(f for f in checked.program.functions if f.name == declared.name and f.kind == "extern")
    asked = (n.dtype.name for n in walk(found.checks, found.promises) if isinstance(n, core.DTypeLit))
    for name in asked:
        if name not in DTYPES:
            raise Unfit(f"@{declared.name} speaks of `{name}`, which is no array: an entry check knows arrays alone")
    return found


# Parameters and arguments as text


def _parameters(function: Callable[..., Any], declared: DeclaredFunction) -> inspect.Signature:
    """The parameters of the entry check: the function's own. A function not written in Python (a ufunc) may treat an explicit
    default differently from an omitted argument, so arguments that the signature leaves out are passed on only if they are
    given."""
    found = inspect.signature(function)
    params = list(found.parameters.values())
    if not isinstance(function, np.ufunc | BuiltinFunctionType) or any(p.kind is p.VAR_KEYWORD for p in params):
        return found
    kept = [p for p in params if p.kind is not p.KEYWORD_ONLY or p.default is p.empty or p.name in declared.params]
    others = inspect.Parameter(f"{PREFIX}named", inspect.Parameter.VAR_KEYWORD)
    return found if len(kept) == len(params) else found.replace(parameters=[*kept, others])


def _head(signature: inspect.Signature) -> str:
    """The parameters; their defaults are set afterwards."""
    params = []
    for param in signature.parameters.values():
        default = inspect.Parameter.empty if param.default is param.empty else None
        params.append(param.replace(annotation=param.empty, default=default))
    return str(signature.replace(parameters=params, return_annotation=inspect.Signature.empty))


def call_of(signature: inspect.Signature) -> str:
    args = []
    for name, param in signature.parameters.items():
        match param.kind:
            case param.KEYWORD_ONLY:
                args.append(f"{name}={name}")
            case param.VAR_POSITIONAL:
                args.append(f"*{name}")
            case param.VAR_KEYWORD:
                args.append(f"**{name}")
            case _:
                args.append(name)
    return f"{PREFIX}target({', '.join(args)})"
