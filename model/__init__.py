"""A model from elsewhere to its contract: its conditions on its inputs, and changes that would remove them."""
