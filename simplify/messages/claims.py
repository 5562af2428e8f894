"""Messages about a body's own claims: annotations, assertions and conditions."""

from __future__ import annotations

from collections.abc import Iterable

from ...lang import codes, core
from ...lang.codes import Code
from ...lang.core import Status
from ...lang.diagnostics import Diagnostic, Label, Subject, error, note, saying
from ...lang.expressions import names_in
from ...lang.node import replace
from ...lang.source import Span
from ...ops.model import TensorInfo
from ...ops.requirements import Other
from ..known.finding import About, Asked, Finding
from ..known.shape_level import Obligation, Poisoned, ShapeLevel
from ..known.state import State
from ..known.texts import is_whole, size_text
from ..known.values import Entry, Env, Shape, SizeValue, plain
from ..solver.term_sizes import written_size
from ..solver.terms import Size
from . import equations
from .aligned import TensorRow, aligned
from .describe import type_text
from .origins import made_at, place_of
from .reasons import contradiction
from .subject import of_check
from .telling import distinct, finish
from .wording import Ranges, comes_from_here, compared, known_names, ranges_of, size_label, values_text, wording

# The times at which a loop's invariant is checked.
BEFORE, AFTER = "before the first turn", "after a turn"


class Claim(Asked):
    """A claim, an assertion or a declared result. `ranges` are those of its sizes; `open_at` and `behind` as in About;
    `blamed` is the call to report instead, if it made a size that does not fit. For a loop's invariant, `when` tells the time
    of the check, and `grown` the annotation that a growing size would need."""

    stmt: core.Assert | core.MatchShape
    env: Env
    open_at: frozenset[Span] = frozenset()
    behind: Finding | None = None
    ranges: Ranges = {}
    blamed: Span | None = None
    when: str = ""
    grown: str = ""

    @property
    def entry(self) -> Entry | None:
        """The value that the claim is about."""
        return None if (declared := self.stmt.origin.declared) is None else self.env.get(declared.tensor)

    @property
    def span(self) -> Span:
        declared, entry = self.stmt.origin.declared, self.entry
        if declared is None:
            return self.stmt.span
        if self.blamed is not None:
            return self.blamed
        return entry.span if declared.kind == "result" and entry is not None else self.stmt.origin.span

    @property
    def about(self) -> About:
        origin, entry = self.stmt.origin, self.entry
        place = origin.span if entry is None else entry.span
        return About(
            place, "", origin.asked, origin.what, None, () if entry is None else (entry,), self.open_at, self.behind
        )

    @property
    def in_words(self) -> str:
        message = self.stmt.message if isinstance(self.stmt, core.Assert) else None
        return message or (f"it needs {self.stmt.origin.text}" if self.stmt.origin.text else "")

    @property
    def fails_as(self) -> Code:
        origin = self.stmt.origin
        if origin.declared is None:
            return codes.E303
        return codes.E313 if origin.what == "dtype" else codes.E302 if origin.claim else codes.E303

    def kept(self, state: State) -> Claim:
        ranges, blamed = ranges_of(state, self.stmt, self.env), _blamed(state, self.stmt, self.env, self.entry)
        return replace(self, env=dict(self.env), ranges=ranges, blamed=blamed)

    def given(self) -> Iterable[tuple[Entry | None, int | None]]:
        return ((self.entry, self.stmt.origin.axis),)

    def subject(self, state: State) -> Subject:
        return replace(of_check(state, self.stmt, self.env), grown=self.grown, is_first=self.when == BEFORE)

    def said(self, finding: Finding) -> Diagnostic:
        said = self._said(finding)
        if not self.when or said.sentence is None:
            return said
        return saying(said, replace(said.sentence, needs=f"{self.when}, {said.sentence.needs}"))

    def _said(self, finding: Finding) -> Diagnostic:
        stmt, env, state, entry = self.stmt, self.env, finding.state, self.entry
        origin, declared = stmt.origin, stmt.origin.declared
        if declared is None:
            return _condition(self, finding)
        is_result, called = declared.kind == "result", declared.subject
        subject = called.as_its_own if is_result and called.is_result else called.quoted
        needs, found = wording(state, stmt, env, subject, self.ranges)
        needs = f"{_speaker(finding, origin, declared)} needs {needs}"
        if entry is None:
            return finish(finding, self.fails_as, needs, found)
        rows = _beside_declared(state, stmt, env, entry, subject.replace("its result", "result"))
        equation = _unsolvable(finding, stmt, env) if origin.what == "dim" else ""
        wanted = declared.annotation.span.text if declared.annotation is not None else "this"
        text = type_text(entry.value, state)
        here = f"{_short(entry)} is {text}" if is_result else f"declared as {wanted}"
        here = "without a type it keeps the one that it begins with" if declared.is_begun else here
        caption = "" if rows or self.blamed is not None else here
        shown = "declared here" if rows and origin.what == "rank" else f"declared as {wanted}"
        labels = self._labels(state, entry, shown, f"this is {text}", is_result=is_result)
        return finish(finding, self.fails_as, needs, found, caption, labels, None, (rows, equation))

    def _labels(self, state: State, entry: Entry, declared: str, this: str, *, is_result: bool) -> tuple[Label, ...]:
        """The places of the declaration, of the value, and of the origin of its sizes."""
        stmt, origin = self.stmt, self.stmt.origin
        labels = [Label(origin.span, declared)] if is_result or self.blamed is not None else []
        if self.blamed is not None:
            labels.append(Label(entry.span, this))
        size = size_label(state, entry, origin.axis) if origin.what == "dim" and origin.axis is not None else ""
        if size and origin.axis is not None:
            labels.append(Label(place_of(state, entry, origin.axis).span, size))
        elif not is_result:
            labels.append(Label(entry.span, this))
        return (*labels, *_named_sizes(state, stmt, self.env), *_of_rank_from(state, entry, stmt))


