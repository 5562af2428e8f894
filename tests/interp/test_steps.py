"""Steps: what is released when, what is written into whose memory, and what a failure says of where it was."""

from __future__ import annotations

import random
import sys
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.interp import allocation
from rxlang.interp.arguments import is_plain
from rxlang.interp.compile import Options
from rxlang.interp.guards import guard
from rxlang.interp.kernels import registry as kernels
from rxlang.interp.lower import lower
from rxlang.interp.run import Machine
from rxlang.interp.shape_error import ShapeError
from rxlang.interp.steps import Branch, Compute, Step, StepBlock, StepCheck
from rxlang.interp.trace import failure
from rxlang.lang import core
from rxlang.lang.files import Files
from support import fuzz, ops, random_calls, random_programs
from support.memory import peak
from support.phases import checked_of
from support.places import ROOT

HERE = Path(".")


def program(source: str) -> core.Program:
    return checked_of(source).program


def steps_of(source: str, name: str = "f_impl") -> tuple[Step, ...]:
    return next(r for r in lower(program(source)).routines if r.name == name).body.steps


def computes(steps: tuple[Step, ...]) -> dict[str, Compute]:
    return {step.row.name: step for step in steps if isinstance(step, Compute)}


# Last uses


def test_a_step_says_what_nothing_reads_after_it() -> None:
    found = computes(
        steps_of("""@f = fn(x : Tensor([n, n], float32)) : Tensor([n, n], float32) {
  let y = @exp(x)
  let z = @sin(y)
  @matmul(y, z)
}""")
    )
    assert found["sin"].last == ()
    assert found["matmul"].last == ("v_y", "v_z")


def test_what_only_one_arm_reads_ends_in_it_and_at_the_beginning_of_the_other() -> None:
    steps = steps_of("""@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) {
  let y = @exp(x)
  let z = @sin(x)
  let r = if (n > 2) { y + 1.0 } else { x }
  r + z
}""")
    branch = next(s for s in steps if isinstance(s, Branch))
    assert branch.orelse.dead == ("v_y",) and branch.then.dead == ()
    assert branch.then.steps[0].last == ("v_y",)
    assert steps[-1].last == ("v_r", "v_z")


def test_a_binding_of_a_size_that_nothing_reads_is_no_step() -> None:
    source = "@f = fn(x : Tensor([n, m], float32)) : Tensor([n], float32) { @sum(x, axis=1) }"
    assert [type(s) for s in steps_of(source)] == [Compute]


def test_a_step_has_the_shape_and_the_dtype_of_what_it_gives() -> None:
    found = computes(
        steps_of("""@f = fn(x : Tensor([n, 4], float32)) : Tensor([n * 4], int32) {
  @cast(@reshape(x, [n * 4]), int32)
}""")
    )
    known = found["cast"].known
    assert known is not None and known.shape is not None and isinstance(known.dtype, core.DTypeLit)
    assert known.dtype.dtype.name == "int32"
    assert known.shape == (core.SizeOp(known.shape[0].span, "*", *_factors(known.shape[0])),)


def _factors(size: core.SizeExpr) -> tuple[core.SizeExpr, core.SizeExpr]:
    assert isinstance(size, core.SizeOp)
    assert isinstance(size.left, core.SizeVar) and size.left.name == "n"
    assert isinstance(size.right, core.SizeLit) and size.right.value == 4
    return size.left, size.right


def test_each_binding_has_its_data_where_it_is_known() -> None:
    checked = program("@f = fn(x : Tensor([n, 3], float32)) { let s = @shape(x) \n let t = s * 2 \n (s, t) }")
    lets = [s for f in checked.functions for s in f.body.stmts if isinstance(s, core.Let) and s.names[0] in "st"]
    data = [let.known[0].data for let in lets if let.known[0] is not None]
    assert [len(d) for d in data if isinstance(d, tuple)] == [2, 2]
    assert [d[1] for d in data if isinstance(d, tuple)] == [
        core.SizeLit(lets[0].span, 3),
        core.SizeLit(lets[0].span, 6),
    ]


# Memory


CHAINS = {
    "one after another": lambda i: f"  let y{i} = @exp(y{i - 1})",
    "the same name again": lambda i: "  let y0 = @exp(y0)",
    "nested": lambda i: "  let y0 = @exp(@sin(@exp(y0)))",
    "views": lambda i: f"  let y{i} = @matrix_transpose(@exp(y{i - 1}))",
    "arms": lambda i: f"  let y{i} = if (n > 2) {{ let z = @exp(y{i - 1}) \n @sin(z) }} else {{ @exp(y{i - 1}) }}",
    "tuples": lambda i: f"  let (y{i}, z{i}) = (@exp(y{i - 1}), @sin(y{i - 1}))",
    "calls": lambda i: f"  let y{i} = @g(y{i - 1})",
}


