"""Rx from Python: loading, calling with NumPy arrays, shapes without data, and what is said when something does not fit."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Literal, get_origin

import ml_dtypes
import numpy as np
import pytest
import rxlang as rx

FF = """@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32) {
  let z = @reshape(@cast(x, int32), [n, m, 4])
  @reshape(@sum(z, axis=2), [n * m])
}
"""
HALVES = """@halves = fn(x : Tensor([n, d], float32), y : Tensor([d, k], float32)) : Tensor {
  let c ! Tensor([q * 2, k], float32) = @matmul(x, y)
  assert c.dim(0) % 4 == 0, "whole blocks"
  @reshape(c, [q, 2 * k])
}
"""

WEIGHTED = """const w : Tensor([2, k], float32) = load("NAME")
@f = fn(x : Tensor([n, 2], float32)) : Tensor { @matmul(x, w) }
"""


def f32(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def refused(function: object, *args: object, **named: object) -> rx.Diagnostic:
    with pytest.raises(rx.ShapeError) as caught:
        function(*args, **named)  # type: ignore[operator]
    return caught.value.diagnostic


def test_importing_the_package_imports_neither_numpy_nor_the_checker() -> None:
    code = "import sys, rxlang; print([m for m in ('numpy', 'sympy', 'z3', 'rich', 'rxlang.pipeline') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize("name", [*rx.__all__, "min", "max", *(f"onnx.{name}" for name in rx.onnx.__all__)])
def test_help_tells_what_a_public_name_takes_gives_and_raises(name: str) -> None:
    found = attrgetter(name)(rx)
    if get_origin(found) is Literal:
        return  # a name for the words that a parameter takes
    told = inspect.getdoc(found) or ""
    assert len(told.split()) >= 8, told
    if inspect.isfunction(found) and found.__module__ != "rxlang.python.size":
        assert "rais" in told.lower() or name == "onnx.rule", told
        assert list(inspect.signature(found).parameters)
    runs = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(recurse=False).find(found, name):
        runs.run(test)
    assert runs.summarize().failed == 0


def test_every_public_name_is_there() -> None:
    names = ["load", "loads", "check_source", "CheckError", "ShapeError", "Report", "Diagnostic", "Size"]
    assert [n for n in names if not hasattr(rx, n) or n not in rx.__all__] == []


def test_a_function_takes_and_gives_arrays_by_position_and_by_name() -> None:
    module = rx.loads(FF)
    x = np.arange(16, dtype=np.int8).reshape(2, 8)
    assert module.ff(x).tolist() == [6, 22, 38, 54]
    assert module.ff(x=x).dtype == np.int32


def test_load_reads_a_file_and_says_its_name(tmp_path: Path) -> None:
    (tmp_path / "ff.rx").write_text(FF)
    module = rx.load(tmp_path / "ff.rx")
    assert refused(module.ff, np.zeros((2, 9), np.int8)).span.source.name.endswith("ff.rx")


def test_a_rejected_program_raises_with_its_diagnostics_and_prints_like_check() -> None:
    with pytest.raises(rx.CheckError) as caught:
        rx.loads(FF + "let a = @ff(tensor([[1, 2, 3]], int8))\n")
    assert [d.code for d in caught.value.diagnostics] == ["E301"]
    assert str(caught.value).startswith("error[E301]: @ff needs axis 1 of `x` to be a multiple of 4, but it is 3")
    assert "--> <text>:5:9" in str(caught.value)


def test_a_syntax_error_raises_check_error_too() -> None:
    with pytest.raises(rx.CheckError):
        rx.loads("@f = fn(x : ) { x }")


def test_check_source_reports_counts_and_diagnostics_without_running() -> None:
    report = rx.check_source(FF, filename="ff.rx")
    assert report.ok and report.files == ("ff.rx",)
    assert report.counts.entry == 3 and report.counts.residual == 0


def test_signature_and_residual_checks_can_be_read() -> None:
    module = rx.loads(HALVES)
    assert module.halves.signature.startswith("@halves = fn(x : Tensor([n, d], float32), ")
    assert [(c.text, c.line, c.message) for c in module.halves.residual] == [
        ("q * 2", 2, "axis 0 of `c`"),
        ("c.dim(0) % 4 == 0", 3, "whole blocks"),
    ]
    assert rx.loads(FF).ff.residual == ()


def test_shapes_come_from_shapes_alone() -> None:
    ff = rx.loads(FF).ff
    assert ff.shapes(x=(3, 16)) == (12,)
    assert ff.shapes(x=("k", 16)) == (rx.Size("k * 4"),)
    assert str(ff.shapes(x=("k", 16))[0]) == "k * 4"
    assert ff.shapes(x=(rx.Size("2 * k"), 4)) == (rx.Size("2 * k"),)


def test_shapes_of_a_call_are_those_with_the_defaults_of_what_is_left_out() -> None:
    source = """@f = fn(
      x : Tensor([n, 8], float32), k : Size = 2, b : Bool = true, s : Shape = [4, 2], d : DType = int8,
      y : Tensor([m], float32) = tensor([1, 2, 3], float32), c : float32 = 0.5
    ) : Tensor {
      if (b) { @cast(@concat([@reshape(x, [n * k, -1])[0] * c, y]), d) } else { @reshape(x, s) }
    }"""
    f = rx.loads(source).f
    for sizes in ({}, {"k": 4}, {"y": (5,)}, {"k": 1, "y": (0,)}):
        given = {name: np.ones(size, np.float32) if name == "y" else size for name, size in sizes.items()}
        assert f.shapes((3, 8), **sizes) == f(np.ones((3, 8), np.float32), **given).shape
    with pytest.raises(TypeError, match="is called without 'x'"):
        f.shapes(k=2)


def test_shapes_of_several_results_are_several_shapes() -> None:
    source = """@two = fn(x : Tensor([n, m], float32)) : (Tensor([m, n], float32), Tensor([n], float32)) {
      (@matrix_transpose(x), @sum(x, axis=1))
    }"""
    assert rx.loads(source).two.shapes(x=(2, "m")) == ((rx.Size("m"), 2), (2,))


def test_shapes_that_do_not_fit_are_refused_as_a_call_would_be() -> None:
    assert refused(rx.loads(FF).ff.shapes, x=(3, 15)).message.startswith(
        "@ff needs axis 1 of `x` to be a multiple of 4"
    )


@pytest.mark.parametrize("shape", [(2, 8), (2, 4), (2, 0), (0, 8), (1, 8)])
def test_valid_inputs_are_never_refused(shape: tuple[int, int]) -> None:
    assert rx.loads(FF).ff(np.zeros(shape, np.int8)).shape == (shape[0] * shape[1] // 4,)


def test_a_failing_entry_check_names_argument_axis_wanted_and_found() -> None:
    ff = rx.loads(FF).ff
    diagnostic = refused(ff, np.zeros((2, 9), np.int8))
    assert diagnostic.code == "R401"
    assert diagnostic.message == "@ff needs axis 1 of `x` to be a multiple of 4, but it is 9"
    assert diagnostic.caption == "`x` is Tensor([2, 9], int8), the parameter is Tensor([n, m * 4], int8)"
    assert diagnostic.span.text == "m * 4"
    assert refused(ff, np.zeros(8, np.int8)).message == "@ff needs `x` to have rank 2, but it has rank 1"
    assert refused(ff, np.zeros((2, 8))).message == "@ff needs `x` to have dtype int8, but it has float64"


def test_a_size_bound_by_another_argument_is_shown_with_its_value() -> None:
    diagnostic = refused(rx.loads(HALVES).halves, f32(4, 3), f32(5, 2))
    assert diagnostic.message == "@halves needs axis 0 of `y` to be 3 (`d`), but it is 5"
    assert diagnostic.caption == "`y` is Tensor([5, 2], float32), the parameter is Tensor([3, k], float32)"


def test_a_failing_assertion_shows_its_message_and_what_was_found() -> None:
    module = rx.loads(HALVES)
    assert module.halves(f32(8, 3), f32(3, 2)).shape == (4, 4)
    diagnostic = refused(module.halves, f32(6, 3), f32(3, 2))
    assert diagnostic.message == "`c.dim(0) % 4 == 0` does not hold (whole blocks): c.dim(0) is 6"
    diagnostic = refused(module.halves, f32(5, 3), f32(3, 2))
    assert diagnostic.message == "the assertion needs axis 0 of `c` to be a multiple of 2, but it is 5"


def test_where_is_refused_with_the_values_of_its_names() -> None:
    module = rx.loads("@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) where 1 <= n, n <= 8 { x }")
    assert refused(module.f, f32(0)).message == "@f needs `1 <= n` to hold, but n is 0"
    assert refused(module.f, f32(9)).message == "@f needs `n <= 8` to hold, but n is 9"
    assert module.f(f32(8)).shape == (8,)


def test_where_is_refused_with_the_axes_that_its_names_are() -> None:
    text = (
        "(img : Tensor([b, 3, h, w], float32), p : (Tensor([k], int8), Size), s : Size) : Tensor([b, ?, ?, w], float32)"
    )
    module = rx.loads(f"@f = fn{text} where h % 4 == 0, w > h, k == s {{ img }}")
    for shape, axes in [((1, 3, 9, 12), "h is axis 2 of `img`"), ((1, 3, 8, 8), "w is axis 3 of `img`, h is axis 2 of `img`"),
                        ((1, 3, 8, 9), "k is axis 0 of `p[0]`")]:  # fmt: skip
        found = refused(module.f, f32(*shape), (np.zeros(2, np.int8), 1), 3)
        assert found.caption == axes


def test_match_shape_fails_at_run_time_whatever_was_simplified() -> None:
    module = rx.loads("""@f = fn(a : Tensor([n], float32), b : Tensor([m], float32)) : Tensor([m], float32) {
      match_shape(b, [], [n])
      b
    }""")
    assert module.f(f32(3), f32(3)).shape == (3,)
    assert refused(module.f, f32(2), f32(3)).message == "match_shape needs axis 0 of `b` to be 2 (`n`), but it is 3"


def test_an_undecided_precondition_is_checked_on_the_actual_shapes() -> None:
    module = rx.loads(
        """@f = fn(x : Tensor([n, m], float32), y : Tensor([k, p], float32)) : Tensor { @matmul(x, y) }"""
    )
    assert module.f(f32(2, 3), f32(3, 4)).shape == (2, 4)
    diagnostic = refused(module.f, f32(2, 8), f32(3, 4))
    assert diagnostic.code == "R401"
    assert diagnostic.message == "@matmul needs axis 1 of `x` (8) and axis 0 of `y` (3) to be equal"
    assert diagnostic.span.text == "@matmul(x, y)"
    assert diagnostic.caption == "`x` is Tensor([2, 8], float32), `y` is Tensor([3, 4], float32)"


def test_the_caller_of_an_entry_check_is_blamed_with_its_call() -> None:
    module = rx.loads("""@g = fn(x : Tensor([n, 2], float32)) : Tensor([n, 2], float32) { x }
