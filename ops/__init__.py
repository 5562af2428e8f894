"""A primitive's name to its row: parameters, dtypes, shape rule, documentation. No NumPy here; kernels are in interp/."""
