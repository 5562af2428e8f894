"""People's own Python functions to the same functions behind a door: signatures read, doors written, composed, counted."""
