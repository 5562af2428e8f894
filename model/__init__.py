"""The contract of an imported model: the conditions on its inputs, and changes that would remove them."""
