"""A function at one set of sizes, in plain numbers, and whether all that it calls fits after a change."""
