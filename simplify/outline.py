"""A call whose sizes are too large to be worked out, to what is plain of its result: the rank, and sizes that it takes over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ..lang.node import replace
from ..ops.model import Out, Primitive, RankUnknown, TensorInfo
from ..ops.requirements import Requirement
from .known.values import AnyDType
from .rule_context import SymbolicCtx
from .solver.conditions import Cond
from .solver.sizes import single_var
from .solver.terms import Apart, Size, Term, TooLarge, ceildiv

_MOST = 3_000  # steps, which the rule takes whether the program has any left or not


def outline(row: Primitive, ctx: SymbolicCtx, arguments: list[Any]) -> tuple[Any, bool] | None:
    """What the rule gives where every size that is more than a name has a name of its own, and whether it asks anything of
    its operands; None where it gives nothing."""
    assert row.rule is not None
    plain = _Outline(ctx)
    try:
        with Apart(_MOST):
            result = row.rule(plain, *(plain.named(a) for a in arguments))
    except (RankUnknown, TooLarge):
        return None
    return plain.written(result), plain.asked


class _Outline(SymbolicCtx):
    """Answers nothing but what is plain, and notes whether it was asked for anything; whoever uses it leaves that open."""

    def __init__(self, ctx: SymbolicCtx) -> None:
        super().__init__(ctx.prover, ctx.frame, ctx.info)
        self.asked = False
        self._names: dict[Term, Term] = {}
        self._sizes_of: dict[Term, Term] = {}

    def named(self, argument: Any, is_dim: bool = False) -> Any:
        """An argument with a name for each size in it that has none."""
        if isinstance(argument, TensorInfo):
            shape = tuple(self.named(d, is_dim=True) for d in self.state.resolve(argument.shape))
            return replace(argument, shape=shape, data=None)
        if isinstance(argument, tuple):
            return tuple(self.named(a) for a in argument)
        if type(argument) is not Term or single_var(argument) is not None:
            return argument
        if argument not in self._names:
            name = self.state.size("?", nonneg=is_dim)
            self._names[argument], self._sizes_of[name] = name, argument
        return self._names[argument]

    def written(self, result: Any) -> Any:
        """A result with the sizes themselves for their names, and unknown ones for what was made of those."""
        if isinstance(result, Out):
            return Out(self.written(tuple(result.shape)))
        if isinstance(result, list | tuple):
            return type(result)(self.written(r) for r in result)
        if type(result) is not Term or single_var(result) is not None:
            return self._sizes_of.get(result, result) if type(result) is Term else result
        return self.fresh("size")

    def require(self, asked: Requirement, cond: Cond | None = None) -> None:
        self.asked = True

    def require_either(self, known: bool | None, asked: Any) -> None:
        self.asked = self.asked or known is not True

    def require_dtype(self, asked: Any) -> None:
        self.asked = True

    def leave_open(self, asked: Any) -> None:
        self.asked = True

    def fail(self, asked: Requirement) -> NoReturn:
        raise RankUnknown

    def needs_literal(self, asked: Requirement) -> NoReturn:
        raise RankUnknown

    def decide(self, cond: Cond) -> bool | None:
        return cond if isinstance(cond, bool) else None

    def common(self, *sizes: Size) -> Size:
        return sizes[0] if len(set(sizes)) == 1 else self.fresh("size")

    def min(self, *sizes: Size) -> Size:
        return self._extreme(min, sizes)

    def max(self, *sizes: Size) -> Size:
        return self._extreme(max, sizes)

    def _extreme(self, choose: Callable[[Iterable[int]], int], sizes: tuple[Size, ...]) -> Size:
        """Of sizes that are not numbers some size: to compare them is what takes long."""
        numbers = [size for size in sizes if isinstance(size, int)]
        if len(numbers) == len(sizes):
            return choose(numbers)
        return sizes[0] if len(set(sizes)) == 1 else self.fresh("size", None)

    def ceildiv(self, a: Size, b: Size) -> Size:
        return ceildiv(a, b) if isinstance(a, int) and isinstance(b, int) else self.fresh("size", None)

    def factor(self, product: Size, other: Size) -> Size:
        return self.fresh("size")

    def fresh(self, name: str, at_least: Size | None = 0, at_most: Size | None = None) -> Size:
        return super().fresh(name, 0 if at_least is not None else None)

    def fits(self, value: Size, dtype: AnyDType) -> bool:
        return False