def _speaker(finding: Finding, origin: core.Origin, declared: core.Declared) -> str:
    """The subject of the sentence: the name of the function, annotation or assertion that asks."""
    if declared.kind == "result":
        is_of_rule = finding.function.endswith(core.UNSAID)
        whose = f"the rule of {finding.span.text}" if is_of_rule else finding.function
        speaker = "the function value" if declared.subject.of == core.NAMELESS else whose
    elif declared.kind == "match_shape":
        speaker = "match_shape"
    else:
        speaker = "the annotation" if origin.claim else "the assertion"
    if origin.what == "where" or declared.of_rows or declared.is_begun:
        return declared.of_loop or speaker
    return speaker


def _blamed(state: State, stmt: core.Assert | core.MatchShape, env: Env, entry: Entry | None) -> Span | None:
    """The call in an earlier statement that made the size that does not fit an annotation, or moved it to this axis."""
    origin, declared = stmt.origin, stmt.origin.declared
    pattern = declared.annotation.dims if declared is not None and declared.annotation is not None else None
    if entry is None or declared is None or pattern is None or origin.axis is None:
        return None
    if not origin.claim or origin.what != "dim":
        return None
    known, _ = known_names(state, declared, env)
    made = made_at(state, entry, origin.axis, [written_size(item.size, known) for item in pattern]).span
    here = made.source is entry.span.source and not made.within(entry.span)
    return made if here and made.end <= entry.span.start else None


def _beside_declared(state: State, stmt: core.Assert | core.MatchShape, env: Env, entry: Entry, subject: str) -> str:
    """A tensor's shape above the annotation that it does not fit."""
    declared, axis = stmt.origin.declared, stmt.origin.axis
    shape = state.resolve(entry.value.shape) if isinstance(entry.value, TensorInfo) else ()
    pattern = declared.annotation.dims if declared is not None and declared.annotation is not None else None
    if declared is not None and pattern and stmt.origin.what == "rank" and plain(shape):
        return _of_ranks(state, shape, [item.span.text for item in pattern], subject)
    if declared is None or stmt.origin.what != "dim" or axis is None or pattern is None:
        return ""
    if len(shape) < 2 or not plain(shape) or len(shape) != len(pattern):
        return ""
    known, _ = known_names(state, declared, env)
    wanted = [written_size(item.size, known) for item in pattern]
    differ = [w is not None and isinstance(w - d, int) and w != d for w, d in zip(wanted, shape, strict=True)]
    bad = tuple(i for i, d in enumerate(differ) if d or i == axis % len(shape))
    rows = (
        TensorRow(subject, tuple(size_text(d, state) for d in shape), bad),
        TensorRow("declared", tuple(item.span.text for item in pattern), bad),
    )
    return aligned(rows, from_the_end=False)


