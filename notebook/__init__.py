"""Programs in cells of a notebook to modules and to what is shown below the cell; see magics.py."""
