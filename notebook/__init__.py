"""Programs in cells of a notebook; see magics.py."""