def _of_ranks(state: State, shape: Shape, pattern: list[str], subject: str) -> str:
    """Two shapes of different ranks, aligned at their last axes, with marks at the axes of size 1 that may be too many."""
    more = len(shape) - len(pattern)
    ones = tuple(i for i, d in enumerate(shape) if d == 1)
    splices = any(text.startswith("*") or text == "..." for text in pattern)
    if splices or not more or not shape:
        return ""
    rows = (
        TensorRow(subject, tuple(size_text(d, state) for d in shape), ones if len(ones) == more else ()),
        TensorRow("declared", tuple(pattern), ()),
    )
    return aligned(rows, from_the_end=True).rstrip()


def _of_rank_from(state: State, entry: Entry, stmt: core.Assert | core.MatchShape) -> list[Label]:
    """The origins of sizes that the annotation does not name, if the ranks differ."""
    declared = stmt.origin.declared
    pattern = declared.annotation.dims if declared is not None and declared.annotation is not None else None
    shape = state.resolve(entry.value.shape) if isinstance(entry.value, TensorInfo) else ()
    if stmt.origin.what != "rank" or pattern is None or not plain(shape) or len(shape) <= len(pattern):
        return []
    known = {item.span.text for item in pattern}
    return [
        Label(place_of(state, entry, axis).span, comes_from_here(size_text(d, state)))
        for axis, d in enumerate(shape)
        if d == 1 or not isinstance(d, int) and is_whole(size_text(d, state)) and size_text(d, state) not in known
    ]


def _unsolvable(finding: Finding, stmt: core.Assert | core.MatchShape, env: Env) -> str:
    """The equation of an assertion about sizes that never holds."""
    state, refuted = finding.state, finding.outcome.status is Status.REFUTED
    cond = stmt.cond if refuted and isinstance(stmt, core.Assert) else None
    if isinstance(cond, core.Compare) and cond.op == "==" and isinstance(cond.left, core.SizeVar | core.DimOf):
        level = ShapeLevel(state, env)
        try:
            if isinstance(cond.right, core.SizeExpr):
                return equations.without_solution(state, level.size(cond.left), level.size(cond.right))
        except Poisoned:
            pass
    return ""


def _named_sizes(state: State, stmt: core.Assert | core.MatchShape, env: Env) -> list[Label]:
    """The places that gave the names in an assertion their sizes."""
    found: list[Label] = []
    for node in compared(stmt.cond if isinstance(stmt, core.Assert) else ()):
        entry = env.get(node.name) if isinstance(node, core.SizeVar) else None
        if isinstance(node, core.SizeVar) and entry is not None and isinstance(entry.value, SizeValue):
            text = size_text(entry.value.size, state)
            where = "in the next turn" if node.name in names_in(text) else "from here"
            if text != node.name:
                found.append(Label(entry.span, f"`{node.name}` is {text} {where}"))
    return found


def _dimensions(state: State, stmt: core.Assert | core.MatchShape, env: Env) -> list[Label]:
    """The origins of the dimensions in an assertion."""
    nodes = [n for n in compared(stmt.cond if isinstance(stmt, core.Assert) else ()) if isinstance(n, core.DimOf)]
    given = [(env[node.tensor], node.axis) for node in nodes if node.tensor in env]
    return [Label(place_of(state, e, axis).span, text) for e, axis in given if (text := size_label(state, e, axis))]


def _condition(claim: Claim, finding: Finding) -> Diagnostic:
    """The message of a user's `assert`; if it contradicts earlier ones, it names them all."""
    stmt, env, state = claim.stmt, claim.env, finding.state
    message = stmt.message if isinstance(stmt, core.Assert) else None
    spoken = f"`{stmt.origin.text or stmt.span.text}`" + (f" ({message})" if message else "")
    earlier = contradiction(finding.outcome.reasons)
    if earlier is not None:
        return error(codes.E312, f"{spoken} contradicts {earlier}", stmt.span, function=finding.function)
    found = values_text(state, stmt, env, claim.ranges)
    made = stmt.span.source.made.get(stmt.span.line)
    speaker = "the signature" if stmt.origin.what == "where" else "the assertion" if made is None else made.kind
    labels = (*_dimensions(state, stmt, env), *_named_sizes(state, stmt, env))
    equation = _unsolvable(finding, stmt, env)  # an equation without a reason only repeats the assertion
    remarks = (equation,) if "(" in equation else ()
    return finish(finding, codes.E303, f"{speaker} needs {spoken}", found, labels=labels, remarks=remarks)


