"""The corpora of mistakes are what their rows say, and what is made of a mistake is graded as it deserves."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang.fixes.applied import fixed_and_left
from rxlang.lang.source import Source
from support.fix_grader import (
    Refused,
    arguments,
    assignments,
    blames,
    functions,
    grade,
    judged,
    names_of,
    run,
    runs,
    says_something,
    touched,
    types,
)
from support.fuzz import cases, count, some
from support.mistakes import (
    CORPORA,
    MOST_OF_ONE_OPERATOR,
    OPERATORS,
    Change,
    Mistake,
    changes,
    mutated,
    read_mistakes,
    read_programs,
    written,
)

PROGRAMS = {f"{kind}/{path}": text for kind, c in CORPORA.items() for path, text in read_programs(c).items()}
SAMPLE = 16  # every which mutant is checked here; `benchmarks/helps.py` checks them all

# The programs


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_architecture_is_accepted_and_leaves_nothing_to_check_but_on_entry(name: str) -> None:
    report = rx.check_source(PROGRAMS[name])
    assert [d.message for d in report.diagnostics] == []
    assert report.counts.residual == 0


@pytest.mark.parametrize("name", some((n for n in PROGRAMS if n.startswith("own/")), 2))
def test_an_architecture_runs_at_many_sizes_without_a_zero(name: str) -> None:
    module, data = rx.loads(PROGRAMS[name]), np.random.default_rng(3)
    for function, declared in functions(PROGRAMS[name]).items():
        params = declared.fn.params
        tried = [s for s in assignments(names_of(params), random.Random(function)) if 0 not in s.values()][::9]
        made = [arguments(params, sizes, data, types(PROGRAMS[name])) for sizes in tried]
        taken = [args for args in made if args is not None and not isinstance(run(module[function], args), Refused)]
        assert len(taken) >= 2, function


def test_each_corpus_has_programs_of_its_own() -> None:
    assert [len(set(c.programs)) for c in CORPORA.values()] == [26, 17, 25, 8, 5, 14, 6, 5, 4, 6]
    assert len({path for c in CORPORA.values() for path in c.programs}) == 116


# The mistakes


@pytest.mark.parametrize("kind", CORPORA)
def test_a_corpus_is_what_its_seeds_make(kind: str) -> None:
    corpus = CORPORA[kind]
    assert written(read_mistakes(corpus), read_programs(corpus)) == corpus.file.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", CORPORA)
def test_the_mistakes_are_different_and_no_operator_has_more_than_its_part(kind: str) -> None:
    mistakes, programs = read_mistakes(CORPORA[kind]), read_programs(CORPORA[kind])
    assert len({mutated(programs[m.program], m.operator, m.seed) for m in mistakes}) == len(mistakes) >= 100
    counts = Counter(m.operator for m in mistakes)
    possible = {o for o in CORPORA[kind].operators if any(changes(text, o) for text in programs.values())}
    assert counts.keys() <= possible and (len(mistakes) < 150 or counts.keys() == possible)
    assert max(counts.values()) <= MOST_OF_ONE_OPERATOR * len(mistakes)
    assert {m.program for m in mistakes} <= programs.keys()
    assert kind != "own" or len({m.program for m in mistakes}) >= 25


@pytest.mark.parametrize("kind", CORPORA)
def test_a_mistake_changes_the_line_that_its_row_names_and_is_told(kind: str) -> None:
    programs, rows = read_programs(CORPORA[kind]), CORPORA[kind].file.read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, rows[::SAMPLE]):
        text = programs[row["program"]]
        mutant = mutated(text, row["operator"], row["seed"])
        assert mutant is not None
        same = row["line"] - 1
        assert mutant.text.split("\n")[:same] == text.split("\n")[:same]
        assert mutant.text.split("\n")[same] != text.split("\n")[same]
        assert says_something(mutant.text), row


LAYER = """@f = fn(x : Tensor([b, t, d], float32), w : Tensor([d, e], float32)) : Tensor([b, e], float32) where t >= 1 {
  let y = @matmul(x, w)
  let z = @permute_dims(y / @sum(y, axis=2, keepdims=true), axes=[0, 2, 1])
  @reshape(z, [b, e, t])[:, :, 0]
}
"""


@pytest.mark.parametrize(
    "operator, made",
    [
        ("wrong axis", "@sum(y, axis=1, keepdims=true)"),
        ("swapped operands", "@matmul(w, x)"),
        ("missing or extra transpose", "@matmul(x, @matrix_transpose(w))"),
        ("missing or extra transpose", "let z = y / @sum(y, axis=2, keepdims=true)"),
        ("wrong permutation", "axes=[2, 0, 1]"),
        ("keepdims dropped", "@sum(y, axis=2)"),
        ("literal off by one", "[:, :, 1]"),
        ("missing reshape", "  z[:, :, 0]"),
        ("wrong name of the same sort", "[b, d, t]"),
    ],
)
def test_an_operator_makes_the_slip_that_it_is_named_for(operator: str, made: str) -> None:
    texts = [LAYER[: c.start] + c.text + LAYER[c.end :] for c in changes(LAYER, operator)]
    assert any(made in text for text in texts), texts


CONVOLUTION = """@g = fn(x : Tensor([b, c, t], float32), w : Tensor([c, c, 3], float32), n : Size)
  : Tensor([b, c, t * n], float32)
  where t >= 1, n >= 1 {
  let y = @conv1d(x, w, strides=[1], pads=[(1, 1)])
  @h(@repeat(y, n, axis=2), y)
}

