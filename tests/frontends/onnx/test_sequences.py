"""Models whose values are sequences, optional values, maps and strings: what they give, and what is told of them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import rxlang

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from rxlang import pipeline  # noqa: E402
from rxlang.cli.main import invoke  # noqa: E402
from support import fuzz  # noqa: E402

RUNS = fuzz.tries("sequences of models")
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
FUNCTIONS = {"min": min, "max": max, "ceildiv": lambda a, b: -(-a // b)}


def sequence_type(dtype: int = FLOAT) -> Any:
    return helper.make_sequence_type_proto(helper.make_tensor_type_proto(dtype, None))


def saved(
    path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], constants: dict[str, Any] | None = None
) -> Path:
    held = [numpy_helper.from_array(np.asarray(v), n) for n, v in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, held)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def tensor(name: str, shape: list[Any] | None = None, dtype: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def told(path: Path) -> Any:
    """What is known of the results."""
    report = pipeline.check_bytes(b"", str(path), path.parent)
    assert report.checked is not None and report.ok, [d.message for d in report.diagnostics]
    result = next(f for f in report.checked.shapes if f.name == "@main").result
    return result.items if result.sort == "Tuple" else (result,)


def is_so(known: Any, value: Any, sizes: dict[str, int]) -> bool:
    """Whether nothing that is known of a value is wrong."""
    if known.sort in ("Sequence", "Optional"):
        parts = value if known.sort == "Sequence" else [] if value is None else [value]
        if [i.name[-3:] for i in known.items] == ["[?]"]:
            return all(is_so(known.items[0], part, sizes) for part in parts)
        return len(known.items) == len(parts) and all(
            is_so(k, p, sizes) for k, p in zip(known.items, parts, strict=True)
        )
    shape = known.shape if known.shape is not None else ("?",) * value.ndim
    numbers = [eval(str(s), {"__builtins__": {}}, {**FUNCTIONS, **sizes}) if s != "?" else None for s in shape]
    return len(numbers) == value.ndim and all(n in (None, size) for n, size in zip(numbers, value.shape, strict=True))


def same(found: Any, right: Any) -> bool:
    if isinstance(right, list):
        return isinstance(found, list) and len(found) == len(right) and all(map(same, found, right))
    if right is None:
        return found is None
    return found.shape == right.shape and found.dtype == right.dtype and np.array_equal(found, right)


class Walk:
    """A random model over sequences, with the values that it has for some arguments."""

    def __init__(self, r: Random) -> None:
        self.r = r
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.number = 0
        n = r.choice([1, 2, 4])
        self.sizes = {"n": n}
        count = iter(range(10_000))
        new = lambda *shape: np.array([next(count) for _ in range(int(np.prod(shape)))], np.float32).reshape(shape)  # noqa: E731
        self.given: dict[str, Any] = {
            "x": new(n, 3),
            "y": new(2, 3),
            "s": [new(k, 3) for k in range(r.choice([0, 1, 3]))],
        }
        self.tensors = {"x": self.given["x"], "y": self.given["y"]}
        self.sequences: dict[str, list[Any]] = {"s": self.given["s"]}
        self.optionals: dict[str, Any] = {}

    def name(self) -> str:
        self.number += 1
        return f"v{self.number}"

    def add(self, op: str, inputs: list[str], **attributes: Any) -> str:
        name = self.name()
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def position(self, count: int) -> tuple[str, int]:
        """A position below a count, told or as an argument."""
        at = self.r.randrange(-count, count)
        name = self.name()
        (self.constants if self.r.random() < 0.6 else self.given)[name] = np.array(at, np.int64)
        return name, at

    def step(self) -> None:
        r = self.r
        s, items = r.choice(list(self.sequences.items()))
        x, value = r.choice(list(self.tensors.items()))
        made = r.choice(
            ["construct", "insert", "append", "erase", "at", "length", "split", "join", "if", "loop", "optional", "map"]
        )
        if made == "construct":
            names = r.choices(list(self.tensors), k=r.choice([1, 2, 3]))
            self.sequences[self.add("SequenceConstruct", names)] = [self.tensors[n] for n in names]
        elif made == "append":
            self.sequences[self.add("SequenceInsert", [s, x])] = [*items, value]
        elif made == "insert" and items:
            name, at = self.position(len(items))
            self.sequences[self.add("SequenceInsert", [s, x, name])] = [*items[:at], value, *items[at:]]
        elif made == "erase" and items:
            name, at = self.position(len(items))
            rest = list(items)
            del rest[at]
            self.sequences[self.add("SequenceErase", [s, name])] = rest
        elif made == "at" and items:
            name, at = self.position(len(items))
            self.tensors[self.add("SequenceAt", [s, name])] = items[at]
        elif made == "split" and value.ndim == 2:
            self.sequences[self.add("SplitToSequence", [x], axis=0)] = [value[i : i + 1] for i in range(len(value))]
        elif made == "join" and items and all(i.shape[1:] == items[0].shape[1:] for i in items):
            self.tensors[self.add("ConcatFromSequence", [s], axis=0)] = np.concatenate(items)
        elif made == "optional":
            name = self.add("Optional", [s])
            self.sequences[self.add("OptionalGetElement", [self.add("Identity", [name])])] = items
        elif made == "if":
            self.branch(s, items)
        elif made == "loop":
            self.loop(s, items, x, value)
        elif made == "map":
            body = helper.make_graph(
                [helper.make_node("Concat", ["e", "e"], ["d"], axis=0)], "b", [tensor("e")], [tensor("d")]
            )
            self.sequences[self.add("SequenceMap", [s], body=body)] = [np.concatenate([i, i]) for i in items]

    def branch(self, s: str, items: list[Any]) -> None:
        other, others = self.r.choice(list(self.sequences.items()))
        cond = self.name()
        self.given[cond] = np.array(self.r.random() < 0.5)
        arms = {}
        for which, source in (("then_branch", s), ("else_branch", other)):
            out = self.name()
            node = helper.make_node("Identity", [source], [out])
            arms[which] = helper.make_graph([node], which, [], [helper.make_value_info(out, sequence_type())])
        self.sequences[self.add("If", [cond], **arms)] = list(items if self.given[cond] else others)

    def loop(self, s: str, items: list[Any], x: str, value: Any) -> None:
        """Appends a tensor in each turn; as in functions, the body may not say what it carries."""
        turns, count = self.r.choice([0, 1, 3]), self.name()
        (self.constants if self.r.random() < 0.5 else self.given)[count] = np.array(turns, np.int64)
        i, c, a, c2, b = (self.name() for _ in range(5))
        said = lambda name: helper.make_value_info(name, sequence_type())  # noqa: E731
        said = self.r.choice((said, helper.make_empty_tensor_value_info))
        body = helper.make_graph(
            [helper.make_node("Identity", [c], [c2]), helper.make_node("SequenceInsert", [a, x], [b])],
            "body",
            [tensor(i, [], INT64), tensor(c, [], BOOL), said(a)],
            [tensor(c2, [], BOOL), said(b)],
        )
        self.sequences[self.add("Loop", [count, "", s], body=body)] = [*items, *[value] * turns]

    def save(self, path: Path) -> tuple[list[Any], list[Any]]:
        """The arguments and the right results: the last values of each kind."""
        given = [tensor("x", ["n", 3]), tensor("y", [2, 3]), helper.make_value_info("s", sequence_type())]
        more = [n for n in self.given if n not in "xys"]
        given += [tensor(n, [], BOOL if self.given[n].dtype == bool else INT64) for n in more]
        results = {**dict(list(self.sequences.items())[-3:]), **dict(list(self.tensors.items())[-3:])}
        results = {n: v for n, v in results.items() if n not in self.given}
        if not results:
            results = {self.add("Identity", ["s"]): self.given["s"]}
        outputs = [
            helper.make_value_info(n, sequence_type()) if isinstance(v, list) else tensor(n) for n, v in results.items()
        ]
        saved(path, self.nodes, given, outputs, self.constants)
        return [self.given[n] for n in ("x", "y", "s", *more)], list(results.values())


@pytest.mark.parametrize("number", range(RUNS))
def test_models_over_sequences_give_what_lists_give_and_nothing_told_is_wrong(number: int, tmp_path: Path) -> None:
    walk = Walk(Random(number))
    for _ in range(walk.r.randint(3, 9)):
        walk.step()
    path = tmp_path / "m.onnx"
    given, right = walk.save(path)
    known = told(path)
    main = rxlang.load(path, allow_empty=True).main
    for _ in range(3):  # by a plan at last
        found = main(*given)
        found = found if isinstance(found, tuple) else (found,)
        assert len(found) == len(right) and all(map(same, found, right)), path
    assert all(is_so(k, v, walk.sizes) for k, v in zip(known, right, strict=True))


# In the language

HOLDERS = ["Sequence(float32)", "Optional(Sequence(int64))", "Map(string, float32)", "Sequence(Map(int64, float32))"]


@pytest.mark.parametrize("type_", HOLDERS)
def test_a_type_that_holds_others_is_read_as_it_is_printed(
    type_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.rx"
    path.write_text(
        f"@f = fn(a : {type_}, n : Size) : {type_} {{ for i in range(n) with (b : {type_} = a) {{ b }} }}\n"
    )
    for _ in range(2):  # the second time in core form
        report = pipeline.check_bytes(path.read_bytes(), "p.rx", tmp_path)
        assert report.ok and report.checked is not None
        known = next(f for f in report.checked.shapes if f.name == "@f")
        assert [b.dtype for b in (known.params[0], known.result)] == [type_, type_]
        assert invoke(["desugar", str(path)]) == 0
        path.write_text(capsys.readouterr().out)


WRONG = [
    "Sequence",
    "Sequence()",
    "Sequence(nothing)",
    "Sequence(float32, int64)",
    "Map(float32)",
    "Map(float32, int64)",
]


@pytest.mark.parametrize("type_", WRONG)
def test_what_holds_nothing_that_there_is_is_no_type(type_: str, tmp_path: Path) -> None:
    report = pipeline.check_bytes(f"@f = fn(a : {type_}) {{ a }}\n".encode(), "p.rx", tmp_path)
    assert "E216" in [str(d.code) for d in report.diagnostics] or not report.ok


FORGOTTEN = {
    "a parameter": "@g = fn(x : Tensor) : Tensor([]) { tensor(1, int64) }\n@f = fn(s : Sequence(float32)) { @g(s) }",
    "a named dtype": "@g = fn(x : Tensor([], d)) : Tensor([], d) { x }\n@f = fn(s : Sequence(float32)) { @g(s) }",
    "a result": "@f = fn(s : Sequence(float32)) : Tensor([]) { s }",
    "a part of a result": "@f = fn(s : Sequence(float32)) : (Tensor([]), Sequence(float32)) { (s, s) }",
    "a carry": "@f = fn(s : Sequence(float32)) { for i in range(3) with (q : Tensor(?, ?) = s) { q } }",
    "what a turn gives": "@f = fn(s : Sequence(float32)) {"
    " for i in range(3) with (q : Tensor(?, ?) = tensor(1, float32)) { s } }",
    "an argument of a function value": "@f = fn(s : Sequence(float32), g : fn(Tensor) : Tensor) { g(s) }",
    "a result of a function value": "@g = fn(h : fn(Tensor([], int64)) : Tensor([], ?)) { h(tensor(1, int64)) }\n"
    "@f = fn(s : Sequence(float32)) { @g(fn(x : Tensor([], int64)) { s }) }",
    "a list of implementations": "@g = fn(x : Tensor([])) { 1.0 }\n@k = fn(x : Tensor) { 2.0 }\n@h = [@g, @k]\n"
    "@f = fn(s : Sequence(float32)) { @h(s) }",
    "one arm of two": "@g = fn(x : Tensor) : Tensor([]) { tensor(1, int64) }\n@f = fn(s : Sequence(float32), c : bool) {"
    " @g(if (c) { s } else { @onnx.empty(Sequence(float32)) }) }",
}


@pytest.mark.parametrize("program", FORGOTTEN.values(), ids=FORGOTTEN)
def test_nowhere_is_a_type_that_holds_others_forgotten(program: str, tmp_path: Path) -> None:
    report = pipeline.check_bytes(program.encode(), "p.rx", tmp_path)
    assert not report.ok
    assert any("dtype in any" in d.message or "fits this call" in d.message for d in report.diagnostics)


@pytest.mark.parametrize(
    "call", ["@reshape(s, [1])", "@abs(s)", "s + s", "@concat([s, s], axis=0)", "@equal(s, s)", "s[0]"]
)
def test_a_primitive_of_tensors_takes_none_that_holds_others(call: str, tmp_path: Path) -> None:
    report = pipeline.check_bytes(f"@f = fn(s : Sequence(float32)) {{ {call} }}\n".encode(), "p.rx", tmp_path)
    assert not report.ok


def test_a_wrong_position_in_a_sequence_of_known_length_is_refuted(tmp_path: Path) -> None:
    def checked(at: int) -> bool:
        text = (
            f"@f = fn(x : Tensor([n], float32)) {{ @onnx.sequence_at(@onnx.sequence([x, x]), tensor({at}, int64)) }}\n"
        )
        return pipeline.check_bytes(text.encode(), "p.rx", tmp_path).ok

    assert [checked(at) for at in (-3, -2, -1, 0, 1, 2)] == [False, True, True, True, True, False]


# What loops carry

LOOPS = {
    "for i in range(k) with (s = @onnx.empty(Sequence(float32))) { @onnx.sequence_insert(s, x) }": ("n", 3),
    "for i in range(k) with (s = @onnx.sequence([x])) { @onnx.sequence_insert(s, x[0:1]) }": ("?", 3),
    "for i in range(k) with (s = @onnx.sequence([x])) {"
    " @onnx.sequence_insert(s, @concat([@onnx.sequence_at(s, tensor(-1, int64)), x], axis=0)) }": ("?", 3),
    "for i in range(k) with (s = @onnx.empty(Sequence(float32))) {"
    " for j in range(i) with (t = s) { @onnx.sequence_insert(t, x + 1.0) } }": ("n", 3),
    "for i in range(k) with (s = @onnx.sequence([x])) { if (i > 1) { s } else { @onnx.sequence([y]) } }": ("?", 3),
    "for i in range(k) with (s = @onnx.sequence([y[0]])) { @onnx.sequence_insert(s, x) }": None,
    "for i in range(k) with (s = @onnx.empty(Sequence(float32))) { @onnx.sequence_insert(s, x[0:i]) }": ("?", 3),
    "(for i in range(k) with (s = @onnx.empty(Sequence(float32)), z : Tensor(?, float32) = x)"
    " { (@onnx.sequence_insert(s, z), @concat([z, z], axis=0)) })[0]": ("?", 3),
}


@pytest.mark.parametrize("body", LOOPS)
def test_what_a_loop_s_sequence_holds_in_every_turn_is_known(body: str, tmp_path: Path) -> None:
    path = tmp_path / "p.rx"
    path.write_text(f"@main = fn(x : Tensor([n, 3], float32), y : Tensor([2, 3], float32), k : Size) {{ {body} }}\n")
    report = pipeline.check_bytes(path.read_bytes(), "p.rx", tmp_path)
    assert report.ok and report.checked is not None, [d.message for d in report.diagnostics]
    result = next(f for f in report.checked.shapes if f.name == "@main").result
    [element] = result.items
    assert element.shape == LOOPS[body]
    main = rxlang.load(path, allow_empty=True).main
    for n in (0, 1, 4):
        for k in (0, 1, 3):
            found = main(np.ones((n, 3), np.float32), np.ones((2, 3), np.float32), k)
            assert is_so(result, found, {"n": n})


# From Python and from the command line

PROGRAM = """@main = fn(xs : Sequence(float32), o : Optional(Sequence(int64)), m : Map(string, float32)) {
  (@onnx.sequence_insert(xs, tensor(7, float32), position=tensor(0, int64)), o, @onnx.optional_has(o), m)
}
"""


def test_python_gives_and_gets_lists_dicts_and_none(tmp_path: Path) -> None:
    (tmp_path / "p.rx").write_text(PROGRAM)
    main = rxlang.load(tmp_path / "p.rx").main
    x = np.ones(2, np.float32)
    xs, o, there, m = main([x], None, {"b": np.float32(2), "a": 1.5})
    assert same(xs, [np.float32(7) + np.zeros((), np.float32), x]) and o is None and not there
    assert {k: float(v) for k, v in m.items()} == {"b": 2.0, "a": 1.5}
    xs[1][0] = 9
    assert x[0] == 1, "a result is nobody else's"
    xs, o, there, m = main([], [np.arange(3)], {})
    assert len(xs) == 1 and same(o, [np.arange(3)]) and there and m == {}


@pytest.mark.parametrize(
    "given",
    [
        (np.ones(2, np.float32), None, {}), (None, None, {}), ([np.ones(2)], None, {}), ([1.0], None, {}),
        ([[np.ones(2, np.float32)]], None, {}), ([], [None], {}), ([], None, []), ([], None, {1: 2.0}), ([], None, {"a": "b"}),
    ],
)  # fmt: skip
def test_what_is_of_another_type_is_refused_with_its_name(given: tuple[Any, ...], tmp_path: Path) -> None:
    (tmp_path / "p.rx").write_text(PROGRAM)
    with pytest.raises(rxlang.ShapeError, match="R404"):
        rxlang.load(tmp_path / "p.rx").main(*given)


def test_the_command_line_reads_and_writes_what_holds_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.rx").write_text(PROGRAM)
    arguments = ["--arg", "xs=[[1, 2]; 3; float32[2,1]:ones]", "--arg", "o=[[4, 5]]", "--arg", 'm={"a;b": 1; "c": 2.5}']
    assert invoke(["run", str(tmp_path / "p.rx"), *arguments, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    for line in ("result 0 : a sequence of 4", "result 0[1] : Tensor([2], float32) = [1., 2.]", 'result 3["a;b"]'):
        assert line in said
    assert np.load(tmp_path / "out" / "result.0.3.npy").shape == (2, 1)
    empty = ["--arg", "xs=[]", "--arg", "o=none", "--arg", "m={}"]
    assert invoke(["run", str(tmp_path / "p.rx"), *empty]) == 0
    assert "result 1 : an optional value that is not there" in capsys.readouterr().out
    for wrong in ("xs=3", "xs=[1:int64]", "o=3", 'm={"a"}', "m={1: 2}"):
        arguments = [a for a in empty if not a.startswith(wrong[:2])]
        arguments.remove("--arg")
        assert invoke(["run", str(tmp_path / "p.rx"), *arguments, "--arg", wrong]) != 0


# Node tests

MODULES = (
    "sequenceinsert", "sequence_map", "splittosequence", "optionalgetelement", "optionalhaselement", "loop", "scan", "identity",
    "string_concat", "string_split", "stringnormalizer", "regex_full_match", "tfidfvectorizer",
)  # fmt: skip
NAMES = tuple(f"test_{name}" for name in (
    "sequence", "split_to", "optional", "loop", "scan", "identity", "string", "strnormalizer", "regex", "tfidf",
))  # fmt: skip


def cases() -> list[Any]:
    from onnx.backend.test.case import node

    for module in MODULES:
        import_module(f"{node.__name__}.{module}")
    found = [case for case in node._NodeTestCases if case.name.startswith(NAMES)]
    return Random(0).sample(found, min(RUNS, len(found)))


def array(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(v) for v in value]
    if value is None:
        return None
    value = np.asarray(value)
    return value.astype(object).astype(str) if value.dtype.kind in "OUT" else value


@pytest.mark.filterwarnings("ignore")
def test_node_tests_give_what_they_say(tmp_path: Path) -> None:
    for test in cases():
        onnx.save(test.model, tmp_path / "m.onnx")
        found = rxlang.load(tmp_path / "m.onnx", allow_empty=True).main(*map(array, test.data_sets[0][0]))
        right = map(array, test.data_sets[0][1])
        for one, other in zip(found if isinstance(found, tuple) else (found,), right, strict=True):
            one, other = plain(one), plain(other)
            assert same(one, other) or np.allclose(one, other), test.name


TEXTS = ["the cat", "", " a,b;;c", "äöü B_1", "x"]
# What onnxruntime gives of these; `mark`, `mincharnum` and `pad_value` are said where they are others.
TOKENIZED: dict[str, tuple[dict[str, Any], list[list[str]]]] = {
    "spaces": ({"separators": [" "]}, [["the", "cat"], ["#", "#"], ["a,b;;c", "#"], ["äöü", "B_1"], ["x", "#"]]),
    "one kind after the other": (
        {"separators": ["[,;]", " "]}, [["the", "cat", "#"], ["#"] * 3, ["a", "b", "c"], ["äöü", "B_1", "#"], ["x", "#", "#"]],
    ),
    "a pattern": ({"tokenexp": "[a-z]+"}, [["the", "cat", "#"], ["#"] * 3, ["a", "b", "c"], ["#"] * 3, ["x", "#", "#"]]),
    "no short words": ({"tokenexp": "[a-z]+", "mincharnum": 2}, [["the", "cat"], *[["#"] * 2] * 4]),
    "marked": (
        {"separators": [" "], "mark": 1, "mincharnum": 4},
        [["\x02", "\x03", "#"], ["\x02", "\x03", "#"], ["\x02", "a,b;;c", "\x03"], *[["\x02", "\x03", "#"]] * 2],
    ),
    "characters": ({"separators": [""]}, [[*t, *["#"] * (7 - len(t))] for t in TEXTS]),
    "characters by a pattern": ({"tokenexp": "."}, [[*t, *["#"] * (7 - len(t))] for t in TEXTS]),
}  # fmt: skip


def tokenizer(path: Path, **how: Any) -> Path:
    usual = {"mark": 0, "mincharnum": 1, "pad_value": "#"}
    nodes = [helper.make_node("Tokenizer", ["x"], ["y"], name="n", domain="com.microsoft", **{**usual, **how})]
    return saved(path, nodes, [tensor("x", ["n"], TensorProto.STRING)], [tensor("y", None, TensorProto.STRING)])


@pytest.mark.parametrize("name", TOKENIZED)
def test_texts_are_taken_apart_as_onnxruntime_does(name: str, tmp_path: Path) -> None:
    how, expected = TOKENIZED[name]
    path = tokenizer(tmp_path / "m.onnx", **how)
    assert rxlang.load(path).main(np.array(TEXTS, object)).tolist() == expected
    (words,) = told(path)
    assert words.dtype == "string" and words.shape == ("n", "?")


@pytest.mark.parametrize("how", [{"tokenexp": "a|ab"}, {"separators": ["(,)"]}, {"tokenexp": ".", "mincharnum": 2}])
def test_patterns_that_others_match_otherwise_are_refused(how: dict[str, Any], tmp_path: Path) -> None:
    report = pipeline.check_bytes(b"", str(tokenizer(tmp_path / "m.onnx", **how)), tmp_path)
    assert not report.ok and "node n (Tokenizer)" in report.diagnostics[0].message
