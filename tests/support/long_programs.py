"""Programs of full lines, one statement repeated: what checking costs has an end however long a function is.

A kind is the text before, the statement of a number, and the text behind; `program` fills so many lines of 1,500 characters.
"""

_TENSOR = "@f = fn(a0 : Tensor([n, m], float32), k : Size) : Tensor {"
_ROW = "@f = fn(a0 : Tensor([n], float32), b : Size, c : Size) : Tensor {"
_ENTRY = (
    "@g = fn(x : Tensor([a, b * 4], float32), y : Tensor([a], float32)) : Tensor([a, b], float32) where a >= b "
    "{ @reshape(x, [a, b, 4])[:, :, 0] }\n"
    "@f = fn(a0 : Tensor([n, m], float32), y : Tensor([k], float32)) : Tensor {"
)
_IMAGE = "@f = fn(a0 : Tensor([b, c, h, w], float32), k : Tensor([c, c, 3, 3], float32)) : Tensor {"
_SPLICED = "@f = fn(a0 : Tensor([*s, n], float32), y : Tensor([*t, n], float32)) : Tensor {"
_SIZES = "@f = fn(a0 : Size, y : Size, z : Size) : Tensor {"
_MANY = (
    f"@f = fn(a0 : Tensor([n], float32), {', '.join(f'p{i} : Tensor([q{i}], float32)' for i in range(12))}) : Tensor {{"
)
_WIDE = "@f = fn({}) : Tensor {{".format(
    ", ".join(
        f"{x} : Tensor([{', '.join(f'{d}{i}' for i in range(60))}], float32)" for x, d in (("a0", "n"), ("y", "m"))
    )
)
_ANY, _LAST = (
    "@g0 = fn(x : Tensor([n, m], float32)) : Tensor([n, m], float32) { x }",
    "@f = fn(a0 : Tensor) : Tensor { a0",
)

