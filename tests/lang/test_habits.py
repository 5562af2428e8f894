"""What people write who come from Python, NumPy, PyTorch or C: the message says what is written here, and is not misleading."""

from __future__ import annotations

import re

import pytest
import rxlang as rx
from rxlang.fixes.applied import fixed_and_left
from rxlang.lang.habits import HABITS, Habit
from rxlang.lang.source import Source
from support.places import TESTS

HEAD = "@f = fn(x : Tensor([n, d], float32), w : Tensor([d, m], float32)) : Tensor"

# What stands in the body of a function, and what its one error and the help say.
BODIES = [
    ("x[0] = 1.0; x", "tensors are immutable", "`@put`"),
    ("x[x < 0.0] = 0.0; x", "tensors are immutable", "`let x = @where(x < 0.0, 0.0, x)`"),
    ("if (n > 3) { x[0] = 1.0; x } else { x }", "tensors are immutable", "`@put`"),
    ("x[[0, 2]]", "an index is one size, or a tensor of them", "`@take(x, [0, 2], axis=0)`"),
    ("x[@nonzero(x > 0.0)]", "is a tuple; a Size is needed here", "[0]` is its first part"),
    ('assert n > 0, f"n is {n}"; x', "strings have no prefixes", "plain text"),
    ("x if n > 3 else w", "found `if`", "`if (c) { a } else { b }`"),
    ('"""Doubles."""\n  x', "a string is on one line", "a comment begins with `#`"),
    ("@map(lambda y: @sum(y), x)", "`lambda` is not a word of Rx", "`fn(x : T) : T { ... }`"),
    ("if (n > 3):\n    x\n  else:\n    w", "found `:`", "put a block in braces"),
    ("for i in range(3):\n    x", "found `:`", "put a block in braces"),
    ('raise "empty"', "`raise` is not a word of Rx", "`assert c` stops"),
    ("let y : float32[n] = x; y", "found `[`", "a type is written"),
    ("let k = x.shape[0]; x", "`x.shape` is a Shape, which has no parts", "write `x.dim(0)`"),
    ("let k = x.shape[-1]; x", "`x.shape` is a Shape, which has no parts", "write `x.dim(-1)`"),
    ("x.float()", "there is no `.float`", "`@cast(x, float32)`"),
    ("x.astype(float16)", "there is no `.astype`", "`@cast(x, ...)`"),
    ("x + x.softmax(dim=1)", "there is no `.softmax`", "`@softmax(x, ...)`"),
    ("x.masked_fill(x, 0.0)", "there is no `.masked_fill`", "its arguments may differ"),
    ("x * @size_to_tensor(d, float32) + x.size(0)", "there is no `.size`", "`x.dim(0)` is the size of an axis"),
    ("let y = @topk(x, k=2); @exp(y)", "this is a tuple of 2; a tensor is needed here", "`let (a, b) = ...`"),
    ("@exp((x, x, x))", "this is a tuple of 3; a tensor is needed here", "`let (a, b, c) = ...`"),
    ("np.exp(x)", "there is no `.exp`", "write `@exp(...)`"),
    ("torch.nn.functional.exp(x)", "there is no `.exp`", "write `@exp(...)`"),
    ("cat([x, x])", "nothing is called `cat` here", "`@concat(...)`"),
    ("print(x); x", "nothing is called `print` here", "`rx shapes`"),
    ("len(x)", "nothing is called `len` here", "`x.dim(0)`"),
    ("@zeros([len(x)])", "nothing is called `len` here", "`x.dim(0)`"),
    ("let y = [1.0, 2.0]; y", "a list of tensors can stand only as an argument", "`tensor([1.0, 2.0])`"),
    ("let z = None; x", "nothing is called `None` here", "`None` is a new axis in an index"),
    ("let z : [n, d] = x; z", "found `[`", "a type is written"),
    ("for i, r in enumerate(x) with (a = x) { a }", "found `,`", "`for i in range(x.dim(0)) ...`"),
    ("@np.sum(x)", "there is no import called `np`", "needs no import: `@sum(...)`"),
    ('@rearrange(x, "a b -> b a")', "there is no function `@rearrange`", "`@permute_dims`"),
    ("float(n) * x", "nothing is called `float` here", "`@size_to_tensor(n, float32)`"),
    ("x.repeat(2, 1)", "there is no `.repeat`", "`@tile(x, [2, 1])`"),
    ("x.gather(1, x)", "there is no `.gather`", "`@gather_elements(x, at, axis=1)`"),
    ("nn.Linear(3, 4)(x)", "this cannot be called", "`@linear(x, weight, bias)`"),
    ("let z = x; z += x\n  z", "`+=` is not a sign of Rx", "`let z = z + x`"),
    ("let z = x; z *= x + 1.0; z", "`*=` is not a sign of Rx", "`let z = z * (x + 1.0)`"),
    ("let z = x; z -= x - 1.0\n  z", "`-=` is not a sign of Rx", "`let z = z - (x - 1.0)`"),
    ("x[0] += 1.0; x", "`+=` is not a sign of Rx", "`@put` and `@update_slice`"),
    ("z := x; z", "`:=` is not a sign of Rx", "write `let z = ...`"),
    ("@map(y => y, x)", "`=>` is not a sign of Rx", "`fn(x : T) { ... }`"),
    ("@map(fn(y) => y, x)", "`=>` is not a sign of Rx", "`fn(x : T) { ... }`"),
    ("if (n => 3) { x } else { x }", "`=>` is not a sign of Rx", "write `>=`"),
    ("if (x.dim(0) => 3) { x } else { x }", "`=>` is not a sign of Rx", "write `>=`"),
    ("if (n is 3) { x } else { x }", "`is` is not a word of Rx", "write `==`"),
    ("if (n > 3) and (d > 3) { x } else { x }", "put the condition of `if` in parentheses", "`if (...) { ... }`"),
    ("if (n > 3) x else x", "found `x`", "put the branches in braces"),
    ("@map(lambda: x, x)", "`lambda` is not a word of Rx", "`fn(x : T) : T { ... }`"),
    ("@exp{x}", "found `{`", "put arguments in parentheses"),
    ("let z = x : Tensor; z", "the type comes after the name", "`let z : T = ...`"),
    ("let z; x", "a binding needs a value", "`let z = ...`"),
    ("let @g = fn(y : Tensor) { y }; x", "found `@g`", "`@f = fn(x : T) : T { ... }`"),
    ("g = fn(y : Tensor) { y }; g(x)", "a binding begins with `let`", "`let g = ...`"),
    ("b, t = x.shape; x", "found `,`", "`let (b, t) = ...`"),
    ("x, @exp(x)", "found `,`", "put a tuple in parentheses: `(x, @exp(x))`"),
    ("with torch.no_grad():\n    x", "`with` belongs to a loop", "no context managers"),
    ("try:\n    x", "`try` is not a word of Rx", "`if (c) { ... } else { ... }`"),
    ("self.w = x; x", "`let` takes a plain name", "pass weights as parameters"),
    ("for row in x:\n    @sum(row)", "found `:`", "put a block in braces"),
    ("return(x)", "nothing is called `return` here", "the last expression of a block"),
    ("self.w", "there is no `.w`", "there are no objects"),
    ("x.cuda()", "there is no `.cuda`", "leave it out"),
    ("x.dim()", "is a Size, not a tensor", "`@size_to_tensor(x.dim(), float32)`"),
    ("assert len(x.shape) == 2; x", "nothing is called `len` here", "`x.rank` is the number of axes"),
    ("assert x.dim() == 2; x", ".dim takes one axis", "`x.rank` the number of its axes"),
    ("assert x.size(0) == 2; x", "there is no `.size`", "write `x.dim(0)`"),
    ("assert x == w; x", "`x` and `w` are tensors", "`x.shape == y.shape` compares shapes"),
    (
        "let (b, t) = x.shape; x",
        "`x.shape` is a Shape, not a tuple",
        "`match_shape(x, [b, t], [b, t])` names its sizes",
    ),
    ("let k = d // 8; @zeros([k])", "`d // 8` is a Size", "`let k : Size = d // 8` names it; "),
    ("let ys = []; x", "`[]` is a Shape", "`stack (y : T)`"),
    ("@nn.functional.softmax(x)", "there is no import called `nn`", "`@softmax(...)`"),
    ("@var(x, unbiased=false)", "@var has no parameter `unbiased`", "`correction=1.0`"),
    ("@zeros(n, d)", "`d` is a Size; a DType is needed here", "`[n, m]`"),
    ("assert n % 8; x", "a Bool is needed here", "`n % 8 == 0`"),
    ("x.dim", "there is no `.dim`", "`x.dim(0)`"),
    ("@exp x", "found `x`", "`@exp(x)`"),
    ("a, b = @split(x, 2); x", "found `,`", "`let (a, b) = ...`"),
    ("range(3)", "range can stand only in `for`", "`@arange(0, n)`"),
    ("@print(x); x", "there is no function `@print`", "`rx shapes`"),
    ('@einsum("nd,dm->nm", x, w)', "@einsum takes at most 2 arguments", "`xs` is a list: `[x, y]`"),
    ("let (a, b) = @random_split(@random_key(0)); x", "this is a tensor; it cannot be taken apart", "`@unstack(x)`"),
    (
        "@random_randint(@random_key(0), 3)",
        "there is no function",
        "`@cast(@random_uniform(key, [2, 3]) * 10.0, int64)`",
    ),
    ("@reshape(x, n, -1)", "@reshape takes at most 2 arguments", "`shape` is a list: `[n, m]`"),
    ("let s : Shape = (n, d); @zeros(s)", "`(n, d)` is a tuple", "write `[n, d]`"),
    ('@cast(x, "float16")', "is a text; a DType is needed here", "write `float16`"),
    ("pass", "nothing is called `pass` here", "the last expression"),
    ("let y = x * 2.0", "this block has no result", "write `y` on a line behind this"),
    ("@cast(x, half)", "there is no dtype `half`", "`float16`"),
    ("for i in range(3) { let x = x * 2.0; x }", "this loop gives nothing", "`with (x = x)` carries the value"),
    ("for i in range(3) with (a = x) stack (y : Tensor([n, d], float32)) { a }", "a turn gives `a` and `y`", "first"),
]

