"""The namespace in which entry checks run; `libraries.py` adds the functions that they call.

It is a separate module since PyTorch's compiler looks up a function's names in the module that the function says it is in.
"""

# Hides these frames from pytest's tracebacks: the error is shown at the call.
__tracebackhide__ = True
