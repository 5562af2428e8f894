"""What checking found, in the user's words."""
