"""The families of fixes, a module each: `fixes(case)` yields candidates, and checking decides which are right."""
