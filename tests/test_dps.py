"""A shape program and a data program do what the program does: the same results to the last bit, and the same refusals."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from rxlang import pipeline
from rxlang.interp.run import Machine, Options, ShapeError
from rxlang.lang.checked import Checked
from rxlang.lang.diagnostics import Diagnostic
from rxlang.lang.files import Files
from support import random_loops, random_programs, random_shape_loops

TOTAL = int(os.environ.get("RX_FUZZ", "60"))
FILES = Files(Path("."))


def checked(source: str) -> Checked | None:
    report = pipeline.check_text(source, "dps.rx", Path("."))
    return report.checked if report.ok else None


def outcome(machine: Machine, name: str, args: list[Any]) -> Any:
    try:
        with np.errstate(all="ignore"):
            return machine.call(name, args)
    except ShapeError as problem:
        return problem.diagnostic


def assert_same_bits(wanted: Any, found: Any) -> None:
    assert type(wanted) is type(found)
    if isinstance(wanted, Diagnostic):
        assert (wanted.code, wanted.message, wanted.span) == (found.code, found.message, found.span)
    elif isinstance(wanted, tuple):
        for one, other in zip(wanted, found, strict=True):
            assert_same_bits(one, other)
    elif isinstance(wanted, np.ndarray):
        assert (wanted.dtype, wanted.shape) == (found.dtype, found.shape)
        assert wanted.tobytes() == found.tobytes()
    else:
        assert wanted == found


def both(program: Checked) -> tuple[Machine, Machine]:
    return Machine(program.program, FILES), Machine(program.program, FILES, Options(dps=True))


def test_random_programs_give_the_same_bits() -> None:
    placed = 0
    for seed in range(TOTAL // 2):
        maker = random_programs.Maker(seed)
        found = checked(maker.source + random_programs.LIBRARY)
        if found is None:
            continue
        plain, dps = both(found)
        placed += dps.code.source.count("alloc_tensor")
        names = [p.name for p in plain.function("main").params]
        for _ in range(4):
            given = maker.arguments()
            args = [given[name] for name in names]
            assert_same_bits(outcome(plain, "main", args), outcome(dps, "main", args))
    assert placed > TOTAL // 2


def test_random_loops_give_the_same_bits() -> None:
    for seed in range(TOTAL // 10):
        loops = random_loops.Maker(seed)
        found = checked(loops.source)
        assert found is not None
        plain, dps = both(found)
        for n in (0, 1, 3):
            args = [np.linspace(-1, 1, random_loops.N), np.linspace(2, -3, random_loops.N), n]
            assert_same_bits(outcome(plain, "main", args), outcome(dps, "main", args))


def test_random_loops_over_sizes_give_the_same_bits() -> None:
    for seed in range(TOTAL // 6):
        maker = random_shape_loops.Maker(seed)
        found = checked(maker.source)
        if found is None:
            continue
        plain, dps = both(found)
        names = [p.name for p in plain.function("main").params]
        for _ in range(3):
            given = maker.arguments()
            args = [given[name] for name in names]
            assert_same_bits(outcome(plain, "main", args), outcome(dps, "main", args))
