"""What tells of sizes whether inputs pass all checks says what a run does; headers of weights are read once for all tensors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import rxlang
from rxlang import pipeline
from rxlang.lang import weights

PROGRAMS = {
    "a sum": ("x : Tensor([n], float32), y : Tensor([m], float32)", "x + y"),
    "a reshape": ("x : Tensor([n, m], float32)", "@reshape(x, [n, m // 2, 2])"),
    "a condition": ("x : Tensor([n], float32), y : Tensor([m], float32)", "@concat([x, y])", "where n < m"),
    "a size that is an expression": (
        "x : Tensor([n + m], float32), y : Tensor([m], float32), z : Tensor([n], float32)",
        "x + y",
    ),
}


def runs(program: rxlang.Program, sizes: Mapping[str, int], params: str) -> bool:
    shapes = {"n, m": (sizes["n"], sizes["m"]), "n + m": (sizes["n"] + sizes["m"],)}
    found = [part.split("]")[0] for part in params.split("[")[1:]]
    given = [np.zeros(shapes.get(text) or (sizes[text],), np.float32) for text in found]
    try:
        program.f(*given)
    except rxlang.ShapeError:
        return False
    return True


@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_pass_where_a_run_succeeds(name: str) -> None:
    params, body, *where = PROGRAMS[name]
    text = f"@f = fn({params}) {' '.join(where)} {{ {body} }}\n"
    checked = pipeline.check_text(text, "f.rx", Path(), options=pipeline.Options(allow_empty=True)).checked
    assert checked is not None
    takes, program = checked.takes("f"), rxlang.loads(text, allow_empty=True)
    assert takes is not None
    found = {(n, m): takes({"n": n, "m": m}) for n, m in product(range(5), repeat=2)}
    assert found == {(n, m): runs(program, {"n": n, "m": m}, params) for n, m in found}
    assert {True, False} == set(found.values())


def test_sizes_that_are_not_all_given_pass_nothing() -> None:
    text = "@f = fn(x : Tensor([n], float32), y : Tensor([m], float32)) { x + y }\n"
    checked = pipeline.check_text(text, "f.rx", Path()).checked
    assert checked is not None
    takes = checked.takes("f")
    assert takes is not None and not takes({"n": 1}) and not takes({})
    assert checked.takes("g") is None


def test_what_only_the_data_decides_is_not_said_by_sizes() -> None:
    text = (
        "@f = fn(x : Tensor([n], float32), k : Tensor([], int64)) { let s : Size = @item(k)\n  @reshape(x, [s, 2]) }\n"
    )
    checked = pipeline.check_text(text, "f.rx", Path()).checked
    assert checked is not None and checked.takes("f") is None


def test_a_header_is_read_once_for_all_tensors_of_a_file_that_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = tmp_path / "w.safetensors", []

    def write(count: int) -> None:
        entries = {f"t{i}": {"dtype": "U8", "shape": [2], "data_offsets": [2 * i, 2 * i + 2]} for i in range(count)}
        header = json.dumps(entries).encode()
        path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(2 * count))

    plain = weights._json
    monkeypatch.setattr(weights, "_json", lambda text: read.append(text) or plain(text))
    write(7)
    assert {weights.read_header(path, f"t{i}").shape for i in range(7)} == {(2,)} and len(read) == 1
    write(8)
    assert weights.read_header(path, "t7").shape == (2,) and len(read) == 2
