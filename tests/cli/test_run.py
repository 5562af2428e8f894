"""`rx run`: arguments in all their forms, what is printed, and how it ends."""

from __future__ import annotations

import io
import json
import struct
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from rxlang.cli.main import invoke
from rxlang.interp.files import ValueProblem, read_array
from rxlang.interp.values import parse_value
from rxlang.python import api
from support import fuzz

FF = """@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32) {
  let z = @reshape(@cast(x, int32), [n, m, 4])
  @reshape(@sum(z, axis=2), [n * m])
}
@scaled = fn(x : Tensor([n], float32), k : Size, on : Bool) : Tensor([n], float32) where k >= 1 {
  if (on) { x * @cast(@size_to_tensor(k), float32) } else { x }
}
@show = fn(x : Tensor) : Tensor { x }
"""


class Ran:
    """How a command ended, and what it printed."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err


@pytest.fixture
def rx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # noqa: ANN201
    """Runs a command line in a folder that has ff.rx."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ff.rx").write_text(FF)

    def run(*arguments: str) -> Ran:
        status = invoke(list(arguments))
        out, err = capsys.readouterr()
        return Ran(status, out, err)

    return run


def show(rx, value: str) -> Ran:  # noqa: ANN001
    return rx("run", "ff.rx", "--call", "@show", "--arg", f"x={value}")


def test_a_function_is_called_and_its_result_printed_with_type_and_value(rx) -> None:
    ran = rx("run", "ff.rx", "--call", "@ff", "--arg", "x=int8[2,8]:arange")
    assert (ran.status, ran.out, ran.err) == (0, "result : Tensor([4], int32) = [ 6, 22, 38, 54]\n", "")


def test_the_at_sign_may_be_left_out_and_several_arguments_given(rx) -> None:
    ran = rx("run", "ff.rx", "--call", "scaled", "--arg", "k=3", "--arg", "on=true", "--arg", "x=[1, 2.5]")
    assert ran.out == "result : Tensor([2], float32) = [3. , 7.5]\n"


def test_a_failing_check_ends_with_status_3_and_its_diagnostic(rx) -> None:
    ran = rx("run", "ff.rx", "--call", "@ff", "--arg", "x=int8[2,7]:arange")
    assert ran.status == 3 and ran.out == ""
    assert ran.err.startswith(
        "error[R401]: @ff needs axis 1 of `x` to be a multiple of 4, but it is 7\n  --> ff.rx:1:25"
    )


def test_nothing_is_executed_of_a_program_that_does_not_check(rx) -> None:
    Path("bad.rx").write_text("let a = tensor([1], int8)\nlet b : Tensor([2], int8) = a\n")
    ran = rx("run", "bad.rx")
    assert ran.status == 1 and ran.out == "" and "error[E" in ran.err


def test_a_script_prints_its_names_in_order(rx) -> None:
    Path("s.rx").write_text("let b = tensor([1, 2], int8)\nlet a = b + b\nlet n = @size_to_tensor(a.dim(0))\n")
    ran = rx("run", "s.rx")
    assert ran.status == 0
    assert ran.out.splitlines() == [
        "b : Tensor([2], int8) = [1, 2]",
        "a : Tensor([2], int8) = [2, 4]",
        "n : Tensor([], int64) = 2",
    ]


def test_main_runs_without_being_asked_for(rx) -> None:
    Path("m.rx").write_text("@main = fn(a : Tensor([n], int8)) : (Tensor([n], int8), Size) { (a, n) }\n")
    ran = rx("run", "m.rx", "--arg", "a=[5, 6]")
    assert ran.out == "result 0 : Tensor([2], int8) = [5, 6]\nresult 1 : Size = 2\n"


def test_the_program_can_come_from_standard_input(rx, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"let a = tensor([1], int8)")))
    assert rx("run", "-").out == "a : Tensor([1], int8) = [1]\n"


