"""Texts in an editor to what the editor shows of them; the language server."""
