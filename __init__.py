"""Rx: a shape-assertion language for tensor programs."""
