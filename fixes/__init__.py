"""Fixes of a program, each applied in memory and checked before anybody sees it."""
