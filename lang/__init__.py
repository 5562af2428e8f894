"""Text to trees and trees to text: sources and spans, parser, sweet and core tree, printers, diagnostics. No solver, no NumPy."""
