"""Facts about each piece of a program, computed from texts and kept as long as the piece's text and the signatures that it
uses stay the same.

`Analyst` holds the edited texts and the results for them. It belongs to one thread, as a session of the solver does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from weakref import WeakValueDictionary

from ..desugar.symbols import KeptItem, ProgramPart
from ..lang.checked import Checked, Demands, Explanation, FunctionShapes
from ..lang.diagnostics import Diagnostic, Label, RxError, error, in_order
from ..lang.files import Files
from ..lang.modules import Modules, called, load_program
from ..lang.node import Node
from ..lang.source import NOWHERE, Source, Span
from ..lang.stored import Header
from ..lang.sweet import Const, Import, Module
from ..pipeline import check_part
from ..simplify.known.outcome import GivenUp, Options
from ..simplify.propagate import KnownConsts
from .pieces import EditorPiece, Pieces, split

__all__ = ["Analyst", "SliceFacts", "GivenUp", "Settings", "PieceVerdict"]


class Settings(Node):
    """The settings for checking files: `roots` are folders, besides a file's own, in which it may open files."""

    roots: tuple[Path, ...] = ()
    strict: bool = False


# The grounds of a verdict: the texts of its own pieces and the visible parts of the pieces that they use, by file and key;
# and their unresolved names.
Grounds = frozenset[tuple[Path, str, str]]


class Slice(Node):
    """Pieces that are checked together, and the pieces that they use: `heads` with their signatures only, `whole` with their
    bodies."""

    pieces: tuple[EditorPiece, ...]
    whole: frozenset[EditorPiece]
    heads: frozenset[EditorPiece]
    unknown: Grounds = frozenset()

    @property
    def all(self) -> frozenset[EditorPiece]:
        return self.whole | self.heads

    def tells(self, said: Diagnostic) -> bool:
        """Whether a diagnostic is reported for these pieces: all in their own text, and errors in other pieces, such as a
        type where it is used."""
        return said.span.source in self.pieces or (said.span.source in self.whole and said.severity == "error")

    @property
    def grounds(self) -> Grounds:
        own = ((p.path, p.key, p.text) for p in self.whole)
        return frozenset([*own, *((p.path, p.key, p.head) for p in self.heads), *self.unknown])


class PieceVerdict:
    """The result of checking a slice: its diagnostics and the facts about its functions. All places are in pieces."""

    def __init__(self, pieces: tuple[EditorPiece, ...], diagnostics: tuple[Diagnostic, ...], checked: Checked) -> None:
        self.pieces, self.diagnostics, self.checked = pieces, diagnostics, checked

    @cached_property
    def silent(self) -> frozenset[tuple[str, Span]]:
        """The unproved claims of other pieces that are silenced by an error in this one."""
        if all(d.severity != "error" for d in self.diagnostics):
            return frozenset()
        return frozenset((d.code, d.span) for d in self.checked.silenced if not self.owns(d.span))

    def owns(self, span: Span) -> bool:
        return span.source in self.pieces

    @cached_property
    def shapes(self) -> tuple[FunctionShapes, ...]:
        """The bindings of its own functions."""
        own = {f"@{f.name}" for f in self.checked.program.functions if self.owns(f.span)}
        main = self.checked.program.main
        own |= {"@main"} if main is not None and self.owns(main.span) else set()
        return tuple(f for f in self.checked.shapes if f.name in own)

    @cached_property
    def demands(self) -> tuple[Demands, ...]:
        """The demands of its own functions on their inputs."""
        own = {f"@{f.name}" for f in self.checked.program.functions if self.owns(f.span)}
        return tuple(d for d in self.checked.demands if d.name in own)

    def explained(self, name: str) -> tuple[Explanation, ...]:
        """The explanations of a name in each of its own functions."""
        own = {f.name for f in self.shapes}
        return tuple(e for e in self.checked.explain(name) if e.function in own)


