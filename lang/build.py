"""Reductions to sweet tree: one method for each rule or alias of rx.lark, named after it with a trailing underscore."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from typing import Any

from . import codes, sweet
from .codes import Code
from .diagnostics import Diagnostic, Edit, error
from .dtypes import DTYPES
from .lexer import LOOKALIKES
from .node import Node, replace
from .source import Source, Span

MAX_DIGITS = 4000
# Python values that name nothing in a type.
NO_NAMES = ("None", "True", "False")
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[\s\S])")
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\0": "\0", "\\\\": "\\", '\\"': '"', "\\'": "'"}


def _made(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a builder method that calls `make`, for example a node's class, with the span and the rule's parts."""

    def method(self: TreeBuilder, start: int, end: int, *parts: object) -> Any:
        return make(Span(self.source, start, end), *parts)

    return method


class _SplicedCall(Node):
    """`*broadcast(s, t)` in a list."""

    call: sweet.Call


def _is_broadcast(shape: sweet.Expr) -> bool:
    return isinstance(shape, sweet.Call) and isinstance(shape.callee, sweet.Name) and shape.callee.name == "broadcast"


def _ends_in_statement(block: sweet.Block | None) -> sweet.Block | None:
    """Turn a `match_shape` that ends a block of checks from the block's result into a statement."""
    if block is None or block.result is None or not sweet.is_match(block.result):
        return block
    return replace(block, stmts=(*block.stmts, sweet.ExprStmt(block.result.span, block.result)), result=None)


def _is_dtype(expr: sweet.Expr) -> bool:
    """Whether an expression may stand for a dtype in a type: `?`, `float32`, `d`, `x.dtype`."""
    return isinstance(expr, sweet.Unknown | sweet.Name) or (isinstance(expr, sweet.Attr) and expr.name.name == "dtype")


def _in_brackets(arguments: Sequence[sweet.Expr]) -> str:
    """The type that `Tensor(b, n, d)` was meant to be."""
    sizes = ["n", "m"] if isinstance(arguments[0], sweet.ListExpr) else [a.span.text for a in arguments]
    dtype = sizes.pop() if sizes[-1] in DTYPES else "float32"
    return f"Tensor([{', '.join(sizes)}], {dtype})"


def _dtype(expr: sweet.Expr) -> str:
    """The dtype's name that an expression may contain: `"float32"`, `torch.float32`."""
    return expr.span.text.strip("\"'").rpartition(".")[2]


