"""Exit statuses that no result stands for, as an exception."""

# As a shell has it of a program that a SIGINT has ended.
INTERRUPTED = 130
