"""Tries changes of a function with numbers for its sizes, before any of them is checked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from ...lang import sweet
from ...lang.diagnostics import Edit
from ...lang.node import Node
from ...lang.parser import parse_beside
from ...lang.source import Source, Span
from ...ops.model import TensorInfo
from ..edits import applied
from ..tree import TextTree
from .chosen_sizes import assignments
from .evaluator import Evaluator
from .values import Env, Misfit, Untold, Value

# The mistake must show at all of these sets of sizes: otherwise it depends on the sizes, which a condition may forbid.
_TRIED = 2
# A multiple of most numbers that sizes are divided by.
_EVEN = 960
# Smaller numbers are no sizes of the signature.
_SMALLEST = 71
# The steps of reasoning that cost as much as a letter or a call of a primitive, and the number of expressions per step.
_A_LETTER, _A_CALL, _OF_A_STEP = 1, 5, 16


class Screen:
    """A wrong function, at sizes where the mistake shows; `sizes` is None if it may not show."""

    def __init__(self, tree: TextTree, decl: sweet.FnDecl) -> None:
        self.decl = decl
        self.evaluator = Evaluator(tree)
        body = decl.fn.body
        self.parts: tuple[Node, ...] = () if body is None else (*body.stmts, *([body.result] if body.result else []))
        self.read = 0
        # The values known before each part, up to the one that does not fit.
        self.before: list[Env] = []
        even = next(assignments(tree, decl.fn, _EVEN), None)
        # Whether it also shows at sizes that many numbers divide, so that no missing condition is the cause.
        self.everywhere = even is not None and self._shows(even)
        tried = list(islice(assignments(tree, decl.fn), _TRIED))
        self.sizes = tried[-1] if tried and all(map(self._shows, tried)) else None

    @property
    def steps(self) -> int:
        """The cost so far."""
        return _A_LETTER * self.read + _A_CALL * self.evaluator.calls + self.evaluator.done // _OF_A_STEP

    def _shows(self, sizes: Env) -> bool:
        self.before = []
        self.evaluator.begin()
        env = dict(sizes)
        try:
            for param in self.decl.fn.params:
                made = self.evaluator.of_type(param.type, sizes)
                env.setdefault(param.name.name, made)
            for part in self.parts:
                self.before.append(dict(env))
                self._part(part, env)
        except Misfit:
            return bool(self.before)
        except RecursionError:
            pass
        return False

    def fits(self, edits: Sequence[Edit]) -> bool | None:
        """Whether everything fits after some edits; None if unknown."""
        if self.sizes is None:
            return None
        parts = [self._edited(part, edits) for part in self.parts]
        if sum(len(inside) for _, inside in parts) != len(edits):
            return None
        first = next(i for i, (_, inside) in enumerate(parts) if inside)
        if first >= len(self.before):
            return False  # the mistake comes before it
        self.evaluator.begin()
        env = dict(self.before[first])
        try:
            for part, inside in parts[first:]:
                for node in self._parsed(part, inside) if inside else (part,):
                    self._part(node, env)
        except Misfit:
            return False
        except (Untold, RecursionError):
            return None
        return True

    def shape(self, expr: sweet.Expr) -> tuple[int, ...] | None:
        """Return the shape of an expression of the unchanged body; None if unknown, as in a loop."""
        span: Span = expr.span
        at = next((i for i, part in enumerate(self.parts) if span.within(part.span)), None)  # type: ignore[attr-defined]
        if at is None or at >= len(self.before):
            return None
        self.evaluator.begin()
        try:
            value = self.evaluator.value(expr, self.before[at])
        except (Misfit, Untold, RecursionError):
            return None
        dims = value.shape if isinstance(value, TensorInfo) else (None,)
        found = tuple(d for d in dims if isinstance(d, int))
        return found if len(found) == len(dims) else None

    def said(self, size: int) -> str | None:
        """Return a size as an author writes it: a number, a name, or a product of two names."""
        names = [(name, value) for name, value in (self.sizes or {}).items() if type(value) is int]
        if size < _SMALLEST:
            return str(size)
        for name, value in names:
            if value == size:
                return name
        products = (f"{a} * {b}" for i, (a, x) in enumerate(names) for b, y in names[i:] if x * y == size)
        return next(products, None)

    def _edited(self, part: Node, edits: Sequence[Edit]) -> tuple[Node, list[Edit]]:
        span: Span = part.span  # type: ignore[attr-defined]
        return part, [e for e in edits if span.start <= e.span.start and e.span.end <= span.end]

    def _parsed(self, part: Node, edits: list[Edit]) -> tuple[Node, ...]:
        span: Span = part.span  # type: ignore[attr-defined]
        moved = [Edit(Span(span.source, e.span.start - span.start, e.span.end - span.start), e.text) for e in edits]
        text = applied(span.text, moved)
        self.read += len(text)
        module, problems = parse_beside(Source("<fix>", f"@f = fn() {{\n{text}\n}}"))
        item = module.items[0] if module.items else None
        if problems or not isinstance(item, sweet.FnDecl) or item.fn.body is None:
            raise Untold
        body = item.fn.body
        return (*body.stmts, *([body.result] if body.result is not None else []))

    def _part(self, part: Node, env: Env) -> None:
        """Evaluate a statement, or the result and match it with its declared type."""
        if isinstance(part, sweet.Stmt):
            return self.evaluator.stmt(part, env)
        try:
            value: Value = self.evaluator.value(part, env)
            self.evaluator.matches(self.decl.fn.result, value, env)
        except Untold:
            return None
        return None
