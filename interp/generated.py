"""A program's Python module while it grows: its lines, the site of each line, and the constants that they refer to.

A failure is found by its line, so nothing is recorded while a program runs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from operator import attrgetter

import numpy as np

from ..lang import core
from ..lang.dtypes import DType
from ..ops import registry as rows
from ..ops.model import Primitive
from .dtypes import PLAIN, numpy_dtype
from .engine_types import Kernel, Namespace, RunValue
from .kernels import constants, registry as kernels
from .names import mangle
from .steps import StepSite
from .tally import Tally

# A line's text, its site, and the locals of slots whose local has another name.
Line = tuple[str, StepSite | None, Mapping[str, str]]
_OWN: Mapping[str, str] = {}


class GeneratedModule:
    """A program's generated module while it grows: its lines, their sites, and the constants that they refer to."""

    def __init__(
        self,
        functions: Mapping[str, core.Function | core.Impls],
        *,
        direct: bool = True,
        reuse: bool = True,
        out: bool = False,
        tally: Tally | None = None,
        hosting: bool = False,
    ) -> None:
        self.functions = functions
        self.owners = {f.impl: f.name for f in functions.values() if isinstance(f, core.Function) and f.impl}
        self.direct, self.reuse, self.out, self.tally, self.hosting = direct, reuse, out, tally, hosting
        self.lines: list[Line] = []
        self.later: list[Callable[[], None]] = []
        self._outlined = 0
        self.globals: Namespace = {}
        self.primitives: set[str] = set()
        # Whether a dtype of ml_dtypes or strings occurred, for which NumPy's functions differ from the kernels.
        self.extended = False
        self._pool: dict[Hashable, str] = {}

    def outlined_name(self) -> str:
        """Return an unused function name."""
        self._outlined += 1
        return f"a{self._outlined}"

    def constant(self, key: object, make: Callable[[], object]) -> str:
        """The global that holds `make()`; one per key."""
        if key not in self._pool:
            name = f"k{len(self._pool)}"
            self._pool[key] = name
            self.globals[name] = make()
        return self._pool[key]

    def dtype(self, dtype: DType) -> str:
        if dtype.is_opaque:
            self.extended = True
            return self.constant(("dtype", dtype.name), lambda: numpy_dtype(dtype))
        name = f"D_{dtype.name}"
        if name not in self.globals:
            self.globals[name] = numpy_dtype(dtype)
            self.extended = self.extended or numpy_dtype(dtype) not in PLAIN
        return name

    def array(self, slot: str, value: RunValue) -> None:
        """Add an array that exists before the run."""
        self.globals[slot] = value
        constants.declare(value)
        self.extended = self.extended or value.dtype not in PLAIN

    def function_value(self, name: str) -> str:
        """The global that holds a function of the program, or a primitive as a function."""
        if name in self.functions:
            return "f_" + mangle(name)
        row = self.row(name)
        self.primitives.add(row.name)
        return "p_" + mangle(row.name)

    def hosts(self, name: str) -> bool:
        """Whether calls of a function go through its plans: if they are counted, all but those of an implementation."""
        found = self.functions.get(name)
        return self.hosting and found is not None and not (isinstance(found, core.Function) and found.kind == "private")

    def row(self, name: str) -> Primitive:
        found = rows.lookup(name.removeprefix("prelude."))
        if found is None:
            raise LookupError(f"no function or primitive is called @{name}")
        return found

    def kernel(self, row: Primitive, *, plain: bool) -> str:
        """The global that holds the kernel of a primitive: NumPy's function if that is the whole kernel."""
        kernel = kernels.lookup(row.name)
        direct = kernels.DIRECT.get(row.name) if plain and self.direct else None
        if direct is None:
            name = "kernel_" + mangle(row.name)
            self.globals[name] = kernel
            return name
        name = "np_" + direct.removeprefix("np.").replace(".", "_")
        self.globals.setdefault(name, numpy_function(direct.removeprefix("np.")))
        return name

    def write(self, indent: int, text: str, site: StepSite | None = None, locals_: Mapping[str, str] = _OWN) -> None:
        self.lines.append((" " * indent + text, site, locals_))

    def finish(self) -> None:
        """Write the postponed functions."""
        while self.later:
            self.later.pop()()

    def text(self) -> tuple[str, dict[int, tuple[StepSite, Mapping[str, str]]]]:
        """The module's text, and for each line its site and the locals of its slots."""
        sites = {
            number: (site, names) for number, (_, site, names) in enumerate(self.lines, start=1) if site is not None
        }
        return "\n".join(text for text, _, _ in self.lines) + "\n", sites


def numpy_function(path: str) -> Kernel:
    found: Kernel = attrgetter(path)(np)
    return found
