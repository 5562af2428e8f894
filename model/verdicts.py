"""Which conditions of traced code are its contract, and which are mistakes: by where the other number comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..frontends.torch.run import Step
from ..lang import codes
from ..lang.checked import Checked, Condition
from ..lang.diagnostics import Diagnostic, error, warning
from ..lang.expressions import names_in
from ..simplify.solver.prove import prove
from .contract import conditions_of
from .told import Told


class Verdicts:
    """What is wrong with traced code although some sizes fit."""

    def __init__(self, told: Told) -> None:
        self.told, self.trace = told, told.trace

    def of(self, checked: Checked, strict: bool) -> Iterator[Diagnostic]:
        """What is wrong although some sizes fit: sizes of one input that are tied, and sizes that are pinned. What follows from
        an error that was told is not told again."""
        told: list[str] = []
        lines: set[tuple[str, int, bool]] = set()  # one mistake is told once
        for condition in conditions_of(checked).conditions:
            view = self._written(condition)
            found = error if view is not None else self._verdict(condition)
            if found is error and self._follows(told, condition):
                continue
            told += [condition.text] if found is error else []
            found = error if strict and not self._is_declared(condition) else found
            if found is not None and condition.asked:
                said = self._diagnostic(found, condition, view)
                line = said.span.source.name, said.span.line
                if strict or (*line, True) not in lines and (*line, found is error) not in lines:
                    yield said
                lines.add((*line, found is error))

    def _diagnostic(
        self, found: Callable[..., Diagnostic], condition: Condition, view: Step | None = None
    ) -> Diagnostic:
        asked = condition.asked[0]
        step = view or self.told.step(asked.place.line)
        needs = self.told.words(asked.needs, step) if step else asked.needs
        if view is not None:
            needs = f"{view.op.replace('torch.Tensor.', 'Tensor.')} writes a number for `{condition.sizes[0]}`"
        needs = needs or f"{step.op if step else 'this'} needs sizes that fit"
        code = codes.W311 if found is warning else codes.E305
        said = f"{needs}: holds only if {condition.text}"
        return found(code, said, self.told.span(step.place if step else None), function=step and step.module or None)

    def _is_declared(self, condition: Condition) -> bool:
        """Whether the code states it, by an assertion or by raising."""
        steps = [self.told.step(asked.place.line) for asked in condition.asked]
        return any(step is not None and step.kind == "stated" for step in steps)

    def _follows(self, told: list[str], condition: Condition) -> bool:
        """Whether other conditions imply this one for tensors that are not empty."""
        nonempty = [f"{name} >= 1" for name in self.trace.hints]
        return bool(told) and prove([*told, *nonempty], condition.text)["result"] in ("valid", "vacuous")

    def _verdict(self, condition: Condition) -> Callable[..., Diagnostic] | None:
        """An error, a warning, or nothing but a line of the contract."""
        steps = [s for s in (self.told.step(a.place.line) for a in condition.asked) if s is not None]
        if not is_tie(condition.text) or self._is_stated(condition):
            return None
        if any(self._is_fixed(a.place.line, condition) for a in condition.asked):
            return None
        if is_divided(condition.text) and all(is_view(s) for s in steps):
            return None
        return error if len(self._owners(condition.sizes)) < 2 or is_pin(condition.text) else warning

    def _is_fixed(self, line: int, condition: Condition) -> bool:
        """Whether a parameter, buffer or constant decides, whose sizes are numbers: as an operand of a line, or behind a view
        whose number is one of its sizes."""
        operands = names_in(self.trace.text.splitlines()[line - 1])
        if any(name in self.trace.fixed for name in operands):
            return True
        step = self.told.step(line)
        if step is None or not is_view(step) or not is_product(condition.text):
            return False
        sizes = {size for shape in self.trace.fixed.values() for size in shape if size > 1}
        return bool(sizes & set(numbers_in(self.trace.text.splitlines()[line - 1])))

    def _is_stated(self, condition: Condition) -> bool:
        """Whether the code asks for it itself."""
        steps = [self.told.step(a.place.line) for a in condition.asked]
        return any(s is not None and s.kind in ("stated", "branch", "number") for s in steps)

    def _written(self, condition: Condition) -> Step | None:
        """The view above that writes a number where a size stands that is pinned to it: what comes behind only tells."""
        lines = [a.place.line for a in condition.asked]
        if not (lines and is_pin(condition.text) and is_tie(condition.text)) or self._is_stated(condition):
            return None
        pins = [part.split() for part in condition.text.split("||")]
        pin = next(((p[0], p[2]) for p in pins if p[1:2] == ["=="] and p[2:3] != ["0"]), None)
        for number, step in self.trace.steps.items():
            if number < max(lines) and is_view(step) and pin in list(self._written_sizes(number)):
                return step
        return None

    def _written_sizes(self, line: int) -> Iterator[tuple[str, str]]:
        """The sizes of what is viewed, beside what is written in their places where the rest is left open."""
        _, _, call = self.trace.text.splitlines()[line - 1].partition("@reshape(")
        viewed, _, target = call.partition(", [")
        shape = self.trace.types.get(viewed.strip(), "").partition("[")[2].partition("]")[0]
        written = [size.strip() for size in target.partition("]")[0].split(",")]
        if "-1" in written:
            yield from zip((size.strip() for size in shape.split(",")), written, strict=False)

    def _owners(self, sizes: Iterable[str]) -> set[str]:
        """The inputs that it takes to have some sizes: one, if all sizes are of it."""
        wanted = set(sizes)
        owners = [{i.name for i in self.trace.inputs if size in i.shape} for size in wanted]
        common = set.intersection(*owners) if owners else set()
        return {min(common)} if common else set().union(*owners)


def is_tie(text: str) -> bool:
    """Whether a condition makes sizes equal, or one a number; what fits by division is none."""
    return all(("==" in part and "%" not in part) or is_small(part) for part in text.split("||"))


def is_small(part: str) -> bool:
    """Whether a size is nothing or 1, as where it has to be equal to more of itself."""
    size, sign, bound = part.partition("<=")
    return bool(sign) and size.strip().isidentifier() and bound.strip() == "1"


def is_pin(text: str) -> bool:
    return all(len(set(names_in(part))) == 1 for part in text.split("||"))


def is_divided(text: str) -> bool:
    """Whether quotients of sizes are made equal to something: several sizes fit, as where windows have to fill a picture."""
    return "//" in text


def is_view(step: Step) -> bool:
    return step.op.endswith((".view", ".reshape", ".unflatten"))


def is_product(text: str) -> bool:
    """Whether a condition makes several sizes together one number: `h * w == 784`."""
    return not is_pin(text) and any(part.rpartition("==")[2].strip().isdigit() for part in text.split("||"))


def numbers_in(line: str) -> Iterator[int]:
    yield from (
        int(part) for part in line.replace("[", " ").replace("]", " ").replace(",", " ").split() if part.isdigit()
    )
