"""The outcome of a model at requested sizes, `H=40` or `images.2=40`; the other sizes get numbers that fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..frontends.onnx.translate import Translation
from ..lang import codes
from ..lang.checked import Checked
from ..lang.diagnostics import Diagnostic, error
from ..lang.expressions import names_in, sizes_text
from ..lang.node import Node, replace
from ..lang.source import Source, Span
from ..simplify.solver.fitting import nearest
from ..simplify.solver.numbers import holds_at
from ..simplify.solver.prove import prove
from .contract import Contract, parameters
from .replay import Parameter, Unanswered, failure_at

# The smallest size is searched below this number.
_MOST = 256
_LARGEST, _DIGITS = 2**63 - 1, 19


class Arrival(Node):
    """Sizes at which a model was evaluated, and what fails there."""

    sizes: Mapping[str, int]
    failure: Diagnostic | None


class AskedSizes(Node):
    """Equations over the sizes of a model, of which those in `named` must hold, and axes that are forced to a size whatever
    is declared, by parameter."""

    equations: tuple[str, ...]
    named: tuple[str, ...]
    axes: Mapping[tuple[str, int], int]


def read_sizes(contract: Contract, translation: Translation, texts: Sequence[str]) -> AskedSizes:
    """Parse requested sizes. Raises ValueError for a name that is no size."""
    params = parameters(translation, contract.inputs)
    made = {original: name for name, original in translation.sizes.items()}
    names = names_in(*(size for p in params for size in p.shape or ()))
    equations, named, axes = [], [], {}
    for text in texts:
        place, number = asked_size(text)
        found = _axis(contract, params, place)
        if found is not None:
            param, axis, size = found
            equations += [f"{size} == {number}"] if isinstance(size, str) else []
            axes[param.name, axis] = number
        elif made.get(place, place) in names:
            named.append(f"{made.get(place, place)} == {number}")
        else:
            raise ValueError(
                f"--at {text!r}: the inputs have no size `{place}`; they have {', '.join(sorted(names)) or 'none'}"
            )
    return AskedSizes((*equations, *named), tuple(named), axes)


def asked_size(text: str) -> tuple[str, int]:
    """Split `h=40` into its parts. Raises ValueError for other texts."""
    place, _, number = (part.strip() for part in text.partition("="))
    if not place or not number:
        raise ValueError(f"--at {text!r} is not like h=40 or images.2=40")
    if not number.isascii() or not number.isdecimal():
        more = "; give each size its own --at" if "," in number else ""
        raise ValueError(f"--at {text!r}: a size is a whole number of at least 0, like {place}=40{more}")
    if len(number) > _DIGITS or int(number) > _LARGEST:
        raise ValueError(f"--at {text!r}: a size is at most {_LARGEST}")
    return place, int(number)


def _axis(contract: Contract, params: Sequence[Parameter], place: str) -> tuple[Parameter, int, int | str] | None:
    """The input that `images.2` names, with the axis and its size."""
    name, _, axis = place.rpartition(".")
    for value, param in zip(contract.inputs, params, strict=True):
        if value.name == name and axis.isascii() and axis.isdecimal() and int(axis) < len(param.shape or ()):
            assert param.shape is not None
            return param, int(axis), param.shape[int(axis)]
    return None


def arrival(
    checked: Checked, contract: Contract, translation: Translation, asked: AskedSizes, given: Sequence[str]
) -> Arrival:
    """Evaluate a model at the requested sizes, preferring accepted values for the others. Raises ValueError if there are
    none."""
    params = parameters(translation, contract.inputs)
    sizes = smallest(params, [c.condition for c in contract.conditions], [*asked.equations, *given])
    if any(holds_at(text, sizes) is False for text in (*asked.named, *given)):
        raise ValueError(f"there are no sizes with {' and '.join((*asked.equations, *given))}")
    try:
        failure = failure_at(checked, params, sizes, asked.axes)
    except Unanswered:
        failure = None
    failure = failure or _broken(contract, translation.source, sizes)
    if failure is None or not sizes:
        return Arrival(sizes, failure)
    with_ = "with " + sizes_text(sizes)
    near = nearest([c.condition for c in contract.conditions], sizes)
    more = (f"nearest that fit: {', '.join(near)}",) if near else ()
    return Arrival(sizes, replace(failure, notes=(*failure.notes, with_, *more)))


def smallest(params: Iterable[Parameter], conditions: Sequence[str], equations: Sequence[str] = ()) -> dict[str, int]:
    """The smallest sizes that satisfy the equations, and as many of the conditions as possible."""
    sizes = [size for p in params for size in p.shape or ()]
    names = names_in(*sizes)
    assumed = [
        *(f"{size} >= 0" for size in sizes),
        *(f"{name} >= 1" for name in names if f"{name} == 0" not in equations),
    ]
    known, found = [*assumed, *equations], _point([*assumed, *equations])
    for condition in conditions:
        point = _point([*known, condition])
        if point is not None:
            known, found = [*known, condition], point
    return _smallest({name: (found or {}).get(name, 1) for name in names}, known)


def _smallest(sizes: dict[str, int], known: list[str]) -> dict[str, int]:
    """Make each size as small as possible, one after the other."""
    for name in sizes:
        smaller = ({**sizes, name: n} for n in range(min(sizes[name], _MOST)))
        sizes = next((s for s in smaller if all(holds_at(text, s) for text in known)), sizes)
    return sizes


def _point(assumed: list[str]) -> dict[str, int] | None:
    answer = prove(assumed, "nothing_else == 0")
    found: dict[str, int] | None = answer.get("witness")
    return found


def _broken(contract: Contract, source: Source, sizes: Mapping[str, int]) -> Diagnostic | None:
    """The first condition that fails and is no check of shapes."""
    for clause in contract.conditions:
        if holds_at(clause.condition, sizes) is False:
            reason = clause.demands[0] if clause.demands else None
            place = Span(source, 0, 0)
            said = f"{reason.node}: {reason.needs}" if reason is not None else "it fails"
            return error(codes.E309, f"the inputs must satisfy {clause.condition}: {said}", place)
    return None
