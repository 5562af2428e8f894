"""A file's text to its concrete tree: all tokens, each with the comments that belong to it.

The same table that builds the sweet tree builds this one. A comment after code on its line belongs to the token before it, a
comment on a line of its own to the token after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ..grammar.table import RULES
from .lalr import Parser, Rule
from .lexer import scan
from .lines import END, find_lines
from .source import Source
from .sweet import Comment

_SPLICE = 1000


class TokenLeaf:
    """A token with its comments; `blank` tells whether an empty line precedes it.

    A leaf that stands for a row of numbers has them all in `words`.
    """

    __slots__ = ("text", "kind", "words", "before", "after", "blank")

    def __init__(self, kind: int, text: str, words: tuple[str, ...] = ()) -> None:
        self.kind, self.text, self.words = kind, text, words
        self.before: list[Remark] = []
        self.after: Remark | None = None
        self.blank = False


class Remark(NamedTuple):
    """A comment, and whether an empty line precedes it."""

    text: str
    blank: bool


class Tree:
    """A reduction: the rule's name and all its children, tokens included."""

    __slots__ = ("name", "children")

    def __init__(self, name: str, left: int, right: int, *children: Tree | TokenLeaf) -> None:
        self.name, self.children = name, children


def concrete_tree(source: Source, rows: dict[int, tuple[str, ...]]) -> tuple[list[Tree], TokenLeaf]:
    """The items of a text, and its end, which may have comments too. At the start of each of the `rows`, one token stands for
    all its numbers."""
    tokens = scan(source)
    lines = find_lines(tokens)
    leaves = [
        TokenLeaf(kind, source.text[start:end], rows.get(start, ()))
        for kind, start, end in zip(lines.kinds, lines.starts, lines.ends, strict=True)
    ]
    end = TokenLeaf(0, "")
    _attach(source.text, tokens.comments, leaves, [*lines.starts, len(source.text)], [*lines.ends, 0], end)
    parser = Parser(source.text, _concrete_rules())
    items = [
        parser.parse(lines.kinds[a:b], lines.starts[a:b], lines.ends[a:b], "item", leaves[a:b]) for a, b in lines.items
    ]
    return items, end


def _concrete_rules() -> list[Rule]:
    rules: list[Rule] = []
    for origin, length, name, recipe in RULES:
        if name is None and length == 1:
            rules.append((origin, 1, None, 0, 0))
            continue
        spliced = {pick - _SPLICE for pick in recipe if pick >= _SPLICE} if name is not None else set()
        all_ = tuple(i + _SPLICE if i in spliced else i for i in range(length))
        rules.append((origin, length, "" if name == "" else partial(Tree, name or "parens"), all_, 0))
    return rules


def _attach(
    text: str, comments: Sequence[Comment], leaves: list[TokenLeaf], starts: list[int], ends: list[int], last: TokenLeaf
) -> None:
    """Attach every comment to a token."""
    waiting = list(reversed(comments))
    previous: TokenLeaf | None = None
    reached = 0  # the end of the last token or comment
    for i, leaf in enumerate([*leaves, last]):
        if leaf.kind == END:
            continue
        while waiting and waiting[-1].span.start < starts[i]:
            comment = waiting.pop()
            remark = Remark(comment.text, _is_blank(text, reached, comment.span.start))
            reached = comment.span.end
            if comment.own_line or previous is None:
                leaf.before.append(remark)
            else:
                previous.after = remark
        leaf.blank = _is_blank(text, reached, starts[i])
        reached = ends[i]
        previous = leaf


def _is_blank(text: str, start: int, end: int) -> bool:
    between = text[start:end]
    return between.count("\n") + between.count("\r") - between.count("\r\n") > 1


def first_leaf(node: Tree | TokenLeaf) -> TokenLeaf:
    while isinstance(node, Tree):
        node = node.children[0]
    return node


def last_leaf(node: Tree | TokenLeaf) -> TokenLeaf:
    while isinstance(node, Tree):
        node = node.children[-1]
    return node
