"""What an entry check costs: `rx.checked` beside a wrapper by hand that reads the same attributes, over each library that is
there.

`python benchmarks/checked.py` prints for three arrays and a result what a call costs beyond the bare one, in microseconds, and
what `jaxtyping` with `beartype` takes where both are installed; it ends with status 1 where an entry check costs more than
1.25 times the wrapper, or an array of a subclass, a tracer or a call by keywords more than 3 microseconds. All are timed in
turns, so that a busy machine slows all alike; the best of each is what counts. A library is imported where it is measured:
none need be there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
import rxlang as rx

MOST, SLOW = 1.25, 3.0
SIGNATURE = (
    "fn(x : Tensor([n, m * 4], float32), y : Tensor([n], float32), z : Tensor([k], float32)) : Tensor([n], float32)"
)
CALLS, ROUNDS = 300, 400


def bare(x: Any, y: Any, z: Any) -> Any:
    return y


def by_hand(kind: type, float32: Any) -> Callable[..., Any]:
    """The checks of the signature, as a person would write them for one library."""

    def wrapper(x: Any, y: Any, z: Any) -> Any:
        if type(x) is not kind or type(y) is not kind or type(z) is not kind:
            raise TypeError("arrays are wanted")
        shape = x.shape
        if len(shape) != 2:
            raise ValueError("x has another rank than 2")
        n, columns = shape
        if columns % 4 != 0:
            raise ValueError("the columns of x are no multiple of 4")
        if x.dtype != float32:
            raise TypeError("x has another dtype than float32")
        shape = y.shape
        if len(shape) != 1 or shape[0] != n:
            raise ValueError("y is not as long as x")
        if y.dtype != float32:
            raise TypeError("y has another dtype than float32")
        if len(z.shape) != 1:
            raise ValueError("z has another rank than 1")
        if z.dtype != float32:
            raise TypeError("z has another dtype than float32")
        result = bare(x, y, z)
        if type(result) is not kind:
            raise TypeError("the result is no array")
        shape = result.shape
        if len(shape) != 1 or shape[0] != n:
            raise ValueError("the result is not as long as x")
        if result.dtype != float32:
            raise TypeError("the result has another dtype than float32")
        return result

    return wrapper


def with_jaxtyping(kind: type) -> Callable[..., Any] | None:
    if find_spec("jaxtyping") is None or find_spec("beartype") is None:
        return None
    from beartype import beartype
    from jaxtyping import Float32, jaxtyped

    def annotated(x, y, z):  # type: ignore[no-untyped-def]
        return y

    annotated.__annotations__ = {
        "x": Float32[kind, "n m4"], "y": Float32[kind, "n"], "z": Float32[kind, "k"], "return": Float32[kind, "n"]
    }  # fmt: skip
    return jaxtyped(typechecker=beartype)(annotated)


def best(functions: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]) -> dict[str, float]:
    """The shortest time of a call of each, in microseconds, less that of the bare one with the same arguments."""
    found = dict.fromkeys(functions, 1e9)
    for _ in range(ROUNDS):
        for name, (function, args, named) in functions.items():
            begin = perf_counter()
            for _ in range(CALLS):
                function(*args, **named)
            found[name] = min(found[name], (perf_counter() - begin) / CALLS * 1e6)
    return {name: time - found["bare"] for name, time in found.items() if name != "bare"}


def measured(library: str, make: Callable[..., Any], kind: type, float32: Any, other: Callable[..., Any]) -> bool:
    args = make(6, 8), make(6), make(3)
    checked = rx.checked(SIGNATURE)(bare)
    functions: dict[str, Any] = {
        "bare": (bare, args, {}),
        "by hand": (by_hand(kind, float32), args, {}),
        "rx.checked": (checked, args, {}),
        "keywords": (checked, (), dict(zip("xyz", args, strict=True))),
        "subclass": (checked, tuple(map(other, args)), {}),
    }
    peer = with_jaxtyping(kind)
    if peer is not None:
        functions["jaxtyping with beartype"] = (peer, args, {})
    times = best(functions)
    ratio = times["rx.checked"] / times["by hand"]
    told = ", ".join(f"{name} {time:.2f}" for name, time in times.items())
    print(f"{library}: {told} us beyond the bare call; {ratio:.2f} times the wrapper by hand")
    return ratio <= MOST and max(times["keywords"], times["subclass"]) <= SLOW


class Own(np.ndarray):
    """Another class of arrays."""


def numpy() -> bool:
    def make(*shape: int) -> Any:
        return np.ones(shape, np.float32)

    return measured("numpy", make, np.ndarray, np.dtype(np.float32), lambda a: a.view(Own))


def torch() -> bool:
    import torch as library

    return measured("torch", library.ones, library.Tensor, library.float32, library.nn.Parameter)


def jax() -> bool:
    import jax
    import jax.numpy as jnp

    one = jnp.ones(1)
    found: list[bool] = []

    def traced(*_: Any) -> Any:
        tracers: list[Any] = []
        jax.make_jaxpr(lambda *a: tracers.extend(a) or a[0])(*(jnp.ones(s, jnp.float32) for s in ((6, 8), (6,), (3,))))
        return tracers

    tracers = iter(traced())
    found.append(measured("jax", lambda *s: jnp.ones(s, jnp.float32), type(one), one.dtype, lambda _: next(tracers)))
    return all(found)


def main() -> int:
    fine = [numpy()]
    for name, run in (("torch", torch), ("jax", jax)):
        if find_spec(name) is None:
            print(f"{name}: not installed: pip install {name}")
        else:
            fine.append(run())
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
