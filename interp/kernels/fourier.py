"""NumPy kernels of Fourier transforms, which keep the precision of their operand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .create import cast
from .quiet import quiet
from .registry import Array, kernel, rows


def _filled(x: Array, axes: Iterable[int]) -> Array:
    """The array with one zero along each empty transformed axis, where NumPy reads beyond its memory."""
    if x.size:
        return x
    where = {axis % x.ndim for axis in axes}
    return np.zeros([max(size, 1) if i in where else size for i, size in enumerate(x.shape)], x.dtype)


def _along_one(name: str) -> None:
    transform: Any = getattr(np.fft, name)

    @kernel(name)
    @quiet
    def run(x: Array, n: int | None, axis: int, norm: str) -> Array:
        return transform(_filled(x, (axis,)), n, axis, norm)  # type: ignore[no-any-return]


def _along_several(name: str) -> None:
    transform: Any = getattr(np.fft, name)

    @kernel(name)
    @quiet
    def run(x: Array, s: Sequence[int] | None, axes: tuple[int, ...] | None, norm: str) -> Array:
        where = range(-(x.ndim if s is None else len(s)), 0) if axes is None else axes
        return transform(_filled(x, where), s, where, norm)  # type: ignore[no-any-return]


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _along_one(_name)
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    _along_several(_name)


rows(
    {
        "fftfreq": quiet(
            lambda n, d, dtype: np.asarray(cast(np.fft.fftfreq(n, d), np.float32 if dtype is None else dtype))
        ),
        "rfftfreq": quiet(
            lambda n, d, dtype: np.asarray(cast(np.fft.rfftfreq(n, d), np.float32 if dtype is None else dtype))
        ),
        "fftshift": lambda x, axes: np.fft.fftshift(x, axes),
        "ifftshift": lambda x, axes: np.fft.ifftshift(x, axes),
    }
)
