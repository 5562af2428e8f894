"""The paths of PyTorch code that data chooses: the common result of all, and the conditions of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..frontends.torch.places import PythonPlace
from ..frontends.torch.run import Trace
from ..lang import codes
from ..lang.checked import Checked, EntryCondition
from ..lang.diagnostics import Diagnostic, warning
from ..lang.expressions import names_in
from ..lang.node import replace
from ..simplify.solver.prove import prove
from .contract import Clause, Contract, Demand, Typed, conditions_of
from .paths import OtherPath
from .told import ReadRun, Told


class Arms:
    """The other paths at the places where data decides, each with the result of its check."""

    def __init__(
        self, told: Told, places: Sequence[PythonPlace], others: Sequence[tuple[OtherPath, ReadRun | None]]
    ) -> None:
        self.told, self.others = told, [(o, r) for o, r in others if not o.same]
        self.lines = {p.key: told.file_line(p) for p in places}

    def joined(self, contract: Contract) -> Contract:
        """The contract with results that hold on every path, and with the checks that only the other paths need."""
        outputs, needs, clauses = list(contract.outputs), list[Demand](), list(contract.conditions)
        for other, read in self.others:
            if read is None or not read.report.ok or read.report.checked is None:
                continue
            theirs = list(outputs_of(read.told.trace, read.report.checked))
            if len(theirs) == len(outputs):
                outputs = [_common(a, b) for a, b in zip(outputs, theirs, strict=True)]
            else:
                outputs = [replace(o, shape=None, dtype=None, cases=()) for o in outputs]
            needs += self._needs(other, read, read.report.checked, contract)
            asked = [*(c.text for c in conditions_of(read.report.checked).conditions), *read.inner, *contract.given]
            own = [c for c in clauses if prove(asked, c.condition)["result"] not in ("valid", "vacuous")]
            needs += [self._only_here(other, clause) for clause in own]
            clauses = [c for c in clauses if c not in own]
        undecided = (*contract.undecided, *dict.fromkeys(needs))
        return replace(contract, conditions=tuple(clauses), outputs=tuple(outputs), undecided=undecided)

    def _only_here(self, other: OtherPath, clause: Clause) -> Demand:
        """A condition that the other path does not impose."""
        line = self._line(other)
        node = clause.demands[0].node if clause.demands else line
        return Demand(node, f"{clause.condition}, where data does not take the other path at {line}", None, ())

    def _needs(self, other: OtherPath, read: ReadRun, checked: Checked, contract: Contract) -> Iterator[Demand]:
        told = read.told
        known = [*(c.condition for c in contract.conditions), *contract.given]
        for condition in conditions_of(checked).conditions:
            if selects_path(told, condition) or prove(known, condition.text)["result"] in ("valid", "vacuous"):
                continue
            step = told.step(condition.asked[0].place.line) if condition.asked else None
            node = told.file_line(step.place) if step is not None else self._line(other)
            yield Demand(node, f"{condition.text}, where data takes the other path at {self._line(other)}", None, ())

    def said(self) -> Iterator[Diagnostic]:
        """Warn about operations that never work on another path; inputs that do not take it are not affected."""
        for other, read in self.others:
            stopped = other.run.stopped
            note = f"where data takes the other path at {self._line(other)}"
            if read is not None and not read.report.ok:
                wrong = [d for d in read.report.diagnostics if d.severity == "error"]
                yield from (replace(read.told.of(d), severity="warning", notes=(note,)) for d in wrong[:1])
            elif stopped is not None and stopped.said and not _is_check(other):
                yield replace(warning(codes.W311, stopped.said, self.told.span(stopped.place)), notes=(note,))

    def _line(self, other: OtherPath) -> str:
        assert other.place is not None
        return self.lines.get(other.place, other.place)


def _is_check(other: OtherPath) -> bool:
    """Whether the code raises because of its own test: with `raise` or `assert`, or inside a function that tests."""
    at = other.run.stopped.place if other.run.stopped is not None else None
    return at is not None and (at.source.startswith(("raise", "assert")) or at.key == other.place)


def selects_path(told: Told, condition: EntryCondition) -> bool:
    """Whether a condition only states which path the code took."""
    steps = [told.step(a.place.line) for a in condition.asked]
    return bool(steps) and all(s is not None and s.kind in ("branch", "operation", "number") for s in steps)


def outputs_of(trace: Trace, checked: Checked) -> Iterator[Typed]:
    """The results of a run, as far as the check knows them for all data."""
    is_whole = all(set(names_in(t)) <= set(trace.hints) for t, s in trace.facts if s.kind == "number")
    main = next((f for f in checked.shapes if f.name == "@main"), None)
    found = {} if main is None else {b.name: b for b in (*main.params, *main.bindings)}
    for name in trace.results:
        binding = found.get(name)
        label = trace.variables.get(name, name)
        if binding is None:
            yield Typed(label, None, None)
            continue
        own = [is_whole and set(names_in(d)) <= set(trace.hints) for d in binding.shape or ()]
        shape = binding.shape and tuple(d if known else "?" for d, known in zip(binding.shape, own, strict=True))
        yield Typed(label, binding.dtype, shape, binding.cases)


def _common(one: Typed, two: Typed) -> Typed:
    """The properties that both results share."""
    dtype = one.dtype if one.dtype == two.dtype else None
    if one.shape is None or two.shape is None or len(one.shape) != len(two.shape):
        return Typed(one.name, dtype, None)
    shape = tuple(a if a == b else "?" for a, b in zip(one.shape, two.shape, strict=True))
    return Typed(one.name, dtype, shape, one.cases if one.cases == two.cases else ())
