"""The house rules that no other tool knows: who imports whom, which library stays where, and what the package holds."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from rxlang.lang.codes import CODES
from rxlang.ops import registry
from support.places import ROOT

LAYERS = {
    "grammar": 0,
    "lang": 1,
    "sizes": 2,
    "ops": 3,
    "desugar": 4,
    "grad": 4,
    "simplify": 4,
    "interp": 4,
    "frontends": 4,
    "fixes": 6,
    "memory": 6,
    "model": 7,
    "python": 8,
    "editor": 9,
    "notebook": 9,
    "cli": 11,
}
# Inside simplify/ each may import those before it: sizes, what is known of values, how it is said, the walk over a program.
INNER = ("solver/terms", "solver", "known", "messages", "")
PARTS = tuple(f"{room}/README.md" for room in ("editor", "fixes", "interp", "model", "python", "simplify"))
ROOT_LAYERS = {"pipeline": 5, "__init__": 10, "__main__": 12}
NOT_SHIPPED = {"tests", "examples", "docs", "benchmarks", "distribution"}


@cache
def sources() -> dict[tuple[str, ...], ast.Module]:
    """Every module of the package as its path's parts, without `.py`."""
    folders = [ROOT, *(ROOT / room for room in LAYERS)]
    files = [f for folder in folders for f in (folder.glob("*.py") if folder == ROOT else folder.rglob("*.py"))]
    return {f.relative_to(ROOT).with_suffix("").parts: ast.parse(f.read_text(encoding="utf-8")) for f in files}


N = TypeVar("N", bound=ast.AST)


@cache
def nodes() -> dict[type[ast.AST], list[tuple[tuple[str, ...], Any]]]:
    """Every node of the package by its kind, with its module."""
    found: dict[type[ast.AST], list[tuple[tuple[str, ...], Any]]] = defaultdict(list)
    for module, tree in sources().items():
        for node in ast.walk(tree):
            found[type(node)].append((module, node))
    return found


def every(*kinds: type[N]) -> Iterator[tuple[tuple[str, ...], N]]:
    return (found for kind in kinds for found in nodes()[kind])


def relative_targets(module: tuple[str, ...], node: ast.ImportFrom) -> Iterator[tuple[str, ...]]:
    """The modules of the package that a relative import names, from the package's root."""
    base = module[: len(module) - node.level] + tuple(node.module.split(".") if node.module else ())
    yield from ([base] if node.module else [(*base, alias.name) for alias in node.names])


def package_imports() -> Iterator[tuple[tuple[str, ...], tuple[str, ...], int]]:
    for module, node in every(ast.ImportFrom):
        if node.level:
            yield from ((module, target, node.lineno) for target in relative_targets(module, node))


def outside_imports() -> Iterator[tuple[tuple[str, ...], str, int]]:
    """Every absolute import: the module, the imported top-level name, the line."""
    for module, node in every(ast.Import):
        yield from ((module, alias.name.split(".")[0], node.lineno) for alias in node.names)
    for module, each in every(ast.ImportFrom):
        if not each.level and each.module:
            yield module, each.module.split(".")[0], each.lineno


def layer(module: tuple[str, ...]) -> int:
    room = module[0] if module else "__init__"
    return LAYERS[room] if room in LAYERS else ROOT_LAYERS[room]


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
        if any(of == module and n.name == "sweet" for of, n in every(ast.alias))
    ]
    assert wrong == []


def test_z3_appears_in_one_file() -> None:
    assert importers_of("z3") <= {"simplify/solver/smt"}


def test_text_rows_and_reasoning_know_no_numpy() -> None:
    rooms = {path.split("/")[0] for path in importers_of("numpy") | importers_of("ml_dtypes")}
    assert rooms.isdisjoint({"grammar", "lang", "sizes", "ops", "desugar", "simplify"})


