"""Text and trees: source and spans, diagnostics, sweet tree, core tree, dtypes, parser, printer. No solver, no NumPy."""
