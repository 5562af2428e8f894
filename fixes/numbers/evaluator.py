"""A function at one set of sizes, in plain numbers: whether all its calls fit. This way, many changes can be tried fast.

Sizes that may differ are different numbers here, so that nothing fits by chance. This proves nothing: a change that does not
fit at sizes that the signature allows is no fix; the checker decides about the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from ...desugar.levels import OVER_ROWS
from ...lang import sweet
from ...lang.dtypes import DTYPES
from ...lang.node import Node
from ...lang.walk import rewrite, walk
from ...ops.dtypes_column import parse_dtypes
from ...ops.ground import GroundCtx, NeedsData, Violation, outcomes
from ...ops.model import Primitive, RankUnknown, TensorInfo
from ...ops.registry import lookup
from ...sizes.operators import is_called, size_functions
from ..tree import TextTree
from .arguments import argument, is_for, parts_of
from .values import Env, Misfit, NumberFunction, Untold, Value, arithmetic, bearable, size_of, tensor_of, told

_DEEPEST = 4
_MOST_PARTS = 64
# The number of expressions to evaluate before giving up.
_ROOM = 20_000


class _Ctx(GroundCtx):
    """Rules over numbers, with unknown dtypes."""

    def dtype_in(self, dtype: object, *classes: str) -> bool:
        return True

    def require_dtype(self, asked: object) -> None:
        pass

    def require_either(self, known: object, asked: object) -> None:
        pass


class Evaluator:
    """Evaluates expressions over numbers. `calls` counts the calls of primitives, `done` all expressions."""

    def __init__(self, tree: TextTree) -> None:
        self.tree = tree
        self.calls = self.done = self.depth = 0
        self._room = _ROOM
        items = tree.module.items
        self.types = {i.name.name: i for i in items if isinstance(i, sweet.TypeDecl)}
        self.consts: Env = {i.name.name: self._const(i) for i in items if isinstance(i, sweet.Const)}

    def _const(self, const: sweet.Const) -> Value:
        try:
            return self.of_type(const.type, {}) if const.type is not None else self.value(const.value, {})
        except (Misfit, Untold):
            return None

    def begin(self) -> None:
        """Start a new evaluation with a full budget."""
        self._room = self.done + _ROOM

    # Signatures

    def names_of(self, fn: sweet.Fn) -> list[str]:
        """Return the sizes in the parameters of a function; raise Untold if there is anything else."""
        found: dict[str, None] = {}
        for param in fn.params:
            found |= dict.fromkeys([param.name.name] if _is_size(param.type) else self._names_of_type(param.type))
        return list(found)

    def _names_of_type(self, type_: sweet.Type | None) -> Iterator[str]:
        match self._written_out(type_):
            case sweet.TensorType(shape=sweet.ListExpr(items=items)):
                if any(isinstance(n, sweet.Unknown | sweet.Dots | sweet.Splice) for n in items):
                    raise Untold
                names = (n.name for n in walk(*items) if isinstance(n, sweet.Name))
                yield from (name for name in names if not is_called(name) and name not in self.consts)
            case sweet.TupleType(items=types):
                yield from chain.from_iterable(map(self._names_of_type, types))
            case _:
                raise Untold

    def _written_out(self, type_: sweet.Type | None) -> sweet.Type | None:
        """Return the type that a name of a type abbreviates."""
        declared = self.types.get(type_.name) if isinstance(type_, sweet.NamedType) else None
        if declared is None or not isinstance(type_, sweet.NamedType) or len(declared.params) != len(type_.args):
            return type_
        given = {p.name: a for p, a in zip(declared.params, type_.args, strict=True)}
        made = rewrite(declared.type, lambda n: given.get(n.name, n) if isinstance(n, sweet.Name) else n)
        return self._written_out(made)

    # Expressions

    def holds(self, cond: sweet.Expr, env: Env) -> bool:
        """Whether a condition holds, or is unknown."""
        try:
            return self.value(cond, env) is not False
        except Untold:
            return True
        except Misfit:
            return False

    def value(self, expr: Node | None, env: Env) -> Value:
        self.done += 1
        if self.done > self._room:
            raise Untold
        match expr:
            case sweet.Name(name=name):
                if name not in env and name not in DTYPES:
                    raise Misfit
                return told(env.get(name, DTYPES.get(name)))
            case sweet.IntLit() | sweet.FloatLit() | sweet.BoolLit() | sweet.StrLit():
                return expr.value
            case sweet.Unary(op=op, operand=operand):
                inner = self.value(operand, env)
                return -inner if op == "-" and isinstance(inner, int | float) else inner
            case sweet.Binary():
                return self._binary(expr, env)
            case sweet.ListExpr(items=items) | sweet.TupleExpr(items=items):
                return tuple(v for item in items for v in self._items(item, env))
            case sweet.Index():
                return self._index(expr, env)
            case sweet.Call():
                return self._call(expr, env)
            case sweet.Attr(value=inner, name=name) if name.name in ("shape", "rank"):
                shape = tensor_of(self.value(inner, env)).shape
                return shape if name.name == "shape" else len(shape)
            case sweet.If(cond=cond, then=then, orelse=orelse) if orelse is not None:
                return self.block(then if self._is_true(cond, env) else orelse, env)
            case sweet.For():
                return self._loop(expr, env)
            case sweet.Lambda(fn=fn):
                return NumberFunction(fn, env)
            case sweet.FnName(name=name):
                own = self.tree.function(name)
                return NumberFunction(own.fn, {}) if own is not None else lookup(name)
        raise Untold

    def _items(self, item: sweet.Expr, env: Env) -> tuple[Value, ...]:
        if isinstance(item, sweet.Splice):
            spliced = told(env.get(item.name.name))
            return spliced if isinstance(spliced, tuple) else (spliced,)
        return (self.value(item, env),)

    def _is_true(self, cond: sweet.Expr, env: Env) -> bool:
        found = self.value(cond, env)
        if not isinstance(found, bool):
            raise Untold
        return found

    def _binary(self, expr: sweet.Binary, env: Env) -> Value:
        left = self.value(expr.left, env)
        if isinstance(left, bool) and expr.op in ("&&", "||"):
            return left if left is (expr.op == "||") else self.value(expr.right, env)
        right = self.value(expr.right, env)
        if isinstance(left, int) and isinstance(right, int):
            return arithmetic(expr.op, left, right)
        if isinstance(left, int | float) and isinstance(right, int | float):
            return 1.0
        if isinstance(left, tuple) or isinstance(right, tuple):
            raise Untold
        return self._ruled("add", x=tensor_of(left), y=tensor_of(right))

    # Calls

    def _call(self, call: sweet.Call, env: Env) -> Value:
        match call.callee:
            case sweet.Name(name=name) if is_called(name) and len(call.args) == 2:
                first, second = (size_of(self.value(a.value, env)) for a in call.args)
                return arithmetic(name, first, second)
            case sweet.Attr(value=inner, name=sweet.Ident(name="dim")) if len(call.args) == 1:
                shape, axis = tensor_of(self.value(inner, env)).shape, size_of(self.value(call.args[0].value, env))
                if not -len(shape) <= axis < len(shape):
                    raise Misfit
                return shape[axis]
            case sweet.FnName(name=name):
                own, row = self.tree.function(name), lookup(name)
                if own is None and name in OVER_ROWS and self._is_function(call.args[:1], env):
                    return self._over_rows(name, *self._arguments(call, env))
                if own is None and row is not None:
                    return self._primitive(row, call, env)
        return self._applied(self.value(call.callee, env), self._arguments(call, env))

    def _is_function(self, args: Sequence[sweet.Arg], env: Env) -> bool:
        return any(isinstance(self.value(arg.value, env), NumberFunction | Primitive) for arg in args)

    def _arguments(self, call: sweet.Call, env: Env) -> tuple[Value, ...]:
        if any(arg.name is not None for arg in call.args):
            raise Untold
        return tuple(self.value(arg.value, env) for arg in call.args)

    def _applied(self, function: Value, args: Sequence[Value]) -> Value:
        """Return the result of a function value."""
        if isinstance(function, NumberFunction):
            return self._function(function.fn, args, dict(function.env))
        if not isinstance(function, Primitive) or len(args) > len(function.params):
            raise Untold
        given = {p.name: argument(p, value) for p, value in zip(function.params, args, strict=False)}
        return self._ruled(function.name, **given)

    def _over_rows(self, name: str, function: Value, *args: Value) -> Value:
        """Evaluate one turn of `@map`, `@fold` or `@scan`: the carried value keeps its shape."""
        carried, tensors = (args[:0], args) if name == "map" else (args[:1], args[1:])
        shapes = [tensor_of(told(x)).shape for x in tensors]
        if () in shapes or len({shape[0] for shape in shapes}) != 1:
            raise Misfit
        count, rows = size_of(shapes[0][0]), [TensorInfo(shape[1:], None) for shape in shapes]
        made = self._applied(function, (*carried, *rows))
        if name == "map":
            return _stacked(count, made)
        following, left = made if name == "scan" and isinstance(made, tuple) and len(made) == 2 else (made, made)
        if tensor_of(told(following)).shape != tensor_of(told(carried[0])).shape:
            raise Misfit
        return following if name == "fold" else (following, _stacked(count, left))

    def _primitive(self, row: Primitive, call: sweet.Call, env: Env) -> Value:
        given: dict[str, Value] = {}
        for i, arg in enumerate(call.args):
            param = next((p for j, p in enumerate(row.params) if is_for(arg, i, p, j)), None)
            if param is None:
                raise Misfit
            given[param.name] = argument(param, self.value(arg.value, env))
        if any(p.required and p.name not in given for p in row.params):
            raise Misfit
        if any(word.many for word in parse_dtypes(row.dtypes).results[:1]) and parts_of(row, given) > _MOST_PARTS:
            raise Untold
        return self._ruled(row.name, **given)

    def _ruled(self, name: str, **given: Value) -> Value:
        """Return the result of a primitive's rule for these arguments."""
        row = lookup(name)
        assert row is not None and row.rule is not None
        self.calls += 1
        try:
            answer = row.rule(_Ctx(), *(given.get(p.name, p.default) for p in row.params))
            if row.results == "size":
                bearable((answer,))
                return answer
            made = tuple(TensorInfo(o.shape, None, o.data) for o in outcomes(row, answer))
            bearable(size for info in made for size in info.shape)
        except Violation as problem:
            raise Misfit from problem
        except (NeedsData, RankUnknown) as problem:
            raise Untold from problem
        return made if row.results == "tuple" else made[0]

    def _function(self, fn: sweet.Fn, args: Sequence[Value], inner: Env) -> Value:
        """Return the declared result of a function of the program; without a declared shape, evaluate its body. `inner` are
        the outer names that it sees."""
        if len(args) != len(fn.params):
            raise Untold
        dims: list[tuple[sweet.Expr, int]] = []
        for param, value in zip(fn.params, args, strict=True):
            inner[param.name.name] = value
            dims += self._pairs(param.type, value, inner)
        self._matched(dims, inner)
        _left_open([p.type for p in fn.params], inner)
        if not all(self.holds(cond, inner) for cond in fn.where):
            raise Misfit
        if fn.result is not None and (declared := self.of_type(fn.result, inner)) is not None:
            return declared
        if fn.body is None or self.depth >= _DEEPEST:
            raise Untold
        self.depth += 1
        try:
            return self.block(fn.body, inner)
        finally:
            self.depth -= 1

    def of_type(self, type_: sweet.Type | None, env: Env) -> Value:
        """Return a value of a declared type; None if the type does not determine it."""
        match self._written_out(type_):
            case sweet.TensorType(shape=sweet.ListExpr() | sweet.Name() as shape):
                try:
                    dims = self.value(shape, env)
                except Untold:
                    return None
                return TensorInfo(dims, None) if isinstance(dims, tuple) else None
            case sweet.TupleType(items=items):
                parts = tuple(self.of_type(item, env) for item in items)
                return None if None in parts else parts
        return None

    def _pairs(self, type_: sweet.Type | None, value: Value, env: Env) -> list[tuple[sweet.Expr, int]]:
        """Return each dimension with its annotation; names of shapes and of parts of shapes are bound."""
        match self._written_out(type_):
            case sweet.TupleType(items=items):
                parts = value if isinstance(value, tuple) and len(value) == len(items) else ()
                return [pair for of, part in zip(items, parts, strict=False) for pair in self._pairs(of, part, env)]
            case sweet.TensorType(shape=sweet.ListExpr(items=items)) if isinstance(value, TensorInfo | int | float):
                dims = tuple(map(size_of, tensor_of(value).shape))
                open_ = [i for i, item in enumerate(items) if isinstance(item, sweet.Splice | sweet.Dots)]
                if len(open_) > 1:
                    return []
                if len(dims) < len(items) - len(open_) or len(dims) > len(items) and not open_:
                    raise Misfit
                for at in open_:
                    end = len(dims) - (len(items) - at - 1)
                    _same(items[at], dims[at:end], env)
                    dims, items = (*dims[:at], *dims[end:]), (*items[:at], *items[at + 1 :])
                return list(zip(items, dims, strict=True))
            case sweet.TensorType(shape=sweet.Name() as shape) if isinstance(value, TensorInfo | int | float):
                _same(shape, tuple(map(size_of, tensor_of(value).shape)), env)
        return []

    def _matched(self, dims: list[tuple[sweet.Expr, int]], env: Env) -> None:
        """Match dimensions with their annotations; new names are bound."""
        left = []
        for written, size in dims:
            if isinstance(written, sweet.Name) and written.name not in env:
                env.update({written.name: size} if written.name != "_" else {})
            elif not isinstance(written, sweet.Unknown):
                left.append((written, size))
        for written, size in left:
            unbound = {n.name for n in walk(written) if isinstance(n, sweet.Name)} - env.keys() - set(size_functions())
            if len(unbound) == 1:
                self._solved(written, size, unbound.pop(), env)
            elif not unbound and self.value(written, env) != size:
                raise Misfit

    def _solved(self, written: sweet.Expr, size: int, name: str, env: Env) -> None:
        """Bind the name in an annotation like `m * 4` to the number that gives this size."""
        first, second = (size_of(self.value(written, {**env, name: n})) for n in (0, 1))
        if first == second:
            raise Untold
        number = (size - first) // (second - first)
        if number < 0 or self.value(written, {**env, name: number}) != size:
            raise Misfit
        env[name] = number

    # Blocks

    def block(self, block: sweet.Block, env: Env) -> Value:
        inner = dict(env)
        for stmt in block.stmts:
            self.stmt(stmt, inner)
        return self.value(block.result, inner)

    def stmt(self, stmt: Node, env: Env) -> None:
        """Evaluate a statement; names bound to unknown values stay unknown."""
        match stmt:
            case sweet.Let(names=names):
                try:
                    value = self.value(stmt.value, env)
                    self.matches(stmt.type, value, env)
                except Untold:
                    value = None
                _left_open([stmt.type], env)
                parts = value if stmt.is_tuple else (value,)
                parts = (None,) * len(names) if parts is None else parts
                if not isinstance(parts, tuple) or len(parts) != len(names):
                    raise Misfit
                env.update({n.name: p for n, p in zip(names, parts, strict=True)})
            case sweet.Assert(cond=cond):
                if not self.holds(cond, env):
                    raise Misfit
            case sweet.ExprStmt(value=value):
                _left_open([value], env)
                with suppress(Untold):
                    self.value(value, env)

    def matches(self, type_: sweet.Type | None, value: Value, env: Env) -> None:
        """Match a value with its declared type."""
        self._matched(self._pairs(type_, value, env), env)

    def _loop(self, loop: sweet.For, env: Env) -> Value:
        """Evaluate the first turn and the last; a carry has its declared shape, or that of its first value."""
        bounds = [size_of(self.value(bound, env)) for bound in _bounds(loop.iterable)]
        if not 1 <= len(bounds) <= 2 or loop.cond is not None:
            raise Untold
        start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds
        first = {**env, loop.index.name: start}
        carried = {c.name.name: self.value(c.init, env) for c in loop.carries}
        self._carried(loop, first, carried)
        stacked: list[Value] = [None] * len(loop.stack)
        for turn in dict.fromkeys((start, stop - 1)) if stop > start else ():
            inner = {**env, loop.index.name: turn}
            inner |= self._declared(loop, inner, carried)
            result = self.block(loop.body, inner)
            parts = result if isinstance(result, tuple) else (result,)
            if len(parts) != len(loop.carries) + len(loop.stack):
                raise Misfit
            after = dict(zip(carried, parts, strict=False))
            self._carried(loop, {**env, loop.index.name: turn + 1}, after)
            stacked = list(parts[len(carried) :])
            for param, part in zip(loop.stack, stacked, strict=True):
                self.matches(param.type, part, dict(inner))
        last = self._declared(loop, {**env, loop.index.name: max(start, stop)}, carried)
        rows = [TensorInfo((max(stop - start, 0), *tensor_of(told(v)).shape), None) for v in stacked]
        found = (*(told(last[name]) for name in carried), *rows)
        return found if len(found) > 1 else found[0]

    def _carried(self, loop: sweet.For, env: Env, values: Mapping[str, Value]) -> None:
        for carry in loop.carries:
            self.matches(carry.type, values[carry.name.name], env)

    def _declared(self, loop: sweet.For, env: Env, values: Mapping[str, Value]) -> Env:
        """Return the carries at an index."""
        found = {c.name.name: c.type and self.of_type(c.type, env) for c in loop.carries}
        return {name: values[name] if of is None else of for name, of in found.items()}

    # Indices

    def _index(self, expr: sweet.Index, env: Env) -> Value:
        whole = self.value(expr.value, env)
        if isinstance(whole, tuple):
            return self._part(expr, whole, env)
        x = tensor_of(whole)
        picks: list[tuple[int, Value]] = []
        dots = next((i for i, item in enumerate(expr.items) if isinstance(item, sweet.Dots)), len(expr.items))
        axes = [i - len(expr.items) if i > dots else i for i in range(len(expr.items))]
        new = tuple(axis for axis, item in zip(axes, expr.items, strict=True) if sweet.is_none(item))
        x = tensor_of(self._ruled("expand_dims", x=x, axis=new)) if new else x
        for axis, item in zip(axes, expr.items, strict=True):
            if axis in new:
                continue
            if isinstance(item, sweet.SliceItem):
                x = self._sliced(x, axis, item, env)
            elif not isinstance(item, sweet.Dots):
                picks.append((axis, self.value(item, env)))
        for axis, at in sorted(picks, key=lambda p: -p[0] if p[0] >= 0 else p[0]):
            x = self._ruled("take", x=x, indices=at if isinstance(at, int) else tensor_of(at), axis=axis)
        return x

    def _part(self, expr: sweet.Index, whole: tuple[Value, ...], env: Env) -> Value:
        at = self.value(expr.items[0], env)
        if len(expr.items) != 1 or not isinstance(at, int) or not -len(whole) <= at < len(whole):
            raise Misfit
        return whole[at]

    def _sliced(self, x: TensorInfo, axis: int, item: sweet.SliceItem, env: Env) -> TensorInfo:
        if not -len(x.shape) <= axis < len(x.shape):
            raise Misfit
        if item.start is None and item.stop is None and item.step is None:
            return x
        size, step = x.shape[axis], 1 if item.step is None else size_of(self.value(item.step, env))
        if step <= 0:
            raise Untold
        start = 0 if item.start is None else size_of(self.value(item.start, env))
        stop = size if item.stop is None else size_of(self.value(item.stop, env))
        made = self._ruled("slice", x=x, starts=(start,), stops=(stop,), axes=(axis,), steps=(step,))
        assert isinstance(made, TensorInfo)
        return made


