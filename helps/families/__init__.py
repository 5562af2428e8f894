"""The families of mends, a module each: `mends(case)` yields what may be right. What is, checking tells."""
