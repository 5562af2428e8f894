"""The one walk over trees: order, what is left out, and that rewriting copies nothing that stays."""

from __future__ import annotations

from rxlang.lang import core
from rxlang.lang.node import Node, replace
from rxlang.lang.parser import parse_expr
from rxlang.lang.source import NOWHERE
from rxlang.lang.walk import children, rewrite, walk

N, M = core.SizeVar(NOWHERE, "n"), core.SizeVar(NOWHERE, "m")
TWICE = core.SizeOp(NOWHERE, "*", N, core.SizeLit(NOWHERE, 2))
COND = core.Compare(NOWHERE, "==", TWICE, M)


def test_a_walk_goes_from_left_to_right_parents_first() -> None:
    assert list(walk(COND)) == [COND, TWICE, N, TWICE.right, M]
    assert list(children(COND)) == [TWICE, M]
    assert list(walk((M, (COND,)), None)) == [M, *walk(COND)]


def test_a_walk_leaves_out_fields_and_nodes() -> None:
    assert list(walk(COND, fields=frozenset({"left"}))) == [COND, M]
    assert list(walk(COND, without=lambda node: isinstance(node, core.SizeOp))) == [COND, M]


def test_a_walk_sees_every_node_of_a_deep_tree() -> None:
    deep: core.SizeExpr = N
    for _ in range(20_000):
        deep = core.SizeOp(NOWHERE, "+", deep, M)
    assert sum(1 for _ in walk(deep)) == 40_001


def test_no_walk_enters_a_span() -> None:
    assert all(isinstance(node, Node) for node in walk(parse_expr("min(n, [m, 3])")))


def test_a_rewritten_tree_is_new_only_where_something_changed() -> None:
    def renamed(node: Node) -> Node:
        return replace(node, name="k") if node == M else node

    after = rewrite(COND, renamed)
    assert after == core.Compare(NOWHERE, "==", TWICE, core.SizeVar(NOWHERE, "k"))
    assert after.left is COND.left
    assert rewrite(TWICE, renamed) is TWICE
    assert rewrite((COND, TWICE), renamed, fields=frozenset({"right"})) == (COND, TWICE)


def test_what_is_below_a_node_is_rewritten_before_it() -> None:
    seen: list[Node] = []
    rewrite(COND, lambda node: (seen.append(node), node)[1])
    assert seen == [N, TWICE.right, TWICE, M, COND]
