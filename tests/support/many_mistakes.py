"""Programs with very many mistakes of one kind, in one function or in as many, over tensors of two axes or of four.

    python -m support.many_mistakes [COUNT [KIND ...]]

prints what checking such programs costs, fixes apart: CPU seconds, steps, megabytes, and what was said how often.
"""

import itertools
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from rxlang import pipeline
from rxlang.fixes.ranked import with_helps

from .nested_sizes import megabytes

_AXES = {2: ("n", "m"), 4: ("b", "h", "n", "m")}
# What a line may speak of: `x`, and what differs from it in its last size, in all of them, or in what it holds.
_PARAMS = {
    "x": "Tensor([{lead}n, m], float32)", "x3": "Tensor([{lead}n, 3], float32)", "x4": "Tensor([{lead}n, 4], float32)",
    "y": "Tensor([{other}], float32)", "i": "Tensor([{lead}n, m], int32)", "k": "Size", "p": "Size",
}  # fmt: skip
_BEFORE = "@g = fn(x : Tensor([{lead}n, m * 4], float32), k : Size) : Tensor([{lead}n, m], float32) {{ x[..., :m] }}\n"
# A kind is what a line takes, what is written in it, and what its function gives.
ERRORS = {
    "sizes of +": ("x", "let a{j} = @zeros([{lead}n, 3], float32) + @zeros([{lead}n, 4], float32)", "x"),
    "sizes of + of parameters": ("x x3 x4", "let a{j} = x3 + x4", "x"),
    "matmul": ("x3", "let a{j} = @matmul(x3, @zeros([{lead}4, 5], float32))", "x3"),
    "matmul of a part": ("x", "let a{j} = @matmul(x, @zeros([{lead}m + 1, 4], float32))", "x"),
    "reshape": ("x", "let a{j} = @reshape(x, [{lead}n * 2, m])", "x"),
    "reshape of numbers": ("x4", "let a{j} = @reshape(x4, [{lead}n, 5])", "x4"),
    "name": ("x", "let a{j} = x + xx{j}", "x"),
    "dtype": ("x i", "let a{j} = x + i", "x"),
    "result": ("x", "let a{j} = x + x", "@concat([x, x], axis=-1)"),
    "argument": ("x3", "let a{j} = @g(x3, 2)", "x3"),
    "attribute": ("x", "let a{j} = @sum(x, axis=7)", "x"),
    "annotation": ("x", "let a{j} : Tensor([{lead}n, m + 1], float32) = x", "x"),
    "claim": ("x", "assert n * 2 == n * 2 + {j}", "x"),
    "function": ("x", "let a{j} = @relo(x)", "x"),
    "number of arguments": ("x", "let a{j} = @g(x)", "x"),
}
WARNINGS = {
    "open +": ("x y", "let a{j} = x + y", "x"),
    "open + of numbers": ("x", "let a{j} = x + @zeros([{lead}n, {j}], float32)", "x"),
    "open matmul": ("x", "let a{j} = @matmul(x, x)", "x"),
    "open reshape": ("x", "let a{j} = @reshape(x, [{lead}n, -1, 7])", "x"),
    "open result": ("x y", "let a{j} = x", "y"),
    "open argument": ("y", "let a{j} = @g(y, 2)", "y"),
    "open annotation": ("x y", "let a{j} : Tensor([{lead}n, m], float32) = y", "x"),
    "open slice": ("x k", "let a{j} : Tensor([{lead}k, m], float32) = x[..., :k, :]", "x"),
    "open split": ("x", "let (a{j}, b{j}) = @split(x, 2, axis=-1)", "x"),
    "open concat": ("x y", "let a{j} = @concat([x, y], axis=0)", "x"),
    "open equation": ("x p", "let a{j} = x + @zeros([{lead}n, p * {j}], float32)", "x"),
}
NONE = {"nothing": ("x", "let a{j} = x + x", "x")}
KINDS = ERRORS | WARNINGS | NONE
TOGETHER, APART = "in one function", "apart"


def program(kind, where, axes, count):
    """So many mistakes of a kind."""
    lead = ", ".join(_AXES[axes][:-2])
    other = ", ".join(f"{name}{name}" for name in _AXES[axes])
    said = {"lead": f"{lead}, " if lead else "", "other": other}
    taken, line, result = KINDS[kind]
    params = ", ".join(f"{name} : {_PARAMS[name].format(**said)}" for name in taken.split())
    given = _PARAMS["x4" if result == "x4" else "x3" if result == "x3" else "y" if taken == "y" else "x"].format(**said)

    def function(name, numbers):
        lines = "".join(f"  {line.format(j=j, **said)}\n" for j in numbers)
        return f"@{name} = fn({params}) : {given} {{\n{lines}  {result}\n}}\n"

    head = _BEFORE.format(**said) if "@g(" in line else ""
    if where == TOGETHER:
        return head + function("f", range(1, count + 1))
    return head + "".join(function(f"f{j}", [j]) for j in range(1, count + 1))


def cost(kind, where, axes, count):
    """What one program costs, fixes apart, and what is said of it."""
    began = time.process_time()
    report = pipeline.check_text(program(kind, where, axes, count), "many.rx", Path("."))
    checked = time.process_time()
    with_helps(report, Path("."))
    seconds = {"check": checked - began, "fixes": time.process_time() - checked}
    steps = report.checked.steps if report.checked is not None else 0
    return {**seconds, "steps": steps, "megabytes": megabytes(), "codes": Counter(d.code for d in report.diagnostics)}


def main(count=1_000, *kinds):
    """A line for each, of a process of its own."""
    for kind, where, axes in itertools.product(kinds or KINDS, (TOGETHER, APART), _AXES):
        asked = json.dumps([kind, where, axes, count])
        one = f"from support import many_mistakes as m; import json; print(json.dumps(m.cost(*json.loads({asked!r}))))"
        ran = subprocess.run([sys.executable, "-c", one], capture_output=True, text=True, check=True)
        row = json.loads(ran.stdout)
        costs = f"{row['check']:6.2f} s + {row['fixes']:5.2f} s {row['steps']:8} {row['megabytes']:5.0f} MB"
        print(f"{kind:26}{where:17}{axes} {costs} {row['codes']}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:])
