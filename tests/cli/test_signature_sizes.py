"""What `rx check --signature` prints, tried with all small sizes: it says yes exactly where the function runs, or it is called
sufficient, and then no only to empty tensors that would pass."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rxlang import pipeline
from rxlang.fixes.signatures import signatures
from rxlang.interp.arguments import convert
from rxlang.interp.compile import Options
from rxlang.interp.run import Machine
from rxlang.interp.shape_error import ShapeError
from rxlang.lang import core
from rxlang.lang.checked import Demands
from rxlang.lang.diagnostics import RxError
from rxlang.lang.dtypes import CLASSES, DTYPES
from rxlang.lang.files import Files
from rxlang.lang.walk import walk
from support import all_sizes, cases, fuzz, random_programs, replay, shape_bugs, small_programs
from support.places import ROOT, TESTS

GOLDENS = sorted((TESTS / "goldens").rglob("*.rx"))
DOCS = sorted((ROOT / "docs").glob("*.md"))
MOST_NAMES = 4
# The sizes that are tried, by how many names there are.
UP_TO = (6, 6, 6, 6 if fuzz.FULL else 4, 6 if fuzz.FULL else 2)
_WORDS = ("min", "max", "ceildiv", "dim", "rank", "shape", "dtype", "in")


class EntryCheck:
    """A function that has a signature and does nothing."""

    def __init__(self, text: str, base: Path, demands: Demands) -> None:
        outside = re.findall(r"^(?:type|const|import) .*$", text, re.MULTILINE)
        params = ", ".join(f"{name} : {type_}" for name, type_ in demands.params)
        known = set(re.findall(r"\w+", params)) | {
            "min",
            "max",
            "ceildiv",
            "dim",
            "rank",
            "shape",
            "dtype",
            "in",
            *CLASSES,
            *DTYPES,
        }
        asked = [
            c for c in demands.where if set(re.findall(r"[A-Za-z_]\w*", c)) <= known
        ]  # not of what the body chooses
        where = f" where {', '.join(asked)}" if asked else ""
        made = "\n".join([*outside, f"@entry_check = fn({params}){where} {{ @zeros([1], float32) }}", ""])
        report = pipeline.check_text(made, "door.rx", base)
        assert report.checked is not None, (made, report.diagnostics)
        self.ok = report.ok
        self.program = report.checked.before
        self.machine = Machine(self.program, Files(base), Options(guard_all=True))
        assert "entry_check" in {f.name for f in self.program.functions}, (made, report.diagnostics)
        self.function = next(f for f in self.program.functions if f.name == "entry_check")

    def opens(self, values: list[Any]) -> bool:
        return runs(self.machine, self.function, values) is True


def runs(machine: Machine, function: core.Function, values: list[Any]) -> bool | None:
    """None where what stands in the data decided, of which no signature speaks."""
    try:
        with np.errstate(all="ignore"):
            machine.call(function.name, convert(function, list(values)))
    except ShapeError as problem:
        said = problem.diagnostic
        return None if said.code == "R402" or "for the index" in said.message else False
    return True


def problems(text: str, base: Path, library: str = "") -> list[str]:
    """Signatures of a program that are not the weakest, or not enough; not those of a library that all programs have."""
    text, known = text + library, set(re.findall(r"^@\w+", library, re.MULTILINE))
    report = pipeline.check_text(text, "sizes.rx", base)
    if report.checked is None or not report.ok or any(f.kind == "extern" for f in report.checked.before.functions):
        return []
    if any(isinstance(node, core.Loop) for node in walk(report.checked.before)):
        return []  # it may run for ever, and what it reads by ids in a turn nobody draws here
    player, found = replay.Replay(report.checked, text, base), []
    for demands in signatures(report, base):
        function = next((f for f in player.program.functions if f"@{f.name}" == demands.name), None)
        if function is not None and demands.name not in known and (names := names_of(player, function)) is not None:
            try:
                found += both_sides(player, function, demands, EntryCheck(text, base, demands), names)
            except RxError:
                continue  # what it calls is not there
    return found


def names_of(player: replay.Replay, function: core.Function) -> tuple[str, ...] | None:
    """The names that have to be chosen; None where they are too many, or where functions are given."""
    types = player.types(function)
    found: set[str] = set()
    for name, type_ in types.items():
        parts = [type_, *type_.items]
        if any(t.kind == "fn" or (t.kind == "name" and t.shape != "Size") for t in parts):
            return None
        found |= {name} if type_.kind == "name" else set()
        for t in parts:
            dims = replay.split(t.shape[1:-1]) if t.shape.startswith("[") else []
            found |= {n for d in dims if d != "?" and not d.startswith(("*", ".")) for n in all_sizes.names_in(d)}
    return tuple(sorted(found)) if len(found) <= MOST_NAMES else None


def calls(
    player: replay.Replay, function: core.Function, names: tuple[str, ...]
) -> Iterator[tuple[dict[str, int], list[list[Any]]]]:
    """Arguments for all small sizes, with other elements and what the types leave open."""
    types = player.types(function)
    for sizes in product(range(UP_TO[len(names)] + 1), repeat=len(names)):
        chosen = dict(zip(names, sizes, strict=True))
        try:
            yield chosen, [given(types, replay.Draw(attempt, chosen)) for attempt in range(2)]
        except (ValueError, ZeroDivisionError, replay.TooBig):
            continue


def given(types: dict[str, replay.Type], draw: replay.Draw) -> list[Any]:  # type: ignore[name-defined]
    return [draw.value(t, name) for name, t in types.items()]


def both_sides(
    player: replay.Replay, function: core.Function, demands: Demands, entry_check: EntryCheck, names: tuple[str, ...]
) -> list[str]:
    found = []
    for sizes, draws in calls(player, function, names):
        opens = [entry_check.opens(values) for values in draws]
        ends = [runs(player.machine(), function, values) for values in draws]
        shapes = [[getattr(v, "shape", v) for v in flat(values)] for values in draws]
        if demands.complete and any(o and e is False for o, e in zip(opens, ends, strict=True)):
            found.append(f"{demands}: fails with {sizes} {shapes}")
        empty = all(any(isinstance(s, tuple) and 0 in s for s in found) for found in shapes)
        if all(ends) and not any(opens) and (demands.necessary or not empty):
            found.append(f"{demands}: runs with {sizes} {shapes}")
    return found[:2]


def flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        yield from flat(value) if isinstance(value, tuple) else (value,)


def test_what_files_demand_is_the_weakest() -> None:
    some = fuzz.some(GOLDENS, 4)
    assert [(p.name, found) for p in some if (found := problems(p.read_text(), p.parent))] == []


def examples(path: Path) -> list[str]:
    return re.findall(r"^```rx\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


def test_what_the_programs_of_the_documents_demand_is_the_weakest() -> None:
    texts = [(path.name, text) for path in DOCS for text in examples(path) if "fn(" in text]
    some = fuzz.some(texts, 8)
    assert [(name, text, found) for name, text in some if (found := problems(text, ROOT))] == []


def test_what_real_bugs_demand_is_the_weakest() -> None:
    rows = cases.rows("shape_bugs.jsonl")
    some = rows if fuzz.FULL else rows[::10]
    assert [(row["id"], found) for row in some if (found := problems(shape_bugs.program(row), ROOT))] == []


def test_what_small_programs_demand_is_the_weakest() -> None:
    for case in fuzz.cases("demands"):
        with case as seed:
            text = small_programs.Maker(seed).program()
            assert problems(text, ROOT, small_programs.LIBRARY) == [], text


def test_what_programs_with_arms_demand_is_the_weakest() -> None:
    for case in fuzz.cases("demands with arms"):
        with case as seed:
            made = random_programs.Maker(seed)
            assert problems(made.own, ROOT, made.source.removeprefix(made.own)) == [], made.source


def test_what_is_checked_in_a_callee_is_not_forgotten_at_the_caller() -> None:
    inner = "@g = fn(x : Tensor([n], float32), k : Tensor([], int64)) {G { x[0:4 // @item(k)] }\n"
    for said in ("", " : Tensor", " : Tensor([m], float32)"):
        text = inner.replace("{G", said) + (
            "@f = fn(x : Tensor([n], float32), k : Tensor([], int64)) : Tensor { @exp(@g(x, k)) }\n"
            "@e = fn(x : Tensor([n], float32)) : Tensor { let h = fn(y : Tensor([m], float32)) : Tensor { @f(y, 0) }; h(x) }\n"
            "@d = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x }\n"
        )
        found = signatures(pipeline.check_text(text, "callee.rx", ROOT), ROOT)
        assert [d.complete for d in found] == [False, False, False, True], said
