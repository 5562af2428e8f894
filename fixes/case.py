"""The input of a family of fixes: a diagnostic, the call or annotation that it is about, and the program around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..lang import sweet
from ..lang.checked import Demands
from ..lang.diagnostics import Diagnostic, Edit, Operand, Subject, listed
from ..lang.node import Node
from ..lang.source import Span
from ..ops.requirements import AtLeast, AxisInRange, OfRank, RankAtLeast, RankIs
from .edits import applied
from .tree import TextTree, callee
from .weights import GIVING_WAY

Dims = tuple[int | str, ...]
_LONGEST = 70
_REMAIN = ("remains", "remain")


class Remaining(NamedTuple):
    """A warning that remains after a fix; its line is 0 if it is the line of the diagnostic that the fix is for."""

    code: str
    line: int = 0


class Fix(Node):
    """A change that may be the right one. `what` describes it, `shown` is the changed text; `rank` is its weight
    (`weights.py`). Fixes with the same `meaning` are one fix in other words. A `guess` may not be what was meant; only the
    user applies it."""

    what: str
    edits: tuple[Edit, ...]
    rank: int
    meaning: str
    guess: bool = False
    shown: str = ""
    # The lines in which a number changes.
    lines: tuple[int, ...] = ()
    # Whether it asks what was meant.
    asks: bool = False
    # The size that it writes if several would do, for "the nearest legal sizes are 12 and 16".
    legal: int | None = None
    # Whether it is only described: applied, it would change values.
    in_words: bool = False
    # The owner of that size, as "of `heads`", if the message does not name it.
    legal_for: str = ""
    # The kind of change: of an `operation`, of a `typo` in one, or a condition on sizes: a `bound`, equal `names`, a
    # `dimension` of a parameter, an `assert`.
    kind: str = "operation"
    # Whether it changes another operation than the blamed one.
    remote: bool = False
    # Whether the function has no error or warning after it; known once it was tried.
    settles: bool = False
    # Whether it removes an operation.
    drops: bool = False
    # Whether it uses a tensor parameter that nothing else uses.
    recalls: bool = False
    # Whether everything fits after it at certain sizes; None if unknown.
    fits: bool | None = None
    # Whether it forbids ordinary sizes, or leaves the mistake there.
    narrows: bool = False
    # Whether it writes a dtype, which a check of names does not cover.
    of_dtype: bool = False
    # The texts before and after an expression, if it only adds these.
    around: tuple[str, ...] = ()
    # The warnings from before that remain after it.
    remains: tuple[Remaining, ...] = ()

    @property
    def text(self) -> str:
        """ "write 96 for the 100 in line 3: `[96, 100]`"."""
        where = f" in line{'s' * (len(self.lines) > 1)} {listed([str(n) for n in self.lines])}" if self.lines else ""
        words = f"did you mean {self.what}?" if self.asks else f"{self.what}{where}"
        return (f"{words}: {self.shown}" if self.shown else words) + remaining(
            (one.code, f"line {one.line}" if one.line else "") for one in self.remains
        )

    @property
    def is_of_operation(self) -> bool:
        return self.kind in ("operation", "typo")

    @property
    def gives_way(self) -> bool:
        return self.is_of_operation and self.rank >= GIVING_WAY

    @property
    def equates(self) -> bool:
        """Whether it equates sizes that the signature keeps apart, or forbids ordinary ones."""
        return not self.is_of_operation and (self.narrows or self.kind != "bound")


class FixCase:
    def __init__(self, tree: TextTree, diagnostic: Diagnostic, demands: Sequence[Demands] = ()) -> None:
        self.tree = tree
        # The conditions that each function demands.
        self.demands = {d.name: d.where for d in demands}
        self.diagnostic = diagnostic
        self.subject = diagnostic.subject or Subject(diagnostic.span, "", ())
        self.call = tree.call(self.subject.span)
        self.arguments = tree.arguments(self.call) if self.call is not None else {}
        self.function = tree.enclosing(diagnostic.span, sweet.FnDecl)

    @property
    def asked(self) -> object:
        """The requirement of a primitive, if the diagnostic is about one."""
        return self.subject.asked

    @property
    def is_of_rank(self) -> bool:
        return self.subject.what == "rank" or isinstance(self.asked, AxisInRange | OfRank | RankAtLeast | RankIs)

    @property
    def asks_for_entries(self) -> bool:
        """Whether an axis that may be empty has to have entries: then no other axis is meant."""
        return self.diagnostic.code.is_unproved and isinstance(self.asked, AtLeast) and self.asked.least == 1

    @property
    def callee(self) -> str:
        return self.subject.callee

    @property
    def is_declared(self) -> bool:
        """Whether the axes of the function's result, or of the value of the enclosing `let`, are declared: only then does a
        check show more than that the code runs, since most operations accept a scalar."""
        result = self.function.fn.result if self.function is not None else None
        let = self.tree.enclosing(self.diagnostic.span, sweet.Let)
        types = (*(result.items if isinstance(result, sweet.TupleType) else (result,)), let and let.type)
        return any(
            isinstance(t, sweet.TensorType)
            and isinstance(t.shape, sweet.ListExpr)
            and bool(t.shape.items)
            or isinstance(t, sweet.NamedType)
            and bool(t.args)
            for t in types
        )

    def operand(self, name: str) -> Operand | None:
        return next((o for o in self.subject.operands if o.name == name), None)

    def shape(self, name: str) -> Dims | None:
        found = self.operand(name)
        return found.shape if found is not None else None

    def size(self, name: str, axis: int | None) -> int | str | None:
        """Return the size of an operand's axis, None if unknown."""
        dims = self.shape(name)
        return dims[axis] if dims is not None and axis is not None and -len(dims) <= axis < len(dims) else None

    def sizes(self) -> list[str]:
        """Return the sizes in question: those that conflict, and the wanted one."""
        own = [o.shape for o in self.subject.operands if o.shape is not None] if not self.callee else []
        axes = [axis for _, axis in self.subject.at if axis is not None]
        at = [dims[axis] for dims in own for axis in axes if -len(dims) <= axis < len(dims)]
        found = [self.size(name, axis) for name, axis in self.subject.at]
        return [str(size) for size in (*found, *at, *self.subject.wanted) if size not in (None, "?")]

    def tensors(self) -> list[tuple[str, sweet.Expr, Dims | None]]:
        """Return the tensor arguments of the call, as the user wrote them; those with conflicting sizes come first."""
        found = [(o.name, self.arguments[o.name], o.shape) for o in self.subject.operands if o.name in self.arguments]
        involved = [name for name, _ in self.subject.at]
        return sorted(
            (t for t in found if not isinstance(t[1], sweet.ListExpr) and self.operand(t[0]).dtype),  # type: ignore[union-attr]
            key=lambda t: t[0] not in involved,
        )

    def named(self, expr: sweet.Expr, otherwise: str = "") -> str:
        if len(expr.span.text) <= 20 and "\n" not in expr.span.text:
            return f"`{expr.span.text}`"
        called = callee(expr)
        return otherwise or (f"the result of @{called}" if called else "the operand")

    def outcome(self, edits: Iterable[Edit], place: Span | None = None) -> str:
        """Return the changed call (or another place) in backquotes; empty if it is long."""
        span = place or self.subject.span
        inside = [e for e in edits if span.start <= e.span.start and e.span.end <= span.end]
        moved = [Edit(Span(span.source, e.span.start - span.start, e.span.end - span.start), e.text) for e in inside]
        text = applied(span.text, moved)
        return f"`{text}`" if inside and len(text) <= _LONGEST and "\n" not in text else ""

    def fix(self, what: str, edits: Iterable[Edit], rank: int, *, show: Span | None = None, guess: bool = False) -> Fix:
        """Return a fix with `what` and the changed call after it: "transpose `w`: `@matmul(x, @matrix_transpose(w))`"."""
        edits = tuple(edits)
        shown = self.outcome(edits, show)
        if not shown and len(edits) == 1 and edits[0].text.startswith("@") and len(edits[0].text) <= _LONGEST:
            shown = f"`{edits[0].text}`"
        return Fix(what, edits, rank, f"{what} {edits}", guess, shown)


