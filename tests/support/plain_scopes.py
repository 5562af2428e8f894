"""Random programs with few names, which are bound again and again: each as text, and as what it means in plain Python.

The meaning is written down beside the text and knows nothing of a core: scopes are dicts, annotations are compared where they
stand. `Wrong` is raised where the program has to refuse, `Endless` where a loop has too many turns to be told of.
"""

import random
from typing import Any, NamedTuple

import numpy as np

NAMES = ("x", "y", "z")
HEAD = "@main = fn(x : Tensor([a], float32), y : Tensor([b], float32), c : Size) : Tensor{} where c >= 0 {{\n"
_MOST_TURNS, _MOST_ELEMENTS = 60, 3_000
_COMPARED = {
    "<": lambda p, q: p < q, "<=": lambda p, q: p <= q, "==": lambda p, q: p == q, "!=": lambda p, q: p != q,
    ">": lambda p, q: p > q,
}  # fmt: skip
_MADE = {
    "+": lambda p, q: p + q, "-": lambda p, q: p - q, "*": lambda p, q: p * q, "min": min, "max": max,
    "//": lambda p, q: p // q, "%": lambda p, q: p % q,
}  # fmt: skip


class Wrong(Exception):
    """Something is claimed that is not so."""


class Endless(Exception):
    """It takes too long."""


class Scope(NamedTuple):
    """The tensors, sizes and functions that there are."""

    tensors: dict
    sizes: dict
    functions: dict

    def inner(self, tensors=None, sizes=None):
        return Scope({**self.tensors, **(tensors or {})}, {**self.sizes, **(sizes or {})}, dict(self.functions))


class Term(NamedTuple):
    """A size, a condition, a tensor or a block: its text, and what it is in a scope."""

    text: str
    of: Any


def need(holds):
    if not holds:
        raise Wrong