@f = fn(x : Tensor([n, m], float32)) : Tensor {
  @g(x)
}""")
    diagnostic = refused(module.f, f32(2, 3))
    assert diagnostic.message == "@g needs axis 1 of `x` to be 2, but it is 3"
    assert module.f(f32(3, 2)).shape == (3, 2)


def test_arguments_that_do_not_fit_the_names_are_type_errors() -> None:
    ff = rx.loads(FF).ff
    x = np.zeros((2, 8), np.int8)
    for call, message in [
        (lambda: ff(), "@ff is called without 'x'"),
        (lambda: ff(x, x), "@ff takes 1 argument, but gets 2"),
        (lambda: ff(x, x=x), "@ff gets 'x' twice"),
        (lambda: ff(y=x), "@ff has no parameter 'y'; its parameters are x"),
    ]:
        with pytest.raises(TypeError, match=message):
            call()


def test_what_is_no_array_is_refused_without_a_guess() -> None:
    ff = rx.loads(FF).ff
    assert refused(ff, [[1, 2]]).message == "@ff needs `x` to be a NumPy array, but it is a Python list"
    assert refused(ff, 3).code == "R404"
    assert (
        refused(ff, np.zeros((2, 8), "M8[s]")).message == "@ff needs `x` to have dtype int8, but it has datetime64[s]"
    )


def test_sizes_come_as_ints_and_permuting_keywords_changes_nothing() -> None:
    module = rx.loads("""@f = fn(x : Tensor([n], float32), k : Size, y : Tensor([k], float32)) : Tensor([n + k], float32) {
      @concat([x, y])
    }""")
    x, y = f32(2), f32(3)
    expected = [0, 1, 0, 1, 2]
    assert module.f(x, 3, y).tolist() == expected
    assert module.f(y=y, k=np.int64(3), x=x).tolist() == module.f(k=3, x=x, y=y).tolist() == expected
    assert refused(module.f, x, 4, y).message == "@f needs axis 0 of `y` to be 4 (`k`), but it is 3"
    assert refused(module.f, x, 3.0, y).message == "@f needs `k` to be an integer, but it is a Python float"
    assert refused(module.f, x, True, y).code == "R404"


def test_the_callers_arrays_are_not_modified() -> None:
    module = rx.loads("@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) { let x = x + 1.0 \n x * 2.0 }")
    x = f32(3)
    assert module.f(x).tolist() == [2, 4, 6]
    assert x.tolist() == [0, 1, 2]


def test_other_byte_orders_and_dtypes_of_ml_dtypes_work() -> None:
    module = rx.loads("@f = fn(x : Tensor([n], d)) : Tensor([n], d) where d in floating { (x + x) * 2.0 + x }")
    assert module.f(f32(3).astype(">f4")).tolist() == [0, 5, 10]
    small = module.f(f32(3).astype(ml_dtypes.bfloat16))
    assert small.dtype == ml_dtypes.bfloat16 and small.astype(np.float32).tolist() == [0, 5, 10]
    assert module.f(f32(3).astype(np.float16)).dtype == np.float16


def test_results_of_rank_0_are_arrays() -> None:
    result = rx.loads("@f = fn(x : Tensor([n], float32)) : float32 { @sum(x) }").f(f32(3))
    assert isinstance(result, np.ndarray) and result.shape == () and result.dtype == np.float32


def test_the_actual_extent_of_a_data_dependent_result_is_delivered_and_checked() -> None:
    module = rx.loads("""@keep = fn(x : Tensor([n, d], float32), mask : Tensor([n], bool)) : Tensor([k, d], float32)
      where k <= n { @filter(x, mask) }""")
    assert module.keep(f32(3, 2), np.array([True, False, True])).tolist() == [[0, 1], [4, 5]]
    assert refused(module.keep, f32(3, 2), np.array([True])).message.startswith("@keep needs axis 0 of `mask`")


def test_implementations_are_chosen_at_run_time_and_each_says_why_it_does_not_fit() -> None:
    module = rx.loads("""@first = fn(x : Tensor([n, 4], float32)) : Tensor([n], float32) { @sum(x, axis=1) }
