"""An assertion of an annotation to words: what it wants, and what is there, in the user's names."""

from __future__ import annotations

import re
from math import gcd

from ...lang import core
from ...lang.offsets import offset
from ...ops.model import TensorInfo
from ...ops.wording import listed
from ..known.shape_level import Poisoned, ShapeLevel
from ..known.state import State
from ..known.values import DTypeValue, Entry, Env, SizeValue, Undecided, plain
from ..solver.terms import Size, Term, mod
from .describe import annotation_text, dtype_text, shape_text, size_text, told, type_text

_NAME = re.compile(r"[^\W\d]\w*'*")


def size_label(state: State, entry: Entry, axis: int) -> str:
    shape = state.resolve(entry.value.shape) if isinstance(entry.value, TensorInfo) else ()
    if not plain(shape) or not -len(shape) <= axis < len(shape):
        return ""
    return comes_from_here(told(shape[axis], state))


def comes_from_here(size: str) -> str:
    """`15 comes from here`; `a size of at most 5 comes from here`."""
    return f"{'a size of ' * size.startswith('at most ')}{size} comes from here"


def wording(state: State, stmt: core.Assert | core.MatchShape, env: Env, subject: str) -> tuple[str, str]:
    """What an assertion of an annotation wants and what is there: ("axis 1 of `x` to be 4", "it is 15")."""
    if isinstance(stmt, core.MatchShape):
        tensor = env.get(stmt.tensor)
        found = f"it is {type_text(tensor.value, state)}" if tensor else ""
        return f"{subject} to have a shape like {_pattern_text(stmt)}", found
    what, cond = stmt.origin.what, stmt.cond
    if isinstance(cond, core.Compare):
        if what == "rank":
            rank = _side(state, cond.left, env)
            if not rank.isdigit() and (pattern := _shape_pattern(stmt)):
                return f"{subject} to have a shape like {pattern}", "its rank is not known"
            found = f"it has rank {rank}" if rank.isdigit() else "its rank is not known"
            return f"{subject} to have rank {_side(state, cond.right, env)}", found
        if what == "dtype":
            left = _side(state, cond.left, env)
            found = "its dtype is not known" if left == "?" else f"it has {left}"
            return f"{subject} to have dtype {_side(state, cond.right, env)}", found
        if what == "dim":
            axis = f"axis {stmt.origin.axis} of {subject}"
            found = "" if _is_about_factor(stmt, cond) else f"it is {_dim_found(state, stmt, env)}"
            return f"{axis} {_wanted(state, stmt, cond, env)}", found
        if what == "shape":
            wanted, there = _side(state, cond.right, env), _side(state, cond.left, env)
            found = "its rank is not known" if there == "?" else f"it has {there}"
            return f"{subject} to have shape {_shape_pattern(stmt) if wanted == '?' else wanted}", found
    return f"`{stmt.origin.text or 'the condition'}` to hold", values_text(state, cond, env)


def with_owner(needs: str, written: str, found: str, owner: str) -> str:
    """What a callee wants, with whose names it is written in, where the caller's sizes have a name of that kind too: "to be 1
    (@g's `n`)" where "it is n"."""
    own, rest = set(_NAME.findall(written)), needs.replace(f"`{written}`", "")
    theirs = set(_NAME.findall(found)) | set(_NAME.findall(re.sub(r"`[^`]*`", "", rest)))
    return needs.replace(f"`{written}`", f"{owner}'s `{written}`") if own & theirs else needs


def _is_about_factor(stmt: core.Assert, cond: core.Compare) -> bool:
    """Whether the condition is about a factor of `n * m` that has to be at least 1, and not about the dimension itself."""
    return cond.op == ">=" and not (isinstance(cond.left, core.SizeOp) and cond.left.op == "-")


def _wanted(state: State, stmt: core.Assert, cond: core.Compare, env: Env) -> str:
    left, text = cond.left, stmt.origin.text
    if isinstance(left, core.SizeOp) and left.op == "%" and cond.op == "==":
        rest = remainder(state, stmt, env)
        factor = _side(state, left.right, env)
        return f"to fit `{text}`" if rest is None else f"to be {_more_than(rest, state)}a multiple of {factor}"
    if cond.op == "==":
        wanted = _side(state, cond.right, env)
        return f"to be {wanted}" if not text or text == wanted else f"to be {wanted} (`{text}`)"
    if isinstance(left, core.SizeOp):
        found = _shift(state, stmt, left, env)
        if found is None:
            return f"to fit `{text}`"
        sign, added = found
        return f"to be at {'least' if sign > 0 else 'most'} {size_text(-sign * added, state)}"
    factor = _side(state, left, env)
    return f"to fit `{text}`, whose factor {factor} has to be at least 1"


