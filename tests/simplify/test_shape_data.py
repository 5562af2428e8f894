"""Shapes as data: whatever is known of an element is so in every run, and what exporters write is known exactly.

RX_FUZZ says how many random computations are tried; the ordinary run takes a sample."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.ops import registry
from rxlang.ops.model import TensorInfo, Truth
from rxlang.ops.tracked import Ratio
from rxlang.simplify.bindings import Bindings
from rxlang.simplify.known.state import State
from rxlang.simplify.rule_context import SymbolicCtx
from rxlang.simplify.solver.conditions import cond_vars, evaluate_cond
from rxlang.simplify.solver.sizes import single_var
from rxlang.simplify.solver.terms import evaluate, variables
from support import fuzz, ops
from support.shape_computations import Computation

COUNT = fuzz.tries("shape data")
# Sizes at which floats of either width are no longer exact: such tensors have no elements, and so need no memory.
LARGE = (2**11 + 1, 2**24 + 1, 2**24 + 3, 2**25 + 2, 2**31 + 5, 2**46 - 1)


class Known:
    """What the checker knows of each name of a program's function, and the sizes that are known under a condition."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        self.bound: dict[str, tuple[TensorInfo, State]] = {}
        self.cases: dict[object, Any] = {}
        bind, one_of = Bindings.bind, SymbolicCtx.one_of

        def recorded(bindings: Bindings, frame: Any, env: Any, name: str, entry: Any, span: Any) -> None:
            if isinstance(entry.value, TensorInfo):
                self.bound[name] = entry.value, bindings.state
            bind(bindings, frame, env, name, entry, span)

        def counted(ctx: SymbolicCtx, cases: Any, natural: bool, dtype: Any) -> Any:
            size = one_of(ctx, cases, natural, dtype)
            found = None if isinstance(size, int) or size is None else single_var(size)
            if found is not None:
                self.cases[found] = cases, natural
            return size

        with monkeypatch.context() as patch:
            patch.setattr(Bindings, "bind", recorded)
            patch.setattr(SymbolicCtx, "one_of", counted)
            self.report = pipeline.check_text(text, "data.rx", Path("."))


def value_at(part: Any, state: State, point: Mapping[Any, int]) -> Any:
    """A size, an element or a condition at a point; None where that is not told."""
    if isinstance(part, Truth):
        yes, no = value_at(part.yes, state, point), value_at(part.no, state, point)
        assert yes is None or no is None or yes != no
        return yes
    if isinstance(part, Ratio):
        limits = [(value_at(size, state, point), most) for size, most in part.limits]
        if any(size is None or abs(size) > most for size, most in limits):
            return None
        num, den = value_at(part.num, state, point), value_at(part.den, state, point)
        return None if num is None or den is None else Ratio(num, den)
    if part is None or isinstance(part, int):
        return part
    if hasattr(part, "mons"):
        part = state.settled(part)
        return evaluate(part, point) if all(v in point for v in variables(part)) else None
    return evaluate_cond(part, point) if all(v in point for v in cond_vars(part)) else None


def learn(known: Known, part: Any, found: Any, state: State, point: dict[Any, int]) -> None:
    """An element that is a size of its own has this value, which its cases allow."""
    variable = single_var(part) if hasattr(part, "mons") else None
    if variable is None or variable in point or variable not in known.cases:
        return
    point[variable] = int(found)
    cases, natural = known.cases[variable]
    assert not natural or found >= 0
    for truth, value in cases:
        if value_at(truth.yes, state, point) is True:
            assert value_at(value, state, point) in (None, int(found))


def agrees(known: Known, made: Mapping[str, Any], n: int, m: int) -> int:
    """How many elements are what the checker knows of them, which none contradicts."""
    point: dict[Any, int] = {}
    agreed = 0
    for name, value in made.items():
        if name not in known.bound:
            continue
        info, state = known.bound[name]
        for variable in {
            v for part in (*info.shape, *(info.data or ())) if hasattr(part, "mons") for v in variables(part)
        }:
            if variable.name in ("n", "m"):
                point[variable] = {"n": n, "m": m}[variable.name]
        point |= {v: {"n": n, "m": m}[v.name] for v in variables_of(info, state) if v.name in ("n", "m")}
        shape = [value_at(d, state, point) for d in state.resolve(info.shape) if not hasattr(d, "symbol")]
        if len(shape) == len(info.shape) == value.ndim:
            assert all(d is None or d == size for d, size in zip(shape, value.shape, strict=True)), name
        for part, found in zip(info.data or (), value.reshape(-1).tolist() if info.data else (), strict=True):
            learn(known, part, found, state, point)
            at = value_at(part, state, point)
            if isinstance(at, int) and abs(at) >> 63:
                raise OverflowError  # sizes whose products an int64 cannot hold are taken not to occur
            assert at is None or ops.is_element(at, found), (name, part, found)
            agreed += at is not None
    return agreed