@pytest.mark.parametrize("kind", CHAINS)
def test_a_long_chain_takes_no_more_memory_than_a_short_one(kind: str) -> None:
    def chain(length: int) -> int:
        body = "\n".join(CHAINS[kind](i) for i in range(1, length))
        last = "y0" if "y0" in CHAINS[kind](5) else f"y{length - 1}"
        made = rx.loads(
            "@g = fn(x : Tensor([a, a], float64)) : Tensor([a, a], float64) { @sin(@exp(x)) }\n"
            f"@f = fn(y0 : Tensor([n, n], float64)) : Tensor([n, n], float64) {{\n{body}\n  {last}\n}}"
        )
        x = np.zeros((100, 100))
        made.f(x)
        return peak(made.f, x)

    assert chain(40) <= chain(6) + 10_000


def test_a_model_of_twelve_layers_takes_the_memory_of_one_of_two() -> None:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        from models import transformer
    finally:
        sys.path.pop(0)

    def layers(number: int) -> int:
        made = rx.loads(transformer(number))
        params = next(s for s in made._checked.shapes if s.name == "@model").params
        args = [np.zeros([{"b": 2, "t": 5}.get(str(d), d) for d in p.shape or ()], np.float32) for p in params]
        made.model(*args)
        return peak(made.model, *args)

    assert layers(12) <= layers(2) * 1.1


# Memory that is written into

EXACT = ("@add", "@subtract", "@multiply", "@maximum", "@minimum")
TENSOR = "Tensor([n, n], float32)"


PAIR = "p : Tensor([k, k], float32), q : Tensor([k, k], float32)"
# Functions that give a tensor that nothing else holds, and such that do not, by name.
GIVING = {
    "made": "let t = @matmul(p, q) \n t + q",
    "passed": "@made(q, p)",
    "moved": "let t = @made(p, q) \n let u = t \n u",
    "given": "q",
    "turned": "@matrix_transpose(@matmul(p, q))",
    "kept": "let t = @matmul(p, q) \n @given(p, t)",
    "chosen": "if (k > 2) { @made(p, q) } else { p }",
    "constant": "@reshape(c, [k, k])",
}


