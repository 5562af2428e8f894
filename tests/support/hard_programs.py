"""Random programs of up to 40 full lines, each of a kind that has something nested, repeated or overlapping as far as it goes.

A kind is a function of a source of chance and a number of lines to whole functions, of which the last is @main. Every third
program has slips in it, so that fixes are looked for.
"""

# ruff: noqa: E501

import math
import random
import re

import numpy as np

LINE = 1_490
NAMES = tuple("abcdefgh")
_SLIPS = (
    ("\\b[1-9]\\b", ("0", "2", "7")),
    ("\\b[a-h]\\b(?! [:=])", ("a", "b", "c")),
    (" [+*] ", (" - ", " // ")),
    ("axis=0", ("axis=1",)),
)


def size(r, names, depth):
    """An expression over sizes."""
    if depth <= 0 or r.random() < 0.1:
        return r.choice((*names, *names, str(r.choice((1, 2, 3, 4, 7, 12, 64)))))
    a, b = size(r, names, depth - 1), size(r, names, depth - 1)
    called = r.choice(("min", "max", "ceildiv", "", "", ""))
    return (
        f"{called}({a}, {b})"
        if called
        else f"({a} {r.choice('+*+*-') if r.random() < 0.6 else r.choice(('//', '%'))} {b})"
    )


def condition(r, names, depth):
    """A condition over sizes."""
    if depth > 1 and r.random() < 0.4:
        return f"({condition(r, names, depth - 1)} {r.choice(('&&', '||'))} {condition(r, names, depth - 1)})"
    return f"{size(r, names, depth)} {r.choice(('==', '<=', '>=', '<', '>', '!='))} {size(r, names, depth)}"


def vector(dims):
    return f"Tensor([{', '.join(dims)}], float32)"


def packed(statements, lines):
    """Statements in full lines, as many as fit into so many of these."""
    found, line = [], ""
    for statement in statements:
        if len(line) + len(statement) + 4 > LINE:
            found.append(f"  {line}")
            line = ""
            if len(found) >= lines:
                break
        line += f"; {statement}" if line else statement
    return "\n".join([*found, *([f"  {line}"] if line and len(found) < lines else [])])


def whole(params, statements, result, lines, where=""):
    """A program of statements; its result is a parameter where there is no room for what it should be."""
    body = packed(statements, lines)
    kept = result if re.split(r"\W", result)[0] in re.findall(r"\w+", f"{params} {body}") else "x"
    return f"@main = fn({params}) : Tensor{where} {{\n{body}\n  {kept}\n}}\n"


class Few(random.Random):
    """Chance for a program that is to run."""


def repeated(r, most):
    """How many statements there are to be: often few, and often as many as there is room for."""
    return r.choice((1, 2, 2, 3, 4, 5) if isinstance(r, Few) else (1, 2, 5, 10, 30, 100, most))


