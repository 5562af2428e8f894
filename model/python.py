"""The check of Python code, named as for `rx check` or `rx.trace`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..frontends.torch import target as targets
from ..frontends.torch.arguments import DeclaredInput, declared_in, is_size, resized
from ..frontends.torch.target import Inputs, Target
from ..lang.expressions import names_in, sizes_text
from ..lang.given import Given, read_given
from ..lang.node import Node, replace
from ..simplify.known.outcome import Options
from ..simplify.solver.numbers import holds_at
from ..simplify.solver.prove import prove
from .accepted import with_short_outputs
from .asked import AskedOfPython
from .at_sizes import Arrival, asked_size, smallest
from .contract import Contract, Supposed
from .profiles import profiles
from .replay import Parameter
from .traced import CheckedPython, at_sizes, check_target, texts_of


class Answered(Node):
    """`at` is the outcome at the requested sizes."""

    found: CheckedPython
    at: Arrival | None = None
    supposed: tuple[Supposed, ...] = ()

    @property
    def ok(self) -> bool:
        return self.found.report.ok


def load(name: str, asked: AskedOfPython, folder: Path, inputs: Inputs | None = None) -> Target:
    """Load a named target; this imports and runs the user's code. Raises Unloadable, and ValueError for an unknown axis."""
    target = targets.load(name, asked.init, asked.args, folder, inputs)
    for text in asked.dynamic:
        axis, _, size = text.partition("=")
        size = size or axis.replace("*", "all").replace(".", "_")
        if "." not in axis or not is_size(size):
            raise ValueError(f"--dynamic {text!r} is not like images.0=b or images.0")
        args = resized(target.args, axis, size)
        if args is None:
            raise ValueError(f"--dynamic {text!r}: no input has this axis; there are {_inputs(target)}")
        target = replace(target, args=args)
    return target


def answer(
    target: Target,
    asked: AskedOfPython,
    folder: Path,
    options: Options | None = None,
    traced: Callable[[str], object] = len,
) -> Answered:
    """Check a loaded target; `traced` gets the text that the result depends on. Raises ValueError for an unknown size or
    input."""
    options = options or Options()
    counted = {f"{name} >= 0" for name in target.counts}
    own = (read_given(f"@main: {t}") for t in (*target.given, *counted) if set(names_in(t)) <= set(target.sizes))
    options = replace(options, given=(*(g.of_sizes(target.sizes) for g in options.given), *own))
    for text in texts_of(options.given):
        for name in names_in(text):
            if name not in target.sizes:
                has = ", ".join(target.sizes) or "none"
                raise ValueError(f"--given {text!r}: the inputs have no size `{name}`; they have {has}")
    if asked.profile:
        free = check_target(within(target, options.given), folder, options)
        if free.contract is None:
            return Answered(free)
        box = tuple(map(read_given, profiles(free.contract, asked.profile)))
        options = replace(options, given=(*options.given, *box))
    found = check_target(within(target, options.given), folder, options, traced)
    supposed = tuple(Supposed(u.op, file_in(folder, u.place.file), u.place.line) for u in found.supposed)
    if found.contract is not None:
        given = (*found.contract.given, *(t for t in texts_of(options.given) if t not in found.contract.given))
        given = tuple(text for text in given if text not in counted)
        whole = replace(found.contract, given=given, operations=supposed)
        found = replace(found, contract=with_short_outputs(whole) if given else whole)
    arrived = _at(target, found, asked.at, folder, options) if asked.at else Answered(found)
    return replace(arrived, supposed=supposed)


def file_in(folder: Path, name: str) -> str:
    """A file's path, relative to a folder if it is inside."""
    path = Path(name)
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else name


def within(target: Target, given: Sequence[Given]) -> Target:
    """The target with hints that satisfy the given conditions."""
    texts = [text for text in texts_of(given) if set(names_in(text)) <= set(target.sizes)]
    runs: list[Mapping[str, int]] = []
    for run in (0, 1):
        hints = targets.hints(target, run)
        if all(holds_at(text, hints) is True for text in texts):
            runs.append(hints)
            continue
        others = [
            f"{name} != {before[name]}"
            for before in runs
            for name in hints
            if prove(texts, f"{name} == {before[name]}")["result"] != "valid"
        ]
        runs.append(_solved(hints, [*texts, *others]) or _solved(hints, texts) or hints)
    return replace(target, hinted=tuple(runs))


def _solved(hints: Mapping[str, int], texts: Sequence[str]) -> dict[str, int] | None:
    """Hints that satisfy conditions, as close to the wanted ones as possible."""
    kept = [*texts, *(f"{name} >= 2" for name in hints)]
    if prove(kept, "nothing_else == 0").get("witness") is None:
        kept = list(texts)
    for name, hint in hints.items():
        for wanted in (f"{name} == {hint}", *(f"{name} != {other}" for other in hints.values())):
            if prove([*kept, wanted], "nothing_else == 0").get("witness") is not None:
                kept.append(wanted)
                if "==" in wanted:
                    break
    witness = prove(kept, "nothing_else == 0").get("witness")
    return None if witness is None else {name: witness.get(name, hint) for name, hint in hints.items()}


# Requested sizes


def _at(target: Target, found: CheckedPython, at: Sequence[str], folder: Path, options: Options) -> Answered:
    """Run the code with the requested sizes, and check its lines with them; the sizes alone decide."""
    equations: list[str] = []
    for text in at:
        place, number = asked_size(text)
        if place in target.sizes:
            equations.append(f"{place} == {number}")
            continue
        args = resized(target.args, place, number)
        if args is None or "*" in place:
            raise ValueError(
                f"--at {text!r}: the inputs have no size `{place}`; they have {', '.join(target.sizes) or 'none'}"
            )
        target = replace(target, args=args)
    shapes = [Parameter("", d.dtype, d.shape) for d in declared_in(tuple(target.args.values()))]
    wanted = [*equations, *texts_of(options.given)]
    sizes = smallest(shapes, _conditions(found.contract), wanted)
    if any(holds_at(text, sizes) is False for text in wanted):
        raise ValueError(f"there are no sizes with {' and '.join(wanted)}")
    failure = at_sizes(target, sizes, folder)
    if failure is not None and sizes:
        shown = "with " + sizes_text(sizes)
        failure = replace(failure, notes=(*failure.notes, shown))
    said = () if failure is None else (failure,)
    kept = tuple(d for d in found.report.diagnostics if d.severity != "error")
    report = replace(found.report, diagnostics=(*kept, *said))
    return Answered(replace(found, report=report), Arrival(sizes, failure))


def _conditions(contract: Contract | None) -> list[str]:
    return [] if contract is None else [*contract.given, *(c.condition for c in contract.conditions)]


def _inputs(target: Target) -> str:
    found = [f"{name} {_shown(value)}" for name, value in target.args.items() if isinstance(value, DeclaredInput)]
    return ", ".join(found) or "none"


def _shown(value: DeclaredInput) -> str:
    return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
