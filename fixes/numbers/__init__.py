"""A function at one set of sizes, in plain numbers, and whether all its calls fit after a change."""
