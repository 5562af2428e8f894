"""Code whose sizes choose a path: one contract for all paths, with the results of each."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import rxlang as rx
from rxlang.model.asked import AskedOfPython
from rxlang.model.comparison import compare
from rxlang.simplify.known.outcome import Options
from rxlang.simplify.solver.numbers import holds_at
from support.torch_cases import needs_torch

pytestmark = needs_torch

Code = Callable[[Any], Any]


def _line(code: Any, number: int | None) -> int:
    """The line of a file that a line of a function is, from 0."""
    return int(code.__code__.co_firstlineno) + (number or 0)


def one_path_asks(x: Any) -> Any:
    b, t, d = x.shape
    return x.reshape(b, t, d // 2, 2).flatten(2) if t > 4 else x


def short_is_padded(x: Any) -> Any:
    from torch.nn.functional import pad

    t = x.shape[1]
    if t < 3:
        x = pad(x, (0, 0, 3 - t, 0))
    return x.unfold(1, 3, 1).mean(-1)


def odd_is_filled(x: Any) -> Any:
    from torch import cat

    if x.shape[1] % 2:
        x = cat([x, x[:, -1:]], dim=1)
    return x[:, ::2] + x[:, 1::2]


def a_path_is_refused(x: Any) -> Any:
    t = x.shape[1]
    if t > 4:
        raise ValueError("too long")
    return x.repeat(1, 2, 1) if t > 2 else x


def ranks_differ(x: Any) -> Any:
    return x.sum(1) if x.shape[1] > 3 else x


def nested(x: Any) -> Any:
    b, t, d = x.shape
    if t > 2:
        return x.view(b, t, d // 2, 2) if d > 3 else x[:, :2, :, None]
    return x[..., None]


def short_is_halved(x: Any) -> Any:
    if x.shape[1] < 6:
        x.sum((0, 2)).narrow(0, 0, 2), x.sum((0, 2)).view(2, -1)
    return x * 2


# The results: one formula, or as many cases.
CODE: dict[Code, int] = {
    one_path_asks: 2, short_is_padded: 0, odd_is_filled: 0, a_path_is_refused: 2, ranks_differ: 2, nested: 3,
    short_is_halved: 0,
}  # fmt: skip


@pytest.mark.parametrize("code", CODE, ids=lambda code: code.__name__)
def test_all_paths_are_one_contract(code: Code) -> None:
    torch = pytest.importorskip("torch")
    traced = rx.trace(code, x="float32[b, t, d]")
    contract = traced.contract
    assert contract is not None and contract.given == ()
    assert [len(o.cases) for o in contract.outputs] == [CODE[code]]
    for b, t, d in product(range(1, 4), range(1, 8), range(1, 6)):
        sizes = {"b": b, "t": t, "d": d}
        try:
            shape: tuple[int, ...] | None = tuple(code(torch.ones(b, t, d)).shape)
        except (RuntimeError, ValueError):
            shape = None
        assert all(holds_at(c.condition, sizes) for c in contract.conditions) is (shape is not None), sizes
        assert shape is None or traced.shapes(x=(b, t, d)) == shape, sizes


def test_what_only_one_path_asks_is_told_at_its_line() -> None:
    contract = rx.trace(one_path_asks, x="float32[b, t, d]").contract
    assert contract is not None
    [clause] = contract.conditions
    assert clause.condition.startswith("t <= 4 || ") and clause.demands[0].node.endswith(f":{_line(one_path_asks, 2)}")
    assert clause.witness is not None and holds_at(clause.condition, clause.witness) is False
    assert "float32[b, t, d] where t <= 4" in " ".join(str(contract).split())


def test_cases_are_asked_for_with_numbers_and_compared() -> None:
    traced = rx.trace(ranks_differ, x="float32[b, t, d]")
    with pytest.raises(ValueError, match="in cases, so all sizes have to be numbers"):
        traced.shapes(x=(2, "n", 3))
    other = rx.trace(lambda x: x.sum(1) if x.shape[1] > 2 else x, x="float32[b, t, d]")
    assert traced.contract is not None and other.contract is not None
    [said] = compare(traced.contract, other.contract, named=False).differences
    assert "where t > 3" in said and "where t > 2" in said


def data_beside(x: Any) -> Any:
    y = x[:, :1] if x.sum() > 0 else x
    return y.sum(1) if x.shape[1] > 3 else y


def test_where_data_decides_beside_sizes_one_path_is_told_alone() -> None:
    contract = rx.trace(data_beside, x="float32[b, t, d]").contract
    assert contract is not None and contract.given == ("t >= 4",)
    assert [d.needs for d in contract.undecided] == ["data decides which path is taken"]


def test_indices_of_each_path_are_listed() -> None:
    torch = pytest.importorskip("torch")
    table = torch.nn.Embedding(8, 4)

    def looked_up(ids: Any) -> Any:
        return ids[..., None] * 1.0 if ids.shape[1] > 3 else table(ids)

    contract = rx.trace(looked_up, ids="int64[b, t]").contract
    assert contract is not None and contract.given == ()
    assert any("`ids` holds indices into" in d.needs for d in contract.undecided)


def two_refusals(x: Any) -> Any:
    if x.shape[1] > 4:
        raise ValueError("too long")
    return x * 2 if x.shape[1] > 2 else x[:, :1]


def the_other_path_asks(x: Any) -> Any:
    b, t, d = x.shape
    return x if t > 4 else x.reshape(b, t, d // 2, 2).flatten(2)


STRICT = {one_path_asks: 2, the_other_path_asks: 2, odd_is_filled: None, two_refusals: None, ranks_differ: None}


@pytest.mark.parametrize("code", STRICT, ids=lambda code: code.__name__)
def test_strict_refuses_what_some_path_asks_and_no_code_states(code: Any) -> None:
    from rxlang.frontends.torch.target import targeted  # they load torch
    from rxlang.model.python import answer
    from rxlang.python.traced import _value

    target = targeted(code.__name__, code, {"x": _value("x", "float32[b, t, d]")})
    report = answer(target, AskedOfPython(), Path.cwd(), Options(strict=True)).found.report
    errors = [d for d in report.diagnostics if d.severity == "error"]
    assert [d.span.line for d in errors] == ([] if STRICT[code] is None else [_line(code, STRICT[code])]), errors
