"""The table of operators in docs/onnx-operators.md is what there are rules for; each of ONNX is there or has a reason."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.places import ROOT

onnx = pytest.importorskip("onnx")
np = pytest.importorskip("numpy")
reference = pytest.importorskip("onnx.reference")

import rxlang  # noqa: E402
from rxlang.cli.main import invoke  # noqa: E402
from rxlang.frontends.onnx.control import CONTROL  # noqa: E402
from rxlang.frontends.onnx.operators.registry import find, operators  # noqa: E402

from tests.support.one_node import OneNode, one_node  # noqa: E402

DOCUMENT = ROOT / "docs" / "onnx-operators.md"
BEGIN, END = "<!-- operators -->\n", "<!-- end of operators -->\n"
# Operators of ONNX that have no rule.
MISSING = {
    "ImageDecoder": "pictures are read by packages of their own",
    "Gradient": "no operator over tensors: it stands for the derivative of a graph",
}
DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "com.microsoft")


def with_a_body(domain: str) -> set[str]:
    """Operators that ONNX defines by others."""
    schemas = (s for s in onnx.defs.get_all_schemas() if s.domain == domain)
    return {s.name for s in schemas if s.has_function or s.has_context_dependent_function}


def known(domain: str) -> set[str]:
    found = {name for other, name in operators() if other == domain} | with_a_body(domain)
    return found | {*CONTROL, "Constant"} if domain == "" else found


def table() -> Iterator[str]:
    for domain in DOMAINS:
        names = sorted(known(domain))
        yield f"**{domain or 'ONNX'}** ({len(names)})\n"
        yield "\n".join(textwrap.wrap(", ".join(names), 128)) + "\n"
    yield "Not there:\n"
    yield "\n".join(f"- {name}: {reason}" for name, reason in MISSING.items()) + "\n"


def test_the_table_of_operators_is_what_there_are_rules_for() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    made = BEGIN + "\n" + "\n".join(table()) + "\n" + END
    shown = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: made, text, flags=re.DOTALL)
    assert BEGIN in text
    if os.environ.get("RX_ACCEPT"):
        DOCUMENT.write_text(shown, encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == shown, f"RX_ACCEPT=1 pytest {__file__} writes it anew"


def test_each_operator_of_onnx_is_there_or_has_a_reason() -> None:
    for domain in DOMAINS[:4]:
        named = {s.name for s in onnx.defs.get_all_schemas() if s.domain == domain and not s.deprecated}
        assert named - known(domain) <= set(MISSING), domain


def versions() -> Iterator[tuple[str, str, int]]:
    """The oldest version of an operator's domain, from opset 7 on, that has each of its definitions."""
    schemas = [s for s in onnx.defs.get_all_schemas_with_history() if s.domain in DOMAINS and not s.deprecated]
    for s in schemas:
        oldest = 7 if s.domain == "" else 1
        later = [o.since_version for o in schemas if (o.domain, o.name) == (s.domain, s.name)]
        if not any(s.since_version < since <= oldest for since in later):
            yield s.domain, s.name, max(s.since_version, oldest)


def test_an_operator_that_has_a_rule_has_one_for_each_version() -> None:
    ruled = {*operators()}
    assert {v for v in versions() if v[:2] in ruled and find(*v) is None} == set()


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_of_an_image_nothing_is_at_places_that_are_infinite(mode: str, tmp_path: Path) -> None:
    """onnxruntime makes numbers of them that have overflowed."""
    image = np.arange(1, 7, dtype=np.float32).reshape(1, 1, 3, 2)
    grid = np.array([[[[np.inf, 0], [0, -np.inf], [np.nan, 0], [-1, -1]]]], np.float32)
    for padding, right in (("zeros", [0, 0, 0, 1]), ("border", [4, None, None, 1])):
        model = one_node("GridSample", [image, grid], 1, 20, mode=mode, padding_mode=padding, align_corners=1)
        (found,) = OneNode(model, [image, grid], ()).run(tmp_path)
        assert all(abs(a - b) < 1e-5 for a, b in zip(found.ravel(), right, strict=True) if b is not None)


def test_the_steps_of_what_is_no_number_are_none(tmp_path: Path) -> None:
    x = np.array([1, np.nan, -2], np.float32)
    steps, scale, zero = OneNode(one_node("DynamicQuantizeLinear", [x], 3), [x], ()).run(tmp_path)
    assert np.isnan(scale) and not steps.any() and zero == 0


def test_attention_scales_by_roots(tmp_path: Path) -> None:
    x = np.ones((1, 1, 2, 4), np.float32)
    model = one_node("Attention", [x, x, x], 1, 23, scale=-1.0)
    with pytest.raises(rxlang.CheckError, match="`scale` is -1.0; its root is taken"):
        OneNode(model, [x, x, x], ()).run(tmp_path)


def missing(folder: Path) -> Path:
    model = one_node("Foo", [np.zeros((2, 3), np.float32)], domain="com.acme")
    return OneNode(model, [np.zeros((2, 3), np.float32)], ()).write(folder)


def test_a_run_says_which_operator_is_missing_and_how_to_give_its_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = missing(tmp_path)
    for words in ([], ["--allow-extern"]):
        assert invoke(["run", str(path), *words]) != 0
        said: Any = capsys.readouterr()
        assert "the operator `Foo` of the domain `com.acme` has no rule" in said.err
        assert "rx.onnx.rule" in said.err and "`@com_acme_Foo` in a --prelude" in said.err


