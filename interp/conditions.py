"""A primitive's preconditions as compiled tests: the shape rule runs once over texts for sizes, for all calls of one form.

The form of a call is all that a rule may read besides sizes: ranks, dtypes, attributes. If a rule needs more (a size as a
literal), calls of that form have no test. The element of a rank-0 tensor is a size like any other. Elements of longer tensors
mostly affect the result alone: the rule runs with and without them to find out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partialmethod
from typing import NoReturn

from ..ops.ground import GroundCtx, NeedsData, Violation, evaluate
from ..ops.holds import condition
from ..ops.model import TRACKED, WILDCARD, Primitive, PrimitiveParam, RankUnknown, TensorInfo
from ..ops.requirements import Requirement
from ..sizes.text import NoNumber, SizeText, text_of
from .dtypes import dtype_of
from .engine_types import DomainSize, DomainTruth, EngineDType, Namespace, RunValue

Test = Callable[..., bool]
Plain = Callable[[PrimitiveParam, RunValue], RunValue]
# The text of an element that a rule should not need, and the numbers of elements to try.
_ELEMENT = "?"
_LENGTHS = (0, 1, 2, 3, 5, TRACKED)
# The most paths that a rule may have, by the answers to its questions.
_MOST_WAYS = 8


class _Cond(str):
    """A condition as Python text."""

    def __bool__(self) -> bool:
        raise NoNumber


class _TextCtx(GroundCtx):
    """A rule's context that records the requirements. `answers` has the answers to the questions about sizes on the path
    taken; the answer to further questions is yes. None leaves all open, as in a static check that knows nothing."""

    def __init__(self, answers: list[bool] | None) -> None:
        self.answers, self.asked = answers, 0
        self.required: list[str] = []

    def require(self, asked: Requirement, cond: DomainTruth = None) -> None:
        cond = condition(asked, self) if cond is None else cond
        if isinstance(cond, _Cond):
            self.required.append(str(cond))
        elif not cond:
            raise Violation(asked)

    def decide(self, cond: DomainTruth) -> bool | None:  # type: ignore[override]
        if not isinstance(cond, _Cond):
            return bool(cond)
        self.asked += 1
        if self.answers is None:
            return None
        if self.asked > len(self.answers):
            self.answers.append(True)
        answer = self.answers[self.asked - 1]
        self.required.append(str(cond) if answer else f"(not {cond})")
        return answer

    def fresh(self, name: str, at_least: DomainSize = 0, at_most: DomainSize = None) -> NoReturn:
        if self.asked and self.answers is None:
            raise NoNumber  # the rule went on from an open answer
        raise NeedsData(name)

    def needs_literal(self, asked: Requirement) -> NoReturn:
        raise NoNumber

    def _compare(self, op: str, a: DomainSize, b: DomainSize) -> DomainTruth:
        if type(a) is int and type(b) is int:
            return {"==": a == b, "!=": a != b, "<=": a <= b, "<": a < b}[op]
        return _Cond(f"({text_of(a)} {op} {text_of(b)})")

    eq, ne = partialmethod(_compare, "=="), partialmethod(_compare, "!=")
    le, lt = partialmethod(_compare, "<="), partialmethod(_compare, "<")

    def any_of(self, *conds: DomainTruth) -> DomainTruth:
        left = [c for c in conds if isinstance(c, _Cond)]
        if any(c for c in conds if not isinstance(c, _Cond)):
            return True
        return _Cond(f"({' or '.join(left)})") if left else False

    def all_of(self, *conds: DomainTruth) -> DomainTruth:
        left = [c for c in conds if isinstance(c, _Cond)]
        if not all(c for c in conds if not isinstance(c, _Cond)):
            return False
        return _Cond(f"({' and '.join(left)})") if left else True

    def min(self, *sizes: DomainSize, name: str = "min") -> DomainSize:
        return sizes[0] if len(sizes) == 1 else SizeText(f"{name}({', '.join(map(text_of, sizes))})")

    def max(self, *sizes: DomainSize) -> DomainSize:
        return self.min(*sizes, name="max")

    def common(self, *sizes: DomainSize) -> DomainSize:
        return self.min(*sizes, name="common")

    def fits(self, value: RunValue, dtype: EngineDType) -> bool:
        return super().fits(value, dtype) if type(value) is int else False  # it affects `data` alone


def form_text(row: Primitive, names: Sequence[str], literals: Collection[int]) -> str:
    """The Python text of the form of a call with arguments of these names; `literals` are the places of literal numbers."""
    return ", ".join(
        f"type({name}), {name}" if i in literals else _form(param, name)
        for i, (param, name) in enumerate(zip(row.params, names, strict=True))
    )


def _form(param: PrimitiveParam, name: str) -> str:
    match param.kind:
        case "tensor" if param.required:
            return f"{name}.ndim, {name}.dtype"
        case "tensor":
            return f"{name} is None or ({name}.ndim, {name}.dtype)"
        case "tensors":
            return f"tuple([(x.ndim, x.dtype) for x in {name}])"
        case "index":
            return f"type({name}) is int or ({name}.ndim, {name}.dtype)"
        case "size":
            return f"{name} is None"
        case "sizes" | "shape" | "pairs":
            return f"None if {name} is None else len({name})"  # not True, which equals the length 1
        case "target":
            return f"tuple([x is WILDCARD for x in {name}])"
    return name


def make_test(row: Primitive, seen: Callable[[Plain], Mapping[str, RunValue]], plain: Plain) -> Test:
    """Compile the test of a form. `seen` gives the arguments as a rule takes them, each mapped by the function that it gets;
    `plain` maps arguments without sizes. Raises NoNumber if there is no test."""
    texts = _ConditionTexts(row, plain)
    condition = texts.condition(seen(texts.info))
    if texts.listed and _needs_elements(row, seen, plain, condition):
        short = " or ".join(f"{name}.size <= {TRACKED}" for name in texts.listed)
        texts.lines.insert(0, f" if {short}: return False")
    header = f"def test({', '.join(texts.names.values())}):"
    space: Namespace = {"common": GroundCtx().common}
    exec("\n".join([header, *texts.lines, f" return {condition}"]), space)
    made: Test = space["test"]
    return made


def _needs_elements(
    row: Primitive, seen: Callable[[Plain], Mapping[str, RunValue]], plain: Plain, condition: str
) -> bool:
    """Whether a rule's requirements depend on the elements of short tensors."""
    try:
        for length in _LENGTHS:
            texts = _ConditionTexts(row, plain, length)
            if texts.condition(seen(texts.info)) != condition:
                return True
    except NoNumber:
        return True
    return False