def loops_in_loops(r, lines):
    def loop(depth, around):
        i, h = f"i{depth}", f"h{depth}"
        of = r.choice((*NAMES[:3], *around[-2:])) if around else "a"
        grows = r.choice((f"{i}", f"{i} * 2", "0", "b"))
        inner = (
            loop(depth - 1, [*around, i])
            if depth > 1
            else r.choice((f"@concat([{h}, {h}])", f"{h}[1:]", f"@concat([{h}, z])"))
        )
        typed = r.choice((f"{h} = x", f"{h} : {vector([f'a + {grows}'])} = x", f"{h} : {vector([f'p{depth}'])} = x"))
        return f"for {i} in range({of}) with ({typed}) {{ let w = {inner}; {r.choice(('w', h, f'w[:{h}.dim(0)]', f'@concat([w, {h}])'))} }}"

    depth = r.choice((2, 3, 4, 6, 9, 14, 20))
    count = repeated(r, lines * 8 // depth + 1)
    made = [f"let y{i} = {loop(depth, [])}" for i in range(count)]
    return whole(f"x : {vector('a')}, z : {vector('b')}, c : Size", made, "y0", lines)


def loops_of_many_carries(r, lines):
    count = r.choice((4, 8, 16, 40))
    grown = [r.choice((f"a + i * {k % 5}", "a", f"p{k}", "b * i", "max(a, i)")) for k in range(count)]
    carries = ", ".join(f"h{k} : {vector([g])} = x" for k, g in enumerate(grown))
    where = ", ".join(f"p{k} >= {r.choice(('a', 'i', '1', '0'))}" for k, g in enumerate(grown) if g == f"p{k}")
    turn = ", ".join(
        r.choice((f"h{k}", f"h{(k + 1) % count}", f"@concat([h{k}, x])", f"h{k}[1:]", f"h{k} + h0"))
        for k in range(count)
    )
    stack = r.choice(("", " stack (s : Tensor(?, ?))"))
    loop = f"for i in range(c) with ({carries}){f' where {where}' if where and r.random() < 0.5 else ''}{stack} {{ ({turn}{', h0' if stack else ''}) }}"
    return whole(
        f"x : {vector('a')}, z : {vector('b')}, c : Size",
        [f"let t{j} = {loop}" for j in range(repeated(r, 40))],
        "t0[0]",
        lines,
    )


def functions_as_values(r, lines):
    kind = r.randrange(4)
    if kind == 0:
        depth = r.choice((2, 3, 5, 8, 12))

        def nest(d):
            body = nest(d - 1) if d else r.choice(("r0 + r0", "r0[1:]", "@concat([r0, r0])"))
            return f"@map(fn(r{d}) {{ {body} }}, {f'r{d + 1}' if d < depth else 'x'})"

        made = [f"let y{i} = {nest(depth)}" for i in range(repeated(r, 200))]
        dims = [NAMES[i % 4] for i in range(depth + r.choice((1, 2)))]
        return whole(f"x : {vector(dims)}", made, "y0", lines)
    if kind == 1:
        made = ["let f0 = fn(v) { v + v }"]
        made += [
            f"let f{i + 1} = fn(v) {{ {r.choice(('f{0}(f{0}(v))', 'f{0}(v[1:]) + f{0}(v[:-1])', '@concat([f{0}(v), v])')).format(i)} }}"
            for i in range(repeated(r, 60))
        ]
        return whole(f"x : {vector('a')}", made, f"f{len(made) - 1}(x)", lines)
    if kind == 2:
        head = "@apply = fn(f : fn(Tensor([p], float32)) : Tensor([q], float32), v : Tensor([p], float32)) : Tensor([q], float32) { f(v) }\n"
        head += "@twice = fn(f : fn(Tensor) : Tensor, v : Tensor) : Tensor { f(f(v)) }\n"
        nested = "v"
        for _ in range(r.choice((1, 3, 8, 14))):
            nested = r.choice(
                (
                    "@apply(fn(v : Tensor([p], float32)) : Tensor([p], float32) {{ {0} }}, v)",
                    "@twice(fn(v) {{ {0} }}, v)",
                )
            ).format(nested)
        made = [
            f"let y{i} = @apply(fn(v : {vector('a')}) : {vector('a')} {{ {nested} }}, {f'y{i - 1}' if i else 'x'})"
            for i in range(repeated(r, 60))
        ]
        return head + whole(f"x : {vector('a')}", made, "y0", lines)
    made = [
        f"let (y{i}, s{i}) = @scan(fn(u, v) {{ {r.choice(('u + v', '@fold(@add, u, z)', 'u + @fold(fn(p, q) { p + q }, v, z)'))} }}, w, z)"
        for i in range(repeated(r, 80))
    ]
    return whole("x : Tensor([a], float32), w : Tensor([b], float32), z : Tensor([c, b], float32)", made, "y0", lines)


def conditions_of_entry_checks(r, lines):
    names = NAMES[: r.choice((3, 5, 8))]
    conditions = ", ".join(condition(r, names, r.choice((0, 1, 1, 2))) for _ in range(r.choice((5, 20, 40))))
    dims = [vector([n]) for n in names]
    params = ", ".join(f"x{i} : {d}" for i, d in enumerate(dims))
    head = f"@g = fn({params}) : {vector('z')} where {conditions}, z >= {size(r, names, 1)} {{\n  @concat([{', '.join(f'x{i}' for i in range(len(names)))}])\n}}\n"
    given = [f"x{i}" for i in range(len(names))]
    made = []
    for i in range(repeated(r, 300)):
        args = ", ".join(
            r.choice((*given, f"{r.choice(given)}[1:]", f"@concat([{r.choice(given)}, {r.choice(given)}])"))
            for _ in names
        )
        made.append(f"let y{i} = @g({args})")
    return head + whole(params, made, "y0", lines, r.choice(("", f" where {conditions}")))


def arms(r, lines):
    names = NAMES[:3]
    depth = r.choice((3, 6, 10, 20))

    def arm(d):
        if not d:
            return r.choice(("x", "x[1:]", "@concat([x, x])", "x[::2]", "@concat([x, z])", "@reshape(w, [-1])"))
        deep, flat = arm(d - 1), arm(0)
        then, other = (deep, flat) if r.random() < 0.5 else (flat, deep)
        return f"if ({condition(r, names, r.choice((0, 1, 1, 2)))}) {{ {then} }} else {{ {other} }}"

    made = []
    for i in range(repeated(r, 200)):
        made.append(f"let y{i} = {arm(depth)}")
        if r.random() < 0.5:
            made.append(
                r.choice(
                    (
                        f"let k{i} : Size = y{i}.dim(0) // 2",
                        f"let z{i} = @reshape(y{i}, [2, -1])",
                        f"assert y{i}.dim(0) >= b",
                        f"let z{i} = y{i} + y{max(i - 1, 0)}",
                    )
                )
            )
    return whole(f"x : {vector('a')}, z : {vector('b')}, w : {vector('bc')}", made, "y0", lines)


def sizes_of_arms(r, lines):
    names = list(NAMES[:3])
    made = []
    for i in range(repeated(r, 300)):
        made.append(
            f"let (k{i}, y{i}) = if ({condition(r, names[-4:], 1)}) {{ ({size(r, names[-4:], 1)}, x) }} else {{ ({size(r, names[-4:], 1)}, x[1:]) }}"
        )
        names.append(f"k{i}")
    return whole(f"x : {vector('a')}, z : {vector('b')}, w : {vector('bc')}", made, "y0", lines)


def recursion(r, lines):
    count = r.choice((1, 2, 4, 10, 30))
    found = []
    for i in range(count):
        calls = [
            f"@f{r.randrange(count)}({r.choice(('x[1:]', 'x', '@concat([x, x])', 'x[:a // 2]', 'x[a // 2:]'))}, k - 1)"
            for _ in range(r.choice((1, 2, 3, 5)))
        ]
        result = r.choice(("a", "p", "a * 2"))
        where = " where p >= a" if result == "p" else ""
        joined = r.choice((f"@concat([{', '.join(calls)}])", " + ".join(calls)))
        found.append(
            f"@f{i} = fn(x : {vector('a')}, k : Size) : {vector([result])}{where} {{ if (k <= 0) {{ x }} else {{ {joined} }} }}\n"
        )
    return "".join(found) + whole(
        f"x : {vector('a')}, k : Size",
        [f"let y{i} = @f{i % count}(x, k)" for i in range(repeated(r, 100))],
        "y0",
        lines,
    )


def types_with_parameters(r, lines):
    depth = r.choice((2, 3, 4, 6))
    found = ["type T0(a, b) = (Tensor([a * 2, b], float32), Tensor([b, a // 2], float32))\n"]
    for i in range(depth):
        parts = [f"T{i}({size(r, 'ab', 1)}, {size(r, 'ab', 1)})" for _ in range(r.choice((1, 2, 3)))]
        found.append(f"type T{i + 1}(a, b) = ({', '.join(parts)}, Tensor([a, b], float32))\n")
    made = [f"let y{i} = @g(t)" for i in range(repeated(r, 100))]
    head = "".join(found) + f"@g = fn(t : T{depth}(a, b)) : Tensor {{ t[0]{'[0]' * depth} }}\n"
    return (
        head
        + f"@main = fn(t : T{depth}(c, d), u : T{depth}({size(r, 'cd', 1)}, d)) : Tensor {{\n{packed(made, lines)}\n  y0\n}}\n"
    )


def einsums(r, lines):
    def equation():
        labels = "".join(r.sample("abcdefghij", r.randint(2, 6)))
        parts = ["".join(r.sample(labels, r.randint(1, len(labels)))) for _ in range(r.randint(1, 5))]
        used = sorted(set("".join(parts)))
        dots = r.choice(("", "", "..."))
        return ",".join(p + dots for p in parts) + "->" + dots + "".join(r.sample(used, r.randint(0, len(used)))), parts

    given = {i: f"x{i}" for i in range(1, 7)}
    made = []
    for i in range(repeated(r, 300)):
        said, parts = equation()
        made.append(f'let y{i} = @einsum("{said}", [{", ".join(given[len(p)] for p in parts)}])')
    params = ", ".join(f"x{k} : {vector([r.choice(NAMES[:4]) for _ in range(k)])}" for k in given)
    return whole(params, made, "y0", lines)


def joined_and_split(r, lines):
    made, known = [], ["x", "z"]
    for i in range(repeated(r, 400)):
        of = r.choice(known[-3:])
        match r.randrange(4):
            case 0:
                made.append(f"let y{i} = @concat([{', '.join(r.choices(known[-4:], k=r.choice((2, 3, 12, 40))))}])")
                known.append(f"y{i}")
            case 1:
                count = r.choice((2, 3, 10, 40))
                made.append(f"let ({', '.join(f's{i}_{k}' for k in range(count))}) = @split({of}, {count})")
                known += [f"s{i}_0", f"s{i}_{count - 1}"]
            case 2:
                parts = [size(r, "abc", 1) for _ in range(r.choice((2, 5, 20)))]
                made.append(
                    f"let ({', '.join(f's{i}_{k}' for k in range(len(parts)))}) = @split({of}, sizes=[{', '.join(parts)}])"
                )
                known += [f"s{i}_0", f"s{i}_{len(parts) - 1}"]
            case 3:
                made.append(f"let y{i} = {of} + {r.choice(known)}")
                known.append(f"y{i}")
    return whole(f"x : {vector(['a * 12'])}, z : {vector(['b + c'])}, c : Size", made, known[-1], lines)


def reshapes_of_products(r, lines):
    names = NAMES[: r.choice((3, 5, 8))]

    def grouped():
        order, dims = list(names) + r.sample(["2", "3", "4", "12"], 2), []
        r.shuffle(order)
        while order:
            take = r.randint(1, min(4, len(order)))
            dims.append(" * ".join(order[:take]))
            del order[:take]
        if r.random() < 0.4:
            dims[r.randrange(len(dims))] = "-1"
        if r.random() < 0.2:
            dims[0] += f" // {r.choice(names)}"
        return dims

    made = [
        f"let y{i} = @reshape({r.choice(('x', f'y{i - 1}')) if i else 'x'}, [{', '.join(grouped())}])"
        for i in range(repeated(r, 400))
    ]
    sizes = ", ".join(f"{n} : Size" for n in names)
    made = [*(f"assert {n} >= {r.choice((0, 1))}" for n in names), *made]
    return whole(f"x : {vector([' * '.join(names)])}, {sizes}", made, "x", lines)


def quotients_and_extremes(r, lines):
    names = list(NAMES[: r.choice((2, 4, 8))])
    depth = r.choice((2, 3, 4, 5, 6))
    made = []
    for i in range(repeated(r, 300)):
        kind = r.randrange(4)
        if kind == 0:
            made.append(f"let k{i} : Size = {size(r, names[-6:], depth)}")
            names.append(f"k{i}")
        elif kind == 1:
            made.append(f"assert {condition(r, names[-6:], depth)}")
        elif kind == 2:
            made.append(f"let y{i} : {vector([size(r, names[-6:], depth)])} = x")
        else:
            made.append(f"let z{i} = x[{size(r, names[-6:], depth)}:{size(r, names[-6:], depth)}]")
    sizes = ", ".join(f"{n} : Size" for n in NAMES[1:8])
    return whole(f"x : {vector('a')}, {sizes}", made, "x", lines)


def powers(r, lines):
    """Quotients, remainders and extremes in one nest, of sizes that multiply."""
    op = r.choice((" * {0} + 1", " // {0} * {0}", " % {0} + {0}", " * {0} % 7", " - {0} * {0}"))
    function = r.choice(("{0}", "max({0}, b)", "min({0}, c)", "max(min({0}, b), c)", "ceildiv({0}, 2)"))
    made, last = [], "a"
    for i in range(repeated(r, 300)):
        made.append(f"let k{i} : Size = {function.format(f'({last}{op.format(r.choice(NAMES[1:4]))})')}")
        last = f"k{i}"
        if r.random() < 0.3:
            made.append(f"assert {last} {r.choice(('>=', '==', '<'))} {r.choice(('a', 'b * c', '0', f'k{i // 2}'))}")
    return whole(f"x : {vector('a')}, b : Size, c : Size, d : Size", made, f"x[:{last}]", lines)


def splices(r, lines):
    heads = [
        "@first = fn(x : Tensor([*s, p, q], float32)) : Tensor([*s, q], float32) { @sum(x, axis=-2) }\n",
        "@last = fn(x : Tensor([p, *s], float32)) : Tensor([*s], float32) { @sum(x, axis=0) }\n",
        "@both = fn(x : Tensor([*s, p], float32), y : Tensor([*t, p], float32)) : Tensor([*s, *t, p], float32) { @reshape(x, [*s, *t, p]) }\n",
        "@any = fn(x : Tensor([*s, p], float32), y : Tensor([*s, q], float32)) : Tensor([*s, p + q], float32) { @concat([x, y], axis=-1) }\n",
    ]
    made, known = [], ["x", "z"]
    for i in range(repeated(r, 300)):
        a, b = r.choice(known[-4:]), r.choice(known)
        call = r.choice(
            (
                "@first({0})",
                "@last({0})",
                "@both({0}, {1})",
                "@any({0}, {1})",
                "{0} + {1}",
                "@matmul({0}, {1})",
                "@stack([{0}, {1}])",
                "@reshape({0}, [*u, -1])",
                "@reshape({0}, [*v, a, *u])",
                "@concat([{0}, {1}], axis=-1)",
                "{0}[1:]",
            )
        )
        made.append(
            f"let y{i} = {call.format(a, b)}" if r.random() < 0.8 else f"match_shape({a}, [s{i}, m{i}], [*s{i}, m{i}])"
        )
        if made[-1].startswith("let"):
            known.append(f"y{i}")
    return "".join(heads) + whole(
        "x : Tensor([*u, a, b], float32), z : Tensor([*v, b], float32)", made, known[-1], lines
    )


def overlapping_members(r, lines):
    count = r.choice((3, 8, 20))
    found = []
    for i in range(count):
        dims = [r.choice(("p", "q", "p * 2", "4", "8", "q + 1", "1", f"p * {i + 2}")) for _ in range(2)]
        names = [n for n in "pq" if n in dims]
        where = f" where {condition(r, names, 1)}" if names and r.random() < 0.7 else ""
        found.append(
            f"@m{i} = fn(x : {vector(dims)}, y : {r.choice(('Tensor', vector(['r'])))}) : {r.choice(('Tensor', vector(['z', 'w'])))}{where} {{ x[{r.choice((0, 1, 2))}:] }}\n"
        )
    members = ", ".join(f"@m{i}" for i in range(count))
    made, known = [], ["x"]
    for i in range(repeated(r, 200)):
        made.append(f"let y{i} = @m({r.choice((*known[-3:], 'x[1:]', '@concat([x, x])'))}, z)")
        known.append(f"y{i}")
    return "".join(found) + f"@m = [{members}]\n" + whole(f"x : {vector('ab')}, z : {vector('c')}", made, "x", lines)


def masks(r, lines):
    made, known = [], ["x"]
    for i in range(repeated(r, 300)):
        of = r.choice(known[-4:])
        made.append(
            r.choice((
                f"let y{i} = @filter({of}, {of} > 0.0)", f"let y{i} = @concat([@filter(x, x > 0.0), @filter(x, x <= 0.0)])", f"let y{i} = @unique_values({of})",
                f"let y{i} = @filter({of}, {of} > {i}.0) + @filter({of}, {of} > {i}.0)", f"let y{i} = @concat([{', '.join(r.choices(known, k=4))}])",
                f"let y{i} = x[:{of}.dim(0)]", f"let y{i} = {of}[@item(@cast(@sum({of}), int64)):]", f"let (p{i}, y{i}) = @topk({of}, k=@filter(x, x > 1.0).dim(0))",
            ))
        )  # fmt: skip
        known.append(f"y{i}")
    return whole(f"x : {vector('a')}", made, known[-1], lines)


def patterns(r, lines):
    made, fresh = [], 0
    for i in range(repeated(r, 300)):
        names = [f"n{fresh + k}" for k in range(3)]
        fresh += 3
        dims = [
            r.choice(
                (f"{n} * {r.choice((2, 3, 'a', 'b'))}", f"{n} + {size(r, 'abc', 1)}", n, f"{n} * {size(r, 'abc', 1)}")
            )
            for n in names
        ]
        made.append(
            r.choice(
                (
                    f"match_shape({r.choice('xz')}, [{', '.join(names)}], [{', '.join(dims)}])",
                    f"let y{i} ! {vector(dims)} = {r.choice('xz')}",
                )
            )
        )
    return whole("x : Tensor([a, b, c], float32), z : Tensor([a * b, b * c, c * a], float32)", made, "x", lines)


def shapes_as_data(r, lines):
    made, known = ["let s = @shape(x)"], ["s"]
    for i in range(repeated(r, 300)):
        of, other = r.choice(known[-3:]), r.choice(known)
        made.append(f"let s{i} = " + r.choice((
            "{0} * {1}", "{0} + {1}", "@concat([{0}[:1], {1}[1:]])", "{0} // 2", "@concat([{0}, {1}])[:3]", "@shape(@reshape(x, {0}))", "@shape(@ones({0}))", "@take({0}, tensor([2, 0, 1], int64))",
            "@where({0} == {1}, {0}, {1})", "@maximum({0}, {1})", "{0} % {1}", "@cumulative_sum({0}, axis=0)",
        )).format(of, other))  # fmt: skip
        known.append(f"s{i}")
        if r.random() < 0.3:
            made.append(f"let y{i} = @reshape(x, s{i})")
    return whole("x : Tensor([a, b, c], float32)", made, "x", lines)


def windows(r, lines):
    made, known = [], ["x"]
    for i in range(repeated(r, 200)):
        of = r.choice(known[-2:])
        attributes = ", ".join(
            r.sample(
                [f"strides={size(r, 'pq', 1)}", f"pads={size(r, 'pq', 1)}", f"dilations={r.choice(('p', '2'))}"],
                r.randint(0, 3),
            )
        )
        made.append(f"let y{i} = " + r.choice((f"@conv({of}, k{', ' if attributes else ''}{attributes})", f"@max_pool({of}, kernel_shape={size(r, 'pq', 1)}{', ' if attributes else ''}{attributes})",
                                              f"@upsample({of}, [p, 2])", f"@depth_to_space({of}, 2)", f"{of} + {r.choice(known)}", f"@concat([{of}, {r.choice(known)}], axis=1)")))  # fmt: skip
        known.append(f"y{i}")
    return whole(
        "x : Tensor([n, c, h, w], float32), k : Tensor([c, c, u, v], float32), p : Size, q : Size",
        made,
        known[-1],
        lines,
    )


def nested_tuples(r, lines):
    made, last = ["let t0 = (x, z)"], 0
    for i in range(repeated(r, 300)):
        made.append(
            f"let t{i + 1} = " + r.choice((f"(t{last}, x)", f"(t{i}[0], z)", f"(t{i}, t{i})"))
            if i < 12
            else f"let t{i + 1} = (t{i}[0], t{i}[1])"
        )
        last = i + 1
    return whole(f"x : {vector('a')}, z : {vector('b')}", made, "x", lines)


def calls_through_bodies(r, lines):
    """Functions whose bodies callers look into, in rows of calls and arms."""
    count = r.choice((3, 8, 30))
    found = ["@g0 = fn(x, k : Size) { x[k:] }\n"]
    for i in range(count):
        body = r.choice(("@g{0}(@g{0}(x, k), k + 1)", "if (k > x.dim(0)) {{ @g{0}(x, k) }} else {{ @g{0}(x, 2) }}", "for i in range(k) with (h = x) {{ h + @g{0}(h, i)[:1] }}", "@concat([@g{0}(x, k), @g{0}(x, 1)])",
                         "@map(fn(v) {{ v }}, @g{0}(x, k))")).format(i)  # fmt: skip
        found.append(f"@g{i + 1} = fn(x, k : Size) {{ {body} }}\n")
    made = [
        f"let y{i} = @g{r.randint(0, count)}({r.choice(('x', 'z', f'y{i - 1}')) if i else 'x'}, {size(r, 'cd', 1)})"
        for i in range(repeated(r, 100))
    ]
    return "".join(found) + whole(f"x : {vector('a')}, z : {vector('b')}, c : Size, d : Size", made, "y0", lines)


def functions_over_one_another(r, lines):
    """Many functions of one line with sizes in their types, each calling some before it."""
    found = [f"@f0 = fn(x : {vector(['a', 'b'])}) : {vector(['a', 'b'])} {{ x }}\n"]
    for i in range(min(lines, 36)):
        dims = r.choice(
            (["a", "b"], ["a * 2", "b"], ["a + b", "b"], ["a", "4"], ["max(a, b)", "b"], ["a // 2", "b * 2"])
        )
        calls = [
            f"@f{r.randint(0, i)}({r.choice(('x', 'x[1:]', '@concat([x, x])', '@matrix_transpose(x)'))})"
            for _ in range(r.choice((1, 3, 20)))
        ]
        found.append(
            f"@f{i + 1} = fn(x : {vector(['a', 'b'])}) : {r.choice((vector(dims), 'Tensor'))} {{ {r.choice((' + ', ' * ')).join(calls)} }}\n"
        )
    return "".join(found) + whole(f"x : {vector('cd')}", [f"let y = @f{len(found) - 1}(x)"], "y", 1)


def sequences(r, lines):
    """Sequences and optional values: made, grown, joined in arms, carried by loops, and read."""
    made, tensors, held = ["let s = @onnx.sequence([x, z])"], ["x", "z"], ["s"]
    for i in range(repeated(r, 200) + 2):
        t, other, s, q = r.choice(tensors), r.choice(tensors[-3:]), r.choice(held[-3:]), r.choice(held)
        at, cond = f"tensor({r.choice((-1, 0, 1))}, int64)", condition(r, NAMES[:3], 1)
        made.append(f"let v{i} = " + r.choice((
            f"@onnx.sequence([{t}, {other}])", f"@onnx.sequence_insert({s}, {t})", f"@onnx.sequence_insert({s}, {t}, {at})", f"@onnx.sequence_erase({s})", f"if ({cond}) {{ {s} }} else {{ {q} }}",
            f"for j in range(c) with (h = {s}) {{ @onnx.sequence_insert(h, {t}) }}", f"for j in range(c) with (h = {s}) {{ if (j > 1) {{ h }} else {{ {q} }} }}",
            f"for j in range(c) with (h = {s}) {{ @onnx.sequence([@onnx.sequence_at(h, tensor(0, int64))[:1]]) }}",
        )))  # fmt: skip
        made.append(f"let w{i} = " + r.choice((
            f"@onnx.sequence_at({s}, {at})", f"@onnx.concat_from_sequence({s}, axis=0)", f"@onnx.optional_get(@onnx.optional({t}))", f"{t} + {other}", f"{t}[1:]", f"@concat([{t}, {other}])",
            f"for j in range(c) with (h = {t}) {{ @onnx.sequence_at(@onnx.sequence([h, {other}]), {at}) }}",
        )))  # fmt: skip
        held.append(f"v{i}")
        tensors.append(f"w{i}")
    return whole(f"x : {vector('a')}, z : {vector('b')}, c : Size", made, tensors[-1], lines)


KINDS = (
    loops_in_loops, loops_of_many_carries, functions_as_values, conditions_of_entry_checks, arms, sizes_of_arms, recursion, types_with_parameters, einsums,
    joined_and_split, reshapes_of_products, quotients_and_extremes, powers, splices, overlapping_members, masks, patterns, shapes_as_data, windows,
    nested_tuples, calls_through_bodies, functions_over_one_another, sequences,
)  # fmt: skip


def slipped(text, r):
    """A program with some slips."""
    for _ in range(r.choice((1, 1, 3, 10))):
        pattern, texts = r.choice(_SLIPS)
        places = list(re.finditer(pattern, text))
        if places:
            at = r.choice(places)
            text = text[: at.start()] + r.choice(texts) + text[at.end() :]
    return text


def program(seed, most=37):
    """The program of a seed, with so many lines in its body at most."""
    r = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    text = kind(r, r.choice((1, 1, 4, 15, most)) if most > 15 else most)
    lines = [line for line in text.splitlines() if len(line) <= 1_500]
    if len(lines) < len(text.splitlines()):
        return program(seed + 100_000 * len(KINDS), most)
    return slipped(text, r) if r.random() < 1 / 3 else text


# What runs soon, and has parameters that are tensors and sizes.
RUN = tuple(k for k in KINDS if k not in (types_with_parameters, calls_through_bodies, recursion))
_CALLED = {"min": min, "max": max, "ceildiv": lambda a, b: -(-a // b)}


def small(seed):
    """A short program that may be run."""
    r = Few(seed)
    text = RUN[seed % len(RUN)](r, 1)
    return slipped(text, r) if r.random() < 0.3 else text


def arguments(text, r):
    """Arguments for @main whose shapes fit its signature; None where this draw of sizes gives none."""
    [head] = re.findall(r"^@main = fn\((.*)\) : Tensor(?: where .*)? \{$", text, re.MULTILINE)
    names = {n: r.choice((0, 1, 1, 2, 2, 3, 4, 6)) for n in "abcdefghknmpquvw"}
    shapes = {n: [r.choice((0, 1, 2, 3)) for _ in range(r.choice((0, 1, 2)))] for n in "uv"}
    found = {}
    for name, dims in re.findall(r"(\w+) : (?:Size|Tensor\(\[(.*?)\], float32\))", head):
        try:
            sizes = [shapes[d[1:]] if d[0] == "*" else [eval(d, _CALLED, dict(names))] for d in dims.split(", ") if d]
        except ZeroDivisionError:
            return None
        shape = [size for some in sizes for size in some]
        if min(shape, default=0) < 0 or math.prod(shape) > 5_000:
            return None
        values = np.array([r.randint(-2, 3) for _ in range(math.prod(shape))], np.float32)
        found[name] = values.reshape(shape) if dims or f"{name} : Tensor" in head else names[name]
    return found
