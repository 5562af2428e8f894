"""What the command's exit status says that no result does."""

# As a shell has it of a program that a SIGINT has ended.
INTERRUPTED = 130