def remainder(state: State, stmt: core.Assert, env: Env) -> Size | None:
    """What a dimension has to leave by a divisor: 3 where `8 * k + 3` is asked for; None where that is no part of it."""
    match stmt.cond:
        case core.Compare(op="==", left=core.SizeOp(op="%", left=size, right=divisor)):
            found = _shift(state, stmt, size, env)
            if found is None:
                return None
            rest, factor = -found[0] * found[1], state.settled(ShapeLevel(state, env).size(divisor))
            return rest % factor if isinstance(rest, int) and isinstance(factor, int) and factor > 0 else rest
    return None


def bound(state: State, stmt: core.Assert, env: Env) -> int | None:
    """The number that a dimension has to reach or keep to: 3 where `n + 3` is asked for."""
    cond = stmt.cond
    if not isinstance(cond, core.Compare) or not isinstance(cond.left, core.SizeExpr):
        return None
    found = _shift(state, stmt, cond.left, env)
    least = None if found is None else state.settled(-found[0] * found[1])
    return least if isinstance(least, int) else None


def _shift(state: State, stmt: core.Assert, expr: core.SizeExpr, env: Env) -> tuple[int, Size] | None:
    """An expression as a dimension, or less a dimension, with what is added."""
    declared = stmt.origin.declared
    found = None if declared is None else offset(expr, declared.tensor, stmt.origin.axis)
    if found is None:
        return None
    level = ShapeLevel(state, env)
    added: Size = 0
    try:
        for sign, term in found.terms:
            added = added + sign * level.size(term)
    except Poisoned:
        return None
    return found.sign, state.settled(added)


def _more_than(rest: Size, state: State) -> str:
    """ "3 more than " in "to be 3 more than a multiple of 8"."""
    if isinstance(rest, int) and rest < 0:
        return f"{-rest} less than "
    return f"{size_text(rest, state)} more than " if rest != 0 else ""


def _dim_found(state: State, stmt: core.Assert, env: Env) -> str:
    declared = stmt.origin.declared
    assert declared is not None
    entry = env.get(declared.tensor)
    if entry is None or not isinstance(entry.value, TensorInfo) or stmt.origin.axis is None:
        return "something else"
    shape = state.resolve(entry.value.shape)
    axis = stmt.origin.axis
    if not plain(shape) or not -len(shape) <= axis < len(shape):
        return "not known"
    text = told(shape[axis], state)
    return "not known" if "?" in text else text


def _side(state: State, expr: core.ShapeLevel, env: Env) -> str:
    """One side of a comparison as it stands: its value in the user's names."""
    level = ShapeLevel(state, env)
    try:
        if isinstance(expr, core.SizeExpr):
            return size_text(level.size(expr), state)
        if isinstance(expr, core.DTypeExpr):
            return dtype_text(level.dtype(expr), state)
        if isinstance(expr, core.ShapeExpr):
            return shape_text(level.shape(expr), state)
    except Poisoned:
        pass
    return "?"


def values_text(state: State, cond: core.BoolExpr, env: Env) -> str:
    """What a condition comes to with what is known: `8 <= 3 is false`."""
    level = ShapeLevel(state, env)
    try:
        truth = level.truth(cond)
    except Poisoned:
        return ""
    if isinstance(truth, Undecided):
        return ""
    sizes = _sizes_in(state, cond, env)
    if isinstance(truth, bool):
        return listed([f"{n} is {size_text(e, state)}" for n, e in sizes if n != size_text(e, state)])
    return listed([known for n, e in sizes if (known := _known_range(state, n, e))])


def _known_range(state: State, name: str, size: Size) -> str:
    """What is known of a size: `n is at least 6`."""
    low, high = state.facts.bounds(size)
    text = size_text(size, state)
    shown = name if name == text else f"{name} = {text}"
    if low is not None and low == high:
        return f"{name} is {low}"
    if high is not None:
        return f"{shown} is at most {high}"
    return f"{shown} is at least {low}" if low else ""


def _sizes_in(state: State, cond: core.BoolExpr, env: Env) -> list[tuple[str, Size]]:
    """The sizes that a condition speaks of, as it speaks of them."""
    found: dict[str, Size] = {}
    stack: list[object] = [cond]
    while stack:
        node = stack.pop()
        if isinstance(node, core.SizeVar | core.DimOf | core.RankOf):
            text = node.span.text or (node.name if isinstance(node, core.SizeVar) else "")
            try:
                if text:
                    found.setdefault(text, ShapeLevel(state, env).size(node))
            except Poisoned:
                continue
        elif isinstance(node, core.Compare | core.Logic | core.SizeOp):
            stack.extend((node.right, node.left))
        elif isinstance(node, core.Not):
            stack.append(node.operand)
    return list(found.items())


