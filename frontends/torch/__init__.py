"""PyTorch code to Rx programs: it runs once with symbolic sizes and no data."""
