"""The equation of an einsum, parsed: `"...ij,jk->...ik"` to the labels of each term before and after its ellipsis."""

from __future__ import annotations

from functools import lru_cache

from ..lang.node import Node
from .requirements import Other, WrittenSize


class Term(Node):
    """The labels of one operand or of the result, before and after the ellipsis; without an ellipsis all are in `head`."""

    head: str
    ellipsis: bool
    tail: str

    def __str__(self) -> str:
        return f"{self.head}{'...' if self.ellipsis else ''}{self.tail}"


class Equation(Node):
    terms: tuple[Term, ...]
    result: Term


@lru_cache(maxsize=256)
def parse_equation(text: str) -> Equation | Other:
    """The equation, or the requirement that it violates."""
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = [_term(part) for part in left.split(",")]
    result = _term(right)
    if result is None or None in terms:
        letters = 'letters, commas, one "->" and at most one "..." for each term in the equation'
        return Other(letters, (WrittenSize(text, None),), 'it is "{0}"')
    operands = tuple(t for t in terms if t is not None)
    if not arrow:
        return Equation(operands, _implied(operands))
    labels = result.head + result.tail
    for label in labels:
        if labels.count(label) > 1:
            return Other("each label once in the result of the equation", but=f"`{label}` stands there twice")
        if not any(label in t.head + t.tail for t in operands):
            return Other("each label of the result in a term of the equation", but=f"`{label}` is in none")
    if result.ellipsis and not any(t.ellipsis for t in operands):
        return Other('"..." in a term of the equation, because it is in the result')
    return Equation(operands, result)


def _term(text: str) -> Term | None:
    head, dots, tail = text.partition("...")
    if not (head + tail).isascii() or not ((head + tail) == "" or (head + tail).isalpha()):
        return None
    return Term(head, bool(dots), tail)


def _implied(terms: tuple[Term, ...]) -> Term:
    labels = "".join(t.head + t.tail for t in terms)
    once = "".join(sorted(c for c in set(labels) if labels.count(c) == 1))
    return Term("", True, once) if any(t.ellipsis for t in terms) else Term(once, False, "")
