"""Other notations into Rx programs."""