class TreeBuilder:
    """Builds the nodes of one source; errors that the grammar does not catch go to `problems`."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Diagnostic] = []

    def span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def problem(
        self, code: Code, message: str, span: Span, help: str | None = None, edits: tuple[Edit, ...] = ()
    ) -> None:
        if len(self.problems) < 100:
            self.problems.append(error(code, message, span, help=help, edits=edits, certain=True))

    # Items

    import_ = _made(sweet.Import)

    def function_(self, start: int, end: int, *parts: Any) -> sweet.FnDecl:
        *prefixes, name, fn, target = parts
        for i, prefix in enumerate(prefixes):
            if prefix in prefixes[:i]:
                self.problem(codes.E101, f"`{prefix}` stands twice", name.span)
        return sweet.FnDecl(Span(self.source, start, end), tuple(prefixes), name, fn, target)

    prefix_ = _made(lambda _, word: word)

    implementations_ = _made(lambda span, name, *choices: sweet.Impls(span, name, choices))

    gradient_ = _made(lambda span, name, kind, of, *wrt: sweet.Gradient(span, name, kind, of, wrt))

    def const_(
        self,
        start: int,
        end: int,
        name: sweet.Ident,
        before: sweet.Type | None,
        value: sweet.Expr,
        after: sweet.Type | None,
    ) -> sweet.Const:
        if before and after:
            self.problem(codes.E101, f"`{name.name}` has two types", after.span, "leave one of them out")
        return sweet.Const(Span(self.source, start, end), name, before or after, value)

    type_item_ = _made(lambda span, name, params, type: sweet.TypeDecl(span, name, type, params or ()))

    def fn_(
        self,
        start: int,
        end: int,
        parameters: tuple[sweet.Param, ...] | None,
        result: sweet.Type | None,
        where: tuple[sweet.Expr, ...] | None,
        first: sweet.Block | None,
        second: sweet.Block | None,
    ) -> sweet.Fn:
        checks, body = (None, first) if second is None else (_ends_in_statement(first), second)
        return sweet.Fn(Span(self.source, start, end), parameters or (), result, where or (), body, checks)

    parameters_ = _made(lambda _, *parts: parts)

    types_ = carries_ = where_ = type_parameters_ = parameters_

    parameter_ = _made(sweet.Param)

    # Statements

    def block_(self, start: int, end: int, *statements: sweet.Stmt) -> sweet.Block:
        if statements and isinstance(statements[-1], sweet.ExprStmt):
            return sweet.Block(Span(self.source, start, end), statements[:-1], statements[-1].value)
        return sweet.Block(Span(self.source, start, end), statements, None)

    def let_(
        self,
        start: int,
        end: int,
        target: tuple[bool, tuple[sweet.Ident, ...]],
        annotation: tuple[bool, sweet.Type] | None,
        value: sweet.Expr,
    ) -> sweet.Let:
        asserting, type = annotation or (False, None)
        return sweet.Let(Span(self.source, start, end), target[1], target[0], type, asserting, value)

    single_target_ = one_choice_ = _made(lambda _, name: (False, (name,)))

    tuple_target_ = choices_in_braces_ = _made(lambda _, *names: (True, names))

    claim_ = _made(lambda _, type: (False, type))

    assertion_ = _made(lambda _, sign, type: (True, type))

    assert_ = _made(lambda span, cond, message: sweet.Assert(span, cond, message.value if message else None))

    expression_statement_ = _made(sweet.ExprStmt)

    # Types

    type_name_ = _made(lambda _, *words: ".".join(words))

    def named_type_(self, start: int, end: int, name: str) -> sweet.Type:
        if name == "Tensor":
            return sweet.TensorType(Span(self.source, start, end), None, None)
        return sweet.NamedType(Span(self.source, start, end), name)

    def applied_type_(self, start: int, end: int, name: str, *arguments: sweet.Expr) -> sweet.Type:
        span = Span(self.source, start, end)
        if name != "Tensor":
            return sweet.NamedType(span, name, arguments)
        if len(arguments) == 2 and _dtype(arguments[0]) in DTYPES and isinstance(arguments[1], sweet.ListExpr):
            written = f"Tensor({arguments[1].span.text}, {_dtype(arguments[0])})"
            self._instead(span, "in a type, the shape comes first, then the dtype", arguments[0].span, written)
            return sweet.TensorType(span, arguments[1], None)
        if len(arguments) > 2:
            written, whole = _in_brackets(arguments), _dtype(arguments[-1]) in DTYPES
            self._instead(span if whole else None, "`Tensor` takes a shape and a dtype", arguments[2].span, written)
        elif isinstance(arguments[0], sweet.TupleExpr):
            shape = f"[{', '.join(i.span.text for i in arguments[0].items)}]"
            written = f"Tensor({', '.join([shape, *(a.span.text for a in arguments[1:])])})"
            self._instead(span, "a shape is `?`, a name or a list", arguments[0].span, written)
        elif not isinstance(arguments[0], sweet.Unknown | sweet.Name | sweet.ListExpr) and not _is_broadcast(
            arguments[0]
        ):
            self._instead(None, "a shape is `?`, a name or a list", arguments[0].span, "Tensor([n, m], float32)")
        elif len(arguments) == 2 and not _is_dtype(arguments[1]):
            dtype, at = _dtype(arguments[1]), arguments[1].span
            known = dtype in DTYPES
            self._instead(
                at if known else None, "a dtype is `?` or a name", at, dtype if known else _in_brackets(arguments)
            )
        self._check_names(*arguments[:2])
        return sweet.TensorType(span, arguments[0], arguments[1] if len(arguments) > 1 else None)

    def _instead(self, whole: Span | None, message: str, span: Span, written: str) -> None:
        """Report a malformed type and its correct spelling, which replaces `whole`."""
        edits = (Edit(whole, written),) if whole is not None else ()
        self.problem(codes.E108, message, span, f"write `{written}`", edits)

    def _check_names(self, shape: sweet.Expr, dtype: sweet.Expr | None = None) -> None:
        """Report names that are no sizes, shapes or dtypes: `Tensor([None, 3], None)`, `Tensor(float32)`."""
        for size in shape.items if isinstance(shape, sweet.ListExpr) else ():
            self._check_name(size, "size", "write `?` for any size, or a name to refer to it", DTYPES)
        self._check_name(shape, "shape", "write `?` for any shape: `Tensor(?, float32)`", DTYPES)
        self._check_name(dtype, "dtype", "write `?` for any dtype")

    def _check_name(self, expr: sweet.Expr | None, what: str, help: str, others: Container[str] = ()) -> None:
        if isinstance(expr, sweet.Name) and expr.name in others:
            self.problem(codes.E108, f"`{expr.name}` is a dtype, not a {what}", expr.span, help)
        elif isinstance(expr, sweet.Name) and expr.name in NO_NAMES:
            self.problem(codes.E108, f"`{expr.name}` is not a {what}", expr.span, help)

    tuple_type_ = _made(lambda span, *items: sweet.TupleType(span, items))

    fn_type_ = _made(lambda span, parameters, result: sweet.FnType(span, parameters or (), result))

    # Expressions

    def binary_(self, start: int, end: int, left: sweet.Expr, op: str, right: sweet.Expr) -> sweet.Binary:
        op = "==" if op == "=" else LOOKALIKES.get(op, op)
        return sweet.Binary(Span(self.source, start, end), op, left, right)

    def unary_(self, start: int, end: int, op: str, operand: sweet.Expr) -> sweet.Unary:
        return sweet.Unary(Span(self.source, start, end), LOOKALIKES.get(op, op), operand)

    in_class_ = _made(lambda span, item, choices: sweet.InClass(span, item, choices[1], choices[0]))

    attribute_ = _made(sweet.Attr)

    def call_(self, start: int, end: int, callee: sweet.Expr, arguments: tuple[sweet.Arg, ...] | None) -> sweet.Call:
        return sweet.Call(Span(self.source, start, end), callee, arguments or ())

    def arguments_(self, start: int, end: int, *arguments: sweet.Arg) -> tuple[sweet.Arg, ...]:
        seen = False
        for argument in arguments:
            if seen and argument.name is None:
                self.problem(codes.E109, "an argument without a name comes after one with a name", argument.span)
                break
            seen = seen or argument.name is not None
        return arguments

    positional_ = _made(lambda span, value: sweet.Arg(span, None, value))

    keyword_ = _made(sweet.Arg)

    index_expression_ = _made(lambda span, value, *items: sweet.Index(span, value, items))

    slice_ = _made(sweet.SliceItem)

    tuple_ = _made(lambda span, *items: sweet.TupleExpr(span, items))

    def list_(self, start: int, end: int, *items: sweet.Expr | _SplicedCall) -> sweet.Expr:
        """`[*broadcast(s, t)]` is `broadcast(s, t)`."""
        calls = [item.call for item in items if isinstance(item, _SplicedCall)]
        if calls and len(items) == 1:
            return calls[0]
        for call in calls:
            text = call.span.text
            help = f"give it a name: `let s : Shape = {text}` and `*s`, or `*s` in a result and `where s == {text}`"
            self.problem(codes.E108, "among other sizes, `*` stands before a name", call.span, help)
        return sweet.ListExpr(Span(self.source, start, end), tuple(i for i in items if not isinstance(i, _SplicedCall)))

    def spliced_call_(
        self, start: int, end: int, star: str, name: sweet.Ident, arguments: tuple[sweet.Arg, ...] | None
    ) -> _SplicedCall:
        return _SplicedCall(self.call_(name.span.start, end, sweet.Name(name.span, name.name), arguments))

    def splice_(self, start: int, end: int, star: str, name: sweet.Ident) -> sweet.Splice | sweet.Dots:
        span = Span(self.source, start, end)
        return sweet.Splice(span, name) if name.name != "_" else sweet.Dots(span)

    dots_ = _made(sweet.Dots)

    unknown_ = _made(sweet.Unknown)

    def name_(self, start: int, end: int, name: str) -> sweet.Name | sweet.Unknown:
        """A Name, or Unknown for `_`, which may stand for several values."""
        span = Span(self.source, start, end)
        return sweet.Name(span, name) if name != "_" else sweet.Unknown(span)

    fn_name_ = _made(lambda span, name: sweet.FnName(span, name[1:]))

    ident_ = _made(sweet.Ident)

    fn_ident_ = _made(lambda span, name: sweet.Ident(span, name[1:]))

    truth_ = _made(lambda span, word: sweet.BoolLit(span, word == "true"))

    def integer_(self, start: int, end: int, text: str) -> sweet.IntLit:
        digits = text.replace("_", "")
        if len(digits) > MAX_DIGITS:
            message = f"this number has {len(digits)} digits; at most {MAX_DIGITS} are read"
            self.problem(codes.E107, message, Span(self.source, start, end))
            digits = "0"
        return sweet.IntLit(Span(self.source, start, end), int(digits) if digits.isdecimal() else 0)

    def float_(self, start: int, end: int, text: str) -> sweet.FloatLit:
        try:
            value = float(text)
        except ValueError:  # the scanner has reported it
            value = 0.0
        return sweet.FloatLit(Span(self.source, start, end), value, text)

    def string_(self, start: int, end: int, text: str) -> sweet.StrLit:
        inner = text[1:-1]
        value = inner if "\\" not in inner else self._unescape(start + 1, inner)
        return sweet.StrLit(Span(self.source, start, end), value)

    def _unescape(self, start: int, text: str) -> str:
        return _ESCAPE.sub(lambda found: _ESCAPES.get(found[0]) or self._escape(start, found), text)

    def _escape(self, start: int, found: re.Match[str]) -> str:
        """The character that an escape stands for."""
        text = found.group()
        number = int(text[2:], 16) if len(text) > 2 else -1
        if 0 <= number < 0x110000 and not 0xD800 <= number < 0xE000:
            return chr(number)
        span = self.span(start + found.start(), start + found.end())
        self.problem(codes.E110, f"`{text}` is not an escape", span, "a backslash in a string is written `\\\\`")
        return text[1:]

    # Control flow

    def if_(
        self, start: int, end: int, cond: sweet.Expr, then: sweet.Block, orelse: sweet.Block | sweet.If | None
    ) -> sweet.If:
        if isinstance(orelse, sweet.If):
            orelse = sweet.Block(orelse.span, (), orelse)
        return sweet.If(Span(self.source, start, end), cond, then, orelse)

    for_ = _made(
        lambda span, index, iterable, carries, where, cond, stack, body: sweet.For(
            span, index, iterable, carries or (), where or (), cond, stack or (), body
        )
    )

    while_ = _made(
        lambda span, cond, carries, where, stack, body: sweet.While(
            span, cond, carries or (), where or (), stack or (), body
        )
    )

    def condition_(self, start: int, end: int, *parts: Any) -> sweet.Block:
        *statements, result = parts
        return sweet.Block(Span(self.source, start, end), tuple(statements), result)

    carry_ = _made(sweet.Carry)

    def lambda_(
        self,
        start: int,
        end: int,
        parameters: tuple[sweet.Param, ...] | None,
        result: sweet.Type | None,
        where: tuple[sweet.Expr, ...] | None,
        body: sweet.Block,
    ) -> sweet.Lambda:
        return sweet.Lambda(Span(self.source, start, end), self.fn_(start, end, parameters, result, where, body, None))


def alike(left: str, right: str) -> bool:
    """Whether two words differ by one typing error: a letter too many, missing, wrong, or two letters swapped."""
    if left == right or abs(len(left) - len(right)) > 1 or min(len(left), len(right)) < 2:
        return False
    same = 0
    while same < min(len(left), len(right)) and left[same] == right[same]:
        same += 1
    a, b = left[same:], right[same:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
