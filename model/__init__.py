"""A model that came from elsewhere to its contract: what it demands of its inputs, and what would change that."""
