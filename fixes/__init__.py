"""Helps: fixes of a program that were applied in memory and checked before anybody is told of them."""
