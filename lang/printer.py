"""Sweet tree to text; parsing the text gives the tree back.

A block whose last statement is an expression must have it as its result, as the parser makes it.
"""

from __future__ import annotations

from typing import assert_never

from . import sweet

# The binding strengths of expressions, weakest first; an operand weaker than its place requires gets parentheses.
_WEAKEST, _OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGNED, _POWER, _POSTFIX, _ATOM = range(11)

_LEVELS: dict[str, tuple[int, int, int]] = {
    "||": (_OR, _OR, _AND),
    "&&": (_AND, _AND, _NOT),
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), (_COMPARISON, _SUM, _SUM)),
    **dict.fromkeys(("+", "-"), (_SUM, _SUM, _PRODUCT)),
    **dict.fromkeys(("*", "/", "//", "%"), (_PRODUCT, _PRODUCT, _SIGNED)),
    "**": (_POWER, _POSTFIX, _SIGNED),
}
"""An operator's binding strength, and the strengths that it requires of its left and right operands."""

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0", "\\": "\\\\", '"': '\\"'}


def print_fn(fn: sweet.Fn) -> str:
    blocks = [print_block(block) for block in (fn.checks, fn.body) if block]
    return " ".join([print_signature(fn) + _where(fn.where), *blocks])


def print_signature(fn: sweet.Fn) -> str:
    """`fn(x : T, ...) : T`, without conditions and body."""
    result = f" : {print_type(fn.result)}" if fn.result else ""
    return f"fn({', '.join(map(print_param, fn.params))}){result}"


def print_param(param: sweet.Param) -> str:
    annotation = f" : {print_type(param.type)}" if param.type else ""
    default = f" = {print_expr(param.default)}" if param.default else ""
    return f"{param.name.name}{annotation}{default}"


def print_block(block: sweet.Block) -> str:
    """A block on one line, its statements separated by `;`."""
    statements = [print_stmt(statement) for statement in block.stmts]
    if block.result:
        statements.append(print_expr(block.result))
    return f"{{ {'; '.join(statements)} }}" if statements else "{}"


def print_stmt(statement: sweet.Stmt) -> str:
    match statement:
        case sweet.Let():
            return _let(statement)
        case sweet.Assert():
            message = f", {quote(statement.message)}" if statement.message is not None else ""
            return f"assert {print_expr(statement.cond)}{message}"
        case sweet.ExprStmt():
            return print_expr(statement.value)
        case _:
            assert_never(statement)


def _let(let: sweet.Let) -> str:
    names = [name.name for name in let.names]
    target = tupled(names) if let.is_tuple else names[0]
    annotation = f" {'!' if let.asserting else ':'} {print_type(let.type)}" if let.type else ""
    return f"let {target}{annotation} = {print_expr(let.value)}"


def print_type(type: sweet.Type) -> str:
    match type:
        case sweet.NamedType():
            return f"{type.name}({', '.join(map(print_expr, type.args))})" if type.args else type.name
        case sweet.TensorType():
            if type.dtype:
                return f"Tensor({print_expr(type.shape) if type.shape else '?'}, {print_expr(type.dtype)})"
            return f"Tensor({print_expr(type.shape)})" if type.shape else "Tensor"
        case sweet.TupleType():
            return tupled([print_type(item) for item in type.items])
        case sweet.FnType():
            return f"fn({', '.join(map(print_type, type.params))}) : {print_type(type.result)}"
        case _:
            assert_never(type)


def print_expr(expression: sweet.Expr) -> str:
    """An expression on one line."""
    return _expr(expression, _WEAKEST)


def _expr(e: sweet.Expr, place: int) -> str:
    """An expression for a place that requires at least the binding strength `place`."""
    level, text = _bound(e)
    return text if level >= place else f"({text})"