class Maker:
    """Draws terms over the names that it is told there are."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0

    def fresh(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def name(self):
        return self.random.choice((*NAMES, "h"))

    # Sizes

    def size(self, tensors, sizes, depth=1):
        chance = self.random.random()
        if chance < 0.3 and tensors:
            return dim(self.random.choice(tensors))
        if chance < 0.55 and sizes:
            name = self.random.choice(sizes)
            return Term(name, lambda scope: scope.sizes[name])
        if chance < 0.75 or not depth:
            number = self.random.choice((0, 1, 2, 3))
            return Term(str(number), lambda _: number)
        op = self.random.choice(("+", "+", "-", "*", "min", "max", "//", "%"))
        return made(op, self.size(tensors, sizes, depth - 1), self.size(tensors, sizes, 0))

    def condition(self, tensors, sizes):
        op, p, q = self.random.choice(list(_COMPARED)), self.size(tensors, sizes), self.size(tensors, sizes)
        return Term(f"{p.text} {op} {q.text}", lambda scope: _COMPARED[op](p.of(scope), q.of(scope)))

    # Tensors

    def tensor(self, tensors, sizes, functions, depth):
        if depth <= 0 or self.random.random() < 0.28:
            name = self.random.choice(tensors)
            return Term(name, lambda scope: scope.tensors[name])
        kinds = (self.joined, self.joined, self.part, self.part, self.zeros, self.sum, self.filtered, self.choice, self.called,
                 self.loop, self.loop, self.mapped, self.folded, self.rows, self.stacked)  # fmt: skip
        return self.random.choice(kinds)(tensors, sizes, functions, depth)

    def joined(self, tensors, sizes, functions, depth):
        p, q = (self.tensor(tensors, sizes, functions, depth - 1) for _ in range(2))

        def of(scope):
            found = np.concatenate([p.of(scope), q.of(scope)])
            if found.size > _MOST_ELEMENTS:
                raise Endless
            return found

        return Term(f"@concat([{p.text}, {q.text}])", of)

    def part(self, tensors, sizes, functions, depth):
        p, n = self.tensor(tensors, sizes, functions, depth - 1), self.size(tensors, sizes)
        if self.random.random() < 0.6:
            return Term(f"@slice({p.text}, starts=[0], stops=[{n.text}], axes=[0])", lambda s: p.of(s)[0 : n.of(s)])
        return Term(f"@slice({p.text}, starts=[{n.text}], stops=[999], axes=[0])", lambda s: p.of(s)[n.of(s) : 999])

    def zeros(self, tensors, sizes, functions, depth):
        n = self.size(tensors, sizes)

        def of(scope):
            need(n.of(scope) >= 0)
            return np.zeros(n.of(scope), np.float32)

        return Term(f"@zeros([{n.text}], float32)", of)

    def sum(self, tensors, sizes, functions, depth):
        p, q = (self.tensor(tensors, sizes, functions, depth - 1) for _ in range(2))

        def of(scope):
            one, other = p.of(scope), q.of(scope)
            need(len(one) == len(other) or 1 in (len(one), len(other)))
            return one + other

        return Term(f"({p.text} + {q.text})", of)

    def filtered(self, tensors, sizes, functions, depth):
        name = self.random.choice(tensors)
        return Term(f"@filter({name}, {name} > 0.5)", lambda s: s.tensors[name][s.tensors[name] > 0.5])

    def choice(self, tensors, sizes, functions, depth):
        cond = self.condition(tensors, sizes)
        then, orelse = (self.block(tensors, sizes, functions, depth - 1) for _ in range(2))
        text = f"if ({cond.text}) {{ {then.text} }} else {{ {orelse.text} }}"
        return Term(text, lambda scope: (then if cond.of(scope) else orelse).of(scope))

    def called(self, tensors, sizes, functions, depth):
        given = self.tensor(tensors, sizes, functions, depth - 1)
        if not functions:
            return given
        name = self.random.choice(functions)
        return Term(f"{name}({given.text})", lambda scope: scope.functions[name](given.of(scope)))

    def mapped(self, tensors, sizes, functions, depth):
        given, name = self.tensor(tensors, sizes, functions, depth - 1), self.name()
        return Term(f"@map(fn({name}) {{ {name} * 2.0 }}, {given.text})", lambda scope: given.of(scope) * np.float32(2))

    def folded(self, tensors, sizes, functions, depth):
        state, row = self.random.sample((*NAMES, "h"), 2)
        turn = self.block([n for n in dict.fromkeys([*tensors, state]) if n != row], sizes, [], depth - 1)
        first, rows = (self.tensor(tensors, sizes, functions, depth - 2) for _ in range(2))
        scans = self.random.random() < 0.5

        def of(scope):
            value = first.of(scope)
            for one in rows.of(scope):
                following = turn.of(scope.inner({state: value, row: one}))
                need(following.shape == value.shape)
                value = following
            return value

        call = f"(fn({state}, {row}) {{ {turn.text} }}, {first.text}, {rows.text})"
        return Term(f"@scan{call}[0]" if scans else f"@fold{call}", of)

    def rows(self, tensors, sizes, functions, depth):
        """The sums of what a function gives for so many equal rows."""
        name, (many, length) = self.name(), (self.size(tensors, sizes) for _ in range(2))
        turn = self.block(list(dict.fromkeys([*tensors, name])), sizes, [], depth - 1)

        def of(scope):
            count, row = many.of(scope), length.of(scope)
            need(count >= 0 and row >= 0)
            return sums([turn.of(scope.inner({name: np.ones(row, np.float32)})) for _ in range(count)])

        text = (
            f"@map(fn({name} : Tensor([?], float32)) {{ {turn.text} }}, @ones([{many.text}, {length.text}], float32))"
        )
        return Term(f"@sum({text}, axis=1)", of)

    def stacked(self, tensors, sizes, functions, depth):
        """The sums of what turns leave."""
        index, many = self.fresh("i"), self.size(tensors, sizes)
        turn = self.block(tensors, [*sizes, index], functions, depth - 1)
        size = dim(self.random.choice(tensors)) if self.random.random() < 0.5 else None

        def of(scope):
            left = [turn.of(scope.inner(sizes={index: i})) for i in range(min(many.of(scope), _MOST_TURNS))]
            need(size is None or {len(one) for one in left} <= {size.of(scope)})
            return sums(left)

        type_ = "?" if size is None else size.text
        text = f"for {index} in range({many.text}) stack (s : Tensor([{type_}], float32)) {{ {turn.text} }}"
        return Term(f"@sum({text}, axis=1)", of)

    def loop(self, tensors, sizes, functions, depth):
        index, carry = self.fresh("i"), self.name()
        first = self.tensor(tensors, sizes, functions, depth - 2)
        inside = list(dict.fromkeys([*tensors, carry]))
        kind = self.random.choice(("for", "for", "for while", "while"))
        sizes_of_turn = sizes if kind == "while" else [*sizes, index]
        type_, holds = self.invariant([n for n in tensors if n != carry], sizes_of_turn, index)
        start, stop = self.size([], [], 0), self.size(tensors, sizes)
        cond = self.condition(inside, sizes_of_turn)
        if self.random.random() < 0.6:
            cond = compared("<", dim(carry), self.random.choice((2, 3, 5, 8)))
        turn = self.block(inside, sizes_of_turn, functions, depth - 1)

        def of(scope):
            value = first.of(scope)
            began, at = value, start.of(scope) if kind != "while" else 0
            end = stop.of(scope) if kind != "while" else 1_000_000
            for _ in range(_MOST_TURNS):
                inner = scope.inner({carry: value}, {index: at})
                need(holds(inner, value, began))
                if at >= end or (kind != "for" and not cond.of(inner)):
                    return value
                value, at = turn.of(inner), at + 1
            raise Endless

        head = f"while ({cond.text})" if kind == "while" else f"for {index} in range({start.text}, {stop.text})"
        until = f" while ({cond.text})" if kind == "for while" else ""
        return Term(f"{head} with ({carry}{type_} = {first.text}){until} {{ {turn.text} }}", of)

    def invariant(self, around, sizes, index):
        """The annotation of a carry, and whether it holds of a value."""
        chance = self.random.random()
        if chance < 0.3:
            return "", lambda scope, value, first: value.shape == first.shape
        if chance < 0.5 or not around:
            free = (f" : Tensor([p{index}], float32)", " : Tensor([?], float32)", " : Tensor", " : Tensor(?, float32)")
            return self.random.choice(free), lambda scope, value, first: True
        size = dim(self.random.choice(around))
        if index in sizes and self.random.random() < 0.5:
            by = self.random.choice((1, 1, 2))
            size = made("+", size, Term(f"{index} * {by}", lambda scope: scope.sizes[index] * by))
        elif self.random.random() < 0.5:
            size = self.size(around, sizes)
        return f" : Tensor([{size.text}], float32)", lambda scope, value, first: len(value) == size.of(scope)

    # Statements

    def block(self, tensors, sizes, functions, depth):
        tensors, stmts = list(tensors), []
        for _ in range(self.random.choice((0, 1, 1, 2))):
            stmts.append(self.let(tensors, sizes, functions, depth - 1))
        result = self.tensor(tensors, sizes, functions, depth - 1)

        def of(scope):
            own = scope.inner()
            for stmt in stmts:
                stmt.of(own)
            return result.of(own)

        return Term("; ".join(t.text for t in (*stmts, result)), of)

    def let(self, tensors, sizes, functions, depth):
        """A binding, which changes the scope that it is given; its name is there from now on."""
        name, claim = self.random.choice(NAMES), None if self.random.random() < 0.75 else self.size(tensors, sizes)
        value = self.tensor(tensors, sizes, functions, depth)

        def of(scope):
            found = value.of(scope)
            need(claim is None or len(found) == claim.of(scope))
            scope.tensors[name] = found

        if name not in tensors:
            tensors.append(name)
        return Term(f"let {name}{'' if claim is None else f' : Tensor([{claim.text}], float32)'} = {value.text}", of)

    def function(self, tensors, sizes, functions):
        name, param = self.fresh("f"), self.name()
        inside, sizes = list(dict.fromkeys([*tensors, param])), [*sizes, "k"]
        body = self.block(inside, sizes, [], 2)
        promise = None if self.random.random() < 0.3 else self.size(inside, sizes)
        functions.append(name)

        def of(scope):
            around = scope.inner()

            def call(value):
                own = around.inner({param: value}, {"k": len(value)})
                found = body.of(own)
                need(promise is None or len(found) == promise.of(own))
                return found

            scope.functions[name] = call

        type_ = "" if promise is None else f" : Tensor([{promise.text}], float32)"
        return Term(f"let {name} = fn({param} : Tensor([k], float32)){type_} {{ {body.text} }}", of)


def sums(rows):
    need(len({len(row) for row in rows}) <= 1)
    return np.array([row.sum() for row in rows], np.float32)


def dim(name):
    return Term(f"{name}.dim(0)", lambda scope: scope.tensors[name].shape[0])


def compared(op, p, number):
    return Term(f"{p.text} {op} {number}", lambda scope: _COMPARED[op](p.of(scope), number))


def made(op, p, q):
    def of(scope):
        one, other = p.of(scope), q.of(scope)
        need(op not in ("//", "%") or other > 0)
        return _MADE[op](one, other)

    return Term(f"{op}({p.text}, {q.text})" if op in ("min", "max") else f"({p.text} {op} {q.text})", of)


def program(seed):
    """The text, and the meaning of @main."""
    maker = Maker(seed)
    tensors, sizes, functions, stmts = ["x", "y"], ["a", "b", "c"], [], []
    for _ in range(maker.random.choice((1, 2, 3, 4))):
        is_function = maker.random.random() < 0.15
        stmts.append(
            (maker.function if is_function else maker.let)(tensors, sizes, functions, *(() if is_function else (3,)))
        )
    result = maker.tensor(tensors, sizes, functions, 2)
    promise = maker.size(["x", "y"], sizes) if maker.random.random() < 0.4 else None

    def main(x, y, c):
        given = Scope({"x": x, "y": y}, {"a": len(x), "b": len(y), "c": c}, {})
        own = given.inner()
        for stmt in stmts:
            stmt.of(own)
        found = result.of(own)
        need(promise is None or len(found) == promise.of(given))
        return found

    type_ = "" if promise is None else f"([{promise.text}], float32)"
    return HEAD.format(type_) + "".join(f"  {t.text}\n" for t in (*stmts, result)) + "}\n", main