@second = fn(x : Tensor([n, m], float32)) : Tensor([n], float32) { @sum(x * 10.0, axis=1) }
@either = [@first, @second]
@f = fn(x : Tensor([n, m], float32)) : Tensor([n], float32) { @either(x) }""")
    assert module.f(np.ones((2, 4), np.float32)).tolist() == [4, 4]
    assert module.f(np.ones((2, 3), np.float32)).tolist() == [30, 30]
    assert module.either(np.ones((1, 4), np.float32)).tolist() == [4]
    said = refused(module.either, f32(4))
    assert said.message == "no implementation of @either fits this call"
    assert said.notes == tuple(f"@{n} needs `x` to have rank 2, but it has rank 1" for n in ("first", "second"))


def test_functions_are_values_and_capture_what_they_use() -> None:
    module = rx.loads("""@twice = fn(f : fn(Tensor([n], float32)) : Tensor([n], float32), x : Tensor([n], float32))
  : Tensor([n], float32) { f(f(x)) }
@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) {
  let y = x
  let g = fn(t : Tensor([n], float32)) : Tensor([n], float32) { t + y }
  let y = y * 100.0
  @twice(g, @twice(@relu, x)) + y
}""")
    assert module.f(f32(3)).tolist() == [0, 103, 206]
    assert module.twice(np.negative, f32(3)).tolist() == [0, 1, 2]
    assert refused(module.twice, lambda x: x[:2], f32(3)).code == "R401"
    assert refused(module.twice, lambda x: x["no"], f32(3)).code == "R403"


def test_a_function_whose_result_only_the_run_knows_is_checked_where_it_is_called() -> None:
    module = rx.loads("""@app = fn(f : fn(Tensor([n], float32)) : Tensor([n], float32), x : Tensor([n], float32))
  : Tensor([n], float32) { f(x) + x }
