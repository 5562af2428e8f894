"""Core program to results over NumPy: kernels, residual checks, values."""
