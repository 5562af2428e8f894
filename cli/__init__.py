"""The command rx: all reading and writing of files, and terminal output."""
