"""`%%rx` and `%rx` for IPython: make a cell's program a module in the notebook, and show shapes of such modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from IPython.core.error import UsageError

from ..lang.checked import FunctionShapes
from ..lang.display import Displayed
from ..lang.listing import listing
from ..lang.node import Node
from ..lang.styled import Line, said
from ..python.api import Function, Module
from .cells import DEFAULT_NAME, Misused, Ran, run_cell, words_of

USAGE = f"""%%rx [NAME] [--strict] [--allow-empty] [--allow-extern] [--given "@F: CONDITION"] [--root DIR]
    the cell is a program; its functions are those of the module NAME ({DEFAULT_NAME})
%rx shapes [F]   what is known of each binding of a function (f, NAME.f), or of all functions of a module (NAME)
%rx check [NAME] what was said of a cell's program, once more"""


class Listings(Displayed, Node):
    """The tables of bindings of some functions."""

    functions: tuple[FunctionShapes, ...]

    def _lines(self) -> list[Line]:
        return said("\n\n".join(map(listing, self.functions)) or "no functions")


def register(shell: Any) -> None:
    """Register the line and cell magic `rx` in an IPython shell."""
    shell.register_magic_function(Magic(shell), magic_kind="line_cell", magic_name="rx")


class Magic:
    """The magic of one shell, with the programs of its cells; the last one is the default."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._cells: dict[str, Ran] = {}
        self.__doc__ = USAGE

    def __call__(self, line: str, cell: str | None = None) -> None:
        try:
            self._show(self._asked(*words_of(line)) if cell is None else self._ran(line, cell))
        except Misused as problem:
            raise UsageError(str(problem)) from None

    def _show(self, value: Displayed) -> None:
        self._shell.display_pub.publish(value._repr_mimebundle_())

    def _ran(self, line: str, text: str) -> Ran:
        """Store a cell's program under its name. A module from an earlier version of the cell is removed if the new one
        fails, so that nobody calls outdated code."""
        ran = run_cell(line, text)
        before, names = self._cells.pop(ran.name, None), self._shell.user_ns
        if ran.module is not None:
            self._shell.push({ran.name: ran.module})
        elif before is not None and before.module is not None and names.get(ran.name) is before.module:
            del names[ran.name]
        self._cells[ran.name] = ran
        return ran

    def _asked(self, verb: str = "", name: str = "", *more: str) -> Displayed:
        if verb == "shapes" and not more:
            return Listings(tuple(self._shapes(name.removeprefix("@"))))
        if verb == "check" and not more:
            return self._cell(name).report
        raise Misused(USAGE)

    def _cell(self, name: str) -> Ran:
        if not self._cells:
            raise Misused("no cell with %%rx was run")
        if name and name not in self._cells:
            raise Misused(f"no cell has the program {name!r}; there are {', '.join(self._cells)}")
        return self._cells[name or next(reversed(self._cells))]

    def _shapes(self, name: str) -> Iterable[FunctionShapes]:
        """The shapes of the named functions, or of the named module."""
        value = self._shell.user_ns.get(name)
        if isinstance(value, Function):
            return _named(value._module, value.__name__)
        if not name or isinstance(value, Module) or name in self._cells:
            return value._checked.shapes if isinstance(value, Module) else _of_report(self._cell(name))
        owner, _, function = name.partition(".")
        if isinstance(module := self._shell.user_ns.get(owner), Module) and function in module:
            return _named(module, function)
        return self._in_last(name)

    def _in_last(self, name: str) -> Iterable[FunctionShapes]:
        ran = self._cell("")
        found = [f for f in _of_report(ran) if f.name == f"@{name}"]
        if not found:
            known = ", ".join(f.name for f in _of_report(ran))
            raise Misused(
                f"there is no function {name!r}; {f'those of {ran.name} are {known}' if known else f'{ran.name} has none'}"
            )
        return found


def _named(module: Module, name: str) -> Iterator[FunctionShapes]:
    return (f for f in module._checked.shapes if f.name == f"@{name}")


def _of_report(ran: Ran) -> tuple[FunctionShapes, ...]:
    return ran.report.checked.shapes if ran.report.checked is not None else ()