# Parts


def _stacked(count: int, value: Value) -> Value:
    """Return a value stacked so many times along a new first axis."""
    if isinstance(value, tuple):
        return tuple(_stacked(count, part) for part in value)
    return TensorInfo((count, *tensor_of(told(value)).shape), None)


def _is_size(type_: sweet.Type | None) -> bool:
    return isinstance(type_, sweet.NamedType) and type_.name == "Size"


def _left_open(nodes: Iterable[Node | None], env: Env) -> None:
    """Bind the names that may have been bound there to None, an unknown value."""
    for node in walk(*nodes):
        match node:
            case sweet.Name(name=name) | sweet.Splice(name=sweet.Ident(name=name)) if name not in DTYPES:
                env.setdefault(name, None)


def _same(written: sweet.Expr, dims: tuple[int, ...], env: Env) -> None:
    """Bind a name to a shape or a part of one, or check that it has this value."""
    match written:
        case sweet.Name(name=name) | sweet.Splice(name=sweet.Ident(name=name)) if name != "_":
            if env.setdefault(name, dims) not in (None, dims):
                raise Misfit


def _bounds(expr: sweet.Expr) -> list[sweet.Expr]:
    is_range = isinstance(expr, sweet.Call) and isinstance(expr.callee, sweet.Name) and expr.callee.name == "range"
    return [a.value for a in expr.args] if is_range and isinstance(expr, sweet.Call) else []
