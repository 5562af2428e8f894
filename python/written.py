"""The namespace in which entry checks run; `libraries.py` adds the functions that they call.

A module of its own, since PyTorch's compiler looks up the names of a function in the module that it says it is of.
"""

# What pytest leaves out of a traceback: the error stands where the call is.
__tracebackhide__ = True
