"""The contract of models, held against onnxruntime: what it accepts has to run there, what it refuses has to fail.

    python tests/corpora/export_models.py FOLDER
    python benchmarks/onnx_contracts.py [FOLDER] [--only PATTERN] [--bindings 50] [--seed 0] [--list]

Each model, those of `made_models.py` among them, is run at bindings of four kinds: drawn from the contract by the solver, such
as break exactly one condition, at the edges of conditions, and uniform ones; then with indices at the ends of their ranges
and one beyond. A disagreement falls under a row of the table in docs/onnx-operators.md (`ROWS`), or it is a mistake.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import re
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import Pipe, Process
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx_nodes
import onnxruntime
from made_models import MADE
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, NotImplemented, RuntimeException
from rxlang.frontends.onnx.translate import translate
from rxlang.model.check import CheckedModel, check_model
from rxlang.model.contract import Contract, parameters
from rxlang.model.replay import failure_at
from rxlang.simplify.solver.numbers import holds_at, size_at
from rxlang.simplify.solver.prove import prove_line

# How onnxruntime refuses sizes.
REFUSALS = (Fail, InvalidArgument, NotImplemented, RuntimeException)
KINDS = ("drawn", "broken", "edge", "uniform", "index")
_MOST = 40_000_000  # of more elements no input is made
_ROOM = 6 * 2**30  # bytes that onnxruntime may take, for values that a loop doubles
_NO_ROOM = re.compile("(?i)bad_alloc|failed to allocate|out of memory")
_WORDS = ("a", "b", "the a", "zz")
_NODE = re.compile(r"running (\w+) node. Name:'([^']*)'")
_TRIED = 3  # how often a condition is broken alone, at least
Sizes = Mapping[str, int]


class Row(NamedTuple):
    """Where onnxruntime differs from the standard: at these operators it `accepts` what that refuses, or refuses what that
    accepts and `says` something like this, on tensors without elements only or on others as well."""

    operators: tuple[str, ...]
    accepts: bool
    only_empty: bool
    says: str = ""


ANY = "any"
ROWS = (
    Row(("MaxPool", "AveragePool", "LpPool", "DeformConv"), accepts=True, only_empty=False),
    Row(
        (
            "Conv", "FusedConv", "ConvInteger", "QLinearConv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool",
            "GlobalAveragePool", "GlobalMaxPool", "MaxUnpool", "Col2Im", "DeformConv", "Resize",
        ),
        accepts=False,
        only_empty=True,
    ),
    Row(
        (
            "ConvTranspose", "ConvInteger", "QLinearConv", "ArgMax", "ArgMin", "BatchNormalization", "GatherND", "DFT",
            "GlobalMaxPool", "GlobalAveragePool", "EmbedLayerNormalization", "STFT",
        ),
        accepts=True,
        only_empty=True,
    ),
    Row(("DFT",), accepts=True, only_empty=False),
    Row(("ConvInteger", "MatMulInteger"), accepts=False, only_empty=False, says="(?i)per-tensor|zero_?point"),
    Row(("Concat", "ConcatFromSequence"), accepts=True, only_empty=True),
    Row(("Reshape",), accepts=False, only_empty=True, says=r"requested shape:\{[^}]*-1"),
    Row(("Reshape",), accepts=True, only_empty=True),
    Row(("Pad",), accepts=True, only_empty=True),
    Row(("Pad",), accepts=False, only_empty=True, says="mode of 3"),
    Row(("Einsum", "GroupNormalization", "PRelu"), accepts=True, only_empty=False),
    Row(
        (
            "LayerNormalization", "RMSNormalization", "GroupNormalization", "Attention", "ArrayFeatureExtractor", "ReduceMax",
            "ReduceMin", "StringNormalizer", "TfIdfVectorizer",
        ),
        accepts=False,
        only_empty=True,
    ),
    Row(("Attention",), accepts=False, only_empty=False, says="attn_mask"),
    Row(("Attention",), accepts=True, only_empty=False),
    Row(("RotaryEmbedding",), accepts=False, only_empty=False, says="position_ids|not currently supported"),
    Row(("Resize",), accepts=False, only_empty=False, says="outermost|Scale value should be greater than 0"),
    Row(("OneHot",), accepts=False, only_empty=False, says="(?i)depth"),
    Row(("Scan",), accepts=False, only_empty=True),
    Row(("ScatterND",), accepts=False, only_empty=True, says="indices must be empty"),
    Row(("Tile",), accepts=False, only_empty=False, says="supported maximum"),
    # A shape is declared falsely.
    Row((ANY,), accepts=False, only_empty=False, says="pre-allocated output OrtValues|to re-use buffer"),
)  # fmt: skip


class Binding(NamedTuple):
    """Sizes to run a model at; `breaks` is the condition that is broken alone; `element` an input, and an element of it."""

    kind: str
    sizes: Sizes
    breaks: int | None = None
    element: tuple[str, int] | None = None


ENDED = "it ended the process"


class Runtime:
    """onnxruntime with a model, in a process of its own: some inputs end that."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._start()

    def _start(self) -> None:
        self.here, there = Pipe()
        self.process = Process(target=_serve, args=(there, str(self.path)), daemon=True)
        self.process.start()
        there.close()
        problem = self.here.recv()
        if problem is not None:
            raise ValueError(f"onnxruntime does not load it: {problem}")

    def refused(self, feeds: Mapping[str, Any]) -> str | None:
        """What it says against some inputs, with the node."""
        self.here.send(dict(feeds))
        try:
            said: str | None = self.here.recv()
        except EOFError:
            self.process.join()
            self._start()
            return ENDED
        return said


