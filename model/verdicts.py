"""Sorts the conditions of traced code into its contract and its mistakes, by the origin of the other number."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import takewhile
from math import prod

from ..frontends.torch.run import Step
from ..lang import codes
from ..lang.checked import Checked, EntryCondition, UndecidedCheck
from ..lang.diagnostics import Diagnostic, error, warning
from ..lang.expressions import names_in
from ..ops.model import Trait
from ..ops.registry import lookup
from ..simplify.solver.numbers import holds_at
from ..simplify.solver.prove import prove
from .contract import conditions_of, failed
from .replay import Unanswered, failure_at
from .told import Told, using

# Layers whose weights have an axis for each purpose, even where sizes are equal.
_LAYERS = (".linear", ".conv1d", ".conv2d", ".conv3d")
_TORCH_ASKS = ("branch", "stated")  # origins of conditions in torch's modules
_MOVING = (".transpose", ".permute", ".movedim", ".moveaxis", ".swapaxes", ".swapdims", ".mT", ".T", ".t", ".rearrange")


class Verdicts:
    """The mistakes in traced code that some sizes survive. Conditions in `cases` only select a path; they are no mistakes,
    and in a contract of `all_paths` they are not reported at all."""

    def __init__(self, told: Told, cases: Container[str] = (), *, all_paths: bool = False) -> None:
        self.told, self.trace, self.cases, self.all_paths = told, told.trace, cases, all_paths
        self.known: list[str] = []  # conditions that the code states
        self.wrong: list[int] = []  # lines of the program with reported errors

    def of(self, checked: Checked, strict: bool) -> Iterator[Diagnostic]:
        """The mistakes that some sizes survive: sizes of one input that are tied, and sizes that are pinned. Consequences of
        a reported error are left out."""
        told: list[str] = []
        self.known = [c.text for c in conditions_of(checked).conditions if self._is_stated(c)]
        lines: set[tuple[str, int, bool]] = set()  # one report for each mistake
        for condition in conditions_of(checked).conditions:
            view = self._written(condition)
            found = (
                error
                if view is not None
                else None
                if condition.text in self.cases
                else self._verdict(checked, condition)
            )
            if found is error and (self._follows(told, condition) or self._uses_wrong(condition)):
                continue
            told += [condition.text] if found is error else []
            is_case = self.all_paths and condition.text in self.cases
            found = error if strict and not is_case and not self._is_declared(condition) else found
            if found is not None and condition.asked:
                said = self._diagnostic(found, checked, condition, view)
                line = said.span.source.name, said.span.line
                if strict or (*line, True) not in lines and (*line, found is error) not in lines:
                    yield said
                lines.add((*line, found is error))
                self.wrong += [condition.asked[0].place.line] if found is error else []

    def _uses_wrong(self, condition: EntryCondition) -> bool:
        """Whether a condition is imposed only in lines that use the results of wrong ones."""
        lines = {asked.place.line for asked in condition.asked}
        return bool(self.wrong) and bool(lines) and lines <= using(self.trace, set(self.wrong))

    def _first(self, checked: Checked, condition: EntryCondition) -> tuple[UndecidedCheck, tuple[str, ...]]:
        """The check that fails first where a condition does not hold for tensors of several elements, and a note with the
        sizes."""
        if holds_at(condition.text, self.trace.hints) is False:
            own = self._failing(checked, condition, self.trace.hints)
            if own is not None and not own[1]:
                return own
        large = [f"{name} >= {hint}" for name, hint in self.trace.hints.items()]
        small = [f"{name} {bound}" for name in self.trace.hints for bound in (">= 2", "<= 9")]
        others = [c.text for c in conditions_of(checked).conditions if c is not condition]
        found = [self._before(checked, condition, [*others, *sizes]) for sizes in (large, small)]
        return found[1] if found[0] is not None and found[1] is not None else (condition.asked[0], ())

    def _before(
        self, checked: Checked, condition: EntryCondition, facts: Sequence[str]
    ) -> tuple[UndecidedCheck, tuple[str, ...]] | None:
        """An earlier check that fails at sizes that satisfy `facts` and break the condition."""
        answer = prove(facts, condition.text)
        answer = prove(facts, "nothing_else == 0") if answer["result"] == "unsat" else answer
        return self._failing(checked, condition, answer["witness"]) if "witness" in answer else None

    def _failing(
        self, checked: Checked, condition: EntryCondition, sizes: Mapping[str, int]
    ) -> tuple[UndecidedCheck, tuple[str, ...]] | None:
        """The check that fails first at some sizes: one of the condition's, or an earlier one, with a note of the sizes."""
        point = {**self.trace.hints, **sizes}
        with suppress(Unanswered):
            said = failure_at(checked, self.told.params, point)
            if said is None:
                return None
            own = [a for a in condition.asked if self._is_beside(a.place.line, said.span.line)]
            if own:
                return own[0], ()
            step = self.told.step(said.span.line)
            if step is not None and step.kind == "call" and said.span.line < condition.asked[0].place.line:
                return failed(said), (f"with {', '.join(f'{n} = {point[n]}' for n in self.trace.hints)}",)
        return None

    def _is_beside(self, line: int, other: int) -> bool:
        """Whether two lines of the program are one, or impose the same memory layout at one place."""
        one, two = self.told.step(line), self.told.step(other)
        return line == other or one is not None and one == two and one.kind == "memory"

    def _diagnostic(
        self, found: Callable[..., Diagnostic], checked: Checked, condition: EntryCondition, view: Step | None
    ) -> Diagnostic:
        asked, notes = self._first(checked, condition) if view is None else (condition.asked[0], ())
        step = view or self.told.step(asked.place.line)
        needs = self.told.words(asked.needs, step) if step else asked.needs
        if step is not None and step.kind in ("branch", "operation") and step.op:
            needs = f"{step.op.replace('torch.Tensor.', 'Tensor.')} does otherwise for other sizes, which fails"
        if step is not None and step.kind == "stated" and step.op:
            needs = f"{step.op} raises for other sizes"
        if view is not None:
            needs = f"{view.op.replace('torch.Tensor.', 'Tensor.')} writes a number for `{condition.sizes[0]}`"
        needs = needs or f"{step.op if step else 'this'} needs sizes that fit"
        code = codes.W311 if found is warning else codes.E305
        said, at = f"{needs}: holds only if {condition.text}", self.told.span(step.place if step else None)
        copy = self.told.with_copy(step) if step is not None else {}
        return found(code, said, at, function=step and step.module or None, notes=notes, **copy)

    def _is_declared(self, condition: EntryCondition) -> bool:
        """Whether the code states a condition, by an assertion or by raising."""
        steps = [self.told.step(asked.place.line) for asked in condition.asked]
        return any(step is not None and step.kind == "stated" for step in steps)

    def _follows(self, told: list[str], condition: EntryCondition) -> bool:
        """Whether other conditions imply this one for tensors that are not empty."""
        nonempty = [f"{name} >= 1" for name in self.trace.hints]
        return bool(told) and prove([*told, *nonempty], condition.text)["result"] in ("valid", "vacuous")

    def _verdict(self, checked: Checked, condition: EntryCondition) -> Callable[..., Diagnostic] | None:
        """An error, a warning, or None if the condition only belongs in the contract."""
        steps = [s for s in (self.told.step(a.place.line) for a in condition.asked) if s is not None]
        if self._is_stated(condition):
            return None
        if any(s.kind == "memory" for s in steps):
            return error
        if not is_tie(condition.text):
            return self._of_bound(condition)
        if any(s.kind == "result" for s in steps):
            return error
        if is_of_quotients(condition):
            return None
        if any(self._is_fixed(line, condition) for line in self._deciding(checked, condition)):
            return warning if any(self._is_elsewhere(a.place.line, condition) for a in condition.asked) else None
        if is_divided(condition.text) and all(is_view(s) for s in steps):
            is_written = any(self._is_replaced(a.place.line, condition) for a in condition.asked)
            return error if is_written else None
        if any(prove([condition.text], tie)["result"] == "valid" for tie in self._ties):
            return None
        return error if len(self._owners(condition.sizes)) < 2 or is_pin(condition.text) else warning

    def _deciding(self, checked: Checked, condition: EntryCondition) -> list[int]:
        """The lines that impose a condition; of several, the one that fails first for tensors of several elements."""
        lines = [asked.place.line for asked in condition.asked]
        return [self._first(checked, condition)[0].place.line] if len(set(lines)) > 1 else lines

    def _is_fixed(self, line: int, condition: EntryCondition) -> bool:
        """Whether a parameter, buffer or constant decides, whose sizes are numbers: as an operand of a line, or after a view
        whose number is one of its sizes."""
        if any(name in self.trace.fixed for name in self._operands(line)):
            return any(n != "1" for part in condition.text.split("||") for n in numerals(part))
        step = self.told.step(line)
        if step is None or not is_view(step) or not is_product(condition.text):
            return False
        if all(part.rpartition("==")[2].strip() == "1" for part in condition.text.split("||")):
            return False
        sizes = {size for shape in self.trace.fixed.values() for size in shape if size > 1}
        own = {int(size) for size in self._shape(self._view(line)[0]) if size.isdigit()}  # unchanged sizes
        return bool(sizes & (set(numbers_in(self._lines[line - 1])) - own))

    def _of_bound(self, condition: EntryCondition) -> Callable[..., Diagnostic] | None:
        """An error for an upper bound between two activations, without a table of that length: it fits where one of them is
        1, or where nothing is cut. A warning for a view that needs a multiple of a number unrelated to its operand's."""
        lines = [a.place.line for a in condition.asked]
        if lines and (is_bound(condition.text) or self._leaves_one(condition)):
            steps = [self.told.step(line) for line in lines]
            operands = [self._operands(line) for line in lines]
            of_model = any(name in self._made for line in operands for name in line)
            is_of_one = all(len(line) < 2 for line in operands)
            return (
                None if of_model or is_of_one or not all(s is not None and s.kind == "call" for s in steps) else error
            )
        return warning if "%" in condition.text and any(map(self._is_uneven, lines)) else None

    def _leaves_one(self, condition: EntryCondition) -> bool:
        """Whether a condition on several sizes, with those that the code states, leaves one of them at most 1."""
        facts = [*self.known, condition.text]
        is_of_several = "<=" in condition.text and len(condition.sizes) > 1 and bool(self.known)
        return is_of_several and any(prove(facts, f"{n} <= 1")["result"] == "valid" for n in condition.sizes)

    def _operands(self, line: int) -> list[str]:
        """The tensors that a line of the program names."""
        _, _, call = self._lines[line - 1].partition(" = ")
        step, after = self.told.step(line), self.told.step(line + 1)
        if step is not None and step.op.endswith("__setitem__") and after is not None and after.place == step.place:
            call += self._lines[line].partition(" = ")[2]  # the value that is written
        return [name for name in names_in(call) if name in self.trace.types]

    @cached_property
    def _lines(self) -> list[str]:
        return self.trace.text.splitlines()

    @cached_property
    def _made(self) -> set[str]:
        """Values made of parameters, buffers, constants and sizes alone."""
        found = set(self.trace.fixed)
        for number, line in enumerate(self._lines, 1):
            name, operands = line.partition(" = ")[0].strip().removeprefix("let "), self._operands(number)
            if found.issuperset(operands):
                found.add(name.partition(" :")[0])
        return found

    @cached_property
    def _ties(self) -> list[str]:
        """Equations that hold where a line broadcasts an activation with a parameter, buffer or constant: a table of biases
        fixes a size, and with it all later lines."""
        found = []
        for number, line in enumerate(self._lines, 1):
            row, operands = lookup(line.partition("@")[2].partition("(")[0]), self._operands(number)
            if row is not None and Trait.BROADCASTS in row.traits and len(operands) == 2:
                for fixed, other in (operands, operands[::-1]):
                    own = [*map(str, self.trace.fixed[fixed])] if fixed in self.trace.fixed else self._shape(fixed)
                    pairs = zip(reversed(own), reversed(self._shape(other)), strict=False)
                    is_of_model = fixed in self._made and other not in self._made
                    found += [
                        f"{b} == {a}" for a, b in pairs if is_of_model and a.isdigit() and a != "1" and names_in(b)
                    ]
        return list(dict.fromkeys(found))

    def _is_elsewhere(self, line: int, condition: EntryCondition) -> bool:
        """Whether the operand beside a parameter has the wanted size on another axis, as if a transpose were missing."""
        step, parts = self.told.step(line), [part.rpartition("==") for part in condition.text.split("||")]
        wanted = next((right.strip() for _, sign, right in parts if sign and right.strip() not in ("0", "1")), "")
        shapes = [self.trace.fixed[name] for name in self._operands(line) if name in self.trace.fixed]
        is_of_layer = step is not None and step.op.endswith(_LAYERS)
        if not any(wanted in map(str, s) and (is_of_layer or len({*s}) == len(s)) for s in shapes):
            return False
        others = [self._shape(n) for n in self._operands(line) if n not in self._made and not self._is_moved(n)]
        own = set(condition.sizes)
        return any(wanted in s and any(names_in(d) and own.issuperset(names_in(d)) for d in s) for s in others)

    def _is_moved(self, name: str) -> bool:
        """Whether the code moved the axes of a tensor just before: then their order is intended."""
        starts = (f"let {name} =", f"let {name} :")
        lines = (n for n, text in enumerate(self._lines, 1) if text.strip().startswith(starts))
        step = self.told.step(next(lines, 0))
        return step is not None and step.op.endswith(_MOVING)

    def _shape(self, name: str) -> list[str]:
        """The sizes of a tensor in the program."""
        inside = self.trace.types.get(name, "").partition("[")[2].rpartition("]")[0]
        return [size.strip() for size in inside.split(",")] if inside else []

    def _is_replaced(self, line: int, condition: EntryCondition) -> bool:
        """Whether a view writes a number in place of a size of its operand, and that size nowhere else."""
        viewed, target = self._view(line)
        pairs = zip(self._shape(viewed), target, strict=False)
        found = [size for size, written in pairs if size in condition.sizes and written.isdigit() and written != "1"]
        return any(size not in names_in(*target) for size in found) and bool(names_in(*target))

    def _is_uneven(self, line: int) -> bool:
        """Whether a view with -1 ends in numbers whose product neither divides that of its operand's last numbers nor is a
        multiple of it."""
        viewed, target = self._view(line)
        own, wanted = (_product(sizes) for sizes in (self._shape(viewed), target))
        return "-1" in target[:1] and wanted > 0 and own % wanted != 0 and wanted % own != 0

    def _view(self, line: int) -> tuple[str, list[str]]:
        """The operand of a view, and the sizes that it writes."""
        _, _, call = self._lines[line - 1].partition("@reshape(")
        viewed, _, target = call.partition(", [")
        return viewed.strip(), [size.strip() for size in target.rpartition("]")[0].split(",")]

    def _is_stated(self, condition: EntryCondition) -> bool:
        """Whether the code itself imposes a condition."""
        steps = [self.told.step(a.place.line) for a in condition.asked]
        by_torch = not is_pin(condition.text)  # on two sizes, as torch's modules compare them
        kinds = {"" if s.kind in _TORCH_ASKS and s.op and by_torch else s.kind for s in steps if s is not None}
        return not kinds.isdisjoint(("stated", "branch", "number"))

    def _written(self, condition: EntryCondition) -> Step | None:
        """The earlier view that writes a number in place of a size that is pinned to it: later lines only reveal the
        mistake."""
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
        """The sizes of a view's operand, each with the one that the target writes there, if it has a -1."""
        viewed, target = self._view(line)
        if "-1" in target:
            yield from zip(self._shape(viewed), target, strict=False)

    def _owners(self, sizes: Iterable[str]) -> set[str]:
        """The inputs that own some sizes: a single one if it has them all."""
        wanted = set(sizes)
        held = {size: {i.name for i in self.trace.inputs if size in i.shape} for size in wanted}
        owners = [held[size] or {size} for size in wanted]  # a size may itself be an argument
        common = set.intersection(*owners) if owners else set()
        return {min(common)} if common else set().union(*owners)


