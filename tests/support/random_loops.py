"""Random programs of loops, each beside the same in plain Python over NumPy.

Tensors are vectors of N elements, sizes are small integers. What a program does is drawn once and written twice: as Rx, where
names may be bound again and carries hide names from outside, and as Python, where every binding has a name of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

N = 3
TENSOR = f"Tensor([{N}], float64)"
LIBRARY = f"""const c : {TENSOR} = tensor([0.5, -1.0, 2.0], float64)
@mixed = fn(p : {TENSOR}, q : {TENSOR}) : {TENSOR} {{ let t = p * 0.5 + q
  if (@item(@cast(@sum(p), int64)) % 2 == 0) {{ t - q }} else {{ q }} }}
"""
_BINARY = {"+": "np.add", "-": "np.subtract", "*": "np.multiply", "@maximum": "np.maximum", "@minimum": "np.minimum"}


class Scope:
    """What can be read at a place: names in Rx with the same in Python."""

    def __init__(self, tensors: dict[str, str], sizes: dict[str, str]) -> None:
        self.tensors = tensors
        self.sizes = sizes

    def inner(self) -> Scope:
        return Scope(dict(self.tensors), dict(self.sizes))


class Maker:
    """One program: `source` in Rx, whose @main takes x, w and the size n; `expected` computes the same."""

    def __init__(self, seed: int, depth: int = 3) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.rx: list[str] = []
        self.py: list[str] = []
        scope = Scope({"x": "x", "w": "w", "c": "c"}, {"n": "n"})
        self.indent = 1
        self.statements(scope, 4, depth)
        self.loop(scope, depth)
        results = [self.tensor(scope) for _ in range(2)]
        body = "\n".join(self.rx)
        self.source = (
            f"{LIBRARY}@main = fn(x : {TENSOR}, w : {TENSOR}, n : Size) where n >= 0 {{\n{body}\n"
            f"  ({', '.join(rx for rx, _ in results)})\n}}\n"
        )
        returned = f" return ({', '.join(py for _, py in results)})"
        self.reference = "\n".join(["def main(x, w, c, n):", *self.py, returned])

    def expected(self, x: Any, w: Any, n: int) -> Any:
        space: dict[str, Any] = {"np": np, "mixed": _mixed}
        exec(self.reference, space)
        return space["main"](x, w, np.array([0.5, -1.0, 2.0]), n)

    # Writing

    def write(self, rx: str, py: str | None = None) -> None:
        if rx:
            self.rx.append("  " * self.indent + rx)
        if py:
            self.py.append(" " * self.indent + py)

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def name(self, scope: Scope) -> str:
        """A name for a tensor: often one that is there already."""
        known = sorted(set(scope.tensors) - {"c"})
        return self.random.choice(known) if self.random.random() < 0.3 else self.fresh("t")

    # Expressions, in Rx and in Python

    def tensor(self, scope: Scope, depth: int = 2) -> tuple[str, str]:
        kind = self.random.randrange(10 if depth else 2)
        if kind < 3:
            return self.random.choice(sorted(scope.tensors.items()))
        a, b = self.tensor(scope, depth - 1), self.tensor(scope, depth - 1)
        match kind:
            case 3 | 4:
                op, function = self.random.choice(sorted(_BINARY.items()))
                rx = f"{op}({a[0]}, {b[0]})" if op.startswith("@") else f"({a[0]} {op} {b[0]})"
                return rx, f"{function}({a[1]}, {b[1]})"
            case 5:
                k, (name, of) = self.size(scope), self.random.choice(sorted(scope.tensors.items()))
                rx, py = f"{k[0]} % {N}", f"{k[1]} % {N}"
                turned = f"np.concatenate([{of}[{py}:{N}], {of}[0:{py}]])"
                return f"@concat([{name}[{rx}:{N}], {name}[0:{rx}]])", turned
            case 6:
                return f"@sin({a[0]})", f"np.sin({a[1]})"
            case 7:
                name = self.random.choice(sorted(scope.tensors))
                of = scope.tensors[name]
                return f"@concat([{name}[1:{N}], {name}[0:1]])", f"np.concatenate([{of}[1:{N}], {of}[0:1]])"
            case 8:
                return f"@mixed({a[0]}, {b[0]})", f"mixed({a[1]}, {b[1]})"
        return f"({a[0]} + 1.0)", f"({a[1]} + 1.0)"

    def size(self, scope: Scope) -> tuple[str, str]:
        known = sorted(scope.sizes.items())
        kind = self.random.randrange(4)
        number = str(self.random.randrange(4))
        if kind == 0 or not known:
            return number, number
        rx, py = self.random.choice(known)
        if kind == 1:
            return rx, py
        return (f"({rx} + {number})", f"({py} + {number})") if kind == 2 else (f"{rx} % 5", f"({py} % 5)")

    def condition(self, scope: Scope) -> tuple[str, str]:
        a, b = self.size(scope), self.size(scope)
        op = self.random.choice(["<", "<=", "==", "!="])
        return f"{a[0]} {op} {b[0]}", f"{a[1]} {op} {b[1]}"

    # Statements

    def statements(self, scope: Scope, number: int, depth: int) -> None:
        for _ in range(number):
            kind = self.random.randrange(11)
            if kind < 5 or depth == 0:
                self.let(scope)
            elif kind == 10:
                self.rows(scope)
            elif kind < 7:
                self.branch(scope, depth)
            elif kind < 8:
                self.closure(scope)
            else:
                self.loop(scope, depth)

    def let(self, scope: Scope) -> None:
        rx, py = self.tensor(scope)
        name, own = self.name(scope), self.fresh("p")
        self.write(f"let {name} = {rx}", f"{own} = {py}")
        scope.tensors[name] = own

    def closure(self, scope: Scope) -> None:
        function, result, own = self.fresh("f"), self.name(scope), self.fresh("p")
        inner = Scope({**scope.tensors, "z": "z"}, scope.sizes)
        body, given = self.tensor(inner), self.tensor(scope)
        self.write(f"let {function} = fn(z : {TENSOR}) : {TENSOR} {{ {body[0]} }}")
        self.write("", f"{function} = lambda z: {body[1]}")
        self.write(f"let {result} = {function}({given[0]})", f"{own} = {function}({given[1]})")
        scope.tensors[result] = own

    def rows(self, scope: Scope) -> None:
        """`@map`, `@fold` or `@scan` of a function that reads what is around it."""
        result, own, z, c = self.name(scope), self.fresh("p"), self.fresh("z"), self.fresh("c")
        kind, over, first = self.random.choice(["map", "fold", "scan"]), self.tensor(scope, 1), self.tensor(scope, 1)
        inner = Scope(scope.tensors if kind == "map" else {**scope.tensors, c: c}, scope.sizes)
        made = self.tensor(inner, 1)
        given = f"fn({z} : float64)" if kind == "map" else f"fn({c} : {TENSOR}, {z} : float64)"
        call = f"@{kind}({given} {{ {made[0]} * {z} }}, {'' if kind == 'map' else first[0] + ', '}{over[0]})"
        bound = f"({result}, {own})" if kind == "scan" else result
        self.write(f"let {bound} = @sum({call}, axis=0)" if kind == "map" else f"let {bound} = {call}")
        self.write("", f"{own}, {c} = [], {first[1]}")
        self.write("", f"for {z} in {over[1]}:")
        self.write("", f" {c} = np.multiply({made[1]}, {z})")
        self.write("", f" {own}.append({c})")
        if kind == "scan":
            total = self.fresh("p")
            self.write(f"let {total} = @sum({own}, axis=0)", f"{total} = np.sum(np.array({own}), axis=0)")
            scope.tensors[total] = total
        self.write("", f"{own} = np.sum(np.array({own}), axis=0)" if kind == "map" else f"{own} = {c}")
        scope.tensors[result] = own

    def branch(self, scope: Scope, depth: int) -> None:
        test, name, own = self.condition(scope), self.name(scope), self.fresh("p")
        self.write(f"let {name} = if ({test[0]}) {{", f"if {test[1]}:")
        self.arm(scope, own, depth)
        self.write("} else {", "else:")
        self.arm(scope, own, depth)
        self.write("}")
        scope.tensors[name] = own

    def arm(self, scope: Scope, own: str, depth: int) -> None:
        inner = scope.inner()
        self.indent += 1
        self.statements(inner, self.random.randrange(2), depth - 1)
        rx, py = self.tensor(inner)
        self.write(rx, f"{own} = {py}")
        self.indent -= 1

    # Loops

    def loop(self, scope: Scope, depth: int) -> None:
        Turns(self, scope, depth).write()


class Turns:
    """One loop of a program."""

    def __init__(self, maker: Maker, scope: Scope, depth: int) -> None:
        self.maker, self.scope, self.depth = maker, scope, depth
        self.random = maker.random
        self.kind = self.random.choice(["for", "for", "for", "for while", "while"])
        self.inner = scope.inner()
        self.own: list[str] = []

    def write(self) -> None:
        maker = self.maker
        carries, next_values, sorts = self.carries()
        head = self.head()
        stacked = self.random.randrange(3) if self.kind == "for" or carries else 1
        stacked = stacked if carries or stacked else 1
        ys = [maker.fresh("y") for _ in range(stacked)]
        stack = f" stack ({', '.join(f'{y} : {TENSOR}' for y in ys)})" if ys else ""
        with_ = f" with ({', '.join(carries)})" if carries else ""
        rx_head, py_head, ends, rx_while = head
        names = [maker.fresh("r") for _ in (*carries, *ys)]
        bound = f"({', '.join(names)})" if len(names) > 1 else names[0]
        clauses = f"{rx_while}{with_}{stack}" if self.kind == "while" else f"{with_}{rx_while}{stack}"
        maker.write(f"let {bound} = {rx_head}{clauses} {{")
        for y in ys:
            maker.write("", f"{y} = []")
        maker.write("", py_head)
        maker.indent += 1
        if ends:
            maker.write("", f"if not ({ends}): break")
        maker.statements(self.inner, self.random.randrange(1, 3), self.depth - 1)
        given = [value() for value in next_values] + [maker.tensor(self.inner) for _ in ys]
        parts = ", ".join(rx for rx, _ in given)
        maker.write(f"({parts})" if len(given) > 1 else parts)
        targets = [*self.own, *(f"{y}_one" for y in ys)]
        maker.write("", f"{', '.join(targets)}, = {', '.join(py for _, py in given)},")
        for y in ys:
            maker.write("", f"{y}.append({y}_one)")
        maker.indent -= 1
        maker.write("}")
        self.results(names, sorts, ys)

    def results(self, names: list[str], sorts: list[str], ys: list[str]) -> None:
        """What is visible behind the loop."""
        for name, sort, own in zip(names, sorts, self.own, strict=False):
            kept = self.maker.fresh("p")
            self.maker.write("", f"{kept} = {own}")
            if sort == "size":
                self.scope.sizes[name] = kept
            elif sort == "tensor":
                self.scope.tensors[name] = kept
            else:
                a, b = self.maker.fresh("a"), self.maker.fresh("b")
                self.maker.write(f"let ({a}, {b}) = {name}", f"{a}, {b} = {kept}")
                self.scope.tensors |= {a: a, b: b}
        for name, y in zip(names[len(self.own) :], ys, strict=True):
            kept = self.maker.fresh("p")
            self.maker.write(f"let {kept} = @sum({name}, axis=0)")
            self.maker.write("", f"{kept} = np.sum(np.array({y}).reshape(-1, {N}), axis=0)")
            self.scope.tensors[kept] = kept

    def carries(self) -> tuple[list[str], list[Callable[[], tuple[str, str]]], list[str]]:
        """The text of each carry, what makes its next value, and its kind; the first values stand in Python already."""
        maker = self.maker
        kinds = self.random.choices(["tensor", "tensor", "size", "tuple"], k=self.random.randrange(0, 4))
        if self.kind == "while":
            kinds.insert(0, "counter")
        texts: list[str] = []
        following: list[Callable[[], tuple[str, str]]] = []
        tensors: list[tuple[str, str]] = []
        for kind in kinds:
            own = maker.fresh("q")
            self.own.append(own)
            if kind in ("size", "counter"):
                name = maker.fresh("k")
                first = ("0", "0") if kind == "counter" else maker.size(self.scope)
                texts.append(f"{name} : Size = {first[0]}")
                self.inner.sizes[name] = own
                following.append(self.counted(name, own) if kind == "counter" else self.next_size)
            elif kind == "tuple":
                name, a, b = maker.fresh("u"), maker.tensor(self.scope, 1), maker.tensor(self.scope, 1)
                first = (f"({a[0]}, {b[0]})", f"({a[1]}, {b[1]})")
                texts.append(f"{name} : ({TENSOR}, {TENSOR}) = {first[0]}")
                following.append(self.pair)
            else:
                name = maker.name(self.scope) if self.random.random() < 0.5 else maker.fresh("m")
                while any(name == other for other, _ in tensors):
                    name = maker.fresh("m")
                first = maker.tensor(self.scope, 1)
                texts.append(
                    f"{name} : {TENSOR} = {first[0]}" if self.random.random() < 0.7 else f"{name} = {first[0]}"
                )
                tensors.append((name, own))
                following.append(self.moved(name, own))
            maker.write("", f"{own} = {first[1]}")
        self.inner.tensors |= dict(tensors)
        return texts, following, ["size" if kind == "counter" else kind for kind in kinds]

    def counted(self, name: str, own: str) -> Callable[[], tuple[str, str]]:
        return lambda: (f"{name} + 1", f"{own} + 1")

    def next_size(self) -> tuple[str, str]:
        rx, py = self.maker.size(self.inner)
        return f"{rx} % 7", f"({py}) % 7"

    def moved(self, name: str, own: str) -> Callable[[], tuple[str, str]]:
        """What a carry is after a turn: often made of itself, element by element."""

        def value() -> tuple[str, str]:
            if self.random.random() < 0.6 or self.inner.tensors.get(name) != own:
                return self.next_tensor()
            other = self.random.choice(sorted(self.inner.tensors.items()))
            op, function = self.random.choice([("+", "np.add"), ("-", "np.subtract"), ("*", "np.multiply")])
            return f"{name} {op} {other[0]}", f"{function}({own}, {other[1]})"

        return value

    def next_tensor(self) -> tuple[str, str]:
        return self.maker.tensor(self.inner, self.random.randrange(3))

    def pair(self) -> tuple[str, str]:
        a, b = self.next_tensor(), self.next_tensor()
        return f"({a[0]}, {b[0]})", f"({a[1]}, {b[1]})"

    def head(self) -> tuple[str, str, str, str]:
        """The loop's head in Rx and in Python, and what has to hold before each turn, in Python and in Rx."""
        if self.kind == "while":
            counter = next(n for n, own in self.inner.sizes.items() if own == self.own[0])
            least = self.random.randrange(4)
            return "while ", "while True:", f"{self.own[0]} < {least}", f"({counter} < {least})"
        index, own = self.maker.fresh("i"), self.maker.fresh("j")
        start, stop, step = self.random.randrange(-2, 3), self.maker.size(self.scope), self.random.randrange(1, 4)
        rx = self.random.choice(
            [f"range({stop[0]})", f"range({start}, {stop[0]}, {step})", f"range({start}, {stop[0]})"]
        )
        py = (
            rx.replace(stop[0], stop[1], 1)
            if rx.startswith("range(" + stop[0])
            else rx.replace(f", {stop[0]}", f", {stop[1]}", 1)
        )
        self.inner.sizes[index] = own
        test = self.maker.condition(self.inner) if self.kind == "for while" else ("", "")
        return f"for {index} in {rx}", f"for {own} in {py}:", test[1], f" while ({test[0]})" if test[0] else ""


def _mixed(p: Any, q: Any) -> Any:
    t = p * 0.5 + q
    return t - q if int(np.sum(p).astype(np.int64)) % 2 == 0 else q
