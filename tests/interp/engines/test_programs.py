"""The example programs on other engines: what NumPy gives, at several sizes, or refused when they are loaded; and exported and
read again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.interp.engines.runners import runner
from rxlang.lang.diagnostics import RxError
from support import engine_programs, fuzz, random_programs
from support.places import ROOT, TESTS

EXAMPLES = ROOT / "examples"
# Programs of many kinds, a function each.
KINDS = TESTS / "data" / "engines.rx"
# Of the examples that are right, with functions whose arguments can be drawn; `make test-engines` tries all.
SAMPLE = ("attention", "gpt", "ff", "search", "unet", "train", "decoder")
FILES = [KINDS, *(f for f in sorted(EXAMPLES.rglob("*.rx")) if fuzz.FULL or f.stem in SAMPLE)]
# What the engines have no way for in the examples, with the reason.
REFUSED = {
    ("onnxruntime", "convolved"): "known at a call only",
}


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield np.asarray(value.detach() if hasattr(value, "detach") else value)


def same(found: Any, wanted: Any) -> None:
    """Within 1e-4 of the largest element."""
    made, expected = list(leaves(found)), list(leaves(wanted))
    assert len(made) == len(expected)
    for one, other in zip(made, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        most = np.abs(other[np.isfinite(other)]).max(initial=1) if other.dtype.kind == "f" else 0
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4 * most)


@cache
def loaded(file: Path) -> rx.Module | None:
    try:
        return rx.load(file)
    except (rx.CheckError, OSError):  # an example of what is wrong, or weights that are not here
        return None


def called(module: rx.Module, turn: int) -> Iterator[tuple[str, list[list[Any]]]]:
    """Of a file with very many functions some, in each test others."""
    names = list(module)
    for name in names if fuzz.FULL or len(names) < 20 else names[turn::3]:
        try:
            found = engine_programs.calls(module, name)
        except engine_programs.Unknown:
            continue
        if found:
            yield name, found


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
@pytest.mark.parametrize("engine", ["onnxruntime", "torch"])
def test_an_example_is_right_on_an_engine_at_several_sizes_or_refused_when_it_is_loaded(
    engine: str, file: Path
) -> None:
    pytest.importorskip(engine)
    if (module := loaded(file)) is None:
        return
    run = runner(engine, module._machine)
    assert run is not None
    for name, calls in called(module, 0):
        try:
            run.prepare([name])
        except RxError as problem:
            said = REFUSED.get((engine, name), "not among what is refused")
            assert any(said in d.message and d.span.line for d in problem.diagnostics), problem
            continue
        assert (engine, name) not in REFUSED
        for args in calls:
            same(run.call(module[name]._core, args), module[name](*args))


@pytest.mark.parametrize(
    "file", [f for f in FILES if fuzz.FULL or f.stem not in ("train", "decoder")], ids=lambda f: f.stem
)
def test_an_example_that_is_exported_and_read_again_takes_the_same_and_gives_the_same(
    file: Path, tmp_path: Path
) -> None:
    pytest.importorskip("onnx")
    if (module := loaded(file)) is None:
        return
    for name, calls in called(module, 1):
        path = tmp_path / f"{name}.onnx"
        try:
            module[name].export(path, checks="drop")
        except RxError:
            continue
        again = rx.load(path)
        for args in calls:
            given = [np.asarray(a) if isinstance(a, int) else a for a in leaves_as_given(args)]
            made = again.main(*given)
            same(
                made, tuple(v for v in leaves(module[name](*args))) if isinstance(made, tuple) else module[name](*args)
            )


def leaves_as_given(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from leaves_as_given(value)
        else:
            yield value


def test_a_contract_is_read_again_and_asks_the_same(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    text = """@f = fn(x : Tensor([2 * n, d], float32), y : Tensor([d, n + 1], float32), k : Size) where k >= 1, d % k == 0 {
  @matmul(@reshape(x, [n, 2, k, d / k]), @reshape(y, [k, d / k, n + 1]))
}
"""
    module = rx.loads(text)
    module.f.export(tmp_path / "f.onnx")
    again = rx.load(tmp_path / "f.onnx")
    seen = set()
    for n2 in range(4):
        for d in range(4):
            for m in range(3):
                for k in range(-1, 3):
                    args = [np.ones((n2, d), np.float32), np.ones((d, m), np.float32)]
                    seen.add(told := accepts(lambda: module.f(*args, k)))  # noqa: B023
                    assert accepts(lambda: again.main(*args, np.array(k))) == told, (n2, d, m, k)  # noqa: B023
    assert seen == {True, False}


def accepts(call: Any) -> bool:
    try:
        call()
    except rx.ShapeError:
        return False
    return True


BROKEN = {
    "is no JSON": "{",
    "is not of version 1": '{"version": 7}',
    "has no lists of sizes and conditions": '{"version": 1, "sizes": [], "conditions": 3}',
    "has a condition that cannot be read": '{"version": 1, "sizes": [], "conditions": ["n >= 1\\n let y = 3"]}',
    "speaks of `m`": '{"version": 1, "sizes": [], "conditions": ["m >= 1"]}',
    "has a Size `x`": '{"version": 1, "sizes": ["x"], "conditions": []}',
}


@pytest.mark.parametrize("said", BROKEN)
def test_a_broken_contract_is_one_error(said: str, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    rx.loads("@f = fn(x : Tensor([n], float32)) { x + x }").f.export(tmp_path / "f.onnx")
    model = onnx.load(tmp_path / "f.onnx")
    model.metadata_props[0].value = BROKEN[said]
    onnx.save(model, tmp_path / "f.onnx")
    with pytest.raises(rx.CheckError) as caught:
        rx.load(tmp_path / "f.onnx")
    (told,) = caught.value.diagnostics
    assert f"the contract in its metadata {said}" in told.message


@pytest.mark.parametrize("engine", ["onnxruntime", "torch"])
def test_random_programs_give_on_an_engine_what_numpy_gives_or_are_refused(engine: str) -> None:
    pytest.importorskip(engine)
    tried = 0
    for case in fuzz.cases(f"programs, {engine}"):
        with case as seed:
            maker = random_programs.Maker(seed)
            try:
                plain = rx.loads(maker.source)
            except rx.CheckError:
                continue
            run = runner(engine, plain._machine)
            assert run is not None
            try:
                run.prepare(["main"])
            except RxError as problem:
                assert {str(d.code) for d in problem.diagnostics} == {"E253"}
                continue
            for _ in range(4):
                given = maker.arguments()
                args = [given[p.name] for p in plain.main._core.params]
                wanted = outcome(lambda: plain.main(*args))  # noqa: B023
                found = outcome(lambda: run.call(plain.main._core, args))  # noqa: B023
                assert (found is None) == (wanted is None)
                if wanted is not None:
                    tried += 1
                    same(found, wanted)
    assert tried > 10


def outcome(call: Any) -> Any:
    """What a call gives; None where it is refused."""
    try:
        with np.errstate(all="ignore"):
            return call()
    except rx.ShapeError:
        return None
