"""The grammar (rx.lark) and the parse table generated from it."""
