"""A failure of a run to the message of a check of the function with the sizes of that run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from ..lang import sweet
from ..lang.diagnostics import CalledFrom, Diagnostic, Edit, Help, Label, Met
from ..lang.files import is_model
from ..lang.node import Node, replace
from ..lang.source import NOWHERE, Source, Span
from ..lang.walk import walk
from ..ops.registry import lookup
from ..pipeline import Report, check_source
from ..simplify.messages.wording import comes_from_here
from .case import Fix
from .edits import EditedOffsets, applied, in_text_order
from .families.conditions import signature_end
from .of_models import broken
from .ranked import ranked, shortest
from .tree import TextTree, is_reshape

Given = tuple[tuple[int, ...], str] | int
# So many functions, from where it failed outwards, are looked at.
_MOST = 3
# Parameters that take sizes; the numbers of the others are axes.
_SIZES = {"size", "sizes", "shape", "target", "pairs"}


def explained(failure: Diagnostic, met: tuple[Met, ...], base: Path, roots: tuple[Path, ...] = ()) -> Diagnostic:
    """The failure with the shapes below each other, where the sizes come from, the reason and a fix, where checking one of the
    functions that led there finds it too; else the failure as it is."""
    if not failure.code.of_shapes:
        return failure
    if is_model(failure.span.source.name):
        return _of_model(failure, met, base, roots)
    return _located(failure, met, base, roots) or failure


def _of_model(failure: Diagnostic, met: tuple[Met, ...], base: Path, roots: tuple[Path, ...]) -> Diagnostic:
    """The same of a model, whose text is nobody's to edit, with the conditions on its inputs that are broken."""
    found = replace(_located(failure, met, base, roots) or failure, help=None, edits=(), helps=())
    said = (note for one in met[-1:] for note in broken(one, base, roots))
    return replace(found, notes=(*found.notes, *said))


def _located(failure: Diagnostic, met: tuple[Met, ...], base: Path, roots: tuple[Path, ...]) -> Diagnostic | None:
    for one in met[:_MOST]:
        source = one.place.source
        folder = base if source is failure.span.source else _folder(source, base)
        found = _Specialised(source, one, folder, (base, *roots)).explanation(failure)
        if found is not None:
            return found
    return None


def _folder(source: Source, base: Path) -> Path:
    """Where an imported file opens others."""
    return Path(source.name).parent if Path(source.name).is_file() else base