def is_tie(text: str) -> bool:
    """Whether a condition equates sizes, or a size with a number; divisibility does not count."""
    return all(("==" in part and "%" not in part) or is_small(part) for part in text.split("||"))


def is_bound(text: str) -> bool:
    """Whether a size has an upper bound that is a number."""
    size, sign, bound = text.partition("<=")
    return bool(sign) and size.strip().isidentifier() and bound.strip().isdigit()


def is_small(part: str) -> bool:
    """Whether a size is at most 1, as where it must equal a multiple of itself."""
    size, sign, bound = part.partition("<=")
    return bool(sign) and size.strip().isidentifier() and bound.strip() == "1"


def is_pin(text: str) -> bool:
    return all(len(set(names_in(part))) == 1 for part in text.split("||"))


def is_divided(text: str) -> bool:
    """Whether a condition is on quotients of sizes: several sizes fit, as where windows must fill a picture."""
    return "//" in text


def is_of_quotients(condition: EntryCondition) -> bool:
    """Whether a condition on quotients holds for all multiples of 64."""
    even = (f"{name} % 64 == 0 && {name} >= 1" for name in condition.sizes)
    return is_divided(condition.text) and prove(list(even), condition.text)["result"] == "valid"


def is_view(step: Step) -> bool:
    return step.op.endswith((".view", ".reshape", ".unflatten"))


def is_product(text: str) -> bool:
    """Whether a condition fixes several sizes together to one number: `h * w == 784`."""
    return not is_pin(text) and any(part.rpartition("==")[2].strip().isdigit() for part in text.split("||"))


def numerals(text: str) -> list[str]:
    return [part for part in text.replace("(", " ").replace(")", " ").split() if part.isdigit()]


def _product(sizes: Sequence[str]) -> int:
    """The product of the numbers at the end."""
    return prod(map(int, takewhile(str.isdigit, reversed(sizes))))


def numbers_in(line: str) -> Iterator[int]:
    yield from (
        int(part) for part in line.replace("[", " ").replace("]", " ").replace(",", " ").split() if part.isdigit()
    )
