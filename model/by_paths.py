"""One contract for all paths that sizes choose in PyTorch code: the conditions of each path, and the common results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from ..frontends.torch.run import Trace
from ..lang import codes
from ..lang.checked import Case, Checked, EntryCondition
from ..lang.diagnostics import Diagnostic, error
from ..lang.expressions import names_in
from ..lang.files import line_at
from ..lang.node import Node, replace
from ..simplify.solver.conditions import all_of, any_of, negate, render_cond
from ..simplify.solver.exprs import ExpressionError, QuestionScope, read_condition
from ..simplify.solver.numbers import holds_at
from ..simplify.solver.prove import prove
from ..simplify.solver.terms import TooLarge
from .contract import Clause, Contract, Demand, Typed, conditions_of
from .path_conditions import PathConditions, follow, results_of
from .paths import BRANCHES, branches, joined
from .told import ReadRun, Told
from .traced_contract import clause_of, is_caught_in, left_open


class PathBySizes(Node):
    """A path: the conditions on the sizes that take it, and the result of its check, None where the code refuses these
    sizes."""

    facts: tuple[str, ...]
    told: Told
    checked: Checked | None
    conditions: tuple[EntryCondition, ...] = ()
    results: tuple[Typed, ...] = ()

    @property
    def demands(self) -> list[str]:
        return [c.text for c in self.conditions]


class AllPaths(Node):
    """A contract, whether it covers the sizes of all paths, and the conditions of other paths that the path read does not
    have and no code states."""

    contract: Contract
    is_whole: bool = False
    undeclared: tuple[Clause, ...] = ()

    def errors(self) -> Iterator[Diagnostic]:
        """Errors for the undeclared conditions."""
        for clause in self.undeclared:
            [demand, *_] = clause.demands
            said = f"{demand.needs}: holds only if {clause.condition}"
            yield error(codes.E305, said, line_at(demand.node), witness=clause.witness)


def of_all_paths(contract: Contract, judged: PathConditions) -> AllPaths:
    """The contract for the sizes of all paths if each was run and read; else the given one, for the sizes of one path."""
    given = judged.given
    paths = _paths(judged) if contract.given else None
    if paths is None:
        return AllPaths(contract)
    taken = [path for path in paths if path.checked is not None]
    made = [*_asked(taken, given), *_refused(paths)]
    clauses = _needed([clause for clause, _ in made], given)
    outputs = _outputs(taken, [*given, *(c.condition for c in clauses)])
    if outputs is None:
        return AllPaths(contract)
    said = [conditions_of(path.checked) for path in taken if path.checked is not None]
    left = (demand for path in taken if path.checked is not None for demand in left_open(path.told, path.checked))
    whole = replace(
        contract,
        conditions=tuple(clauses),
        outputs=outputs,
        given=(),
        undecided=tuple(dict.fromkeys(left)),
        exact=all(one.exact for one in said),
        supposed=tuple(dict.fromkeys(text for one in said for text in one.supposed)),
    )
    return AllPaths(whole, True, tuple(c for c, is_own in made if c in clauses and not is_own and c.demands))


def _paths(judged: PathConditions) -> list[PathBySizes] | None:
    """All paths; None if one was not read, if some sizes take none of them, or if data decides as well."""
    runs = (judged.told.trace, *(other.run for other in judged.others))
    if any(run.open_data or run.supposed for run in runs):
        return None
    first = _path(judged.told.trace, judged.told, judged.checked)
    if first is None:
        return None
    found: list[PathBySizes | None] = [first]
    for number, other in enumerate(judged.others):
        read, run = judged.reading(number), other.run
        if other.same:
            found.append(replace(first, facts=_facts(run)))
        elif run.stopped is not None:
            is_whole = run.stopped.last is not None and not run.stopped.is_unread
            told = Told(judged.told.name, run, judged.told.folder)
            found.append(PathBySizes(_facts(run), told, None) if is_whole else None)
        elif read is None or read.inner or _works_on_empty(read):
            return None
        else:
            found.append(_path(run, read.told, read.report.checked if read.report.ok else None))
    paths = [path for path in found if path is not None]
    known = [*(f"{name} >= 0" for name in judged.told.trace.hints), *judged.given, *_asked_before(first)]
    is_whole = len(paths) == len(found) and follow(known, [" || ".join(joined(p.facts) for p in paths)])
    return paths if is_whole else None


def _asked_before(path: PathBySizes) -> list[str]:
    """Conditions imposed before all branches: sizes that break them take no path."""
    begin = min((line for line, step in path.told.trace.steps.items() if step.kind in BRANCHES), default=0)
    early = {c.text: [a.place.line for a in c.asked if a.place.line < begin] for c in path.conditions}
    is_all = {c.text: len(early[c.text]) == len(c.asked) for c in path.conditions}
    return [text for text, lines in early.items() if is_all[text] or any(path.told.fact(n) == text for n in lines)]


def _works_on_empty(read: ReadRun) -> bool:
    """Whether a path whose check fails does work on empty tensors."""
    wrong = [d.code for d in read.report.diagnostics if d.severity == "error"]
    return bool(wrong) and all(code.only_empty for code in wrong)


def _path(run: Trace, told: Told, checked: Checked | None) -> PathBySizes | None:
    """A checked path; None if it depends on numbers that the code asks for, or if the code catches its errors."""
    if any(step.kind == "number" for _, step in run.facts):
        return None
    if checked is None:
        return PathBySizes(_facts(run), told, None)
    asked = conditions_of(checked).conditions
    facts = _facts(run)
    own = tuple(c for c in asked if not follow(facts, [c.text]))
    if any(is_caught_in(told, c) for c in own):
        return None
    return PathBySizes(facts, told, checked, own, tuple(results_of(told, checked)))


def _facts(run: Trace) -> tuple[str, ...]:
    """The conditions on the sizes that take a path, without redundant ones."""
    facts = [text for text in branches(run) if holds_at(text, run.hints)]
    for text in list(facts):
        others = [fact for fact in facts if fact != text]
        facts = others if follow(others, [text]) else facts
    return tuple(facts)


# Conditions of the paths


def _asked(paths: Sequence[PathBySizes], given: Sequence[str]) -> Iterator[tuple[Clause, bool]]:
    """The conditions of the paths, and whether each is one of the first path or stated by the code; a condition that not all
    paths impose is weakened by the sizes of the other paths."""
    for path in paths:
        for condition in path.conditions:
            others = (p for p in paths if p is not path)
            is_of_all = all(follow([*given, *p.facts, *p.demands], [condition.text]) for p in others)
            text = condition.text if is_of_all else _unless(path.facts, condition.text)
            answer = prove([*(f"{n} >= 0" for n in path.told.trace.hints), *given, *path.facts], condition.text)
            point = {**path.told.trace.hints, **answer["witness"]} if answer.get("witness") else None
            assert path.checked is not None
            asked = replace(condition, text=text, sizes=tuple(names_in(text)), witness=point)
            steps = [path.told.step(a.place.line) for a in condition.asked]
            is_stated = any(step is not None and step.kind == "stated" for step in steps)
            yield clause_of(asked, path.told, path.checked), is_stated or path is paths[0]


def _refused(paths: Sequence[PathBySizes]) -> Iterator[tuple[Clause, bool]]:
    """Clauses that exclude the paths that the code refuses, and whether the code itself raises there."""
    for path in paths:
        if path.checked is None:
            text, stopped = _unless(path.facts, None), path.told.trace.stopped
            is_own = stopped is not None and stopped.place.source.startswith(("raise", "assert"))
            yield Clause(text, tuple(names_in(text)), (_reason(path),), dict(path.told.trace.hints)), is_own


def _reason(path: PathBySizes) -> Demand:
    """The statement that refuses the sizes of a path."""
    stopped, told = path.told.trace.stopped, path.told
    if stopped is None:
        steps = [step for text, step in path.told.trace.facts if text in path.facts]
        place = steps[-1].place
        return Demand(
            told.file_line(place), f"{place.source.rstrip(':')} leads to what fails", told.file_line(place), place.above
        )
    place = stopped.place
    return Demand(told.file_line(place), place.source.rstrip(":"), told.file_line(place), place.above)


def _unless(facts: Sequence[str], text: str | None) -> str:
    """The condition that `text` holds, or that one of these facts does not."""
    scope = QuestionScope()
    try:
        region = all_of(*(read_condition(fact, scope) for fact in facts))
        own = [] if text is None else [read_condition(text, scope)]
        return render_cond(any_of(negate(region), *own))
    except (ExpressionError, TooLarge):
        return " || ".join([*(f"!({fact})" for fact in facts), *(["(" + text + ")"] if text else [])])


def _needed(clauses: Sequence[Clause], given: Sequence[str]) -> list[Clause]:
    """The clauses without those that follow from the others."""
    kept = list({c.condition: c for c in clauses}.values())
    for clause in reversed(list(kept)):
        others = [c for c in kept if c is not clause]
        kept = others if follow([*given, *(c.condition for c in others)], [clause.condition]) else kept
    return kept


# Results of the paths


def _outputs(paths: Sequence[PathBySizes], demands: Sequence[str]) -> tuple[Typed, ...] | None:
    """The results of all paths, by cases where no formula fits all; None if they differ in number or dtype."""
    kinds = {tuple(r.dtype for r in path.results) for path in paths}
    if len(kinds) != 1:
        return None
    regions = [[*path.facts, *demands] for path in paths]
    several = zip(*(path.results for path in paths), strict=True)
    return tuple(_joined(list(results), paths, regions) for results in several)


def _joined(results: Sequence[Typed], paths: Sequence[PathBySizes], regions: Sequence[Sequence[str]]) -> Typed:
    first = results[0]
    cases: dict[tuple[int | str, ...], list[str]] = {}
    for result, path in zip(results, paths, strict=True):
        cases.setdefault(tuple(result.shape or ()), []).append(" && ".join(path.facts))
    apart = tuple(Case(_either(when), shape) for shape, when in cases.items())
    if len({len(r.shape or ()) for r in results}) != 1:
        return replace(first, shape=None, cases=apart)
    sizes = zip(*(r.shape or () for r in results), strict=True)
    shape = tuple(_common(list(each), regions, paths) for each in sizes)
    known = tuple("?" if size is None else size for size in shape)
    return replace(first, shape=known, cases=apart if None in shape else ())


def _either(when: Sequence[str]) -> str:
    return when[0] if len(when) == 1 else " || ".join(f"({one})" for one in when)


def _common(
    sizes: Sequence[int | str], regions: Sequence[Sequence[str]], paths: Sequence[PathBySizes]
) -> int | str | None:
    """A formula that equals each size where its path is taken."""
    if "?" in sizes:
        return "?"
    own = list(dict.fromkeys(sizes))
    remainders = [text.split(" == ")[0] for path in paths for text in path.facts if " % " in text and " == " in text]
    pairs = list(permutations(own, 2))
    tried = [*own, *(f"max({a}, {b})" for a, b in pairs), *(f"min({a}, {b})" for a, b in pairs)]
    tried += [f"{size} {sign} {r}" for size in own for r in dict.fromkeys(remainders) for sign in "+-"]
    for size in tried:
        if all(follow(known, [f"{size} == {one}"]) for known, one in zip(regions, sizes, strict=True) if one != size):
            return size
    return None
