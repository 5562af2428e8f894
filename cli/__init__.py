"""The command `rx`: command lines, all reading and writing of files, and all terminal output."""
