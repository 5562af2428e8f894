"""Engines other than NumPy for checked programs: tables of kernels, and the code around them."""
