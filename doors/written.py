"""Where doors run: `libraries.py` puts in what they speak of.

A module of its own, since PyTorch's compiler looks up the names of a function in the module that it says it is of.
"""
