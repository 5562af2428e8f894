"""The text of a Size, Shape or Bool expression to the names in it, or to the same expression under other names."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

# Numbers and what is called are none.
_NAME = re.compile(r"[^\W\d]\w*'*(?![\w'(])")


def names_in(*texts: object) -> list[str]:
    """The names in expressions, each once, from left to right; a number is given as it is."""
    return list(dict.fromkeys(name for text in texts if isinstance(text, str) for name in _NAME.findall(text)))


def renamed(text: object, names: Mapping[str, str]) -> str:
    """An expression in which each name that has another one is called by that."""
    return _NAME.sub(lambda found: names.get(found[0], found[0]), str(text))


def grouped(names: Sequence[str]) -> str:
    """One name, or a tuple of several."""
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def sizes_text(sizes: Mapping[str, object]) -> str:
    """Names with the sizes that they stand for."""
    return ", ".join(f"{name} = {n}" for name, n in sizes.items())


def unused(name: str, taken: Container[str]) -> str:
    """The name, with as many `_` as nothing else has."""
    while name in taken:
        name += "_"
    return name