class SliceFacts:
    """The current file with its imports, and the facts about its pieces, some of which may be missing. `errors` are the
    errors of the imports, each checked by itself."""

    def __init__(
        self,
        pieces: Pieces,
        program: EditedProgram,
        verdicts: Mapping[EditorPiece, PieceVerdict],
        errors: tuple[Diagnostic, ...] = (),
    ) -> None:
        self.pieces, self.program, self.verdicts, self.errors = pieces, program, verdicts, errors

    @cached_property
    def found(self) -> list[Diagnostic]:
        """The diagnostics of the file, and errors of other files that appear at their uses."""
        verdicts = list(dict.fromkeys(self.verdicts.values()))
        silent = {said for verdict in verdicts for said in verdict.silent}
        found = (d for v in verdicts for d in v.diagnostics if (d.code, d.span) not in silent)
        return in_order([*self.program.problems, *found])

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics in the file itself, in order."""
        own = [d for d in self.found if self.pieces.place(d.span) is not None]
        ordered = sorted(own, key=lambda d: self.pieces.place(d.span) or (0, 0))
        absent = {d.message: d for d in reversed(ordered) if d.code.is_absent}
        return tuple(d for d in ordered if absent.get(d.message, d) is d)

    @property
    def told(self) -> tuple[Diagnostic, ...]:
        """The diagnostics of the file, after the errors of its imports."""
        by_import: dict[str, list[tuple[Path, tuple[int, int], Diagnostic]]] = {}
        for said in in_order([d for d in (*self.errors, *self.found) if d.severity == "error"]):
            place = related(self, said.span)
            if place is not None and place[0] != self.pieces.path:
                by_import.setdefault(self.program.paths[place[0]].split(".")[0], []).append((*place, said))
        items = [item for piece in self.pieces.pieces for item in piece.items if isinstance(item, Import)]
        return (*(_of_import(i, by_import[called(i)]) for i in items if called(i) in by_import), *self.diagnostics)

    def verdict(self, offset: int) -> PieceVerdict | None:
        """The verdict on the piece at an offset."""
        return self.verdicts.get(self.pieces.at(offset)[0])


# The most errors of an import that are shown.
_MOST_ERRORS = 8


def _of_import(item: Import, found: list[tuple[Path, tuple[int, int], Diagnostic]]) -> Diagnostic:
    """The error at an import that summarises the errors of the imported file."""
    (path, _, first), *others = ordered = sorted(found, key=lambda f: f[:2])
    count = f"{len(ordered)} errors" if others else "an error"
    labels = tuple(Label(d.span, d.message) for *_, d in ordered[:_MOST_ERRORS])
    return error(first.code, f"{path.name} has {count}: {first.message}", item.path.span, labels=labels)


class EditedTexts(Files):
    """The files of a program, some of which are being edited."""

    def __init__(self, base: Path, roots: tuple[Path, ...], analyst: Analyst) -> None:
        super().__init__(base, roots)
        self.analyst = analyst

    def has(self, resolved: Path) -> bool:
        return resolved in self.analyst.edited or super().has(resolved)

    def read_text(self, path: str, relative_to: Path | None = None, span: Span = NOWHERE) -> tuple[Path, str]:
        found = self.find(path, relative_to, span)
        if found in self.analyst.edited:
            return found, self.analyst.edited[found]
        stamp = _stamp(found)
        known = self.analyst.read.get(found)
        if known is None or known[0] != stamp:
            self.analyst.read[found] = known = (stamp, super().read_text(path, relative_to, span)[1])
        return found, known[1]

    def find(self, path: str, relative_to: Path | None = None, span: Span = NOWHERE, *, linked: bool = False) -> Path:
        try:
            return super().find(path, relative_to, span, linked=linked)
        except RxError:
            for folder in (self.base, *self.roots) if linked else ():
                self.analyst.weights[folder / path] = _stamp(folder / path)
            raise

    def header(self, found: Path, key: str | None) -> Header:
        self.analyst.weights[found] = _stamp(found)
        return super().header(found, key)


def _stamp(path: Path) -> tuple[int, int]:
    """A stamp that changes when a file is written."""
    try:
        stat = path.stat()
    except (OSError, ValueError):
        return (0, -1)
    return (stat.st_mtime_ns, stat.st_size)


class EditedProgram:
    """A file and its imports: the pieces that each name may refer to, and the slices to check."""

    def __init__(self, files: EditedTexts, pieces: Pieces, modules: Modules, problems: tuple[Diagnostic, ...]) -> None:
        self.files, self.modules, self.problems = files, modules, problems
        self.units = {m.alias: self.files.analyst.files[Path(m.module.source.name)] for m in modules.imports}
        self.units[""] = pieces
        self.paths = {unit.path: alias for alias, unit in self.units.items()}
        self.links = {m.alias: dict(m.links) for m in (modules.entry, *modules.imports)}
        self._names: dict[str, dict[str, tuple[EditorPiece, ...]]] = {}
        self._uses: dict[tuple[EditorPiece, bool], frozenset[EditorPiece]] = {}
        self._rests: dict[EditorPiece, frozenset[EditorPiece]] = {}

    def names(self, alias: str) -> dict[str, tuple[EditorPiece, ...]]:
        """The pieces that each name of a file may refer to; names of an import are qualified, as `attn.block`."""
        if alias not in self._names:
            found = dict(self.units[alias].by_name)
            for link, target in self.links[alias].items():
                other = self.units[target].by_name if target in self.units else {}
                found.update((f"{link}.{name}", pieces) for name, pieces in other.items())
            self._names[alias] = found
        return self._names[alias]

    def scopes(self, alias: str) -> Iterator[tuple[EditorPiece, ...]]:
        """The pieces of a file that share local names: each alone, and those of the script together."""
        pieces = self.units[alias].pieces
        script = tuple(p for p in pieces if p.is_script)
        yield from ((p,) for p in pieces if p.items and not p.is_script)
        yield from (script,) if script else ()

    def slices(self) -> Iterator[Slice]:
        """The slices of the file itself: one for each piece, and one for the statements of its script together."""
        for pieces in self.scopes(""):
            if all(isinstance(item, Import) for item in pieces[0].items):
                continue
            yield self._slice(pieces, (*pieces, *(self.names("").get("main", ()) if pieces[0].is_script else ())))

    def _slice(
        self, own: tuple[EditorPiece, ...], whole: Iterable[EditorPiece], heads: Iterable[EditorPiece] = ()
    ) -> Slice:
        """The slice of some pieces, with everything that they use, directly or indirectly."""
        whole, heads = set(whole), set(heads)
        through = {piece for piece in whole if piece.is_gradient}
        todo = [*((piece, True) for piece in whole), *((piece, False) for piece in heads)]
        while todo:
            piece, is_whole = todo.pop()
            for used in self._used(piece, is_whole):
                is_through = piece in through and used not in through
                seen = piece.is_list or is_through or used.is_gradient or not used.is_opaque
                if is_through or used not in whole and (seen or used not in heads):
                    (whole if seen else heads).add(used)
                    through |= {used} if is_through or used.is_gradient else set()
                    todo.append((used, seen))
        unknown = (found for piece in (*whole, *heads) for found in self._unknown(piece))
        return Slice(own, frozenset(whole), frozenset(heads - whole), frozenset(unknown))

    def _unknown(self, piece: EditorPiece) -> Iterator[tuple[Path, str, str]]:
        """The unresolved names in a piece: their definition cannot be parsed, or the imported file is missing."""
        alias = self.paths[piece.path]
        lost = self.units[alias].lost
        yield from ((piece.path, "", name) for name in piece.words & lost)
        for link, target in self.links[alias].items():
            if target not in self.units:
                yield from ((piece.path, "?", link) for _ in piece.words & {link})
            elif self.units[target].lost:
                there = {f"{link}.{name}" for name in self.units[target].lost}
                yield from ((piece.path, "", name) for name in piece.words & there)

    def _used(self, piece: EditorPiece, is_whole: bool) -> frozenset[EditorPiece]:
        """The pieces that a piece names directly, in its visible part or, if `is_whole`, also in its body."""
        if (piece, is_whole) not in self._uses:
            names = self.names(self.paths[piece.path])
            words = (piece.words if is_whole else piece.words_of_head) & names.keys()
            self._uses[piece, is_whole] = frozenset(p for word in words for p in names[word])
        return self._uses[piece, is_whole]

    def rests(self, one: Slice) -> Iterator[tuple[EditorPiece, frozenset[EditorPiece]]]:
        """The consts and signatures of a slice that do not depend on its own pieces, each with the pieces that it depends
        on."""
        for piece in one.all.difference(one.pieces):
            is_head = piece in one.heads
            if len(piece.items) == 1 and (is_head or isinstance(piece.items[0], Const)):
                if piece not in self._rests:
                    self._rests[piece] = self._slice((), () if is_head else (piece,), (piece,) if is_head else ()).all
                if self._rests[piece].isdisjoint(one.pieces):
                    yield piece, self._rests[piece]


class FoundSlice:
    """The valid results for one file."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.verdicts: dict[tuple[EditorPiece, ...], tuple[Grounds, PieceVerdict]] = {}
        # The last known verdict on each piece, for questions while it cannot be parsed.
        self.last: dict[str, PieceVerdict] = {}
        # The items made from consts and signatures that its pieces use, with the pieces that they depend on.
        self.kept: dict[EditorPiece, tuple[frozenset[EditorPiece], KeptItem]] = {}
        self.consts: KnownConsts = {}
        # The imports that were checked, and their errors.
        self.imports: tuple[Pieces, ...] = ()
        self.errors: tuple[Diagnostic, ...] = ()

    def forget(self) -> None:
        """Discard results that depend on settings and on files other than programs."""
        self.verdicts, self.consts, self.imports, self.errors = {}, {}, (), ()

    def keep(self, rests: Sequence[tuple[EditorPiece, frozenset[EditorPiece]]]) -> dict[Source, KeptItem]:
        """The items kept for pieces with the same dependencies, and empty ones for the other pieces."""
        for piece, on in rests:
            if piece not in self.kept or self.kept[piece][0] != on:
                self.kept[piece] = (on, KeptItem(frozenset[str]().union(*(p.words for p in on))))
        return {piece: self.kept[piece][1] for piece, _ in rests}

    def only(self, program: EditedProgram) -> None:
        """Discard results for pieces that no longer exist."""
        there = {piece for unit in program.units.values() for piece in unit.pieces}
        keys = {p.key for p in program.units[""].pieces}
        self.last = {key: verdict for key, verdict in self.last.items() if key in keys}
        self.kept = {piece: kept for piece, kept in self.kept.items() if piece in there}
        self.consts = {place: const for place, const in self.consts.items() if place.source in there}


