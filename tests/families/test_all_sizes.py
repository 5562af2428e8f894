"""What a warning says of sizes, tried with all small ones: "holds only if" on both sides, and each witness fails there."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from rxlang import pipeline
from rxlang.fixes.ranked import with_helps
from rxlang.lang.diagnostics import Diagnostic
from support import all_sizes, cases, fuzz, random_programs, replay, shape_bugs, small_programs
from support.places import ROOT, TESTS

MOST = 6
GOLDENS = sorted((TESTS / "goldens").rglob("*.rx"))

# One call each, over sizes that are not known; each is checked at run time.
CALLS = (
    ("x : Tensor([n, m, h, w], float32)", "@max_pool2d(x, {a})"),
    ("x : Tensor([n, m, h, w], float32)", "@avg_pool2d(x, {a}, strides={b})"),
    ("x : Tensor([1, h, w], float32)", "@max_pool(x, {a})"),
    ("x : Tensor([1, 1, h, w], float32)", "@conv(x, @ones([1, 1, {a}, {b}]))"),
    ("x : Tensor([2, h, w], float32)", "@conv(x[:, ::2, :], @ones([1, h, {a}]))"),
    ("x : Tensor([h, 3], float32)", "@reshape(x[::{a}, :], [{b}, -1])"),
    ("x : Tensor([n, h], float32)", "@reshape(x, [n, {a}, h // {a}])"),
    ("x : Tensor([n, h], float32)", "@reshape(x, [n * {a}, h // {a}])"),
    ("x : Tensor([n, m], float32), y : Tensor([n * {a}, m], float32)", "x + y"),
    ("x : Tensor([n, m], float32), y : Tensor([h], float32)", "x[:, {b}:] * y"),
    ("x : Tensor([n], float32)", "x[{b}:] + @ones([{a}])"),
    ("x : Tensor([n], float32)", "@max(x[{b}:], axis=0)"),
    ("x : Tensor([n, h], float32)", "@concat([x, @ones([{a}, {b}])], axis=0)"),
    ("x : Tensor([n, h], float32)", "@split(x, sections={a}, axis=1)"),
)


def called(seed: int) -> str:
    rng = random.Random(seed)
    params, body = CALLS[seed % len(CALLS)]
    numbers = {"a": rng.randint(1, 4), "b": rng.randint(1, 4)}
    made, last = ("let (out, _o) = ", "out") if "split" in body and numbers["a"] == 2 else ("let out = ", "out")
    if "split" in body and numbers["a"] != 2:
        body = "@sum(x, axis=1)"
    text = f"@main = fn({params}) : Tensor {{\n  {made}{body}\n  {last}\n}}\n"
    return re.sub(r"\{([ab])\}", lambda m: str(numbers[m[1]]), text)


def made(seed: int) -> str:
    return small_programs.Maker(seed).program() + small_programs.LIBRARY


def same_check(found: Diagnostic | None, said: Diagnostic) -> bool:
    """Whether a run was refused by what a warning is about: the same place, or the same part of what is declared."""
    if found is None:
        return False
    asked = r"@\w+ needs (?:axis \d+ of )?(?:item \d+ of )?its result|the annotation needs axis \d+ of `\w+`"
    heads = [re.match(asked, d.message) for d in (found, said)]
    return found.span == said.span or (None not in heads and heads[0][0] == heads[1][0])  # type: ignore[index]


def problems(text: str) -> list[str]:
    """What is said and is not so."""
    report = pipeline.check_text(text, "sizes.rx", Path("."))
    warnings = [d for d in report.diagnostics if d.code == "W311" and d.function == "@main"]
    if not report.ok or report.checked is None or not warnings:
        return []
    params = all_sizes.signature(text)
    run, found = all_sizes.Tried(report.checked), []
    outcomes = [(sizes, run(params, sizes)) for sizes in all_sizes.every(params, MOST)]
    names = outcomes[0][0].keys()
    for said in warnings:
        found += wrong_witness(said, outcomes)
        told = re.search(r"this holds (only )?if (.*), which is checked at run time", said.message)
        cond = all_sizes.of_message(told[2]) if told is not None else ""
        if told is None or not names >= set(all_sizes.names_in(cond)):
            continue
        for sizes, end in outcomes:
            held = all_sizes.holds(cond, sizes)
            if end is None and not held and told[1]:
                found.append(f"{told[2]}: runs with {sizes}")
            if held and same_check(end, said):
                found.append(f"{told[2]}: fails with {sizes}")
    return found


def wrong_witness(said: Diagnostic, outcomes: list[tuple[dict[str, int], Diagnostic | None]]) -> list[str]:
    witness = said.witness or {}
    if not witness or max(witness.values()) > MOST or not witness.keys() <= outcomes[0][0].keys():
        return []
    met = [end for sizes, end in outcomes if witness.items() <= sizes.items()]
    return [] if any(same_check(end, said) for end in met) else [f"no run with {witness} fails: {said.message}"]


@pytest.mark.parametrize("make", [made, called], ids=lambda f: f.__name__)
def test_what_is_said_of_sizes_is_so_for_all_small_ones(make: object) -> None:
    assert callable(make)
    for case in fuzz.cases("all sizes"):
        with case as seed:
            assert problems(make(seed)) == [], make(seed)


def test_a_condition_that_is_not_the_whole_one_is_seen() -> None:
    """That the comparison can fail: windows of 2 fit no side of 1, but one of 0."""
    text = "@main = fn(x : Tensor([n, c, h, w], float32)) : Tensor {\n  let out = @max_pool2d(x, 2)\n  out\n}\n"
    report = pipeline.check_text(text, "sizes.rx", Path("."))
    (said,) = [d for d in report.diagnostics if d.code == "W311"]
    assert "h == 0 or h >= 2, and w == 0 or w >= 2" in said.message and report.checked is not None
    run, params = all_sizes.Tried(report.checked), all_sizes.signature(text)
    assert run(params, {"n": 1, "c": 1, "h": 0, "w": 2}) is None
    assert same_check(run(params, {"n": 1, "c": 1, "h": 1, "w": 2}), said)
    assert wrong_witness(said, [({"n": 1, "c": 1, "h": 1, "w": 1}, None)])


# Programs of all kinds


def conditions(text: str, base: Path) -> list[str]:
    """What is said of the sizes of a program's functions and is not so for some sizes of at most 6, of at most 4 names."""
    report = pipeline.check_text(text, "sizes.rx", base)
    found: list[str] = []
    for said in report.diagnostics if report.checked is not None else ():
        told = re.search(r"this holds (only )?if (.*), which is checked at run time", said.message)
        if told is not None and said.function is not None and report.checked is not None:
            run = replay.Replay(report.checked, text, base)
            function = replay.function_of(run, said)
            if function is not None:
                line = text.split("\n")[said.span.line - 1]
                # What stands in an arm or a turn need not run.
                always = re.search(r"\b(if|while|for) |@(map|fold|scan)\(", line) is None
                found += both_sides(run, function, said, told[2], necessary=bool(told[1]) and always)
    return found


