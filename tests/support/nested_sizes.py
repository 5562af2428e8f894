"""Random programs of up to 40 lines whose sizes grow into each other, and what checking each of them costs, fixes included.

    python nested_sizes.py FIRST COUNT [LINES [hard_programs]]

prints a line of JSON for each seed before it is checked, and one after: CPU seconds, megabytes so far, steps of reasoning.
"""

import cProfile
import importlib
import json
import random
import resource
import sys
import time
from pathlib import Path

FAR = 20  # CPU seconds after which a program is given up


class Writer:
    """A program while it grows."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.sizes = ["n", "m", "k"]
        self.tensors = []
        self.lines = []
        self.made = 0

    def size(self, depth=2):
        """An expression over sizes."""
        r = self.random
        if depth == 0 or r.random() < 0.25:
            tensor, rank = r.choice(self.tensors) if self.tensors else ("", 0)
            leaves = [str(r.choice((0, 1, 2, 3, 5, 7, 12))), *r.choices(self.sizes, k=3)]
            return r.choice([*leaves, f"{tensor}.dim({r.randrange(-rank, rank)})"] if rank else leaves)
        a, b = self.size(depth - 1), self.size(depth - 1)
        function = r.choice(("min", "max", "ceildiv", ""))
        if function:
            return f"{function}({a}, {b})"
        return f"({a} {r.choice(('+', '-', '*', '//', '%', '+', '*'))} {b})"

    def let(self, value, rank):
        """A tensor with a name."""
        self.made += 1
        self.lines.append(f"let t{self.made} = {value}")
        self.tensors.append((f"t{self.made}", rank))

    def statement(self):
        """One more line."""
        r = self.random
        (x, rank), (y, other) = r.choice(self.tensors), r.choice(self.tensors[-3:])
        match r.choice(
            ("reshape", "slice", "slice", "split", "pad", "add", "add", "size", "expand", "claim", "concat", "tile")
        ):
            case "reshape":
                dims = [self.size() for _ in range(r.randint(1, 3))]
                dims[r.randrange(len(dims))] = r.choice((dims[0], "-1"))
                self.let(f"@reshape({x}, [{', '.join(dims)}])", len(dims))
            case "slice":
                ends = [r.choice(("", "1", "-1", self.size(1))) for _ in range(2)]
                step = r.choice(("", ":2", ":3", ":-1", ":-2"))
                self.let(f"{y}[{ends[0]}:{ends[1]}{step}]", other)
            case "split":
                how = r.choice(("2", f"sizes=[{self.size(1)}, {self.size(1)}]"))
                self.made += 2
                self.lines.append(
                    f"let (t{self.made - 1}, t{self.made}) = @split({x}, {how}, axis={r.randrange(rank)})"
                )
                self.tensors += [(f"t{self.made - 1}", rank), (f"t{self.made}", rank)]
            case "pad":
                pads = ", ".join(f"({self.size(1)}, {self.size(1)})" for _ in range(rank))
                self.let(f"@pad({x}, [{pads}])", rank)
            case "add":
                self.let(f"{x} + {y}", max(rank, other))
            case "size":
                self.made += 1
                self.lines.append(f"let s{self.made} : Size = {self.size(3)}")
                self.sizes.append(f"s{self.made}")
            case "expand":
                dims = [self.size(1) for _ in range(rank)]
                self.let(f"@broadcast_to({x}, [{', '.join(dims)}])", rank)
            case "claim":
                self.lines.append(f"assert {self.size()} {r.choice(('==', '<=', '>='))} {self.size()}")
            case "concat":
                self.let(f"@concat([{x}, {y}, {x}], axis={r.randrange(-1, 1)})", rank)
            case "tile":
                self.let(f"@tile({x}, [{', '.join(self.size(1) for _ in range(rank))}])", rank)


def program(seed, most=37):
    """The program of a seed, of at most so many lines."""
    writer = Writer(seed)
    params = []
    for i in range(writer.random.randint(1, 4)):
        rank = writer.random.randint(1, 3)
        dims = [writer.random.choice(("n", "m", "k", "n * 3", "m + 1", "k - 1", "_a", "n + k")) for _ in range(rank)]
        params.append(f"x{i} : Tensor([{', '.join(dims)}], float32)")
        writer.tensors.append((f"x{i}", rank))
    params += [
        f"{name} : Size"
        for name in ("n", "m", "k")
        if not any(f"[{name}," in p or f" {name}," in p or f"[{name}]" in p or f" {name}]" in p for p in params)
    ]
    for _ in range(writer.random.randint(3, most)):
        writer.statement()
    body = "\n".join(f"  {line}" for line in writer.lines)
    return f"@main = fn({', '.join(params)}) : Tensor {{\n{body}\n  {writer.tensors[-1][0]}\n}}\n"


def cost(text):
    """CPU seconds and steps of checking a program and looking for fixes."""
    from rxlang import pipeline
    from rxlang.fixes.ranked import with_helps

    began = time.process_time()
    report = pipeline.check_text(text, "nested.rx", Path("."))
    with_helps(report, Path("."))
    steps = report.checked.steps if report.checked is not None else 0
    stopped = report.checked.questions.get("stopped", 0) if report.checked is not None else 0
    return {
        "seconds": time.process_time() - began,
        "steps": steps,
        "stopped": stopped,
        "codes": [d.code for d in report.diagnostics],
    }


def counted(function, text):
    """What a function gives, and how many functions of Python are entered for it: what it costs, the same on any machine."""
    before = sys.getprofile()
    profile = cProfile.Profile(subcalls=False, builtins=False)
    try:
        found = profile.runcall(function, text)
    finally:
        sys.setprofile(before)
    return found, sum(row.callcount for row in profile.getstats())


def measured(text):
    found, entered = counted(cost, text)
    return {**found, "entered": entered}


def entered(text):
    return measured(text)["entered"]


def megabytes():
    """The most memory that this process had; ru_maxrss has what its parent had when it was forked, too."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    [peak] = [line.split()[1] for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM")]
    return int(peak) / 1024


def main(first, count, most=37, module=None):
    """The cost of so many programs, of this module or another one."""
    make = program if module is None else importlib.import_module(module).program
    for seed in range(first, first + count):
        print(json.dumps({"seed": seed}), flush=True)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + FAR, hard))
        found = cost(make(seed, most))
        found["megabytes"] = megabytes()
        print(json.dumps({"seed": seed, **found}), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), *sys.argv[4:])
