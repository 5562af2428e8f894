"""Findings to messages in the user's words."""
