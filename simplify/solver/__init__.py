"""Conditions on sizes, and what facts make of them; knows nothing of programs."""
