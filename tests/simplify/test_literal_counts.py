"""What is made of literals has exact sizes: those that a run gives."""

from __future__ import annotations

import random

import numpy as np
import pytest
import rxlang as rx


def literal(rng: random.Random, dtype: str, shape: tuple[int, ...]) -> str:
    values = {"bool": ["true", "false"], "int8": ["0", "1", "2", "-3"], "float64": ["0.0", "0.5", "-2.5", "2.5"]}[dtype]

    def written(dims: tuple[int, ...]) -> str:
        return rng.choice(values) if not dims else f"[{', '.join(written(dims[1:]) for _ in range(dims[0]))}]"

    return f"tensor({written(shape)}, {dtype})"


def program(rng: random.Random) -> str:
    n, shape = rng.randint(1, 6), tuple(rng.randint(1, 3) for _ in range(rng.randint(1, 3)))
    dtype = rng.choice(["int8", "float64"])
    vector, mask = literal(rng, dtype, (n,)), literal(rng, "bool", (n,))
    return rng.choice(
        [
            f"@filter({vector}, {mask})",
            f"@filter({literal(rng, dtype, (n, 2))}, {mask})",
            f"@unique_values({literal(rng, dtype, shape)})",
            f"@nonzero({literal(rng, rng.choice(['bool', dtype]), shape)})",
            f"@unique_counts({vector})",
            f"@truncate({vector}, {rng.choice(['2.5', '1.4', '(-1.0)', '100.0', '3', '0.5', '1e300'])})",
            f"@truncate({vector}, tensor({rng.choice(['2', '-1', '4'])}, int64))",
            f"@arange(0, {n}, {rng.randint(1, 3)})",
            f"@filter(@unique_values({vector}), @greater(@unique_values({vector}), @unique_values({vector})))",
        ]
    )


def shapes_of(value: object) -> object:
    return tuple(map(shapes_of, value)) if isinstance(value, tuple) else np.shape(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(40))
def test_the_shape_that_is_known_is_the_one_that_a_run_gives(seed: int) -> None:
    body = program(random.Random(seed))
    module = rx.loads(f"@f = fn() {{ let r = {body}\n  r }}")
    known, made = module.f.shapes(), shapes_of(module.f())
    if "greater" not in body:
        assert known == made, body


def test_a_literal_in_a_narrow_dtype_is_not_counted_as_it_is_written() -> None:
    for body in ("@unique_values(tensor([0.1, 0.10000000000001], float32))", "@nonzero(tensor([1e-60, 1.0], float32))"):
        module = rx.loads(f"@f = fn() {{ let r = {body}\n  r }}")
        ((size,),) = known = module.f.shapes() if "nonzero" in body else (module.f.shapes(),)
        if isinstance(size, rx.Size):
            assert size.exactness == "upper_bound", known
        else:
            assert known == shapes_of((module.f(),) if "nonzero" not in body else module.f()) == ((1,),)
