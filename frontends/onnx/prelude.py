"""Users' rules in Rx: `@com_acme_Foo` is the operator `Foo` of the domain `com.acme`, `@Foo` one of ONNX's own."""

from __future__ import annotations

import re

from ...lang import sweet
from ...lang.diagnostics import RxError
from ...lang.no_rule import rule_name
from ...lang.node import Node
from ...lang.parser import parse
from ...lang.source import Source
from .literals import listed, number, quoted
from .model import Operation
from .operators.registry import Reader, Untranslatable

_LEGAL = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Prelude(Node):
    """A text in Rx to put before a model's program, and its functions, which are rules."""

    text: str = ""
    functions: frozenset[str] = frozenset()

    @property
    def words(self) -> frozenset[str]:
        """The names that the model's own must avoid."""
        return frozenset(re.findall(r"\w+", self.text))

    def rule(self, operation: Operation) -> str | None:
        """The function that is an operator's rule, or None."""
        name = rule_name(operation.domain, operation.op_type)
        return name if name in self.functions else None


def read_prelude(source: Source) -> Prelude:
    """Parse a prelude. Raises RxError for a text that is no Rx."""
    module, problems = parse(source)
    wrong = tuple(d for d in problems if d.severity == "error")
    if wrong:
        raise RxError(*wrong)
    named = (item.name.name for item in module.items if isinstance(item, sweet.FnDecl | sweet.Impls))
    return Prelude(source.text, frozenset(named))


def called(name: str, node: Reader) -> str:
    """A call of a rule: the inputs in order, then the attributes by their names."""
    inputs = [node.x(at) for at in range(len(node))]
    given = [f"{_parameter(key)}={_text(key, value)}" for key, value in node.operation.attributes.items()]
    return f"@{name}({', '.join((*inputs, *given))})"


def _parameter(name: str) -> str:
    if not _LEGAL.fullmatch(name):
        raise Untranslatable(f"has the attribute `{name}`, which no parameter of a function in Rx can be called")
    return name


def _text(name: str, value: object) -> str:
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, tuple) and all(isinstance(v, int | float) for v in value):
        return listed([number(v) for v in value])
    raise Untranslatable(
        f"has the attribute `{name}`, which is no number, text or list that a function in Rx could take"
    )
