"""A checked program to the ways in which it runs, which agree: with all checks, simplified, by plans, over allocated memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rxlang.interp.compile import Options
from rxlang.interp.run import Fast, Machine
from rxlang.interp.shape_error import ShapeError
from rxlang.lang.checked import Checked
from rxlang.lang.core import Program
from rxlang.lang.diagnostics import Diagnostic
from rxlang.lang.files import Files

HERE = Path(".")
Args = dict[str, Any]
# How a run ends: its value, or the diagnostic that refused it.
Outcome = Any


class Run:
    """A program ready to run, with every precondition checked or as it is."""

    def __init__(
        self,
        program: Program,
        base: Path = HERE,
        *,
        guard_all: bool = False,
        dps: bool = False,
        fast: Fast | None = None,
    ) -> None:
        options = Options(guard_all=guard_all, dps=dps)
        self.machine = Machine(program, Files(base), options, None, None, fast)
        function = self.machine.function("main")
        assert function is not None
        self.names = [p.name for p in function.params]

    def __call__(self, args: Args) -> Outcome:
        try:
            with np.errstate(all="ignore"):
                return self.machine.call("main", [args[name] for name in self.names])
        except ShapeError as problem:
            return problem.diagnostic


class Ways:
    """The runs of a checked program: the oracle is the program before simplification with every check of the user's and every
    precondition of a primitive; the kernels alone may refuse no more than that."""

    def __init__(self, checked: Checked, base: Path = HERE) -> None:
        self.oracle = Run(checked.before, base, guard_all=True)
        self.kernels = Run(checked.before, base)
        self.simple = Run(checked.program, base)
        self.dps = Run(checked.program, base, dps=True)

    def agree(self, args: Args) -> Outcome:
        """How all of them end."""
        wanted = self.oracle(args)
        first = self.simple(args)
        assert_same(wanted, first, args)
        for again in (self.simple, self.dps):  # the second time by a plan
            assert_same_bits(first, again(args), args)
        if not refused(wanted):
            assert_same(wanted, self.kernels(args), args)
        return wanted


def refused(outcome: Outcome) -> bool:
    return isinstance(outcome, Diagnostic)


def assert_same(wanted: Outcome, found: Outcome, args: Args) -> None:
    """The same values; both are refused or neither."""
    if refused(wanted) or refused(found):
        assert refused(wanted) == refused(found), f"{shown(args)}: {wanted} became {found}"
        return
    assert wanted.dtype == found.dtype
    np.testing.assert_array_equal(wanted, found, err_msg=str(shown(args)))


def assert_same_bits(wanted: Outcome, found: Outcome, args: Args) -> None:
    """The same to the last bit; what is refused is refused in the same words."""
    assert type(wanted) is type(found), (shown(args), wanted, found)
    if isinstance(wanted, Diagnostic):
        told, again = ((d.code, d.message, d.span.source.name, d.span.start, d.span.end) for d in (wanted, found))
        assert told == again, shown(args)
    elif isinstance(wanted, tuple):
        for one, other in zip(wanted, found, strict=True):
            assert_same_bits(one, other, args)
    elif isinstance(wanted, np.ndarray):
        assert (wanted.dtype, wanted.shape) == (found.dtype, found.shape), shown(args)
        assert wanted.tobytes() == found.tobytes(), shown(args)
    else:
        assert wanted == found, shown(args)


def shown(args: Args) -> dict[str, Any]:
    return {name: getattr(a, "shape", a) for name, a in args.items()}
