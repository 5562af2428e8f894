"""From a program to the peak memory of a call, as an expression in its sizes."""
