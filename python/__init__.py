"""Users' Python functions to the same functions behind an entry check; programs, models and sizes for Python users."""
