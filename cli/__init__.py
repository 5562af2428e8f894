"""Command lines to what is printed and written: the command rx, all reading and writing of files, all terminal output."""