def _pattern_text(stmt: core.MatchShape) -> str:
    return _shape_pattern(stmt) or stmt.origin.text or "the pattern"


def _shape_pattern(stmt: core.Assert | core.MatchShape) -> str:
    """The shape of the annotation that an assertion was made of, as it is written."""
    declared = stmt.origin.declared
    if declared is not None and declared.annotation is not None and declared.annotation.shape is not None:
        return " ".join(declared.annotation.shape.span.text.split())
    return ""


def why(state: State, stmt: core.Assert | core.MatchShape, env: Env) -> str:
    """The equation that fails, at the annotation: `m * 4 = 15 has no integer solution (15 mod 4 = 3)`."""
    if isinstance(stmt, core.Assert) and isinstance(stmt.cond, core.Compare) and stmt.origin.what in ("rank", "dtype"):
        return f"{stmt.origin.what} {_side(state, stmt.cond.right, env)} is wanted here"
    if not isinstance(stmt, core.Assert) or stmt.origin.what != "dim" or not isinstance(stmt.cond, core.Compare):
        return "this is wanted here"
    left, text = stmt.cond.left, stmt.origin.text
    if isinstance(left, core.SizeOp) and left.op == "%":
        return _division(state, stmt, left, env)
    if stmt.cond.op != "==":
        return f"{text} is wanted here"
    wanted = _side(state, stmt.cond.right, env)
    return f"{text} is {wanted} here" if text and text != wanted else f"{wanted} is wanted here"


def _division(state: State, stmt: core.Assert, left: core.SizeOp, env: Env) -> str:
    """The equation of a dimension that a divisor has to divide, less what is added."""
    level, text, wanted = ShapeLevel(state, env), stmt.origin.text, remainder(state, stmt, env)
    found, size = _shift(state, stmt, left.left, env), level.size(left.left)
    if found is None or wanted is None:
        return f"{text} is wanted here"
    size, factor = state.settled(found[0] * (size - found[1])), state.settled(level.size(left.right))
    shown = f"{text} = {size_text(size, state)}"
    reason = _never(size, factor, wanted, state)
    return f"{shown} has no integer solution ({reason})" if reason else shown


def _never(size: Size, factor: Size, wanted: Size, state: State) -> str:
    """Why no such size leaves `wanted` by the factor; nothing if some may."""
    if not isinstance(factor, int) or not isinstance(wanted, int) or factor < 1:
        return ""
    rest = mod(size, factor)
    if isinstance(rest, int):
        found = f"{size_text(size, state)} mod {factor} = {rest}"
        return "" if rest == wanted else found + f", not {wanted}" if wanted else found
    step = gcd(factor, *(k for mono, k in size.mons.items() if mono)) if isinstance(size, Term) else 1
    rest = size.mons.get((), 0) % step if isinstance(size, Term) else 0
    return f"mod {step} they are {wanted % step} and {rest}" if wanted % step != rest else ""


def filled_type(state: State, declared: core.Declared, env: Env) -> str:
    """The annotation with what is known filled in: `Tensor([3, n], int8)`."""
    if declared.annotation is None or declared.annotation.kind != "tensor":
        return declared.annotation.span.text if declared.annotation is not None else "Tensor"
    sizes, dtypes = known_names(state, declared, env)
    return annotation_text(declared.annotation, sizes, dtypes, state)


def known_names(state: State, declared: core.Declared, env: Env) -> tuple[dict[str, Size], dict[str, str]]:
    """What the names of an annotation stand for: sizes, and dtypes as text."""
    sizes: dict[str, Size] = {}
    dtypes: dict[str, str] = {}
    level = ShapeLevel(state, env)
    for name, expr in declared.bound:
        try:
            if isinstance(expr, core.SizeExpr):
                sizes[name] = level.size(expr)
            elif isinstance(expr, core.DTypeExpr):
                dtypes[name] = dtype_text(level.dtype(expr), state)
        except Poisoned:
            continue
    for name in env:
        value = env[name].value
        if isinstance(value, SizeValue):
            sizes.setdefault(name, value.size)
        elif isinstance(value, DTypeValue):
            dtypes.setdefault(name, dtype_text(value.dtype, state))
    return sizes, dtypes