@positive = fn(x : Tensor([n], float32)) : Tensor([k], float32) { @filter(x, x > 0.5) }
@use = fn(x : Tensor([n], float32)) : Tensor { @app(@positive, x) }""")
    assert module.use(f32(3) + 1).tolist() == [2, 4, 6]
    assert refused(module.use, f32(3)).message == "`f` needs axis 0 of its result to be 3 (`n`), but it is 2"


def test_an_index_out_of_range_is_told_without_numpys_traceback() -> None:
    module = rx.loads("""@pick = fn(x : Tensor([n], float32), i : Tensor([m], int64)) : Tensor([m], float32) {
  @take(x, i, axis=0)
}""")
    diagnostic = refused(module.pick, f32(3), np.array([0, 7]))
    assert diagnostic.code == "R402" and "7" in diagnostic.message and "size 3" in diagnostic.message
    with pytest.raises(rx.ShapeError) as caught:
        module.pick(f32(3), np.array([0, 7]))
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


TOLD_AT_THE_CALL = {
    "a list": "module.f([[1.0, 2.0]], 1, x)",
    "a mask": "module.f(np.ma.masked_array(x, x > 0), 1, x)",
    "a size that is none": "module.f(x, 1.5, x)",
    "objects": "module.f(np.array([[object()]]), 1, x)",
    "no tuple": "module.pair(x)",
    "no function": "module.app(3, x)",
    "another shape": "module.f(x[0], 1, x)",
    "another dtype": "module.f(x.astype(int), 1, x)",
    "a shape, by name": "module.f(x=x, k=1, z=x[0])",
    "a check inside": "module.f(x, 7, x)",
    "a parameter that is none": "module.f(x, 1, y=x)",
    "a decorated function": "rx.checked('fn(x : Tensor([n], float32)) : Tensor')(abs)(x)",
    "a program": "rx.loads('@f = fn(x : Tensor([n], int8)) : Tensor([n + 1], int8) { x }')",
}


@pytest.mark.parametrize("call", TOLD_AT_THE_CALL.values(), ids=TOLD_AT_THE_CALL)
def test_pytest_shows_of_what_is_refused_the_call_alone(call: str) -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([n, m], float32), k : Size, z : Tensor([n, m], float32)) : Tensor { x[k] + z }\n"
        "@pair = fn(p : (Tensor([n], float32), Tensor([n], float32))) : Tensor([n], float32) { p[0] + p[1] }\n"
        "@app = fn(f : fn(Tensor([n, m], float32)) : Tensor([n, m], float32), x : Tensor([n, m], float32)) : Tensor { f(x) }"
    )
    with pytest.raises((rx.ShapeError, rx.CheckError, TypeError)) as caught:
        eval(call, {"module": module, "np": np, "rx": rx, "x": f32(3, 2)})
    shown = [entry.path for entry in caught.traceback.filter(caught)]
    assert {str(path) for path in shown[1:]} == {"<string>"}, shown


@pytest.mark.filterwarnings("error")
def test_infinities_warn_of_nothing() -> None:
    module = rx.loads("@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) { 1.0 / x + @log(x) }")
    assert module.f(f32(1)).shape == (1,)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("call", ["@onnx.div(x, y)", "@onnx.fmod(x, y)", "x / y", "@onnx.div(x, y) + 1.0"])
def test_no_function_warns_whatever_it_is_made_of(call: str) -> None:
    module = rx.loads(
        f"@f = fn(x : Tensor([n], float32), y : Tensor([n], float32)) : Tensor([n], float32) {{ {call} }}"
    )
    with np.errstate(all="raise"):
        for _ in range(3):  # as ever, and twice by a plan
            module.f(f32(3), np.zeros(3, np.float32))
        assert set(np.geterr().values()) == {"raise"}


def test_defaults_hold_for_what_is_left_out() -> None:
    module = rx.loads("""@f = fn(x : Tensor([n], float32), k : Size = 2, on : Bool = true) : Tensor {
  if (on) { x[0:k] } else { x }
}""")
    assert module.f(f32(4)).tolist() == [0, 1]
    assert module.f(f32(4), 3).tolist() == [0, 1, 2]
    assert module.f(f32(4), on=False).tolist() == [0, 1, 2, 3]


def test_tuples_of_tensors_travel_as_python_tuples() -> None:
    module = rx.loads("""type Layer = (Tensor([i, o], float32), Tensor([o], float32))