def replaced(expr: Node, text: str) -> Edit:
    span: Span = expr.span  # type: ignore[attr-defined]
    return Edit(span, text)


def appended(call: sweet.Call, text: str) -> Edit:
    """Return the edit that adds a last argument."""
    end = call.span.end - 1
    before = call.span.source.text[call.span.start : end].rstrip()
    comma = "" if before.endswith((",", "(")) else ", "
    return inserted(
        call.span, call.span.start + len(before), f"{comma}{text}" if comma or not call.args else f" {text}"
    )


def inserted(source_span: Span, at: int, text: str) -> Edit:
    return Edit(Span(source_span.source, at, at), text)


def dims_text(dims: Iterable[int | str]) -> str:
    return f"[{', '.join(map(str, dims))}]"


def count(dims: Iterable[int | str]) -> int | None:
    """Return the product of sizes, None if one is no number."""
    product = 1
    for d in dims:
        if not isinstance(d, int):
            return None
        product *= d
    return product


def remaining(left: Iterable[tuple[str, str]]) -> str:
    """Return codes and their places, if any, as "; then W311 in line 7 remains", or ""."""
    texts = sorted({f"{code} in {place}" if place else code for code, place in left})
    return f"; then {' and '.join(texts)} {_REMAIN[len(texts) > 1]}" if texts else ""