class Chain:
    """A random program over square matrices in which temporaries end, are shared, viewed, captured and returned."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = ["x", "w", "b", "c"]
        self.count = 0
        lines = self.lines(12, 2)
        results = ", ".join(self.random.choices(self.names, k=2))
        self.source = (
            f"const c : Tensor([3, 3], float32) = tensor({np.eye(3).tolist()}, float32)\n"
            f"@g = fn(p : Tensor([k, k], float32), q : Tensor([k, k], float32)) {{ let t = @matmul(p, q) \n let u = t + q"
            " \n if (k > 2) { p } else { u - t } }\n"
            + "".join(f"@{name} = fn({PAIR}) : Tensor([k, k], float32) {{ {body} }}\n" for name, body in GIVING.items())
            + f"@main = fn(x : {TENSOR}, w : {TENSOR}, b : {TENSOR}) where n == 3 {{\n"
            + "\n".join(lines)
            + f"\n  ({results})\n}}"
        )

    def lines(self, number: int, depth: int) -> list[str]:
        return [line for _ in range(number) for line in self.line(depth)]

    def line(self, depth: int) -> list[str]:
        kinds = (
            [self.binary] * 5
            + [self.product] * 3
            + [self.sharing] * 2
            + [self.unary, self.view, self.closure, self.pair, self.call]
        )
        if depth:
            kinds.append(lambda: self.arms(depth - 1))
        made = self.random.choice(kinds)()
        name = self.random.choice([f"y{len(self.names)}", *self.names[3:]])
        if name == "c":
            name = "d"
        if name not in self.names:
            self.names.append(name)
        return [*made[:-1], f"  let {name} = {made[-1]}"]

    def pick(self) -> str:
        return self.random.choice(self.names[-4:] if self.random.random() < 0.7 else self.names)

    def binary(self) -> list[str]:
        other = self.random.choice([self.pick(), self.pick(), "0.5", f"@matmul({self.pick()}, {self.pick()})"])
        return [f"{self.random.choice(EXACT)}({self.pick()}, {other})"]

    def product(self) -> list[str]:
        return [f"@matmul({self.pick()}, {self.pick()}) + {self.pick()}"]

    def unary(self) -> list[str]:
        return [f"{self.random.choice(['@abs', '@negative', '@square', '@softmax', '@relu'])}({self.pick()})"]

    def view(self) -> list[str]:
        made = ["@matrix_transpose({})", "@reshape({}, [n, n])", "{}", "@flip({})", "@broadcast_to({}[0:1], [n, n])"]
        return [self.random.choice(made).format(self.pick())]

    def sharing(self) -> list[str]:
        """A tensor ends in an element-wise step while something that shares its memory lives on."""
        self.count += 1
        made, kept, ended = f"s{self.count}", f"k{self.count}", f"e{self.count}"
        ways = [
            f"let {kept} = @reshape({made}, [n * n])[0:1]",
            f"let {kept} = @matrix_transpose({made})",
            f"let {kept} = if (n > 2) {{ {made} }} else {{ x }}",
            f"let ({kept}, z{self.count}) = ({made}, x)",
            f"let h{self.count} = fn(t : Tensor([n, n], float32)) {{ t + {made} }}",
            f"let {kept} = @g({made}, x)",
        ]
        way = self.random.choice(ways)
        last = f"h{self.count}({ended})" if "fn(" in way else f"{ended} - {kept}"
        return [
            f"  let {made} = @{self.random.choice(['matmul', *GIVING])}({self.pick()}, {self.pick()})",
            f"  {way}",
            f"  let {ended} = {made} * 2.0",
            last,
        ]

    def call(self) -> list[str]:
        return [f"@{self.random.choice(['g', *GIVING])}({self.pick()}, {self.pick()})"]

    def pair(self) -> list[str]:
        self.count += 1
        return [
            f"  let (p{self.count}, q{self.count}) = ({self.pick()}, {self.pick()} + 1.0)",
            f"p{self.count} - q{self.count}",
        ]

    def closure(self) -> list[str]:
        self.count += 1
        made = f"  let h{self.count} = fn(t : Tensor([n, n], float32)) {{ @matmul(t, {self.pick()}) + {self.pick()} }}"
        return [made, f"h{self.count}({self.pick()})"]

    def arms(self, depth: int) -> list[str]:
        arms = []
        for _ in range(2):
            before = list(self.names)
            lines = self.lines(2, depth)
            arms.append("{\n" + "\n".join(lines) + f"\n  {self.pick()}\n  }}")
            self.names = before
        cond = self.random.choice(["n > 2", f"@sum({self.pick()}) > 0.0"])
        return [f"if ({cond}) {arms[0]} else {arms[1]}"]


def laid_out(chooser: random.Random, array: np.ndarray) -> np.ndarray:
    """The same elements, in another order in memory."""
    match chooser.randrange(4):
        case 0:
            return np.asfortranarray(array)
        case 1:
            return np.repeat(array, 2, axis=0)[::2] if array.ndim else array
        case 2:
            axes = chooser.sample(range(array.ndim), array.ndim)
            return np.ascontiguousarray(array.transpose(axes)).transpose(np.argsort(axes))
    return array


def bits(value: Any) -> Any:
    """A result with its layout, to be compared to the last bit."""
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.strides if value.size > 1 else (), value.tobytes()
    return value


def outcome(machine: Machine, args: list[Any]) -> Any:
    before = [bits(a) for a in args]
    try:
        with np.errstate(all="ignore"):
            result = machine.call("main", args)
    except ShapeError as problem:
        result = problem.diagnostic.message
    assert [bits(a) for a in args] == before, "an argument was written into"
    return bits(result)


def machines(checked: core.Program) -> tuple[Machine, Machine]:
    return Machine(checked, Files(HERE)), Machine(checked, Files(HERE), Options(reuse=False))


def written_into(block: StepBlock) -> int:
    found = 0
    for step in block.steps:
        found += isinstance(step, Compute) and step.into is not None
        if isinstance(step, Branch):
            found += written_into(step.then) + written_into(step.orelse)
    return found


def test_chains_give_the_same_bits_whether_memory_is_written_into_or_not() -> None:
    found = 0
    for case in fuzz.cases("chains"):
        with case as seed:
            made = Chain(seed)
            checked = program(made.source)
            found += sum(written_into(r.body) for r in lower(checked).routines)
            with_reuse, without = machines(checked)
            values = np.random.default_rng(seed)
            for _ in range(3):
                args = [laid_out(made.random, values.standard_normal((3, 3)).astype(np.float32)) for _ in range(3)]
                first = outcome(with_reuse, args)
                assert first == outcome(without, args), f"seed {seed}\n{made.source}"
                assert first == outcome(with_reuse, args), f"seed {seed}: not the same twice\n{made.source}"
    assert found > fuzz.tries("chains")


def test_random_programs_give_the_same_bits_whether_memory_is_written_into_or_not() -> None:
    for case in fuzz.cases("written into"):
        with case as seed:
            maker = random_programs.Maker(seed)
            report = pipeline.check_text(maker.source, "random.rx", HERE)
            if report.checked is None or not report.ok:
                continue
            with_reuse, without = machines(report.checked.program)
            function = with_reuse.function("main")
            assert function is not None
            for _ in range(3):
                values = maker.arguments()
                args = [values[p.name] for p in function.params]
                assert outcome(with_reuse, args) == outcome(without, args), f"seed {seed}\n{maker.source}"


@pytest.mark.parametrize("name", sorted(allocation.FRESH))
def test_what_a_fresh_kernel_gives_shares_no_memory_and_lies_row_by_row(name: str) -> None:
    row, seen = ops.row_of(name), 0
    rule = allocation.FRESH[name]
    for case in fuzz.cases("fresh kernels"):
        with case as n:
            draw = np.random.default_rng((zlib.crc32(name.encode()), n))
            values = random_calls.draw_call(draw, row)
            args = [ops.for_kernel(p, values.get(p.name, p.default)) for p in row.params]
            chooser = random.Random(n)
            if rule != "always":  # the first operand lies row by row, the others as they like
                args = [a if i == 0 else _relaid(chooser, a) for i, a in enumerate(args)]
            else:
                args = [_relaid(chooser, a) for a in args]
            for made in results(row, args):
                if not isinstance(made, np.ndarray) or made.ndim == 0 or made.size == 0:
                    continue
                tensors = [
                    a for arg in args for a in (arg if isinstance(arg, tuple) else (arg,)) if isinstance(a, np.ndarray)
                ]
                assert not any(np.shares_memory(made, a) for a in tensors)
                leads = isinstance(args[0], np.ndarray) and (rule == "first" or args[0].shape == made.shape)
                if rule in ("always", "matrix") or (rule in ("first", "any") and leads):
                    assert made.strides == np.empty(made.shape, made.dtype).strides, (name, made.strides)
                    seen += 1
    assert seen >= fuzz.tries("fresh kernels") / 30


def _relaid(chooser: random.Random, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_relaid(chooser, v) for v in value)
    return laid_out(chooser, value) if isinstance(value, np.ndarray) and value.ndim else value


def results(row: Any, args: list[Any]) -> list[Any]:
    """What the kernel gives for a call that fits, and what NumPy's own function gives where that stands in for it."""
    if not all(is_plain(a) or not isinstance(a, np.ndarray) for a in args):
        return []
    try:
        guard(row, args)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            made = [kernels.lookup(row.name)(*args)]
            required = [p.required for p in row.params]
            if row.name in kernels.DIRECT and all(r or a is None for r, a in zip(required, args, strict=True)):
                operands = [a for r, a in zip(required, args, strict=True) if r]
                rows = {"order": "C"} if allocation.FRESH.get(row.name) == "matrix" else {}
                made.append(getattr(np, kernels.DIRECT[row.name])(*operands, **rows))
    except Exception:  # noqa: BLE001 - whether the call fits is not the question here
        return []
    return made


# Failures


def test_a_failure_is_the_step_and_the_values_that_it_reads() -> None:
    machine = Machine(
        program("""@g = fn(y : Tensor([k], float32)) : Tensor([k], float32) { assert k % 2 == 1 \n y }
@f = fn(x : Tensor([n], float32), unused : Tensor([n], float32)) : Tensor([n], float32) {
  let z = @exp(x)
  @g(z)
}"""),
        Files(HERE),
    )
    x = np.zeros(4, np.float32)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - how generated code fails is its own affair
        machine.code.function("f")(x, x)
    found = failure(caught.value)
    assert found is not None
    assert isinstance(found.site.step, StepCheck) and found.site.function.startswith("g")
    assert [v.shape if hasattr(v, "shape") else v for v in found.values.values()] == [4] or found.values
    assert "v_unused" not in found.values
    assert [site.function for site in found.calls][0] == "f"


def test_an_error_from_elsewhere_is_no_failure_of_the_program() -> None:
    try:
        raise ValueError("not ours")
    except ValueError as problem:
        assert failure(problem) is None