def both_sides(run: Any, function: Any, said: Diagnostic, told: str, *, necessary: bool) -> list[str]:
    cond, found = all_sizes.of_message(told), []
    names = all_sizes.names_in(cond)
    written = [n for p in function.declaration.params for n in (p.annotation.names if p.annotation else ())]
    if "'" in told or not set(names) <= {*written, *(p.name for p in function.params)} or len(names) > 4:
        return []
    for sizes in all_sizes.every({"": tuple(names)}, MOST if len(names) < 4 else 2):
        held = all_sizes.holds(cond, sizes)
        for attempt in range(2):
            try:
                end = run.run(function, replay.Draw(attempt, sizes))
            except (ValueError, ZeroDivisionError, replay.TooBig):
                continue
            if end is None and not held and necessary:
                found.append(f"{told}: @{function.name} runs with {sizes}")
            if end is not None and held and head(end) == head(said) and same_check(end, said):
                found.append(f"{told}: @{function.name} fails with {sizes}")
    return found[:3]


def head(said: Diagnostic) -> str:
    """What is asked of what: of several checks of one call it tells which one it is."""
    return said.message.partition(", but ")[0].replace(" (first argument)", "").replace(" (second argument)", "")


def test_what_the_files_are_told_of_sizes_is_so_on_both_sides() -> None:
    assert [(p.name, found) for p in GOLDENS if (found := conditions(p.read_text(), p.parent))] == []


