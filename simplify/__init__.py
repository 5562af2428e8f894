"""Reasoning about sizes: terms, facts, the layered decision procedure, shape propagation, witnesses."""
