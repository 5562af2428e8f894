"""Fixes of a program, each applied in memory and checked before the user sees it."""