@dense = fn(x : Tensor([b, i], float32), l : Layer) : (Tensor([b, o], float32), Size) {
  let (w, c) = l
  (@matmul(x, w) + c, o)
}""")
    y, o = module.dense(f32(2, 3), (f32(3, 4), f32(4)))
    assert y.shape == (2, 4) and o == 4
    assert refused(module.dense, f32(2, 3), (f32(5, 4), f32(4))).message.startswith("@dense needs axis 0 of `l[0]`")
    assert refused(module.dense, f32(2, 3), f32(3, 4)).message.startswith("@dense needs `l` to be a tuple of 2")
    assert refused(module.dense, f32(2, 3), (f32(3, 4),)).message == "@dense needs `l` to be a tuple of 2, but it has 1"


@pytest.mark.parametrize("given", [[1, 2], None, (1,), np.ones((2, 2)), "x"])
def test_a_refusal_of_what_is_no_array_is_told_without_what_was_tried_before(given: object) -> None:
    module = rx.loads("@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x }")
    with pytest.raises(rx.ShapeError) as refusal:
        module.f(given)
    assert refusal.value.__context__ is None or refusal.value.__suppress_context__


def test_a_tuple_inside_of_a_tuple_is_told_by_its_place() -> None:
    module = rx.loads("""@f = fn(p : (Tensor, (Tensor, Tensor))) : Tensor { p[0] }""")
    said = refused(module.f, (f32(2), f32(3))).message
    assert said == "@f needs `p[1]` to be a tuple of 2, but it is Tensor([3], float32)"


@pytest.mark.parametrize(
    ("parameter", "length", "wanted"),
    [("n + 3", 1, "to be at least 3, but it is 1"), ("n * 2 + 1", 2, "to be 1 more than a multiple of 2, but it is 2")],
)
def test_a_callees_check_of_an_argument_with_another_name_says_what_the_size_has_to_be(
    parameter: str, length: int, wanted: str
) -> None:
    text = f"@cut = fn(x : Tensor([{parameter}], float32)) {{ x[:n] }}"
    module = rx.loads(text + "\n@main = fn(y : Tensor([_k], float32)) { @cut(y) }")
    with pytest.raises(rx.ShapeError, match=f"@cut needs axis 0 of `x` {wanted}"):
        module.main(np.zeros(length, np.float32))


def test_a_callees_check_blames_the_call_with_the_callers_argument() -> None:
    module = rx.loads("""@sq = fn(x : Tensor([n, n], float32)) : Tensor([n, n], float32) where n >= 2 { x }