# The same of whole programs.
PROGRAMS = [
    ("class Net:\n  def forward(self, x):\n    return x\n", "`class` is not a word of Rx", "a list of functions"),
    ("from torch import nn\n", "`from` is not a word of Rx", '`import "file.rx" as f`'),
    ("import numpy as np\n", "expected a string, found `numpy`", "needs no import: `@exp(x)`"),
    ("@f = fn(x : Tensor([n], float32)) : Tensor([n], float32):\n  x\n", "found `:`", "put a block in braces"),
    ("@f = fn(x : Tensor([n], int8)):\n  x\n", "@f has no body", "in braces"),
    ("@f = fn(x : Tensor([n], int8)) : Tensor, Tensor { (x, x) }", "found `,`", "`(Tensor, Tensor)`"),
    ("@f = fn(x : float32[n]) : Tensor { x }", "found `[`", "a type is written"),
    ("@f = fn(x : ?) : Tensor { x }", "expected a type, found `?`", "`Tensor` alone is any tensor"),
    ("@f = fn(x : Tensor) : ? { x }", "expected a type, found `?`", "`Tensor` alone is any tensor"),
    ('@f = fn(x : Float[Tensor, "n d"]) : Tensor { x }', "found `[`", "a type is written"),
    ("@f = fn(Tensor([n], float32) x) : Tensor { x }", "found `(`", "comes after its name"),
    ("@f = fn(float32 x) : Tensor { x }", "found `x`", "comes after its name"),
    ("@f = fn(x : Tensor(n, d, int8)) : Tensor { x }", "takes a shape and a dtype", "`Tensor([n, d], int8)`"),
    ('@f = fn(x : Tensor(["n"], int8)) : Tensor { x }', '`"n"` is a text', "write `n`"),
    ("@f = fn(x : Tensor([-1, d], int8)) : Tensor([d], int8) { x[0] }", "`-1` as axis 0", "write `?` for any size"),
    ("@f = fn(x : Tensor([None, d], int8)) : Tensor([d], int8) { x[0] }", "`None` is not a size", "write `?` for any"),
    ("@f = fn(x : Tensor([n], int8)) : Tensor([None], int8) { x }", "`None` is not a size", "write `?` for any"),
    (
        "@f = fn(x : Tensor([n], int8)) : Tensor { let y : Tensor(None) = x; y }",
        "`None` is not a shape",
        "write `?` for any",
    ),
    ("@f = fn(x : Tensor([n], None)) : Tensor([n], int8) { x }", "`None` is not a dtype", "write `?` for any"),
    ("@f = fn(x : Tensor(int8)) : Tensor { x }", "`int8` is a dtype, not a shape", "`Tensor(?, float32)`"),
    ("@f = fn(x : Tensor([int8])) : Tensor { x }", "`int8` is a dtype, not a size", "write `?` for any size"),
    ("@f = fn(x : Tensor([:, d], int8)) : Tensor([d], int8) { x[0] }", "found `:`", "write `?` for any size"),
    ("@f = fn(x : Tensor([n?], int8)) : Tensor([n], int8) { x }", "found `?`", "write `?` for any size"),
    ("@f = fn(x : Tensor([1..8], int8)) : Tensor { x }", "a size cannot be a range", "`where 1 <= n, n <= 64`"),
    ("@f = fn(x : Tensor([*, d], int8)) : Tensor([*, d], int8) { x }", "found `,`", "`*s` to name them"),
    ("@f = fn(x : Tensor([**s], int8)) : Tensor([*s], int8) { x }", "found `**`", "`*s` to name them"),
    ("@f = fn(x : Tensor(..., int8)) : Tensor { x }", "a shape is `?`", "write `?` for any shape"),
    ("@f = fn(x : Tensor(shape=[n], dtype=int8)) : Tensor { x }", "have no names", "a type is written"),
    ("@f = fn(x : Tensor<n, d>) : Tensor { x }", "found `<`", "a type is written"),
    ("@f = fn(x : Tensor([n, d], int8)) : Tensor { @reshape(x, [?]) }", "`?` can stand in a type", "may be `-1`"),
    ("@f = fn(x : Tensor([n, d], int8)) : Tensor { @reshape(x, [None]) }", "nothing is called `None`", "`-1`"),
    ("@f = fn(x : Tensor([n], int8)) : Tensor([n], float32) { @full([n], inf) }", "is called `inf`", "`1e999`"),
    ("def f(x : T) -> T:\n  return x\n", "`def` is not a word of Rx", "`@f = fn(x : Tensor) : Tensor { ... }`"),
    ("fn @f(x : Tensor) : Tensor { x }", "found `@f`", "`@f = fn(x : T) : T { ... }`"),
    ("@f = fn(x : Tensor):\n  x * 2.0\n", "put the body of a function in braces", "`fn(x : T) { ... }`"),
    ("@f = fn(x : Tensor) : Tensor = x * 2.0", "put the body of a function in braces", "`fn(x : T) : T { ... }`"),
    ("@f = fn(xs : List[Tensor]) : Tensor { xs[0] }", "found `[`", "pass several tensors as a tuple"),
    ("@f = fn(x : Tensor, m : Optional[Tensor]) : Tensor { x }", "found `[`", "need a literal default"),
    ("@f = fn(*xs) : Tensor { xs[0] }", "a fixed number of arguments", "`xs : (Tensor, Tensor)`"),
    ("@f = fn(x : Tensor{[n], int8}) : Tensor { x }", "found `{`", "a type is written"),
    ("type L[d] = Tensor([d], int8)", "in parentheses", "`type L(d) = ...`"),
    ("type L(d) = Tensor([d], int8)\n@f = fn(x : L[3]) : Tensor { x }", "found `[`", "`L(n)`"),
    ("@f = fn(x : Tensor([n], d)) : Tensor where d not in integer { x }", "`not` is", "`!(d in integer)`"),
    (
        "@f = fn(x : Tensor([n], d)) : Tensor where d in [int8, int16] { x }",
        "in braces",
        "`d in {float32, float64}`",
    ),
    ("@f = fn(x : Tensor(int8, [n])) : Tensor { x }", "the shape comes first, then the dtype", "`Tensor([n], int8)`"),
    ("@f = fn(x : Tensor((n, d), int8)) : Tensor { x }", "a shape is `?`, a name or a list", "`Tensor([n, d], int8)`"),
    ("@f = fn(x : np.ndarray) : Tensor { x }", "there is no import called `np`", "`Tensor`"),
    ("@f = fn(x : Tensor, k = 3) : Tensor { x[0:k] }", "`k` is a tensor", "write `k : Size`"),
    ("@f = fn(x : int8, k : int) : Tensor { x }", "there is no type `int`", "`Size` or `int64`"),
    ("@f = fn(x : int8, eps : float) : Tensor { x }", "there is no type `float`", "`float32`"),
]