def _serve(there: Any, path: str) -> None:
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_AS, (_ROOM, _ROOM))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except REFUSALS as said:
        there.send(str(said))
        return
    there.send(None)
    with open(os.devnull, "w") as nowhere:  # what ends it says why
        os.dup2(nowhere.fileno(), sys.stderr.fileno())
    while True:
        try:
            session.run(None, there.recv())
            there.send(None)
        except REFUSALS as said:
            there.send(str(said))
        except EOFError:
            return


class Subject:
    """A model with its contract, and with onnxruntime."""

    def __init__(self, path: Path) -> None:
        self.found: CheckedModel = check_model(path, str(path))
        if self.found.contract is None or self.found.model is None:
            raise ValueError("; ".join(d.message for d in self.found.report.diagnostics) or "no contract")
        self.contract: Contract = self.found.contract
        self.conditions = [c.condition for c in self.contract.conditions]
        self.params = parameters(translate(self.found.model), self.contract.inputs)
        self.names = sorted({w for i in self.contract.inputs for s in i.shape or () for w in _words(s)})
        self.runtime = Runtime(path)
        self.operators = {o.name or o.outputs[0]: o.op_type for o in self.found.model.graph.operations}

    # What is said

    def says(self, binding: Binding, feeds: Mapping[str, Any]) -> bool:
        if not all(holds_at(text, binding.sizes) for text in self.conditions):
            return False
        for one in self.contract.ranges:
            least, most = size_at(one.least, binding.sizes), size_at(one.most, binding.sizes)
            if ((feeds[one.input] < least) | (feeds[one.input] > most)).any():
                return False
        return True

    def blamed(self, binding: Binding) -> str:
        """The node that fails here, by its operator; where none does, the first one that asks for what does not hold."""
        source = translate(self.found.model).source
        failure = failure_at(self.found.report.checked, self.params, binding.sizes)
        line = 0 if failure is None else failure.span.line
        made = source.made.get(line)
        asks = (d.node for c in self.contract.conditions if not holds_at(c.condition, binding.sizes) for d in c.demands)
        what = next(asks, "none") if made is None else made.what
        return what.rpartition("(")[2].rstrip(")")

    def refusing(self, kind: str, name: str) -> str:
        """The operator of a node that onnxruntime refuses; one with a body is refused by a node of that."""
        kinds = set(self.operators.values())
        return self.operators.get(name) or (kinds.pop() if len(kinds) == 1 else kind)

    # What is given

    def shapes(self, sizes: Sizes) -> dict[str, tuple[int, ...]] | None:
        made = {i.name: [size_at(s, sizes) for s in i.shape or ()] for i in self.contract.inputs}
        if any(size is None or size < 0 for shape in made.values() for size in shape):
            return None
        most = max((np.prod([max(size, 1) for size in shape], dtype=float) for shape in made.values()), default=0)
        return {n: tuple(shape) for n, shape in made.items()} if most < _MOST else None

    def feeds(self, binding: Binding, seed: int) -> dict[str, Any] | None:
        shapes = self.shapes(binding.sizes)
        if shapes is None:
            return None
        draw = np.random.default_rng(seed)
        feeds = {name: self._array(name, shape, binding.sizes, draw) for name, shape in shapes.items()}
        if binding.element is not None and feeds[binding.element[0]].size:
            feeds[binding.element[0]].flat[-1] = binding.element[1]
        return feeds

    def _array(self, name: str, shape: tuple[int, ...], sizes: Sizes, draw: np.random.Generator) -> Any:
        held = next(i.dtype for i in self.contract.inputs if i.name == name)
        if held == "string":
            return draw.choice(_WORDS, shape).astype(object)
        dtype = np.dtype(held)
        if dtype.kind == "b":
            return draw.random(shape) > 0.5
        if dtype.kind not in "iu":
            return draw.standard_normal(shape).astype(dtype)
        ends = [(size_at(r.least, sizes), size_at(r.most, sizes)) for r in self.contract.ranges if r.input == name]
        if not ends:
            return np.ones(shape, dtype)
        low, high = max(e[0] for e in ends), min(e[1] for e in ends)
        return draw.integers(low, high + 1, shape, dtype) if low <= high else np.zeros(shape, dtype)