@h = fn(x : Tensor([b, c, t], float32), y : Tensor([b, c, s], float32)) : Tensor([b, c, t], float32) {
  x
}
"""


@pytest.mark.parametrize(
    "operator, made",
    [
        ("pad", "pads=[(0, 0)]"),
        ("pad", "pads=[(1, 2)]"),
        ("pad", "strides=[1])"),
        ("stride", "strides=[2]"),
        ("missing repeat", "@h(y, y)"),
        ("swapped arguments", "@h(y, @repeat(y, n, axis=2))"),
        ("swapped arguments", "@conv1d(w, x, strides=[1]"),
    ],
)
def test_an_operator_of_windows_and_calls_does_as_well(operator: str, made: str) -> None:
    texts = [CONVOLUTION[: c.start] + c.text + CONVOLUTION[c.end :] for c in changes(CONVOLUTION, operator)]
    assert any(made in text for text in texts), texts


def test_no_operator_changes_a_signature() -> None:
    for text in PROGRAMS.values():
        bodies = [f.fn.body.span for f in functions(text).values() if f.fn.body is not None]
        for operator in OPERATORS:
            for change in changes(text, operator):
                assert any(b.start < change.start and change.end < b.end for b in bodies), change


# The grades

SCORES = """@scores = fn(q : Tensor([b, t, d], float32), k : Tensor([b, s, d], float32)) : Tensor([b, t, s], float32) {
  @softmax(@matmul(q, @matrix_transpose(k)), axis=2)
}

