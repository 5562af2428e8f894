"""Evaluate an annotation that is a string; an unknown name stands for itself."""

from __future__ import annotations

import ast
import builtins
import re
import typing
from collections.abc import Mapping
from typing import Any

from .notation import CLASSES, UnreadAnnotation

# A tensor's type in Rx; text in quotes is skipped.
RX = re.compile(r"""\bTensor\s*\(\s*(\[[^\]]*\]|\?|[^\W\d]\w*)\s*(?:,\s*([^(),\]]+?)\s*)?\)|"[^"]*"|'[^']*'""")


def evaluated(text: str, known: Mapping[str, Any]) -> Any:
    """The value of a string; unknown names stand for themselves."""
    names = _Names(known)
    try:
        tree = ast.parse(RX.sub(names.rx, text.strip()), mode="eval")
        tree = ast.fix_missing_locations(_Unquoted(names).visit(tree))
        return eval(compile(tree, "<annotation>", "eval"), {}, names)
    except (SyntaxError, RecursionError):
        raise UnreadAnnotation(f"`{text}` is no annotation of Python's") from None
    except (NameError, AttributeError, TypeError, ValueError, LookupError) as problem:
        if CLASSES.keys() & set(re.findall(r"\w+", text)) - _COMMON:
            raise UnreadAnnotation(f"`{text}` cannot be looked up: {problem}") from None
        return None


# Names of dtype classes that other objects commonly have, too.
_COMMON = {"Complex", "Float", "Int", "Bool"}


class InRx:
    """The dtype class of a type in Rx's notation."""


class _Unquoted(ast.NodeTransformer):
    """Reads `"X" | None` as `X | None`."""

    def __init__(self, names: _Names) -> None:
        self.names = names

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        for side in ("left", "right"):
            match getattr(node, side):
                case ast.Constant(value=str(text)):
                    setattr(node, side, ast.parse(RX.sub(self.names.rx, text.strip()), mode="eval").body)
        return self.generic_visit(node)


class _Names(dict[str, Any]):
    """The names available to an annotation in a string."""

    def __missing__(self, name: str) -> Any:
        known = getattr(builtins, name, None) or getattr(typing, name, None)
        return unknown(name) if known is None else known

    def rx(self, found: re.Match[str]) -> str:
        """A name that stands for a type in Rx's notation."""
        if found[1] is None:
            return found[0]
        name = f"_rx_{len(self)}"
        said = {"dim_str": found[0], "dtype": InRx, "shape": found[1], "of": found[2] or "?"}
        self[name] = unknown(found[0], **said)
        return name


class UnknownName(type):
    """The class of placeholders for unknown names."""

    held: tuple[Any, ...]

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_") or name == "dim_str":
            raise AttributeError(name)
        return unknown(name)

    def __getitem__(cls, item: Any) -> Any:
        parts = item if isinstance(item, tuple) else (item,)
        text = f"{cls.__name__}[{', '.join(getattr(p, '__name__', repr(p)) for p in parts)}]"
        if len(parts) == 2 and isinstance(parts[1], str) and not hasattr(parts[0], "dim_str"):
            return unknown(text, dim_str=parts[1], dtype=cls)
        if cls.__name__ in CLASSES:
            raise UnreadAnnotation(f'`{text}` is not like `{cls.__name__}[Array, "n m"]`')
        return unknown(text, held=parts)

    def __repr__(cls) -> str:
        return cls.__name__


def unknown(name: str, **said: Any) -> Any:
    return UnknownName(name, (), {"held": (), "__module__": "builtins", **said})
