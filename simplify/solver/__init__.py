"""Conditions on sizes, and whether facts decide them; it knows nothing of programs."""
