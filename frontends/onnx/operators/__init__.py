"""Per operator: a node of a model to the Rx expression that it is."""
