"""What is known of a program's values while it is checked: shapes, dtypes, facts by name."""
