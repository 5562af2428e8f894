"""Mistakes that few make, and what is seldom written: each is told, or taken, in one way."""

from __future__ import annotations

import pytest
import rxlang as rx
from rxlang.lang.core_printer import print_program

X = "x : Tensor([n, m], float32)"
ONE = "@one = fn(x : Tensor([2, 3], float32)) : Tensor([2, 3], float32) { x }\n"
ANY = f"@any = fn({X}) : Tensor([n, m], float32) {{ x }}\n"
OF_ONE = "@of_one = fn(x : Tensor) : Tensor { x }\n"
APPLIED = f"@applied = fn({X}, g : fn(Tensor) : Tensor) : Tensor {{ g(x) }}\n"
SHAPE = "@s = fn(x : Tensor) : Shape { x.shape }\n"

# What a body says beside `x : Tensor([n, m], float32)` and `k : Size`, the code, and words of the message.
BODIES = [
    ("let j : Size = k ** 2; x", "E206", "sizes have no `**`"),
    ("@take(x, [0, x.dim(0)], axis=0)", "E220", "a list of indices has to be literal"),
    ("@concat(x)", "E206", "`xs` is a list of tensors; this is a tensor"),
    ("let j : Size = x.dim(0, 1); x", "E205", ".dim takes one axis"),
    ("let j : Size = k.dim(0); x", "E207", "`k` is a Size; a tensor is needed here"),
    ("let j : Size = (x, x).dim(0); x", "E206", "this is a tuple of 2; a tensor is needed here"),
    ("@zeros([*k])", "E206", "`k` is a Size; a Shape is needed here"),
    ("let d : DType = k; x", "E206", "`k` is a Size; a DType is needed here"),
    ("@zeros([k, float32])", "E206", "`float32` is a DType; a Size is needed here"),
    ("x[::0]", "E220", "the step of a slice has to be another number than 0"),
    ("x[..., 0, ...]", "E221", "`...` can stand once in an index"),
    ("x[@ones([2], int64), @ones([2], int64)]", "E221", "only one axis can be indexed by a tensor at a time"),
    ('"abc"', "E206", "a string can stand only as an attribute"),
    ("let (a, b) = x.dtype in floating; x", "E207", "`x.dtype in floating` is a Bool, not a tensor"),
    ("let (a, b) = k; x", "E207", "`k` is a Size, not a tensor"),
    ("let (a, a) = (x, x); a", "E203", "`a` stands twice"),
    ("match_shape(x, [a, a], [b, a]); x", "E203", "`a` stands twice"),
    ("let y = match_shape(x, [a, a]); x", "E221", "match_shape is a statement"),
    ("tensor()", "E205", "tensor is called without values"),
    ("tensor([1], int8, 3)", "E205", "tensor takes its values and a dtype"),
    ("tensor([1], x.dtype)", "E220", "the dtype of a literal has to be literal"),
    (f"tensor([1{'0' * 320}], float32)", "E211", "this number is too large for float32"),
    ("let g = fn(y : Tensor = 3) : Tensor { y }; g(x)", "E221", "a function value has no defaults"),
    ("let g : fn(Tensor) : Tensor = @relu; g(x)", "E221", "a `let` cannot claim a function's type"),
    ("let (a, b) : (float32, float32) = (1, 2, 3); x", "E206", "a tuple of 2 is needed here; this has 3 items"),
    ("@relu(())", "E206", "this is an empty tuple; a tensor is needed here"),
    ("while (let q = z; k > 3) with (a = x) { a }", "E201", "nothing is called `z` here"),
    ("if (k > 3) { let q = z; x } else { x }", "E201", "nothing is called `z` here"),
    (f"x + ({' + '.join(['x.dim(0) * x.dim(1)'] * 4)})", "E207", "this is a Size, not a tensor"),
    ("let (a, b) = x.shape; x", "E207", "`x.shape` is a Shape, not a tuple"),
    ("@applied(x, x.shape)", "E202", "there is no function `@applied`"),
]
PROGRAMS = [
    (f"@f = fn({X}, g : fn(Tensor) : Tensor) : Tensor {{ g(x=x) }}", "E205", "takes its arguments by position"),
    (f"{OF_ONE}@f = fn({X}, g : fn(Tensor, Tensor) : Tensor) : Tensor {{ g(x, x) }}\n@h = fn({X}) {{ @f(x, @of_one) }}",
     "E206", "`g` is a function of 2 arguments; this one takes 1"),
    (f"{APPLIED}@h = fn({X}) {{ @applied(x, x) }}", "E206", "`g` is a function; this is a tensor"),
    (f"{SHAPE}@g = fn(x : Tensor) : Tensor {{ let k : Size = @s(x); x }}", "E206", "this is a Shape; a Size is needed"),
    ("@f = fn() : Tensor { @ones([3]) }\n@g = fn(x : Tensor) : Tensor { @f(x) }", "E205", "@f takes 0 arguments"),
    ("@g = fn(x : Tensor, k : Size) { k }", "E207", "`k` is a Size, not a tensor"),
    ("@f = fn(x : Tensor([float32 * n])) : Tensor { x }", "E206", "`float32` is a dtype, not a size"),
    ("@f = fn(x : Tensor([@relu(m)])) : Tensor { x }", "E206", "`@relu(m)` is a tensor; a Size is needed here"),
    ("@f = fn(x : Tensor([b, -(h + d)])) : Tensor { x }", "E208", "nothing says what `h` is: `-(h + d)` has `d` as well"),
    (f"@f = fn({X}, g : fn(Tensor([a])) : Tensor([q * r])) : Tensor {{ g(x) }}", "E208", "nothing says what `q` is"),
    (f"@f = fn(x : Foo) : Tensor {{ x }}\n{APPLIED}@k = fn({X}) : Tensor {{ @applied(x, @f) }}", "E216", "no type `Foo`"),
    (f"@l = [@nope, @none]\n{APPLIED}@k = fn({X}) : Tensor {{ @applied(x, @l) }}", "E202", "no function `@nope`"),
    ("@k = fn(x : Tensor([3, *s], int64) = tensor([[1, 2], [3, 4]])) : Tensor { x }",
     "E211", "this axis is 3, and 2 in the default"),
    ("const c : fn(Tensor) : Tensor = 3", "E221", "a function is written `@f = fn(...) { ... }`"),
    ("const w = load(3)", "E205", "load takes a file and the name of a tensor in it"),
    ("@df = grad @relu wrt x", "E231", "@relu is no function with a body in Rx"),
    (f"@f = fn({X}) {{ @sum(x) }}\n@df = grad @f wrt x", "E231", "@f has no result type"),
    (f'extern @f = fn({X}) : Tensor([], float32) = "a:b"\n@df = grad @f wrt x', "E231", "@f has no body in Rx"),
    ("@f = fn(x : Tensor([n])) : Tensor([], float32) { @cast(@sum(x), float32) }\n@df = grad @f wrt x",
     "E231", "the dtype of `x` is not declared"),
    (f"{ONE}{ANY}@c = [@one, @any]\nvjp @c = fn({X}, g : Tensor([n, m], float32)) : Tensor([n, m], float32) {{ g }}",
     "E231", "@c is a list of implementations"),
    ("@f = fn(x : Tensor([n], int32)) : Tensor([n], int32) { x }\n"
     "vjp @f = fn(_x : Tensor([n], int32), g : Tensor([n], float32)) : Tensor([n], float32) { g }",
     "E231", "@f has no parameter of floats"),
    (f"{ONE.replace(')) :', '), k : Size) :')}{ANY.replace(')) :', '), k : Tensor) :')}@c = [@one, @any]",
     "E222", "`k` is a tensor for @any, and a Size for @one"),
]  # fmt: skip

