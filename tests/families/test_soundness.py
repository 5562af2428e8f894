"""Random programs against NumPy: what was proved holds, what was refuted fails, shapes are what NumPy made.

The oracle is the program before simplification with every check of the user's and every precondition of a primitive.
"""

from __future__ import annotations

import itertools
import re
import time
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from rxlang import pipeline
from rxlang.interp.dps import Pair, pairs
from rxlang.interp.shape_program import result_shape
from rxlang.lang.checked import Binding, Checked
from rxlang.lang.core_printer import print_program
from rxlang.lang.diagnostics import Diagnostic
from rxlang.lang.dtypes import DTYPES
from rxlang.lang.formatter import format_source
from rxlang.lang.given import Given, read_given
from rxlang.lang.render import render_text
from rxlang.lang.source import Source, Span
from rxlang.ops.model import Segment, TensorInfo
from rxlang.simplify.known.outcome import Options
from rxlang.simplify.known.values import Poison, UnknownValue
from rxlang.simplify.on_shapes import ArgumentShape
from rxlang.simplify.solver.terms import StepBudget
from support import fuzz, hard_programs, metamorphic, random_programs as programs, weights
from support.agreement import HERE, Args, Run, Ways, assert_same, assert_same_bits, refused, shown
from support.phases import core_of

BLOCKS = 20
INPUTS = 6
# Seconds of CPU for one program: far beyond any, far below a search without end.
SLOWEST = 10.0
PASSED = "nothing gets here"
# Errors of a program that some inputs do not meet: only empty tensors work, no sizes fit, one arm does not fit.
NOT_ALWAYS = ("E310", "E311", "E315", "E317")
# What holds something that may not run.
MAY_NOT_RUN = {"for", "while", "if", "map", "fold", "scan"}


def checked_program(source: str, base: Path = HERE, options: Options | None = None) -> pipeline.Report:
    began = time.process_time()
    report = pipeline.check_text(source, "random.rx", base, (), options)
    assert time.process_time() - began < SLOWEST, "too slow"
    assert all(render_text(d) for d in report.diagnostics)
    return report


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_programs_agree_with_numpy(block: int, tmp_path: Path) -> None:
    for case in fuzz.cases("random programs", block, BLOCKS):
        with case as seed:
            examine(seed, tmp_path)


def test_programs_whose_steps_end_on_the_way_agree_with_numpy(tmp_path: Path) -> None:
    for case in fuzz.cases("steps that end"):
        with case as seed, a_budget(Random(seed)):
            examine(seed, tmp_path)
            examine_nesting(seed)


def a_budget(rng: Random) -> StepBudget:
    """Some steps, which end at once, on the way or not at all."""
    return StepBudget(rng.choice((0, 300, 1_000, 2_000, 4_000)), rng.choice((0, 100, 300, 1_000, 1_000_000)))


def examine(seed: int, folder: Path) -> None:
    """One program, alone, or with its weights in files, or with its library in a file, by its number."""
    maker = programs.Maker(seed)
    source = weights.in_files(maker.source, seed, folder) if seed % 2 else maker.source
    if seed % 3 == 1:
        source = metamorphic.in_a_folder(metamorphic.split(source, Random(seed)), folder)
    report = checked_program(source, folder)
    checked = report.checked
    assert checked is not None
    fuzz.count("random programs", "at its budget", bool(checked.questions.get("stopped")))
    errors = [d for d in report.diagnostics if d.severity == "error"]
    assert all(d.code >= "E3" or d.message.startswith("this is a tuple of ") for d in errors)
    if errors:
        oracle = Run(checked.before, folder, guard_all=True)
        refutations = list(refuted(source, errors, oracle, folder))
        for _ in range(INPUTS):
            assert_refuted(refutations, oracle, maker.arguments())
        return
    ways, pair = Ways(checked, folder), pairs(checked.program)["main"]
    for _ in range(INPUTS):
        args = maker.arguments()
        wanted = ways.agree(args)
        if not refused(wanted):
            assert_shapes(checked, args, wanted)
            assert_computed(pair, args, wanted)
            assert_described(checked, args, wanted)


