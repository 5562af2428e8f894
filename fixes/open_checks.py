"""The checks that stay for run time in each function of a checked program."""

from __future__ import annotations

from ..lang import core
from ..lang.core import Status
from ..lang.walk import walk
from ..pipeline import Report


class OpenChecks:
    """The functions of a program, and the number of checks that stay for run time in each; counted on demand."""

    def __init__(self, report: Report) -> None:
        self.functions: dict[str, list[core.Function]] = {}
        self._counted: dict[str, int] = {}
        if report.checked is not None:
            owners = core.owners(report.checked.program)
            for function in report.checked.program.functions:
                self.functions.setdefault(owners.get(function.name, function.name), []).append(function)

    def of(self, name: str) -> int:
        """Return the number of run-time checks in a function and its implementation."""
        if name not in self._counted:
            self._counted[name] = sum(map(_is_open, walk(*self.functions.get(name, ()))))
        return self._counted[name]


def _is_open(node: object) -> bool:
    return getattr(node, "status", None) is Status.RESIDUAL or getattr(node, "guard", False)
