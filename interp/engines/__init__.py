"""Other engines than NumPy under a checked program: tables of kernels, and what the program's text needs beside them."""
