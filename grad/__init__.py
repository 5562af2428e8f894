"""Core to core: the derivative of a function as a function."""