def _words(size: object) -> list[str]:
    return re.findall(r"[A-Za-z_]\w*", str(size))


# Bindings


class Drawer:
    """Draws bindings of each kind, by the solver where conditions have to hold."""

    def __init__(self, subject: Subject, seed: int) -> None:
        self.subject, self.draw = subject, random.Random(seed)
        self.texts = subject.conditions
        self.unbroken: set[int] = set()  # what the others say too
        self.entry_check = [f"{s} >= 0" for i in subject.contract.inputs for s in i.shape or () if isinstance(s, str)]

    def bindings(self, count: int) -> Iterator[Binding]:
        subject = self.subject
        drawn = [p for p in (self.point(self.texts) for _ in range(count)) if p is not None]
        yield from (Binding("drawn", p) for p in drawn)
        yield from self.broken(count)
        for _ in range(count if subject.names else 0):
            yield Binding("edge", self.edge(self.draw.choice(drawn) if drawn else self.uniform()))
        for _ in range(count if subject.names else 0):
            yield Binding("uniform", self.uniform())
        for one in subject.contract.ranges:
            for p in drawn[:3]:
                ends = [size_at(one.least, p), size_at(one.most, p)]
                yield from (Binding("index", p, element=(one.input, e)) for e in (*ends, ends[0] - 1, ends[1] + 1))

    def broken(self, count: int) -> Iterator[Binding]:
        """Each condition alone, in turn."""
        for turn in range(max(count, _TRIED * len(self.texts)) if self.texts else 0):
            at = turn % len(self.texts)
            point = self.point(self.texts[:at] + self.texts[at + 1 :], self.texts[at])
            if point is not None:
                yield Binding("broken", point, breaks=at)
            else:
                self.unbroken.add(at)

    def uniform(self) -> dict[str, int]:
        return {name: self.draw.randint(0, 64) for name in self.subject.names}

    def edge(self, point: Sizes) -> dict[str, int]:
        """A point with one size at a bound of a condition, or one beside it."""
        bounds = {int(n) for text in self.texts for n in re.findall(r"\d+", text) if int(n) < 4096}
        name = self.draw.choice(self.subject.names)
        near = [0, 1, point[name] - 1, point[name] + 1, *(b + d for b in bounds for d in (-1, 0, 1))]
        return {**point, name: max(0, self.draw.choice(near))}

    def point(self, assume: Sequence[str], goal: str | None = None) -> dict[str, int] | None:
        """Sizes for which some conditions hold and another one does not, near random ones where there are such."""
        for width in (0, 0, 4, 16, None):
            near = list(self.near(width)) if width is not None else [f"{name} <= 100" for name in self.subject.names]
            found = self.asked([*assume, *near], goal)
            if found is not None:
                return found
        return self.asked(assume, goal)

    def near(self, width: int) -> Iterator[str]:
        names = self.subject.names
        for name in names if width else self.draw.sample(names, self.draw.randint(0, len(names))):
            low = self.draw.choice((0, 1, 1, 2, 3, 5, 8, 13, 24))
            yield f"{low} <= {name}"
            yield f"{name} <= {low + width}"

    def asked(self, assume: Sequence[str], goal: str | None) -> dict[str, int] | None:
        spoken = [f"{name} >= 0" for name in self.subject.names]
        question = {"assume": [*spoken, *self.entry_check, *assume], "goal": goal or "nothing_else == 0"}
        answer = prove_line(json.dumps(question))
        if answer["result"] == "unsat":  # nothing for which the goal holds: some for which it does not
            answer = prove_line(json.dumps({"assume": question["assume"], "goal": "nothing_else == 0"}))
        found = answer.get("witness")
        if found is None:
            return None
        point = {name: found.get(name, 1) for name in self.subject.names}
        right = all(holds_at(text, point) for text in assume) and (goal is None or not holds_at(goal, point))
        return point if right else None


# Judgement


class Score:
    """How many bindings of each kind were tried, and how they ended."""

    def __init__(self) -> None:
        self.tried: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.shown: set[int] = set()
        self.unshown: set[int | None] = set()  # what could not be run, or falls under a row


