"""`rx prove`: the corpora, random questions whose truth is known, and input that is broken."""

import itertools
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from threading import Timer

import pytest
import rxlang
from rxlang.simplify.solver.prove import prove_line, prove_lines
from support import cases, fuzz
from support.places import TESTS

FACTS = (TESTS / "data" / "size_facts.txt").read_text().splitlines()


def ask(goal, assume=(), **rest):
    return prove_line(json.dumps({"id": "q", "assume": list(assume), "goal": goal, **rest}))


# ---------------------------------------------------------------- an evaluator that shares nothing with the reasoner


def compiled(text, names):
    source = text.replace("&&", " and ").replace("||", " or ")
    source = re.sub(r"!(?!=)", " not ", source)
    helpers = {"min": min, "max": max, "ceildiv": lambda a, b: -(-a // b)}
    return eval(f"lambda {', '.join(names)}: {source}", helpers)


def names_in(*texts):
    words = {w for text in texts for w in re.findall(r"[A-Za-z_]\w*", text)}
    return sorted(words - {"min", "max", "ceildiv"}) or ["unused"]


def holds(text, point):
    names = names_in(text)
    return compiled(text, names)(**{n: point.get(n, 0) for n in names})


def truth(assume, goal, box):
    """What is seen of a question within the box: is there a point of each kind?"""
    names = names_in(goal, *assume)
    facts = [compiled(a, names) for a in assume]
    wanted = compiled(goal, names)
    seen = set()
    for values in itertools.product(*(range(-box if n == "z" else 0, box + 1) for n in names)):
        if all(f(*values) for f in facts):
            seen.add(bool(wanted(*values)))
            if len(seen) == 2:
                break
    return seen


def contradiction(answer, assume, goal, box=9):
    """What is wrong with an answer, or None."""
    result = answer["result"]
    if result == "neither":
        point = answer["witness"]
        if any(v < 0 for n, v in point.items() if n != "z") or not all(holds(a, point) for a in assume):
            return "the witness does not satisfy the assumptions"
        return "the witness satisfies the goal" if holds(goal, point) else None
    seen = truth(assume, goal, box)
    if result == "valid" and False in seen:
        return "not valid"
    if result == "unsat" and True in seen:
        return "not unsatisfiable"
    if result == "vacuous" and seen:
        return "not vacuous"
    return f"an error: {answer['message']}" if result == "error" else None


# ---------------------------------------------------------------- random questions


class Questions:
    """Random questions about at most three sizes, z being any integer; deterministic for a seed.

    With `divisors` it also divides by names, which are then assumed to be fit for that.
    """

    def __init__(self, seed, names=("n", "m", "k"), divisors=()):
        self.random = random.Random(seed)
        self.names = list(names[: self.random.choice([1, 2, 2, 3])])
        self.divisors = [d for d in divisors if d in self.names]

    def size(self, depth):
        pick = self.random
        if depth == 0 or pick.random() < 0.15:
            return pick.choice(self.names) if pick.random() < 0.75 else str(pick.choice([0, 1, 2, 3, 4, 6, 7, 8]))
        kind = pick.choice("+-**//%%mMc")
        a = self.size(depth - 1)
        if kind in "/%":
            c = pick.choice([2, 2, 3, 4, 5, 6, 8])
            if self.divisors and pick.random() < 0.5:
                return f"(({a}) {'//' if kind == '/' else '%'} {pick.choice(self.divisors)})"
            if pick.random() < 0.15:
                n = pick.choice([n for n in self.names if n != "z"] or ["1"])
                return f"(({a}) {'//' if kind == '/' else '%'} ({n} + 1))"
            if pick.random() < 0.05:
                return f"(({a}) {'//' if kind == '/' else '%'} -{c})"
            return f"(({a}) {'//' if kind == '/' else '%'} {c})"
        if kind == "c":
            return f"ceildiv({a}, {pick.choice([2, 3, 4])})"
        b = self.size(depth - 1)
        if kind in "mM":
            return f"{'min' if kind == 'm' else 'max'}({a}, {b})"
        if kind == "*" and pick.random() < 0.7:
            b = str(pick.choice([2, 3, 4, 6]))
        return f"({a} {kind} {b})"

    def condition(self, depth):
        pick = self.random
        if depth and pick.random() < 0.2:
            joiner = pick.choice(["&&", "||"])
            return f"({self.condition(0)}) {joiner} ({self.condition(0)})"
        sign = pick.choice(["==", "==", "!=", "<", "<=", ">", ">="])
        text = f"{self.size(pick.choice([1, 2, 3]))} {sign} {self.size(pick.choice([0, 1, 2]))}"
        return f"!({text})" if pick.random() < 0.08 else text

    def assumption(self):
        pick = self.random
        n = pick.choice(self.names)
        c = pick.choice([2, 3, 4, 5, 6])
        easy = [
            f"{n} >= {pick.randrange(4)}",
            f"{n} <= {pick.randrange(3, 12)}",
            f"{n} % {c} == {pick.randrange(c)}",
            f"{n} == {pick.choice(self.names)} * {c}",
            f"{n} != {pick.randrange(4)}",
            f"{n} == {pick.choice(self.names)} || {n} == 1",
            f"{n} // {c} == {pick.randrange(4)}",
            f"{n} < {pick.choice(self.names)} + {pick.randrange(1, 4)}",
        ]
        return pick.choice(easy) if pick.random() < 0.8 else self.condition(1)

    def open_question(self):
        """Nothing is known of its truth."""
        return [self.assumption() for _ in range(self.random.choice([0, 1, 1, 2, 3]))], self.condition(1)

    def bounded_question(self, box):
        """Every name has an upper bound, so that the box is all there is."""
        assume, goal = self.open_question()
        return [*assume, *(f"{n} <= {self.random.randrange(2, box + 1)}" for n in self.names)], goal

    def law(self):
        """A goal that is true by construction."""
        pick = self.random
        a, b, c = self.size(2), self.size(1), self.size(1)
        k, j = pick.choice([2, 3, 4, 5, 8]), pick.choice([2, 3, 6])
        laws = [
            (f"({a}) // {k} * {k} + ({a}) % {k}", f"{a}"),
            (f"({a}) // {k} // {j}", f"({a}) // {k * j}"),
            (f"(({a}) * {k} + ({b})) // {k}", f"({a}) + ({b}) // {k}"),
            (f"max({a}, {b}) + min({a}, {b})", f"({a}) + ({b})"),
            (f"({a}) // 2 + (({a}) + 1) // 2", f"{a}"),
            (f"ceildiv({a}, {k})", f"(({a}) + {k - 1}) // {k}"),
            (f"ceildiv({a}, {k})", f"-(-({a}) // {k})"),
            (f"(({a}) * {k}) // {k * j}", f"({a}) // {j}"),
            (f"(({a}) * {k}) % {k * j}", f"({a}) % {j} * {k}"),
            (f"(({a}) % {k * j}) % {k}", f"({a}) % {k}"),
            (f"(({a}) % {k * j}) // {k}", f"({a}) // {k} % {j}"),
            (f"(({a}) + {k} * ({b})) % {k}", f"({a}) % {k}"),
            (f"min({a}, {b}) * {k}", f"min(({a}) * {k}, ({b}) * {k})"),
            (f"max({a}, {b}) + ({c})", f"max(({a}) + ({c}), ({b}) + ({c}))"),
            (f"max(max({a}, {b}), {c})", f"max({a}, max({b}, {c}))"),
            (f"min({a}, {b})", f"-max(-({a}), -({b}))"),
            (f"min(({a}) // {k}, ({b}) // {k})", f"min({a}, {b}) // {k}"),
            (f"(({a}) + ({b})) * (({a}) - ({b}))", f"({a}) * ({a}) - ({b}) * ({b})"),
            (f"({a}) + (-({a})) % {k}", f"ceildiv({a}, {k}) * {k}"),
            (f"(({a}) - {k}) // {j} + 1", f"(({a}) - {k} + {j}) // {j}"),
        ]
        left, right = pick.choice(laws)
        return left, right

    def fact(self):
        """One of the known facts, which hold for all sizes and for c and d from 2 on, about other sizes: as it is, its
        opposite, or with a constant that is off."""
        pick = self.random
        text = pick.choice(FACTS)
        names = names_in(*text.replace("{c}", "2").replace("{d}", "2").replace("|-", ";").split(";"))
        values = {"c": pick.choice([2, 3, 4, 5, 8, 16]), "d": pick.choice([2, 3, 4, 6])}
        sizes = {n: self.other_size(n, names) if pick.random() < 0.2 else n for n in names}
        text = re.sub(r"[a-z]+", lambda w: sizes.get(w[0], w[0]), text.format(**values))
        assumed, _, goal = text.rpartition("|-")
        assume = [a.strip() for a in assumed.split(";") if a.strip()]
        turn = pick.choice(["true", "true", "opposite", "off"])
        if turn == "off":
            numbers = list(re.finditer(r"\d+", goal)) or [re.search("$", goal)]
            at = pick.choice(numbers)
            goal = goal[: at.start()] + (str(int(at[0]) + 1) if at[0] else " + 1") + goal[at.end() :]
            return assume, goal, None
        return (assume, f"!({goal})", {"unsat"}) if turn == "opposite" else (assume, goal, {"valid"})

    def other_size(self, name, names):
        pick = self.random
        return pick.choice([f"({name} + 1)", f"({name} * {pick.choice([2, 3])})", f"({name} + {pick.choice(names)})"])


def asked(kind, seed):
    """What is wrong with the answer to a question, the question, and the answer."""
    questions = Questions(f"{kind}{seed}")
    if kind == "law":
        left, right = questions.law()
        assume = [questions.assumption() for _ in range(questions.random.choice([0, 0, 1]))]
        if questions.random.random() < 0.5:
            goal, expected = f"{left} == {right}", {"valid", "vacuous"}
        else:
            goal, expected = f"{left} == {right} + {questions.random.choice([1, 2])}", {"unsat", "vacuous"}
    elif kind == "fact":
        assume, goal, expected = questions.fact()
        expected = expected and expected | {"vacuous"}
    elif kind == "bounded":
        (assume, goal), expected = questions.bounded_question(6), None
    elif kind == "signed":
        questions = Questions(f"{kind}{seed}", ("z", "n", "m"), ("z", "n"))
        (assume, goal), expected = questions.bounded_question(4), None
        fit = {"z": "z != 0", "n": "n >= 1"}
        assume = [*(fit[d] for d in questions.divisors), "z >= -4", *assume]
    else:
        (assume, goal), expected = questions.open_question(), None
    answer = ask(goal, assume, vars={"z": "int"})
    box = 9 if kind != "fact" else int(2_000 ** (1 / len(names_in(goal, *assume))))
    problem = contradiction(answer, assume, goal, min(box, 9))
    if expected and answer["result"] not in expected | {"unknown"}:
        problem = problem or f"expected {expected}"
    if kind in ("bounded", "signed") and not problem and answer["result"] != "unknown":
        seen = truth(assume, goal, 6)
        known = {(): "vacuous", (True,): "valid", (False,): "unsat", (False, True): "neither"}[tuple(sorted(seen))]
        problem = None if answer["result"] == known else f"expected {known}"
    return problem, (assume, goal), answer


@pytest.mark.parametrize("kind", ["law", "fact", "bounded", "signed", "open"])
def test_no_answer_to_a_random_question_is_wrong(kind):
    family, unknown = f"questions, {kind}", 0
    for case in fuzz.cases(family):
        with case as seed:
            problem, question, answer = asked(kind, seed)
            assert not problem, (question, answer)
            unknown += answer["result"] == "unknown"
            fuzz.count(family, "unknown", answer["result"] == "unknown")
    assert unknown <= max(2, fuzz.tries(family) // 50)


# ---------------------------------------------------------------- the corpora


@pytest.mark.parametrize("name", ["prove.jsonl", "prove_hard.jsonl"])
def test_every_row_of_the_corpora_has_its_answer(name):
    rows = cases.rows(name)
    answers = list(prove_lines(json.dumps(row) for row in rows))
    differing = [(r["id"], a) for r, a in zip(rows, answers, strict=True) if a["result"] != r["expect"]]
    assert [d for d in differing if d[1]["result"] != "unknown"] == []
    assert len(differing) <= len(rows) // 500
    for row, answer in zip(rows, answers, strict=True):
        if answer["result"] == "neither":
            assert contradiction(answer, row["assume"], row["goal"]) is None


# ---------------------------------------------------------------- what decides what


@pytest.mark.parametrize(
    ("goal", "assume"),
    [
        ("a + g <= b", ["g >= 1", "a % g == 0", "b % g == 0", "a < b"]),
        ("a == b", ["g >= 1", "a % g == 0", "b % g == 0", "a < b + g", "b < a + g"]),
        ("a == c && b == d", ["a * n + b == c * n + d", "b < n", "d < n"]),
        ("(i * n + j) * p + k < m * n * p", ["i < m", "j < n", "k < p"]),
        ("x % (2 * k) == x % k || x % (2 * k) == x % k + k", ["k >= 1"]),
        ("p // (l * m) != x + 1", ["l * m >= 1", "x < n", "y < m", "z < l", "p == (x * m + y) * l + z"]),
        ("a % 2 == 0 || b % 2 == 0 || (a + b) % 2 == 0", []),
        ("n == 5 || n == 10", ["n * m == 10", "m <= 2"]),
    ],
)
def test_a_size_that_is_a_factor_is_divided_out_without_z3(goal, assume):
    for text, result in ((goal, "valid"), (f"!({goal})", "unsat")):
        assert (ask(text, assume)["result"], ask(text, assume)["by"]) == (result, "facts")


@pytest.mark.parametrize(
    "goal",
    [
        "max(n // 4, m // 4) == max(n, m) // 4",
        "min(n // 3 + 1, ceildiv(m, 3)) == min(n + 3, m + 2) // 3",
        "max(n // 4, m // 4, 2) // 2 == max(n, m, 8) // 8",
    ],
)
def test_quotients_by_one_number_are_compared_by_what_is_divided(goal):
    assert ask(goal)["by"] == "normal-form" and ask(goal)["result"] == "valid"


# ---------------------------------------------------------------- what the command says


@pytest.mark.parametrize(
    ("goal", "assume", "result"),
    [
        ("(n // 4) * 4 == n", ["n >= 1", "n % 4 == 0"], "valid"),
        ("n < m", ["m <= n"], "unsat"),
        ("n < m", [], "neither"),
        ("n >= 0", ["n < 0"], "vacuous"),
        ("n == n", ["n * 2 == m * 2 + 1"], "vacuous"),
        ("m >= 0", ["n % 2 == 0", "n % 4 == 1"], "vacuous"),
        ("n / 2 * 2 == n", ["n % 2 == 0"], "valid"),
        ("n == 0 || m % n < n", [], "valid"),
        ("n > 0 && m % n >= n", [], "unsat"),
        ("!(n > 2) || n >= 3", [], "valid"),
        ("! n > 2 || n >= 3", [], "valid"),
        ("a && b", [], "error"),
        ("n < 2 && m < 2 || n >= 2 || m >= 2", [], "valid"),
        ("ceildiv(n, 8) * 8 - n <= 7", [], "valid"),
        ("max(n, m, k) >= min(m, k)", [], "valid"),
        ("-n // 2 == -((n + 1) // 2)", [], "valid"),
        ("x' + 1 > x'", [], "valid"),
        ("m * k >= m * 3", ["k * 3 == n * 4 + 1"], "valid"),
        ("min(12, m) <= k || m >= 4", ["k * 3 == n * 4 + 1"], "valid"),
        ("true || n < 0", [], "valid"),
    ],
)
def test_a_goal_has_the_result_that_follows_from_what_is_assumed(goal, assume, result):
    assert ask(goal, assume)["result"] == result


@pytest.mark.parametrize(
    ("goal", "assume"),
    [
        ("m % 10 != 7", ["m % 7 == 5", "min(m, 12) < n"]),
        ("max(9 * (n - k), n % -3) * k >= k || min(12, m) <= k", ["k * 3 == n * 4 + 1"]),
    ],
)
def test_the_witness_of_sizes_that_an_integer_of_any_sign_gives_has_none_below_zero(goal, assume):
    answer = ask(goal, assume)
    assert answer["result"] == "neither" and contradiction(answer, assume, goal) is None


def test_a_variable_may_be_any_integer():
    assert ask("k >= 0")["result"] == "valid"
    assert ask("k >= 0", vars={"k": "int"})["witness"] == {"k": -1}
    assert ask("k * k >= 0", vars={"k": "int"})["result"] == "valid"
    assert ask("k // j * j + k % j == k", ["j != 0"], vars={"k": "int", "j": "int"})["result"] == "valid"
    assert ask("k % j > j && k % j <= 0", ["j < 0"], vars={"k": "int", "j": "int"})["result"] == "valid"


@pytest.mark.parametrize(
    ("goal", "assume", "words"),
    [
        ("x % n == 0", [], "n may be 0"),
        ("x // 0 == 1", [], "the divisor is 0"),
        ("x % 2 == 0", ["x % n == 0"], "n may be 0"),
        ("x % n == 0 || n == 0", [], "n may be 0"),
        ("ceildiv(x, n - 1) >= 0", ["n >= 1"], "n - 1 may be 0"),
        ("x / 2 == 3", [], "may not come out even"),
    ],
)
def test_a_division_that_may_go_wrong_is_an_error(goal, assume, words):
    answer = ask(goal, assume)
    assert answer["result"] == "error"
    assert words in answer["message"]


def test_a_division_that_is_guarded_or_assumed_is_none():
    assert ask("x % n < n", ["n >= 1"])["result"] == "valid"
    assert ask("x % n < n", ["x % n == 0", "n >= 1"])["result"] == "valid"
    assert ask("n == 0 || x // n <= x")["result"] == "valid"
    assert ask("m == 1 && x % (m * 2) <= 1 || m != 1")["result"] == "valid"


BROKEN = [
    "{",
    "[1, 2]",
    "3",
    "null",
    '{"id": 1}',
    '{"id": 1, "goal": 3}',
    '{"id": 1, "goal": "n > 0", "assume": "n > 0"}',
    '{"id": 1, "goal": "n > 0", "assume": [1]}',
    '{"id": 1, "goal": "n > 0", "vars": [1]}',
    '{"id": 1, "goal": "n > 0", "vars": {"n": "float"}}',
    '{"id": 1, "goal": "n > 0", "x": ' + "9" * 100_000 + "}",
    "[" * 100_000,
    "x" * 2_000_000,
    *(
        json.dumps({"id": 1, "goal": goal})
        for goal in (
            "",
            "n",
            "n >",
            "n < m < k",
            "n ** 99999999 > 1",
            "n > 0 )",
            "(n > 0",
            "n @ 2 > 1",
            "foo(n) > 1",
            "min() > 1",
            "ceildiv(n) > 1",
            "(n > 1) + 1 > 1",
            "n > 3x",
            "n > \u0661",
            "n > 0 \ud800",
            "(" * 50_000 + "n",
            "!" * 5_000 + "true",
            "-" * 5_000 + "n > 0",
            "9" * 100_000 + " > n",
            "9" * 1_000_000 + " > n",
            "*".join(["9" * 300] * 100) + " > n",
            "*".join(["n"] * 3_000) + " > 0",
            "*".join(["(n + m + k + 1)"] * 60) + " > 0",
            "n" + " % (m + 1) % (k + 2)" * 12 + " > 5",
        )
    ),
]


@pytest.mark.parametrize("line", BROKEN, ids=[str(i) for i in range(len(BROKEN))])
def test_a_broken_line_is_an_error_and_nothing_worse(line):
    answer = prove_line(line)
    assert answer["result"] == "error"
    assert 0 < len(answer["message"]) < 200


@pytest.mark.parametrize(
    "goal",
    [
        " + ".join(["n"] * 5_000) + " > 0",
        " + ".join(f"n{i}" for i in range(3_000)) + " > 0",
        " && ".join(f"n{i} > 3" for i in range(2_000)),
        " || ".join(f"n{i} == 3" for i in range(2_000)),
        "max(n, " * 80 + "1" + ")" * 80 + " > 1",
        " + ".join(f"max(n{i}, m)" for i in range(60)) + " > 0",
        " + ".join(f"(n + {i}) // {i + 2}" for i in range(200)) + " > 0",
        "n" + " // (m + 1)" * 30 + " > 5",
    ],
    ids=str.__len__,
)
def test_a_long_question_is_answered(goal):
    assert ask(goal)["result"] == "neither"


def test_the_batch_goes_on_after_a_broken_line():
    lines = ['{"id": "a", "goal": "n >= 0"}', "{", "", '{"id": "b", "goal": "n < 0"}']
    assert [a["result"] for a in prove_lines(lines)] == ["valid", "error", "unsat"]


@pytest.mark.parametrize(
    "row",
    [
        {"facts": ["n >= 1"], "goal": "n * 2 >= 2"},
        {"goal": "n >= 0", "Assume": []},
        {"goal": "1 / 0 == 0"},
        {"goal": "n >= 0", "assume": ["n % 0 == 1", "n < 0"]},
        {"goal": "1 / 0 == 0", "assume": ["n < 0"]},
        {"goal": "max(n, 0 // 0) >= 0"},
    ],
)
def test_a_key_that_is_none_and_a_division_by_0_are_errors(row):
    assert prove_line(json.dumps(row))["result"] == "error"


def test_a_question_from_standard_input_is_answered_before_the_next_one():
    command = [sys.executable, "-m", "rxlang", "prove"]
    question = json.dumps({"id": 1, "assume": ["n % 4 == 0"], "goal": "n // 4 * 4 == n"})
    environment = {**os.environ, "PYTHONPATH": str(Path(rxlang.__file__).parent.parent), "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as solver:
        answered = Timer(30, solver.kill)
        answered.start()
        for _ in range(2):
            solver.stdin.write(question + "\n")
            solver.stdin.flush()
            assert json.loads(solver.stdout.readline() or "{}").get("result") == "valid"
        answered.cancel()
