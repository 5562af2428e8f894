"""Core program to simplified core: obligations decided, shapes propagated, proved checks removed, the rest reported."""
