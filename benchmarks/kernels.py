"""What kernels cost beside onnxruntime and onnx's reference implementation: CPU time on one thread, measured in turns.

    python benchmarks/kernels.py [NAME ...]

Each row is one operator of ONNX and the same in Rx; both have to give the same. Printed are microseconds and the medians of
Rx's ratios to the two. Status 1 where a kernel is slower than the reference, or a bound to onnxruntime is exceeded. Names
choose the rows that contain one of them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time, process_time_ns
from typing import Any, NamedTuple

import numpy as np
import rxlang as rx
from onnx_models import FLOAT, INT64, missing, one_thread, onnxruntime, operator, reference

SECONDS = 0.4  # of both together, for each comparison
SAMPLE = 500_000  # nanoseconds that are measured at once, at least
SLACK = 1.1  # what a ratio of 1 may be measured as
CONVOLUTION, RECURRENT = 2.5, 15.0
random = np.random.default_rng(0)


class Case(NamedTuple):
    """An operator over arrays that are fed and arrays that are part of the model; `rx` is the same over the same names."""

    name: str
    op: str
    rx: str
    fed: dict[str, Any]
    constant: dict[str, Any]
    attributes: dict[str, Any]
    bound: float | None = None
    results: tuple[int, ...] = (FLOAT,)


def floats(*shape: int) -> Any:
    return random.standard_normal(shape).astype(np.float32)


def convolutions() -> Iterator[Case]:
    """Those of a ResNet-50, and of networks for telephones."""
    for c, size, filters, kernel, stride, groups in (
        (3, 224, 64, 7, 2, 1), (64, 56, 64, 1, 1, 1), (64, 56, 64, 3, 1, 1), (64, 56, 256, 1, 1, 1),
        (128, 56, 128, 3, 2, 1), (256, 56, 512, 1, 2, 1), (128, 28, 128, 3, 1, 1), (256, 14, 256, 3, 1, 1),
        (512, 7, 512, 3, 1, 1), (512, 7, 2048, 1, 1, 1), (144, 56, 144, 3, 1, 144), (960, 7, 960, 3, 1, 960),
        (256, 28, 256, 3, 1, 32),
    ):  # fmt: skip
        pad = kernel // 2
        rest = f"pads={pad}, strides=[{stride}, {stride}], groups={groups}"
        x, weight = (
            floats(1, c, size, size),
            floats(filters, c // groups, kernel, kernel) / np.float32(kernel * np.sqrt(c)),
        )
        attributes = {"strides": [stride] * 2, "pads": [pad] * 4, "group": groups}
        bound = CONVOLUTION if groups == 1 else None
        name = f"conv {c}->{filters} {kernel}x{kernel}/{stride} of {size}" + (
            f" in {groups} groups" if groups > 1 else ""
        )
        fixed = {"w": weight, "b": floats(filters)}
        yield Case(name, "Conv", f"@conv(x, w, b, {rest})", {"x": x}, fixed, attributes, bound)
    weight = floats(64, 32, 2, 2)
    given = ({"x": floats(1, 64, 28, 28)}, {"w": weight})
    yield Case(
        "conv_transpose 2x2/2", "ConvTranspose", "@conv_transpose(x, w, strides=[2, 2])", *given, {"strides": [2, 2]}
    )


def recurrent() -> Iterator[Case]:
    for op, name, gates in (("LSTM", "lstm", 4), ("GRU", "gru", 3), ("RNN", "rnn", 1)):
        for batch, hidden in ((1, 64), (1, 128), (8, 128)):
            shape = (2, gates * hidden, hidden)
            given = {"w": floats(*shape) / np.float32(8), "r": floats(*shape) / np.float32(np.sqrt(hidden))}
            given["b"] = floats(2, 2 * gates * hidden)
            attributes = {"direction": "bidirectional", "hidden_size": hidden}
            attributes |= {"linear_before_reset": 1} if op == "GRU" else {}
            late = ", linear_before_reset=true" if op == "GRU" else ""
            text = f'@{name}(x, w, r, b, direction="bidirectional"{late})'
            results = (FLOAT,) * (3 if op == "LSTM" else 2)
            title = f"{name} of 50 steps both ways, {batch} x {hidden}"
            yield Case(title, op, text, {"x": floats(50, batch, hidden)}, given, attributes, RECURRENT, results)


def pools() -> Iterator[Case]:
    for name, op, more in (("max", "MaxPool", ""), ("average", "AveragePool", ", count_include_pad=false")):
        for kernel, stride, pad in ((3, 2, 1), (2, 2, 0)):
            text = f"@{name}_pool(x, kernel_shape=[{kernel}, {kernel}], strides=[{stride}, {stride}], pads={pad}{more})"
            attributes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4}
            yield Case(
                f"{name}_pool {kernel}x{kernel}/{stride}", op, text, {"x": floats(1, 64, 56, 56)}, {}, attributes
            )
    image = {"x": floats(1, 64, 28, 28)}
    yield Case("global_average_pool", "GlobalAveragePool", "@global_average_pool(x)", image, {}, {})
    statistics = {"s": floats(64), "b": floats(64), "m": floats(64), "v": np.abs(floats(64)) + np.float32(0.1)}
    yield Case(
        "batch_normalization", "BatchNormalization", "@batch_normalization(x, s, b, m, v)", image, statistics, {}
    )
    scales = np.array([1, 1, 2, 2], np.float32)
    upsampled = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    yield Case(
        "upsample 2x", "Resize", "@upsample(x, scales=[2, 2])", image, {"roi": None, "scales": scales}, upsampled
    )


def rows() -> Iterator[Case]:
    """Along the last axis, small and large."""
    for shape in ((8, 384), (1024, 384)):
        size = f"of {shape[0]} x {shape[1]}"
        x, norm = {"x": floats(*shape)}, {"s": floats(384), "b": floats(384)}
        yield Case(f"softmax {size}", "Softmax", "@softmax(x, axis=-1)", x, {}, {"axis": -1})
        yield Case(f"log_softmax {size}", "LogSoftmax", "@log_softmax(x, axis=-1)", x, {}, {"axis": -1})
        yield Case(f"layer_norm {size}", "LayerNormalization", "@layer_norm(x, s, b)", x, norm, {"axis": -1})
        yield Case(f"sum {size}", "ReduceSum", "@sum(x, axis=1)", x, {"axes": np.array([1])}, {"keepdims": 0})
        yield Case(f"mean {size}", "ReduceMean", "@mean(x, axis=0)", x, {"axes": np.array([0])}, {"keepdims": 0})
        yield Case(
            f"argmax {size}", "ArgMax", "@argmax(x, axis=1)", x, {}, {"axis": 1, "keepdims": 0}, results=(INT64,)
        )
        yield Case(f"cumulative_sum {size}", "CumSum", "@cumulative_sum(x, axis=1)", x, {"axis": np.array(1)}, {})
        few = {"k": np.array([5])}
        yield Case(f"topk {size}", "TopK", "@topk(x, 5, axis=1)", x, few, {"axis": 1}, results=(FLOAT, INT64))


def elements() -> Iterator[Case]:
    names = {
        "Gelu": "gelu", "Erf": "erf", "Sigmoid": "sigmoid", "Relu": "relu", "Tanh": "tanh", "Exp": "exp",
        "Softplus": "softplus", "Elu": "elu", "HardSwish": "hard_swish", "Mish": "mish", "Neg": "negative",
    }  # fmt: skip
    for shape in ((8, 384), (1024, 1536)):
        for op, name in names.items():
            yield Case(f"{name} of {shape[0]} x {shape[1]}", op, f"@{name}(x)", {"x": floats(*shape)}, {}, {})
        pair = {"x": floats(*shape), "y": floats(*shape[1:])}
        for op, sign in (("Add", "+"), ("Mul", "*"), ("Div", "/")):
            yield Case(f"x {sign} y of {shape[0]} x {shape[1]}", op, f"x {sign} y", pair, {}, {})
        chosen = {"m": floats(*shape) > 0, **pair}
        yield Case(f"where of {shape[0]} x {shape[1]}", "Where", "@where(m, x, y)", chosen, {}, {})


def moves() -> Iterator[Case]:
    x = {"x": floats(64, 96, 32)}
    places = {"i": random.integers(0, 64, (500,))}
    yield Case("concat", "Concat", "@concat([x, y], axis=1)", {**x, "y": floats(64, 32, 32)}, {}, {"axis": 1})
    pads = {"p": np.array([0, 1, 2, 0, 3, 4])}
    yield Case("pad", "Pad", "@pad(x, [(0, 0), (1, 3), (2, 4)])", x, pads, {})
    yield Case("take", "Gather", "@take(x, i, axis=0)", {**x, **places}, {}, {"axis": 0})
    tiles = {"r": np.array([2, 1, 3])}
    yield Case("tile", "Tile", "@tile(x, [2, 1, 3])", x, tiles, {})
    text = '@einsum("bij,bjk->bik", [x, y])'
    yield Case("einsum", "Einsum", text, {**x, "y": floats(64, 32, 48)}, {}, {"equation": "bij,bjk->bik"})
    yield Case("matmul", "MatMul", "@matmul(x, y)", {**x, "y": floats(64, 32, 48)}, {}, {})
    for size in (8, 1024):
        given = ({"x": floats(size, 384)}, {"w": floats(1536, 384), "b": floats(1536)}, {"transB": 1})
        yield Case(f"linear of {size} x 384", "Gemm", "@linear(x, w, b)", *given)


def cases() -> Iterator[Case]:
    for family in (convolutions, recurrent, pools, rows, elements, moves):
        yield from family()


def in_rx(case: Case) -> Callable[..., Any]:
    """A function of what is fed; the rest are constants of a file each."""
    params = ", ".join(f"{name} : {_type(value)}" for name, value in case.fed.items())
    text = f"@f = fn({params}) {{ {case.rx} }}"
    with TemporaryDirectory() as folder:
        for name, value in case.constant.items():
            if re.search(rf"\b{name}\b", case.rx):
                np.save(f"{folder}/{name}.npy", value)
                text = f'const {name} : {_type(value)} = load("{name}.npy")\n{text}'
        function = rx.loads(text, roots=[folder]).f
    return lambda feeds: function(*feeds.values())


def _type(value: Any) -> str:
    return f"Tensor([{', '.join(map(str, value.shape))}], {value.dtype})"


def ratio(first: Callable[[Any], Any], second: Callable[[Any], Any], feeds: Any) -> tuple[float, float, float]:
    """Medians of both in microseconds, and the median of their ratios."""
    calls = [max(1, round(SAMPLE / max(_took(run, feeds, 3), 1))) for run in (first, second)]
    times: list[tuple[float, float]] = []
    end = process_time() + SECONDS
    while process_time() < end or len(times) < 5:
        times.append((_took(first, feeds, calls[0]), _took(second, feeds, calls[1])))
    a, b = zip(*times, strict=True)
    return median(a) / 1e3, median(b) / 1e3, median(x / y for x, y in times)


def _took(run: Callable[[Any], Any], feeds: Any, calls: int) -> float:
    """Nanoseconds of one call, the mean of several."""
    begin = process_time_ns()
    for _ in range(calls):
        run(feeds)
    return (process_time_ns() - begin) / calls


def measure(case: Case) -> bool:
    """Prints a row; whether its bounds are kept."""
    model = operator(case.op, case.fed, case.constant, case.results, **case.attributes)
    ours, theirs, plain = in_rx(case), onnxruntime(model), reference(model)
    made, wanted = ours(case.fed), theirs(case.fed)
    for ours_, theirs_ in zip(made if isinstance(made, tuple) else (made,), wanted, strict=True):
        np.testing.assert_allclose(ours_, theirs_, 1e-3, 1e-4, err_msg=case.name)
    micro, ort, fast = ratio(ours, theirs, case.fed)
    _, slow, fair = ratio(ours, plain, case.fed)
    kept = fair <= SLACK and (case.bound is None or fast <= case.bound)
    bound = f"at most {case.bound:g}" if case.bound is not None else ""
    print(
        f"{case.name:<40} {micro:10.1f} {ort:10.1f} {slow:11.1f} {fast:8.2f} {fair:8.2f}  {bound:<12}{'' if kept else ' !'}"
    )
    return kept


def main(names: list[str]) -> int:
    if missing():
        print(f"not installed: {missing()}")
        return 2
    print(f"{'CPU time, us':<40} {'rx':>10} {'onnxrt':>10} {'reference':>11} {'/ onnxrt':>8} {'/ ref':>8}")
    kept = [measure(case) for case in cases() if not names or any(name in case.name for name in names)]
    print(f"bounds: {'kept' if all(kept) else 'exceeded'}")
    return int(not all(kept))


if __name__ == "__main__":
    one_thread()
    sys.exit(main(sys.argv[1:]))