@mean = fn(x : Tensor([b, t, d], float32)) : Tensor([b, d], float32) where t >= 1 {
  @sum(x, axis=1) / @cast(@size_to_tensor(t), float32)
}
"""


def fixed(before: str, after: str) -> str:
    assert before in SCORES
    return SCORES.replace(before, after)


@pytest.mark.parametrize(
    "text, word",
    [
        (SCORES, "right"),
        (fixed("@matrix_transpose(k)", "@permute_dims(k, axes=[0, 2, 1])"), "right"),
        (fixed('@matmul(q, @matrix_transpose(k))', '@einsum("btd,bsd->bts", [q, k])'), "right"),
        (fixed("{\n  @softmax", "where s == d {\n  @softmax"), "narrower"),
        (fixed("{\n  @softmax", "{\n  assert t == s\n  @softmax"), "narrower"),
        (fixed("{\n  @softmax", "where s <= 4 {\n  @softmax"), "narrower"),
        (fixed("where t >= 1", "where t >= 2"), "narrower"),
        (fixed("x : Tensor([b, t, d], float32)", "x : Tensor([b, t, d * 2], float32)").replace("[b, d]", "[b, d * 2]"),
         "narrower"),
        (fixed("{\n  @softmax", "where d >= 1 {\n  @softmax"), "empty"),
        (fixed(" where t >= 1", ""), "wider"),
        (fixed("k : Tensor([b, s, d]", "k : Tensor([_c, s, d]"), "wider"),
        (fixed("axis=2", "axis=1"), "numbers"),
        (fixed("@sum(x, axis=1)", "@sum(@abs(x) + x, axis=1)"), "numbers"),
        (fixed("Tensor([b, d], float32)", "Tensor([d], float32)").replace("axis=1) /", "axis=[0, 1]) /"), "shapes"),
        (fixed("@mean = ", "@average = "), "shapes"),
        (fixed("@softmax(", "@softmax(axis=3, x="), "refused"),
    ],
)  # fmt: skip
def test_a_fix_gets_the_grade_that_it_deserves(text: str, word: str) -> None:
    assert grade(SCORES, text).word == word, grade(SCORES, text)


def test_a_fix_that_is_narrower_and_something_else_is_known_to_be_both() -> None:
    found = grade(SCORES, fixed("where t >= 1", "where t >= 2").replace("@sum(x, axis=1)", "@max(x, axis=1)"))
    assert found.narrower
    assert found.numbers


def test_a_change_of_a_helper_is_seen_in_its_callers() -> None:
    text = SCORES + "\n@both = fn(x : Tensor([b, t, d], float32)) : Tensor where t >= 1 {\n  @mean(x)\n}\n"
    assert touched(text, text.replace("@sum(x", "@max(x")) == ["mean", "both"]
    assert touched(text, text) == []


def test_a_function_that_takes_other_parameters_is_not_right() -> None:
    assert not grade(
        SCORES, fixed("@mean = fn(x", "@mean = fn(n : Size, x").replace("where t", "where n >= 0, t")
    ).is_right


def test_sizes_that_the_signature_forbids_are_tried_as_well() -> None:
    refused = [args for _, args, was in runs(SCORES, "scores") if isinstance(was, Refused)]
    assert any(q.shape[2] != k.shape[2] for q, k in refused)
    assert any(q.ndim == 4 for q, _ in refused)


def test_what_is_said_of_a_mistake_is_counted_blamed_and_graded() -> None:
    mutant = fixed("@sum(x, axis=1)", "@sum(x, axis=4)")
    verdict = judged(SCORES, mutant, 6)
    assert [d.severity for d in verdict.diagnostics] == ["error"]
    assert verdict.blamed
    assert not blames(verdict.diagnostics[0], 2)
    assert verdict.help is not None
    assert verdict.help_grade == grade(SCORES, verdict.help)
    assert (verdict.fix is None) == (verdict.fix_grade is None)


def test_a_mistake_is_its_program_operator_and_seed() -> None:
    assert Mistake("bert", "pad", 3)._asdict() == {"program": "bert", "operator": "pad", "seed": 3}


# So many letters lie between two mistakes that may hide each other.
NEAR = 120


def two_mistakes(seed: int) -> tuple[str, str, list[str]] | None:
    """An architecture, what becomes of it by two changes near each other, and by either alone; None where there are none."""
    rng = random.Random(f"two mistakes {seed}")
    text = PROGRAMS[rng.choice(sorted(PROGRAMS))]
    found = [c for name in OPERATORS for c in changes(text, name) if text[c.start : c.end] != c.text]
    first = rng.choice(found)
    beside = [c for c in found if first.end <= c.start <= first.end + NEAR]
    if not beside:
        return None
    second = rng.choice(beside)
    return text, with_changes(text, first, second), [with_changes(text, c) for c in (first, second)]


def with_changes(text: str, *made: Change) -> str:
    for change in reversed(made):
        text = text[: change.start] + change.text + text[change.end :]
    return text


def is_told(text: str) -> bool:
    return any(d.is_wrong for d in rx.check_source(text).diagnostics)


def test_of_two_mistakes_fix_makes_what_was_meant_or_leaves_it_to_the_author() -> None:
    for case in cases("two mistakes"):
        with case as seed:
            made = two_mistakes(seed)
            fixed = fixed_and_left(Source("a.rx", made[1]), Path()) if made else None
            if made is None or fixed is None or not fixed.done or fixed.left or not all(map(is_told, made[2])):
                continue
            count("two mistakes", "fixed")
            assert fixed.text == made[0] or grade(made[0], fixed.text).is_right, fixed.done
