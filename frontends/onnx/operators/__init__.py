"""The Rx expression of a model's node, by operator."""
