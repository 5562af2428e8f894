"""All functions of a program to core functions: each once, callees without an annotated result before their callers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..lang import codes, core
from ..lang.diagnostics import RxError
from ..lang.source import Span
from .code import Hooks
from .errors import Broken, fail
from .symbols import FnInfo, ImplsInfo, SymbolTable
from .wrapper import Wrapper


class Translator:
    """Translates each function of a program once, callees without an annotated result first."""

    def __init__(self, symbols: SymbolTable, hooks: Hooks) -> None:
        self.symbols, self.hooks = symbols, hooks
        self.busy = False

    def result(self, info: FnInfo, span: Span) -> core.Sort:
        """Return the sort of a function's result, read off its body if it is not annotated."""
        if info.result is not None:
            return info.result
        if info.state == "new" and not self.busy:
            for callee in self.in_order([info]):
                self.translate(callee)
        if info.state in ("new", "working"):  # all callees outside a cycle have been translated before
            fail(
                codes.E212,
                f"@{info.name} calls itself: its result has to be annotated",
                span,
                help=_recursion_help(info),
            )
        if info.result is None or info.state == "broken":
            raise Broken
        return info.result

    def translate(self, info: FnInfo) -> None:
        """Fill in `info.functions`."""
        if info.state != "new":
            return
        info.state, self.busy = "working", True
        try:
            info.functions = self.symbols.kept(info.decl, info.impl, partial(self._functions, info))
            info.state = "done"
        except RxError as problem:
            self.symbols.report(problem)
            info.state = "broken"
        self.busy = False

    def in_order(self, infos: list[FnInfo]) -> Iterator[FnInfo]:
        """Yield functions without an annotated result before their callers."""
        seen: set[str] = set()
        for info in infos:
            stack = [(info, iter(self._open_callees(info)))] if info.name not in seen else []
            seen.add(info.name)
            while stack:
                callee = next((c for c in stack[-1][1] if c.name not in seen), None)
                if callee is None:
                    yield stack.pop()[0]
                else:
                    seen.add(callee.name)
                    stack.append((callee, iter(self._open_callees(callee))))

    def _open_callees(self, info: FnInfo) -> list[FnInfo]:
        if info.decl.fn.body is None or self.symbols.is_head(info.decl):
            return []
        names = dict.fromkeys(self.symbols.spelt(info.decl)[1].functions)
        targets = (self.symbols.target(info.unit, n) for n in names)
        models = (t.model if isinstance(t, ImplsInfo) else t for t in targets)
        return [t for t in models if isinstance(t, FnInfo) and t.result is None and t.state == "new"]

    def _functions(self, info: FnInfo) -> tuple[core.Function, ...]:
        wrapper = Wrapper(info, self.hooks)
        if info.form == "extern" and info.decl.fn.body is None:
            return (wrapper.extern(),)
        if info.form != "sweet":
            return (wrapper.core_form(),)
        return wrapper.split() if info.split else (wrapper.whole(),)


def _recursion_help(info: FnInfo) -> str:
    return f"annotate the result: `@{info.decl.name.name} = fn(...) : Tensor([...], ...)`"
