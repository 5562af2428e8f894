"""The families of fixes, a module each: `fixes(case)` yields what may be right. What is, checking tells."""
