"""What exporters write as a dimension's name: expressions mean what they say, in Rx too, and what is none is a name."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from rxlang import pipeline
from rxlang.frontends.onnx import dims
from rxlang.frontends.onnx.dims import evaluate, names, read_dim, size_text
from rxlang.frontends.onnx.model import Graph, ModelValue, TensorType
from rxlang.frontends.onnx.names import RESERVED, ScopeNames
from rxlang.lang import core
from rxlang.lang.source import NOWHERE
from support import fuzz

TRIES = fuzz.tries("dimensions of models")


def named(name: str) -> core.SizeExpr:
    return core.SizeVar(NOWHERE, name)


def text_of(written: str) -> str:
    return size_text(read_dim(written).size, str)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2*N", "2 * N"),
        ("4*h4", "4 * h4"),
        ("2*(((h - 1)//2)) + 2", "2 * ((h - 1) // 2) + 2"),
        ("Max(s17, s77)", "max(s17, s77)"),
        ("Max(1, a, b) - 1", "max(max(1, a), b) - 1"),
        ("s77**2", "s77 * s77"),
        ("Mod(h, 2)", "h % 2"),
        ("PythonMod(h, 2)", "h % 2"),
        ("floor(h/2 - 1/2)", "(h - 1) // 2"),
        ("floor((h + 1)/2)", "(h + 1) // 2"),
        ("ceiling(h/2)", "ceildiv(h, 2)"),
        ("TruncToInt(1.5*ToFloat(s27))", "3 * s27 // 2"),
        ("TruncToInt(IntTrueDiv(s, 3))", "s // 3"),
        ("CeilToInt(IntTrueDiv(s, 3))", "ceildiv(s, 3)"),
        ("floor(2.0*h)", "2 * h"),
        ("past_sequence_length + sequence_length", "past_sequence_length + sequence_length"),
        ("h/2", "h / 2"),
        ("h - (w - 1)", "h - (w - 1)"),
        ("ModularIndexing(h, 2, 3)", "h // 2 % 3"),
        ("(h)", "h"),
        ("h//(w//2)", "h // (w // 2)"),
        ("2*images.2", "2 * images.2"),
        ("broadcast(h, w + 1) + a", "broadcast(h, w + 1) + a"),
    ],
)
def test_the_spellings_of_exporters_are_read(written: str, read: str) -> None:
    assert read_dim(written).note is None
    assert text_of(written) == read


@pytest.mark.parametrize(
    "written",
    ["?", "-1", "a.b", "serving_default_input:0", "unk__7", "batch-size", "u0", "3", "", " ", "h ", "a b"]
    + ["batch_size x num_heads", "größe", "past decoder sequence", "onnx::Concat_12", "Addinput_dim_1", "__", "N'", "-", "2h"],
)  # fmt: skip
def test_a_plain_name_is_a_name_without_a_word(written: str) -> None:
    assert read_dim(written) == dims.ReadDimension(named(written))


@pytest.mark.parametrize(
    "written",
    ["foo(h)", "0.7*h", "1.5*h", "2**h", "((((h", "h**-1", "h +", "Max()", "Mod(h)", "h/0", "Piecewise((h, h > 1), (1, True))"]
    + ["3*FloatTrueDiv(ToFloat(h), 3.0)", "TruncToInt(3.0*IntTrueDiv(h, 7))", "(" * 80 + "h" + ")" * 80, "h*" * 2000 + "h"]
    + ["h*99999999999999999999", "h**17", "1e999*h", "1e-999*h", "h*(w", "h +* w", "floor(h, w)", "0x10*h"],
)  # fmt: skip
def test_what_looks_like_an_expression_and_is_not_understood_is_a_name_with_a_note(written: str) -> None:
    read = read_dim(written)
    assert read.size == named(written)
    assert read.note is not None and "is read as a name: " in read.note and len(read.note) < 250


def test_a_hyphen_is_a_minus_only_between_names_that_stand_for_themselves() -> None:
    assert read_dim("batch-size", {"batch"}).size == named("batch-size")
    assert read_dim("batch-size", {"batch", "size"}).size == core.operation(NOWHERE, "-", named("batch"), named("size"))
    assert read_dim("h-1", {"h"}).size == core.operation(NOWHERE, "-", named("h"), core.SizeLit(NOWHERE, 1))
    assert read_dim("batch - size").size == core.operation(NOWHERE, "-", named("batch"), named("size"))


def test_a_name_that_no_input_has_as_a_size_is_not_declared() -> None:
    inputs = (
        ModelValue("x", TensorType("float32", ("b", "2*N", 3, None))),
        ModelValue("y", None),
        ModelValue("z", TensorType(None, None)),
    )
    assert dims.declared(Graph("g", inputs, (), (), (), ())) == {"b"}
    assert set(names(read_dim("b + u0").size)) - {"b"} == {"u0"}


# Random expressions


def expression(random: Random, depth: int) -> str:
    """An expression over h and w of which Python computes the value too; fractions stand below floor and the like."""
    part = lambda: expression(random, depth - 1)  # noqa: E731
    if depth == 0 or random.random() < 0.15:
        return random.choice(["h", "w", "h", str(random.randint(0, 9))])
    number = random.randint(1, 8)
    return random.choice(
        [
            lambda: f"{part()} + {part()}", lambda: f"{part()} - ({part()})", lambda: f"({part()})*({part()})",
            lambda: f"(({part()})//{number})", lambda: f"Mod({part()}, {number})", lambda: f"Max({part()}, {part()})",
            lambda: f"Min({part()}, {part()}, {number})", lambda: f"({part()})**{random.randint(0, 2)}",
            lambda: f"floor(({part()})/{number} - 1/{random.randint(1, 4)})", lambda: f"-({part()})",
            lambda: f"ceiling(({part()})/{number} + {number})", lambda: f"CeilToInt(IntTrueDiv({part()}, {number}))",
            lambda: f"TruncToInt({random.choice(['1.5', '0.25', '2.0', '0.125', '1.0'])}*ToFloat({part()}) - 0.5)",
            lambda: f"TruncToInt(FloatTrueDiv(ToFloat({part()}), {number}.0))", lambda: f"({part()})//(h + 1)",
            lambda: f"ModularIndexing({part()}, 2, {number})", lambda: f"PowByNatural({part()}, 2)",
            lambda: f"floor(({part()})/(w + 2))",
        ]
    )()  # fmt: skip


MEANING = {
    "floor": math.floor, "ceiling": math.ceil, "TruncToInt": math.trunc, "CeilToInt": math.ceil, "ToFloat": float, "Max": max,
    "Min": min, "Mod": lambda a, b: a % b, "IntTrueDiv": lambda a, b: float(int(a)) / float(int(b)),
    "FloatTrueDiv": lambda a, b: a / b, "ModularIndexing": lambda a, b, c: a // b % c, "PowByNatural": lambda a, b: a**b,
}  # fmt: skip


def meaning(written: str, h: int, w: int) -> object:
    """What Python computes, with integers as fractions, so that `/` is exact."""
    exact = re.sub(r"(?<![\w.])(\d+)(?![\w.])", r"F(\1)", written)
    return eval(exact, {"__builtins__": {}}, {**MEANING, "F": Fraction, "h": Fraction(h), "w": Fraction(w)})


def test_random_expressions_mean_what_python_computes_and_rx_text_says_the_same() -> None:
    random, read = Random(5), 0
    for _ in range(TRIES):
        written = expression(random, random.randint(1, 4))
        found = read_dim(written)
        if found.size == named(written):
            continue
        read += 1
        spelled = size_text(found.size, str)
        again = read_dim(spelled).size
        for h, w in ((1, 1), (2, 3), (7, 5), (13, 8), (640, 479), (0, 6)):
            value = evaluate(found.size, {"h": h, "w": w})
            assert value == meaning(written, h, w), (written, spelled, h, w)
            assert value == evaluate(again, {"h": h, "w": w}), (written, spelled)
    assert read > TRIES // 2


def test_rx_computes_what_the_text_says() -> None:
    random, values = Random(6), {"h": 13, "w": 8}
    sizes = [read_dim(expression(random, 3), values).size for _ in range(40)]
    known = {size_text(size, str): evaluate(size, values) for size in sizes if set(names(size)) <= {*values}}
    lines = [f"  assert {text} == {value}" for text, value in known.items() if value is not None]
    program = "@f = fn(x : Tensor([h, w], float32)) {\n" + "\n".join(lines) + "\n  x\n}\nlet y = @f(@zeros([13, 8]))\n"
    report = pipeline.check_text(program, "f.rx", Path())
    assert len(lines) > 20 and [d.message for d in report.diagnostics if d.severity == "error"] == []


# Names


def test_names_are_legal_short_different_and_the_same_each_time() -> None:
    random = Random(7)
    letters = "ab/.:_-0 1é'\n@"
    originals = ["".join(random.choices(letters, k=random.randint(0, 90))) for _ in range(TRIES)]
    originals += [*RESERVED, "", "123", "_", "a", "a_2", "a", "A"]
    first, second = ScopeNames(), ScopeNames()
    made = [
        (kind, original, getattr(first, kind)(original))
        for original in originals
        for kind in ("value", "size", "function")
    ]
    assert made == [(kind, original, getattr(second, kind)(original)) for kind, original, _ in made]
    assert len({name for _, _, name in made}) == len({(kind, original) for kind, original, _ in made})
    for _, _, name in made:
        assert name.isascii() and name.isidentifier() and name[0].isalpha() and len(name) <= 46 and name not in RESERVED
    kept = dict(first.sizes())
    assert all(kept.get(name, original) == original for kind, original, name in made if kind == "size")


def test_a_size_that_is_called_like_a_value_gets_another_name() -> None:
    names_ = ScopeNames({"f"})
    assert (names_.value("n"), names_.size("n"), names_.value("n"), names_.size("n")) == ("n", "n_2", "n", "n_2")
    assert names_.function("f") == "f_2"
    assert names_.fresh("n") == "n_3"


def test_of_a_long_path_the_last_parts_are_kept() -> None:
    made = ScopeNames().value("/model/decoder/block/layers.11/self_attn/q_proj/MatMul_output_0")
    assert made == "self_attn_q_proj_MatMul_output_0"
    assert [ScopeNames().value("/layers.0/fc/Add"), ScopeNames().value("1x"), ScopeNames().size("0")] == [
        "layers_0_fc_Add",
        "v1x",
        "n0",
    ]


def test_ten_thousand_names_of_one_stem_take_linear_time() -> None:
    names_ = ScopeNames()
    made = [names_.value(f"x.{chr(0x4E00 + n)}") for n in range(10_000)]
    assert made == ["x", *(f"x_{n}" for n in range(2, 10_001))]


@pytest.mark.parametrize("original", sorted({*RESERVED, "True", "False", "None", "n"}))
def test_a_size_of_a_model_may_be_called_like_anything(original: str) -> None:
    made = ScopeNames().size(original)
    report = pipeline.check_text(
        f"@f = fn(x : Tensor([{made}, 3], int8)) : Tensor([{made}, 3], int8) {{ x }}", "a.rx", Path()
    )
    assert report.ok, made
