"""What several tests use: calls of primitives, random programs, and small notations translated to Rx."""
