"""Names that Rx can write, for a model's names: short, all different, and the same ones each time; the originals are kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import accumulate

from ...lang.build import NO_NAMES
from ...lang.dtypes import CLASSES, DTYPES
from ...lang.expressions import unused
from ...lang.lexer import WORDS
from ...sizes.operators import PROD, size_functions

_LONGEST = 40
_ILLEGAL = re.compile(r"[^A-Za-z0-9_]+")
# Words that mean something else in place of a name.
RESERVED = frozenset(WORDS) | {*DTYPES, *CLASSES, *NO_NAMES} | {
    "Tensor", "Size", "Shape", "DType", "Bool", *size_functions(), PROD, "tensor", "load", "match_shape", "range", "main",
}  # fmt: skip


class ScopeNames:
    """The names of one scope. Values, sizes and functions have separate originals: a value `n` and a size `n` get two names.
    The first to ask gets the nearest name."""

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._used = set(taken)
        self._made: dict[tuple[str, str], str] = {}
        self._next: dict[str, int] = {}

    def value(self, original: str) -> str:
        return self._of("v", original)

    def size(self, original: str) -> str:
        return self._of("n", original)

    def function(self, original: str) -> str:
        return self._of("f", original)

    def fresh(self, hint: str) -> str:
        """A new name, unused in the model."""
        return self._distinct(_legal(hint, "v"))

    def unnamed_size(self, hint: str) -> str:
        """The name of a size that has none in the model."""
        return self._of("u", hint)

    def sizes(self) -> Iterator[tuple[str, str]]:
        """Each size's name, with its name in the model."""
        for (kind, original), made in self._made.items():
            if kind in "nu":
                yield made, original if kind == "n" else made

    def _of(self, kind: str, original: str) -> str:
        """The name for an original; `kind` also becomes the first letter of a name without one."""
        if (kind, original) not in self._made:
            self._made[kind, original] = self._distinct(_legal(original, kind))
        return self._made[kind, original]

    def _distinct(self, name: str) -> str:
        made, count = name, self._next.get(name, 2)
        while made in self._used or made in RESERVED:
            made, count = f"{name}_{count}", count + 1
        self._next[name] = count
        self._used.add(made)
        return made


def _legal(original: str, letter: str) -> str:
    """A name of letters, digits and underscores; of a long one only the last parts of its path."""
    parts = original.split("/" if "/" in original else ".")
    if len(original) > _LONGEST:
        lengths = accumulate(len(part) + 1 for part in reversed(parts))
        parts = parts[-max(1, sum(length <= _LONGEST + 1 for length in lengths)) :]
    legal = _ILLEGAL.sub("_", "_".join(parts)).strip("_")[-_LONGEST:].lstrip("_")
    return legal if legal[:1].isalpha() else f"{letter}{legal}"


class Originals:
    """Texts of sizes in the model's own names. In expressions, a name that would be misread keeps its Rx name, changed to
    differ from all of the model's."""

    def __init__(self, sizes: Mapping[str, str]) -> None:
        taken = Counter(sizes.values())
        self.sizes = {made: name if taken[name] == 1 else unused(made, taken) for made, name in sizes.items()}
        self.in_expressions = {
            made: name if _NAME.fullmatch(name) and name not in RESERVED else unused(made, taken)
            for made, name in self.sizes.items()
        }

    def of(self, text: str) -> str:
        if text in self.sizes:
            return self.sizes[text]
        return _NAME_IN.sub(lambda found: self.in_expressions.get(found[0], found[0]), text)


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME_IN = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z_][A-Za-z0-9_]*")
