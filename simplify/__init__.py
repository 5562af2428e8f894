"""Core program to simplified core: each obligation decided, shapes propagated, what is proved removed, the rest said in words."""
