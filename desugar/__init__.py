"""Sweet tree to core tree: patterns solved, wrapper and implementation split, origins attached."""
