"""The families of fixes, one per module: `fixes(case)` yields candidates, and checking decides which are right."""