def _short(entry: Entry) -> str:
    text = entry.span.text
    return f"`{text}`" if text.isidentifier() else "this"


class Valued(Asked):
    """The check that an expression has a value: no divisor is 0, and divisions leave no remainder."""

    span: Span
    needs: list[Obligation]

    @property
    def first(self) -> Obligation:
        """The need to report: one that cannot hold, else one of an operator."""
        return min(self.needs, key=lambda need: (need.cond is not False, isinstance(need.expr, core.DimOf)))

    def said(self, finding: Finding) -> Diagnostic:
        code = codes.E314 if isinstance(self.first.expr, core.DimOf) else codes.E303
        return finish(finding, code, f"`{self.span.text}` needs {self.first.text}")


class Decides(Asked):
    """The check that a tensor in the condition of an `if` or a loop (`where`) is a single truth value."""

    span: Span
    value: TensorInfo
    where: str
    what: str
    of_rank: bool

    def said(self, finding: Finding) -> Diagnostic:
        found = f"it is {type_text(self.value, finding.state)}"
        needs = f"the condition of {self.where} needs to have {self.what}"
        return finish(finding, codes.E304, needs, found, help_=_ONE_TRUTH if self.of_rank else _COMPARED)


_ONE_TRUTH = "`@all(c)` and `@any(c)` reduce many truth values to one, `@where(c, x, y)` chooses for each element"
_COMPARED = "write a comparison to get a truth value: `x > 0.0`"


class SharedBy(Asked):
    """The check that all turns of a loop stack the same shape; `last` is the result of the turn that was walked. `differ` is
    an axis with its sizes in a turn and in the next."""

    span: Span
    name: str
    differ: tuple[int, Size, Size] | None
    last: Entry | None = None

    @property
    def about(self) -> About:
        return About(self.span, given=() if self.last is None else (self.last,))

    def said(self, finding: Finding) -> Diagnostic:
        found = ""
        if self.differ is not None:
            axis, now, then = self.differ
            sizes = [size_text(size, finding.state) for size in (now, then)]
            found = f"axis {axis} is {sizes[0]} in a turn and {sizes[1]} in the next"
        what = _stacked(self.span, self.name)
        return finish(finding, codes.E302, f"the stack needs {what} to have one shape in all turns", found)


class ToldBy(Asked):
    """The check that the rank or the dtype (`what`) of a stacked value is known, if only a turn tells it."""

    span: Span
    name: str
    what: str

    def said(self, finding: Finding) -> Diagnostic:
        needs = f"the {self.what} of {_stacked(self.span, self.name)} to be known even where no turn runs"
        return finish(finding, codes.E302, f"the stack needs {needs}")


class NoArray(Asked):
    """The check that a stack has no more axes than an array may have; always refuted."""

    span: Span
    asked: Other

    def said(self, finding: Finding) -> Diagnostic:
        return finish(finding, codes.E302, f"the stack needs {self.asked.phrase}", self.asked.but)


def _stacked(span: Span, name: str) -> str:
    """The stacked value in the user's words."""
    return f"`{name}`" if span.text.startswith(name) else "the value of each turn"


class TakenByEach(Asked):
    """The check that a function which only the run chooses takes the arguments of a call."""

    span: Span
    name: str

    def said(self, finding: Finding) -> Diagnostic:
        return finish(finding, codes.E309, f"`{self.name}` needs arguments that fit whichever function it is")


class Fits(Asked):
    """The check that there are as many parts as names, or that arguments have parameters; always refuted."""

    span: Span
    code: Code
    message: str

    def said(self, finding: Finding) -> Diagnostic:
        return error(self.code, self.message, self.span, function=finding.function)


def endless(function: str, loop: core.Loop) -> Diagnostic:
    """The note on a loop that never ends."""
    cond = loop.span if loop.cond is None else loop.cond.span
    return note(codes.N301, "this loop never ends, so no execution gets past it", cond, function=function)


def never_run(function: str, loop: core.Loop) -> Diagnostic:
    """The note on a loop without a turn."""
    return note(codes.N301, "no turn of this loop ever runs", loop.body.span, function=function)


def dropped(function: str, block: core.Block, cond: Span, known: bool) -> Diagnostic:
    """The note on an arm that no execution reaches."""
    label = Label(cond, f"this is always {'true' if known else 'false'} here")
    labels = distinct(block.span, (label,))
    return note(
        codes.N301, "no execution reaches this arm; it is dropped", block.span, labels=labels, function=function
    )
