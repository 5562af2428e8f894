"""Programs that people write, in `tests/programs/`: each is proved but for what it asks itself, and is what its NumPy is.

`NAME.rx` has a function `@NAME`; beside it `NAME.py` has the same function in plain NumPy, `inputs(draw, **sizes)` and the
SIZES to try. DECIDED says that the data decides a size of the result.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.cli.main import invoke
from support.places import TESTS

FOLDER = TESTS / "programs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.rx"))


class Draw:
    """Random arrays, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def numbers(self, *shape: int, dtype: str = "float32") -> np.ndarray:
        return np.asarray(self.random.standard_normal(shape)).astype(dtype)

    def integers(self, below: int, *shape: int) -> np.ndarray:
        return self.random.integers(0, below, shape, dtype=np.int64)


@cache
def plain(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"programs.{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def loaded(name: str) -> rx.Module:
    return rx.load(FOLDER / f"{name}.rx")


def test_there_are_at_least_thirty_programs() -> None:
    assert len(NAMES) >= 30


def test_the_programs_are_in_canonical_layout(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["fmt", "--check", *(str(FOLDER / f"{name}.rx") for name in NAMES)]) == 0, capsys.readouterr()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_to_check_that_the_author_did_not_write(name: str) -> None:
    path = FOLDER / f"{name}.rx"
    report = rx.check_source(path.read_text(encoding="utf-8"), filename=str(path))
    assert [d.message for d in report.diagnostics] == []
    assert [str(check) for check in getattr(loaded(name), name).residual] == list(getattr(plain(name), "CHECKS", ()))


@pytest.mark.parametrize(
    ("name", "sizes"), [(n, s) for n in NAMES for s in plain(n).SIZES], ids=lambda v: v if isinstance(v, str) else ""
)
def test_the_program_is_its_numpy(name: str, sizes: dict[str, Any]) -> None:
    module = plain(name)
    arguments = module.inputs(Draw(len(name)), **sizes)
    wanted = flat(getattr(module, name)(*arguments))
    made = flat(getattr(loaded(name), name)(*arguments))
    assert [np.shape(m) for m in made] == [np.shape(w) for w in wanted]
    for m, w in zip(made, wanted, strict=True):
        np.testing.assert_allclose(m, w, rtol=2e-4, atol=2e-5)


def flat(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, tuple) else [value]
