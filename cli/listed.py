"""List the functions and classes of a Python file that can be checked, with their commands; nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

# The methods that make a class a module; these are checked.
_RUN = ("forward", "__call__")


def listed(path: str, data: bytes) -> list[str]:
    """A line for each function, class and value; none if the file is not valid Python."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    declared = {name for node in tree.body for name in _exported(node)}
    return [line for node in tree.body for line in _lines(path, node, classes, declared)]


def _exported(node: ast.stmt) -> Iterator[str]:
    """The argument names in a module's declaration for `torch.export`."""
    match node:
        case ast.Assign(targets=[ast.Name(id="dynamic_shapes" | "DYNAMIC_SHAPES")], value=ast.Dict(keys=keys)):
            yield from (str(key.value) for key in keys if isinstance(key, ast.Constant))


def _lines(path: str, node: ast.stmt, classes: dict[str, ast.ClassDef], declared: Collection[str]) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) if not name.startswith("_"):
            yield f"{_command(path, name)}{_arguments(node, declared, is_method=False)}"
        case ast.ClassDef(name=name):
            run = _method(node, _RUN, classes)
            if run is not None:
                made = _method(node, ("__init__",), classes)
                needs = [] if made is None else [n for n, _ in _needed(made, is_method=True)]
                init = f' --init "{", ".join(f"{n}=..." for n in needs)}"' if needs else ""
                yield f"{_command(path, name)}{init}{_arguments(run, declared)}"
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func)) if _makes(func, classes):
            run = _method(classes[ast.unparse(func)], _RUN, classes)
            yield f"{_command(path, name)}{_arguments(run, declared) if run is not None else ''}"


def _command(path: str, name: str) -> str:
    return f"rx check {path}:{name}"


def _makes(func: ast.expr, classes: dict[str, ast.ClassDef]) -> bool:
    return isinstance(func, ast.Name) and func.id in classes and _method(classes[func.id], _RUN, classes) is not None


def _method(
    node: ast.ClassDef, names: tuple[str, ...], classes: dict[str, ast.ClassDef], depth: int = 9
) -> ast.FunctionDef | None:
    """A method of a class, or of one of its base classes in the same file."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name in names:
            return part
    for base in node.bases:
        if depth and isinstance(base, ast.Name) and base.id in classes:
            found = _method(classes[base.id], names, classes, depth - 1)
            if found is not None:
                return found
    return None


def _needed(function: ast.FunctionDef, *, is_method: bool) -> Iterator[tuple[str, ast.expr | None]]:
    """The parameters without a default, with their annotations; a method's first parameter is skipped."""
    args = function.args
    plain = [*args.posonlyargs, *args.args]
    is_static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list)
    plain = plain[is_method and not is_static : len(plain) - len(args.defaults)]
    named = [a for a, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None]
    yield from ((a.arg, a.annotation) for a in (*plain, *named))


def _arguments(function: ast.FunctionDef, declared: Collection[str], *, is_method: bool = True) -> str:
    """The `--arg` options that a command needs: one for each parameter whose annotation has no sizes, unless the module
    declares all."""
    needed = list(_needed(function, is_method=is_method))
    if {name for name, _ in needed} <= set(declared):
        return ""
    return "".join(
        f' --arg "{name}={_example(annotation)}"' for name, annotation in needed if not _says_sizes(annotation)
    )


def _says_sizes(annotation: ast.expr | None) -> bool:
    """Whether an annotation looks like `Float[Tensor, "b t"]`."""
    parts = ast.walk(annotation) if annotation is not None else ()
    return any(isinstance(p, ast.Subscript) and isinstance(p.slice, ast.Tuple) and _has_text(p.slice) for p in parts)


def _has_text(node: ast.Tuple) -> bool:
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in node.elts)


def _example(annotation: ast.expr | None) -> str:
    return "Size" if isinstance(annotation, ast.Name) and annotation.id == "int" else "float32[...]"
