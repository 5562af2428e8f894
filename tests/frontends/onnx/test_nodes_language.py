"""Operators of language models and quantised ones: ONNX's own node tests, and onnxruntime's fused operators as it has them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import rxlang
from support import fuzz

onnx = pytest.importorskip("onnx")
np = pytest.importorskip("numpy")

RUNS = fuzz.tries("nodes of language models")

# A sample of node tests, by the module that has them.
NODE_TESTS = {
    "quantizelinear": ("axis", "e4m3fn", "int4", "uint2", "float4e2m1", "blocked_asymmetric"),
    "dequantizelinear": ("axis", "e5m2", "uint4", "float4e2m1", "blocked"),
    "dynamicquantizelinear": ("max_adjusted",),
    "qlinearmatmul": ("3D_uint8_float32", "2D_int8_float16"),
    "qlinearconv": ("",),
    "matmulinteger": ("",),
    "attention": ("3d_gqa_with_past_and_present", "4d_attn_mask_4d_causal", "4d_with_qk_matmul_softcap"),
    "rotaryembedding": ("with_interleaved_rotary_dim",),
    "tensorscatter": ("circular",),
    "adam": ("multiple",),
    "momentum": ("multiple",),
}


def _sample(module: str, ends: tuple[str, ...]) -> Iterator[Any]:
    """Those of a module whose names end so; who imports it first gets them all."""
    cases = import_module("onnx.backend.test.case.node")
    import_module(f"onnx.backend.test.case.node.{module}")
    for case in cases._NodeTestCases:
        if case.name.replace("_", "").startswith(f"test{module}") and case.name.endswith(ends):
            yield case


def _array(value: Any) -> Any:
    return np.asarray(onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value)


def _run(model: Any, inputs: list[Any], folder: Path) -> tuple[Any, ...]:
    onnx.save(model, folder / "model.onnx")
    found = rxlang.load(folder / "model.onnx", allow_empty=True).main(*inputs)
    return found if isinstance(found, tuple) else (found,)


def _same(found: Any, right: Any, near: float = 1e-3, least: float = 1e-7) -> None:
    assert (found.shape, found.dtype) == (right.shape, right.dtype)
    np.testing.assert_allclose(found.astype(np.float64), right.astype(np.float64), near, least)


@pytest.mark.parametrize("module", NODE_TESTS)
def test_node_tests_give_what_they_say(module: str, tmp_path: Path) -> None:
    cases = list(_sample(module, NODE_TESTS[module]))
    assert cases
    for case in cases:
        inputs, outputs = ([_array(x) for x in xs] for xs in case.data_sets[0])
        for found, right in zip(_run(case.model, inputs, tmp_path), outputs, strict=True):
            _same(found, right)


def _floats(rng: Any, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def _bytes(rng: Any, *shape: int) -> Any:
    return rng.integers(0, 256, shape).astype(np.uint8)


def _scale(rng: Any) -> Any:
    return np.asarray(rng.uniform(0.01, 0.1), np.float32)


def _quantised(rng: Any, *shape: int) -> list[Any]:
    return [_bytes(rng, *shape), _scale(rng), np.asarray(rng.integers(100, 150), np.uint8)]


def _result(rng: Any) -> list[Any]:
    return [_scale(rng), np.asarray(128, np.uint8)]


# An operator, its attributes, and its operands for a source of random numbers.
FUSED: dict[str, tuple[str, dict[str, Any], Any]] = {
    "gelu": ("Gelu", {}, lambda r: [_floats(r, 2, 5)]),
    "bias": ("BiasGelu", {}, lambda r: [_floats(r, 2, 5), _floats(r, 5)]),
    "fast": ("FastGelu", {}, lambda r: [_floats(r, 2, 5), _floats(r, 5)]),
    "quick": ("QuickGelu", {"alpha": 1.5}, lambda r: [_floats(r, 2, 5)]),
    "product": ("FusedMatMul", {"transA": 1, "alpha": 0.5}, lambda r: [_floats(r, 7, 5, 2), _floats(r, 5, 3)]),
    "gemm": ("FusedGemm", {"transB": 1, "activation": "Relu"},
             lambda r: [_floats(r, 2, 5), _floats(r, 3, 5), _floats(r, 3)]),
    "conv": ("FusedConv", {"activation": "Relu", "pads": [1, 1, 1, 1]},
             lambda r: [_floats(r, 2, 3, 5, 7), _floats(r, 2, 3, 3, 3), _floats(r, 2)]),
    "skip": ("SkipLayerNormalization", {"epsilon": 1e-5},
             lambda r: [_floats(r, 2, 3, 8), _floats(r, 2, 3, 8), _floats(r, 8), _floats(r, 8), _floats(r, 8)]),
    "simplified": ("SkipSimplifiedLayerNormalization", {"epsilon": 1e-5},
                   lambda r: [_floats(r, 2, 3, 8), _floats(r, 2, 3, 8), _floats(r, 8)]),
    "add": ("QLinearAdd", {}, lambda r: [*_quantised(r, 2, 5), *_quantised(r, 5), *_result(r)]),
    "mul": ("QLinearMul", {}, lambda r: [*_quantised(r, 2, 5), *_quantised(r, 5), *_result(r)]),
    "sigmoid": ("QLinearSigmoid", {}, lambda r: [*_quantised(r, 2, 5), *_result(r)]),
    "leaky": ("QLinearLeakyRelu", {"alpha": 0.1}, lambda r: [*_quantised(r, 2, 5), *_result(r)]),
    "pool": ("QLinearGlobalAveragePool", {}, lambda r: [*_quantised(r, 2, 3, 5, 7), *_result(r)]),
    "concat": ("QLinearConcat", {"axis": 1}, lambda r: [*_result(r), *_quantised(r, 2, 5), *_quantised(r, 2, 3)]),
    "float": ("MatMulIntegerToFloat", {},
              lambda r: [_bytes(r, 2, 5), _bytes(r, 5, 3), _scale(r), _scale(r), np.asarray(7, np.uint8),
                         np.asarray(9, np.uint8), _floats(r, 3)]),
    "dynamic": ("DynamicQuantizeMatMul", {},
                lambda r: [_floats(r, 2, 5), _bytes(r, 5, 3), _scale(r), np.asarray(9, np.uint8), _floats(r, 3)]),
    "bits": ("MatMulNBits", {"K": 40, "N": 3, "bits": 4, "block_size": 16},
             lambda r: [_floats(r, 2, 40), _bytes(r, 3, 3, 8), _floats(r, 9)]),
    "zeros": ("MatMulNBits", {"K": 40, "N": 3, "bits": 4, "block_size": 16},
              lambda r: [_floats(r, 2, 40), _bytes(r, 3, 3, 8), _floats(r, 9), _bytes(r, 6)]),
}  # fmt: skip


@pytest.mark.parametrize("name", FUSED)
def test_fused_operators_give_what_onnxruntime_gives(name: str, tmp_path: Path) -> None:
    ort = pytest.importorskip("onnxruntime")
    kind, attributes, operands = FUSED[name]
    for seed in range(RUNS):
        inputs = operands(np.random.default_rng(seed))
        names = [f"x{i}" for i in range(len(inputs))]
        node = onnx.helper.make_node(kind, names, ["y"], domain="com.microsoft", **attributes)
        kinds = [onnx.helper.np_dtype_to_tensor_dtype(x.dtype) for x in inputs]
        values = [
            onnx.helper.make_tensor_value_info(n, k, x.shape) for n, k, x in zip(names, kinds, inputs, strict=True)
        ]
        made = onnx.helper.make_empty_tensor_value_info("y")
        graph = onnx.helper.make_graph([node], "g", values, [made])
        opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
        model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        (right,) = session.run(None, dict(zip(names, inputs, strict=True)))
        (found,) = _run(model, inputs, tmp_path)
        step = 1.0 if right.dtype == np.uint8 else 1e-5
        _same(found, right, 1e-4 if right.dtype != np.uint8 else 0.0, step)
