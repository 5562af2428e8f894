"""Where doors run: `libraries.py` puts in what their text speaks of. A module, since PyTorch's compiler looks up a function's names
in the module that it says it is of."""
