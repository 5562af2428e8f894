"""A model that came from elsewhere, as a whole: what it demands of its inputs, and what would change that."""
