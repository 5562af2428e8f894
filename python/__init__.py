"""People's own Python functions to the same functions behind an entry check: signatures read, entry checks written, composed,
counted."""