def test_programs_that_nest_whatever_nests_agree_however_they_run() -> None:
    for case in fuzz.cases("programs that nest"):
        with case as seed:
            examine_nesting(seed)


def examine_nesting(seed: int) -> None:
    text, rng = hard_programs.small(seed), Random(seed)
    report = checked_program(text)
    drawn = (hard_programs.arguments(text, rng) for _ in range(INPUTS))
    inputs = [args for args in drawn if args is not None]
    errors = [d for d in report.diagnostics if d.severity == "error"]
    if report.checked is not None and not errors:
        ways = Ways(report.checked)
        assert all(ways.agree(args) is not None for args in inputs)
    elif all(d.code >= "E3" for d in errors) and MAY_NOT_RUN.isdisjoint(re.findall(r"\w+", text)):
        assert report.checked is not None
        oracle = Run(report.checked.before, guard_all=True)
        surely = [d for d in errors if d.code not in NOT_ALWAYS and d.function == "@main"]
        assert not surely or all(refused(oracle(args)) for args in inputs), (text, surely[0].message)


@pytest.mark.parametrize("block", range(4))
def test_a_random_program_means_the_same_laid_out_printed_and_read_again(block: int) -> None:
    """The formatter and the printed core, before and after simplification."""
    for case in fuzz.cases("texts", block, 4):
        with case as seed:
            maker = programs.Maker(seed)
            core = print_program(core_of(maker.source))
            laid_out, _ = format_source(Source("random.rx", maker.source))
            assert laid_out is not None and print_program(core_of(laid_out)) == core
            assert print_program(core_of(core)) == core
            report = checked_program(maker.source)
            if report.ok and report.checked is not None:
                oracle = Run(report.checked.before, guard_all=True)
                printed = Run(core_of(print_program(report.checked.program)), guard_all=True)
                for _ in range(INPUTS):
                    args = maker.arguments()
                    assert_same(oracle(args), printed(args), args)


@pytest.mark.parametrize("block", range(4))
def test_what_is_given_narrows_the_entry_check_alone_and_a_hint_changes_nothing(block: int) -> None:
    for case in fuzz.cases("given", block, 4):
        with case as seed:
            examine_given(seed)


def examine_given(seed: int) -> None:
    maker, chance = programs.Maker(seed), Random(seed)
    report = checked_program(maker.source)
    names = sorted({d for _, dims, _ in maker.params for d in dims or () if d in maker.sizes})
    if not report.ok or report.checked is None or not names:
        return
    condition = f"{chance.choice(names)} {chance.choice(('<=', '==', '>='))} {chance.randint(1, 4)}"
    given = read_given(f"@main: {condition}")

    def under(hint: Given) -> pipeline.Report:
        return checked_program(maker.source, HERE, Options(given=(hint,)))

    narrow = under(given).checked
    assert narrow is not None
    plain = Run(report.checked.program)
    hinted = Run(report.checked.program, fast=pipeline.hinted(report.checked, (given,), under))
    narrowed = Run(narrow.before, guard_all=True), Run(narrow.program)
    (main,) = (f for f in report.checked.shapes if f.name == "@main")
    for _ in range(INPUTS):
        args = maker.arguments()
        wanted = plain(args)
        assert_same_bits(wanted, hinted(args), args)
        for run in narrowed:
            if refused(wanted) or eval(condition, named_sizes(main.params, args)):  # noqa: S307
                assert_same(wanted, run(args), args)
            else:
                assert refused(run(args)), (shown(args), condition)


# Where nothing may be evaluated: conditions that do not reach all their parts, loops without a turn, tensors without a row.

