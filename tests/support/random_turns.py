"""Statements with loops and with functions over rows for a random program: one line each, which mostly fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .random_programs import Made, Maker, Scope


def fixed(maker: Maker, scope: Scope, depth: int) -> list[str]:
    """A carry that keeps its shape, over a range, under a condition, or both; what it leaves may be stacked."""
    x = maker.floats(scope)
    acc, index = maker.name("c"), maker.name("i")
    turns, head = _range(maker, scope, index)
    inner = _inner(maker, scope, acc, x)
    inner.sizes[index] = 0
    lines, following = _body(maker, inner, depth, acc, x)
    kind = maker.random.random()
    annotated = f"{acc} : Tensor([{', '.join(maker.size_text(scope, s) for s in x.sizes)}], float32)"
    carried = f"with ({maker.random.choice((acc, annotated))} = {_first(maker, x)})"
    while_ = f" while (@sum({acc}) < 9.0)" if kind < 0.2 else ""
    if kind < 0.6:
        return maker.bind(scope, f"{head} {carried}{while_} {{ {'; '.join([*lines, following])} }}", x.sizes)
    last, rows = maker.name(), maker.name()
    type_ = maker.random.choice(("?, ?", f"[{', '.join(f'{x.name}.dim({i})' for i in range(len(x.sizes)))}], float32"))
    _made(maker, scope, last, x.sizes)
    _made(maker, scope, rows, (turns, *x.sizes))
    body = "; ".join([*lines, f"({following}, {acc})"])
    return [f"let ({last}, {rows}) = {head} {carried} stack (y : Tensor({type_})) {{ {body} }}"]


def rows_of(maker: Maker, scope: Scope, depth: int) -> list[str]:
    """A loop without a carry: what it makes of each row, or of its index, stacked."""
    x = maker.pick(scope, lambda t: t.dtype == "float32" and len(t.sizes) >= 1)
    index = maker.name("i")
    inner = scope.inner()
    inner.sizes[index] = 0
    lines = maker.statements(inner, maker.random.randint(0, 1), 2)
    near = maker.random.choice((index, index, index, f"{x.name}.dim(0) - 1 - {index}", f"{index} + 1"))
    body = "; ".join([*lines, f"{x.name}[{near}] * 2.0"])
    made = f"for {index} in range({x.name}.dim(0)) stack (y : Tensor(?, ?)) {{ {body} }}"
    return maker.bind(scope, made, x.sizes)


def growing(maker: Maker, scope: Scope, depth: int) -> list[str]:
    """A carry whose annotation says by how much each turn makes it longer, or shorter."""
    x = maker.pick(scope, lambda t: t.dtype == "float32" and len(t.sizes) >= 1)
    acc, index, by = maker.name("c"), maker.name("i"), maker.random.choice((1, 1, 2))
    turns = maker.random.randint(0, 3)
    many, first = maker.size_text(scope, turns), maker.size_text(scope, x.sizes[0])
    rest = [f"{x.name}.dim({i})" for i in range(1, len(x.sizes))]
    sign = maker.random.choice("++-")
    annotation = ", ".join([f"{first} {sign} {index} * {by}", *rest])
    longer = f"@concat([{acc}, @ones([{', '.join([str(by), *rest])}], float32)], axis=0)"
    body = longer if sign == "+" else f"{acc}[{by}:]"
    size = x.sizes[0] + turns * by if sign == "+" else max(x.sizes[0] - turns * by, 0)
    loop = (
        f"for {index} in range({many}) with ({acc} : Tensor([{annotation}], float32) = {_first(maker, x)}) {{ {body} }}"
    )
    return maker.bind(scope, loop, (size, *x.sizes[1:]))


def doubling(maker: Maker, scope: Scope, depth: int) -> list[str]:
    """A size that only the loop knows: while it is below a bound the carry is doubled."""
    x = maker.pick(scope, lambda t: t.dtype == "float32" and len(t.sizes) == 1 and t.sizes[0] >= 1)
    acc, p = maker.name("c"), maker.name("p")
    bound = maker.random.randint(0, 9)
    size = x.sizes[0]
    while size < bound:
        size *= 2
    loop = (
        f"while ({acc}.dim(0) < {maker.size_text(scope, bound)}) with "
        f"({acc} : Tensor([{p}], float32) = {_first(maker, x)}) where {p} >= 1 {{ @concat([{acc}, {acc}], axis=0) }}"
    )
    return maker.bind(scope, loop, (size,))


def counting(maker: Maker, scope: Scope, depth: int) -> list[str]:
    """A `while` over a carried Size, which is a size behind it."""
    x = maker.floats(scope)
    acc, j, k, name = maker.name("c"), maker.name("j"), maker.name("k"), maker.name()
    least, step = maker.random.randint(0, 3), maker.random.choice((1, 1, 2))
    inner = _inner(maker, scope, acc, x)
    inner.sizes[j] = 0
    lines, following = _body(maker, inner, depth, acc, x)
    where = maker.random.choice(("", f" where {j} >= 0"))
    body = "; ".join([*lines, f"({j} + {step}, {following})"])
    carried = f"with ({j} : Size = 0, {acc} = {_first(maker, x)}){where}"
    loop = f"while ({j} < {maker.size_text(scope, least)}) {carried} {{ {body} }}"
    scope.sizes[k] = -(-least // step) * step
    _made(maker, scope, name, x.sizes)
    return [f"let ({k}, {name}) = {loop}"]


def mapped(maker: Maker, scope: Scope, depth: int) -> list[str]:
    """`@map` of a primitive or of a function of its own."""
    x = maker.pick(scope, lambda t: t.dtype == "float32" and len(t.sizes) >= 1)
    if maker.random.random() < 0.3:
        return maker.bind(scope, f"@map({maker.random.choice(('@relu', '@sum', '@same'))}, {x.name})", x.sizes)
    row, result, lines = _function(maker, scope, x)
    typed = maker.random.choice(("", f" : Tensor([{', '.join(f'_d{i}' for i in range(len(x.sizes) - 1))}], float32)"))
    if maker.random.random() < 0.3:
        return _mapped_to_a_pair(maker, scope, x, f"{row}{typed}", [*lines, f"({result.name}, {row})"], result)
    body = "; ".join([*lines, result.name])
    made = f"@map(fn({row}{typed}) {{ {body} }}, {x.name})"
    return maker.bind(scope, made, (x.sizes[0], *result.sizes), result.dtype)


def _mapped_to_a_pair(maker: Maker, scope: Scope, x: Made, params: str, lines: list[str], result: Made) -> list[str]:
    """A tuple of each row, stacked part by part."""
    first, second = maker.name(), maker.name()
    scope.tensors.append(maker.made(first, (x.sizes[0], *result.sizes))._replace(dtype=result.dtype))
    _made(maker, scope, second, x.sizes)
    return [f"let ({first}, {second}) = @map(fn({params}) {{ {'; '.join(lines)} }}, {x.name})"]


def folded(maker: Maker, scope: Scope, depth: int) -> list[str]:
    """`@fold` and `@scan`: what is carried keeps its shape."""
    x = maker.pick(scope, lambda t: t.dtype == "float32" and len(t.sizes) >= 1)
    init = maker.pick(scope, lambda t: t.dtype == "float32" and t.sizes == x.sizes[1:])
    c, r = maker.name("c"), maker.name("r")
    if maker.random.random() < 0.3:
        return _folded_as_a_pair(maker, scope, x, init)
    f = maker.random.choice(("@add", "@maximum", f"fn({c}, {r}) {{ {c} * 0.5 + {r} }}", f"fn({c}, {r}) {{ {r} }}"))
    if maker.random.random() < 0.5:
        return maker.bind(scope, f"@fold({f}, {init.name}, {x.name})", init.sizes)
    last, rows = maker.name(), maker.name()
    _made(maker, scope, last, init.sizes)
    _made(maker, scope, rows, x.sizes)
    return [f"let ({last}, {rows}) = @scan({f}, {init.name}, {x.name})"]


def _folded_as_a_pair(maker: Maker, scope: Scope, x: Made, init: Made) -> list[str]:
    """A state that is a tuple, and with `@scan` a tuple of each turn."""
    c, r, p, q, a, b = (maker.name(stem) for stem in "crpqtt")
    state = f"let ({p}, {q}) = {c}; "
    following = maker.random.choice((f"({q}, {p} + {r})", f"({p} * 0.5, {q})", f"({r}, {p})"))
    _made(maker, scope, a, init.sizes)
    if maker.random.random() < 0.5:
        _made(maker, scope, b, init.sizes)
        return [f"let ({a}, {b}) = @fold(fn({c}, {r}) {{ {state}{following} }}, ({init.name}, {init.name}), {x.name})"]
    last = maker.name()
    _made(maker, scope, b, x.sizes)
    left = f"({r} * 2.0, (@sum({p}), {q}))"
    return [
        f"let {last} = @scan(fn({c}, {r}) {{ {state}({following}, {left}) }}, ({init.name}, {init.name}), {x.name})",
        f"let {a} = {last}[0][1]", f"let {b} = {last}[1][1][1]",
    ]  # fmt: skip


def _range(maker: Maker, scope: Scope, index: str) -> tuple[int, str]:
    """How many turns, and the head of the loop."""
    turns, start, step = maker.random.randint(0, 3), maker.random.choice((0, 0, 1, -1)), maker.random.choice((1, 1, 2))
    if maker.random.random() < 0.6:
        return turns, f"for {index} in range({maker.size_text(scope, turns)})"
    stop = maker.size_text(scope, start + turns * step)
    return turns, f"for {index} in range({start}, {stop}, {step})"


def _first(maker: Maker, x: Made) -> str:
    """What a carry begins with: a name, or what is made of it there."""
    return maker.random.choice((x.name, x.name, f"{x.name} + 1.0"))


def _inner(maker: Maker, scope: Scope, acc: str, x: Made) -> Scope:
    inner = scope.inner()
    _made(maker, inner, acc, x.sizes)
    return inner


def _made(maker: Maker, scope: Scope, name: str, sizes: tuple[int, ...]) -> None:
    made = maker.made(name, sizes)
    scope.tensors.append(made)


def _body(maker: Maker, inner: Scope, depth: int, acc: str, x: Made) -> tuple[list[str], str]:
    """Statements of a turn, and the next carry."""
    lines = maker.statements(inner, maker.random.randint(0, 2), 2)
    same = maker.pick(inner, lambda t: t.dtype == "float32" and t.sizes == x.sizes).name
    return lines, maker.random.choice((f"{acc} + 1.0", f"{acc} * 0.5 + {same}", f"{same} + {acc}", same))


def _function(maker: Maker, scope: Scope, x: Made) -> tuple[str, Made, list[str]]:
    """The parameter of a function over rows, its result and its statements."""
    row = maker.name("r")
    inner = _inner(maker, scope, row, maker.made(row, x.sizes[1:]))
    lines = maker.statements(inner, maker.random.randint(1, 2), 2)
    return row, maker.floats(inner), lines


TURNS = (fixed, fixed, rows_of, growing, doubling, counting, mapped, mapped, folded)
