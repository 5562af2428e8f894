"""`rx fmt`: a file's text in the one canonical layout, comments kept.

Anything that can stand on lines of its own (statements, members of bracketed lists, conditions, links of an operator chain)
is a slot: comments inside a slot that have no better place go above it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from . import layout
from .concrete import Remark, TokenLeaf, Tree, concrete_tree, first_leaf, last_leaf
from .diagnostics import Diagnostic
from .layout import HARD, LINE, SOFT, Concat, Doc, Hard, IfBroken, Trailing, WordRow, concat, fill, group, nest
from .lexer import KIND
from .lines import END
from .parser import parse
from .pause import collector_paused
from .rows import folded
from .source import Source

WIDTH = 100

_COMMA = KIND["COMMA"]
_LEVELS = {KIND["OR"]: 1, KIND["AND"]: 2, KIND["COMPARE"]: 3, KIND["IN"]: 3, KIND["SIGN"]: 4, KIND["STAR"]: 5}
_LEVELS |= {KIND["DIVIDE"]: 5}
_SIMPLE = {"integer", "float", "truth", "string"}
_GOES_ON = {"where", "with", "stack", "in", "as"}


@collector_paused
def format_source(source: Source) -> tuple[str | None, tuple[Diagnostic, ...]]:
    """The canonical text and no errors, or None and the syntax errors."""
    text, rows = folded(source.text)
    short = Source(source.name, text)
    if parse(short)[1]:
        _, problems = parse(source)
        if problems:
            return None, problems
        short, rows = source, {}
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 10_000))  # a tree of MAX_DEPTH levels takes several calls for each
    try:
        return _format(short, rows), ()
    finally:
        sys.setrecursionlimit(limit)


def _format(source: Source, rows: dict[int, tuple[str, ...]]) -> str:
    text = layout.render(_Layout().module(*concrete_tree(source, rows)), WIDTH)
    return text.lstrip("\n") + "\n" if text.strip() else ""


class _Layout:
    """Turns concrete trees into documents. Tokens must be visited in order, so that comments find their places."""

    def __init__(self) -> None:
        self.own: list[Remark] = []  # comments that go above the slot
        self.after: Remark | None = None  # the comment behind the last token

    # Files and slots

    def module(self, items: list[Tree], end: TokenLeaf) -> Doc:
        parts: list[Doc] = []
        for i, item in enumerate(items):
            blank, doc = self.statement(item, i > 0)
            if i:
                blank = blank or _has_body(item) or _has_body(items[i - 1])
                parts.append(Hard(blank))
            parts.append(doc)
        for i, remark in enumerate(end.before):
            if items or i:
                parts.append(Hard(remark.blank))
            parts.append(remark.text)
        return concat(*parts)

    def statement(self, tree: Tree | TokenLeaf, follows: bool) -> tuple[bool, Doc]:
        """A statement or item with its comments, and whether an empty line precedes it.

        After another statement, a statement that begins with a sign or a word that would continue the other is put in
        parentheses.
        """
        first = first_leaf(tree)
        blank = first.before[0].blank if first.before else first.blank
        continues = first.kind == KIND["SIGN"] or (first.kind == KIND["NAME"] and first.text in _GOES_ON)
        if follows and continues and _is_expression(tree):
            return blank, self.slot(lambda: concat("(", self.doc(tree), ")"), first)
        return blank, self.slot(lambda: self.doc(tree), first)

    def slot(self, make: Callable[[], Doc], first: TokenLeaf | None = None, bubble: bool = False) -> Doc:
        """The document of `make`, its comments above it and at its end. With `bubble` the comment at its end stays pending.

        With `first`, empty lines between the comments are kept.
        """
        self._hoist()
        outer, self.own = self.own, []
        body = make()
        own, self.own = self.own, outer
        parts: list[Doc] = []
        for i, remark in enumerate(own):
            following = own[i + 1] if i + 1 < len(own) else first
            blank = bool(first and following and following.blank and i < len(first.before))
            parts += [remark.text, Hard(blank)]
        parts.append(body)
        return concat(*parts) if bubble else concat(*parts, *self.taken())

    def _hoist(self) -> None:
        if self.after:
            self.own.append(Remark(self.after.text, False))
            self.after = None

    def leaf(self, leaf: TokenLeaf) -> str:
        self._hoist()
        self.own += leaf.before
        self.after = leaf.after
        return "==" if leaf.kind == KIND["COMPARE"] and leaf.text == "=" else leaf.text

    def doc(self, node: Tree | TokenLeaf) -> Doc:
        if isinstance(node, TokenLeaf):
            return self.leaf(node)
        method = getattr(self, node.name + "_", None)
        return method(*node.children) if method else self.spaced(*node.children)

    def spaced(self, *children: Tree | TokenLeaf) -> Doc:
        parts: list[Doc] = []
        for child in children:
            parts += [" ", self.doc(child)] if parts else [self.doc(child)]
        return concat(*parts)

    def tight(self, *children: Tree | TokenLeaf) -> Doc:
        return concat(*[self.doc(child) for child in children])

    # Bracketed lists

    def bracketed(
        self, opener: TokenLeaf, inside: Sequence[Tree | TokenLeaf], closer: TokenLeaf, comma: str = "broken"
    ) -> Doc:
        """`(a, b)`: on one line, or each member on its own. `comma` after the last one: never, broken, always."""
        open_text = self.leaf(opener)
        remark, self.after = self.after, None
        pairs = [
            (node, inside[i + 1] if i + 1 < len(inside) else None)
            for i, node in enumerate(inside)
            if not (isinstance(node, TokenLeaf) and node.kind == _COMMA)
        ]
        members = [self.member(node, comma_leaf) for node, comma_leaf in pairs]
        words = _words(pairs[0][0]) if len(pairs) == 1 else ()
        dangling, closer.before = closer.before, []
        close_text = self.leaf(closer)
        opened: list[Doc] = [open_text, Trailing(remark.text)] if remark else [open_text]
        ends: list[Doc] = [part for comment in dangling for part in (HARD, comment.text)]
        if not members:
            return concat(*opened, nest(*ends), HARD, close_text) if ends or remark else open_text + close_text
        if words:
            return group(
                open_text, nest(SOFT, WordRow(words, sum(map(len, words)) + 2 * len(words) - 2)), SOFT, close_text
            )
        if len(members) == 1 and not ends and not remark and _can_hug(pairs[0][0], members[0]):
            return concat(*opened, members[0], "," if comma == "always" else "", close_text)
        separated = _separated(members, IfBroken(",") if comma == "broken" else "," if comma == "always" else "")
        if len(members) > 1 and not ends and all(_is_simple(node) for node, _ in pairs):
            return group(*opened, nest(SOFT, fill(separated)), SOFT, close_text)
        return group(*opened, nest(SOFT, *separated, *ends), SOFT, close_text)

    def member(self, node: Tree | TokenLeaf, comma: Tree | TokenLeaf | None) -> Doc:
        def make() -> Doc:
            doc = self.doc(node)
            if isinstance(comma, TokenLeaf):
                self.leaf(comma)
            return doc

        return self.slot(make)

    def list_(self, opener: TokenLeaf, *rest: Tree | TokenLeaf) -> Doc:
        return self.bracketed(opener, rest[:-1], last_leaf(rest[-1]))

    choices_in_braces_ = type_parameters_ = list_

    def tuple_(self, opener: TokenLeaf, *rest: Tree | TokenLeaf) -> Doc:
        return self.bracketed(opener, rest[:-1], last_leaf(rest[-1]), "always" if len(rest) == 3 else "broken")

    tuple_type_ = tuple_target_ = tuple_

    def parens_(self, opener: TokenLeaf, inside: Tree | TokenLeaf, closer: TokenLeaf) -> Doc:
        return self.bracketed(opener, [inside], closer, "never")

    def single_target_(self, *children: Tree | TokenLeaf) -> Doc:
        docs = [self.doc(child) for child in children]
        return docs[len(docs) // 2]

    # Items

    def implementations_(self, name: Tree, equal: TokenLeaf, *rest: Tree | TokenLeaf) -> Doc:
        return concat(self.doc(name), " ", self.leaf(equal), " ", self.list_(first_leaf(rest[0]), *rest[1:]))

    def const_(self, *children: Tree | TokenLeaf) -> Doc:
        docs = [self.doc(child) for child in children]
        texts = [child.text if isinstance(child, TokenLeaf) else "" for child in children]
        colon = texts.index(":") if ":" in texts else None
        equal = texts.index("=")
        annotation = [" : ", docs[colon + 1]] if colon is not None else []
        return concat("const ", docs[1], *annotation, " = ", docs[equal + 1])

    def fn_(self, word: TokenLeaf, *rest: Tree | TokenLeaf) -> Doc:
        return self.fn_like(word, rest, in_line=False)

    def lambda_(self, word: TokenLeaf, *rest: Tree | TokenLeaf) -> Doc:
        return group(self.fn_like(word, rest, in_line=True))

    def fn_like(self, word: TokenLeaf, rest: Sequence[Tree | TokenLeaf], in_line: bool) -> Doc:
        close = next(i for i, child in enumerate(rest) if isinstance(child, TokenLeaf) and child.text == ")")
        parts: list[Doc] = [
            self.leaf(word),
            self.bracketed(first_leaf(rest[0]), _inner(rest[1:close]), last_leaf(rest[close])),
        ]
        for child in rest[close + 1 :]:
            if isinstance(child, TokenLeaf):
                parts += [" ", self.leaf(child)]
            elif child.name == "block":
                parts += [" ", self.block(child, in_line)]
            elif child.name == "where":
                parts.append(self.where(child))
            else:
                parts += [" ", group(self.doc(child), stiff=True)]
        return concat(*parts)

    def where(self, tree: Tree) -> Doc:
        """` where a, b`, on the next line if it does not fit."""
        return group(nest(LINE, self.conditions(tree)))

    def conditions(self, tree: Tree) -> Doc:
        """`where a, b`. No line ends directly after `where`."""
        word = self.doc(tree.children[0])
        parts: list[Doc] = []
        for child in tree.children[1:]:
            if isinstance(child, TokenLeaf):
                parts += [self.leaf(child), *self.taken(), LINE]
            elif not parts:
                parts.append(self.doc(child))
            else:
                parts.append(self.slot(partial(self.doc, child), bubble=True))
        return concat(word, " ", group(nest(*parts)))

    def taken(self) -> list[Doc]:
        """The comment behind the last token, to be written here."""
        remark, self.after = self.after, None
        return [Trailing(remark.text)] if remark else []

    def fn_type_(self, word: TokenLeaf, *rest: Tree | TokenLeaf) -> Doc:
        return self.fn_like(word, rest, in_line=True)

    def applied_type_(self, name: Tree | TokenLeaf, opener: TokenLeaf, *rest: Tree | TokenLeaf) -> Doc:
        return concat(self.doc(name), self.list_(opener, *rest))

    def type_item_(self, word: TokenLeaf, name: Tree, *rest: Tree | TokenLeaf) -> Doc:
        tight = concat(self.leaf(word), " ", self.doc(name))
        if isinstance(rest[0], Tree):
            tight, rest = concat(tight, self.doc(rest[0])), rest[1:]
        return concat(tight, " ", self.spaced(*rest))

    # Statements

    def assert_(self, word: TokenLeaf, cond: Tree, comma: TokenLeaf | None = None, message: Tree | None = None) -> Doc:
        parts: list[Doc] = [self.leaf(word), " ", self.doc(cond)]
        if comma and message:
            parts += [self.leaf(comma), nest(LINE, self.doc(message))]
        return group(*parts)

    def block(self, tree: Tree, in_line: bool) -> Doc:
        """`{ ... }`; with `in_line` a block of one expression may stay on its line (the caller makes the group)."""
        opener, closer = first_leaf(tree), last_leaf(tree)
        remark, self.after = self.after, None
        open_text = self.leaf(opener)
        if remark and self.after:
            self.own.append(remark)
        remark, self.after = self.after or remark, None
        statements = [
            child for child in tree.children[1:-1] if not (isinstance(child, TokenLeaf) and child.kind == END)
        ]
        docs = [self.statement(child, i > 0) for i, child in enumerate(statements)]
        dangling, closer.before = closer.before, []
        close_text = self.leaf(closer)
        opened = concat(open_text, Trailing(remark.text)) if remark else open_text
        if not docs and not dangling and not remark:
            return "{}"
        is_short = in_line and len(docs) == 1 and _is_expression(statements[0])
        line: Doc = LINE if is_short else HARD
        inside: list[Doc] = []
        for i, (blank, doc) in enumerate(docs):
            inside += [Hard(blank) if i else line, doc]
        for i, comment in enumerate(dangling):
            inside += [Hard(comment.blank and bool(docs or i)), comment.text]
        return concat(opened, nest(*inside), line, close_text)

    # Expressions

    def binary_(self, *children: Tree | TokenLeaf) -> Doc:
        """Links of one precedence make one chain, which breaks before its operators."""
        tree = Tree("binary", 0, 0, *children)
        operator = children[1]
        assert isinstance(operator, TokenLeaf)
        level = _LEVELS.get(operator.kind)
        if level is None:
            return self.spaced(*children)
        links: list[tuple[TokenLeaf, Tree | TokenLeaf]] = []
        node: Tree | TokenLeaf = tree
        while isinstance(node, Tree) and node.name in ("binary", "in_class") and _level(node) == level:
            links.append((first_leaf(node.children[1]), node.children[2]))
            node = node.children[0]
        return self.chain(node, links[::-1])

    in_class_ = binary_

    def chain(self, first: Tree | TokenLeaf, links: list[tuple[TokenLeaf, Tree | TokenLeaf]]) -> Doc:
        head = self.doc(first)
        parts: list[Doc] = []
        for operator, operand in links:
            parts += self.taken()
            above, operator.before = operator.before, []
            for remark in above:
                parts += [HARD, remark.text]
            sign = self.leaf(operator)
            parts += [HARD if above else LINE, sign, " ", self.doc(operand)]
        return group(head, nest(*parts))

    unary_ = attribute_ = splice_ = slice_ = keyword_ = type_name_ = tight

    def call_(self, callee: Tree | TokenLeaf, opener: TokenLeaf, *rest: Tree | TokenLeaf) -> Doc:
        return concat(self.doc(callee), self.bracketed(opener, _inner(rest[:-1]), last_leaf(rest[-1])))

    index_expression_ = applied_type_

    # Control flow

    def if_(self, *children: Tree | TokenLeaf) -> Doc:
        return group(self.arms(children))

    def arms(self, children: Sequence[Tree | TokenLeaf]) -> Doc:
        """All arms of an `else if` chain, in one group: all on one line or none."""
        word, opener, cond, closer, then, *rest = children
        parts: list[Doc] = [self.doc(word), " ", self.parens_(first_leaf(opener), cond, last_leaf(closer)), " "]
        assert isinstance(then, Tree)
        parts.append(self.block(then, True))
        if rest:
            parts += [" ", self.doc(rest[0]), " "]
            orelse = rest[1]
            assert isinstance(orelse, Tree)
            parts.append(self.arms(orelse.children) if orelse.name == "if" else self.block(orelse, True))
        return concat(*parts)

    def for_(self, *children: Tree | TokenLeaf) -> Doc:
        """The header on one line, or each of its clauses on its own."""
        *header, block = children
        words: list[list[Tree | TokenLeaf]] = [[header[0]]]
        for child in header[1:]:
            if child.name == "where" if isinstance(child, Tree) else child.text in ("with", "while", "stack"):
                words.append([])
            words[-1].append(child)
        parts: list[Doc] = [self.clause(words[0])]
        for clause in words[1:]:
            parts += [*self.taken(), LINE, self.slot(partial(self.clause, clause), bubble=True)]
        assert isinstance(block, Tree)
        return concat(group(parts[0], nest(*parts[1:])), " ", self.block(block, False))

    while_ = for_

    def clause(self, children: Sequence[Tree | TokenLeaf]) -> Doc:
        only = children[0]
        if isinstance(only, Tree):
            return self.conditions(only)
        if len(children) == 4 and isinstance(children[1], TokenLeaf):
            word, opener, inside, closer = children
            comma = "never" if only.text == "while" else "broken"
            return concat(
                self.doc(word), " ", self.bracketed(first_leaf(opener), _inner([inside]), last_leaf(closer), comma)
            )
        return self.spaced(*children)

    def condition_(self, *children: Tree | TokenLeaf) -> Doc:
        """`let k : Size = e; k < 3`: the statements before each turn of a loop, and its condition."""
        parts: list[Doc] = []
        for child in children:
            if isinstance(child, TokenLeaf) and child.kind == END:
                parts += [";", *self.taken(), LINE]
            else:
                parts.append(self.slot(partial(self.doc, child), bubble=True))
        return concat(*parts)


def _inner(children: Sequence[Tree | TokenLeaf]) -> Sequence[Tree | TokenLeaf]:
    """The members between brackets: those of the only list inside, or the thing itself."""
    only = children[0] if len(children) == 1 else None
    if isinstance(only, Tree) and only.name in ("arguments", "parameters", "carries", "types"):
        return only.children
    if isinstance(only, Tree) and only.name == "condition" and len(only.children) == 1:
        return only.children
    return children


def _level(tree: Tree) -> int | None:
    operator = tree.children[1]
    return _LEVELS.get(operator.kind) if isinstance(operator, TokenLeaf) else None


def _has_body(item: Tree) -> bool:
    return any(
        isinstance(child, Tree) and child.name == "fn" and isinstance(child.children[-1], Tree)
        and child.children[-1].name == "block"
        for child in item.children
    )  # fmt: skip


def _is_expression(statement: Tree | TokenLeaf) -> bool:
    return isinstance(statement, Tree) and statement.name == "expression_statement"


def _can_hug(node: Tree | TokenLeaf, doc: Doc) -> bool:
    """Whether the only member of a bracketed list stays by the brackets: a bracketed list without comments of its own."""
    while isinstance(node, Tree) and node.name == "positional":
        node = node.children[0]
    bare = isinstance(doc, Concat) and len(doc.parts) == 1
    return bare and isinstance(node, Tree) and node.name in ("list", "tuple")


def _is_commented(member: Doc) -> bool:
    """Whether comments stand above a list's member, which then has lines of its own."""
    return isinstance(member, Concat) and any(isinstance(part, Hard) for part in member.parts)


def _separated(members: list[Doc], last: Doc) -> list[Doc]:
    """Members with a comma and a possible line end between them; `last` follows the last one."""
    separated: list[Doc] = []
    for member, following in pairwise(members):
        separated += [concat(member, ","), HARD if _is_commented(member) or _is_commented(following) else LINE]
    return [*separated, concat(members[-1], last)]


def _words(node: Tree | TokenLeaf) -> tuple[str, ...]:
    """The numbers that a member of a list stands for, if there are several."""
    while isinstance(node, Tree) and len(node.children) == 1:
        node = node.children[0]
    return node.words if isinstance(node, TokenLeaf) else ()


def _is_simple(node: Tree | TokenLeaf) -> bool:
    """Whether a node is a literal, many of which share a line."""
    while isinstance(node, Tree) and node.name in ("positional", "unary"):
        node = node.children[-1]
    return isinstance(node, Tree) and node.name in _SIMPLE
