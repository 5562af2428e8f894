"""Names of other libraries lead to the primitives that stand for them."""

from __future__ import annotations

from pathlib import Path

import pytest
import rxlang as rx
from rxlang.cli.main import invoke
from rxlang.ops import elsewhere
from rxlang.ops.registry import lookup, names


def test_a_name_of_the_table_is_never_a_primitive_of_its_own() -> None:
    for ours, theirs in elsewhere.table():
        assert [n for n in theirs if lookup(n) is not None] == [], ours
        assert len(set(theirs)) == len(theirs), ours


def test_every_entry_stands_for_something_that_there_is() -> None:
    known = {p.name for name in names() if (row := lookup(name)) is not None for p in row.params}
    assert set(elsewhere._PRIMITIVES) <= set(names())
    assert set(elsewhere._PARAMETERS) <= known


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("MaxPool2d", ("max_pool2d",)),
        ("max_pooling2d", ("max_pool2d",)),
        ("ReduceMean", ("mean",)),
        ("unsqueeze", ("expand_dims",)),
        ("BatchNorm2d", ("batch_normalization",)),
        ("transpose", ("matrix_transpose", "permute_dims", "swapaxes")),
        ("clamp", ("clip",)),
        ("quantum", ()),
    ],
)
def test_capitals_and_underscores_make_no_difference(theirs: str, ours: tuple[str, ...]) -> None:
    assert elsewhere.primitives(theirs) == ours


def test_a_parameter_of_another_library_is_one_that_the_primitive_has() -> None:
    row = lookup("conv2d")
    assert row is not None
    assert elsewhere.parameters("padding", row.params) == ("pads", "auto_pad")
    assert elsewhere.parameters("stride", row.params) == ("strides",)
    assert elsewhere.parameters("keepdim", row.params) == ()


UNLIKE = """@f = fn(x : Tensor([b, c, 8, 8], float32), v : Tensor([c], float32)) : Tensor {
  let y = @batch_norm(x, v, v, v, v)
  @hstack([@fliplr(y), y])
}
"""


def test_what_would_compute_something_else_is_not_renamed(tmp_path: Path) -> None:
    path = tmp_path / "unlike.rx"
    path.write_text(UNLIKE)
    assert invoke(["check", "--fix", str(path)]) == 1
    assert path.read_text() == UNLIKE


@pytest.mark.parametrize(
    ("call", "help"),
    [
        (
            "@masked_fill(x, x > 0, 0)",
            "`@where(condition, x, y)` is the closest function here, and its arguments may differ",
        ),
        ("@randn([n, 2])", "random numbers are made of a key: `@random_normal(@random_key(0), [2, 3])`"),
        ("@len(x)", "`x.dim(0)` is the size of the first axis"),
        ("@pad(x, [1, 1])", "a pair for each axis, before and after it: `[(1, 1), (1, 1)]`"),
        ("@cat([x, x])", "did you mean `@concat`?"),
        ("lax.cond(n > 2, f, g, x)", "a choice is written `if (c) { a } else { b }`"),
        ("lax.fori_loop(0, n, f, x)", "a loop is written `for i in range(n) with (x = x) { ... }`"),
        (
            "lax.scan(f, x, x)",
            "`@scan(f, init, xs)` hands a state along the rows of xs, and so does a loop with `stack`",
        ),
        ("jax.vmap(f)(x)", "`@map(f, xs)` calls f with each row of xs"),
        ("jit(f)(x)", "leave it out: a program is compiled as it is"),
        (
            "@topk(x, 2).indices",
            "values and their places are two functions: `@max` and `@argmax`, `@sort` and `@argsort`",
        ),
    ],
)
def test_what_there_is_instead_is_said(call: str, help: str) -> None:
    report = rx.check_source(f"@f = fn(x : Tensor([n], float32)) : Tensor {{ {call} }}")
    (found,) = [d for d in report.diagnostics if d.severity == "error"]
    assert found.help == help


def test_what_is_not_renamed_has_a_primitive_that_is_near() -> None:
    assert all(elsewhere.primitives(name) for name in elsewhere._OTHERWISE.split())
    assert not {*elsewhere._SAID} & {*names()}


@pytest.mark.parametrize("name", sorted(elsewhere._SAID))
def test_what_is_said_of_a_name_is_a_sentence_of_any_tensor(name: str) -> None:
    said = elsewhere.otherwise(name, "net.x")
    assert said is not None and "{x}" not in said and "{{" not in said
