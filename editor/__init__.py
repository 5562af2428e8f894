"""Texts that somebody edits to what an editor shows of them; the language server."""
