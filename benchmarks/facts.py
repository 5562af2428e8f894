"""How long `rx check` takes on programs of hundreds and thousands of distinct facts: it grows as they do.

    python benchmarks/facts.py [KIND] [COUNT ...]

Each kind is a program of that many assertions, arms, matches, broadcasts or calls, nearly all of which stay open, so that
each leaves a fact of its own; in most kinds they all hang together through their sizes. Times are CPU seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from rxlang import pipeline


def bounds(count: int) -> str:
    """Assertions, each of which bounds a size by the next one."""
    return _function(_vectors(count + 1), [f"assert n{i} <= n{i + 1} + {i}" for i in range(count)], "x0")


def multiples(count: int) -> str:
    """Assertions, each of which says what a size of its own is a multiple of."""
    return _function(_vectors(count), [f"assert n{i} % {i % 9 + 2} == 0" for i in range(count)], "x0")


def equations(count: int) -> str:
    """Assertions, each of which says how far a size is from the next one."""
    return _function(_vectors(count + 1), [f"assert n{i} == n{i + 1} + {i}" for i in range(count)], "x0")


def arms(count: int) -> str:
    """Arms one after the other, each with a condition of its own."""
    lines = [f"let y{i + 1} = if (n0 > {i} * n1) {{ y{i} * 2.0 }} else {{ y{i} }}" for i in range(count)]
    return _function(_vectors(2), ["let y0 = x0", *lines], f"y{count}")


def matches(count: int) -> str:
    """Matches, each of which binds names of its own."""
    params = [f"x{i} : Tensor([?, ?], float32)" for i in range(count)]
    return _function(params, [f"match_shape(x{i}, [_k{i}], [x0.dim(0), _k{i}])" for i in range(count)], "x0")


def broadcasts(count: int) -> str:
    """A sum whose operands may all be of different sizes, so long as those are 1."""
    lines = [f"let y{i + 1} = y{i} + x{i + 1}" for i in range(count)]
    return _function(_vectors(count + 1), ["let y0 = x0", *lines], f"y{count}")


def calls(count: int) -> str:
    """Calls of a function with a condition, each on the next two tensors."""
    lines = [f"let y{i} = @f(x{i}, x{i + 1})" for i in range(count)]
    callee = "@f = fn(x : Tensor([n], float32), y : Tensor([m], float32)) : Tensor([n], float32) where n <= m { x }\n"
    return callee + _function(_vectors(count + 1), lines, "y0")


def _vectors(count: int) -> list[str]:
    return [f"x{i} : Tensor([n{i}], float32)" for i in range(count)]


def _function(params: list[str], lines: list[str], result: str) -> str:
    body = "".join(f"  {line}\n" for line in lines)
    return f"@main = fn({', '.join(params)}) : Tensor {{\n{body}  {result}\n}}\n"


KINDS: dict[str, Callable[[int], str]] = {
    f.__name__: f for f in (bounds, multiples, equations, arms, matches, broadcasts, calls)
}


def main(kinds: list[str], counts: list[int]) -> None:
    """Prints the table."""
    print(f"{'facts':>12} " + "".join(f"{count:>9}" for count in counts))
    for kind in kinds:
        times = []
        for count in counts:
            text = KINDS[kind](count)
            start = time.process_time()
            pipeline.check_text(text, f"{kind}.rx", Path("."))
            times.append(time.process_time() - start)
        print(f"{kind:>12} " + "".join(f"{spent:9.2f}" for spent in times), flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        [k for k in KINDS if k in given] or list(KINDS),
        [int(n) for n in given if n.isdigit()] or [100, 300, 1000, 2000],
    )
