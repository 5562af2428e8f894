"""What the code itself declares: the types of its results, sizes among its arguments, and what it calls parts of its inputs."""

from __future__ import annotations

import json
import textwrap
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from rxlang.frontends.torch.arguments import UnreadInput, written
from rxlang.model.comparison import compare
from rxlang.model.contract_file import contract_text, read_contract
from support.torch_cases import needs_torch

pytestmark = needs_torch
NUMBERS = count()


def answer(text: str, folder: Path, *args: str) -> Any:
    """What `rx check` finds in a function that is called `code`."""
    from rxlang.cli.traced import answered
    from rxlang.model.asked import AskedOfPython
    from rxlang.simplify.known.outcome import Options

    name = f"declared_{next(NUMBERS)}.py"  # files of one name and length in one second are one to Python
    (folder / name).write_text(text)
    return answered(f"{name}:code", AskedOfPython(args=args), folder, Options()).found


HEAD = """
import torch
from jaxtyping import Float, Int
from torch import Tensor

"""
X, Y = 'x: Float[Tensor, "b d"]', 'y: Float[Tensor, "d k"]'
RESULTS = {
    # name: (parameters, type of the result, expression, what is said of the types)
    "right": (f"{X}, {Y}", 'Float[Tensor, "b k"]', "x @ y", ""),
    "turned": (f"{X}, {Y}", 'Float[Tensor, "k b"]', "x @ y", "axis 0 of `result` to be k, but it is b"),
    "rank": (X, 'Float[Tensor, "b"]', "x * 2", "`result` to have rank 1, but it has rank 2"),
    "dtype": (X, 'Int[Tensor, "b d"]', "x.long()", ""),
    "size": (X, 'Float[Tensor, "b 2*d"]', "torch.cat([x, x], 1)", ""),
    "other size": (X, 'Float[Tensor, "b 3*d"]', "torch.cat([x, x], 1)", "but it is d * 2"),
    "a name of its own": (X, 'Float[Tensor, "b n"]', "torch.cat([x, x], 1)", ""),
    "any axes": (X, 'Float[Tensor, "*axes"]', "x.sum(-1)", ""),
    "the second": (X, 'tuple[Float[Tensor, "b d"], Float[Tensor, "d b"]]', "(x * 2, x)", "axis 0 of `result_2` to be d"),
    "a number": ('x: Float[Tensor, "3 d"]', 'Float[Tensor, "d 3"]', "x.T", ""),
    "another number": ('x: Float[Tensor, "3 d"]', 'Float[Tensor, "2 d"]', "x", "axis 0 of `result` to be 2, but it is 3"),
    "two of one": (X, 'Float[Tensor, "d d"]', "x", "axis 0 of `result` to be d, but it is b"),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_what_its_annotation_says(name: str, tmp_path: Path) -> None:
    pytest.importorskip("jaxtyping")
    params, kind, result, said = RESULTS[name]
    found = answer(f"{HEAD}def code({params}) -> {kind}:\n    return {result}\n", tmp_path)
    errors = [d for d in found.report.diagnostics if d.severity == "error"]
    assert bool(errors) is bool(said), [d.message for d in errors]
    assert all(said in d.message and d.span.line in (6, 7) for d in errors), [(d.message, d.span.line) for d in errors]


def test_inputs_on_the_command_line_have_the_names_in_a_result(tmp_path: Path) -> None:
    pytest.importorskip("jaxtyping")
    code = f'{HEAD}def code({X}, {Y}) -> Float[Tensor, "k b"]:\n    return x @ y\n'
    found = answer(code, tmp_path, "x=float32[n, 4]", "y=float32[4, 3]")
    assert [d.message for d in found.report.diagnostics] == [
        "the annotation needs axis 0 of `result` to be 3, but it is n: holds only if n == 3"
    ]


SIZED = "import torch\ndef code(x, n):\n    return x[:, :n].repeat(1, n) if n > 0 else x[:, :0]\n"


def test_a_size_among_the_arguments_is_a_size_of_the_contract(tmp_path: Path) -> None:
    found = answer(SIZED, tmp_path, "x=float32[b, d]", "n=Size")
    contract = found.contract
    assert contract is not None and contract.given == ()
    assert "takes   x : float32[b, d], n : Size" in str(contract) and "b, d, n   any" in str(contract)
    written = contract_text(contract)
    assert json.loads(written)["inputs"][1] == {"name": "n", "dtype": "Size", "rank": 0, "shape": []}
    assert compare(read_contract(written), contract).relation == "equal"


def test_parts_of_inputs_are_told_as_the_code_writes_them(tmp_path: Path) -> None:
    code = 'def code(xs, d):\n    return xs[1] @ d["w"]\n'
    found = answer(code, tmp_path, "xs=[float32[a], float32[b, 3]]", 'd={"w": float32[4, k]}')
    [said] = found.report.diagnostics
    assert 'axis 1 of `xs[1]` (3) and axis 0 of `d["w"]` (4) to be equal' in said.message


def test_results_are_compared_by_their_positions(tmp_path: Path) -> None:
    def contract(body: str) -> Any:
        found = answer(f"def code(x):\n{textwrap.indent(body, '    ')}\n", tmp_path, "x=float32[b, d]")
        return found.contract

    old, new = contract("y = x * 2\nreturn y"), contract("doubled = x * 2\nreturn doubled")
    assert compare(old, new, named=False).relation == "equal"
    assert compare(old, contract("return x * 2, x"), named=False).relation == "different"
    [said] = compare(old, contract("return x.sum(1)"), named=False).differences
    assert said == "output `sum` had rank 2, and has rank 1"


CLASSES = {
    "Int": "int64",
    "Integer": "int64",
    "UInt": "uint8",
    "Float": "float32",
    "Bool": "bool",
    "Int32": "int32",
    "Shaped": "float32",
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_of_dtypes_is_the_one_that_torch_makes(name: str, tmp_path: Path) -> None:
    pytest.importorskip("jaxtyping")
    code = f'import jaxtyping\nfrom torch import Tensor\ndef code(x: jaxtyping.{name}[Tensor, "b"]):\n    return x\n'
    contract = answer(code, tmp_path).contract
    assert contract is not None and [(i.dtype, i.shape) for i in contract.inputs] == [(CLASSES[name], ("b",))]


def test_sizes_in_a_tuple_are_sizes_of_the_contract(tmp_path: Path) -> None:
    code = "def code(x, size):\n    h, w = size\n    return x.view(x.shape[0], h, w, -1)\n"
    found = answer(code, tmp_path, "x=float32[b, n, 4]", "size=(Size, Size)")
    assert found.contract is not None and [d.severity for d in found.report.diagnostics] == []
    assert [i.name for i in found.contract.inputs] == ["x", "size_0", "size_1"]
    tied = "def code(x, size):\n    return x.view(x.shape[0], size[0], size[1], 4)\n"
    found = answer(tied, tmp_path, "x=float32[b, n, 4]", "size=(Size, Size)")
    assert found.contract is not None and [d.severity for d in found.report.diagnostics] == ["warning"]


@pytest.mark.parametrize("wrong", ["n=Size()", "n=(Size(3), 2)"])
def test_a_size_is_not_called(wrong: str) -> None:
    with pytest.raises(UnreadInput, match="`Size` stands for a size as it is: `n=Size`"):
        list(written("--arg", wrong))