BODIES = (
    "@map(fn(r) { @ones([4, k]) }, x)",
    "@map(fn(r : Tensor([m], float32)) { @reshape(r, [k]) }, x)",
    "@map(fn(r) { if (k > 1) { r } else { @ones([3]) } }, x)",
    "@map(fn(r) { @filter(r, r > 1.0) }, x)",
    "@map(@relu, x)",
    "for i in range(k) stack (y : Tensor(?, ?)) { @ones([2, i]) }",
    "for i in range(k) stack (y : Tensor([q], float32)) { x[0] }",
    "for i in range(3) with (a = x) while (m / k > 5) { a + 1.0 }",
    "for i in range(k) with (a = x) while (m / i > 5) { a + 1.0 }",
    "while (m / k > 5) with (a = x) { a + 1.0 }",
    "if (k > 1 && m / k == 2) { x } else { x + 1.0 }",
    "if (k < 1 || m / k == 2) { x } else { x + 1.0 }",
    "if (!(m / k == 2)) { x } else { x + 1.0 }",
    "if (k > 0 && x[0:k].dim(0) == k) { x } else { x + 1.0 }",
    "assert m % k == 0 || k == 0\n x",
    "let s : Size = m // k\n x",
)


@pytest.mark.parametrize("body", BODIES)
def test_all_runs_agree_where_nothing_may_be_evaluated(body: str) -> None:
    checked = checked_program(f"@main = fn(x : Tensor([n, m], float32), k : Size) : Tensor {{ {body} }}\n").checked
    assert checked is not None
    ways = Ways(checked)
    for n, m, k in itertools.product((0, 1, 2), (0, 1, 2, 4), (-1, 0, 1, 2)):
        ways.agree({"x": np.arange(n * m, dtype=np.float32).reshape(n, m), "k": k})


# What was refuted


def refuted(source: str, errors: list[Diagnostic], oracle: Run, base: Path) -> list[tuple[Diagnostic, Run]]:
    """Each error with a run that has an end only if what was refuted holds: behind the line of the error stands an assertion
    that nothing passes. What fails in an arm or a lambda alone is left out: it need not be run."""
    found = []
    for error in errors:
        if error.code in NOT_ALWAYS or any(_is_inside(source, s) for s in _spans(error, ".*")):
            continue
        lines = source.split("\n")
        home = _head(lines, error.span.line)
        at = max(s.line for s in _spans(error, ".*") if _head(lines, s.line) == home) - 1
        if _is_of_a_part(lines, at):
            claim = _claimed(lines, at)
            if claim is None:
                continue
            lines[at : at + 1] = [f"  let given_back : {claim} = {lines[at].strip()}", "  given_back"]
        if lines[at].startswith(("@main", "  out")) or _is_of_result(source, error):
            found.append((error, oracle))
        elif lines[at].startswith(("  let", "  assert", "  match_shape")):
            lines.insert(at + 1, f'  assert 1 == 2, "{PASSED}"')
            found.append((error, Run(core_of("\n".join(lines), base), base, guard_all=True)))
    return found


def _is_of_result(source: str, error: Diagnostic) -> bool:
    """Whether it is about the result, which may be told where that is made, but is found when all has run."""
    declared = [label.span for label in error.labels if label.message.startswith("declared as ")]
    return any(source.split("\n")[s.line - 1].startswith("@main") for s in declared)


def _is_of_a_part(lines: list[str], at: int) -> bool:
    """Whether the line is what a function gives that is not @main."""
    return lines[at + 1 : at + 2] == ["}"] and lines[at].startswith("  ") and not _head(lines, at).startswith("@main")


def _claimed(lines: list[str], at: int) -> str | None:
    """What is claimed of a result, where that speaks of what the parameters name; None where it binds names."""
    given, _, gives = _head(lines, at).removesuffix(" {").rpartition(") : ")
    claim = gives.partition(" where ")[0]
    words = {"Tensor", "max", "min", "ceildiv", *DTYPES, *map(str, range(99))}
    return claim if set(re.findall(r"\w+", claim)) <= {*re.findall(r"\w+", given), *words} else None


def _head(lines: list[str], at: int) -> str:
    return next(line for line in reversed(lines[:at]) if line.startswith(("@", "const", "import")))


def _spans(error: Diagnostic, wanted: str) -> list[Span]:
    """The place of the error, and those of the labels that begin so."""
    others = [label.span for label in error.labels if re.match(wanted, label.message)]
    return [s for s in (error.span, *others) if s.source is error.span.source]


