"""A source file to its program: loads its imports, and theirs, each file once."""

from __future__ import annotations

from collections.abc import Callable
from os.path import relpath
from pathlib import Path

from . import codes, sweet
from .diagnostics import Diagnostic, Label, RxError, error
from .files import Files
from .node import Node
from .parser import parse
from .source import Source, Span

MAX_DEPTH = 100

# Reads the module of a source and its errors; the path is None if no file has it.
Reader = Callable[[Source, Path | None], tuple[sweet.Module, tuple[Diagnostic, ...]]]


class Loaded(Node):
    """One file of a program.

    `alias` is the program's name for it: empty for the entry, `attn` or `attn.base` for an import, along the shortest chain
    of imports. `links` maps each alias that this file itself uses to the alias of the program (`?` if there is no such file).
    `folder` is its folder relative to the program's (empty if it is the same), for the weights that it loads. `broken` are
    the places of its text that could not be read.
    """

    alias: str
    folder: str
    module: sweet.Module
    links: tuple[tuple[str, str], ...]
    broken: tuple[Span, ...] = ()


class Modules(Node):
    """A program's files; imported ones first, each before those that import it."""

    entry: Loaded
    imports: tuple[Loaded, ...] = ()


def called(item: sweet.Import) -> str:
    """The alias of an import."""
    return item.alias.name if item.alias else Path(item.path.value).stem


def _read(source: Source, path: Path | None) -> tuple[sweet.Module, tuple[Diagnostic, ...]]:
    return parse(source)


def load_program(source: Source, files: Files, read: Reader = _read) -> tuple[Modules, tuple[Diagnostic, ...]]:
    """Parse a file and everything that it imports."""
    loader = _Loader(files, read)
    return loader.program(source), tuple(loader.diagnostics)


class _File:
    """A file while its imports are being loaded."""

    def __init__(self, module: sweet.Module, folder: Path, path: Path | None) -> None:
        self.module, self.folder, self.path = module, folder, path
        self.imports: dict[str, _File | None] = {}
        self.alias: str | None = None
        self.broken: tuple[Span, ...] = ()


class _Loader:
    def __init__(self, files: Files, read: Reader) -> None:
        self.files, self.read = files, read
        self.diagnostics: list[Diagnostic] = []
        self.done: dict[Path, _File] = {}
        self.order: list[_File] = []
        self.chain: list[tuple[Path | None, sweet.Import | None]] = []

    def program(self, source: Source) -> Modules:
        path = self._entry_path(source)
        self.shown_base = Path(source.name).parent
        entry = self._file(source, self.files.base, path)
        self._name(entry)
        imports = tuple(self._loaded(f) for f in self.order if f is not entry)
        return Modules(self._loaded(entry), imports)

    def _entry_path(self, source: Source) -> Path | None:
        try:
            path = (self.files.base / Path(source.name).name).resolve()
            return path if self.files.has(path) else None
        except (OSError, ValueError, RuntimeError):
            return None

    def _file(self, source: Source, folder: Path, path: Path | None) -> _File:
        module, diagnostics = self.read(source, path)
        self.diagnostics.extend(diagnostics)
        file = _File(module, folder, path)
        file.broken = tuple(d.span for d in diagnostics if d.severity == "error")
        if path is not None:
            self.done[path] = file
        for item in module.items:
            if isinstance(item, sweet.Import):
                self.chain.append((path, item))
                self._import(file, item)
                self.chain.pop()
        self.order.append(file)
        return file

    def _import(self, file: _File, item: sweet.Import) -> None:
        if any(item.path.span.start <= broken.start < item.path.span.end for broken in file.broken):
            return
        try:
            alias = self._alias(file, item)
            file.imports[alias] = None
            file.imports[alias] = self._open(file, item)
        except RxError as problem:
            self.diagnostics.extend(problem.diagnostics)

    def _alias(self, file: _File, item: sweet.Import) -> str:
        alias = called(item)
        span = item.alias.span if item.alias else item.path.span
        if not alias.isidentifier():
            raise RxError(
                error(
                    codes.E244, f"`{alias}` cannot be a name", span, help='give the import one: `import "..." as name`'
                )
            )
        if alias == "prelude":
            raise RxError(error(codes.E244, "`prelude` is the name of the built-in functions", span))
        if alias in file.imports:
            raise RxError(error(codes.E203, f"two imports are called `{alias}`", span, help="rename one with `as`"))
        return alias

    def _open(self, file: _File, item: sweet.Import) -> _File:
        path, text = self.files.read_text(item.path.value, file.folder, item.path.span)
        opened = [p for p, _ in self.chain]
        if path in opened:
            raise RxError(self._cycle(opened.index(path), path))
        known = self.done.get(path)
        if known is not None:
            return known
        if len(self.chain) > MAX_DEPTH:
            raise RxError(error(codes.E243, f"imports are nested more than {MAX_DEPTH} deep", item.span))
        return self._file(Source(self._shown(path), text), path.parent, path)

    def _cycle(self, since: int, path: Path) -> Diagnostic:
        ring = self.chain[since:]
        names = [p.name for p, _ in ring if p is not None] + [path.name]
        items = [i for _, i in ring if i is not None]
        labels = tuple(Label(i.span, f"imports {n}") for i, n in zip(items, names[1:], strict=True))
        return error(
            codes.E243, f"files import each other: {' -> '.join(names)}", items[-1].span, labels=labels[:-1],
            help="move the parts that both need into a third file",
        )  # fmt: skip

    def _shown(self, path: Path) -> str:
        return str(self.shown_base / relpath(path, self.files.base))

    def _name(self, entry: _File) -> None:
        """Assign aliases along the shortest chain of imports from the entry."""
        entry.alias = ""
        queue = [entry]
        for file in queue:
            for alias, found in file.imports.items():
                if found is not None and found.alias is None:
                    found.alias = f"{file.alias}.{alias}" if file.alias else alias
                    queue.append(found)

    def _loaded(self, file: _File) -> Loaded:
        links = tuple((alias, found.alias or "" if found else "?") for alias, found in file.imports.items())
        folder = relpath(file.folder, self.files.base)
        return Loaded(file.alias or "", "" if folder == "." else folder, file.module, links, file.broken)
