"""Conditions on sizes and their decision from facts, independent of programs."""
