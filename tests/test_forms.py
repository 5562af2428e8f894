"""A new form of the language is pointed at wherever it has to be known: no `match` over a tree is silent about the rest."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from .test_house import LAYERS, ROOT, sources

TREES = ("core", "sweet")
# These ask whether an expression of the user's is written in one of a few ways; any other way is nothing to them.
ASKING = {
    "desugar/applied", "desugar/arguments", "desugar/compounds", "desugar/invert", "desugar/levels", "desugar/literals",
    "desugar/shapes", "desugar/type_names", "desugar/values", "desugar/written", "desugar/defaults",
    "fixes/families/attributes", "fixes/families/literals", "fixes/families/ranks", "fixes/families/typos",
    "fixes/families/sorts", "fixes/numbers/chosen_sizes", "fixes/numbers/evaluator", "fixes/tree",
    "ops/signature", "editor/names", "editor/symbols",
}  # fmt: skip


def matches() -> Iterator[tuple[str, ast.Match, ast.stmt | None, ast.FunctionDef]]:
    """Every `match` over a tree: its module, the statement behind it in its block, and the function it stands in."""
    for module, tree in sources().items():
        for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
            for block in blocks(function):
                for at, stmt in enumerate(block):
                    if isinstance(stmt, ast.Match) and trees(stmt):
                        yield "/".join(module), stmt, next(iter(block[at + 1 :]), None), function


def blocks(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    """The blocks of a function, those of functions inside it left out."""
    stack: list[ast.AST] = [function]
    while stack:
        node = stack.pop()
        found = [getattr(node, field, []) for field in ("body", "orelse", "finalbody")]
        yield from (block for block in found if isinstance(block, list) and block)
        stack.extend(n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.FunctionDef | ast.expr))


def trees(match: ast.Match) -> set[str]:
    classes = [
        ast.unparse(n.cls) for case in match.cases for n in ast.walk(case.pattern) if isinstance(n, ast.MatchClass)
    ]
    return {tree for tree in TREES for name in classes if name.startswith(f"{tree}.")}


def ends(body: list[ast.stmt]) -> bool:
    """Whether a block always returns or raises."""
    match body[-1]:
        case ast.Return() | ast.Raise():
            return True
        case ast.If(body=then, orelse=orelse):
            return bool(orelse) and ends(then) and ends(orelse)
        case ast.With(body=inner):
            return ends(inner)
        case ast.Try(body=inner, handlers=handlers):
            return ends(inner) and all(ends(h.body) for h in handlers)
    return False


def is_exhaustive(match: ast.Match, behind: ast.stmt | None, function: ast.FunctionDef) -> bool:
    """`assert_never` at the end; or every case returns where mypy asks for a result; or the rest goes to a function that
    says in its types what it takes."""
    last = match.cases[-1]
    if ast.unparse(last.pattern) == "_":
        return "assert_never" in ast.unparse(last)
    if function.body[-1] is match and all(ends(case.body) for case in match.cases):
        return function.returns is not None and ast.unparse(function.returns) not in ("None", "Any")
    given = behind.value.args if isinstance(behind, ast.Return) and isinstance(behind.value, ast.Call) else []
    return ast.unparse(match.subject) in map(ast.unparse, given)


def looks_inside(case: ast.match_case) -> bool:
    """Whether a case is about more than the class of the node: a value or a node in it, or a guard."""
    return case.guard is not None or any(
        isinstance(n, ast.MatchValue | ast.MatchSingleton | ast.MatchSequence)
        or (
            isinstance(n, ast.MatchClass) and any(isinstance(p, ast.MatchClass) for p in (*n.patterns, *n.kwd_patterns))
        )
        for n in ast.walk(case.pattern)
    )


def silent(tree: str) -> set[str]:
    """Where a `match` tells the classes of a tree apart and says nothing of those that it does not know."""
    return {
        f"{module}:{match.lineno}"
        for module, match, behind, function in matches()
        if trees(match) == {tree} or (tree == "core" and "core" in trees(match))
        if not is_exhaustive(match, behind, function)
        if not all(looks_inside(c) or ast.unparse(c.pattern) == "_" for c in match.cases)
    }


def test_every_match_over_the_core_knows_all_forms() -> None:
    assert sum(1 for _ in matches()) > 60
    assert silent("core") == set()


def test_what_a_match_over_the_sweet_tree_does_not_know_goes_to_somebody_who_knows_all() -> None:
    default = {
        f"{module}:{match.lineno}" for module, match, _, _ in matches() if ast.unparse(match.cases[-1].pattern) == "_"
    }
    assert {place for place in silent("sweet") - default if place.split(":")[0] not in ASKING} == set()


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_points_at_every_place_that_has_to_know_a_new_value(tmp_path: Path) -> None:
    told = re.search(r"(\d+) places for a class added to core's `Value`", contributing())
    assert told is not None
    package = copy(tmp_path)
    file = package / "lang" / "core.py"
    text = file.read_text().replace(
        "class Number(Placed):", 'class Added(Placed):\n    """A new form."""\n\n\nclass Number(Placed):', 1
    )
    file.write_text(text.replace("| FnRef | Number |", "| FnRef | Added | Number |", 1))
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache")]
    run = subprocess.run(command, cwd=package, capture_output=True, text=True, timeout=600, check=False)
    places = [line for line in run.stdout.splitlines() if ": error: " in line]
    assert all("Added" in line or "Missing return" in line for line in places), run.stdout
    assert len(places) == int(told[1]), run.stdout


def contributing() -> str:
    return " ".join((ROOT / "CONTRIBUTING.md").read_text().split())


def copy(folder: Path) -> Path:
    """The package without its tests, as mypy finds it."""
    package = folder / "package"
    for module in sources():
        file = Path(*module).with_suffix(".py")
        (package / file).parent.mkdir(parents=True, exist_ok=True)
        (package / file).write_bytes((ROOT / file).read_bytes())
    (package / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    (package / ".types").mkdir()
    (package / ".types" / "rxlang").symlink_to(package)
    assert all((package / room).is_dir() for room in LAYERS if (ROOT / room).is_dir())
    return package
