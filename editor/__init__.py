"""The language server, and the facts that an editor shows of programs."""