KINDS = {
    "calls": (_ENTRY, "let a{j} = @g(a{i}, y)", "a0"),
    "calls of slices": (_ENTRY, "let a{j} = @g(a0[{i}:], y[:{j}])", "a0"),
    "reshapes": (_TENSOR, "let a{j} = @reshape(a0, [n * {j}, -1])", "a0"),
    "wrong reshapes": (_TENSOR, "let a{j} = @reshape(a0, [n * k, m + {j}])", "a0"),
    "slices": (_ROW, "let a{j} = a{i}[1:-1:2]", "a0"),
    "open slices": (_ROW, "let a{j} = a{i}[b:c]", "a0"),
    "splits": (_TENSOR, "let (a{j}, b{j}) = @split(a{i}, 2)", "a0"),
    "pads": (_TENSOR, "let a{j} = @pad(a{i}, [(k, {i}), (n - {i}, m)])", "a0"),
    "convolutions": (_IMAGE, "let a{j} = @conv(a{i}, k, strides=[2, 1])", "a0"),
    "broadcasts": (_MANY, "let a{j} = a{i} + p{w}", "a0"),
    "splices": (_SPLICED, "let a{j} : Tensor([*s, n]) = a0 + y", "a0"),
    "arms": (_ROW, "let a{j} = if (b > {i}) {{ @concat([a{i}, a{i}]) }} else {{ a{i}[::2] }}", "a0"),
    "filters": (_ROW, "let a{j} = @filter(a0, a0 > 0.0) + a{i}", "a0"),
    "loops": (_ROW, "let a{j} = for i in range(b) with (h = a0) {{ h + a{i} }}", "a0"),
    "turns": (_ROW, "let a{j} = while (b >= h.dim(0)) with (h : Tensor([p], float32) = a0) {{ @concat([h, h]) }}", "a0"),
    "conditions": (_SIZES, "assert a0 == {i} && y * z >= a0 + {j} || a0 % {j} <= y", "@zeros([3], float32)"),
    "parentheses": (_SIZES, f"let s{{j}} : Size = {'(' * 40}y{' + 1)' * 40}", "@zeros([3], float32)"),
    "wide types": (_TENSOR, f"let a{{j}} : Tensor([{', '.join(f'n * {i} + m' for i in range(60))}]) = a0", "a0"),
    "tuples": (_TENSOR, f"let t{{j}} = ({', '.join(['a0'] * 60)})", "a0"),
    "long names": (_TENSOR, f"let {'a' * 300}{{j}} = a0 + a0", "a0"),
    "sums": (_MANY, "let a{j} = (a{i} + p{w}) * a0 + (p{w} + a{i}) * (p0 + p1)", "a0"),
    "arms in arms": (
        _ROW, "let a{j} = if (b > {i}) {{ if (b > c) {{ a0 }} else {{ a0[1:] }} }} else {{ a0[2:] }}",
        "a0",
    ),
    "maps": (_TENSOR, "let a{j} = @map(fn(r) {{ r + r }}, a0)", "a0"),
    "maps of maps": (_IMAGE, "let a{j} = @map(fn(r) {{ @map(fn(q) {{ q[1:] }}, r) }}, a0)", "a0"),
    "maps of two": (_TENSOR, "let a{j} = @map(fn(r, s) {{ r + s }}, a{i}, a0)", "a0"),
    "maps of functions": (_TENSOR, "@map(@relu, a0)", "a0"),
    "folds": (_TENSOR, "let a{j} = @fold(@add, a0[0], a0)", "a0"),
    "stacks of stacks": (_ROW, "let a{j} = for i in range(b) stack (y : Tensor(?, ?)) {{ a{i}[i:] }}", "a0"),
    "splits into many": (_TENSOR, "let t{j} = @split(a0, 500)", "a0"),
    "known rows": (_TENSOR, "let t{j} = @cumulative_sum(@arange(0, 256) * @arange(0, 256), axis=0)", "a0"),
    "many axes": (_WIDE, "let a{j} = a0 + y", "a0"),
    "growing loops": (
        _ROW, "let a{j} = for i in range(b) with (h = a0) {{ for l in range(i) with (g = h) {{ @concat([g, a0]) }} }}", "a0",
    ),
    "typed loops": (
        _TENSOR, "let a{j} = for i in range(k) with (h : Tensor([n + i, m], float32) = a0) {{ @concat([h, a0[:1]]) }}", "a0",
    ),
    "elements": ("@f = fn(a0 : Tensor([n], int64)) : Tensor {", "let s{j} : Size = @item(a0[{i}])", "a0"),
    "functions": (_ANY, "@g{j} = fn(x : Tensor([n, m], float32)) : Tensor([n, m], float32) {{ x + x }}", _LAST),
    "wrong functions": (_ANY, "@g{j} = fn(x : Tensor([n, m], float32)) : Tensor([m, n], float32) {{ x + x }}", _LAST),
    "functions of functions": (
        _ANY, "@g{j} = fn(x : Tensor([n, m], float32)) : Tensor([n, m], float32) {{ @g{i}(x) }}", _LAST,
    ),
    "conditions of functions": (
        _ANY, "@g{j} = fn(x : Tensor([n, m], float32)) : Tensor where n <= m * {j}, m % {j} == 0, n + m >= {i} {{ x }}", _LAST,
    ),
    "type parameters": (
        _ANY, "@g{j} = fn(x : Tensor([n, m, p, q], D), y : Tensor([q, p], E)) : Tensor([q, p], E) {{ y }}", _LAST,
    ),
    "types of types": ("type T0 = (Tensor, Tensor)\n" + _ANY, "type T{j} = (T{i}, Tensor)", _LAST),
    "sizes of sizes": (
        _ANY, "@g{j} = fn(x : Tensor([n, n * m + n, m * p + m]), y : Tensor([p * q + p])) {{ x }}", _LAST,
    ),
    "consts": (_ANY, "const w{j} : Tensor([{j}, 4], float32) = @zeros([{j}, 4], float32)", _LAST),
    "imports": (_ANY, 'import "m{j}.rx" as m{j}', _LAST),
    "wrong arguments": (_TENSOR, "let a{j} = @matmul(a0, {i}, q=2)", "a0"),
    "mistakes": (_TENSOR, "let a{j} = @softmax(@concat([a0, @sum(a0, axis=0)]), axis=2) + @matmul(a0, a0)", "a0"),
    "errors": (_TENSOR, "let a{j} = @zeros([3], float32) + @zeros([4], float32)", "a0"),
}  # fmt: skip
_LINE = 1_490


def program(kind, lines):
    """The program of a kind, of so many full lines."""
    head, piece, result = KINDS[kind]
    found, line, i = [head], "", 0
    while len(found) <= lines:
        more = piece.format(i=i, j=i + 1, w=i * i % 12)
        if len(line) + len(more) + 4 > _LINE:
            found.append(f"  {line}")
            line = ""
        line += f"; {more}" if line else more
        i += 1
    return "\n".join([*found, f"  {result}", "}", ""])
