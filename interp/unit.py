"""One program's Python module while it grows: its lines, what each line stands for, and the constants that they refer to.

A failure is found again by its line: nothing is recorded while a program runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..lang import core
from ..lang.dtypes import DType
from ..lang.node import Node
from ..lang.source import Span
from ..ops import registry as rows
from ..ops.model import Primitive
from .dtypes import PLAIN, numpy_dtype
from .kernels import registry as kernels
from .names import mangle


class Site(Node):
    """What a generated line does, for the diagnostic when it fails.

    kind is check, door (the call of a function's own checks), call (of a function of the program), kernel, extern or size.
    `names` maps the Rx names that a check speaks of to Python locals; `operands` pairs a kernel's parameters with Python
    texts, which are locals where a diagnostic can show them; `call` is the call itself. Of a callee's check that stands before
    its call, `call` is that call and `given` maps the callee's parameters to Python locals.
    """

    span: Span
    kind: str
    function: str
    check: core.Assert | core.MatchShape | None = None
    callee: str = ""
    names: tuple[tuple[str, str], ...] = ()
    operands: tuple[tuple[str, str], ...] = ()
    call: core.Call | None = None
    given: tuple[tuple[str, str], ...] = ()


Line = tuple[str, Site | None]


class Unit:
    """One program's generated module while it grows: its lines, the sites of the lines, and the constants it refers to."""

    def __init__(
        self, program: core.Program, *, direct: bool = True, guard_all: bool = False, count_checks: bool = False
    ) -> None:
        self.functions = {f.name: f for f in (*program.functions, *((program.main,) if program.main else ()))}
        self.impls = {i.name: i for i in program.impls}
        self.consts: set[str] = set()
        self.direct = direct
        self.guard_all = guard_all
        self.count_checks = count_checks
        self.lines: list[Line] = []
        self.later: list[Callable[[], None]] = []
        self._outlined = 0
        self.globals: dict[str, Any] = {}
        self.externs: dict[str, core.Function] = {}
        self.primitives: set[str] = set()
        # Whether a dtype of ml_dtypes or strings turned up, to which NumPy's functions do not do what the kernels do.
        self.extended = False
        self._pool: dict[Any, str] = {}

    def outlined_name(self) -> str:
        """A name that no other function has."""
        self._outlined += 1
        return f"a{self._outlined}"

    def constant(self, key: Any, make: Callable[[], Any]) -> str:
        """The global that holds `make()`; one per key."""
        if key not in self._pool:
            name = f"k{len(self._pool)}"
            self._pool[key] = name
            self.globals[name] = make()
        return self._pool[key]

    def dtype(self, dtype: DType) -> str:
        name = f"D_{dtype.name}"
        if name not in self.globals:
            self.globals[name] = numpy_dtype(dtype)
            self.extended = self.extended or numpy_dtype(dtype) not in PLAIN
        return name

    def array(self, key: Any, make: Callable[[], Any]) -> str:
        """The global that holds an array that is there before anything runs."""
        name = self.constant(key, make)
        self.extended = self.extended or self.globals[name].dtype not in PLAIN
        return name

    def row(self, name: str) -> Primitive:
        found = rows.lookup(name.removeprefix("prelude."))
        if found is None:
            raise LookupError(f"no function or primitive is called @{name}")
        return found

    def kernel(self, row: Primitive, *, plain: bool) -> str:
        """The global that holds what computes a primitive: a NumPy function where that is all there is to it."""
        kernel = kernels.lookup(row.name)
        direct = kernels.DIRECT.get(row.name) if plain and self.direct else None
        if direct is None:
            name = "kernel_" + mangle(row.name)
            self.globals[name] = kernel
            return name
        name = "np_" + direct.removeprefix("np.").replace(".", "_")
        self.globals.setdefault(name, numpy_function(direct.removeprefix("np.")))
        return name

    def write(self, indent: int, text: str, site: Site | None = None) -> int:
        """Append a line; gives its index, for a header that is completed later."""
        self.lines.append((" " * indent + text, site))
        return len(self.lines) - 1

    def finish(self) -> None:
        """Write the functions that were put off."""
        while self.later:
            self.later.pop()()

    def text(self) -> tuple[str, dict[int, Site]]:
        """The module's text and the site of each line that has one."""
        sites = {number: site for number, (_, site) in enumerate(self.lines, start=1) if site is not None}
        return "\n".join(text for text, _ in self.lines) + "\n", sites


def numpy_function(path: str) -> Any:
    found: Any = np
    for part in path.split("."):
        found = getattr(found, part)
    return found