@pytest.mark.parametrize(
    ("program", "message", "help"),
    [(f"{HEAD} {{\n  {body}\n}}\n", *said) for body, *said in BODIES] + PROGRAMS,
    ids=[body.split("\n")[0][:40] for body, *_ in BODIES + PROGRAMS],
)
def test_a_habit_from_elsewhere_is_answered_with_what_is_written_here(program: str, message: str, help: str) -> None:
    wrong = [d for d in rx.check_source(program).diagnostics if d.severity == "error"]
    assert len(wrong) == 1, [d.message for d in wrong]
    assert message in wrong[0].message
    assert help in (wrong[0].help or ""), wrong[0].help


@pytest.mark.parametrize("row", HABITS, ids=[row.example[:40] for row in HABITS])
def test_the_example_of_a_habit_is_answered_by_its_row(row: Habit) -> None:
    program = row.example if row.example.endswith("\n") else f"{HEAD} {{\n  {row.example}\n}}\n"
    wrong = [d for d in rx.check_source(program).diagnostics if d.severity == "error"]
    assert [d for d in wrong if like(row.help, d.help) and like(row.message, d.message)], [
        (d.message, d.help) for d in wrong
    ]


def like(row: str | None, said: str | None) -> bool:
    """Whether a text is a row's, whatever stands for the words in it."""
    return row is None or re.fullmatch(re.sub(r"\\\$[a-z]+", ".*", re.escape(row)), said or "") is not None


