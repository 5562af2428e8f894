"""Random programs of loops whose annotations speak of sizes: right ones, wrong ones, and those that hold for some sizes only.

`source` is a program whose @main takes vectors x and z and sizes n and m. `certain` says of a line that has to run under which
condition on n and m it does, in Python; lines that a run may skip are not there.
"""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np

LIBRARY = """@turns = fn(v, k : Size) { for j in range(k) with (u = v) { u * 0.5 } }
@longer = fn(v : Tensor([a], float64), k : Size) : Tensor([b], float64) where b >= a {
  for j in range(k) with (u : Tensor([a + j * 2], float64) = v) { @concat([u, @ones([2], float64)], axis=0) }
}
@last = fn(v, k : Size) {
  for j in range(k) with (u : Tensor([b], float64) = v) where b >= 0 { @concat([u, u], axis=0) }
}
"""


class Scope:
    """The names that a place sees: vectors with a size that they should have, and sizes."""

    def __init__(self, vectors: dict[str, str], sizes: list[str]) -> None:
        self.vectors = vectors
        self.sizes = sizes

    def inner(self) -> Scope:
        return Scope(dict(self.vectors), list(self.sizes))


class Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.lines: list[str] = []
        self.certain: dict[int, str] = {}
        self.guards: list[str | None] = []
        scope = Scope({"x": "s", "z": "t"}, ["n", "m", "s", "t"])
        known = self.random.sample(["n >= 0", "m >= 0", "m <= n", "s >= 1", "n >= 1", "s == t", "t <= 3"], 2)
        where = f" where {', '.join(known)}" if self.random.random() < 0.7 else ""
        self.write(f"@main = fn(x : Tensor([s], float64), z : Tensor([t], float64), n : Size, m : Size){where} {{")
        self.statements(scope, self.random.randrange(1, 4), 2)
        last = len(self.lines)
        self.loop(scope, 2)
        if not (self.chance(0.3) and self.ends(last)):
            self.statements(scope, self.random.randrange(2), 1)
            self.write(f"{self.vector(scope)[0]}")
        self.write("}")
        self.source = "\n".join(self.lines) + "\n" + LIBRARY

    def ends(self, line: int) -> bool:
        """Whether the loop that begins in a line is the program's result by itself, as it is from here on."""
        loop = re.fullmatch(r"( *)let v\d+ = ((for|while) .*)", self.lines[line])
        if loop is not None:
            self.lines[line] = loop[1] + loop[2]
        return loop is not None

    def arguments(self) -> dict[str, Any]:
        pick = self.random.choice
        s, t = pick([0, 1, 2, 3, 5]), pick([0, 1, 2, 3])
        t = s if pick([True, False]) else t
        n, m = pick([-2, -1, 0, 1, 2, 3, 4]), pick([-1, 0, 1, 2, 3])
        return {"x": np.arange(1.0, 1.0 + s), "z": np.arange(2.0, 2.0 + t), "n": n, "m": m}

    # Writing

    def write(self, line: str) -> None:
        guards = [g for g in self.guards if g is not None]
        if len(guards) == len(self.guards):
            self.certain[len(self.lines) + 1] = " and ".join(guards) or "True"
        self.lines.append("  " * (len(self.guards) + (line[0] not in "@}")) + line)

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    # Expressions

    def size(self, scope: Scope, depth: int = 1) -> str:
        kind = self.random.randrange(8 if depth else 4)
        if kind < 3:
            return self.random.choice(scope.sizes)
        if kind == 3:
            return str(self.random.randrange(4))
        if kind == 4:
            return f"{self.random.choice(sorted(scope.vectors))}.dim(0)"
        left, right = self.size(scope, 0), self.size(scope, 0)
        return f"({left} {self.random.choice('+-*')} {right})" if kind < 7 else f"({left} // 2)"

    def vector(self, scope: Scope, depth: int = 2) -> tuple[str, str]:
        """A vector with the size that it has if all goes well."""
        kind = self.random.randrange(9 if depth else 2)
        if kind < 2:
            return self.random.choice(sorted(scope.vectors.items()))
        a, s = self.vector(scope, depth - 1)
        match kind:
            case 2 | 3:
                b, t = self.vector(scope, depth - 1)
                return f"@concat([{a}, {b}], axis=0)", f"{s} + {t}"
            case 4:
                size = self.size(scope)
                return f"@ones([{size}], float64)", size
            case 5:
                return f"@concat([{a}, @ones([1], float64)], axis=0)", f"{s} + 1"
            case 6:
                low = self.random.randrange(3)
                return (f"{a}[{low}:]", f"{s} - {low}") if a.isalnum() else (f"@exp({a})", s)
            case 7:
                same = [n for n, t in scope.vectors.items() if t == s]
                b = self.random.choice(same or sorted(scope.vectors))
                return f"({a} + {b})", s
        function = self.random.choice(["@turns", "@turns", "@longer", "@last"])
        return f"{function}({a}, {self.random.choice(['n', '2', '0'])})", s if function == "@turns" else f"{a}.dim(0)"

    def condition(self, scope: Scope) -> str:
        op = self.random.choice(["<", "<=", "==", "!=", ">="])
        return f"{self.size(scope)} {op} {self.size(scope)}"

    # Statements

    def statements(self, scope: Scope, number: int, depth: int) -> None:
        for _ in range(number):
            kind = self.random.randrange(13)
            if kind == 12:
                self.rows(scope)
            elif kind < 4 or depth == 0:
                value, size = self.vector(scope)
                self.bind(scope, value, size)
            elif kind < 6:
                self.assertion(scope)
            elif kind < 7:
                self.arms(scope, depth)
            elif kind < 8:
                self.closure(scope, depth)
            else:
                self.loop(scope, depth)

    def bind(self, scope: Scope, value: str, size: str) -> None:
        name = self.fresh("v") if self.chance(0.8) else self.random.choice(sorted(scope.vectors))
        self.write(f"let {name} = {value}")
        scope.vectors[name] = size

    def assertion(self, scope: Scope) -> None:
        name, size = self.random.choice(sorted(scope.vectors.items()))
        conditions = [f"{name}.dim(0) == {size}", f"{name}.dim(0) >= {self.size(scope)}", self.condition(scope)]
        if ".dim" in size or "_" in size:
            conditions.pop(0)
        self.write(f"assert {self.random.choice(conditions)}")

    def arms(self, scope: Scope, depth: int) -> None:
        name = self.fresh("v")
        self.write(f"let {name} = if ({self.condition(scope)}) {{")
        for joint in ("} else {", "}"):
            self.guards.append(None)
            inner = scope.inner()
            self.statements(inner, self.random.randrange(2), depth - 1)
            self.write(self.vector(inner)[0])
            self.guards.pop()
            self.write(f"  {joint}")
        scope.vectors[name] = f"{name}.dim(0)"

    def closure(self, scope: Scope, depth: int) -> None:
        name, result = self.fresh("f"), self.fresh("v")
        self.write(f"let {name} = fn(u{'' if self.chance(0.5) else ' : Tensor([_u], float64)'}) {{")
        self.guards.append(None)
        inner = scope.inner()
        inner.vectors["u"] = "u.dim(0)"
        self.statements(inner, self.random.randrange(1, 3), depth - 1)
        self.write(self.vector(inner)[0])
        self.guards.pop()
        self.write("  }")
        self.write(f"let {result} = {name}({self.vector(scope)[0]})")
        scope.vectors[result] = f"{result}.dim(0)"

    def rows(self, scope: Scope) -> None:
        """`@map`, `@fold` or `@scan` over vectors, with a function that has sizes of its own or from outside."""
        name, ys = self.fresh("v"), self.fresh("y")
        over, (first, size) = self.vector(scope, 1)[0], self.vector(scope, 1)
        inner, other = scope.inner(), self.size(scope)
        typed = self.random.choice(["", " : Tensor([_c], float64)", f" : Tensor([{size}], float64)"])
        inner.vectors["c"] = size if typed.endswith(f"[{size}], float64)") else "c.dim(0)"
        body = self.random.choice(["c * q", "c[0:] + q", self.vector(inner, 1)[0]])
        match self.random.randrange(5):
            case 0:
                line, made = (
                    f"let {name} = @sum(@map(fn(q : float64) {{ @full([{other}], q) }}, {over}), axis=0)",
                    other,
                )
            case 1:
                line, made = f"let {name} = @map(fn(p : float64, q) {{ p * q }}, {first}, {over})", size
            case 2:
                line, made = f"let {name} = @fold(fn(c{typed}, q : float64) {{ {body} }}, {first}, {over})", size
            case 3:
                made = f"{ys}.dim(0)"
                self.write(f"let {ys} = @map(fn(q : float64) {{ {self.vector(scope, 1)[0]} }}, {over})")
                line = f"let {name} = @reshape({ys}, [{ys}.dim(0) * {ys}.dim(1)])"
            case _:
                line, made = (
                    f"let ({name}, {ys}) = @scan(fn(c{typed}, q : float64) {{ {body} }}, {first}, {over})",
                    size,
                )
        self.guards.append(None)  # there may be no row
        self.write(line)
        self.write("# what is said of a turn is said of this line")
        self.guards.pop()
        scope.vectors[name] = f"{name}.dim(0)" if self.chance(0.5) else made

    # Loops

    def loop(self, scope: Scope, depth: int) -> None:
        """A loop with one or two vectors, some with a counter, a condition or a stack."""
        inner, carries, where = scope.inner(), [], []
        head, guard, index = self.head(inner)
        conditions = [] if head else [self.counter(scope, inner, carries)]
        if head and self.chance(0.2):
            conditions = [self.condition(inner)]
        made = [self.carry(scope, inner, index, carries, where) for _ in range(self.random.randrange(1, 3))]
        if index and self.chance(0.25):
            self.sized(inner, index, carries)
        stacked = self.stacked(scope) if self.chance(0.3) else ""
        results = [self.fresh("v") for _ in carries]
        rest = [self.fresh("y")] if stacked else []
        bound = ", ".join([*results, *rest])
        clauses = f" with ({', '.join(c for c, _ in carries)})" + (f" where {', '.join(where)}" if where else "")
        test = f" while ({' '.join(conditions)})" if conditions else ""
        text = f"for {index} in {head}{clauses}{test}" if head else f"while ({conditions[0]}){clauses}"
        target = f"({bound})" if len(results) + len(rest) > 1 else bound
        self.write(f"let {target} = {text}{stacked} {{")
        self.guards.append(None if conditions else guard)
        self.statements(inner, self.random.randrange(2), depth - 1)
        given = [self.turn(inner, value) for _, value in carries]
        given += [self.vector(inner, 1)[0]] if stacked else []
        self.write(f"({', '.join(given)})" if len(given) > 1 else given[0])
        self.guards.pop()
        self.write("  }")
        self.behind(scope, results, [v for _, v in carries], dict(made))

    def head(self, inner: Scope) -> tuple[str, str | None, str]:
        """The range, when there is a turn, and the index; nothing for a `while`."""
        if self.chance(0.2):
            return "", None, ""
        index = self.fresh("i")
        a, b, step = self.random.randrange(-1, 3), self.random.choice(["n", "m", "2", "3"]), self.random.randrange(1, 4)
        inner.sizes += [index] * 2
        text = self.random.choice([f"range({b})", f"range({b})", f"range({a}, {b})", f"range({a}, {b}, {step})"])
        return text, f"{0 if text == f'range({b})' else a} < {b}", index

    def counter(self, scope: Scope, inner: Scope, carries: list[tuple[str, str]]) -> str:
        name = self.fresh("k")
        carries.append((f"{name} : Size = 0", f"{name} + 1"))
        inner.sizes.append(name)
        return f"{name} < {self.random.randrange(4)}"

    def sized(self, inner: Scope, index: str, carries: list[tuple[str, str]]) -> None:
        """A size that is carried beside, with what is known of it."""
        name = self.fresh("k")
        carries.append((f"{name} : Size = {self.random.randrange(3)}", f"{name} + {self.random.randrange(2)}"))
        inner.sizes.append(name)

    def carry(
        self, scope: Scope, inner: Scope, index: str, carries: list[tuple[str, str]], where: list[str]
    ) -> tuple[str, str]:
        name, (first, size) = self.fresh("c"), self.vector(scope, 1)
        known = first if first in ("x", "z") and first in scope.vectors else ""
        size = {"x": scope.vectors.get("x", "s"), "z": scope.vectors.get("z", "t")}.get(first, size)
        grows = self.random.choice(["1", "2", "n", "s", "m"])
        kind = self.random.randrange(6)
        step = f"@concat([{name}, @ones([{grows}], float64)], axis=0)"
        if ".dim" in size and kind != 5:
            kind = 0 if kind < 2 else 4
        behind = size
        match kind:
            case 0:
                text, value = f"{name} = {first}", self.random.choice([f"@exp({name})", name, f"{name}[0:]", step])
            case 1:
                text, value = f"{name} : Tensor([{size}], float64) = {first}", f"({name} * 2.0)"
            case 2 | 3 if index:
                wrong = self.random.choice(["", "", "", " + 1"])
                behind = f"{size} + {index} * {grows}"
                text, value = f"{name} : Tensor([{size} + {index} * {grows}{wrong}], float64) = {first}", step
            case _:
                p = self.fresh("p")
                text = f"{name} : Tensor([{p}], float64) = {first}"
                value = self.random.choice(
                    [step, f"@concat([{name}, {name}], axis=0)", f"{name}[1:]", f"({name} + 1.0)"]
                )
                if self.chance(0.7):
                    where.append(f"{p} {self.random.choice(['>=', '<='])} {self.size(scope)}")
                inner.sizes.append(p)
                behind = f"{name}.dim(0)"
        del known
        inner.vectors[name] = behind
        carries.append((text, value))
        return name, behind

    def turn(self, inner: Scope, value: str) -> str:
        """What a carry is next: as it should be, for the most part."""
        if self.chance(0.85) or value.startswith("k"):
            return value
        return self.vector(inner, 1)[0]

    def stacked(self, scope: Scope) -> str:
        size = self.random.choice(["s", "t", "n", "2", "q", "q", "?"])
        return f" stack (w : Tensor([{size}], float64))"

    def behind(self, scope: Scope, results: list[str], values: list[str], made: dict[str, str]) -> None:
        for result, value in zip(results, values, strict=True):
            if value.startswith("k"):
                scope.sizes.append(result)
            else:
                scope.vectors[result] = f"{result}.dim(0)"