def test_a_call_from_python_says_the_same(tmp_path: Path) -> None:
    module = rxlang.load(missing(tmp_path), allow_empty=True)
    with pytest.raises(rxlang.ShapeError, match="`Foo` of the domain `com.acme` has no rule"):
        module.main(np.zeros((2, 3), np.float32))


@pytest.mark.parametrize("factor, size, wanted", [(0.7, 10, 7), (0.1, 10, 1), (1.1, 10, 11), (0.3, 10, 3), (2.5, 3, 7)])
def test_resized_sizes_are_products_of_float32(factor: float, size: int, wanted: int, tmp_path: Path) -> None:
    x, scales = np.zeros((1, size), np.float32), np.array([1, factor], np.float32)
    model = one_node("Resize", [x, None, scales], 1, 19)
    made = OneNode(model, [x, scales], ("x2",))
    (found,) = made.run(tmp_path)
    assert found.shape == (1, wanted)
    assert wanted == int(np.float32(factor) * np.float32(size))
    (shape,) = made.shapes(tmp_path)
    assert shape in ([1, wanted], [1, None])


@pytest.mark.parametrize("operator", ["LayerNormalization", "RMSNormalization"])
@pytest.mark.parametrize("scale", [(8,), (1,), (5, 8), (3, 1, 8), (3, 5, 1)])
@pytest.mark.parametrize("held", [True, False])
def test_the_scale_of_a_normalization_is_repeated_as_the_operand_wants_it(
    operator: str, scale: tuple[int, ...], held: bool, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in ((3, 5, 8), scale)]
    model = one_node(operator, inputs, opset=23)
    node = OneNode(model, inputs, ("x1",) if held else ())
    [right] = reference.ReferenceEvaluator(model).run(None, {"x0": inputs[0], "x1": inputs[1]})
    [found] = node.run(tmp_path)
    np.testing.assert_allclose(found, right, 1e-5, 1e-6)
    assert node.shapes(tmp_path) == [[3, 5, 8]]


@pytest.mark.parametrize("opset", [9, 11, 14, 16])
@pytest.mark.parametrize("axis", [-1, 1])
def test_a_layer_normalization_stands_in_models_older_than_it(opset: int, axis: int, tmp_path: Path) -> None:
    """onnxruntime's optimiser writes it into models of any version."""
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in ((3, 5, 8), (8,), (8,))]
    node = OneNode(one_node("LayerNormalization", inputs, opset=opset, axis=axis), inputs, ("x1", "x2"))
    newer = one_node("LayerNormalization", inputs, opset=17, axis=axis)
    [right] = reference.ReferenceEvaluator(newer).run(None, {f"x{i}": x for i, x in enumerate(inputs)})
    [found] = node.run(tmp_path)
    np.testing.assert_allclose(found, right, 1e-5, 1e-6)
    assert node.shapes(tmp_path) == [[3, 5, 8]]


def _quantised(op: str, changed: tuple[int, ...], shape: tuple[int, ...]) -> list[Any]:
    """Operands of a node whose scales and zero points are numbers, but for some that have a shape."""
    shapes = {"QLinearConv": [(1, 2, 5, 5), (3, 2, 3, 3)], "QLinearMatMul": [(4, 3, 5), (5, 6)]}[op]
    draw, operands = np.random.default_rng(0), []
    for x in (*shapes, None):
        operands += [draw.integers(0, 200, x).astype(np.uint8)] if x else []
        operands += [np.asarray(0.05, np.float32), np.asarray(100, np.uint8)]
    return [np.broadcast_to(v, shape).copy() if at in changed else v for at, v in enumerate(operands)]


@pytest.mark.parametrize("shape", [(2,), (3,), (6,), (1, 1, 1), (1, 3, 1)], ids=str)
@pytest.mark.parametrize("changed", [(1, 2), (4, 5), (6, 7)], ids=str)
@pytest.mark.parametrize("op", ["QLinearConv", "QLinearMatMul"])
def test_scales_of_a_quantised_product_have_an_element_or_one_for_each_line(
    op: str, changed: tuple[int, ...], shape: tuple[int, ...], tmp_path: Path
) -> None:
    inputs = _quantised(op, changed, shape)
    node = OneNode(one_node(op, inputs), inputs, ())
    # Lines of the first operand of a product are its rows, of the second its columns, of a filter its first axis.
    lines = {"QLinearConv": {(4, 5): [(3,)]}, "QLinearMatMul": {(1, 2): [(3,), (1, 3, 1)], (4, 5): [(6,)]}}[op]
    if np.prod(shape) == 1 and (op, changed, shape) != ("QLinearMatMul", (4, 5), (1, 1, 1)):
        wanted = True
    else:
        wanted = shape in lines.get(changed, [])
    if not wanted:
        with pytest.raises((rxlang.ShapeError, rxlang.CheckError), match=f"x{changed[0]}|x{changed[1]}|rank"):
            node.run(tmp_path)
        return
    plain = _quantised(op, (), ())
    np.testing.assert_array_equal(node.run(tmp_path)[0], OneNode(one_node(op, plain), plain, ()).run(tmp_path)[0])
