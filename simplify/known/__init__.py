"""The facts about a program's values while it is checked: shapes, dtypes, conditions by name."""
