"""Loops in gradients: the state before a turn is kept or computed again, and the turns run backwards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ..lang import core
from ..lang.core_printer import print_expr, print_sort, print_stmt
from ..lang.expressions import grouped
from ..lang.node import Node, replace
from ..lang.renaming import renamed
from ..lang.source import Placed
from ..lang.walk import walk
from .flat import Flat, joined, leaves, spelt, tensors

# The names of the cotangents of each name.
Handed = dict[str, list[str]]


class Backward(Protocol):
    """The writer of the lines around loops (backward.py)."""

    flat: Flat
    made: dict[str, str]

    def steps(
        self, stmts: Iterable[core.Stmt], active: set[str], keep: bool = False
    ) -> tuple[list[core.Stmt], list[core.Let]]: ...
    def reached(self, stmts: Iterable[core.Stmt], ends: Iterable[core.Value], active: set[str]) -> set[str]: ...
    def region(self, stmts: Iterable[core.Stmt], handed: Handed, active: set[str]) -> Handed: ...
    def whole(self, handed: Handed, name: str, at: Placed) -> str: ...
    def let(self, text: str, at: Placed) -> str: ...
    def say(self, text: str, at: Placed) -> None: ...


def changed_by_turns(back: Backward, loop: core.Loop, active: set[str]) -> tuple[set[str], list[bool]]:
    """Return the carries that depend on active names, and for each result of a turn whether it does."""
    hot = {c.name for c in loop.carries if tensors(c.init) & active}
    while True:
        inner = active | hot
        back.steps(loop.body.stmts, inner)
        ends = [isinstance(v, core.Var) and v.name in inner for v in leaves(loop.body.result)]
        more = {c.name for c, end in zip(loop.carries, ends, strict=False) if end} - hot
        if not more:
            return hot, ends
        hot |= more


def kept(back: Backward, let: core.Let, loop: core.Loop, active: set[str]) -> tuple[core.Let, KeptLoop]:
    """Return the statement with a loop that also returns what a gradient needs: the state before each turn, or the number of
    turns."""
    flat, span = back.flat, loop.span
    hot, _ = changed_by_turns(back, loop, active)
    ends = tuple(leaves(loop.body.result))
    parts = len(loop.carries)
    count, was = None, {}
    made = loop
    if _keeps_shapes(loop):
        read = spelt(*loop.body.stmts, *ends)
        was = {c.name: flat.bind("was''") for c in loop.carries if c.name in read}
        stacked = tuple(core.Stacked(span, name, (), None) for name in was.values())
        result = joined(loop, (*ends, *(core.Var(span, n) for n in was)))
        made = replace(loop, stacked=(*loop.stacked, *stacked), body=replace(loop.body, result=result))
        names = (*let.names, *was.values())
    elif loop.range is None or loop.cond is not None:
        count = flat.bind("turns''", core.SIZE)
        inner = core.SizeVar(span, flat.bind("turn''", core.SIZE))
        carry = core.Carry(span, inner.name, core.SIZE, core.SizeLit(span, 0))
        more = core.operation(span, "+", inner, core.SizeLit(span, 1))
        result = joined(loop, (*ends[:parts], more, *ends[parts:]))
        made = replace(loop, carries=(*loop.carries, carry), body=replace(loop.body, result=result))
        names = (*let.names[:parts], count, *let.names[parts:])
    else:
        names = let.names
    plan = KeptLoop(loop, let.names, was, count, frozenset(hot), frozenset(active))
    sorts = tuple(flat.sorts[n] for n in names)
    if len(names) == 1:
        return replace(let, value=made), plan
    told = core.TupleSort(sorts) if any(s != core.TENSOR for s in sorts) else None
    return replace(let, names=names, is_tuple=True, sort=told, value=made), plan


def _keeps_shapes(loop: core.Loop) -> bool:
    """Whether the loop runs over a range to its end, and all its carries are tensors that keep their shapes."""
    if loop.range is None or loop.cond is not None or any(c.sort != core.TENSOR for c in loop.carries):
        return False
    turning = {c.name for c in loop.carries} | {loop.index}
    told: dict[str, set[int | None]] = {}
    ranks: dict[str, int] = {}
    for inv in loop.invariant:
        match inv.cond:
            case core.Compare(op="==", left=left, right=right) if not spelt(right) & turning:
                match left, right:
                    case core.ShapeOf(tensor=name), _:
                        told.setdefault(name, set()).add(None)
                    case core.DimOf(tensor=name, axis=axis), _:
                        told.setdefault(name, set()).add(axis)
                    case core.RankOf(tensor=name), core.SizeLit(value=rank):
                        ranks[name] = rank
    return all(
        None in told.get(c.name, ()) or (c.name in ranks and told.get(c.name, set()) >= set(range(ranks[c.name])))
        for c in loop.carries
    )


class KeptLoop(Node):
    """The original loop, the names of its results and of the carries' stacked values before each turn (`was`, by carry) or of
    the number of turns (`count`), the carries that depend on active names, and the active names outside."""

    loop: core.Loop
    names: tuple[str, ...]
    was: dict[str, str]
    count: str | None
    hot: frozenset[str]
    active: frozenset[str]

    def back(self, back: Backward, let: core.Let, handed: Handed, active: set[str]) -> None:
        """Write the turns from the last one to the first, and add the cotangents of the loop's operands."""
        loop, flat = self.loop, back.flat
        ends = tuple(leaves(loop.body.result))
        carries = {c.name: (c, end, name) for c, end, name in zip(loop.carries, ends, self.names, strict=False)}
        hot = [carries[c.name] for c in loop.carries if c.name in self.hot]
        stacks = [(e, n) for e, n in list(zip(ends, self.names, strict=True))[len(loop.carries) :] if n in handed]
        asked = [end for _, end, _ in hot] + [e for e, _ in stacks]
        reached = back.reached(loop.body.stmts, asked, set(self.active | self.hot))
        captured = [n for n in flat.sorts if n in reached & self.active]
        firsts = [(end, back.whole(handed, name, loop)) for _, end, name in hot]
        stacked = [(end, back.whole(handed, name, loop)) for end, name in stacks]
        results = self._loop_back(back, [c.name for c, _, _ in hot], firsts, stacked, captured)
        for (c, _, _), g in zip(hot, results, strict=False):
            if isinstance(c.init, core.Var) and c.init.name in active:
                handed.setdefault(c.init.name, []).append(g)
        for n, g in zip(captured, results[len(hot) :], strict=True):
            handed.setdefault(n, []).append(g)

    def _loop_back(
        self,
        back: Backward,
        hot: list[str],
        firsts: list[tuple[core.Value, str]],
        stacked: list[tuple[core.Value, str]],
        captured: list[str],
    ) -> list[str]:
        """Write the loop, and return the names of its results: the cotangents of the initial carries and of the captured
        names."""
        loop, flat, total = self.loop, back.flat, self._turns(back)
        at = flat.fresh("turn''")
        given, sums = [[flat.bind("g''") for _ in names] for names in (hot, captured)]
        starts = [*(g for _, g in firsts), *(back.let(f"@zeros({n}.shape, {n}.dtype)", loop) for n in captured)]
        bare = "" if _keeps_shapes(loop) else " : Tensor"
        held = [f"{n}{bare if n in given else ''} = {s}" for n, s in zip((*given, *sums), starts, strict=True)]
        told = [t for c, g in zip(hot, given, strict=True) for t in self._told(c, g, total, at)] if bare else []
        clause = f" where {', '.join(told)}" if told else ""
        results = [flat.bind("g''") for _ in held]
        back.say(f"let {grouped(results)} = for {at} in range({total}) with ({', '.join(held)}){clause} {{", loop)
        place = f"{total} - 1 - {at}"
        around, back.made = back.made, dict(back.made)
        self._begin(back, place)
        inside: Handed = {}
        handed = [(end, g) for (end, _), g in zip(firsts, given, strict=True) if isinstance(end, core.Var)]
        handed += [(e, back.let(f"@take({g}, {place}, axis=0)", loop)) for e, g in stacked if isinstance(e, core.Var)]
        for end, g in handed:
            inside.setdefault(end.name, []).append(g)
        got = back.region(loop.body.stmts, inside, set(self.active | self.hot))
        made = [back.whole(got, name, loop) if name in got or bare else back.let(f"@zeros_like({g})", loop)
                for name, g in zip(hot, given, strict=True)]  # fmt: skip
        for name, added in zip(captured, sums, strict=True):
            made.append(back.let(f"{added} + {back.whole(got, name, loop)}", loop) if name in got else added)
        back.say(f"{grouped(made)}\n}}", loop)
        back.made = around
        return results

    def _turns(self, back: Backward) -> str:
        """Return the name of the number of turns."""
        if self.count is not None:
            return self.count
        assert self.loop.range is not None
        start, stop, step = (print_expr(s) for s in (self.loop.range.start, self.loop.range.stop, self.loop.range.step))
        total = back.flat.bind("turns''", core.SIZE)
        back.say(f"let {total} : Size = max(0, ceildiv({stop} - ({start}), {step}))", self.loop)
        return total

    def _index(self, turn: str) -> core.SizeExpr:
        """Return the loop's index in the turn with this number, counted from 0."""
        assert self.loop.range is not None
        span, range_ = self.loop.span, self.loop.range
        steps = core.operation(span, "*", core.SizeVar(span, f"({turn})"), range_.step)
        return core.operation(span, "+", range_.start, steps)

    def _told(self, name: str, called: str, total: str, at: str) -> list[str]:
        """Return the invariant's conditions on a carry, as conditions on its cotangent."""
        others = {c.name for c in self.loop.carries} - {name}
        conds = [i.cond for i in self.loop.invariant]
        own = [c for c in conds if name in spelt(*walk(c)) and not spelt(*walk(c)) & others]
        return [print_expr(c) for c in self._renamed(own, {name: core.Var(self.loop.span, called)}, f"{total} - {at}")]

    def _renamed(self, conds: list[core.BoolExpr], names: dict[str, core.Value], turn: str) -> list[core.BoolExpr]:
        if self.loop.index is not None:
            names = names | {self.loop.index: self._index(turn)}
        return [renamed(c, names) for c in conds]

    def _begin(self, back: Backward, turn: str) -> None:
        """Bind the loop's names in a turn: its index and its carries."""
        loop = self.loop
        for name, stacked in self.was.items():
            back.say(f"let {name} = @take({stacked}, {turn}, axis=0)", loop)
        if not _keeps_shapes(loop):
            self._again(back, turn)
        if loop.index is not None:
            back.say(f"let {loop.index} : Size = {print_expr(self._index(turn))}", loop)

    def _again(self, back: Backward, turn: str) -> None:
        """Run the turns before one again."""
        loop, at = self.loop, back.flat.fresh("turn''")
        names = [c.name for c in loop.carries]
        held = ", ".join(f"{c.name} : {print_sort(c.sort)} = {print_expr(c.init)}" for c in loop.carries)
        where = [print_expr(c) for c in self._renamed([i.cond for i in loop.invariant], {}, at)]
        clause = f" where {', '.join(where)}" if where else ""
        sorts = [print_sort(c.sort) for c in loop.carries]
        told = f" : {grouped(sorts)}" if set(sorts) != {"Tensor"} else ""
        back.say(f"let {grouped(names)}{told} = for {at} in range({turn}) with ({held}){clause} {{", loop)
        if loop.index is not None:
            back.say(f"let {loop.index} : Size = {print_expr(self._index(at))}", loop)
        for stmt in loop.body.stmts:
            back.say(print_stmt(stmt), stmt)
        back.say(grouped([print_expr(v) for v in tuple(leaves(loop.body.result))[: len(names)]]), loop)
        back.say("}", loop)
