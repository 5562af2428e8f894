"""Types of what a program computes with while it runs.

The arrays of NumPy, PyTorch, JAX and a graph of ONNX share attributes and operators, but no class. So mypy cannot check
their uses, and a name says here what a value is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# An array of the engine that runs; a literal number may stand for one of rank 0.
EngineArray = Any
# An array, or the tuple of arrays that a primitive with several results gives.
EngineResult = Any
# A dtype as the engine's kernels take it.
EngineDType = Any
# A size, and a size or several: ints, or `Dim`s where a graph of ONNX computes them.
EngineSize = Any
EngineSizes = Any
# Axes from 0 on; None stands for all of them.
Axes = tuple[int, ...] | None
# An array, a size, a shape, a dtype, a Bool, a function, or a tuple of these.
RunValue = Any
# What a caller hands in: an array of any library, a number, a nested list.
GivenValue = Any
# An attribute of a node of ONNX.
NodeAttribute = Any
# A size or a condition as a domain of sizes has it: a number or a truth value, unknown, or the text that computes it.
DomainSize = Any
DomainTruth = Any

# A module, or an object like one, with the functions of the array API.
ArrayNamespace = Any
# What computes a primitive, and a function of a program, as text was compiled to it.
Kernel = Callable[..., Any]
Compiled = Callable[..., Any]
# Values by name, such as those that generated text sees.
Namespace = dict[str, Any]
NumpyDType = np.dtype[Any]
