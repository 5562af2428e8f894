"""A model's contract as text for people, and as diagnostics for the formats that know only these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..lang import codes
from ..lang.cells import shown
from ..lang.diagnostics import Diagnostic, note
from ..lang.expressions import names_in
from ..lang.listing import shape_text
from ..lang.node import replace
from ..lang.source import Source, Span
from ..lang.summary import plural
from ..model.contract import Clause, Contract, Demand, IndexRange, Typed
from ..simplify.solver.fitting import in_plain_words, is_plain, nearest

_MOST_NODES = 4


def text(name: str, contract: Contract) -> str:
    """Inputs, what they must satisfy and why, what is declared, what is left, and what comes out."""
    count = len(contract.conditions) + len(contract.ranges)
    lines = [
        f"{name}: its inputs must satisfy {plural(count, 'condition')}" if count else f"{name}: takes all its sizes"
    ]
    lines += [f"  {_typed(value)}{_original(_words(value), contract.sizes)}" for value in contract.inputs]
    for clause in contract.conditions:
        lines += ["", f"  {clause.condition}", *_clause(clause)]
    for one in contract.ranges:
        lines += ["", f"  {range_text(one)}", *_demand(one.demand), *_ran(one.ran)]
    if not contract.exact:
        lines += ["", "  some inputs may break a condition and be accepted"]
    lines += _listed("what is declared of the inputs:", contract.declared)
    left = (f"{d.node}: {d.needs or 'a check'}" for d in contract.undecided)
    lines += _listed("what other data decides, checked when it runs:", left)
    lines += _listed("given, and nothing is said of other sizes:", contract.given)
    lines += _listed("supposed, since the model keeps sizes in dtypes that hold no larger ones:", contract.supposed)
    lines += _listed("outputs:", (line for value in contract.outputs for line in _cases(value)))
    return "\n".join(map(shown, lines))


def range_text(one: IndexRange) -> str:
    return f"{one.least} <= {one.input} <= {one.most}, each element"


def _cases(value: Typed) -> list[str]:
    """An output: of a rank that sizes decide a line for each case."""
    cases = [f"{_typed(replace(value, shape=c.shape))}  # {c}" for c in value.cases]
    return cases or [_typed(value)]


def _typed(value: Typed) -> str:
    type_ = f"Tensor({shape_text(value.shape)}, {value.dtype or '?'})"
    return f"{value.name} : {value.dtype if '(' in (value.dtype or '') else type_}"


def _words(value: Typed) -> list[str]:
    return names_in(*(value.shape or ()))


def _original(sizes: Iterable[str], names: Mapping[str, str]) -> str:
    known = [f"{size} is `{names[size]}`" for size in sizes if size in names]
    return f"  # {', '.join(known)}" if known else ""


def _clause(clause: Clause) -> Iterator[str]:
    for demand in clause.demands[:_MOST_NODES]:
        yield from _demand(demand)
    if len(clause.demands) > _MOST_NODES:
        yield f"    and {len(clause.demands) - _MOST_NODES} more nodes"
    if clause.witness:
        failure = f": {_failure(clause.fails, next(iter(clause.demands), None))}" if clause.fails else ""
        yield f"    fails with {sizes_text(clause.witness)}{failure}"
    yield from _fitting(clause)
    yield from _ran(clause.ran)


def _fitting(clause: Clause) -> Iterator[str]:
    """What satisfies a condition that does not say so itself: in plain words, and next to what breaks it."""
    said = in_plain_words(clause.condition)
    if said is not None:
        yield f"    that is: {said}"
    near = () if is_plain(clause.condition) else nearest([clause.condition], clause.witness or {})
    if clause.witness and near:
        yield f"    nearest that fit: {', '.join(near)}"


def _ran(said: str | None) -> Iterator[str]:
    if said is not None:
        yield f"    run with it: {said}"


def sizes_text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {n}" for name, n in sizes.items())


def _failure(fails: Demand, said: Demand | None) -> str:
    """The node that fails is named where it is another one than that above."""
    return fails.needs if said is not None and said.node == fails.node else f"{fails.node}: {fails.needs}"


def _demand(demand: Demand) -> Iterator[str]:
    yield f"    {demand.node}" + (f": {demand.needs}" if demand.needs else "")
    if demand.trace:
        yield f"      {demand.trace}"
    if demand.way:
        yield f"      way: {' -> '.join(demand.way)}"


def _listed(title: str, items: Iterable[str]) -> Iterator[str]:
    found = list(items)
    if found:
        yield from ("", f"  {title}", *(f"    {item}" for item in found))


def notes(name: str, contract: Contract) -> tuple[Diagnostic, ...]:
    """Each condition as a note on the model."""
    place = Span(Source(name, ""), 0, 0)
    said = [(c.condition, c.demands, c.witness) for c in contract.conditions]
    said += [(range_text(r), (r.demand,), None) for r in contract.ranges]
    return tuple(_note(place, *one) for one in said)


def _note(place: Span, condition: str, demands: tuple[Demand, ...], witness: Mapping[str, int] | None) -> Diagnostic:
    reasons = [": ".join(filter(None, (d.node, d.needs))) for d in demands[:_MOST_NODES]]
    message = f"the inputs must satisfy {condition}" + (f": {reasons[0]}" if reasons else "")
    return note(codes.N206, message, place, notes=tuple(reasons[1:]), witness=witness or None, function="@main")