def test_sympy_is_for_the_edge() -> None:
    # PyTorch's symbolic sizes are SymPy's.
    torchs = {f"frontends/torch/{name}" for name in ("sizes", "strides", "supposing", "trace")}
    assert importers_of("sympy") - torchs == {"python/size_sympy"}


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
    named = [
        (m, n) for m, n in every(ast.Attribute)
        if isinstance(n.value, ast.Name) and n.value.id == "codes" and n.attr.isupper()
    ]  # fmt: skip
    assert len(named) > 100
    assert [place(m, n.lineno) for m, n in named if n.attr not in CODES] == []


# Nothing that we say ourselves is read again, and nothing is recognised by its name

# Rooms in which a name is a row, or what is written about one: an operator of a model, a kernel.
ROWS = ("ops", "frontends", "grad", "interp/kernels", "interp/engines", "interp/allocation", "lang/operators")
# Names of primitives that are words of the language, of its types or of formats as well.
OTHER_WORDS = {
    "any", "complex", "real", "size", "sort", "item", "shape", "var", "where", "stack", "trace", "mean", "floor", "min", "max",
    "fold", "zeros", "ones", "arange", "remainder",  # `rx run --arg x=zeros[2, 3]`
}  # fmt: skip
# Whoever uses patterns, and what they are for: the user's text, names and formats, and what others say.
PATTERNS = {
    "source text": "lang/lexer lang/rows lang/build lang/given lang/weights lang/walk lang/no_rule desugar/symbols "
    "desugar/binding ops/registry ops/dtypes_column ops/spelling ops/rules/onnx_strings simplify/bindings simplify/program "
    "simplify/messages/entry_checks grad/rules editor/completion editor/pieces editor/positions python/declared "
    "python/notation python/reading python/lookup python/places cli/annotated lang/python_def "
    "interp/values interp/kernels/onnx_strings frontends/onnx/operators/strings",
    "sizes and conditions": "lang/expressions simplify/solver/exprs frontends/onnx/dims frontends/onnx/dynamic",
    "names": "frontends/onnx/names frontends/onnx/prelude frontends/onnx/operators/math frontends/onnx/operators/table "
    "fixes/parts cli/values python/size_sympy simplify/messages/spoken",
    "what others say": "frontends/onnx/reading lang/onnx_weights lang/protobuf",
    "pages": "cli/explain",
    "PyTorch code": "lang/files frontends/torch/arguments frontends/torch/bodies model/told model/traced",
}
SAID = {"message", "caption", "needs", "found", "verdict", "claim", "help", "notes", "meaning"}
READS = {"startswith", "endswith", "partition", "rpartition", "split", "find", "index", "removeprefix", "removesuffix"}
CODE = re.compile(r"[EWNR]\d{3}")
# Files and folders in backquotes.
NAMED = re.compile(r"`([\w./*-]+(?:\.(?:py|rx|md|lark|npz|txt|jsonl)|/))`")


def compared(*leave_out: str) -> Iterator[tuple[str, ast.expr]]:
    """What is compared, matched, looked up in a table that is written out, or asked for in a container."""
    for module, node in every(ast.Compare, ast.MatchValue, ast.Set, ast.Dict):
        if not leave_out or not "/".join(module).startswith(leave_out):
            yield from ((place(module, part.lineno), part) for part in _compared(node))


def _compared(node: ast.Compare | ast.MatchValue | ast.Set | ast.Dict) -> Iterator[ast.expr]:
    match node:
        case ast.Compare():
            for part in (node.left, *node.comparators):
                yield from part.elts if isinstance(part, ast.Tuple | ast.List) else (part,)
        case ast.MatchValue():
            yield node.value
        case ast.Set():
            yield from node.elts
        case ast.Dict():
            yield from filter(None, node.keys)