class _ConditionTexts:
    """The arguments of calls of one form, with texts for their sizes; tensors of sizes have `length` unknown elements, or
    none that a rule sees."""

    def __init__(self, row: Primitive, plain: Plain, length: int | None = None) -> None:
        self.row, self.plain, self.length = row, plain, length
        self.names = {p.name: f"a{i}" for i, p in enumerate(row.params)}
        self.lines: list[str] = []
        # Tensors of sizes.
        self.listed: list[str] = []

    def info(self, param: PrimitiveParam, value: RunValue) -> RunValue:
        """An argument as the rule takes it; one without sizes as `plain` gives it."""
        name = self.names[param.name]
        match param.kind:
            case "tensor" | "index" if hasattr(value, "dtype"):
                return self._tensor(value, name)
            case "tensors":
                return tuple(self._tensor(v, f"{name}[{i}]") for i, v in enumerate(value))
            case "index" | "size" if type(value) is int:
                return SizeText(name)
            case "sizes" | "shape" | "target" if value is not None:
                return tuple(WILDCARD if v is WILDCARD else SizeText(f"{name}[{i}]") for i, v in enumerate(value))
            case "pairs" if value is not None:
                return tuple((SizeText(f"{name}[{i}][0]"), SizeText(f"{name}[{i}][1]")) for i in range(len(value)))
        return self.plain(param, value)

    def _tensor(self, value: RunValue, name: str) -> TensorInfo:
        dtype = dtype_of(value.dtype)
        if dtype.of:
            raise NoNumber
        sizes = [f"s{len(self.lines)}_{i}" for i in range(value.ndim)]
        if sizes:
            self.lines.append(f" [{', '.join(sizes)}] = {name}.shape")
        data = self._elements(value.ndim, name) if dtype.kind in ("int", "uint") else None
        return TensorInfo(tuple(map(SizeText, sizes)), dtype, data)

    def _elements(self, rank: int, name: str) -> DomainSize:
        if rank == 0:
            return (SizeText(f"int({name})"),)
        if rank == 1:
            self.listed.append(name)
        return None if rank > 1 or self.length is None else (SizeText(_ELEMENT),) * self.length

    def condition(self, values: Mapping[str, RunValue]) -> str:
        """The requirements of the rule on arguments of this form."""
        try:
            return " or ".join(self._ways(values)) or "False"
        except NoNumber:
            return self._required(values, _TextCtx(None)) or "False"

    def _ways(self, values: Mapping[str, RunValue]) -> Iterator[str]:
        """The condition of each path through the rule, by the answers to its questions."""
        answers: list[bool] = []
        for _ in range(_MOST_WAYS):
            ctx = _TextCtx(answers)
            condition = self._required(values, ctx)
            if condition:
                yield condition
            del answers[ctx.asked :]
            while answers and not answers[-1]:
                answers.pop()
            if not answers:
                return
            answers[-1] = False
        raise NoNumber

    def _required(self, values: Mapping[str, RunValue], ctx: _TextCtx) -> str:
        """The requirements of the rule on one path; empty if that path ends in a refusal."""
        try:
            evaluate(self.row, values, ctx)
        except NeedsData:
            pass  # all requirements come before it
        except Violation:
            return ""
        except (RankUnknown, TypeError, ValueError, AttributeError) as problem:
            raise NoNumber from problem
        return f"({' and '.join(ctx.required) or 'True'})"
