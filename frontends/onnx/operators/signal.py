"""Fourier transforms, windows and mel weights."""

from __future__ import annotations

from .registry import Reader, Row, add, operator, rows


def _flag(node: Reader, name: str, default: int = 0) -> str:
    value = node.integer(name, default)
    return "" if value == default else f", {name}={'true' if value else 'false'}"


@operator("DFT", 20)
def dft(node: Reader) -> str:
    axis = node.elements(2)
    return _dft(node, f", axis={axis[0]}" if axis else node.optional(2, "along"))


def _dft(node: Reader, along: str) -> str:
    flags = _flag(node, "inverse") + _flag(node, "onesided")
    return f"@onnx.dft({node.x(0)}{node.optional(1, 'length')}{along}{flags})"


@operator("STFT", 17)
def stft(node: Reader) -> str:
    given = node.optional(2, "window") + node.optional(3, "length")
    return f"@onnx.stft({node.x(0)}, {node.x(1)}{given}{_flag(node, 'onesided', 1)})"


def _dtype(node: Reader) -> str:
    dtype = node.dtype("output_datatype")
    return "" if dtype in (None, "float32") else f", dtype={dtype}"


def _window(kind: str) -> Row:
    return lambda node: f'@onnx.window({node.x(0)}, kind="{kind}"{_flag(node, "periodic", 1)}{_dtype(node)})'


add("HannWindow", _window("hann"), 17)
add("HammingWindow", _window("hamming"), 17)
add("BlackmanWindow", _window("blackman"), 17)


rows(
    {
        "DFT@17": lambda node: _dft(node, f", axis={node.integer('axis', 1)}"),
        "MelWeightMatrix@17": lambda node: f"@onnx.mel_weights({', '.join(node.xs())}{_dtype(node)})",
    }
)
