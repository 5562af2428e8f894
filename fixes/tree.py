"""A program's sweet tree with lookups: the call at a place, its enclosing nodes, the binding of a name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from ..lang import sweet
from ..lang.node import Node
from ..lang.operators import BINARY
from ..lang.parser import parse
from ..lang.pause import collector_paused
from ..lang.source import Source, Span
from ..lang.walk import below, children, walk
from ..ops import elsewhere
from ..ops.model import Trait
from ..ops.registry import lookup

N = TypeVar("N", bound=Node)
Call = sweet.Call | sweet.Binary | sweet.Unary | sweet.Index


class TextTree:
    """A tree of a file; `imported` are the files of imported functions, by the names that the program calls them by."""

    def __init__(self, source: Source, imported: Mapping[str, Source] | None = None) -> None:
        self.source = source
        self.imported = imported or {}
        self._others: dict[Source, TextTree] = {}
        self.module, problems = parse(source)
        self.broken = bool(problems)
        self._parents: dict[int, Node] = {}
        self._at: dict[tuple[int, int], list[Node]] = {}
        self._of_kind: dict[type[Node], list[Node]] = {}
        self._uses: dict[int, Counter[str]] = {}
        self._names: set[str] | None = None
        self._bindings: dict[str, list[sweet.Param | sweet.Let]] = {}
        self._functions: dict[str, sweet.FnDecl] = {}
        for item in self.module.items:
            if isinstance(item, sweet.FnDecl):
                self._functions.setdefault(item.name.name, item)
        self._index(self.module)

    @collector_paused
    def _index(self, root: Node) -> None:
        parents, of_kind, at = self._parents, self._of_kind, self._at
        stack = [root]
        while stack:
            node = stack.pop()
            of_kind.setdefault(type(node), []).append(node)
            if isinstance(node, sweet.Param):
                self._bindings.setdefault(node.name.name, []).append(node)
            elif isinstance(node, sweet.Let):
                for bound in node.names:
                    self._bindings.setdefault(bound.name, []).append(node)
            span: Span | None = getattr(node, "span", None)
            if span is not None:
                at.setdefault((span.start, span.end), []).append(node)
            inside = below((node,))
            for child in inside:
                parents[id(child)] = node
            stack += reversed(inside)

    def parent(self, node: Node) -> Node | None:
        return self._parents.get(id(node))

    def above(self, node: Node) -> Iterator[Node]:
        """Yield the nodes around a node, innermost first."""
        found = self.parent(node)
        while found is not None:
            yield found
            found = self.parent(found)

    def find(self, span: Span, *kinds: type[N]) -> N | None:
        """Return the node of one of the kinds with exactly this span."""
        found = self._at.get((span.start, span.end), ()) if span.source is self.source else ()
        return next((n for n in found if isinstance(n, kinds)), None)

    def call(self, span: Span) -> Call | None:
        found = self.find(span, sweet.Call, sweet.Binary, sweet.Unary, sweet.Index)
        return found if isinstance(found, Call) else None

    def enclosing(self, span: Span, kind: type[N]) -> N | None:
        """Return the innermost node of a kind around a place."""
        best: N | None = None
        for node in self.around(span, kind):
            if best is None or _inside(node, best):
                best = node
        return best

    def around(self, span: Span, kind: type[N]) -> Iterator[N]:
        """Return the nodes of a kind around a place."""
        return (node for node in self._of_kind.get(kind, ()) if isinstance(node, kind) and _holds(node, span))

    def loop_of(self, carry: sweet.Carry) -> sweet.For | sweet.While | None:
        """Return the loop that has this carry."""
        found = (self.enclosing(carry.span, sweet.For), self.enclosing(carry.span, sweet.While))
        return next((loop for loop in found if loop is not None and carry in loop.carries), None)

    def function(self, name: str) -> sweet.FnDecl | None:
        """Return a function of the program, or of a file that it imports."""
        if name in self.imported:
            return self.of(self.imported[name]).function(name.rpartition(".")[2])
        return self._functions.get(name)

    def of(self, source: Source) -> TextTree:
        """Return the tree of this or another file, which is read-only."""
        if source is self.source:
            return self
        if source not in self._others:
            self._others[source] = TextTree(source)
        return self._others[source]

    def statement(self, span: Span) -> sweet.Stmt | None:
        """Return the innermost statement around a place."""
        best: sweet.Stmt | None = None
        for found in (self.enclosing(span, k) for k in (sweet.Let, sweet.Assert, sweet.ExprStmt)):
            if isinstance(found, sweet.Stmt) and (best is None or _inside(found, best)):
                best = found
        return best

    def arguments(self, call: Node) -> dict[str, sweet.Expr]:
        """Return the arguments of a call by the parameters' names; items of a list also as `xs[1]`."""
        found: dict[str, sweet.Expr] = {}
        match call:
            case sweet.Binary():
                found = {"x": call.left, "y": call.right}
            case sweet.Unary():
                found = {"x": call.operand}
            case sweet.Index():
                found = {"x": call.value}
            case sweet.Call(callee=sweet.FnName(name=name)):
                params = self._params(name)
                for position, arg in enumerate(call.args):
                    key = arg.name.name if arg.name else params[position] if position < len(params) else str(position)
                    found[key] = arg.value
        for name, expr in list(found.items()):
            if isinstance(expr, sweet.ListExpr | sweet.TupleExpr):
                found.update((f"{name}[{i}]", item) for i, item in enumerate(expr.items))
        return found

    def _params(self, name: str) -> list[str]:
        decl = self.function(name)
        if decl is not None:
            return [p.name.name for p in decl.fn.params]
        ours = elsewhere.primitives(name)  # as the checker resolves it
        row = lookup(name.removeprefix("prelude.")) or (lookup(ours[0]) if len(ours) == 1 else None)
        return [p.name for p in row.params] if row is not None else []

    def binding(self, name: str, place: Span) -> sweet.Param | sweet.Let | None:
        """Return the binding of a tensor's name used at a place: the last `let` before it, or a parameter."""
        best: sweet.Param | sweet.Let | None = None
        for node in self._bindings.get(name, ()):
            scope = self.parent(node)
            before = isinstance(node, sweet.Param) or node.span.end <= place.start
            if before and scope is not None and _holds(scope, place):
                best = node
        return best

    def upstream(self, exprs: Iterable[Node], most: int = 60) -> Iterator[sweet.Call]:
        """Yield the calls that expressions depend on, through the names of the function, the nearest first."""
        queue, seen = list(exprs), set[int]()
        while queue and most > 0:
            node = queue.pop(0)
            if id(node) in seen:
                continue
            seen.add(id(node))
            most -= 1
            if isinstance(node, sweet.Call):
                yield node
            if isinstance(node, sweet.Name):
                bound = self.binding(node.name, node.span)
                queue += [bound.value] if isinstance(bound, sweet.Let) else []
            else:
                queue += children(node)

    def uses(self, decl: sweet.FnDecl) -> Counter[str]:
        """Count the uses of each name in the body of a function, and of sizes in its result's type; cached."""
        if id(decl) not in self._uses:
            roots = [r for r in (decl.fn.body, decl.fn.result) if r is not None]
            self._uses[id(decl)] = Counter(n.name for n in walk(*roots) if isinstance(n, sweet.Name))
        return self._uses[id(decl)]

    def is_only_use(self, name: sweet.Name) -> bool:
        """Whether nothing else uses the parameter or the `let` that a name means."""
        bound, function = self.binding(name.name, name.span), self.enclosing(name.span, sweet.FnDecl)
        alike = (n for n in walk(function or name) if isinstance(n, sweet.Name) and n.name == name.name)
        return sum(n is name or self.binding(n.name, n.span) is bound for n in alike) == 1

    def is_used_once(self, let: sweet.Let) -> bool:
        """Whether each name that a `let` binds is used once in its function."""
        around = self.enclosing(let.span, sweet.FnDecl)
        return around is not None and all(self.uses(around)[name.name] == 1 for name in let.names)

    def names(self) -> set[str]:
        """Return every name that the program uses."""
        if self._names is None:
            found = [*self._of_kind.get(sweet.Name, ()), *self._of_kind.get(sweet.Ident, ())]
            self._names = {n.name for n in found if isinstance(n, sweet.Name | sweet.Ident)}
        return self._names