def _bound(e: sweet.Expr) -> tuple[int, str]:
    """The binding strength of an expression, and its text."""
    match e:
        case sweet.Name():
            return _ATOM, e.name
        case sweet.FnName():
            return _ATOM, "@" + e.name
        case sweet.IntLit():
            return (_ATOM if e.value >= 0 else _SIGNED), str(e.value)
        case sweet.FloatLit():
            return (_SIGNED if e.text.startswith("-") else _ATOM), e.text
        case sweet.StrLit():
            return _ATOM, quote(e.value)
        case sweet.BoolLit():
            return _ATOM, "true" if e.value else "false"
        case sweet.Unary():
            level = _NOT if e.op == "!" else _SIGNED
            return level, e.op + _expr(e.operand, level)
        case sweet.Binary():
            level, left, right = _LEVELS[e.op]
            return level, f"{_expr(e.left, left)} {e.op} {_expr(e.right, right)}"
        case sweet.InClass():
            return _COMPARISON, f"{_expr(e.item, _SUM)} in {_choices(e)}"
        case sweet.Attr():
            value = f"({print_expr(e.value)})" if isinstance(e.value, sweet.FnName) else _expr(e.value, _POSTFIX)
            return _POSTFIX, f"{value}.{e.name.name}"
        case sweet.Call():
            return _POSTFIX, f"{_expr(e.callee, _POSTFIX)}({', '.join(map(print_arg, e.args))})"
        case sweet.Index():
            return _POSTFIX, f"{_expr(e.value, _POSTFIX)}[{', '.join(map(_index, e.items))}]"
        case sweet.TupleExpr():
            return _ATOM, tupled(list(map(print_expr, e.items)))
        case sweet.ListExpr():
            return _ATOM, f"[{', '.join(map(print_expr, e.items))}]"
        case sweet.Splice():
            return _ATOM, "*" + e.name.name
        case sweet.Dots():
            return _ATOM, "..."
        case sweet.Unknown():
            return _ATOM, "?"
        case sweet.If():
            return _WEAKEST, _if(e)
        case sweet.For():
            cond = f" while ({_condition(e.cond)})" if e.cond else ""
            head = f"for {e.index.name} in {print_expr(e.iterable)}{_with(e.carries)}{_where(e.where)}{cond}"
            return _WEAKEST, f"{head}{_stack(e.stack)} {print_block(e.body)}"
        case sweet.While():
            head = f"while ({_condition(e.cond)}){_with(e.carries)}{_where(e.where)}"
            return _WEAKEST, f"{head}{_stack(e.stack)} {print_block(e.body)}"
        case sweet.Lambda():
            return _WEAKEST, print_fn(e.fn)
        case _:
            assert_never(e)


def print_arg(argument: sweet.Arg) -> str:
    name = f"{argument.name.name}=" if argument.name else ""
    return name + print_expr(argument.value)


def _index(item: sweet.Expr | sweet.SliceItem) -> str:
    if not isinstance(item, sweet.SliceItem):
        return print_expr(item)
    start, stop = (print_expr(part) if part else "" for part in (item.start, item.stop))
    return f"{start}:{stop}" + (f":{print_expr(item.step)}" if item.step else "")


def _choices(e: sweet.InClass) -> str:
    names = ", ".join(choice.name for choice in e.choices)
    return f"{{{names}}}" if e.braces else names


def _if(e: sweet.If) -> str:
    text = f"if ({print_expr(e.cond)}) {print_block(e.then)}"
    if e.orelse is None:
        return text
    if not e.orelse.stmts and isinstance(e.orelse.result, sweet.If):
        return f"{text} else {_if(e.orelse.result)}"
    return f"{text} else {print_block(e.orelse)}"


def _with(carries: tuple[sweet.Carry, ...]) -> str:
    return f" with ({', '.join(map(_carry, carries))})" if carries else ""


def _where(conditions: tuple[sweet.Expr, ...]) -> str:
    return f" where {', '.join(map(print_expr, conditions))}" if conditions else ""


def _stack(stack: tuple[sweet.Param, ...]) -> str:
    return f" stack ({', '.join(map(print_param, stack))})" if stack else ""


def _condition(cond: sweet.Block) -> str:
    parts = [print_stmt(statement) for statement in cond.stmts]
    return "; ".join(parts + ([print_expr(cond.result)] if cond.result else []))


def _carry(carry: sweet.Carry) -> str:
    annotation = f" : {print_type(carry.type)}" if carry.type else ""
    return f"{carry.name.name}{annotation} = {print_expr(carry.init)}"


def tupled(items: list[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def quote(value: str) -> str:
    return '"' + "".join(map(_character, value)) + '"'


def _character(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    number = ord(char)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
