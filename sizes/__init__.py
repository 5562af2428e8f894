"""The meaning of expressions over sizes, shapes, dtypes and conditions: a table of operators, and the one evaluator."""
