"""Types of the values of a running program.

The arrays of NumPy, PyTorch, JAX and an ONNX graph share attributes and operators, but no class. So mypy cannot check their
uses; the names here describe the values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# An array of the engine that runs; a literal number may stand for one of rank 0.
EngineArray = Any
# An array, or the tuple of arrays that a primitive with several results returns.
EngineResult = Any
# A dtype as the engine's kernels take it.
EngineDType = Any
# A size, and a size or several: ints, or `Dim`s if an ONNX graph computes them.
EngineSize = Any
EngineSizes = Any
# Axes from 0 on; None stands for all of them.
Axes = tuple[int, ...] | None
# An array, a size, a shape, a dtype, a Bool, a function, or a tuple of these.
RunValue = Any
# An argument from the caller: an array of any library, a number, a nested list.
GivenValue = Any
# An attribute of an ONNX node.
NodeAttribute = Any
# A size or a condition in a domain of sizes: a number or a truth value, unknown, or the text that computes it.
DomainSize = Any
DomainTruth = Any

# A module, or an object like one, with the functions of the array API.
ArrayNamespace = Any
# A function that computes a primitive, and a function compiled from a program's text.
Kernel = Callable[..., Any]
Compiled = Callable[..., Any]
# Values by name, such as those that generated text sees.
Namespace = dict[str, Any]
NumpyDType = np.dtype[Any]
