"""Shape rules of the primitives, one module per family; importing a module adds its rows."""
