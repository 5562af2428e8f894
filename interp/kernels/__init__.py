"""NumPy kernels, one function per row of ops/."""