# What is right.
FINE = [
    "@f = fn(x : Tensor([n]), k : Size) : Tensor { let m : Size = +k; assert x.dim(+0) == m; +x }",
    "@f = fn(x : Tensor([+n, 1 * m, m // 1])) : Tensor([n]) { x[:, 0, 0] }",
    f"@f = fn({X}) : Tensor {{ @leaky_relu(x, 0.5 * 2) }}",
    f"const a = 0.5\n@f = fn({X}) : Tensor {{ @leaky_relu(x, a) }}",
    "@f = fn(p : (Shape, DType, Bool)) : Tensor { assert p[2]; @ones(p[0], p[1]) }",
    f"@f = fn({X}, k : Size) {{ let p = (k, x.dtype, x.rank == 2, x.shape); assert p[2]; @ones(p[3], p[1]) }}",
    f"{SHAPE}@d = fn(x : Tensor) : DType {{ x.dtype }}\n@b = fn(x : Tensor) : Bool {{ x.rank == 2 }}\n"
    f"@f = fn({X}) : Tensor {{ assert @b(x) && @d(x) == float32; @ones(@s(x), @d(x)) }}",
    f"@f = fn({X}, b : Bool) : Tensor {{ assert if (b) {{ true }} else {{ b }}; let s : Shape = if (b) {{ x.shape }}"
    " else { [3] }; @ones(s) }",
    f"{ONE}{ANY}{APPLIED}@c = [@one, @any]\n@f = fn({X}) : Tensor {{ @applied(x, @c) }}",
    f"{ONE}{APPLIED}@c = [@one, @relu]\n@f = fn({X}) : Tensor {{ @applied(x, @c) }}",
    f"{APPLIED}@l = [@relu, @gelu]\n@f = fn({X}) : Tensor {{ @applied(x, @l) }}",
    "@c = fn(xs : (Tensor, Tensor)) : Tensor { xs[0] }\n@l = [@c, @concat]\n@f = fn(x : Tensor) : Tensor { @l((x, x)) }",
    "@f = fn(x : Tensor) { x }\nconst c = @f(3)",
    f"{SHAPE}@f = fn({X}) : Tensor {{ assert broadcast(@s(x), x.shape) == @s(x); assert prod(@s(x)) == n * m; x }}",
    f"@f = fn({X}, b : Bool) : Tensor where if (b) {{ true }} else {{ false }} {{ x }}",
    "@f = fn(x : Tensor([2, *_s], int64) = tensor([[1, 2], [3, 4]])) : Tensor { x }",
    f"@f = fn({X}) : Tensor {{ match_shape(x, [a, ?], [a, ?]); @ones([a]) }}",
    "let x = tensor([1, 2])\nconst c = 3\nx.dim(0)\nc\n@shape(x)",
]  # fmt: skip


def core_of(text: str) -> str:
    checked = rx.check_source(text).checked
    assert checked is not None
    return print_program(checked.before)


def told(text: str) -> list[tuple[str, str]]:
    return [(str(d.code), d.message) for d in rx.check_source(text).diagnostics if d.severity == "error"]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [*((f"@f = fn({X}, k : Size) : Tensor {{ {body} }}", *rest) for body, *rest in BODIES), *PROGRAMS],
)
def test_a_mistake_is_told_once(text: str, code: str, words: str) -> None:
    ((found, message),) = told(text)
    assert found == code and words in message


@pytest.mark.parametrize("text", FINE)
def test_what_is_seldom_written_is_right_and_its_core_says_the_same(text: str) -> None:
    assert told(text) == []
    written = core_of(text)
    assert core_of(written) == written


def test_an_argument_of_an_unknown_name_is_told_beside_those_that_are_missing() -> None:
    found = [message for _, message in told(f"@f = fn({X}) : Tensor {{ @matmul(foo=x) }}")]
    assert found[0] == "@matmul is called without `x` and `y`" and "no parameter `foo`" in found[1]