class Analyst:
    """The edited texts, the files read, and the results."""

    def __init__(self) -> None:
        self.edited: dict[Path, str] = {}
        self.read: dict[Path, tuple[tuple[int, int], str]] = {}
        # The weights files that were requested, whether they exist or not.
        self.weights: dict[Path, tuple[int, int]] = {}
        self.files: dict[Path, Pieces] = {}
        self._found: dict[Path, FoundSlice] = {}
        # The pieces in use: a text that comes back gets the same pieces, and none is stored twice.
        self._pieces: WeakValueDictionary[tuple[Path, str, str], EditorPiece] = WeakValueDictionary()

    def edit(self, path: Path, text: str) -> None:
        self.edited[path] = text

    def close(self, path: Path) -> None:
        """Use the file on disk from now on."""
        self.edited.pop(path, None)
        self._found.pop(path, None)

    def outdated(self) -> list[Path]:
        """The files that have changed on disk since they were read."""
        return [path for path, (stamp, _) in self.read.items() if path not in self.edited and _stamp(path) != stamp]

    def has_new_weights(self) -> bool:
        """Whether weights files have changed; if so, results that depend on them are discarded."""
        is_new = any(_stamp(path) != stamp for path, stamp in self.weights.items())
        if is_new:
            self.forget()
        return is_new

    def forget(self) -> None:
        """Discard results that depend on files other than programs, such as weights."""
        self.weights.clear()
        for found in self._found.values():
            found.forget()

    def pieces(self, path: Path, text: str) -> Pieces:
        known = self.files.get(path)
        if known is None or known.text != text:
            self.files[path] = known = split(path, text, self._pieces)
        return known

    def program(self, path: Path, settings: Settings) -> EditedProgram:
        """The file with its current imports. Raises RxError if there is no such text."""
        files = EditedTexts(path.parent, settings.roots, self)
        text = self.edited[path] if path in self.edited else files.read_text(path.name)[1]
        pieces = self.pieces(path, text)

        def read(source: Source, found: Path | None) -> tuple[Module, tuple[Diagnostic, ...]]:
            one = pieces if found in (path, None) else self.pieces(found, source.text)
            return one.module, one.problems

        modules, problems = load_program(Source(str(path), text), files, read)
        return EditedProgram(files, pieces, modules, problems)

    def known(self, path: Path, settings: Settings) -> SliceFacts:
        """The facts known without checking anything; for changed pieces, the last known ones."""
        program = self.program(path, settings)
        last = self._found[path].last if path in self._found else {}
        found = {p: last[p.key] for p in program.units[""].pieces if p.key in last}
        return SliceFacts(program.units[""], program, found)

    def steps(self, path: Path, settings: Settings, stopped: Callable[[], bool] | None = None) -> Iterator[SliceFacts]:
        """The facts after each step: changed pieces are checked first, imports last. Raises GivenUp when `stopped` returns
        true, and RxError if there is no such file."""
        found = self._found_of(path, settings)
        program = self.program(path, settings)
        imports = tuple(unit for alias, unit in program.units.items() if alias)
        if found.imports != imports:
            found.imports, found.errors = (), ()
        yield from self._steps(program, found, settings, stopped)
        if found.imports != imports:
            found.errors = self._errors(program, settings, stopped)
            found.imports = imports
            yield self._facts(program, found)

    def _found_of(self, path: Path, settings: Settings) -> FoundSlice:
        found = self._found.setdefault(path, FoundSlice(settings))
        if found.settings != settings:
            found.settings = settings
            found.forget()
        return found

    def _errors(
        self, program: EditedProgram, settings: Settings, stopped: Callable[[], bool] | None
    ) -> tuple[Diagnostic, ...]:
        """The errors in the imports of a program, each checked as a file of its own."""
        errors: list[Diagnostic] = []
        for alias, unit in program.units.items():
            if alias:
                found = self._found_of(unit.path, settings)
                *_, last = self._steps(self.program(unit.path, settings), found, settings, stopped)
                errors += (d for d in last.found if d.severity == "error")
        return tuple(errors)

    def _steps(
        self, program: EditedProgram, found: FoundSlice, settings: Settings, stopped: Callable[[], bool] | None
    ) -> Iterator[SliceFacts]:
        """The steps for the file itself, without its imports."""
        before = found.verdicts
        slices = list(program.slices())
        now = {one.pieces: before[one.pieces] for one in slices if one.pieces in before}
        waiting = [one for one in slices if one.pieces not in now or now[one.pieces][0] != one.grounds]
        waiting.sort(key=lambda one: one.pieces in before)
        found.verdicts = now
        found.only(program)
        if not waiting or waiting[0].pieces in before:  # the changed text is known, or cannot be parsed
            yield self._facts(program, found)
        for one in waiting:
            verdict = self._verdict(program, one, found, Options(strict=settings.strict, stopped=stopped))
            now[one.pieces] = (one.grounds, verdict)
            found.last.update((piece.key, verdict) for piece in one.pieces)
            yield self._facts(program, found)

    def _verdict(self, program: EditedProgram, one: Slice, found: FoundSlice, options: Options) -> PieceVerdict:
        kept = found.keep(list(program.rests(one)))
        part = ProgramPart(one.whole, one.heads, frozenset(one.pieces), kept)
        report = check_part(program.modules, part, program.files, options, found.consts)
        assert report.checked is not None
        return PieceVerdict(one.pieces, tuple(d for d in report.diagnostics if one.tells(d)), report.checked)

    def facts(self, path: Path, settings: Settings | None = None) -> SliceFacts:
        """All facts, after the last step."""
        *_, last = self.steps(path, settings or Settings())
        return last

    def _facts(self, program: EditedProgram, found: FoundSlice) -> SliceFacts:
        verdicts = {piece: verdict for own, (_, verdict) in found.verdicts.items() for piece in own}
        return SliceFacts(program.units[""], program, verdicts, found.errors)


def related(facts: SliceFacts, span: Span) -> tuple[Path, tuple[int, int]] | None:
    """The file and the place of a span that a fact of this file refers to."""
    source = span.source
    pieces = (
        facts.program.units.get(facts.program.paths.get(source.path, "?")) if isinstance(source, EditorPiece) else None
    )
    place = pieces.place(span) if pieces is not None else facts.pieces.place(span)
    return None if place is None else ((pieces or facts.pieces).path, place)


# The most files that are searched.
_MOST_PROGRAMS = 2_000


def programs(folder: Path) -> list[Path]:
    """The programs below a folder, except in hidden folders."""
    found: list[Path] = []
    for path in sorted(folder.rglob("*.rx")):
        if not any(part.startswith(".") for part in path.relative_to(folder).parts) and len(found) < _MOST_PROGRAMS:
            found.append(path)
    return found