def has(name: str, *traits: Trait) -> bool:
    """Whether a primitive of that name has one of the traits."""
    row = lookup(name)
    return row is not None and not row.traits.isdisjoint(traits)


def reduces(name: str) -> bool:
    """Whether a primitive reduces an axis to one element."""
    row = lookup(name)
    return row is not None and any(p.name == "keepdims" for p in row.params)


def keeps_shape(name: str) -> bool:
    """Whether the result of a primitive has the shape of its operand."""
    row = lookup(name)
    return row is not None and row.elementwise


def is_reshape(name: str) -> bool:
    """Whether a primitive lays out the elements in a given shape, which may leave one size open."""
    row = lookup(name)
    return row is not None and Trait.RESHAPES in row.traits and any(p.kind == "target" for p in row.params)


def summed(name: str) -> tuple[tuple[str, int], ...]:
    """Return the axes of its operands that a product sums over, counted from the end; empty for other primitives."""
    row = lookup(name)
    return row.summed if row is not None else ()


def turns(call: Node) -> bool:
    """Whether a call exchanges the last two axes, and can do nothing else."""
    row = lookup(callee(call))
    return row is not None and Trait.MOVES_AXES in row.traits and len(row.params) == 1


def factors(size: sweet.Expr) -> Iterator[sweet.Expr]:
    """Yield the factors of `a * b * c` in order."""
    if isinstance(size, sweet.Binary) and size.op == "*":
        yield from factors(size.left)
        yield from factors(size.right)
    else:
        yield size


def callee(call: Node) -> str:
    """Return the callee of a call: `matmul`, `add` for `+`; empty if it has no name."""
    match call:
        case sweet.Call(callee=sweet.FnName(name=name)):
            return name
        case sweet.Binary(op=op):
            return BINARY.get(op, "")
    return ""


def _holds(node: Node, place: Span) -> bool:
    span: Span = node.span  # type: ignore[attr-defined]
    return span.source is place.source and span.start <= place.start and place.end <= span.end


def _inside(node: Node, other: Node) -> bool:
    a: Span = node.span  # type: ignore[attr-defined]
    b: Span = other.span  # type: ignore[attr-defined]
    return a.end - a.start <= b.end - b.start
