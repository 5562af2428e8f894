"""Shape rules of tensor functions with symbolic sizes: 753 answers of NumPy and PyTorch, as far as Rx has the operation."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rxlang import pipeline
from rxlang.lang.checked import Binding
from rxlang.lang.diagnostics import Diagnostic
from support import op_shapes
from support.cases import CASES as BESIDE
from support.places import TESTS

CASES = BESIDE / "op_shapes.jsonl"
# Operations and layouts that those cases leave out, one call that fits and one that does not of each.
MORE = TESTS / "data" / "op_shapes_more.jsonl"


def cases(file: Path = CASES) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _operation(case: dict[str, Any]) -> str:
    name: str = case["op"]
    return name


BY_OPERATION = {
    op: list(rows) for op, rows in itertools.groupby(sorted([*cases(), *cases(MORE)], key=_operation), _operation)
}
needs_cases = pytest.mark.skipif(not CASES.exists(), reason="the cases are not beside this project")


def answer(text: str) -> tuple[Binding | None, tuple[Diagnostic, ...]]:
    """The result of `@f`, and the errors of the program."""
    report = pipeline.check_text(text, "case.rx", Path("."))
    errors = tuple(d for d in report.diagnostics if d.severity == "error")
    shapes = report.checked.shapes if report.checked else ()
    return next((s.result for s in shapes if s.name == "@f"), None), errors


def problem(case: dict[str, Any], text: str) -> str | None:
    """What is wrong with Rx's answer, if anything is."""
    result, errors = answer(text)
    if case["expect_shape"] == "error" or op_shapes.refused_on_purpose(case):
        return None if errors else f"no error, but {_spelled(result)}"
    if errors:
        return f"refused: {errors[0].message}"
    assert result is not None
    expected = list(_parts(case["expect_shape"], case["expect_dtype"]))
    found = list(result.items) or [result]
    if len(found) != len(expected):
        return f"{len(found)} results"
    for binding, (shape, dtype) in zip(found, expected, strict=True):
        if binding.shape is None or len(binding.shape) != len(shape):
            return f"the shape is {_spelled(binding)}"
        if not all(_equal(a, b) for a, b in zip(binding.shape, shape, strict=True)):
            return f"the shape is {_spelled(binding)}"
        if dtype is not None and binding.dtype != dtype:
            return f"the dtype is {binding.dtype}"
    return None


def _spelled(binding: Binding | None) -> str:
    return "nothing" if binding is None else f"{list(binding.shape or ['*'])} {binding.dtype}"


def _parts(shape: list[Any], dtype: Any) -> Iterator[tuple[list[Any], str | None]]:
    if shape and isinstance(shape[0], list):
        yield from zip(shape, dtype, strict=True)
    else:
        yield shape, dtype


def _equal(ours: int | str, expected: int | str) -> bool:
    """Whether two sizes are the same for many values of their names."""
    if "?" in str(ours):
        return False
    a, b = (compile(str(e), "size", "eval") for e in (ours, expected))
    names = sorted({*a.co_names, *b.co_names} - {"min", "max", "ceildiv"})
    helpers = {"min": min, "max": max, "ceildiv": lambda p, q: -(-p // q)}
    for values in itertools.product((0, 1, 2, 3, 5, 8, 21, 40), repeat=min(len(names), 3)):
        env = {**helpers, **dict.fromkeys(names, 7), **dict(zip(names, values, strict=False))}
        if eval(a, env) != eval(b, env):  # noqa: S307
            return False
    return True


@pytest.mark.parametrize("operation", BY_OPERATION)
def test_shapes_are_as_the_cases_say(operation: str) -> None:
    wrong = []
    for case in BY_OPERATION[operation]:
        text = op_shapes.program(case)
        found = None if isinstance(text, op_shapes.Skip) else problem(case, text)
        if found is not None:
            wrong.append(f"{case['id']}: {text}expected {case['expect_shape']} {case['expect_dtype']}, but {found}")
    assert not wrong, "\n".join(wrong)


@needs_cases
def test_integer_results_of_real_functions_are_refused_on_purpose() -> None:
    refused = [case["op"] for case in cases() if op_shapes.refused_on_purpose(case)]
    assert Counter(refused) == {"divide": 2, "atan2": 2}


def test_no_case_is_left_out() -> None:
    texts = [op_shapes.program(case) for case in [*cases(), *cases(MORE)]]
    assert [t.reason for t in texts if isinstance(t, op_shapes.Skip)] == []
