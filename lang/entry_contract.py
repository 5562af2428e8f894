"""The contract in an exported model's metadata: conditions on its inputs."""

from __future__ import annotations

import json

from .diagnostics import RxError
from .expressions import names_in
from .node import Node
from .parser import parse_conditions
from .source import Source

# Next to `rx.contract`, which `rx infer` writes about a model's nodes.
KEY = "rx.entry_contract"
VERSION = 1


class EntryContract(Node):
    """`conditions` are in Rx, over `sizes`: the sizes that the model declares and the inputs that stand for a Size."""

    sizes: tuple[str, ...]
    conditions: tuple[str, ...]

    def names(self) -> list[str]:
        """The names in the conditions."""
        return [name for name in names_in(*self.conditions) if name not in ("true", "false")]


def read_entry(text: str) -> EntryContract:
    """Read a contract. A malformed one raises ValueError, whose message completes "the contract in its metadata ..."."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("is no JSON") from None
    if not isinstance(found, dict) or found.get("version") != VERSION:
        raise ValueError(f"is not of version {VERSION}")
    parts = [found.get(part) for part in ("sizes", "conditions")]
    if not all(isinstance(part, list) and all(isinstance(item, str) for item in part) for part in parts):
        raise ValueError("has no lists of sizes and conditions")
    sizes, conditions = (tuple(part or ()) for part in parts)
    for condition in conditions:
        _checked(condition)
    return EntryContract(sizes, conditions)


def _checked(condition: str) -> None:
    """Check that a condition, which is written into a program, is one expression on one line and nothing else."""
    try:
        is_one = condition.isprintable() and not set(condition) & set('#"{}') and len(_parsed(condition)) == 1
    except RxError:
        is_one = False
    if not is_one:
        raise ValueError(f"has a condition that cannot be read: {condition!r}")


def _parsed(condition: str) -> tuple[object, ...]:
    return parse_conditions(Source("contract", condition), 0)