# A body or a program that cannot be read, and what `--fix` makes of it.
READ = [
    ("x += w * 2.0 + 1.0; x", "let x = x + (w * 2.0 + 1.0); x"),
    ("x *= @exp(w + 1.0)  # all\n  x", "let x = x * @exp(w + 1.0)  # all\n  x"),
    ("for i in range(3) with (a = x) { a -= w; a }", "for i in range(3) with (a = x) { let a = a - w; a }"),
    ("y := x; y", "let y = x; y"),
    ("y = x\n  return y", "let y = x\n  y"),
    ("b, t = @split(x, 2)\n  b", "let (b, t) = @split(x, 2)\n  b"),
    ("let b, t = @split(x, 2)\n  b", "let (b, t) = @split(x, 2)\n  b"),
    ("if n > 3 and n < 5 { x } else { x }", "if (n > 3 && n < 5) { x } else { x }"),
    ("if (n > 3) and (d > 2) { x } else { x }", "if ((n > 3) && (d > 2)) { x } else { x }"),
    ("if (n is not 3 or not n > 5) { x } else { x }", "if (n != 3 || !n > 5) { x } else { x }"),
    ("if (n > 3) { x } elif (n > 2) { x } else { x }", "if (n > 3) { x } else if (n > 2) { x } else { x }"),
    ("x × 2.0 − .5", "x * 2.0 - 0.5"),
    ("@einsum('nd,dm->nm', [x, w])", '@einsum("nd,dm->nm", [x, w])'),
    ("let y : float32[n, d] = x; y", "let y : Tensor([n, d], float32) = x; y"),
    ("let y : Tensor((n, d), float32) = x; y", "let y : Tensor([n, d], float32) = x; y"),
    ("let y : Tensor([n, d], torch.float32) = x; y", "let y : Tensor([n, d], float32) = x; y"),
    ("torch.max(x, 2.0 * x)", "@maximum(x, 2.0 * x)"),
    ("x.min(x)", "@minimum(x, x)"),
    ("@max(x, x)", "@maximum(x, x)"),
    ("min(x, 0.5)", "@minimum(x, 0.5)"),
    ("@maximum(x, axis=-2)", "@max(x, axis=-2)"),
    ("x.type(torch.float16)", "@cast(x, float16)"),
    ("x.eq(x)", "@equal(x, x)"),
    ("max(x)", "max(x)"),
    ("@maximum(x)", "@maximum(x)"),
    ("torch.max(x, dim=1)", "torch.max(x, dim=1)"),
    ("(x, x", "(x, x"),
    ("x > 0.0 & x < 1.0", "x > 0.0 & x < 1.0"),
    ("if (n > 3) { return x } else { x }", "if (n > 3) { return x } else { x }"),
    ("x[0] += 1.0; x", "x[0] += 1.0; x"),
]


@pytest.mark.parametrize(("body", "wanted"), READ)
def test_what_says_the_same_in_other_words_is_rewritten_and_what_may_not_is_left(body: str, wanted: str) -> None:
    text = f"{HEAD} {{\n  {body}\n}}\n"
    found = fixed_and_left(Source("a.rx", text), TESTS)
    assert found.text == f"{HEAD} {{\n  {wanted}\n}}\n"
    assert bool(found.done) == (body != wanted) and all(left.reason for left in found.left)


def test_what_is_wrong_before_a_sign_that_cannot_be_read_is_told_instead_of_it() -> None:
    said = [d.message for d in rx.check_source("def f(x) -> y\n\nlet a = true & false\n").diagnostics]
    assert said == ["`def` is not a word of Rx", "`&` is not a sign of Rx"]
