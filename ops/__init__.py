"""The name of a primitive to its row: parameters, dtypes, shape rule, documentation. No NumPy here; kernels stand in interp/."""