def is_code(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and CODE.fullmatch(node.value) is not None
    return isinstance(node, ast.Attribute) and CODE.fullmatch(node.attr) is not None


def is_part_of(node: ast.expr, attributes: set[str]) -> bool:
    """Whether what is at the left of a dot or of a bracket is one of the attributes of something."""
    of = node.value if isinstance(node, ast.Attribute | ast.Subscript) else node
    return isinstance(of, ast.Attribute) and of.attr in attributes


def test_nothing_is_decided_by_which_code_a_diagnostic_has() -> None:
    assert [at for at, part in compared() if is_code(part)] == []
    read = [(m, n) for m, n in every(ast.Attribute) if n.attr in READS]
    read += [(m, n) for m, n in every(ast.Subscript)]
    assert [place(m, n.lineno) for m, n in read if is_part_of(n, {"code"})] == []


def test_no_primitive_is_recognised_by_its_name() -> None:
    names = set(registry.names()) - OTHER_WORDS
    assert {"matmul", "reshape", "permute_dims", "flatten"} < names
    found = [
        f"{at}: {part.value}"
        for at, part in compared(*ROWS)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
        if part.value.removeprefix("@").removeprefix("prelude.") in names or part.value.startswith("onnx.")
    ]
    assert found == []


def test_patterns_are_for_what_somebody_else_wrote() -> None:
    assert importers_of("re") == {name for names in PATTERNS.values() for name in names.split()}


def test_no_module_takes_a_sentence_apart_that_was_made_here() -> None:
    calls = [(m, n.func) for m, n in every(ast.Call)]
    read = [(m, f) for m, f in calls if isinstance(f, ast.Attribute) and f.attr in READS]
    assert [place(m, f.lineno) for m, f in read if is_part_of(f, SAID)] == []


def test_an_import_inside_a_function_says_what_it_saves() -> None:
    """There, or for all of a module in what stands at its head."""
    inside: dict[tuple[tuple[str, ...], int], list[int]] = defaultdict(list)
    functions = list(every(ast.FunctionDef))
    for module, node in every(ast.Import, ast.ImportFrom):
        if node.col_offset:
            around = [f.lineno for m, f in functions if m == module and f.lineno < node.lineno <= (f.end_lineno or 0)]
            inside[module, max(around, default=0)].append(node.lineno)
    assert len(inside) > 30
    unexplained = [place(*function) for function, lines in inside.items() if not is_explained(function[0], lines)]
    assert [at for at in unexplained if not at.endswith(":0")] == []  # those are for types alone


def is_explained(module: tuple[str, ...], lines: list[int]) -> bool:
    text = ROOT.joinpath(*module).with_suffix(".py").read_text(encoding="utf-8").splitlines()
    return "imported" in (ast.get_docstring(sources()[module]) or "") or any("#" in text[at - 1] for at in lines)


def test_only_what_the_user_wrote_in_python_may_raise_anything() -> None:
    handlers = [(m, n.type) for m, n in every(ast.ExceptHandler)]
    broad = [m for m, t in handlers if t is None or isinstance(t, ast.Name) and t.id in ("Exception", "BaseException")]
    torch = [("frontends", "torch", name) for name in ("really", "target", "trace")]
    assert sorted(broad) == [*torch, ("interp", "compile")]


def test_the_checker_is_made_of_parts_and_not_of_ancestors() -> None:
    classes = {n.name: n for m, n in every(ast.ClassDef) if m[0] == "simplify"}

    def depth(name: str) -> int:
        bases = [ast.unparse(base).split("[")[0] for base in classes[name].bases]
        return 1 + max((depth(base) for base in bases if base in classes), default=0)

    assert [name for name in classes if depth(name) > 2] == []
    assert [
        place(m, n.lineno) for m, n in every(ast.Name) if m[0] == "simplify" and n.id == "NotImplementedError"
    ] == []


def test_functions_are_short() -> None:
    """The longest is the loop of the parser, which is in one piece for its speed."""
    lengths = {place(m, n.lineno): (n.end_lineno or 0) - n.lineno + 1 for m, n in every(ast.FunctionDef)}
    assert max(lengths, key=lambda at: lengths[at]).startswith("lang/lalr.py") and max(lengths.values()) <= 76
    assert sum(n > 40 for n in lengths.values()) <= 19 and median(lengths.values()) <= 7


def test_files_are_short() -> None:
    """But for the parse table, which is generated."""
    lengths = {m: ROOT.joinpath(*m).with_suffix(".py").read_text(encoding="utf-8").count("\n") for m in sources()}
    assert [m for m, n in lengths.items() if n > 500 and m != ("grammar", "table")] == []


# Words


def _texts() -> Iterator[tuple[str, str]]:
    """Docstrings and comments of the package, and the prose of the documents, each with its file."""
    for module, node in every(ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef):
        yield "/".join(module), ast.get_docstring(node) or ""
    for module in sources():
        text = ROOT.joinpath(*module).with_suffix(".py").read_text(encoding="utf-8")
        for block in re.findall(r"(?:^[ ]*#.*\n)+", text, re.MULTILINE):
            yield "/".join(module), re.sub(r"(?m)^[ ]*# ?", "", block)
    for document in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md"), *(ROOT / p for p in PARTS)):
        yield document.name, re.sub(r"(?ms)^```.*?^```", "", document.read_text(encoding="utf-8"))


def test_a_sentence_that_begins_with_what_is_a_question() -> None:
    """A sentence like "What is left is checked." hides its subject; a noun says it: "The other checks run."."""
    sentences = [
        (place, " ".join(sentence.split()))
        for place, text in _texts()
        for sentence in re.split(r"(?<=[.!?:]) +(?=[A-Z`])|\n\s*\n|^[-*|] ", text, flags=re.MULTILINE)
    ]
    assert len(sentences) > 9_000
    assert [(place, s) for place, s in sentences if re.match(r"What(?:ever)?\b", s) and "?" not in s] == []


# What the documents name


def test_every_file_that_the_documents_name_is_there() -> None:
    """By the end of its path: `messages/entry_checks.py`; with a star for several."""
    every = {p.relative_to(ROOT) for room in (*LAYERS, *NOT_SHIPPED) for p in (ROOT / room).rglob("*")}
    every |= {p.relative_to(ROOT) for p in ROOT.iterdir()} | {Path(".ci/run"), Path(".venv"), Path(".cache")}
    named = [
        (document, name)
        for document in ("README.md", "CONTRIBUTING.md", "docs/architecture.md", *PARTS)
        for name in NAMED.findall((ROOT / document).read_text(encoding="utf-8"))
        if not name.startswith("cli/errors/CODE")
    ]
    assert len(named) > 150
    assert [(document, name) for document, name in named if not any(p.match(name) for p in every)] == []


def test_rooms_import_what_the_architecture_says() -> None:
    """Rooms of one row may import each other."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    lines = [line.split("|") for line in text.split("## The trees")[0].splitlines() if line.startswith("| `")]
    names = [[name.strip("/") for name in re.findall(r"`(.+?)`", rooms)] for _, rooms, _, _, _ in lines]
    row_of = {name: row for row, among in enumerate(names) for name in among}
    assert row_of.keys() >= LAYERS.keys()
    may = [
        set(range(row)) if said.strip() == "the packages above" else {row_of[n] for n in re.findall(r"`(.+?)`", said)}
        for row, (_, _, _, said, _) in enumerate(lines)
    ]
    for _ in may:
        may = [{row}.union(rows, *(may[r] for r in rows)) for row, rows in enumerate(may)]

    def room(module: tuple[str, ...]) -> str:
        return module[0] if module[0] in LAYERS else f"{module[0]}.py"

    pairs = {(room(module), room(target)) for module, target, _ in package_imports() if target}
    known = {(one, other) for one, other in pairs if one in row_of and other in row_of}
    assert len(known) > 60
    assert {(one, other) for one, other in known if row_of[other] not in may[row_of[one]]} == set()


def test_every_definition_that_the_architecture_names_is_there() -> None:
    text = "\n".join((ROOT / p).read_text(encoding="utf-8") for p in ("docs/architecture.md", *PARTS))
    defined = {n.name for _, n in every(ast.ClassDef, ast.FunctionDef)}
    defined |= {n.attr for _, n in every(ast.Attribute)} | {n.id for _, n in every(ast.Name)}
    words = {word for name in re.findall(r"`([A-Z]\w*(?:\.\w+)?|\w+\.\w+)`", text) for word in name.split(".")}
    words -= {"py", "rx", "onnx", "lark", "md", "txt"} | {Path(name).stem for name in NAMED.findall(text)}
    assert len(words) > 15
    assert words - defined == set()