def test_long_values_are_cut_as_numpy_cuts_them(rx) -> None:
    assert (
        show(rx, "int64[1000]:arange").out == "result : Tensor([1000], int64) = [  0,   1,   2, ..., 997, 998, 999]\n"
    )


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("3", "Tensor([], int64) = 3"),
        ("-2.5", "Tensor([], float64) = -2.5"),
        ("true", "Tensor([], bool) = True"),
        ("1e3", "Tensor([], float64) = 1000."),
        ("-inf:float16", "Tensor([], float16) = -inf"),
        ("[]", "Tensor([0], float64) = []"),
        ("[[], []]:int8", "Tensor([2, 0], int8) = []"),
        ("[1, 2]:uint8", "Tensor([2], uint8) = [1, 2]"),
        ("[1, 2]:bfloat16", "Tensor([2], bfloat16) = [1, 2]"),
        ("[ 1,2 , 3 ] : float32", "Tensor([3], float32) = [1., 2., 3.]"),
        ("[true, false]", "Tensor([2], bool) = [ True, False]"),
        ('["a", "b:c"]', "Tensor([2], string) = ['a', 'b:c']"),
        ("int64[]:zeros", "Tensor([], int64) = 0"),
        ("bool[2]:ones", "Tensor([2], bool) = [ True,  True]"),
        ("float32[2, 0]:random", "Tensor([2, 0], float32) = []"),
    ],
)
def test_literals_and_generated_tensors(rx, value: str, printed: str) -> None:
    ran = show(rx, value)
    assert (ran.status, ran.out) == (0, f"result : {printed}\n"), ran.err


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("[[1, 2], [3]]", "rows of different lengths: 2 and 1"),
        ("[1, [2]]", "mixes numbers and rows"),
        ("[[1], 2]", "mixes numbers and rows"),
        ("[1, 2", "is not a value"),
        ("1 2", "goes on after its value"),
        ("", "is not a value"),
        ("hello", "cannot be read"),
        ("float32[2, 3]", "says nothing of the elements: write float32[2, 3]:random"),
        ("300:int8", "300 is out of the range of int8, -128 to 127"),
        ("-1:uint8", "out of the range of uint8"),
        ("9" * 30, "out of the range of int64"),
        ("2.5:int8", "2.5 is no element of a int8 tensor"),
        ("true:int8", "no element of a int8 tensor"),
        ("1:int7", "'int7' is not a dtype"),
        ("float99[2,3]:ones", "'float99' is not a dtype"),
        ("[" * 5000, "at most 64 axes"),
        ("float32[2]:gaussian", "none of random, zeros, ones, arange"),
        ("float32[-2]:zeros", "not a shape"),
        ("float32[999999999999,999999999999]:zeros", "cannot be made"),
        (f"float32[{'9' * 18}]:zeros", "cannot be made"),
        (f"float32[{'9' * 19}]:zeros", "sizes are whole numbers"),
        ("none.npy", "cannot be read"),
        ("none.npz:w", "cannot be read"),
        ("junk.npy", "junk.npy is not a .npy file"),
        ("junk.npz:w", "cannot be read"),
        ("junk.safetensors:w", "is not a .safetensors file"),
        ("objects.npy", "a type that Rx does not know"),
        ("dates.npy", "a type that Rx does not know"),
        ("some.npz:q", "has no tensor 'q'; it has a, b"),
        ("some.npz", "say which"),
        ("one.npy:k", "no key"),
    ],
)
def test_a_bad_value_is_one_line_and_status_2(rx, value: str, said: str) -> None:
    for name in ("junk.npy", "junk.npz", "junk.safetensors"):
        Path(name).write_bytes(b"\xff" * 64)
    np.save("objects.npy", np.array([object()]), allow_pickle=True)
    np.save("dates.npy", np.zeros(2, "M8[s]"))
    np.save("one.npy", np.zeros(2))
    np.savez("some.npz", a=np.zeros(1), b=np.zeros(2))
    ran = show(rx, value)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err and ran.err.count("\n") == 1 and ran.err.startswith("rx: --arg x: "), ran.err


