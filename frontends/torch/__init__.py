"""PyTorch code as Rx programs: it runs once with symbolic sizes and no data."""
