"""Texts of rules: the words of a call, and the lines made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

# The operands and attributes of a call by the names of their parameters, as text; "none" for those left out.
Texts = dict[str, str]
Written = Callable[[Texts], str | None]


def items_of(text: str) -> list[str] | None:
    """Return the items of a list text; None if it is no list."""
    if not text.startswith("["):
        return None
    found, depth = [""], 0
    for char in text[1:-1]:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and not depth:
            found.append("")
        else:
            found[-1] += char
    return [f.strip() for f in found if f.strip()]


def axes_of(text: str) -> list[int] | None:
    """Return axes as numbers; None if the text has none."""
    items = items_of(text) if text.startswith("[") else [text]
    return None if items is None or text == "none" else [int(i) for i in items]


def args_of(texts: Texts, **others: str) -> str:
    """Return the arguments of a call as text, with some replaced; "none" removes an argument."""
    given = {n: n for n in (n.removesuffix(" kind") for n in texts if n.endswith(" kind"))}
    return ", ".join(f"{n}={t}" for n, t in (given | others).items() if t != "none")


def list_of(items: Iterable[str]) -> str:
    """Return a list of items as text."""
    return f"[{', '.join(items)}]"


def moved(name: str, **others: str) -> Callable[[Texts], str]:
    """Return the rule of a primitive that takes, moves or repeats elements: applied to their positions, it shows their
    origins."""

    def rule(texts: Texts) -> str:
        return (
            "let flat = @reshape(x, [-1])\n"
            "let at = @reshape(@arange(flat.dim(0)), x.shape)\n"
            f"let from = @reshape(@{name}({args_of(texts, x='at', **others)}), [-1])\n"
            "@reshape(@segment_sum(@reshape(g, [-1]), from, flat.dim(0)), x.shape)"
        )

    return rule
