"""Python text that computes a size, as a domain: operations on texts give texts."""

from __future__ import annotations

from typing import Any, NoReturn

from ..lang import core
from .evaluate import Domain, Operation
from .operators import SizeOperator


class NoNumber(Exception):
    """Only a number could answer a question about a text."""


def _binary(op: str, left: str = "{0}", right: str = "{1}") -> Any:
    """An operator between a size and another one, as text."""
    text = f"({left} {op} {right})"
    return lambda size, other: SizeText(text.format(size.text, text_of(other)))


class SizeText:
    """A size as the Python text that computes it."""

    def __init__(self, text: str) -> None:
        self.text = text

    __add__, __radd__ = _binary("+"), _binary("+", "{1}", "{0}")
    __sub__, __rsub__ = _binary("-"), _binary("-", "{1}", "{0}")
    __mul__, __rmul__ = _binary("*"), _binary("*", "{1}", "{0}")
    __floordiv__, __rfloordiv__ = _binary("//"), _binary("//", "{1}", "{0}")
    __mod__, __rmod__ = _binary("%"), _binary("%", "{1}", "{0}")

    def __neg__(self) -> SizeText:
        return SizeText(f"(-{self.text})")

    def _no_answer(self, *_: Any) -> NoReturn:
        raise NoNumber

    __bool__ = __eq__ = __hash__ = __lt__ = __le__ = __gt__ = __ge__ = __index__ = __int__ = _no_answer


def text_of(size: Any) -> str:
    if isinstance(size, SizeText):
        return size.text
    if type(size) is not int:
        raise NoNumber
    return str(size) if size >= 0 else f"({size})"


class Texts(Domain):
    """Expressions as Python text, which checks the operands of an operation in place unless they are literal numbers."""

    def literal(self, e: Any) -> str:
        return str(e.value) if isinstance(e, core.BoolConst) else text_of(e.value)

    def helper(self, name: str) -> str:
        """The name of a function of sizes, or of the check of an operation, in the text."""
        return name

    def min(self, *sizes: SizeText) -> SizeText:
        return SizeText(f"{self.helper('min')}({', '.join(map(text_of, sizes))})")

    def max(self, *sizes: SizeText) -> SizeText:
        return SizeText(f"{self.helper('max')}({', '.join(map(text_of, sizes))})")

    def prod(self, shape: str) -> str:
        return f"{self.helper('prod')}({shape})"

    def broadcast(self, e: Operation, left: str, right: str) -> str:
        return f"{self.helper('broadcast_shapes')}({left}, {right})"

    def operation(self, row: SizeOperator, e: Operation, left: str, right: str) -> str:
        positive = isinstance(e.right, core.SizeLit) and e.right.value > 0
        if row.exactly or row.fits or row.divides and not positive:
            return f"{self.helper(row.check)}({left}, {right})"
        return text_of(row.meaning(self, SizeText(left), SizeText(right)))
