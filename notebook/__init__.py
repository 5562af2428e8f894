"""Programs in notebook cells: modules for Python, and the output below the cell; see magics.py."""
