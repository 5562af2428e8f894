"""Translation of other notations to Rx programs."""
