"""What checking may cost: steps of reasoning are counted, and where they are used up the answer is "unknown"."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rxlang import pipeline
from rxlang.fixes import signatures, trials
from rxlang.fixes.ranked import with_helps
from rxlang.simplify import findings, implementations, program, turns, walk, weakest
from rxlang.simplify.solver.conditions import eq, ge
from rxlang.simplify.solver.facts import Facts
from rxlang.simplify.solver.sizes import only_var as var_of
from rxlang.simplify.solver.terms import (
    Allowance,
    OutOfSteps,
    Share,
    StepBudget,
    TooLarge,
    charge,
    over,
    spend,
    spent,
    stride,
    var,
)
from support import fuzz, hard_programs, long_programs, many_mistakes, nested_sizes
from support.cases import WRONG
from support.places import ROOT, TESTS

SUPPORT = TESTS / "support"
TOTAL, BLOCKS = fuzz.tries("nested sizes"), 4
SHORT = 4 if TOTAL <= 200 else 37  # lines of a program: in the ordinary run there are as many, but shorter ones
# Steps and megabytes of one program. CPU seconds count where the machine has nothing else to do, which is so for `make fuzz`;
# the functions that are entered take their place where they don't, about a million to the second.
SECONDS, MEGABYTES, STEPS = 6 if fuzz.FUZZ else float("inf"), 300, 250_000
ENTERED = 3_000_000
FULL = 2 if TOTAL <= 200 else 37  # full lines of a long program


def check(text):
    return pipeline.check_text(text, "budget.rx", Path("."))


def codes(text):
    return [d.code for d in check(text).diagnostics if d.severity == "error"]


def body(*lines):
    inside = "\n  ".join(lines)
    return f"@f = fn(x : Tensor([n, m], float32)) : Tensor {{\n  {inside}\n  x\n}}\n"


# Counting


def test_an_allowance_ends_and_the_one_around_it_goes_on():
    with StepBudget(1_000) as budget:
        with Allowance(100):
            with pytest.raises(OutOfSteps), Allowance(10):
                charge(11)
            charge(50)
        assert budget.spent == 61


def test_an_empty_budget_leaves_what_is_plain_until_its_reserve_is_spent_too():
    with StepBudget(100) as budget:
        budget.take(120)
        with Allowance(1_000, 20):
            charge(20)
        assert budget.room(20) == 20
        budget.take(20)
        assert budget.room(20) == 0


def test_what_is_taken_elsewhere_counts_for_no_more_than_the_program_has():
    with StepBudget(100) as budget:
        with Allowance(80):
            charge(70)
            with Allowance(10):
                spend(1_000)
        assert (budget.left, budget.spent) == (0, 100)
        with Allowance(80, 20):
            spend(1_000)
        assert budget.spent == 120


def test_a_budget_within_a_budget_has_no_more_than_that():
    with StepBudget(100) as around:
        with StepBudget(1_000) as within:
            assert within.left == 100
            within.take(40)
        assert (around.left, around.spent) == (60, 40)


def test_with_a_fact_that_was_given_up_nothing_is_said_to_be_possible():
    n, m = var("n", 1), var("m", 2)
    facts = Facts()
    with StepBudget(0):
        facts.assume(eq(n * 7 // 3, m * m + 5))
    assert facts.decide(ge(n, 4)).kind == "unknown"
    assert facts.satisfiable() is None
    assert facts.decide(ge(n, 0)).kind == "proved"
    witness = facts.witness(ge(n, 4), False)
    assert witness is None or witness[var_of(n)] * 7 // 3 == witness[var_of(m)] ** 2 + 5


def test_a_scope_forgets_that_a_fact_was_given_up():
    n, m = var("n", 1), var("m", 2)
    facts = Facts()
    facts.push()
    with StepBudget(0):
        facts.assume(eq(n * 7 // 3, m * m + 5))
    facts.pop()
    assert facts.decide(ge(n, 4)).kind == "open"


def test_what_is_walked_takes_from_the_steps_where_no_more_may_be_walked():
    with StepBudget(100, 50) as budget:
        stride(40)
        assert (budget.walks, budget.gone) == (10, 0)
        with Share(30):
            stride(30)
        assert (budget.walks, budget.gone, budget.walked) == (0, 0, 70)  # the function had so many for itself
        stride(60)
        assert not spent()
        stride(100)
        assert over()
    assert budget.ended


def test_of_a_program_that_may_walk_on_nothing_is_left_unread():
    with StepBudget(0, 50) as budget:
        assert spent()
        assert not over()
        stride(50)
        assert over()
    assert budget.ended


# Sizes


def test_numbers_have_an_end():
    assert codes(body("let a0 : Size = 2", *(f"let a{i + 1} : Size = a{i} * a{i}" for i in range(40)))) == ["E303"]


def test_a_product_that_grows_without_end_is_a_size_of_which_nothing_is_known():
    lines = ["let a0 : Size = n + 1", *(f"let a{i + 1} : Size = a{i} * a{i}" for i in range(38))]
    report = check(body(*lines))
    assert report.ok
    assert report.checked.steps < 50_000


def slices_in_a_row(kinds):
    text = body(*(f"let y{i + 1} = {f'y{i}' if i else 'x'}[{kind}]" for i, kind in enumerate(kinds)))
    report = check(text)
    [shapes] = report.checked.describe()
    return report, [b.shape for b in shapes.bindings if b.name.startswith("y")]


IN_A_ROW = (
    ["::2"], ["1::2"], ["1:-1:2"], ["1:-1:2", "1::2"], ["::3", "2:"], ["::-2", ":-1"], ["2:-1:2", ":-2"], [":-5:3"], [":4:2"],
    ["::-1", "1:-1:2", "2:-3:3"],
)  # fmt: skip


@pytest.mark.parametrize("kinds", IN_A_ROW, ids=str)
def test_twenty_slices_in_a_row_are_exact_and_linear(kinds):
    ten, twenty = (slices_in_a_row((kinds * 20)[:count])[0].checked.steps for count in (10, 20))
    assert twenty <= 2.5 * ten
    sizes = [shape[0] for shape in slices_in_a_row((kinds * 20)[:20])[1]]
    for n in (*range(40), 1_000, 65_537):
        left = range(n)
        for kind, size in zip(kinds * 20, sizes, strict=False):
            left = left[slice(*(int(part) if part else None for part in kind.split(":")))]
            assert eval(str(size), {"n": n, "max": max, "min": min}) == len(left), (kind, size)


def test_a_slice_whose_size_is_too_large_has_its_rank_and_its_other_sizes():
    lines = ["let y0 = x[a:b:2]", *(f"let y{i + 1} = y{i}[a:b:{i % 3 + 1}]" for i in range(30))]
    text = body(*lines, "let z = @concat([y30, y30], axis=1)").replace("(x :", "(a : Size, b : Size, x :")
    report = check(text)
    [shapes] = report.checked.describe()
    by_name = {b.name: b.shape for b in shapes.bindings}
    assert by_name["y30"] == ("?", "m")
    assert by_name["z"] == ("?", "m * 2")
    assert report.counts.residual == 0


def test_a_function_that_takes_many_steps_leaves_the_others_theirs():
    hog = nested_sizes.program(241).replace("@main", "@hog")
    plain = (
        "@plain = fn(x : Tensor([n, m * 4], float32)) : Tensor([n * m], float32) where n >= m + 2 {\n"
        "  let y = @reshape(x, [n, m, 4])\n  assert n * m >= m * m + m\n  @reshape(@sum(y, axis=2), [n * m])\n}\n"
    )
    alone, beside = check(plain), check(hog + plain)
    assert alone.counts.residual == 0
    [found] = [f for f in beside.checked.program.functions if f.name == "plain_impl" or f.name == "plain"][-1:]
    assert "Status.RESIDUAL" not in repr(found)


def test_a_tuple_of_a_million_parts_is_refused():
    assert codes(body("let t = @split(x, 1000000)")) == ["E314"]


def test_types_that_double_are_refused():
    types = "type T0 = (Tensor, Tensor)\n" + "".join(f"type T{i + 1} = (T{i}, T{i})\n" for i in range(30))
    assert set(codes(types + "@f = fn(x : T30) : Tensor { x.0 }\n")) >= {"E299"}


def test_types_of_types_are_refused_where_they_are_nested_too_deeply():
    types = "type T0 = (Tensor, Tensor)\n" + "".join(f"type T{i + 1} = (T{i}, Tensor)\n" for i in range(200))
    found = check(types + "@f = fn(x : T200) : Tensor { x[1] }\n")
    assert {d.code for d in found.diagnostics if d.severity == "error"} == {"E223"}
    assert found.diagnostics[0].span.text == "(T49, Tensor)"


@pytest.mark.parametrize("dim", ["n{j} + n{i}", "n{j} * n{i} + n{i}", "n{j} * 2 - n{i}", "n{i} + n{j}"])
@pytest.mark.parametrize("last_first", [False, True])
def test_sizes_that_are_solved_for_one_after_the_other_have_an_end(dim, last_first):
    params = [f"x{i} : Tensor([{dim.format(i=i, j=i + 1)}])" for i in range(300)]
    text = f"@f = fn({', '.join([*params[:: -1 if last_first else 1], 'z : Tensor([n0])'])}) {{ z }}\n"
    found = nested_sizes.measured(text)
    assert {code for code in found["codes"] if code.startswith("E")} == {"E208"}
    assert found["entered"] < ENTERED / 4


def test_annotations_that_wait_for_one_another_cost_what_they_are_many():
    def cost(count):
        params = ", ".join(f"x{i} : Tensor([n{i} * 4, n{i + 1} + n{i}])" for i in range(count))
        return nested_sizes.entered(f"@f = fn({params}) {{ x0 }}\n")

    cost(1)
    assert cost(800) < 2.5 * cost(400)


def test_types_that_are_used_often_are_not():
    types = "type Pair = (Tensor([n], int32), Tensor([n], int32))\n"
    functions = "".join(f"@f{i} = fn(t : Pair) : Tensor {{\n  let (a, b) = t\n  a + b\n}}\n" for i in range(300))
    assert codes(types + functions) == []


def test_sizes_that_were_broadcast_once_need_no_second_check():
    layers = "\n".join(f"  let h{i + 1} = (p + s) + h{i}" for i in range(24))
    text = (
        "@f = fn(h0 : Tensor([n], float32), p : Tensor([a], float32), s : Tensor([b], float32)) : Tensor {\n"
        f"{layers}\n  h24\n}}\n"
    )
    assert check(text).counts.residual <= 4


@pytest.mark.parametrize("mask, open_checks", [("[1, 1, s, total]", 2), ("[1, 1, t, total]", 4)])
def test_a_decoder_with_a_cache_has_the_open_checks_of_its_first_layer(mask, open_checks):
    def report(layers):
        lines = "\n".join(
            f"  let k{i} = @concat([past, x{i}], axis=2)\n"
            f"  let w{i} = @matmul(x{i}, @matrix_transpose(k{i})) + mask\n"
            f"  let x{i + 1} = @relu(@matmul(@softmax(w{i}, axis=-1), k{i}))"
            for i in range(layers)
        )
        return check(
            f"@f = fn(x0 : Tensor([b, h, s, 64], float32), past : Tensor([b, h, p, 64], float32), "
            f"mask : Tensor({mask}, float32)) : Tensor {{\n{lines}\n  x{layers}\n}}\n"
        )

    one, two, many = report(1), report(12), report(24)
    assert many.counts.residual <= max(open_checks, two.counts.residual)
    assert many.checked.steps - two.checked.steps <= 12 * max(one.checked.steps, 1)


# Programs


def doubling(body, count, head="x : Tensor"):
    """Functions that each call the next one twice, and that callers see through."""
    lines = [f"@f{i} = fn({head}) : Tensor {{ {body.replace('@g', f'@f{i + 1}')} }}" for i in range(count)]
    return "\n".join([*lines, f"@f{count} = fn({head}) : Tensor {{ x }}\n"])


@pytest.mark.parametrize(
    "body, head",
    [
        ("@g(@g(x))", "x : Tensor([n, m], float32)"),
        ("@g(@g(x))", "x : Tensor"),
        ("@g(x[1:]) + @g(x[2:])", "x : Tensor"),
    ],
)
def test_calls_that_double_at_each_level_are_walked_a_limited_number_of_times(body, head):
    found = nested_sizes.measured(doubling(body, 30, head))
    assert found["steps"] < STEPS
    assert found["entered"] < ENTERED


def test_bodies_that_are_nested_deeply_are_not_walked_in_each_other():
    def text(count):
        sums = [f"@f{i} = fn(x) {{ {' + '.join([f'@f{i + 1}(x)'] * 70)} }}\n" for i in range(count)]
        return "".join(sums) + f"@f{count} = fn(x : Tensor([n], float32)) {{ x }}\n"

    assert codes(text(2)) == codes(text(12)) == []


def calls_with_weights(calls, weights):
    names = [f"w{j}" for j in range(weights)]
    lines = ["@block = fn(x : Tensor([b, t, 8], float32), {}) : Tensor([b, t, 8], float32) {{ x + {} }}".format(
        ", ".join(f"{w} : Tensor([8], float32)" for w in names), " + ".join(names)
    )]  # fmt: skip
    given = [[f"w{i}_{j}" for j in range(weights)] for i in range(calls)]
    rows = ", ".join(f"{w} : Tensor([8], float32)" for row in given for w in row)
    lines.append(f"@main = fn(x : Tensor([b, t, 8], float32), {rows}) {{\n  let y0 = x")
    lines += [f"  let y{i + 1} = @block(y{i}, {', '.join(row)})" for i, row in enumerate(given)]
    return "\n".join([*lines, f"  y{calls}\n}}"])


@pytest.mark.parametrize(("calls", "weights"), [(60, 30), (300, 3)])
def test_calls_of_one_function_are_proved_however_many_weights_they_are_given(calls, weights):
    report = check(calls_with_weights(calls, weights))
    counts = report.counts
    assert (counts.residual, counts.refuted) == (0, 0)
    assert counts.proved > calls * weights
    assert report.checked.steps < 1_000  # of reasoning there is nothing in a call


def test_what_is_left_of_very_many_findings_is_said_without_their_values():
    lines = "\n".join(f"  let a{i + 1} = @map(fn(r, s) {{ r + s }}, a{i}, a0)" for i in range(400))
    report = check(f"@f = fn(a0 : Tensor([n, m], float32), k : Size) : Tensor {{\n{lines}\n  a0\n}}\n")
    assert report.ok


@pytest.mark.parametrize("of", ["@split(x, {0})[1]", "@cumulative_sum(@arange(0, {0}) + 1, axis=0)"])
def test_parts_one_behind_the_other_cost_what_they_are_many(of):
    def cost(count):
        return nested_sizes.entered(f"@f = fn(x : Tensor([n], float32)) : Tensor {{ {of.format(count)} }}\n")

    cost(1)
    assert cost(240) < 2.5 * cost(120)


@pytest.mark.parametrize("form", ["@map({0}, {1})", "@fold({0}, {1}, {1})", "@scan({0}, {1}, {1})[1]"])
def test_functions_over_rows_within_one_another_cost_what_they_are_many(form):
    def cost(depth):
        params = "r{0}" if "map" in form else "q{0}, r{0}"
        text = "r0 + r0"
        for i in range(depth):
            text = form.format(f"fn({params.format(i)}) {{ {text} }}", f"r{i + 1}")
        dims = ", ".join("abcd"[i % 4] for i in range(depth + 2))
        return nested_sizes.entered(f"@f = fn(r{depth} : Tensor([{dims}], float32)) : Tensor {{ {text} }}\n")

    cost(1)
    assert cost(10) < 3.3 * cost(5)


def test_what_an_inlined_body_gives_is_known_where_there_are_not_many_of_them():
    lines = "\n".join(f"  let y{i + 1} = @h(y{i})" for i in range(40))
    text = "@h = fn(x : Tensor) : Tensor { @concat([x, x], axis=0) }\n" + (
        f"@f = fn(y0 : Tensor([n, m], float32)) : Tensor([n * {2**40}, m], float32) {{\n{lines}\n  y40\n}}\n"
    )
    assert (
        check(text).counts.residual
        == check("@h = fn(x : Tensor) : Tensor { @concat([x, x], axis=0) }\n").counts.residual
    )


def test_a_rank_that_is_not_known_is_followed_back_once():
    def text(count):
        lines = "; ".join(f"let a{i + 1} = a{i} + b" for i in range(count))
        return f"@f = fn(a0 : Tensor, b : Tensor) : Tensor {{\n{lines}\n  a{count}\n}}\n"

    # Of the types of the first, of the rank of the second.
    long = nested_sizes.measured(text(800))
    assert long["codes"] == nested_sizes.cost(text(8))["codes"] == ["W311", "W311"]
    assert long["entered"] < ENTERED


def test_slices_by_bounds_of_any_sign_are_told_without_working_them_out():
    lines = "; ".join(f"let a{i + 1} = a{i}[b:c]" for i in range(100))
    text = f"@f = fn(a0 : Tensor([n], float32), b : Size, c : Size) : Tensor {{\n{lines}\n  a100\n}}\n"
    assert nested_sizes.entered(text) < ENTERED / 2


def test_thousands_of_names_that_do_not_exist_cost_a_suggestion_for_some():
    text = body(*(f"let y{i} = @relu(zz{i})" for i in range(1_000)))
    report = with_helps(check(text), Path("."))
    assert [d.code for d in report.diagnostics].count("E201") == 1_000


@pytest.mark.parametrize("kind", fuzz.some(["sizes of +", "reshape", "result", "dtype", "argument"], 2))
def test_behind_300_errors_no_more_functions_are_looked_at(kind):
    report = check(many_mistakes.program(kind, many_mistakes.APART, 2, 320))
    wrong = [d for d in report.diagnostics if d.severity != "note"]
    assert [d.severity for d in wrong] == ["error"] * 300 + ["warning"]
    assert (
        wrong[-1].message
        == "20 more functions are not checked, because there are too many errors, the first of them here"
    )
    assert wrong[-1].span.text.startswith("@f301")


def test_what_is_not_looked_at_costs_what_reading_it_does(monkeypatch):
    monkeypatch.setattr(findings, "IN_WORDS", 10)

    def cost(kind, count):
        return nested_sizes.entered(many_mistakes.program(kind, many_mistakes.APART, 2, count))

    right, wrong = cost("nothing", 40) - cost("nothing", 12), cost("reshape", 40) - cost("reshape", 12)
    assert wrong < right


def test_consts_cost_where_they_are_used():
    consts = "".join(f"const w{i} : Size = {i}\n" for i in range(300))
    text = (
        consts
        + "@g = fn(x : Tensor([w7], float32)) : Tensor { x }\n@f = fn(x : Tensor([7], float32)) : Tensor { @g(x) }\n"
    )
    report = check(text)
    assert codes(text) == []
    assert report.counts.residual == 0


@pytest.mark.parametrize("name", ["slow/*.rx", "z3_budget.rx", "solver_assertion.rx"])
def test_programs_that_took_long_are_done_soon(name):
    paths = sorted(WRONG.glob(name))
    if not paths:
        pytest.skip("the programs are not here")
    for path in paths:
        found = nested_sizes.cost(path.read_text(encoding="utf-8"))
        assert found["seconds"] < SECONDS, path.name
        assert found["steps"] < STEPS, path.name


@pytest.mark.parametrize("block", range(BLOCKS if fuzz.FUZZ else 1))
def test_programs_whose_sizes_grow_into_each_other_are_done_soon(block):
    assert too_dear("nested sizes", block, SHORT) == []


@pytest.mark.parametrize("block", range(BLOCKS if fuzz.FUZZ else 1))
def test_programs_that_nest_whatever_nests_are_done_soon(block):
    assert too_dear("hard programs", block, 37 if fuzz.FUZZ else 1, "hard_programs") == []


@pytest.mark.parametrize(
    "seed", fuzz.some([83, 136, 207], 3)
)  # members of a list, functions over one another, loops in loops
def test_what_is_walked_again_and_again_comes_to_an_end(seed):
    checked = check(hard_programs.program(seed)).checked
    assert checked.ended
    assert checked.steps + checked.walked < 500_000


def test_no_program_of_the_project_comes_to_the_end_of_its_steps():
    folders = (TESTS / "programs", TESTS / "data" / "architectures", ROOT / "examples")
    paths = [path for folder in folders for path in folder.rglob("*.rx")]
    assert len(paths) > 60
    for path in paths:
        text = path.read_text(encoding="utf-8")
        checked = pipeline.check_text(text, str(path), path.parent).checked
        assert checked.walked < program._WALKS // 2 + program._WALKS_OF_A_LINE * text.count("\n"), path
        assert not checked.ended
        assert not checked.questions.get("stopped"), path


@pytest.mark.parametrize("walks", [0, 100_000])
def test_with_fewer_steps_no_other_fix_is_offered(walks, monkeypatch):
    text = (
        "@g = fn(x : Tensor([n, k], float32), w : Tensor([k, m], float32)) : Tensor([n, m], float32) { @matmul(x, w) }\n"
        "@f = fn(x : Tensor([n, k], float32), w : Tensor([m, k], float32), s : Size) : Tensor([n, m], float32) {\n"
        "  for i in range(s) with (h : Tensor([n, m], float32) = @g(x, w)) { h + @g(x, w) }\n}\n"
    )

    def offered():
        return [(d.code, h.edits) for d in with_helps(check(text), Path(".")).diagnostics for h in d.helps]

    every = offered()
    found = []
    monkeypatch.setattr(trials, "WALKS", walks)
    for steps in (60_000, 9_000, 3_000, 1_000, 300):
        monkeypatch.setattr(trials, "BOTH", 2 * steps)
        monkeypatch.setattr(trials, "LEAST_STEPS", steps)
        found.append(offered())
    assert found[0] == every != found[-1]
    assert all(set(some) <= set(every) for some in found)


def too_dear(family, block, *args):
    """The programs of a block that cost too much."""
    count = max(fuzz.tries(family) // BLOCKS, len(hard_programs.KINDS))
    ran = subprocess.run(
        [sys.executable, SUPPORT / "nested_sizes.py", str(block * count), str(count), *map(str, args)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert ran.returncode == 0, (found[-1], ran.stderr[-2_000:])
    costs = [row for row in found if "seconds" in row]
    assert len(costs) == count
    wrong = [row for row in costs if row["seconds"] > SECONDS or row["steps"] > STEPS or row["megabytes"] > MEGABYTES]
    for what, number in (
        ("programs", count),
        ("wrong", len(wrong)),
        ("at its budget", sum(row["stopped"] > 0 for row in costs)),
        ("seconds", sum(row["seconds"] for row in costs)),
    ):
        fuzz.count(family, what, number)
    return wrong


@pytest.mark.parametrize("kind", long_programs.KINDS)
def test_long_functions_are_done_soon(kind):
    found = nested_sizes.cost(long_programs.program(kind, FULL))
    assert not {"E101", "E102", "E104", "E201", "E202"} & set(found["codes"])  # it was read, and its names are there
    assert found["seconds"] < SECONDS
    assert found["steps"] < STEPS


def test_a_program_without_steps_is_checked_at_run_time():
    text = long_programs.program("calls", 2)
    checked = check(text).checked
    with StepBudget(0):
        spent = check(text)
    assert spent.ok
    assert spent.counts.refuted == 0
    assert spent.counts.residual > checked.counts.residual


@pytest.mark.parametrize("text", [nested_sizes.program(3), long_programs.program("calls of slices", 4)])
def test_the_same_program_takes_the_same_steps_and_is_told_the_same(text):
    one, other = check(text), check(text)
    assert one.checked.steps == other.checked.steps
    told = [[(d.code, d.span.start, d.message, d.notes, d.witness) for d in r.diagnostics] for r in (one, other)]
    assert told[0] == told[1]


def test_a_size_that_is_too_large_is_said_to_be():
    n = var("n", 1)
    with pytest.raises(TooLarge):
        for _ in range(12):
            n = (n + 1) * (n + 2)


def test_of_hundreds_of_findings_the_first_hundred_are_told_with_their_conditions():
    one = "@f{0} = fn(x : Tensor([n, m], float32), y : Tensor([k, p], float32)) : Tensor {{ @matmul(x, y) }}\n"
    report = check("".join(one.format(i) for i in range(120)))
    told = [d for d in report.diagnostics if d.code == "W311"]
    assert len(told) == report.counts.residual == 120
    assert [d.sentence.only != () for d in told] == [i < 100 for i in range(120)]


def test_unproved_claims_that_follow_from_the_first_of_a_long_row_are_silent():
    lines = "\n".join(f"  let (a{i + 1}, b{i + 1}) = @split(a{i}, 2)" for i in range(120))
    report = check(f"@f = fn(a0 : Tensor([n, m], float32)) : Tensor {{\n{lines}\n  a0\n}}\n")
    (unproved,) = [d for d in report.diagnostics if d.code.is_unproved]
    assert unproved.message.startswith("@split needs axis 0 of `a0` to be a multiple of 2")


def test_of_a_list_that_is_called_often_the_run_chooses_and_no_check_is_lost(monkeypatch):
    members = "".join(
        f"@m{i} = fn(x : Tensor([p * {i + 2}], float32)) : Tensor([z], float32) where z >= p {{ x }}\n"
        for i in range(4)
    )
    calls = "\n".join(f"  let y{i} = @m(@concat([x, x[{i}:]]))" for i in range(8))
    text = f"{members}@m = [@m0, @m1, @m2, @m3]\n@f = fn(x : Tensor([n], float32)) : Tensor {{\n{calls}\n  y7\n}}\n"
    every = check(text).counts
    monkeypatch.setattr(implementations, "_MOST_LOOKED_AT", 10)
    some = check(text).counts
    assert (some.refuted, some.total) == (every.refuted, every.total)
    assert some.residual >= every.residual >= 1


def _walked(monkeypatch, text):
    """How many calls are walked for a program: its own, and those of bodies that are looked into."""
    own, inlined = [0], [0]
    call = walk.Walk._call

    def counted(self, frame, *given):
        (inlined if frame.inlined else own)[0] += 1
        return call(self, frame, *given)

    monkeypatch.setattr(walk.Walk, "_call", counted)
    report = check(text)
    assert report.ok
    return own[0], inlined[0]


def test_bodies_are_looked_into_no_oftener_than_what_is_written(monkeypatch):
    calls = " + ".join(f"@f{{next}}(x[{k}:])" for k in range(70))
    functions = [f"@f{i} = fn(x : Tensor([n], float32)) {{ {calls.format(next=i + 1)} }}\n" for i in range(24)]
    own, inlined = _walked(monkeypatch, "".join(functions) + "@f24 = fn(x : Tensor([n], float32)) { x }\n")
    assert own > 24 * 70 and inlined < own


def test_a_loop_behind_the_end_of_the_steps_is_read_once(monkeypatch):
    """A turn is begun for all turns together only where something can still be found out of it."""
    begun = [0]
    begin = turns.AnyTurn.begin
    monkeypatch.setattr(
        turns.AnyTurn, "begin", lambda self, *given: (begun.__setitem__(0, begun[0] + 1), begin(self, *given))[1]
    )

    def count(lines):
        begun[0] = 0
        assert check(long_programs.program("maps of functions", lines)).ok
        return begun[0]

    assert count(12) < 1.2 * count(6)


def test_of_very_many_unproved_claims_behind_the_end_the_places_are_counted():
    report = check(long_programs.program("maps of functions", 12))
    [more] = [d.message for d in report.diagnostics if "more checks could not be proved" in d.message]
    told = sum(d.severity == "warning" for d in report.diagnostics) - 1
    assert report.checked.ended
    assert told + int(more.split()[0]) <= report.counts.residual < 2 * (told + int(more.split()[0]))


def test_consts_of_consts_cost_what_they_are_many():
    def cost(count):
        made = "".join(f"const c{i + 1} = c{i} + c0\n" for i in range(count))
        return nested_sizes.entered("const c0 : Tensor([2], int64) = tensor([1, 2], int64)\n" + made)

    cost(1)
    assert cost(400) < 2.5 * cost(200)


@pytest.mark.parametrize("asked", ["demands", "conditions"])
def test_what_is_asked_of_a_program_later_has_an_end_too(monkeypatch, asked):
    """Of many checks that ask for the same that is looked at once, and of others as many as there are steps for."""
    looked = [0]
    added = weakest._added
    monkeypatch.setattr(weakest, "_added", lambda *given: (looked.__setitem__(0, looked[0] + 1), added(*given))[1])

    def count(lines):
        looked[0] = 0
        getattr(check(f"@f = fn(x : Tensor([n, m]), k : Size) : Tensor {{\n{lines}\n x\n}}\n").checked, asked)
        return looked[0]

    assert count("\n".join(["assert k * n >= m + 2"] * 300)) < 10
    assert count("\n".join(f"assert k * {i + 2} != n * m + {i}" for i in range(300))) < 200


def test_a_name_is_explained_within_the_steps_of_the_program():
    checked = check(long_programs.program("known rows", 3)).checked
    with StepBudget(1 << 40) as budget:
        checked.explain("t1")
    assert budget.spent < STEPS
    assert budget.spent + budget.walked < 2 * (checked.steps + checked.walked)


@pytest.mark.parametrize("kind", ["known rows", "maps", "wrong functions"])
def test_signatures_of_a_program_without_steps_are_not_tried_in_it(monkeypatch, kind):
    tried = [0]
    text = long_programs.program(kind, 12)
    report = check(text)
    monkeypatch.setattr(signatures, "check_source", lambda *_: tried.__setitem__(0, tried[0] + 1) or report)
    found = signatures.signatures(report, Path("."))
    assert len(found) >= 1
    assert tried[0] <= 8 * (not report.checked.ended)