def _is_inside(source: str, span: Span) -> bool:
    """Whether the place is on a line with an arm, a lambda or a turn, which stand on one."""
    line = source.split("\n")[span.line - 1]
    return line.startswith("  ") and re.search(r"\b(if \(|fn\(|for |while )|@(map|fold|scan)\(", line) is not None


def assert_refuted(refutations: list[tuple[Diagnostic, Run]], oracle: Run, args: Args) -> None:
    for error, run in refutations:
        outcome = run(args)
        passes = PASSED in outcome.message if refused(outcome) else run is oracle
        assert not passes, f"{shown(args)} passes: {error.message}"


# What is said of shapes


def assert_shapes(checked: Checked, args: Args, result: Any) -> None:
    """The result's shape as the checker knows it from the arguments' shapes."""
    given = {n: a if isinstance(a, int) else ArgumentShape(tuple(a.shape)) for n, a in args.items()}
    (value, state, diagnostics), _ = pipeline.call_on_shapes(checked, "main", given)
    assert not [d.message for d in diagnostics if d.severity == "error"], shown(args)
    if isinstance(value, Poison | UnknownValue):
        return
    assert isinstance(value, TensorInfo)
    dims = state.resolve(value.shape)
    if any(isinstance(d, Segment) for d in dims):
        return
    assert len(dims) == result.ndim
    for dim, real in zip(map(state.settled, dims), result.shape, strict=True):
        low, high = (dim, dim) if isinstance(dim, int) else state.facts.bounds(dim)
        assert (low is None or low <= real) and (high is None or real <= high), (shown(args), dims, result.shape)


def assert_computed(pair: Pair, args: Args, result: Any) -> None:
    """The result's shape as the shape program computes it where its first stage tells."""
    given = (a if isinstance(a, int) else tuple(a.shape) for a in args.values())
    shape = result_shape(pair, dict(zip(pair.data.params, given, strict=True)))
    assert shape in (None, result.shape), (shown(args), shape, result.shape)


def assert_described(checked: Checked, args: Args, result: Any) -> None:
    """What `rx shapes` says of the result: exact sizes are that, bounds are bounds."""
    main = next(f for f in checked.shapes if f.name == "@main")
    told = main.result
    if told is None or told.shape is None:
        return
    assert len(told.shape) == result.ndim and told.dtype in ("?", str(result.dtype))
    env = named_sizes(main.params, args)
    for dim, exactness, bound, real in zip(told.shape, told.exactness, told.bounds, result.shape, strict=True):
        text = {"exact": str(dim), "upper_bound": str(bound)}.get(exactness)
        if text in (None, "?") or "'" in text or not set(re.findall(r"[A-Za-z_]\w*", text)) <= env.keys():
            continue
        value = eval(re.sub(r"(?<!/)/(?!/)", "//", text), {}, env)  # noqa: S307
        assert value == real if exactness == "exact" else value >= real, (shown(args), told.shape, result.shape)


def named_sizes(params: tuple[Binding, ...], args: Args) -> dict[str, Any]:
    """The names of @main's signature with the sizes that the arguments give them."""
    env: dict[str, Any] = {"min": min, "max": max, "ceildiv": lambda a, b: -(-a // b)}
    for param in params:
        value = args[param.name]
        if isinstance(value, int):
            env[param.name] = value
            continue
        for dim, size in zip(param.shape or (), value.shape, strict=False):
            if isinstance(dim, str) and dim.isidentifier():
                env[dim] = size
    return env


def test_a_size_that_an_arm_names_is_no_more_exact_behind_it() -> None:
    source = (
        "@main = fn(x : Tensor([k], float32)) : Tensor {\n  let y = @filter(x, x > 1.0)\n"
        "  let z = if (k == 3) { x } else { match_shape(y, [_q], [_q]); y }\n  y\n}\n"
    )
    report = checked_program(source)
    assert report.checked is not None
    (main,) = report.checked.shapes
    assert main.result is not None and main.result.exactness == ("upper_bound",) and main.result.bounds == ("k",)
