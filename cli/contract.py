"""Write a model's contract as text, and as diagnostics for formats that have nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..lang import codes
from ..lang.cells import shown
from ..lang.diagnostics import Diagnostic, note
from ..lang.expressions import sizes_text
from ..lang.source import Source, Span
from ..model.contract import Clause, Contract, Demand, IndexRange
from ..simplify.solver.fitting import in_plain_words, is_plain, nearest

_MOST_NODES, _MOST_ENDS = 4, 3


def reasons(contract: Contract) -> str:
    """Every condition with the nodes that demand it, the paths to them and sizes that break it; then the rest of the
    contract."""
    lines: list[str] = []
    for clause in contract.conditions:
        lines += ["", f"  {clause.condition}", *_clause(clause)]
    for one in contract.ranges:
        lines += ["", f"  {range_text(one)}", *_demand(one.demand), *_ran(one.ran)]
    lines += _listed("names in the model:", (f"{name} is `{own}`" for name, own in contract.sizes.items()))
    left = (f"{d.node}: {d.needs or 'a check'}" for d in contract.undecided)
    lines += _listed("checked when it runs, since data decides:", left)
    lines += _listed("supposed, since the model keeps sizes in dtypes that hold no larger ones:", contract.supposed)
    return "\n".join(map(shown, lines))


def range_text(one: IndexRange) -> str:
    return f"{one.least} <= {one.input} <= {one.most}, each element"


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
    """The solutions of a condition, if it does not state them itself: in plain words, and the nearest to the witness."""
    said = in_plain_words(clause.condition)
    if said is not None:
        yield f"    that is: {said}"
    near = () if is_plain(clause.condition) else nearest([clause.condition], clause.witness or {})
    if clause.witness and near:
        yield f"    nearest that fit: {', '.join(near)}"


def _ran(said: str | None) -> Iterator[str]:
    if said is not None:
        yield f"    run with it: {said}"


def _failure(fails: Demand, said: Demand | None) -> str:
    """The failure; the node is named unless it is the node above."""
    return fails.needs if said is not None and said.node == fails.node else f"{fails.node}: {fails.needs}"


def _demand(demand: Demand) -> Iterator[str]:
    yield f"    {demand.node}" + (f": {demand.needs}" if demand.needs else "")
    if demand.trace:
        yield f"      {demand.trace}"
    if demand.way:
        yield f"      way: {' -> '.join(_way(demand.way))}"


def _way(nodes: Sequence[str]) -> Iterable[str]:
    """The first and the last nodes of a path, and the number of those between."""
    between = len(nodes) - 2 * _MOST_ENDS
    return nodes if between <= 1 else (*nodes[:_MOST_ENDS], f"{between} more", *nodes[-_MOST_ENDS:])


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
