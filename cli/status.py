"""Exit statuses for endings without a result."""

# The status that a shell reports for a program ended by SIGINT.
INTERRUPTED = 130
