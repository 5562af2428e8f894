"""The meaning of expressions over sizes, shapes, dtypes and conditions: the operators, a row each, and the one evaluator."""
