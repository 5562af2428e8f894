"""What was printed beside what a document shows of it."""

from __future__ import annotations


def agrees(printed: str, expected: str) -> bool:
    """Whether the output is the expected one, spaces at line ends apart; a line `...` skips any number of lines."""
    return matches(lines_of(printed), lines_of(expected))


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").split("\n")] if text.strip() else []


def matches(actual: list[str], expected: list[str]) -> bool:
    if "..." not in expected:
        return actual == expected
    here = expected.index("...")
    rest = expected[here + 1 :]
    if not rest:
        return actual[:here] == expected[:here]
    return actual[:here] == expected[:here] and any(matches(actual[k:], rest) for k in range(here, len(actual) + 1))
