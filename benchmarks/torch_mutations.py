"""Mistakes planted in the models of torch_subjects.py, one in each copy: what checking the copy says before anything runs,
beside what running torch with several sizes says, and beside torch.export.

    python benchmarks/torch_mutations.py [--count 100] [--export] [--write FOLDER] [--all] [--list]

A mistake counts where torch refuses some sizes with it that the right model takes.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import random
import re
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rxlang.model.traced import check_python

SUBJECTS = Path(__file__).with_name("torch_subjects.py")
# Sizes at which torch is run; those that the right model refuses do not count.
SIZES: tuple[Mapping[str, int], ...] = (
    {"b": 2, "t": 6, "s": 5, "h": 16, "w": 24, "n": 7}, {"b": 3, "t": 5, "s": 9, "h": 24, "w": 8, "n": 4},
    {"b": 5, "t": 3, "s": 4, "h": 40, "w": 32, "n": 6}, {"b": 4, "t": 4, "s": 4, "h": 33, "w": 21, "n": 4},
    {"b": 1, "t": 64, "s": 2, "h": 32, "w": 32, "n": 3}, {"b": 7, "t": 2, "s": 3, "h": 15, "w": 18, "n": 9},
    {"b": 16, "t": 8, "s": 16, "h": 8, "w": 16, "n": 16},
)  # fmt: skip


class Planted(NamedTuple):
    """A mistake: its kind, the model, the line, what stands there and what stands there then."""

    kind: str
    model: str
    line: int
    right: str
    wrong: str
    text: str


class Truth(NamedTuple):
    """What running says: how many sizes of those that the right model takes are refused, where, and whether shapes differ."""

    taken: int
    refused: int
    lines: frozenset[int]
    differs: bool
    values: bool


# The operators


def edits(node: ast.AST, source: str) -> Iterator[tuple[str, ast.AST, str]]:
    """The kind of each mistake at a node, what is written anew, and how."""

    def text(part: ast.AST) -> str:
        return ast.get_source_segment(source, part) or ""

    match node:
        case ast.Call(func=ast.Attribute(value=on, attr="transpose" | "permute" | "t"), args=args):
            yield "a transpose left out", node, text(on)
            if len(args) > 3:
                yield "permute in another order", args[-1], text(args[-2])
    match node:
        case ast.Call(func=ast.Attribute(value=on, attr="permute"), args=[*_, one, other]):
            yield (
                "permute in another order",
                node,
                text(node).replace(f"{text(one)}, {text(other)})", f"{text(other)}, {text(one)})"),
            )
        case ast.Call(func=ast.Attribute(value=on, attr="unsqueeze"), args=[axis]):
            yield "unsqueeze left out", node, text(on)
            yield "unsqueeze elsewhere", axis, "0" if text(axis) != "0" else "1"
        case ast.Call(func=ast.Attribute(value=on, attr="flatten"), args=args) if not _is_torch(on):
            yield "flatten left out", node, text(on)
            if args and text(args[0]) == "1":
                yield "flatten from another axis", args[0], "2"
        case ast.Call(func=ast.Attribute(attr="flatten"), args=[x, _]):
            yield "flatten left out", node, text(x)
        case ast.Call(func=ast.Attribute(attr="Linear"), args=[one, other]):
            yield "a layer of another width", one, f"{text(one)} + 1"
            yield "a layer of another width", other, f"{text(other)} * 2"
        case ast.Call(func=ast.Attribute(attr="Conv2d" | "Conv1d"), args=[one, *_]):
            yield "a layer of another width", one, f"{text(one)} * 2"
        case ast.Call(func=ast.Attribute(attr="chunk"), args=[count, *_]):
            yield "another number of chunks", count, str(int(text(count)) - 1)
        case ast.Call(func=ast.Attribute(attr="view" | "reshape"), args=args) if len(args) > 1:
            if isinstance(args[0], ast.Name) or text(args[0]).endswith(".shape[0]"):
                yield "the batch as a number", args[0], "4"
            first, second = text(args[0]), text(args[1])
            if not isinstance(args[1], ast.Constant):
                yield "a view in another order", node, text(node).replace(f"{first}, {second}", f"{second}, {first}", 1)
        case ast.Subscript(slice=ast.Tuple(elts=parts)) as whole if any(isinstance(p, ast.Slice) for p in parts):
            for part in parts:
                if isinstance(part, ast.Slice) and (part.lower or part.upper) and part.step is None:
                    yield "a slice off by one", part, ":"
                if isinstance(part, ast.Slice) and part.step is not None:
                    yield (
                        "a slice off by one",
                        part,
                        f"1{text(part)[1:]}" if text(part)[0] == "0" else f"0{text(part)[1:]}",
                    )
            nones = [p for p in parts if isinstance(p, ast.Constant) and p.value is None]
            if nones:
                left = ", ".join(text(p) for p in parts if p is not nones[-1])
                yield "unsqueeze left out", whole.slice, left
                moved = [":" if p is nones[0] else text(p) for p in parts]
                other = next(n for n, p in enumerate(parts) if isinstance(p, ast.Slice) and n > 0 or p is parts[-1])
                if moved[other] == ":":
                    moved[other] = "None"
                    yield "unsqueeze elsewhere", whole.slice, ", ".join(moved)
    match node:
        case ast.Call(keywords=keywords) if keywords:
            for one in keywords:
                if one.arg == "keepdim":
                    yield "keepdim left out", one.value, "False"
                if one.arg == "batch_first":
                    yield "batch_first left out", one.value, "False"
                if one.arg == "stride" and text(one.value).isdigit():
                    yield "another stride", one.value, "1" if text(one.value) != "1" else "2"
                if one.arg == "padding" and text(one.value).isdigit():
                    yield "another padding", one.value, "0" if text(one.value) != "0" else "1"
                if one.arg == "dim" and _changes_shapes(node):
                    value = text(one.value)
                    new = {"0": "1", "1": "0" if "cat" in text(node) else "2", "2": "1", "-1": "1", "(2, 3)": "(1, 2)"}
                    if value in new:
                        yield "another dim", one.value, new[value]
        case ast.arg(arg="heads") | ast.arguments():
            for arg, default in _defaults(node):
                if arg == "heads":
                    yield "heads that do not divide", default, "5"
                if arg == "tokens":
                    yield "a table of another size", default, f"{text(default)} - 1"


def _is_torch(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("torch", "F")


def _changes_shapes(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return name in ("cat", "stack", "sum", "mean", "amax", "max", "chunk", "norm")


def _defaults(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.arguments) and node.defaults:
        yield from zip((a.arg for a in node.args[-len(node.defaults) :]), node.defaults, strict=True)


def planted(source: str, names: Mapping[str, Any]) -> Iterator[Planted]:
    """All mistakes, in the order of the file."""
    tree = ast.parse(source)
    users = {"Block": "ResNet", "Attention": "GPT"}
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for part in tree.body:
        model = users.get(getattr(part, "name", ""), getattr(part, "name", ""))
        if not isinstance(part, ast.ClassDef) or model not in names:
            continue
        seen: set[str] = set()
        for node in ast.walk(part):
            for kind, at, new in edits(node, source):
                begin, end = (
                    starts[line - 1] + column
                    for line, column in ((at.lineno, at.col_offset), (at.end_lineno, at.end_col_offset))
                )
                text = source[:begin] + new + source[end:]
                if text != source and text not in seen:
                    seen.add(text)
                    lines = text.splitlines()
                    yield Planted(
                        kind,
                        model,
                        at.lineno,
                        source.splitlines()[at.lineno - 1].strip(),
                        lines[at.lineno - 1].strip(),
                        text,
                    )


def drawn(found: list[Planted], count: int) -> list[Planted]:
    """As many of each model and of each kind as there are, in turn."""
    draw = random.Random(36)
    draw.shuffle(found)
    models, kinds, chosen = Counter[str](), Counter[str](), list[Planted]()
    while found and len(chosen) < count:
        one = min(found, key=lambda p: (models[p.model], kinds[p.kind]))
        found.remove(one)
        models[one.model] += 1
        kinds[one.kind] += 1
        chosen.append(one)
    return chosen


# What is true


def inputs(args: list[str], sizes: Mapping[str, int]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    torch.manual_seed(0)
    for arg in args:
        name, dtype, dims = re.fullmatch(r"(\w+)=(\w+)\[(.*)\]", arg).groups()  # type: ignore[union-attr]
        shape = [sizes[d] if d in sizes else int(d) for d in dims.split(", ")]
        made[name] = (
            torch.randn(shape)
            if dtype == "float32"
            else torch.rand(shape) > 0.3
            if dtype == "bool"
            else torch.randint(0, 7, shape)
        )
    return made


def loaded(text: str, file: Path) -> Any:
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ran(text: str, model: str, args: list[str], file: Path) -> list[Any]:
    """For each of the sizes the shapes and values, or the lines where it raised."""
    module = loaded(text, file)
    found: list[Any] = []
    for sizes in SIZES:
        torch.manual_seed(1)
        try:
            made = getattr(module, model)()
            result = made(**inputs(args, sizes))
            found.append(result)
        except Exception as problem:  # noqa: BLE001  # whatever the model raises
            frames = traceback.extract_tb(problem.__traceback__)
            found.append(frozenset(f.lineno for f in frames if f.filename == str(file)))
    return found


def truth(right: list[Any], wrong: list[Any]) -> Truth:
    pairs = [(r, w) for r, w in zip(right, wrong, strict=True) if isinstance(r, torch.Tensor)]
    refused = [w for _, w in pairs if isinstance(w, frozenset)]
    both = [(r, w) for r, w in pairs if isinstance(w, torch.Tensor)]
    differs = any(r.shape != w.shape for r, w in both)
    values = any(r.shape == w.shape and not torch.allclose(r, w, atol=1e-6, equal_nan=True) for r, w in both)
    return Truth(len(pairs), len(refused), frozenset().union(*refused), differs, values)


def mistakes(
    place: Path, only: str, count: Counter[str]
) -> tuple[str, Mapping[str, list[str]], list[tuple[Planted, Truth]]]:
    """The right models, their inputs, and the mistakes that torch refuses at some sizes; the others are counted."""
    source = SUBJECTS.read_text()
    names: Mapping[str, list[str]] = loaded(source, place / "right.py").INPUTS
    right = {name: ran(source, name, args, place / "right.py") for name, args in names.items()}
    found = []
    for n, one in enumerate(planted(source, names)):
        if only in f"{one.model} {one.kind}":
            what = truth(right[one.model], ran(one.text, one.model, names[one.model], place / f"ran_{n}.py"))
            count["planted"] += 1
            if what.refused:
                found.append((one, what))
            else:
                count["of them that no size shows" if not what.differs else "of them with another result alone"] += 1
    return source, names, found


def exported(text: str, model: str, args: list[str], file: Path) -> tuple[str, frozenset[int]]:
    """What torch.export says with all sizes left to it."""
    module = loaded(text, file)
    made = getattr(module, model)()
    given = inputs(args, SIZES[0])
    dims = {a.partition("=")[0]: a.partition("[")[2].rstrip("]").split(", ") for a in args}
    shapes = {n: {k: torch.export.Dim.AUTO for k, d in enumerate(ds) if not d.isdigit()} for n, ds in dims.items()}
    try:
        found = torch.export.export(made, (), given, dynamic_shapes=shapes, strict=False)
    except Exception as problem:  # noqa: BLE001  # whatever it raises
        frames = traceback.extract_tb(problem.__traceback__)
        return "raises", frozenset(f.lineno for f in frames if f.filename == str(file))
    ranges = {str(k): (v.lower, v.upper) for k, v in found.range_constraints.items()}
    return f"{len(ranges)} sizes free", frozenset()


# What is said


class Said(NamedTuple):
    lines: tuple[int, ...]
    texts: tuple[str, ...]
    contract: frozenset[str] | None


def checked(text: str, model: str, args: list[str], file: Path) -> Said:
    file.write_text(text)
    sys.modules.pop(file.stem, None)
    found = check_python(f"{file.name}:{model}", None, args, file.parent)
    said = [d for d in found.report.diagnostics if d.severity != "note"]
    texts = tuple(f"{d.severity}[{d.code}] {d.span.line}: {d.message}" for d in said)
    contract = None if found.contract is None else frozenset(c.condition for c in found.contract.conditions)
    return Said(tuple(d.span.line for d in said), texts, contract)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--all", action="store_true", help="all mistakes, not some of them")
    parser.add_argument("--list", action="store_true", help="each of them, with what is said")
    parser.add_argument("--export", action="store_true")
    parser.add_argument("--write", type=Path, help="a folder for the copies, for others to be run on")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    count: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        source, names, numbered = mistakes(place, asked.only, count)
        own = {name: checked(source, name, args, place / "right.py") for name, args in names.items()}
        count["false alarms"] = sum(bool(said.lines) for said in own.values())
        if asked.export:
            said = [exported(source, name, args, place / f"exported_{name}.py") for name, args in names.items()]
            count["torch.export raises for a right model"] += sum(word == "raises" for word, _ in said)
        shown = {id(one): what for one, what in numbered}
        chosen = [one for one, _ in numbered] if asked.all else drawn([one for one, _ in numbered], asked.count)
        spent = 0.0
        for n, one in enumerate(chosen):
            what, args = shown[id(one)], names[one.model]
            if asked.write:
                asked.write.mkdir(exist_ok=True, parents=True)
                (asked.write / f"mistake_{n:03}.py").write_text(f"{one.text}\n# {one.model}:{one.line} {one.kind}\n")
            begun = time.process_time()
            said = checked(one.text, one.model, args, place / f"copy_{n}.py")
            spent += time.process_time() - begun
            wanted = {one.line, *what.lines}
            how = "always" if what.refused == what.taken else "at some sizes"
            is_seen = bool(said.lines)
            is_told = not is_seen and said.contract != own[one.model].contract
            count["mistakes"] += 1
            count[f"{how}: "] += 1
            count[f"{how}: seen"] += is_seen
            count["seen"] += is_seen
            count["a line of the contract alone"] += is_told
            count["at its line"] += is_seen and bool(wanted & set(said.lines))
            count["one diagnostic"] += len(said.lines) == 1
            if asked.export:
                outcome, lines = exported(one.text, one.model, args, place / f"exported_{n}.py")
                count["torch.export raises"] += outcome == "raises"
                count["torch.export raises at its line"] += bool(lines & wanted)
                count[f"torch.export, {how}"] += outcome == "raises"
            if asked.list:
                word = "seen" if is_seen else "told" if is_told else "MISSED"
                print(f"{word} {one.model}:{one.line} {one.kind}, {how}: {one.right} -> {one.wrong}")
                print(f"    torch: {what.refused} of {what.taken} refused at {sorted(what.lines)}")
                for text in said.texts:
                    print(f"    {text}")
                if is_told:
                    print(f"    {sorted(said.contract or ())} for {sorted(own[one.model].contract or ())}")
    for what_, number in count.items():
        print(f"{number:5} {what_}")
    print(f"{spent:5.1f} seconds of CPU for checking")


if __name__ == "__main__":
    main()
