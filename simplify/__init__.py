"""Core program to simplified core: obligations decided, shapes propagated, what is proved removed, the rest put into words."""
