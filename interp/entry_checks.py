"""From a routine to Python: its entry checks as one fast test, the same checks one by one for when that fails, and the body
without them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..lang import core
from ..lang.node import replace
from .generated import GeneratedModule
from .names import mangle
from .plan import Planned
from .steps import Bind, Match, Routine, Step, StepCheck, StepSite, asks, inside, outputs, reads
from .text import RoutineText

# After so many steps one more call costs no time: a longer body is written once.
_LONG = 32
# Exceptions of the combined test on values that do not fit; the checks one by one then find the one that failed.
_UNFIT = "(Failed, ValueError, IndexError, ArithmeticError, TypeError, AttributeError)"


def write_planned(unit: GeneratedModule, planned: Planned) -> None:
    """Write `g_name`: the body after the checks, with a plan's answers to its questions."""
    routine, places = planned.routine, planned.places
    unit.write(0, f"def g_{mangle(routine.name)}({', '.join(('plan', *routine.params))}):")
    text = RoutineText(unit, routine.name, places=places)
    text.write(f"{', '.join(text.answers.values())}, = plan")
    text.routine((*_believed(_read(routine)), *routine.body.steps))


def write_routine(unit: GeneratedModule, routine: Routine) -> None:
    """Write `f_name` with the checks and, for a function that has some, `d_name` (the checks) and `b_name` (the body after
    them)."""
    if routine.kind in ("private", "script"):
        _header(unit, routine, "f_" if routine.kind == "private" else "s_").routine(routine.body.steps)
        return
    checks = _header(unit, routine, "d_")
    checks.routine(routine.entry)
    checks.write("return")
    _entry(unit, routine)
    text = _header(unit, routine, "b_")
    text.routine((*_believed(_read(routine)), *routine.body.steps))


def _header(unit: GeneratedModule, routine: Routine, prefix: str) -> RoutineText:
    unit.write(0, f"def {prefix}{mangle(routine.name)}({', '.join(routine.params)}):")
    return RoutineText(unit, routine.name)


def _entry(unit: GeneratedModule, routine: Routine) -> None:
    """Write the checks as one expression over shapes and dtypes; if it is false or raises, `d_name` finds the check that
    failed."""
    text = _header(unit, routine, "f_")
    call = f"{mangle(routine.name)}({', '.join(routine.params)})"
    site = StepSite(routine.name, routine.span, None)
    if not any(map(asks, routine.entry)) and not routine.wrapped:
        unit.write(1, f"return b_{call}", site)
        return
    is_long = len(routine.body.steps) > _LONG
    if unit.tally is not None or routine.wrapped or is_long or not all(map(_is_simple, routine.entry)):
        unit.write(1, f"d_{call}", site)
        closures = [closure for _, closure in routine.wrapped]
        text.routine(_believed(_needed(routine.entry, [slot for c in closures for slot in c.captured])))
        for slot, closure in routine.wrapped:  # a function from outside is checked at every call
            text.step(closure)
            text.write(f"{slot} = {closure.output}")
        unit.write(1, f"return b_{call}", site)
        return
    text.write("try:")
    text.indent += 1
    ranks = _unpack_shapes(text, routine)
    tested = [s for s in routine.entry if asks(s) and id(s) not in ranks]
    used = {id(s) for s in (*tested, *_needed(routine.entry, [n for s in tested for n in reads(s)]))}
    tests = [t for s in routine.entry if id(s) in used for t in _tests(text, s)]
    text.write(f"if not ({' and '.join(tests) or 'True'}): raise Failed")
    text.indent -= 1
    text.write(f"except {_UNFIT}:")
    unit.write(2, f"d_{call}", site)
    unit.write(2, f"return b_{call}", site)
    unbound = [s for s in _read(routine) if id(s) not in used]
    text.routine((*_believed(unbound), *routine.body.steps))


def _is_simple(step: Step) -> bool:
    return isinstance(step, StepCheck | Match | Bind) and not isinstance(
        step.output if isinstance(step, Bind) else "", tuple
    )


def _unpack_shapes(text: RoutineText, routine: Routine) -> set[int]:
    """Write `a0, a1 = x.shape` for each parameter whose rank is checked: that tests the rank and names the sizes at once.

    Returns the identities of the checks that are made this way.
    """
    found: set[int] = set()
    for step in routine.entry:
        match step:
            case StepCheck(cond=core.Compare(op="==", left=core.RankOf(tensor=x), right=core.SizeLit(value=rank))):
                if x not in routine.params or (x, 0) in text.dims:
                    continue
                sizes = [f"{x}_d{i}" for i in range(rank)]
                text.write(f"[{', '.join(sizes)}] = {x}.shape" if rank != 0 else f"() = {x}.shape")
                text.dims.update({(x, i): s for i, s in enumerate(sizes)})
                text.dims.update({(x, i - rank): s for i, s in enumerate(sizes)})
                found.add(id(step))
    return found


def _tests(text: RoutineText, step: Step) -> list[str]:
    """The terms that an entry step adds to the combined test; its bindings are written before it."""
    match step:
        case StepCheck(cond=cond):
            return [_test(text, cond)]
        case Match(checked=checked):
            whole = f"{step.tensor}_s"
            fits, binds, tests = text.pattern(step, whole)
            text.write(f"{whole} = {step.tensor}.shape")
            for slot, size in binds:
                text.write(f"{slot} = {size}")
            return [fits, *tests] if checked else []
    text.step(step)
    return []


def _test(text: RoutineText, cond: core.BoolExpr) -> str:
    """The text of a condition. A dtype is compared by identity: NumPy has one object for each, and any other one takes the
    slow path."""
    if isinstance(cond, core.Compare) and cond.op == "==" and isinstance(cond.right, core.DTypeLit):
        return f"{text.shape_level(cond.left)} is {text.shape_level(cond.right)}"
    return text.boolean(cond)


def _read(routine: Routine) -> list[Step]:
    """The steps of the entry that bind what the body reads."""
    return _needed(routine.entry, inside(routine.body)) if any(map(outputs, routine.entry)) else []


def _needed(entry: Sequence[Step], slots: Iterable[str]) -> list[Step]:
    """The steps of the entry that bind slots, directly or through one another."""
    needed = set(slots)
    kept: list[Step] = []
    for step in reversed(entry):
        if not isinstance(step, StepCheck) and not needed.isdisjoint(outputs(step)):
            needed |= reads(step)
            kept.append(step)
    return kept[::-1]


def _believed(steps: Iterable[Step]) -> list[Step]:
    """The same bindings without their checks."""
    return [replace(s, checked=False) if isinstance(s, Match) else s for s in steps]