def test_what_real_bugs_are_told_of_sizes_is_so_on_both_sides() -> None:
    rows = cases.rows("shape_bugs.jsonl")
    assert [(row["id"], found) for row in rows if (found := conditions(shape_bugs.program(row), ROOT))] == []


def test_what_programs_with_arms_and_helpers_are_told_of_sizes_is_so_on_both_sides() -> None:
    for case in fuzz.cases("conditions"):
        with case as seed:
            text = random_programs.Maker(seed).source
            assert conditions(text, ROOT) == [], text


# Names


def invented(text: str, base: Path) -> list[str]:
    """Names in witnesses and offered conditions that stand nowhere in the program."""
    report = with_helps(pipeline.check_text(text, "names.rx", base), base, (), None)
    if report.checked is None:
        return []
    written = set(re.findall(r"\w+", text)) | {"x", "min", "max", "ceildiv", "dim", "rank", "shape", "in"}
    found = []
    for said in report.diagnostics:
        names = set(said.witness or {})
        places = (said.span, *(label.span for label in said.labels))
        if any(place.source.text not in (text, "") for place in places):
            continue  # a callee in another file
        for help_ in re.findall(r"`where ([^`]*)`", said.help or ""):
            names |= set(re.findall(r"[A-Za-z_]\w*", re.sub(r"\bin \w+", "", help_)))
        found += sorted(f"{n} in {said.message}" for n in names if n not in written)
    return found


@pytest.mark.parametrize("make", [made, called], ids=lambda f: f.__name__)
def test_no_random_program_is_told_a_name_that_nobody_wrote(make: object) -> None:
    assert callable(make)
    for case in fuzz.cases("names"):
        with case as seed:
            assert invented(make(seed), ROOT) == [], make(seed)


def test_no_golden_is_told_a_name_that_nobody_wrote() -> None:
    assert [(p.name, found) for p in fuzz.some(GOLDENS, 3) if (found := invented(p.read_text(), p.parent))] == []


def test_no_real_bug_is_told_a_name_that_nobody_wrote() -> None:
    some = cases.rows("shape_bugs.jsonl")[:30]
    assert [(row["id"], found) for row in some if (found := invented(shape_bugs.program(row), ROOT))] == []


ELEMENTS = {
    "an index that is computed": (
        "@f = fn(m : Tensor([n, n], float32), i : Size) : Tensor where i >= 0, i < n {\n"
        "  let p : Size = @item(@argmax(m[i:, i], axis=0)) + 2 * i\n  m[p]\n}\n"
    ),
    "an index in an index": (
        "@f = fn(m : Tensor([n], float32), t : Tensor([], int64)) : Tensor { m[@item(t) * 2 + 1] }\n"
    ),
}


@pytest.mark.parametrize("text", ELEMENTS.values(), ids=ELEMENTS)
def test_an_element_has_the_name_that_the_user_gave_it_or_none(text: str) -> None:
    report = pipeline.check_text(text, "names.rx", TESTS)
    assert report.checked is not None
    (said,) = [d for d in report.diagnostics if d.code == "W311"]
    assert said.witness is None
    assert set(re.findall(r"[A-Za-z_]\w*", re.search(r"\(([^)]*)\)", said.message)[1])) <= set(re.findall(r"\w+", text))  # type: ignore[index]


def test_what_a_callee_promises_in_an_arm_is_known_behind_it() -> None:
    text = (
        "@ext = fn(x : Tensor([t], int64)) : Tensor([u], int64) where u >= t { @concat([x, @zeros([1], int64)], axis=0) }\n"
        "@f = fn(x : Tensor([t], int64), s : Tensor([], bool)) : Tensor([u], int64) where u >= t {{\n"
        "  if (s) {{ {} }} else {{ {} }}\n}}\n"
    )
    arms = ("x", "@ext(x)", "@ext(@ext(x))", "if (s) { @ext(x) } else { x }", "@concat([@ext(x), x], axis=0)")
    for one, other in [(a, b) for a in arms for b in arms]:
        head, _, rest = text.partition("@f")
        report = pipeline.check_text(head + "@f" + rest.format(one, other), "arms.rx", TESTS)
        assert report.ok and report.counts.residual == 0, (one, other, [d.message for d in report.diagnostics])
