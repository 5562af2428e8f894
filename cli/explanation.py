"""`rx check --explain NAME`: what is known of a name, fact by fact, each with its place."""

from __future__ import annotations

from ..lang.checked import Checked, Explanation, Fact
from ..lang.source import Span


def explanation(checked: Checked, name: str) -> str:
    found = checked.explain(name)
    if not found:
        return f"no function knows a `{name}`"
    return "\n".join(_one(e) for e in found)


def _one(found: Explanation) -> str:
    place = _place(found.span)
    lines = [f"{found.name} in {found.function}: {found.known}{place and f'  ({place})'}"]
    lines.extend(_fact(fact) for fact in found.facts)
    return "\n".join(lines)


def _fact(fact: Fact) -> str:
    place = _place(fact.place)
    return f"  {fact.text}{place and f'  ({place})'}"


def _place(span: Span) -> str:
    if not span.source.text:
        return ""
    line, column = span.source.position(span.start)
    return f"{span.source.name}:{line}:{column}"
