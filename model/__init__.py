"""A model that came from elsewhere to its contract: what it demands of its inputs as a whole, and what would change that."""
