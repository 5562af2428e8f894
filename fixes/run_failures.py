"""From a failure of a run to the message of a check of the function with the sizes of that run."""

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
# The number of functions to check, from the failing one outwards.
_MOST = 3
# Kinds of parameters that take sizes; the numbers of the others are axes.
_SIZES = {"size", "sizes", "shape", "target", "pairs"}


def explained(failure: Diagnostic, met: tuple[Met, ...], base: Path, roots: tuple[Path, ...] = ()) -> Diagnostic:
    """Return the failure with the shapes aligned, the origin of the sizes, the reason and a fix, if a check of a function on
    the call stack finds it too; else the failure as it is."""
    if not failure.code.of_shapes:
        return failure
    if is_model(failure.span.source.name):
        return _of_model(failure, met, base, roots)
    return _located(failure, met, base, roots) or failure


def _of_model(failure: Diagnostic, met: tuple[Met, ...], base: Path, roots: tuple[Path, ...]) -> Diagnostic:
    """Return the same for a model, without fixes of its generated text, and with the broken conditions on its inputs."""
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
    """Return the folder from which an imported file imports."""
    return Path(source.name).parent if Path(source.name).is_file() else base


class _Specialised:
    """A file in which the parameters of one function are annotated with the arguments of a run."""

    def __init__(self, source: Source, met: Met, base: Path, roots: tuple[Path, ...]) -> None:
        self.source, self.base, self.roots = source, base, roots
        tree = TextTree(source)
        self.decl = None if tree.broken else tree.function(met.function.rpartition(".")[2])
        self.params: dict[int, sweet.Param] = {}
        self.sizes = {n for given in met.given.values() for n in (given[0] if isinstance(given, tuple) else (given,))}
        # The names that the annotations bind, with their values in this run.
        self.named: dict[str, int] = {}
        self.edits = tuple(in_text_order(self._edits(self.decl.fn, met))) if self.decl is not None else ()
        self.places = EditedOffsets(self.edits)
        # Whether to suggest another argument: the elements of a reshape are rarely wrong.
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
        """Whether an error is at the place of the failure, or has a label there."""
        spans = [found.span, *(label.span for label in found.labels)]
        at = [self._back(span) for span in spans if span.source is source]
        return found.severity == "error" and found.sentence is not None and at[:1] != [] and failure.span in at

    def _back(self, span: Span) -> Span:
        """Return a place of the specialised text in the file; an added annotation becomes its parameter."""
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
        """Whether a place of the specialised text lies in the added conditions on names, which the file does not have."""
        return span.source.name == self.source.name and any(
            start <= span.start and span.end <= end and id(edit) not in self.params
            for start, end, edit in self.places.regions()
        )

    def _in_numbers(self, text: str) -> str:
        """Return `3 comes from here` for a name that is 3 in this run."""
        said = (n for name, n in self.named.items() if text == comes_from_here(name))
        return next((comes_from_here(str(n)) for n in said), text)

    # Fixes

    def _help(self, found: Diagnostic, report: Report) -> Help | None:
        """Return the help of the first fix that improves the file, or suggests another argument."""
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
        """The report on the unchanged file: a fix of a type is no improvement if as many run-time checks remain."""
        return check_source(self.source, self.base, self.roots)

    def _is_of_one_run(self, places: EditedOffsets, source: Source) -> bool:
        """Whether edits write a call with a size that is specific to this run."""
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
        """Return a fix of an added type as a help to pass another argument."""
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
    """Yield the edits that give a parameter's type the sizes of its argument. The values of its names go to `sizes`, but a
    name used only `once` is replaced."""
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
    """Yield the edits that fill in the open sizes of an annotation."""
    if any(isinstance(item, sweet.Splice | sweet.Dots) for item in items):
        return
    for item, size in zip(items, shape, strict=True):
        if isinstance(item, sweet.Unknown) or isinstance(item, sweet.Name) and item.name in once:
            yield _written(item.span, str(size))
        elif isinstance(item, sweet.Name):
            sizes.setdefault(item.name, size)


def _written(span: Span, text: str) -> Edit:
    return Edit(span, text)
