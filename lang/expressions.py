"""The names in the text of a Size, Shape or Bool expression, and the same expression under other names."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

# Numbers and names of called functions do not match.
_NAME = re.compile(r"[^\W\d]\w*'*(?![\w'(])")


def names_in(*texts: object) -> list[str]:
    """The names in expressions, each once, from left to right; numbers among `texts` have none."""
    return list(dict.fromkeys(name for text in texts if isinstance(text, str) for name in _NAME.findall(text)))


def renamed(text: object, names: Mapping[str, str]) -> str:
    """The expression with each name replaced by its new name, if it has one."""
    return _NAME.sub(lambda found: names.get(found[0], found[0]), str(text))


def grouped(names: Sequence[str]) -> str:
    """One name, or a tuple of several."""
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def sizes_text(sizes: Mapping[str, object]) -> str:
    """Names with their sizes."""
    return ", ".join(f"{name} = {n}" for name, n in sizes.items())


def unused(name: str, taken: Container[str]) -> str:
    """The name, with as many `_` appended as make it unused."""
    while name in taken:
        name += "_"
    return name