def test_tuples_are_arguments_with_tuples_inside_of_them(rx) -> None:
    np.save("x.npy", np.array(3))
    Path("f.rx").write_text("@f = fn(p : ((Tensor, Size), (Tensor, Bool), Tensor)) : Tensor { p[0][0] * 2 }")
    for given in (
        '((3; 2); (["a;b", ")"]; true); float32[2]:ones)',
        "(3; 2); ([]; false); 4",
        "((x.npy; 2); ( x.npy; true ); x.npy)",
    ):
        ran = rx("run", "f.rx", "--call", "@f", "--arg", f"p={given}")
        assert (ran.status, ran.out) == (0, "result : Tensor([], int64) = 6\n"), ran.err
    ran = rx("run", "f.rx", "--call", "@f", "--arg", "p=(3; 2)")
    assert ran.status == 2
    assert ran.err.endswith("rx: --arg p: it is a tuple of 3, not of 2: write it (VALUE; VALUE; VALUE)\n")


def test_files_of_three_kinds_are_arguments(rx) -> None:
    x = np.arange(3, dtype=np.float32)
    np.save("x.npy", x)
    np.savez("x.npz", x=x)
    header = json.dumps({"x": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}}).encode()
    Path("x.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + x.tobytes())
    for value in ("x.npy", "x.npz:x", "x.npz", "x.safetensors:x", "x.safetensors"):
        assert show(rx, value).out == "result : Tensor([3], float32) = [0., 1., 2.]\n"


def test_bfloat16_weights_keep_their_dtype(rx) -> None:
    header = json.dumps({"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    Path("x.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\x80\x3f\x00\x40")
    assert show(rx, "x.safetensors:x").out == "result : Tensor([2], bfloat16) = [1, 2]\n"


@pytest.mark.parametrize("place", [[0, 13], [-4, 8], [4, 16]])
def test_a_tensors_place_that_does_not_fit_its_shape_is_refused(rx, place: list[int]) -> None:
    header = json.dumps({"x": {"dtype": "F32", "shape": [3], "data_offsets": place}}).encode()
    Path("x.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 12)
    ran = show(rx, "x.safetensors:x")
    assert ran.status == 2 and "damaged" in ran.err


def test_a_literal_takes_the_dtype_that_the_parameter_declares_where_it_fits(rx) -> None:
    ran = rx("run", "ff.rx", "--call", "ff", "--arg", "x=[[1, 2, 3, 4]]")
    assert ran.out == "result : Tensor([1], int32) = [10]\n"
    assert rx("run", "ff.rx", "--call", "ff", "--arg", "x=[[1, 2, 3, 400]]").status == 3
    assert rx("run", "ff.rx", "--call", "ff", "--arg", "x=[[1, 2, 3, 4]]:int16").status == 3


def test_random_values_follow_the_seed(rx) -> None:
    def once(*options: str) -> str:
        return rx("run", "ff.rx", "--call", "show", "--arg", "x=float32[3]:random", *options).out

    assert once("--seed", "1") == once("--seed", "1") != once("--seed", "2")
    assert once() == once("--seed", "0")


def test_out_writes_the_results_as_npy(rx) -> None:
    Path("s.rx").write_text("let a = tensor([1, 2], int8)\nlet p = (a, a + a)\n")
    assert rx("run", "s.rx", "--out", "made/here").status == 0
    assert sorted(p.name for p in Path("made/here").iterdir()) == ["a.npy", "p.0.npy", "p.1.npy"]
    assert np.load("made/here/p.1.npy").tolist() == [2, 4]


def test_dtypes_that_a_npy_file_cannot_hold_are_widened(rx) -> None:
    assert rx("run", "ff.rx", "--call", "show", "--arg", "x=[1.5]:bfloat16", "--out", "made").status == 0
    assert np.load("made/result.npy").dtype == np.float32 and np.load("made/result.npy").tolist() == [1.5]
    assert rx("run", "ff.rx", "--call", "show", "--arg", 'x=["a", "bc"]', "--out", "made").status == 0
    assert np.load("made/result.npy").tolist() == ["a", "bc"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.rx"], "cannot read 'none.rx': No such file or directory"),
        (["ff.rx"], "neither a script nor @main: --call one of its functions (@ff, @scaled, @show)"),
        (["ff.rx", "--call", "@gg"], "has no function @gg; it has @ff, @scaled, @show"),
        (["ff.rx", "--call", "@ff_impl"], "has no function @ff_impl"),
        (["ff.rx", "--call", "@ff"], "@ff is called without 'x'"),
        (["ff.rx", "--call", "@ff", "--arg", "y=3"], "@ff has no parameter 'y'; its parameters are x"),
        (["ff.rx", "--call", "@ff", "--arg", "x"], "is not NAME=VALUE"),
        (["ff.rx", "--call", "@ff", "--arg", "x=1", "--arg", "x=2"], "given twice"),
        (["ff.rx", "--call", "@scaled", "--arg", "x=[1]", "--arg", "on=true", "--arg", "k=1.5"], "a Size: an integer"),
        (["s.rx", "--arg", "x=1"], "has a script, which takes no arguments"),
        (["ff.rx", "--root", "nowhere"], "is not a folder"),
        (["s.rx", "--out", "ff.rx"], "cannot write into 'ff.rx'"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(rx, arguments: list[str], said: str) -> None:
    Path("s.rx").write_text("let a = tensor([1], int8)\n")
    ran = rx("run", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err and ran.err.count("\n") == 1


def test_stats_tell_checks_proved_and_executed_weights_and_times(rx) -> None:
    np.save("w.npy", np.ones((2, 2), np.float32))
    Path("w.rx").write_text(
        'const w : Tensor([2, 2], float32) = load("w.npy")\n'
        "@f = fn(x : Tensor([n, 2], float32)) : Tensor([n, 2], float32) { @matmul(x, w) }\n"
    )
    ran = rx("run", "w.rx", "--call", "f", "--arg", "x=float32[3,2]:ones", "--stats")
    lines = ran.out.splitlines()[4:]
    assert ran.status == 0, ran.err
    assert lines[0].endswith("on entry); 3 executed") and " proved, " in lines[0]
    assert lines[1] == "weights: 1 array read"
    assert lines[3].startswith("  @f: 1 call, ")


def test_externs_need_permission(rx, monkeypatch) -> None:
    Path("python_side.py").write_text("def twice(x): return x + x\n")
    monkeypatch.syspath_prepend(Path.cwd())
    Path("e.rx").write_text('extern @e = fn(x : Tensor([n], int8)) : Tensor([n], int8) = "python_side:twice"\n')
    call = ("run", "e.rx", "--call", "e", "--arg", "x=[1, 2]")
    refused = rx(*call)
    assert (refused.status, refused.err) == (2, "rx: e.rx runs Python code (@e): allow it with --allow-extern\n")
    assert rx(*call, "--allow-extern").out == "result : Tensor([2], int8) = [2, 4]\n"
    kind = "fn(x : Tensor([n], int8)) : Tensor([n], int8)"
    lines = f"@g = {kind} {{ @e(x) }}\n@h = {kind} {{ x }}\n@m = [@g, @h]\n@other = [@h, @h]\n"
    Path("e.rx").write_text(Path("e.rx").read_text() + lines)
    assert rx("run", "e.rx", "--call", "m", "--arg", "x=[1, 2]").err == refused.err
    assert rx("run", "e.rx", "--call", "other", "--arg", "x=[1, 2]").out == "result : Tensor([2], int8) = [1, 2]\n"


def test_missing_weights_are_told_and_end_with_status_2(rx) -> None:
    Path("w.rx").write_text('const w : Tensor([2], float32) = load("none.npy")\nlet a = w\n')
    ran = rx("run", "w.rx")
    assert ran.status == 2 and 'error[E240]: there is no file "none.npy"' in ran.err


def test_weights_that_changed_since_the_check_fail_their_annotation(rx) -> None:
    Path("w.rx").write_text('const w : Tensor([2, k], float32) = load("w.npy")\n@f = fn() : Tensor { w }\n')
    np.save("w.npy", np.ones((3, 2), np.float32))
    assert rx("run", "w.rx", "--call", "f").status == 1


def test_a_kernel_that_fails_is_a_diagnostic(rx) -> None:
    Path("k.rx").write_text("@f = fn(n : Size) : Tensor { @zeros([n, n]) }\n")
    ran = rx("run", "k.rx", "--call", "f", "--arg", "n=999999999999")
    assert ran.status == 3 and "error[R402]: @zeros" in ran.err


def test_a_recursion_without_end_is_a_diagnostic(rx) -> None:
    Path("r.rx").write_text("@f = fn(n : Size, x : Tensor([m], int8)) : Tensor([m], int8) { @f(n + 1, x) }\n")
    ran = rx("run", "r.rx", "--call", "f", "--arg", "n=0", "--arg", "x=[1]")
    assert ran.status == 3 and "error[R402]: @f calls itself too deeply" in ran.err


# Mutations: whatever is given, it is read or refused in one line.


def test_mutated_values_are_read_or_refused_in_one_line() -> None:
    random = np.random.default_rng(0)
    seeds = [
        "[[1, 2], [3, 4]]:int8",
        "float32[2,3]:random",
        "-1.5e3",
        "true",
        '["a", "b"]:string',
        "1_000",
        "nan:float16",
    ]
    read = 0
    for case in fuzz.cases("values"):
        with case as seed:
            choose = Random(seed)
            text = list(choose.choice(seeds))
            for _ in range(choose.randint(0, 3)):
                text.insert(choose.randint(0, len(text)), choose.choice("[]:,.-+e1tnx\"'_ 9f"))
                del text[choose.randrange(len(text))]
            try:
                assert isinstance(parse_value("".join(text), random), np.ndarray)
                read += 1
            except ValueProblem as problem:
                assert "\n" not in str(problem)
    assert read > fuzz.tries("values") // 10


def test_damaged_files_are_read_or_refused_in_one_line(tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32)
    np.save(tmp_path / "a.npy", x)
    np.savez(tmp_path / "a.npz", x=x)
    header = json.dumps({"x": {"dtype": "F32", "shape": [6], "data_offsets": [0, 24]}}).encode()
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + x.tobytes())
    refused = 0
    for case in fuzz.cases("damaged arguments"):
        with case as seed:
            choose = Random(seed)
            kind = choose.choice([".npy", ".npz", ".safetensors"])
            data = bytearray((tmp_path / f"a{kind}").read_bytes())
            for _ in range(choose.randint(1, 4)):
                at = choose.randrange(len(data))
                if choose.random() < 0.6:
                    data[at] = choose.randrange(256)
                else:
                    del data[at : at + choose.randint(1, 40)]
            damaged = tmp_path / f"b{kind}"
            damaged.write_bytes(data)
            try:
                read_array(damaged, None if kind == ".npy" else "x")
            except ValueProblem as problem:
                refused += 1
                assert "\n" not in str(problem)
    assert refused > fuzz.tries("damaged arguments") // 4


def test_a_factor_that_is_zero_is_named_with_its_value() -> None:
    text = "@f = fn(y : Tensor([n], int8), x : Tensor([n * m], int8)) : Tensor([m], int8) { @zeros([m], dtype=int8) }"
    none = np.zeros(0, np.int8)
    with pytest.raises(api.ShapeError) as problem:
        api.loads(text).f(none, none)
    assert "to fit `n * m`, whose factor n has to be at least 1, but it is 0" in problem.value.diagnostic.message


def test_a_tuple_of_another_length_is_told_in_the_users_words() -> None:
    text = "@f = fn(x : Tensor(?, int8)) : Tensor { let (a, b, c) = @nonzero(x); a }"
    with pytest.raises(api.ShapeError) as problem:
        api.loads(text).f(np.ones((2, 3), np.int8))
    assert problem.value.diagnostic.message == "this is a tuple of 2; here are 3 names"


@pytest.mark.parametrize(
    ("call", "needs"),
    [
        ("@concat([x, y])", "@concat needs axis 1 of `x` (3) and `y` (5) to be equal"),
        ("@stack([x, y])", "@stack needs axis 1 of `x` (3) and `y` (5) to be equal"),
        (
            '@einsum("ij,jk->ik", [x, y])',
            "@einsum needs axis 1 of `x` (3) and axis 0 of `y` (2), both `j`, to be equal",
        ),
    ],
)
def test_the_tensors_of_a_list_are_told_each_by_itself(call: str, needs: str) -> None:
    module = api.loads(f"@f = fn(x : Tensor, y : Tensor) : Tensor {{ {call} }}")
    with pytest.raises(api.ShapeError) as caught:
        module.f(np.ones((2, 3), np.float32), np.ones((2, 5), np.float32))
    diagnostic = caught.value.diagnostic
    assert diagnostic.message == needs
    assert diagnostic.caption.startswith("`x` is Tensor([2, 3], float32), `y` is Tensor([2, 5], float32)")


@pytest.mark.parametrize(
    ("call", "given", "ends"),
    [
        ("@roll(x, s)", "int64[]:ones", "Tensor([6], float32)"),
        ("@roll(x, s)", "int64[1]:ones", "Tensor([6], float32)"),
        ("@roll(x, s)", "int64[1, 1]:ones", "a shape is a rank-1 integer tensor, not Tensor([1, 1], int64)"),
        ("@roll(x, s)", "float32[]:ones", "a size is a rank-0 integer tensor, not Tensor([], float32)"),
        ("@tile(x, s)", "int4[1]:ones", "Tensor([6], float32)"),
        ("@tile(x, s)", "int64[]:ones", "Tensor([6], float32)"),
        ("@broadcast_to(x, s)", "int64[]:ones", "a shape is a rank-1 integer tensor, not Tensor([], int64)"),
        ("@tile(x, s)", "float32[1]:ones", "a shape is a rank-1 integer tensor, not Tensor([1], float32)"),
    ],
)
def test_a_tensor_given_for_sizes_is_refused_where_it_is_none(rx, call: str, given: str, ends: str) -> None:
    Path("t.rx").write_text(f"@t = fn(x : Tensor([6], float32), s : Tensor(?, ?)) : Tensor {{ {call} }}\n")
    ran = rx("run", "t.rx", "--call", "@t", "--arg", "x=float32[6]:zeros", "--arg", f"s={given}")
    assert ran.status == (3 if "not" in ends else 0)
    assert ends in ran.out + ran.err


@pytest.mark.parametrize("own", ["e_impl", "e_impl'"])
def test_an_extern_runs_its_callable_whatever_other_functions_are_called(rx, monkeypatch, own: str) -> None:
    Path("negating.py").write_text("def negated(x): return -x\n")
    monkeypatch.syspath_prepend(Path.cwd())
    Path("e.rx").write_text(
        'extern @e = fn(x : Tensor([n], int8)) : Tensor([n], int8) = "negating:negated"\n'
        f"@{own} = fn(x : Tensor([n], int8)) : Tensor([n], int8) {{ x + x }}\n"
        f"let a = @e(tensor([2, 3], int8))\nlet b = @{own}(tensor([2, 3], int8))\n"
    )
    wanted = "a : Tensor([2], int8) = [-2, -3]\nb : Tensor([2], int8) = [4, 6]\n"
    assert rx("run", "e.rx", "--allow-extern").out == wanted
    Path("core.rx").write_text(rx("desugar", "e.rx").out)
    assert rx("run", "core.rx", "--allow-extern").out == wanted


def test_a_function_that_is_called_like_an_implementation_is_one_of_its_own(rx) -> None:
    Path("f.rx").write_text(
        "@f_impl = fn(x : Tensor([n], int8)) : Tensor([n], int8) { assert x.dim(0) > 2; x }\n"
        "@f = fn(x : Tensor([n], int8)) : Tensor([n], int8) { @f_impl(x) }\n"
    )
    failed = rx("run", "f.rx", "--call", "f", "--arg", "x=[1, 2]")
    assert failed.status == 3 and "called from here, in @f\n" in failed.err
    stats = rx("run", "f.rx", "--call", "f", "--arg", "x=[1, 2, 3]", "--stats").out
    assert "  @f: 1 call, " in stats and "  @f_impl: 1 call, " in stats
    assert "inline @f_impl =" not in rx("desugar", "f.rx", "--function", "f").out
