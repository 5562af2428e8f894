"""Where entry checks run: `libraries.py` puts in what they speak of.

A module of its own, since PyTorch's compiler looks up the names of a function in the module that it says it is of.
"""

# What pytest leaves out of a traceback: the error stands where the call is.
__tracebackhide__ = True
