"""A tensor that is bound again is another one: what was said in its name before is said of the one that it was."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.pipeline import check_text
from support import fuzz, plain_scopes

HEAD = "@main = fn(x : Tensor([d], float32), y : Tensor([d], float32), c : Size) : Tensor {\n"
TYPES = ("", " : Tensor([p], float32)", " : Tensor([x.dim(0)], float32)", " : Tensor(?, float32)", " : Tensor")
BODIES = (
    "let NEW = @concat([h, h]); NEW",
    "let NEW = @concat([h, h]); h",
    "let NEW = @concat([h, h]); NEW[:h.dim(0)]",
    "let NEW = h; NEW",
    "let g = if (c > 2) { let NEW = @concat([h, h]); NEW } else { h }; g",
    "let NEW = for j in range(2) with (k = h) { let NEW = @concat([k, k]); NEW }; NEW",
    "let NEW = for j in range(2) with (k : Tensor([q], float32) = h) { let NEW = k; NEW }; NEW",
)
LOOPS = (
    "for i in range(c) with (h{type} = x) {{ {body} }}",
    "for i in range(c) with (h{type} = x) while (h.dim(0) + x.dim(0) < 20) {{ {body} }}",
    "for i in range(c) with (h{type} = x) while (let NEW = @concat([h, x]); NEW.dim(0) < 20) {{ {body} }}",
    "for i in range(c) with (h{type} = y) stack (s : Tensor([x.dim(0)], float32)) "
    "{{ let r = if (c > 0) {{ {body} }} else {{ h }}; (r, y) }}",
)
OTHERS = (
    "@map(fn(r) { let NEW = @concat([r, r]); NEW }, @stack([x, y]))",
    "@fold(fn(a, r) { let NEW = @concat([r, r]); NEW[:a.dim(0)] }, x, @stack([x, y]))",
    "@scan(fn(a, r) { let NEW = @concat([a, r]); (a, NEW) }, x, @stack([x, y]))",
    "for i in range(3) stack (s : Tensor([x.dim(0)], float32)) { let NEW = @concat([x, x]); NEW }",
    "for i in range(3) stack (s : Tensor([d], float32)) { let NEW = @concat([x, x]); NEW[:d] }",
)
STATEMENTS = (
    "let NEW : Tensor([x.dim(0)], float32) = @concat([x, x])\n  NEW",
    "let NEW : Tensor([x.dim(0) * 2], float32) = @concat([x, x])\n  NEW",
    "let NEW ! Tensor([x.dim(0)], float32) = y\n  NEW + y",
    "let (NEW, z) : (Tensor([x.dim(0) * 2], float32), Tensor([x.dim(0)], float32)) = (@concat([x, x]), x)\n  NEW",
    "let f = fn(v : Tensor([d], float32)) : Tensor([x.dim(0)], float32) { let NEW = @concat([v, v]); NEW }\n  f(x)",
    "let f = fn(v : Tensor([x.dim(0)], float32)) : Tensor { v }\n  let NEW = @concat([x, x])\n  f(NEW)",
    "let f = fn(g : fn(Tensor([x.dim(0)], float32)) : Tensor) : Tensor { let NEW = @concat([x, x]); g(NEW) }\n  f(@relu)",
    "@given(x, @relu)",
)
GIVEN = (
    "@given = fn(x : Tensor([d], float32), f : fn(Tensor([x.dim(0)], float32)) : Tensor([x.dim(0)], float32)) : Tensor {\n"
    "  let NEW = @concat([x, x])\n  f(NEW)\n}\n"
)
PROGRAMS = [
    *(f"{HEAD}  {statements}\n}}\n{GIVEN}" for statements in STATEMENTS),
    *(HEAD + "  " + loop.format(type=t, body=b) + "\n}\n" for loop, t, b in product(LOOPS, TYPES, BODIES)),
    *(f"{HEAD}  {expression}\n}}\n" for expression in OTHERS),
]


def said(text: str) -> object:
    report = check_text(text, "a.rx", Path())
    return report.counts, [(d.code, d.severity) for d in report.diagnostics if d.severity != "note"]


@pytest.mark.parametrize("part", range(4))
def test_a_name_that_is_bound_again_is_told_what_another_one_is(part: int) -> None:
    for text in fuzz.some(PROGRAMS[part::4], 3):
        assert said(text.replace("NEW", "x")) == said(text.replace("NEW", "w")), text


def test_a_loop_that_binds_again_what_it_began_with_is_checked_against_that() -> None:
    """When it runs, too."""
    text = (
        "@main = fn(x : Tensor([d], float32), m : Tensor([], int64)) : Tensor {\n"
        "  for i in range(3) with (h : Tensor([x.dim(0)], float32) = x) {\n"
        "    let x = @concat([h, h])\n    x[:@item(m)]\n  }\n}\n"
    )
    module = rx.loads(text)
    assert module.main(np.ones(2, np.float32), np.int64(2)).shape == (2,)
    with pytest.raises(rx.ShapeError, match="after turn 1"):
        module.main(np.ones(2, np.float32), np.int64(3))


# So many elements and turns; in the last ones nothing is empty.
INPUTS = ((0, 0, 0), (0, 2, 2), (2, 0, 1), (3, 3, 0), (1, 1, 1), (2, 2, 2), (3, 2, 1), (2, 3, 3), (4, 4, 3), (1, 3, 2))


def test_random_programs_with_few_names_do_what_they_mean_in_plain_python() -> None:
    ran = 0
    for case in fuzz.cases("plain scopes"):
        with case as seed:
            text, main = plain_scopes.program(seed)
            ok = check_text(text, "a.rx", Path()).ok
            module, chance = rx.loads(text) if ok else None, np.random.default_rng(seed)
            for a, b, c in INPUTS if module is not None else ():
                x, y = (chance.integers(0, 3, n).astype(np.float32) for n in (a, b))
                with suppress(plain_scopes.Endless):
                    wanted, found = outcome(main, x, y, c), outcome(module.main, x, y, c)
                    assert np.array_equal(wanted, found), (text, x, y, c)
                    ran += found.ndim
    assert ran or fuzz.SEED is not None


def outcome(function: Any, *args: object) -> np.ndarray:
    """What a call gives; a number that no result has where it is refused. What no turn tells, nobody knows."""
    try:
        found: np.ndarray = function(*args)
    except (plain_scopes.Wrong, rx.ShapeError) as refused:
        if any("only a turn gives" in word for word in refused.args):
            raise plain_scopes.Endless from None
        return np.array(-1)
    return found


def test_a_script_prints_what_its_names_are_at_the_end() -> None:
    text = (
        "let x = @ones([2], int8)\nlet x : Tensor([x.dim(0) * 2], int8) = @concat([x, x])\n"
        "let (x, z) : (Tensor([x.dim(0) + 1], int8), Tensor([x.dim(0)], int8)) = (@concat([x, @ones([1], int8)]), x)\n"
    )
    report = check_text(text, "a.rx", Path())
    assert report.ok and report.counts.residual == 0 and report.checked is not None
    assert report.checked.program.script == ("x", "z")
