"""Random calls of primitives on another engine, beside NumPy's kernels; and a primitive as a model of its own."""

from __future__ import annotations

import warnings
import zlib
from collections import Counter
from typing import Any

import numpy as np
from rxlang.interp.dtypes import dtype_of
from rxlang.interp.engines.table import Engine
from rxlang.interp.guards import guard
from rxlang.interp.kernels import registry as kernels
from rxlang.lang.dtypes import DTYPES
from rxlang.ops import registry
from rxlang.ops.ground import Violation
from rxlang.ops.model import PrimitiveParam

from support import ops, random_calls

# How far a result may lie from NumPy's, of 1 or of itself.
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-5, "complex64": 3e-5, "float64": 1e-9, "complex128": 1e-9}


class Unknown(Exception):
    """An engine has no such dtype, or takes no such arguments, and says so."""


def supported(engine: Any) -> list[str]:
    return [name for name in registry.names() if engine.has(name)]


def counts(engine: Any, name: str, tries: int) -> Counter[str]:
    """How calls ended: `same`, `refused` as NumPy does, `not taken` by the engine, which says so. Raises AssertionError where a
    result differs, or a call is computed that NumPy refuses for its data."""
    row, found = ops.row_of(name), Counter()
    for n in range(tries):
        values = random_calls.draw_call(np.random.default_rng((zlib.crc32(name.encode()), n)), row)
        args = [ops.for_kernel(p, values.get(p.name, p.default)) for p in row.params]
        if name == "searchsorted":
            args[0] = np.sort(args[0])  # else there is no place to find
        try:
            guard(row, args)
        except Violation:
            continue
        found[_outcome(engine, name, list(row.params), args)] += 1
    return found


def _outcome(engine: Any, name: str, params: list[PrimitiveParam], args: list[Any]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            given = [_inward(engine, p, a) for p, a in zip(params, args, strict=True)]
        except (LookupError, NotImplementedError):
            return "not taken"
        try:
            wanted = kernels.lookup(name)(*args)
        except kernels.BadValue:
            return _refused(engine, name, given)
        try:
            found = engine.kernel(name)(*given)
        except (kernels.BadValue, Unknown, NotImplementedError):
            return "not taken"
        _same(engine, wanted, found)
        return "same"


def _refused(engine: Any, name: str, given: list[Any]) -> str:
    try:
        engine.kernel(name)(*given)
    except Exception:  # noqa: BLE001 - each library has errors of its own
        return "refused"
    raise AssertionError("computed what NumPy refuses for its data")


def _inward(engine: Any, param: PrimitiveParam, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return engine.array(value)
    if isinstance(value, list | tuple) and param.kind == "tensors":
        return [_inward(engine, param, v) for v in value]
    return engine.dtype(dtype_of(value)) if param.kind == "dtype" and value is not None else value


def _same(engine: Any, wanted: Any, found: Any) -> None:
    if type(wanted) is int:
        assert found == wanted
        return
    pairs = [(wanted, found)] if not isinstance(wanted, tuple) else list(zip(wanted, found, strict=True))
    for one, other in pairs:
        expected, made = np.asarray(one), engine.numpy(other)
        assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
        off = {**TOLERANCE, **getattr(engine, "tolerance", {})}.get(expected.dtype.name)
        if off is None:
            np.testing.assert_array_equal(made, expected)
        else:
            wide = np.complex128 if expected.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(made.astype(wide), expected.astype(wide), rtol=off, atol=off)


class OnnxAlone:
    """Each call is a model of one primitive, whose sizes are known when it runs."""

    name = "onnxruntime"
    tolerance = {"float64": 1e-7}  # some of its kernels have float32 inside

    def __init__(self) -> None:
        import onnxruntime
        from rxlang.interp.engines.onnx_control import ControlTracing

        onnxruntime.set_default_logger_severity(4)
        self.runtime = onnxruntime
        self._calls = 0
        self.engine: Engine = ControlTracing({}, {}).engine

    def has(self, name: str) -> bool:
        return self.engine.has(name)

    def computes(self, name: str) -> bool:
        return self.engine.computes(name)

    def array(self, value: Any) -> Any:
        from rxlang.interp.engines.onnx_graph import _TYPES

        if value.dtype.name not in _TYPES or value.dtype.name.startswith(("bfloat", "String")):
            raise LookupError(value.dtype.name)
        return value

    def numpy(self, value: Any) -> Any:
        return np.asarray(value)

    def dtype(self, dtype: Any) -> Any:
        if dtype.name in ("bfloat16", "string") or dtype.bits < 8:
            raise LookupError(dtype.name)
        return dtype

    def kernel(self, name: str) -> Any:
        return lambda *args: self._run(name, args)

    def _run(self, name: str, args: Any) -> Any:
        from onnx import helper
        from rxlang.interp.engines.onnx_control import ControlTracing
        from rxlang.interp.engines.onnx_graph import elem_type
        from rxlang.interp.engines.onnx_tracing import ModelTensor, Open, Refused

        tracing = ControlTracing({}, {})
        feeds: dict[str, Any] = {}
        self._calls += 1
        tracing.engine.guarded = self._calls % 3 == 0
        is_static = self._calls % 2 == 0  # sizes that are numbers, and those that are known when it runs
        inputs: list[Any] = []

        def inward(value: Any) -> Any:
            if isinstance(value, list | tuple) and any(isinstance(v, np.ndarray) for v in value):
                return tuple(map(inward, value))
            if not isinstance(value, np.ndarray):
                return tuple(value) if isinstance(value, list) else value
            given = f"x{len(feeds)}"
            tracing.graph.names.new(given)
            dims: Any = tuple(tracing.dims.atom("dim", given, i, natural=True) for i in range(value.ndim))
            dims = value.shape if is_static else dims
            feeds[given] = value
            inputs.append(helper.make_tensor_value_info(given, elem_type(dtype_of(value.dtype)), [None] * value.ndim))
            return ModelTensor(dims, dtype_of(value.dtype), None, value=given)

        kinds = self.runtime.capi.onnxruntime_pybind11_state
        try:
            made = tracing.engine.kernel(name)(*map(inward, args))
            parts = made if isinstance(made, tuple) else (made,)
            outputs = []
            for i, size in enumerate(parts):
                part = (
                    size
                    if isinstance(size, ModelTensor)
                    else ModelTensor((), DTYPES["int64"], None, value=tracing.graph.scalar(size))
                )
                tracing.graph.nodes.append(helper.make_node("Identity", [part.value], [f"out{i}"]))
                outputs.append(helper.make_tensor_value_info(f"out{i}", elem_type(part.dtype), None))
            proto = tracing.graph.proto("one", inputs, outputs)
            model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
            options = self.runtime.SessionOptions()
            options.intra_op_num_threads = 1
            session = self.runtime.InferenceSession(model.SerializeToString(), options)
            found = session.run(None, feeds)
        except (Refused, Open, NotImplementedError, kinds.Fail, kinds.InvalidArgument, kinds.NotImplemented,
                kinds.RuntimeException, kinds.InvalidGraph) as problem:  # fmt: skip
            raise Unknown(str(problem)) from problem
        return tuple(found) if isinstance(made, tuple) else found[0]
