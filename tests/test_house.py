"""The house rules that no other tool knows: who imports whom, which library stays where, and what the package holds."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from rxlang.lang.codes import CODES

ROOT = Path(__file__).resolve().parents[1]
LAYERS = {
    "grammar": 0,
    "lang": 1,
    "ops": 2,
    "desugar": 3,
    "simplify": 3,
    "interp": 3,
    "frontends": 3,
    "helps": 5,
    "memory": 5,
    "model": 7,
    "doors": 9,
    "editor": 9,
    "notebook": 9,
    "cli": 11,
}
# Inside simplify/ each may import those before it: sizes, what is known of values, how it is said, the walk over a program.
INNER = ("solver/terms", "solver", "known", "voice", "")
ROOT_LAYERS = {"pipeline": 4, "api": 8, "__init__": 10, "__main__": 12}
API = 6  # what any other module of the root is
NOT_SHIPPED = {"tests", "examples", "docs", "benchmarks"}


@cache
def sources() -> dict[tuple[str, ...], ast.Module]:
    """Every module of the package as its path's parts, without `.py`."""
    folders = [ROOT, *(ROOT / room for room in LAYERS)]
    files = [f for folder in folders for f in (folder.glob("*.py") if folder == ROOT else folder.rglob("*.py"))]
    return {f.relative_to(ROOT).with_suffix("").parts: ast.parse(f.read_text(encoding="utf-8")) for f in files}


def relative_targets(module: tuple[str, ...], node: ast.ImportFrom) -> Iterator[tuple[str, ...]]:
    """The modules of the package that a relative import names, from the package's root."""
    base = module[: len(module) - node.level] + tuple(node.module.split(".") if node.module else ())
    yield from ([base] if node.module else [(*base, alias.name) for alias in node.names])


def package_imports() -> Iterator[tuple[tuple[str, ...], tuple[str, ...], int]]:
    for module, tree in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                for target in relative_targets(module, node):
                    yield module, target, node.lineno


def outside_imports() -> Iterator[tuple[tuple[str, ...], str, int]]:
    """Every absolute import: the module, the imported top-level name, the line."""
    for module, tree in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield module, alias.name.split(".")[0], node.lineno
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                yield module, node.module.split(".")[0], node.lineno


def layer(module: tuple[str, ...]) -> int:
    room = module[0] if module else "__init__"
    return LAYERS[room] if room in LAYERS else ROOT_LAYERS.get(room, API)


def room_of(module: tuple[str, ...]) -> str:
    return module[0] if module and module[0] in LAYERS else ""


def place(module: tuple[str, ...], line: int) -> str:
    return f"{'/'.join(module)}.py:{line}"


def importers_of(name: str) -> set[str]:
    return {"/".join(module) for module, imported, _ in outside_imports() if imported == name}


def test_there_is_something_to_check() -> None:
    assert len(sources()) > 20
    assert sum(1 for _ in package_imports()) > 50


def test_imports_go_downwards_and_rooms_of_one_layer_do_not_meet() -> None:
    wrong = [
        f"{place(module, line)} imports {'.'.join(target)}"
        for module, target, line in package_imports()
        if room_of(module) != room_of(target) and layer(module) <= layer(target)
    ]
    assert wrong == []


def test_inside_simplify_imports_go_from_the_walk_to_the_solver() -> None:
    def depth(module: tuple[str, ...]) -> int:
        path = "/".join(module[1:])
        return next(at for at, room in enumerate(INNER) if path.startswith(room))

    wrong = [
        f"{place(module, line)} imports {'.'.join(target)}"
        for module, target, line in package_imports()
        if len(module) > 1
        and len(target) > 1
        and module[0] == target[0] == "simplify"
        and depth(module) < depth(target)
    ]
    assert wrong == []


def test_the_package_is_imported_relatively_so_that_no_class_exists_twice() -> None:
    own = set(LAYERS) | {"rxlang", "pipeline"}
    assert [place(module, line) for module, name, line in outside_imports() if name in own] == []


def test_what_comes_after_desugaring_knows_no_sweet_tree() -> None:
    knows = {module for module, target, _ in package_imports() if target in (("lang",), ("lang", "sweet"))}
    wrong = [
        "/".join(module)
        for module in knows
        if module[0] in ("simplify", "interp")
        or module in (("lang", "core"), ("lang", "core_printer"), ("lang", "checked"))
        if any(isinstance(n, ast.alias) and n.name == "sweet" for n in ast.walk(sources()[module]))
    ]
    assert wrong == []


def test_z3_appears_in_one_file() -> None:
    assert importers_of("z3") <= {"simplify/solver/smt"}


def test_text_rows_and_reasoning_know_no_numpy() -> None:
    rooms = {path.split("/")[0] for path in importers_of("numpy") | importers_of("ml_dtypes")}
    assert rooms.isdisjoint({"grammar", "lang", "ops", "desugar", "simplify"})


def test_sympy_is_for_the_edge() -> None:
    assert {path.split("/")[0] for path in importers_of("sympy")}.isdisjoint(LAYERS)


def test_no_module_at_the_root_shadows_the_standard_library() -> None:
    names = {module[0] for module in sources() if len(module) == 1} | set(LAYERS)
    assert names.isdisjoint(sys.stdlib_module_names)


def test_the_packages_list_names_every_folder_with_code_and_no_other() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = {"rxlang"}
    for init in ROOT.glob("[a-z]*/**/__init__.py"):
        parts = init.parent.relative_to(ROOT).parts
        if parts[0] in LAYERS:
            found.add(".".join(("rxlang", *parts)))
    assert set(settings["tool"]["setuptools"]["packages"]) == found


def test_every_top_level_folder_with_code_is_a_known_room() -> None:
    folders = {f.parent.name for f in ROOT.glob("[a-z]*/*.py")}
    assert folders <= set(LAYERS) | NOT_SHIPPED


def test_every_code_that_is_named_is_declared() -> None:
    nodes = [(module, n) for module, tree in sources().items() for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    named = [(m, n) for m, n in nodes if isinstance(n.value, ast.Name) and n.value.id == "codes" and n.attr.isupper()]
    assert len(named) > 100
    assert [place(m, n.lineno) for m, n in named if n.attr not in CODES] == []
