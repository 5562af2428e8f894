"""People's own Python functions: signatures read, doors written, composed, counted under pytest."""