@f = fn(p : Tensor([a, b], float32)) : Tensor { @sq(p) }""")
    diagnostic = refused(module.f, f32(3, 2))
    assert diagnostic.message == "@sq needs axis 1 of `x` to be 3 (`n`), but it is 2"
    assert diagnostic.span.text == "@sq(p)"
    assert diagnostic.caption == "`p` is Tensor([3, 2], float32), the parameter is Tensor([n, n], float32)"
    assert refused(module.f, f32(1, 1)).message == "@sq needs `n >= 2` to hold, but n is 1"
    assert [c.message for c in module.f.residual] == ["axis 1 of `x`", "what @sq requires"]


def test_recursion_runs_and_too_much_of_it_is_told() -> None:
    module = rx.loads("""@power = fn(n : Size, x : Tensor([m], float32)) : Tensor([m], float32) where n >= 0 {
  if (n == 0) { x } else { @power(n - 1, x * 2.0) }
}""")
    assert module.power(3, f32(2)).tolist() == [0, 8]
    assert refused(module.power, -1, f32(2)).message == "@power needs `n >= 0` to hold, but n is -1"
    assert refused(module.power, 10**6, f32(1)).message == "@power calls itself too deeply"


def test_externs_run_only_when_allowed_and_their_results_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "denoising.py").write_text(
        "def good(x): return x * 2\ndef short(x): return x[1:]\ndef broken(x): raise KeyError('no')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def module(name: str, allow: bool = True) -> object:
        declared = "fn(x : Tensor([b, t], float32)) : Tensor([b, t], float32)"
        return rx.loads(f'extern @e = {declared} = "denoising:{name}"', allow_extern=allow)

    assert module("good").e(f32(1, 2)).tolist() == [[0, 2]]
    assert "--allow-extern" in refused(module("good", allow=False).e, f32(1, 2)).message
    assert refused(module("short").e, f32(2, 2)).message == "@e needs axis 0 of its result to be 2 (`b`), but it is 1"
    with pytest.raises(rx.ShapeError, match="broken raised KeyError") as caught:
        module("broken").e(f32(1, 2))
    assert isinstance(caught.value.__cause__, KeyError)
    assert refused(module("missing").e, f32(1, 2)).code == "R403"


def test_weights_are_read_once_and_only_below_the_programs_folder(tmp_path: Path) -> None:
    np.save(tmp_path / "w.npy", f32(2, 3))
    (tmp_path / "inner").mkdir()
    source = WEIGHTED.replace("NAME", "w.npy")
    (tmp_path / "p.rx").write_text(source)
    (tmp_path / "inner" / "p.rx").write_text(source.replace("w.npy", "../w.npy"))
    module = rx.load(tmp_path / "p.rx")
    for n in (4, 1, 4, 1):
        assert np.array_equal(module.f(f32(n, 2)), f32(n, 2) @ f32(2, 3))
    assert module._machine.weights.count == 1
    with pytest.raises(rx.CheckError, match="outside"):
        rx.load(tmp_path / "inner" / "p.rx")
    assert rx.load(tmp_path / "inner" / "p.rx", roots=[tmp_path]).f(f32(1, 2)).shape == (1, 3)


def test_missing_weights_stop_the_loading_of_a_program_that_checks(tmp_path: Path) -> None:
    source = WEIGHTED.replace("NAME", "none.npy")
    (tmp_path / "p.rx").write_text(source)
    assert rx.check_source(source, filename=str(tmp_path / "p.rx")).ok
    with pytest.raises(rx.CheckError, match="none.npy"):
        rx.load(tmp_path / "p.rx")


def test_modules_list_their_functions_and_name_them_when_one_is_missing() -> None:
    module = rx.loads(FF)
    assert list(module) == ["ff"] and "ff" in dir(module)
    assert module["ff"] is module.ff
    with pytest.raises(AttributeError, match="no function @gg; its functions are ff"):
        module.gg  # noqa: B018
    assert repr(module) == "<rx module with @ff>"


def test_a_script_runs_as_main_and_gives_its_names() -> None:
    assert {k: v.tolist() for k, v in rx.loads("let a = tensor([1, 2], int8)\nlet b = a + 1").main().items()} == {
        "a": [1, 2],
        "b": [2, 3],
    }


def test_same_shape_new_data_gives_new_results() -> None:
    ff = rx.loads(FF).ff
    first, second = ff(np.ones((1, 4), np.int8)), ff(np.zeros((1, 4), np.int8))
    assert first.tolist() == [4] and second.tolist() == [0]


@pytest.mark.parametrize(
    "shape",
    [(2, 9), (8,), (0, 8), (9, 8)],
    ids=["not a multiple", "wrong rank", "too few", "too many"],
)
def test_what_is_refused_at_compile_time_is_refused_at_run_time_with_one_text(shape: tuple[int, ...]) -> None:
    declaration = (
        "@f = fn(x : Tensor([n, m * 4], int8)) : Tensor([n], int8) where 1 <= n, n <= 8 { @zeros([n], dtype=int8) }\n"
    )
    at_run_time = refused(rx.loads(declaration).f, np.zeros(shape, np.int8)).message
    call = f"let a = @f(@zeros([{', '.join(map(str, shape))}], dtype=int8))"
    errors = [d.message for d in rx.check_source(declaration + call).diagnostics if d.severity == "error"]
    assert errors == [f"{at_run_time}: this always fails"]


def test_shapes_are_not_refused_for_an_arm_that_the_data_may_leave_out() -> None:
    module = rx.loads(
        "@main = fn(x : Tensor([n], float32), c : bool) : Tensor { if (c) { @reshape(x, [2, 4]) } else { x } }"
    )
    assert module.main.shapes(x=(6,), c=()) is None
    assert module.main(np.zeros(6, np.float32), np.array(False)).shape == (6,)


def test_shapes_are_given_as_any_size_expression() -> None:
    module = rx.loads("@f = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int8) { @zeros([n * m], int8) }")
    (half,) = module.f.shapes(x=("min(k, 3)", "j * 8"))
    assert half == rx.Size("min(k, 3) * j * 2")
    assert module.f.shapes(x=("min(k, 3)", 4)) == (rx.Size("min(k, 3)"),)


def test_a_dimension_below_zero_is_no_shape() -> None:
    module = rx.loads("@f = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int8) { @zeros([n * m], int8) }")
    with pytest.raises(ValueError, match="at least 0"):
        module.f.shapes(x=(-3, 4))


def test_a_size_that_only_the_run_decides_has_a_name_that_can_be_read_back() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([n], float32), m : Tensor([n], bool)) : Tensor { @filter(x, m) }\n"
        "@g = fn(x : Tensor([n], float32)) : (Tensor([n], float32), Size) { (x, n) }\n"
        "@h = fn(x : Tensor([n], float32)) : Tensor { if (n > 3) { x } else { @concat([x, x], axis=0) } }"
    )
    sizes = [*module.f.shapes(x=("k",), m=("k",)), module.g.shapes(x=("k",))[1], *module.h.shapes(x=("k",))]
    assert [rx.Size(str(size)) == size for size in sizes] == [True, True, True]
    assert rx.Size("k") not in sizes


# What shapes() tells beside the shape

EXACT = """@mm = fn(x : Tensor([a, b], float32), y : Tensor([c, d], float32)) : Tensor([a, d], float32) { @matmul(x, y) }
@open = fn(x : Tensor([a, b], float32), y : Tensor([c, d], float32)) : Tensor { @mm(x, y) }
@kept = fn(x : Tensor([n], float32), m : Tensor([n], bool)) { (x, @filter(x, m)) }
@rows = fn(x : Tensor([n * 4], float32)) : Tensor { if (n > 3) { @reshape(x, [-1, 8]) } else { @reshape(x, [-1, 1]) } }
@far = fn(x : Tensor([n], float32)) where n >= 1 {
  while (a.dim(0) < 9) with (a : Tensor([p], float32) = x) where p >= 1 { @concat([a, a], axis=0) }
}
@by = fn(x : Tensor([n, d], float32)) : Tensor { @exp(x) }
@one = fn(x : Tensor([n], float32)) : Tensor where n == 1 { x }
@list = [@by, @one]
"""


def test_a_size_says_whether_it_is_exact_and_what_bounds_it() -> None:
    module = rx.loads(EXACT)
    (n,), (k,) = module.kept.shapes(x=("3 * j",), m=("3 * j",))
    assert (n.exactness, n.bound) == ("exact", None)
    assert (k.exactness, k.bound) == ("upper_bound", rx.Size("j * 3")) and k != k.bound
    assert rx.Size(k).bound == k.bound and (k + 0).exactness == "exact"
    rows, _ = module.rows.shapes(x=("4 * n",))
    assert (rows.exactness, rows.bound) == ("upper_bound", rx.Size("n * 4"))
    (far,) = module.far.shapes(x=("n",))
    assert far.exactness == "unknown" and far.bound is None


def test_shapes_that_fit_only_empty_tensors_say_so_among_the_conditions() -> None:
    text = "@entry_check = fn(x : Tensor([0, m]), y : Tensor([n, m])) : Tensor([n, m]) { y }\n"
    text += "@body = fn(x : Tensor([n, 15])) { @reshape(x, [n, 4, 4]) }\n"
    module = rx.loads(text, allow_empty=True)
    assert module.entry_check.shapes(x=("a", "b"), y=(3, "c")).conditions == ("a == 0", "b == c")
    assert module.body.shapes(x=("a", 15)).conditions == ("a == 0",)
    assert module.body.shapes(x=(0, 15)) == (0, 4, 4)
    for call in (lambda: module.entry_check.shapes(x=(2, "b"), y=(3, "c")), lambda: module.body.shapes(x=(2, 15))):
        with pytest.raises(rx.ShapeError):
            call()


@pytest.mark.parametrize("name", ["mm", "open"])
def test_shapes_come_with_the_conditions_under_which_they_are_right(name: str) -> None:
    function = getattr(rx.loads(EXACT), name)
    found = function.shapes(x=("a", "b"), y=("c", "d"))
    assert found == (rx.Size("a"), rx.Size("d"))
    assert found.conditions == ("b == c",)
    assert function.shapes(x=(2, 3), y=(3, 5)).conditions == ()


def test_a_condition_of_an_arm_holds_where_the_arm_is_taken() -> None:
    module = rx.loads(EXACT)
    assert module.rows.shapes(x=("4 * n",)).conditions == ("n <= 3 || n % 2 == 0",)
    assert module.rows.shapes(x=(16,)).conditions == ()
    assert module.rows.shapes(x=("k",)).conditions[0] == "k % 4 == 0"


def test_shapes_that_fit_nowhere_are_refused() -> None:
    module = rx.loads(EXACT)
    for call in (
        lambda: module.mm.shapes(x=(2, 3), y=(4, 5)),
        lambda: module.rows.shapes(x=(20,)),
        lambda: module.list.shapes(x=(2,)),
        lambda: module.kept.shapes(x=("k",), m=("k + 1",)),
    ):
        with pytest.raises(rx.ShapeError):
            call()


@pytest.mark.parametrize(
    "body",
    [
        "@matmul(x, y)",
        "x + y",
        "@concat([x, y], axis=1)",
        "@reshape(x, [-1, 2]) + y",
        "let z = @matmul(x, @matrix_transpose(y))\n  assert z.dim(1) >= 1\n  z",
        "if (a > 1) { @matmul(x, y) } else { x + y }",
    ],
)
def test_a_call_works_where_its_conditions_hold_and_nowhere_else(body: str) -> None:
    head = "@f = fn(x : Tensor([a, b], float32), y : Tensor([c, d], float32)) {\n  "
    module = rx.loads(f"{head}{body} }}", allow_empty=True)
    conditions = module.f.shapes(x=("a", "b"), y=("c", "d")).conditions
    texts = [c.replace("&&", "and").replace("||", "or").replace("!(", "not (") for c in conditions]
    for sizes in product(range(4), repeat=4):
        values = dict(zip("abcd", sizes, strict=True))
        wanted = all(eval(text, {"min": min, "max": max}, values) for text in texts)
        try:
            module.f(np.zeros(sizes[:2], np.float32), np.zeros(sizes[2:], np.float32))
            works = True
        except rx.ShapeError:
            works = False
        assert works == wanted, (values, conditions)


@pytest.mark.parametrize("given", [None, 3, 2.5, "n, 4", object])
def test_a_shape_that_is_no_row_of_sizes_is_named(given: object) -> None:
    module = rx.loads("@f = fn(x : Tensor([n, 4], float32)) : Tensor([n, 4], float32) { x }")
    with pytest.raises(TypeError, match="the shape of 'x' is a tuple of sizes, not"):
        module.f.shapes(x=given)
