"""What expressions over sizes, shapes, dtypes and conditions mean: the operators, a row each, and the one evaluator."""
