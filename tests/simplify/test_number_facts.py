"""A size that a fact makes a number is told as that number downstream, as if the annotation had it, and what fails of it names
the fact."""

from itertools import product
from pathlib import Path

import pytest
from rxlang import pipeline

BODIES = (
    "@reshape(x, [b, h // 2, h - h // 2 - 1])[:, :h % 3]",
    "@concat([x, @ones([b, h * w])], axis=1)[:, h // 2 * (w // 2):]",
    "@sum(@stack(@unstack(x, axis=1), axis=0), axis=1)",
    "@concat(@split(x, h, axis=1), axis=0)",
    "@max_pool(@reshape(x, [b, 1, h]), [w + 1])",
    "@zeros([h // 2 * (w // 2), h % 2])",
    "x + @zeros([b, h])",
    "@tile(x, [w, h])",
)
WAYS = {
    "where": "@f = fn(x : Tensor([b, h], float32), w : Size) where h == {h}, w == {w} {{ {body} }}",
    "twice": "@f = fn(x : Tensor([b, h], float32), w : Size) where h * 2 == {h} * 2, w - {w} == 0 {{ {body} }}",
    "assert": "@f = fn(x : Tensor([b, h], float32), w : Size) {{\n  assert h == {h}\n  assert w == {w}\n  {body}\n}}",
}
LITERAL = "@f = fn(x : Tensor([b, {h}], float32)) {{\n  let h : Size = {h}\n  let w : Size = {w}\n  {body}\n}}"


def told(text):
    report = pipeline.check_text(text, "numbers.rx", Path("."))
    found = report.checked.describe() if report.checked else ()
    shapes = [s.result.shape for s in found if s.name == "@f" and s.result.shape]
    return shapes, [d.code for d in report.diagnostics if d.severity != "note"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("body", BODIES)
def test_a_size_that_a_fact_makes_a_number_is_that_number(way, body):
    for h, w in product((0, 1, 2, 3, 6), (1, 2, 4)):
        shapes, codes = told(WAYS[way].format(h=h, w=w, body=body))
        named = [
            tuple({"h": h, "w": w}.get(size, size) for size in shape) for shape in shapes if shape
        ]  # a size by itself has its name
        literal = told(LITERAL.format(h=h, w=w, body=body))
        if (
            literal == ([], ["E314"]) and len(codes) == 1
        ):  # such an argument is always wrong; of a size, facts make it wrong
            codes = [code.replace("E304", "E314").replace("E307", "E314") for code in codes]
        assert (named, codes) == literal, (h, w)


def test_a_fact_of_one_arm_is_none_of_the_other():
    arms = "if (h == 6) { @zeros([n]) } else { @ones([h // 2]) }"
    text = f"@f = fn(x : Tensor([h], float32)) {{\n  let n : Size = h // 2\n  {arms}\n}}\n"
    shapes, _ = told(text)
    assert shapes == [told("@f = fn(x : Tensor([h], float32)) { @ones([h // 2]) }")[0][0]]


FAILING = (
    "@f = fn(x : Tensor([b, h], float32), y : Tensor([4], float32)) {{ {fact}\n  x[:, :h // 2] + y }}",
    "@f = fn(x : Tensor([b, h], float32), y : Tensor([b, 7], float32)) {{ {fact}\n  @concat([x, y], axis=0) }}",
    "@f = fn(x : Tensor([h, 6], float32)) {{ {fact}\n  @reshape(x, [h * 7]) }}",
    "@f = fn(x : Tensor([b, 7], float32), h : Size) {{ {fact}\n  @concat(@split(x, h, axis=1), axis=0) }}",
)


@pytest.mark.parametrize("text", FAILING)
def test_what_a_fact_makes_fail_names_the_fact_and_no_other(text):
    text = text.format(fact="assert h <= 100\n  assert h == 6")
    found = pipeline.check_text(text, "facts.rx", Path("."))
    (error,) = (d for d in found.diagnostics if d.severity == "error")
    assert [at.span.text for at in error.labels if at.message == "this is asserted before"] == ["assert h == 6"], error