def variables_of(info: TensorInfo, state: State) -> Iterator[Any]:
    """The variables of whatever is known of a tensor."""
    parts = [*info.shape, *(info.data or ())]
    while parts:
        part = parts.pop()
        if isinstance(part, Ratio):
            parts += [part.num, part.den, *(size for size, _ in part.limits)]
        elif isinstance(part, Truth):
            yield from (v for cond in (part.yes, part.no) if not isinstance(cond, bool) for v in cond_vars(cond))
        elif hasattr(part, "mons"):
            yield from variables(part)
            yield from variables(state.settled(part))


def sizes(rng: random.Random) -> tuple[int, int]:
    small = (0, 1, 2, 3, 5, 7, 40, 300)
    n, m = rng.choice(small), rng.choice(small)
    if rng.random() < 0.3:
        return (rng.choice(LARGE), 0) if rng.random() < 0.5 else (0, rng.choice(LARGE))
    return n, m


@pytest.mark.parametrize("seed", range(COUNT))
def test_what_is_known_of_an_element_is_so_in_every_run(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    computation = Computation(rng, rng.randint(6, 24))
    known = Known(monkeypatch, computation.text)
    errors = [d for d in known.report.diagnostics if d.severity == "error"]
    assert not [d.message for d in errors if d.code not in ("E220", "E317")], computation.text
    if errors:
        pytest.skip("so many results or elements are asked for as only the data says")
    module = rx.loads(computation.text)
    agreed = runs = 0
    for _ in range(6):
        n, m = sizes(rng)
        k = np.array([rng.randint(-3, 7), rng.randint(0, 3)])
        try:
            made = module.f(np.empty((n, m, 3), np.float32), k)
        except rx.ShapeError:
            continue
        with suppress(OverflowError):
            agreed += agrees(known, dict(zip(computation.names, made, strict=True)), n, m)
            runs += 1
    assert not runs or agreed, computation.text


def over_elements() -> list[str]:
    """Primitives that take one to three tensors and want nothing else."""
    rows = [row for row in map(registry.lookup, registry.names()) if row is not None and row.rule is not None]
    plain = [
        row
        for row in rows
        if 1 <= len(tensors := [p for p in row.params if p.required]) <= 3 and all(p.kind == "tensor" for p in tensors)
    ]
    return sorted(row.name for row in plain if not row.name.startswith("random"))


@pytest.mark.parametrize("name", fuzz.some(over_elements(), 2))
def test_elements_of_every_kind_are_met_by_every_primitive(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A number, a size, a fraction of one, a condition and an element that is not known, each beside each."""
    row = registry.lookup(name)
    assert row is not None
    count = len([p for p in row.params if p.required])
    head = "@f = fn(x : Tensor([n], float32), k : Tensor([1], int64))"
    kinds = """let s = @shape(x)
 let known = @cast(@concat([s, k, @cast(@greater(s, 3), int64), tensor([2, 0])], axis=0), float64)
 let all = @concat([known, known / 3.0], axis=0)"""
    lines, names = [kinds], ["all"]
    for dtype in ("int64", "float64", "bool"):
        for turn in range(10 if fuzz.FULL else 2) if count > 1 else (0,):
            operands = [f"@cast({part}, {dtype})" for part in ("all", f"@roll(all, {turn})", f"@roll(all, {turn + 3})")]
            line = f"let r{len(names)} = @{name}({', '.join(operands[:count])})"
            if not pipeline.check_text(f"{head} {{\n {kinds}\n {line}\n all }}\n", "data.rx", Path(".")).ok:
                break
            lines.append(line)
            names.append(f"r{len(names)}")
    body = "\n ".join(lines)
    text = f"{head} {{\n {body}\n ({', '.join(names)}, known) }}\n"
    known = Known(monkeypatch, text)
    module = rx.loads(text)
    for n, k in ((0, 0), (1, 5), (4, -3), (9, 1)):
        with suppress(OverflowError, rx.ShapeError):
            made = module.f(np.empty(n, np.float32), np.array([k]))
            flat = [v for v in made if isinstance(v, np.ndarray)]
            agrees(known, dict(zip(names, flat, strict=False)), n, 0)


# What exporters write

CHAINS = [  # a tensor of sizes, and the shape that it spells
    ("@cast(@floor(@cast(@shape(x), float64) * 0.5), int64)", "[n // 2, m // 2, 1]"),
    ("@cast(@ceil(@cast(@shape(x), float64) / 4.0), int64)", "[ceildiv(n, 4), ceildiv(m, 4), 1]"),
    ("@cast(@round(@cast(@shape(x), float64) * 2.0), int64)", "[n * 2, m * 2, 6]"),
    ("@cast(@sqrt(@cast(@shape(x) * @shape(x), float64)), int64)", "[n, m, 3]"),
    ("@cast(@onnx.pow(@cast(@shape(x) * @shape(x), float64), tensor(0.5, float32)), int64)", "[n, m, 3]"),
    ("@concat([@shape(x)[:1], @cast(@onnx.pow(tensor([9.0], float32), tensor(2.0)), int64)])", "[n, 81]"),
    ("@onnx.pow(@shape(x), tensor(2, int32))", "[n * n, m * m, 9]"),
    ("@where(@equal(@shape(x), -1), tensor([1, 1, 1]), @shape(x))", "[n, m, 3]"),
    ("@where(@greater(@shape(x), -1), @shape(x), 7)", "[n, m, 3]"),
    ("@squeeze(@expand_dims(@shape(x), axis=[0, 2]), axis=[0, 2])", "[n, m, 3]"),
    ("@reshape(@stack([@shape(x), @shape(x)]), [-1])[1:4]", "[m, 3, n]"),
    ("@flip(@permute_dims(@reshape(@shape(x), [3, 1])))[0]", "[3, m, n]"),
    ("@sum(@stack([@shape(x), @shape(x)]), axis=0)", "[n * 2, m * 2, 6]"),
    ("@cumulative_sum(@shape(x))", "[n, n + m, n + m + 3]"),
    ("@repeat(@shape(x)[:2], 2)", "[n, n, m, m]"),
    ("@take_along_axis(@shape(x), tensor([2, 0, -2]))", "[3, n, m]"),
    ("@gather_nd(@shape(x), tensor([[1], [0]]))", "[m, n]"),
    ("@concat([@shape(x)[:1], k])[:1]", "[n]"),
    ("@take(@repeat(@shape(x), 80), tensor([0, 79, 80, 239]))", "[n, n, m, 3]"),
    ("@cast(@cast(@shape(x), bool), int64)[2:]", "[1]"),
    ("@cast(@mean(@cast(@stack([@shape(x), @shape(x)]), float64), axis=0), int64)", "[n, m, 3]"),
    ("@maximum(@shape(x), tensor([0, 0, 5]))", "[n, m, 5]"),
    ("@one_hot(1, 3, int64) * @shape(x)", "[0, m, 0]"),
]


@pytest.mark.parametrize(("chain", "shape"), CHAINS)
def test_a_shape_that_is_computed_is_known(chain: str, shape: str) -> None:
    text = f"@f = fn(x : Tensor([n, m, 3], float32), k : Tensor([2], int64)) : Tensor({shape}, float32) {{ @ones({chain}) }}"
    report = pipeline.check_text(text, "data.rx", Path("."))
    assert [d.message for d in report.diagnostics if d.severity != "note"] == []
    made = rx.loads(text).f(np.empty((4, 9, 3), np.float32), np.array([1, 2]))
    env = {"n": 4, "m": 9, "ceildiv": lambda a, b: -(-a // b)}
    assert list(made.shape) == eval(shape, env)


@pytest.mark.parametrize(("dtype", "most"), [("float32", 2**24), ("float16", 2**11), ("bfloat16", 2**8)])
def test_floats_are_exact_as_long_as_sizes_are_small(dtype: str, most: int) -> None:
    body = f"@ones(@cast(@cast(@shape(x), {dtype}), int64)[:1])"
    for limit, codes in ((most, []), (most + 1, ["W310"])):
        text = f"@f = fn(x : Tensor([n, 0], int8)) : Tensor([n], float32) where n <= {limit} {{ {body} }}"
        found = [d.code for d in pipeline.check_text(text, "data.rx", Path(".")).diagnostics if d.severity != "note"]
        assert bool(found) == bool(codes), found


@pytest.mark.parametrize("bounds", ["[0], k", "k, [5]", "k, k", "[-3], k"])
def test_a_slice_to_what_only_the_data_knows_has_its_upper_bound(bounds: str) -> None:
    text = f"@f = fn(x : Tensor([n, 3], float32), k : Tensor([1], int64)) {{ let y = @slice(x, {bounds})\n  y }}"
    module = rx.loads(text)
    [shapes] = pipeline.check_text(text, "data.rx", Path(".")).checked.describe()
    [y] = [b for b in shapes.bindings if b.name == "y"]
    assert y.exactness == ("upper_bound", "exact")
    for n, k in ((0, 1), (2, -1), (7, 3), (5, 9)):
        made = module.f(np.empty((n, 3), np.float32), np.array([k]))
        assert made.shape[0] <= {"k, [5]": min(n, 5), "[-3], k": min(n, 3)}.get(bounds, n)
