"""Text to trees and back: sources and spans, parser, sweet and core tree, printers, diagnostics. No solver, no NumPy."""
