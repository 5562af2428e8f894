"""What is exported: a module with inputs to run it on, under the name of the function that makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor, nn

Axes = Mapping[int, str]
IMAGE: Axes = {0: "batch", 2: "h", 3: "w"}


class Export:
    """A module with example inputs, and which axes of each input are open, by name."""

    def __init__(
        self, module: nn.Module, inputs: Mapping[str, Tensor], axes: Mapping[str, Axes], outputs: int = 1
    ) -> None:
        self.module, self.inputs, self.axes = module.eval(), inputs, axes
        self.outputs = [f"out{i}" for i in range(outputs)]


EXPORTS: dict[str, Callable[[], Export]] = {}


def export(made: Callable[[], Export]) -> Callable[[], Export]:
    EXPORTS[made.__name__] = made
    return made
