"""The Python interface: entry checks for users' functions, and programs, models and sizes as Python objects."""
