"""A program to the memory that a call takes at its peak, as an expression in its sizes."""