class _Specialised:
    """A file in which one function says of its parameters what it was given."""

    def __init__(self, source: Source, met: Met, base: Path, roots: tuple[Path, ...]) -> None:
        self.source, self.base, self.roots = source, base, roots
        tree = TextTree(source)
        self.decl = None if tree.broken else tree.function(met.function.rpartition(".")[2])
        self.params: dict[int, sweet.Param] = {}
        self.sizes = {n for given in met.given.values() for n in (given[0] if isinstance(given, tuple) else (given,))}
        # The names that the annotations bind, with what they are in this run.
        self.named: dict[str, int] = {}
        self.edits = tuple(in_text_order(self._edits(self.decl.fn, met))) if self.decl is not None else ()
        self.places = EditedOffsets(self.edits)
        # Whether another argument may be what was meant: the elements of a reshape are rarely wrong.
        self.may_pass = False

    def _edits(self, fn: sweet.Fn, met: Met) -> Iterator[Edit]:
        sizes = self.named
        once = {
            name for name, times in Counter(n.name for n in walk(fn) if isinstance(n, sweet.Name)).items() if times == 1
        }
        for param in fn.params:
            given = met.given.get(param.name.name)
            if given is not None:
                for edit in _of_param(param, given, sizes, once):
                    self.params[id(edit)] = param
                    yield edit
        if sizes:
            text = ", ".join(f"{name} == {size}" for name, size in sizes.items())
            end = fn.where[-1].span.end if fn.where else signature_end(fn)
            yield Edit(Span(self.source, end, end), f", {text}" if fn.where else f" where {text}")

    def explanation(self, failure: Diagnostic) -> Diagnostic | None:
        if not self.edits:
            return None
        source = Source(self.source.name, applied(self.source.text, self.edits))
        report = check_source(source, self.base, self.roots)
        found = next((d for d in report.diagnostics if self._is_same(d, source, failure)), None)
        return None if found is None else self._told(found, failure, self._help(found, report))

    def _is_same(self, found: Diagnostic, source: Source, failure: Diagnostic) -> bool:
        """Whether an error stands where the run failed, or speaks of that place."""
        spans = [found.span, *(label.span for label in found.labels)]
        at = [self._back(span) for span in spans if span.source is source]
        return found.severity == "error" and found.sentence is not None and at[:1] != [] and failure.span in at

    def _back(self, span: Span) -> Span:
        """A place of the specialised text in the file; what it says of a parameter stands at that parameter."""
        if span.source is NOWHERE.source or span.source.name != self.source.name:
            return span
        for start, end, edit in self.places.regions():
            if start <= span.start and span.end <= end and id(edit) in self.params:
                return self.params[id(edit)].span
        return Span(self.source, self.places.before(span.start), self.places.before(span.end))

    def _told(self, found: Diagnostic, failure: Diagnostic, help_: Help | None) -> Diagnostic:
        assert found.sentence is not None
        span = self._back(found.span)
        own = [
            Label(self._back(label.span), self._in_numbers(label.message))
            for label in found.labels
            if not self._is_added(label.span)
        ]
        chain = [label for label in failure.labels if isinstance(label, CalledFrom)]
        labels: dict[Span, Label] = {}
        for label in (*own, *chain):
            if label.span != span:
                labels.setdefault(label.span, label)
        told = replace(failure, span=span, labels=tuple(labels.values()))
        if failure.message in (found.sentence.needs, found.sentence.claim):  # else a size is known to the run alone
            told = replace(told, message=found.sentence.claim, caption=found.caption, notes=found.notes)
        return told if help_ is None else replace(told, help=help_.text, edits=help_.edits, helps=(help_,))

    def _is_added(self, span: Span) -> bool:
        """Whether a place of the specialised text says what the names are in this run, which the file does not."""
        return span.source.name == self.source.name and any(
            start <= span.start and span.end <= end and id(edit) not in self.params
            for start, end, edit in self.places.regions()
        )

    def _in_numbers(self, text: str) -> str:
        """`3 comes from here` for a name that is 3 in this run."""
        said = (n for name, n in self.named.items() if text == comes_from_here(name))
        return next((comes_from_here(str(n)) for n in said), text)

    # Fixes

    def _help(self, found: Diagnostic, report: Report) -> Help | None:
        """The first fix that does some good to the file as it is, or says what to pass instead."""
        fixes = next((o.fixes for o in ranked(report, self.base, self.roots) if o.diagnostic is found), ())
        self.may_pass = found.subject is not None and not is_reshape(found.subject.callee)
        return next((help_ for fix in fixes if (help_ := self._fixed(fix)) is not None), None)

    def _fixed(self, fix: Fix) -> Help | None:
        touched = [
            (edit, start, own)
            for edit in fix.edits
            for start, end, own in self.places.regions()
            if start < edit.span.end and edit.span.start < end
        ]
        if touched:
            return self._passed(*touched[0]) if len(touched) == len(fix.edits) == 1 else None
        edits = tuple(Edit(self._back(e.span), e.text) for e in fix.edits)
        source = Source(self.source.name, applied(self.source.text, edits))
        if self._is_of_one_run(EditedOffsets(edits), source):
            return None
        after = check_source(source, self.base, self.roots)
        does_good = after.ok and (not fix.gives_way or after.counts.residual < self._before.counts.residual)
        return Help(f"{shortest(fix)} (checked)", edits) if does_good else None

    @cached_property
    def _before(self) -> Report:
        """What checking says of the file as it is. A type that gives way does no good where as much is left to the run."""
        return check_source(self.source, self.base, self.roots)

    def _is_of_one_run(self, places: EditedOffsets, source: Source) -> bool:
        """Whether edits write a call with a size that only this run had."""
        if self.decl is None:
            return False
        new = self.sizes - _numbers(self.decl)
        written = (
            call
            for call in walk(TextTree(source).module)
            if isinstance(call, sweet.Call) and any(s <= call.span.start < end for s, end, _ in places.regions())
        )
        return any(_takes_sizes(call) and not new.isdisjoint(_numbers(call)) for call in written)

    def _passed(self, edit: Edit, start: int, own: Edit) -> Help | None:
        """What the fix says of a parameter's type is said of the argument: another one would do."""
        param = self.params.get(id(own))
        if param is None or not self.may_pass or not own.text.removeprefix(" : ").startswith("Tensor("):
            return None
        inner = Edit(Span(edit.span.source, edit.span.start - start, edit.span.end - start), edit.text)
        wanted = applied(own.text, [inner]).removeprefix(" : ")
        return Help(f"pass `{param.name.name}` as {wanted} (checked)", ())


def _numbers(node: Node) -> set[int]:
    return {part.value for part in walk(node) if isinstance(part, sweet.IntLit)}


def _takes_sizes(call: sweet.Call) -> bool:
    row = lookup(call.callee.name) if isinstance(call.callee, sweet.FnName) else None
    return row is not None and any(param.kind in _SIZES for param in row.params)


def _of_param(param: sweet.Param, given: Given, sizes: dict[str, int], once: set[str]) -> Iterator[Edit]:
    """What makes a parameter's type say what was given; names that it binds are said in `sizes`, unless they stand nowhere
    else: they are used `once`."""
    if isinstance(given, int):
        sizes[param.name.name] = given
        return
    shape, dtype = given
    whole = f"Tensor([{', '.join(map(str, shape))}], {dtype})"
    match param.type:
        case None:
            yield Edit(Span(param.span.source, param.name.span.end, param.name.span.end), f" : {whole}")
        case sweet.TensorType(shape=None | sweet.Unknown(), dtype=None):
            yield _written(param.type.span, whole)
        case sweet.TensorType(shape=None | sweet.Unknown() as open_, dtype=sweet.Name()) if open_ is not None:
            yield _written(open_.span, whole.partition("(")[2].rpartition(",")[0])
        case sweet.TensorType(shape=sweet.ListExpr(items=items)) if len(items) == len(shape):
            yield from _of_items(items, shape, sizes, once)


def _of_items(
    items: tuple[object, ...], shape: tuple[int, ...], sizes: dict[str, int], once: set[str]
) -> Iterator[Edit]:
    """The sizes of an annotation that leaves some of them open."""
    if any(isinstance(item, sweet.Splice | sweet.Dots) for item in items):
        return
    for item, size in zip(items, shape, strict=True):
        if isinstance(item, sweet.Unknown) or isinstance(item, sweet.Name) and item.name in once:
            yield _written(item.span, str(size))
        elif isinstance(item, sweet.Name):
            sizes.setdefault(item.name, size)


def _written(span: Span, text: str) -> Edit:
    return Edit(span, text)
