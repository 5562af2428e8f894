"""Fixes of expressions of a wrong sort: a size for a tensor, a mask for an index, many truth values for one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...lang import sweet
from ...lang.dtypes import DTYPES
from ...lang.node import replace
from ...lang.walk import walk
from ..case import Fix, FixCase, replaced
from ..weights import weight

_MOST_DTYPES = 4
# The default dtype of `@size_to_tensor`, and the usual one otherwise.
_INTEGERS, _USUAL = "int64", "float32"
# Narrower dtypes do not hold every possible size.
_WIDE = 32


def fixes(case: FixCase) -> Iterator[Fix]:
    if case.diagnostic.code.of_sorts:
        yield from _as_tensor(case)
    if case.diagnostic.code.of_dtypes and isinstance(case.call, sweet.Index):
        yield from _selected(case, case.call)
    yield from _decided(case)


# A size where a tensor is needed


def _as_tensor(case: FixCase) -> Iterator[Fix]:
    """Make a tensor of the size, in each dtype that the function mentions."""
    span = case.diagnostic.span
    expr = case.tree.find(span, sweet.Name, sweet.Binary, sweet.Unary, sweet.Call, sweet.Attr)
    around = None if expr is None else case.tree.parent(expr)
    if expr is None or "\n" in span.text:
        return
    show = around.span if isinstance(around, sweet.Call | sweet.Binary) else span
    for rank, dtype in enumerate(_dtypes(case)):
        text = f"@size_to_tensor({span.text}{f', {dtype}' if dtype != _INTEGERS else ''})"
        fix = case.fix(
            f"make a tensor of `{span.text}`", [replaced(expr, text)], weight("tensor of a size") + rank, show=show
        )
        yield replace(fix, of_dtype=True, guess=DTYPES[dtype].bits < _WIDE)


def _dtypes(case: FixCase) -> list[str]:
    """Return the dtypes in the function, the most frequent first, and the usual ones."""
    found = [n.name for n in walk(case.function or case.tree.module) if isinstance(n, sweet.Name) and n.name in DTYPES]
    common = [
        name for name, _ in Counter(found).most_common() if DTYPES[name].kind in ("int", "uint", "float", "complex")
    ]
    return list(dict.fromkeys([*common[:_MOST_DTYPES], _INTEGERS, _USUAL]))


# A mask where an index is needed


def _selected(case: FixCase, index: sweet.Index) -> Iterator[Fix]:
    """Replace `x[m]` with a mask `m`: by its rows, or by the elements or the places along its axis where it is true."""
    if "\n" in index.span.text:
        return
    of, masks = index.value.span.text, [i for i in index.items if not isinstance(i, sweet.SliceItem | sweet.Dots)]
    for mask in masks:
        shown = mask.span.text
        if len(index.items) > 1:
            text = f"@nonzero({shown})[0]"
            yield case.fix(
                "take the places where it is true", [replaced(mask, text)], weight("where true"), show=index.span
            )
            continue
        rows, elements = f"@filter({of}, {shown})", f"@filter(@flatten({of}), @flatten({shown}))"
        for what, text in (("rows", rows), ("elements", elements)):
            fix = case.fix(f"keep the {what} where it is true", [replaced(index, text)], weight(f"kept {what}"))
            yield replace(fix, meaning="select")


# Many truths where one is needed


def _decided(case: FixCase) -> Iterator[Fix]:
    """Replace a condition with a truth value for each element: by a choice per element, by all, or by any of them."""
    found = _condition(case)
    if found is None or "\n" in case.diagnostic.span.text:
        return
    around, cond = found
    if isinstance(around, sweet.If):
        yield from _chosen(case, around)
    all_, any_ = (f"@{name}({cond.span.text})" for name in ("all", "any"))
    both = "let all elements decide, or one of them by `@any`"
    yield Fix(both, (replaced(cond, all_),), weight("all decide"), all_, True, f"`{all_}`")
    yield Fix("let one element decide", (replaced(cond, any_),), weight("one decides"), any_, True, f"`{any_}`")


def _condition(case: FixCase) -> tuple[sweet.If | sweet.For | sweet.While, sweet.Expr] | None:
    """Return the `if` or the loop whose condition the diagnostic is about, and that condition."""
    for kind in (sweet.If, sweet.For, sweet.While):
        around = case.tree.enclosing(case.diagnostic.span, kind)
        if isinstance(around, sweet.If | sweet.For | sweet.While):
            cond = around.cond.result if isinstance(around.cond, sweet.Block) else around.cond
            if cond is not None and cond.span == case.diagnostic.span:
                return around, cond
    return None


def _chosen(case: FixCase, expr: sweet.If) -> Iterator[Fix]:
    arms = [block.result for block in (expr.then, expr.orelse) if block is not None and not block.stmts]
    texts = [e.span.text for e in (expr.cond, *arms) if e is not None]
    if len(texts) == 3 and not any("\n" in text for text in texts):
        yield case.fix(
            "choose for each element",
            [replaced(expr, f"@where({', '.join(texts)})")],
            weight("choice"),
            guess=True,
        )
