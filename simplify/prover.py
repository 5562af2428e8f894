"""One obligation to its status: proved, refuted, or left for run time; counted, and reported where that matters."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..lang.checked import Counts
from ..lang.core import Status
from ..lang.diagnostics import Diagnostic, Label
from ..lang.node import replace
from ..lang.source import Span
from .frame import Frame
from .known.outcome import Explain, Options, Outcome
from .known.shape_level import Truth
from .known.state import State
from .known.values import Undecided
from .solver.conditions import Cond, ge
from .solver.facts import Verdict
from .solver.terms import Size, TooLarge
from .voice.because import labelled
from .voice.followers import told
from .voice.solutions import only_where
from .voice.subject import with_conditions
from .weakest import Demand, DTypeDemand


class Log:
    """What checking has found so far; one for a whole program. `certain` leaves out what fails in an arm of an inlined body:
    that is a mistake in a program, but no reason why one call cannot succeed."""

    def __init__(self, *, certain: bool = False) -> None:
        self.certain = certain
        self.diagnostics: list[Diagnostic] = []
        self.counts = Counts()
        # What fails inside a body that was inlined at a call, with the call: an error there unless it always fails.
        self.inlined: list[tuple[Span, Diagnostic]] = []

    def all(self) -> tuple[Diagnostic, ...]:
        """Every diagnostic; a failure inside an inlined body is told at the call, once, unless the body itself is wrong."""
        reported = {(d.code, d.span) for d in self.diagnostics if d.severity == "error"}
        seen: set[Span] = set()
        silenced = self.silenced()
        result = [d for d in told(self.diagnostics)[0] if d not in silenced]
        for site, inner in self.inlined:
            if (inner.code, inner.span) not in reported and site not in seen:
                seen.add(site)
                label = Label(inner.span, inner.caption or "it fails here")
                result.append(replace(inner, span=site, caption="in this call", labels=(label, *inner.labels)))
        return tuple(result)

    def silenced(self) -> tuple[Diagnostic, ...]:
        """Doubts about a body that are not worth telling where some call of it fails at that very place; and doubts that follow
        from what is told."""
        wrong = {inner.span for _, inner in self.inlined}
        inside = [d for d in self.diagnostics if d.code == "W311" and d.span in wrong]
        return (*inside, *(d for d in told(self.diagnostics)[1] if d not in inside))

    def is_implied(self, said: Diagnostic) -> bool:
        """A doubt about a part of an annotation where the rank is not known either: that one names the whole shape."""
        about = said.subject
        if said.code != "W311" or about is None or about.declared is None or about.what not in ("dim", "shape"):
            return False
        return any(
            d.code == "W311" and d.subject is not None and d.subject.what == "rank"
            and (d.subject.declared, d.subject.span) == (about.declared, about.span)
            for d in self.diagnostics
        )  # fmt: skip

    def forget(self, span: Span) -> None:
        """What could not be proved of a call, or fails on some tensors only, does not matter where the call is an error."""
        self.diagnostics[:] = [d for d in self.diagnostics if d.code not in ("W311", "E310") or d.span != span]

    def outweigh(self, span: Span) -> None:
        """Nor does what works only on empty tensors, in an annotation that always fails."""
        self.diagnostics[:] = [d for d in self.diagnostics if d.code != "E310" or not d.span.within(span)]

    def revise(self, said: Diagnostic, change: Callable[[Diagnostic], Diagnostic]) -> Diagnostic:
        """Say it differently; what is said then."""
        for i, d in enumerate(self.diagnostics):
            if (d.code, d.span, d.message) == (said.code, said.span, said.message):
                self.diagnostics[i] = change(d)
                return self.diagnostics[i]
        return said

    def count(self, status: Status, number: int = 1) -> None:
        field = {
            Status.PROVED: "proved",
            Status.REFUTED: "refuted",
            Status.RESIDUAL: "residual",
            Status.ENTRY: "entry",
        }[status]
        total, before = self.counts.total + number, getattr(self.counts, field) + number
        self.counts = replace(self.counts, total=total, **{field: before})


class Prover:
    """Discharges the obligations of one function under the facts of a State."""

    def __init__(self, state: State, log: Log, options: Options, function: str) -> None:
        self.state = state
        self.log = log
        self.options = options
        self.function = function
        # The checks that stayed open, for what the function demands.
        self.demands: list[Demand] = []
        self.dtype_demands: list[DTypeDemand] = []
        # The places that left a rank open, where that was told.
        self.open_ranks: set[Span] = set()
        # What calls need that is open, and was told, by the call's place.
        self.doubted: dict[Span, Cond] = {}
        # Annotations of tensors whose rank such a place left open.
        self.following: set[Span] = set()

    def aside(self) -> Prover:
        """The same facts, asked for something that is not in the program: what it finds stays apart."""
        return Prover(self.state, Log(), self.options, self.function)

    def judge(
        self,
        frame: Frame,
        truth: Truth,
        explain: Explain,
        *,
        claim: bool,
        sizes: Iterable[Size] = (),
        empty_rule: bool = True,
        demand: bool = True,
    ) -> Status:
        """`sizes` are the dimensions of the tensors involved, for the rule about empty tensors and for witnesses."""
        if truth is True:
            self.state.facts.counts["ground"] = self.state.facts.counts.get("ground", 0) + 1
            return self._record(frame, Status.PROVED)
        verdict = self._verdict(truth)
        if verdict.kind in ("proved", "vacuous"):
            return self._record(frame, Status.PROVED)
        if verdict.kind == "refuted" and self._reachable(frame):
            witness = None if isinstance(truth, bool) else self._witness(truth, sizes)
            reasons = () if frame.trial or isinstance(truth, Undecided) else self.state.facts.core(truth)
            self._report(
                frame,
                lambda found: labelled(explain(found), found.reasons),
                Outcome(Status.REFUTED, False, witness, reasons),
            )
            return self._record(frame, Status.REFUTED)
        if frame.quiet:
            return Status.RESIDUAL
        if demand:
            self.demands.append(Demand(None if isinstance(truth, Undecided) else truth, frame.path))
        only_empty = empty_rule and not isinstance(truth, Undecided) and self._only_empty(truth, sizes)
        if claim or only_empty:
            only = None if isinstance(truth, Undecided) else only_where(self.state, truth)
            outcome = Outcome(Status.RESIDUAL, only_empty, self._witness(truth, sizes), only=only)
            self._report(frame, lambda found: with_conditions(explain(found), truth, found.only), outcome)
        return self._record(frame, Status.RESIDUAL)

    def decide(self, truth: Truth) -> bool | None:
        """True or False where that follows, else None. Neither counted nor reported."""
        if isinstance(truth, Undecided):
            return None
        if isinstance(truth, bool):
            return truth
        kind = self.state.facts.decide(truth).kind
        return {"proved": True, "vacuous": True, "refuted": False}.get(kind)

    def _verdict(self, truth: Truth) -> Verdict:
        if isinstance(truth, Undecided):
            return Verdict("unknown", "unknown")
        try:
            return self.state.facts.decide(truth)
        except TooLarge:
            return Verdict("unknown", "unknown")

    def _reachable(self, frame: Frame) -> bool:
        """Whether some execution may get here; asked only where a fact might contradict the others unnoticed."""
        return frame.certainty.sure or self.state.facts.possible(True)

    def _only_empty(self, truth: Cond, sizes: Iterable[Size]) -> bool:
        """Whether it holds only where one of the sizes is 0, and none of them is known to be 0."""
        symbolic = [s for s in dict.fromkeys(self.state.settled(s) for s in sizes) if not isinstance(s, int)]
        if not symbolic or 0 in sizes:
            return False
        self.state.facts.push()
        for size in symbolic:
            self.state.facts.assume(ge(size, 1))
        kind = self.state.facts.decide(truth).kind
        self.state.facts.pop()
        return kind == "refuted"

    def _witness(self, truth: Truth, sizes: Iterable[Size]) -> dict[str, int] | None:
        if isinstance(truth, Undecided):
            return None
        symbolic = [s for s in sizes if not isinstance(s, int)]
        point = self.state.facts.witness(truth, False, symbolic)
        if point is None:
            return None
        named = {v.name: n for v, n in sorted(point.items(), key=lambda item: item[0].serial)}
        return {name: n for name, n in named.items() if name.rstrip("'").isidentifier()}

    def _report(self, frame: Frame, explain: Explain, outcome: Outcome) -> None:
        if not frame.quiet:
            said = explain(outcome)
            if said.severity == "error" and not _of_its_value(said):
                self.log.forget(said.span)
            if not self.log.is_implied(said):
                self.log.diagnostics.append(said)
        elif (
            frame.site is not None and not frame.trial and outcome.status is Status.REFUTED and not self._excused(frame)
        ):
            said = explain(outcome)
            between = tuple(Label(s, "through this call") for s in frame.calls if s not in (frame.site, said.span))
            self.log.inlined.append((frame.site, replace(said, labels=(*said.labels, *between))))

    def _excused(self, frame: Frame) -> bool:
        return self.log.certain and bool(frame.path)

    def withdraw(self, said: Diagnostic) -> bool:
        """Take back what was said of a call; whether it was said at all."""
        before = len(self.log.diagnostics)
        self.log.diagnostics[:] = [
            d for d in self.log.diagnostics if (d.code, d.span, d.message) != (said.code, said.span, said.message)
        ]
        return len(self.log.diagnostics) < before

    def _record(self, frame: Frame, status: Status) -> Status:
        if not frame.quiet:
            self.log.count(status)
        return status


def _of_its_value(said: Diagnostic) -> bool:
    """Whether it is about a size that an annotation asks of a call's value, where the call's own doubt may be the reason."""
    about = said.subject
    return about is not None and about.declared is not None and not about.callee and about.what == "dim"
