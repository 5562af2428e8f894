"""What a primitive is: one row each. No NumPy here; the kernels stand in interp/."""
