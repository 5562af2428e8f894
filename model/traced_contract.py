"""The contract of PyTorch code: conditions with the lines that impose them, results, and open checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..frontends.torch.places import is_caught
from ..lang.checked import Checked, EntryCondition, UndecidedCheck
from ..lang.core import Call, Var
from ..lang.expressions import names_in, sizes_text
from ..lang.walk import walk
from ..ops.model import Trait
from ..ops.registry import lookup
from .contract import SIZE, Clause, Contract, Demand, Typed, conditions_of, failed
from .path_conditions import PathConditions
from .replay import Unanswered, failure_at
from .told import Told


def contract_of_paths(told: Told, checked: Checked, judged: PathConditions) -> Contract:
    """The contract for the sizes that take the path that was read."""
    trace, said = told.trace, conditions_of(checked)
    kept = {c.text: judged.of(c) if judged.selects_path(c) else True for c in judged.conditions}
    weaker = {c.text: found for c in judged.conditions if kept[c.text] is None and (found := judged.weaker(c))}
    others = (c for c in judged.conditions if kept[c.text] is None and c.text not in weaker)
    caught = [c for c in judged.said(kept) if kept.get(c.text, True) and is_caught_in(told, c)]
    facts = tuple(dict.fromkeys([*(text for c in others for text in judged.path(c)), *(c.text for c in caught)]))
    taken = [c for c in judged.said(kept) if c not in caught]
    own = [weaker.get(c.text, (c, told, checked)) for c in taken if kept.get(c.text, True) or c.text in weaker]
    clauses = tuple(clause_of(*one) for one in (*own, *(judged.more if len(judged.refused) else ())))
    inputs = tuple(Typed(trace.variables.get(i.name, i.name), i.dtype, i.shape) for i in trace.inputs)
    inputs += tuple(Typed(p.name, p.dtype, p.shape) for p in told.params if p.dtype == SIZE)
    undecided = [Demand(told.file_line(p), "data decides which path is taken", None, ()) for p in trace.open_data]
    undecided += left_open(told, checked)
    undecided += _not_run(judged, [*judged.given, *facts, *(c.condition for c in clauses)])
    return Contract(
        inputs,
        {},
        clauses,
        (),
        (),
        tuple(undecided),
        tuple(judged.outputs(facts)),
        said.exact,
        said.supposed,
        facts,
    )


def left_open(told: Told, checked: Checked) -> Iterator[Demand]:
    """The checks that remain when the code runs, since data decides them."""
    yield from (demand_of(asked, told) for asked in conditions_of(checked).left)
    yield from dict.fromkeys(_of_elements(told, checked))


def is_caught_in(told: Told, condition: EntryCondition) -> bool:
    """Whether the code catches the error where a condition does not hold, and takes another path."""
    steps = (told.step(asked.place.line) for asked in condition.asked)
    return bool(condition.asked) and all(step is not None and is_caught(step.place) for step in steps)


def _not_run(judged: PathConditions, taken: Sequence[str]) -> Iterator[Demand]:
    """A demand that names accepted sizes that no run covered."""
    point = judged.not_run(taken)
    if point is not None:
        yield Demand(
            "branches on several sizes",
            f"not all their paths were run: {sizes_text(point)} takes another one",
            None,
            (),
        )


def _of_elements(told: Told, checked: Checked) -> Iterator[Demand]:
    """The calls that take only some elements of an operand, as only data decides; PyTorch takes all exponents."""
    by_sizes = {span for said in checked.conditions for span in said.by_sizes}
    calls = (node for node in walk(*checked.program.functions) if isinstance(node, Call) and not node.sure)
    for call in calls:
        row, step = lookup(getattr(call.callee, "name", "")), told.step(call.span.line)
        if (
            step is None
            or row is None
            or call.span in by_sizes
            or not row.is_tensor(row.refuses)
            or Trait.BROADCASTS in row.traits
        ):
            continue
        given = dict(zip((p.name for p in row.params), call.args, strict=False)) | {a.name: a for a in call.args}
        if row.refuses not in given or told.trace.types.keys().isdisjoint(names_in(given[row.refuses].value.span.text)):
            continue  # no tensor
        named = {n: arg.value.span.text if isinstance(arg.value, Var) else "" for n, arg in given.items()}
        text = {n: told.words(f"`{name}`", step) if name else "another value" for n, name in named.items()}
        table = row.places[1] if row.places else row.selects if row.refuses == "indices" else ""
        needs = f"{text[row.refuses]} holds {f'indices into {text[table]}' if table else f'what {step.op} takes'}"
        where = told.file_line(step.place)
        yield Demand(where, needs, where, step.place.above, is_of_elements=True)


def clause_of(condition: EntryCondition, told: Told, checked: Checked) -> Clause:
    demands = tuple(dict.fromkeys(demand_of(asked, told) for asked in condition.asked))
    witness, fails = condition.witness, None
    if witness is not None:
        try:
            said = failure_at(checked, told.params, witness)
            fails = None if said is None else demand_of(failed(said), told)
            witness = witness if said is not None else None
        except Unanswered:
            pass
    return Clause(condition.text, condition.sizes, demands, witness, fails)


def demand_of(asked: UndecidedCheck, told: Told) -> Demand:
    step = told.step(asked.place.line)
    if step is None:
        return Demand("the inputs", asked.needs, None, ())
    where = told.file_line(step.place)
    asks, source = told.fact(asked.place.line), step.place.source.rstrip(":")
    needs = {
        "stated": f"{asks}, else `{source}` raises" if source.startswith("if ") else source,
        "branch": f"{asks}, else `{source}` leads to what fails",
        "operation": f"{asks}, else `{source}` does otherwise, which fails",
    }.get(step.kind)
    short = told.words(asked.gist, step) if needs is None else ""
    needs = needs or told.words(asked.needs, step) or f"{step.op.removeprefix('torch.')} needs sizes that fit"
    return Demand(where, needs, where, step.place.above, short)