def measured(path: Path, count: int, seed: int) -> Score:
    score, subject = Score(), Subject(path)
    drawer = Drawer(subject, seed)
    for number, binding in enumerate(drawer.bindings(count)):
        feeds = subject.feeds(binding, seed + number)
        if feeds is None:
            score.ended["not run"] += 1
            score.unshown.add(binding.breaks)
            continue
        score.tried[binding.kind] += 1
        said, problem = subject.says(binding, feeds), subject.runtime.refused(feeds)
        if problem == ENDED:
            score.ended["ended onnxruntime's process"] += 1
            score.unshown.add(binding.breaks)
            continue
        if problem is not None and _NO_ROOM.search(problem):
            score.ended["too large to run"] += 1
            score.unshown.add(binding.breaks)
            continue
        if binding.breaks is not None and problem is not None:
            score.shown.add(binding.breaks)
        outcome = _outcome(subject, binding, feeds, said, problem, score)
        score.ended[outcome] += 1
        if outcome.startswith("row"):
            score.unshown.add(binding.breaks)
    for at, text in enumerate(subject.conditions):
        if at not in score.shown | score.unshown | drawer.unbroken:
            score.ended["condition never shown"] += 1
            score.wrong.append(f"{text}: onnxruntime refused no neighbour that breaks it alone")
    return score


def _outcome(
    subject: Subject, binding: Binding, feeds: Mapping[str, Any], said: bool, problem: str | None, score: Score
) -> str:
    if said == (problem is None):
        return "agreed"
    empty = any(not value.size for value in feeds.values())
    if problem is None:
        operator = subject.blamed(binding)
    else:
        names = _NODE.findall(problem)  # a node inside of others last
        operator = subject.refusing(*(names[-1] if names else ("", "")))
        left = [f" {d.node.removeprefix('node ')}" for d in subject.contract.undecided]
        if any(f" {name} (" in node for _, name in names for node in left):
            return "left to the run"
    rows = (
        r for r in ROWS if {operator, ANY} & {*r.operators} and r.accepts == (problem is None) and r.only_empty <= empty
    )
    row = next((r for r in rows if re.search(r.says, problem or "")), None)
    if row is not None:
        return f"row {ROWS.index(row) + 1} ({operator})"
    broken = [c for c in subject.conditions if not holds_at(c, binding.sizes)]
    told = f"takes it, {operator}; broken: {broken}" if problem is None else f"refuses it: {problem[:260]}"
    score.wrong.append(f"{binding.kind} {dict(binding.sizes)} {binding.element or ''}: onnxruntime {told}")
    return "wrong"


# Command line


# Node tests of the same shapes as others, of random numbers or texts, whose indices only a run checks, or that onnxruntime
# runs by a body that asks for less.
_NO_NODES = re.compile(
    r"_expanded|fp16|bf16|bfloat|u?int\d|float8|_random|dropout|bernoulli|FLOAT|INT|string|sequence|optional|loop|"
    r"array_feature|gathernd|tensorscatter|nllloss|sce_|linear_attention"
)


def nodes(only: str, beside: Path) -> Iterator[Path]:
    """Node tests that onnxruntime has kernels for, each with a symbol for every size."""
    for case in onnx_nodes.cases(0, only or None):
        path = beside / f"{case.name}.onnx"
        if not _NO_NODES.search(case.name) and all(
            isinstance(x, np.ndarray) and x.dtype.kind in "biuf" for x in case.inputs
        ):
            onnx.save(case.model, path)
            try:
                onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            except REFUSALS:
                continue
            yield path


def models(folder: Path | None, only: str, beside: Path) -> Iterator[Path]:
    for name, build in MADE.items():
        path = beside / f"{name}.onnx"
        if re.search(only, name):
            onnx.save(build(), path)
            yield path
    if folder is not None:
        yield from (p for p in sorted(folder.glob("*.onnx")) if re.search(only, p.stem))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--nodes", action="store_true", help="ONNX's node tests instead, every size of theirs a symbol")
    parser.add_argument("--bindings", type=int, default=50, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", type=int, default=5, help="how many disagreements are shown of a model")
    asked = parser.parse_args()
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as beside:
        here = Path(beside)
        for path in nodes(asked.only, here) if asked.nodes else models(asked.folder, asked.only, here):
            total.update(_told(path, asked))
    print(f"in all: {_counts(total)}")
    return 1 if total["wrong"] or total["condition never shown"] else 0


def _told(path: Path, asked: argparse.Namespace) -> Mapping[str, int]:
    began = time.perf_counter()
    try:
        score = measured(path, asked.bindings, asked.seed)
    except ValueError as problem:
        print(f"{path.stem}: {problem}")
        return {"not checked": 1}
    tried = ", ".join(f"{score.tried[kind]} {kind}" for kind in KINDS if score.tried[kind])
    print(f"{path.stem}: {_counts(score.ended)}; {tried}; {time.perf_counter() - began:.1f} s", flush=True)
    for line in score.wrong[: asked.list]:
        print(f"    {line}")
    return score.ended


def _counts(counter: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {what}" for what, n in sorted(counter.items()))


if __name__ == "__main__":
    sys.exit(main())
