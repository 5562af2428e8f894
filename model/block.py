"""A contract as lines of text: for each size its values and the reason, then inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, takewhile
from textwrap import wrap
from typing import NamedTuple

from ..lang.cells import ELLIPSIS, columns, shown
from ..lang.expressions import names_in, renamed
from ..lang.listing import shape_text
from ..lang.summary import plural
from ..simplify.solver.numbers import holds_at
from .accepted import Accepted, AcceptedSizes, Tied, box_of, outside_of, sizes_of
from .contract import SIZE, Clause, Contract, Demand, Typed

WIDTH = 120
MOST = 21
# Widest names and sets before the reasons; width of the reason that is kept before the failing size.
_NAMES, _SETS, _LEAST = 24, 44, 18
# Least number of lines for the sizes, most lines for inputs or outputs; columns that are shown of a node's name.
_FEWEST, _MOST_VALUES, _NODE = 4, 3, 40
# Longer names are not repeated in their lines.
_SHORT = 10
# The smallest size that fails is searched among this many.
_MOST_TRIED = 4_096
NOT_EMPTY = "from 1"
# The text for sizes that are restricted only jointly with others.
AS_ALLOWED = "any that the lines above allow"
# A blank that allows no line break.
_KEPT = "\N{NO-BREAK SPACE}"


def block(name: str, contract: Contract, width: int = WIDTH, room: int = MOST, more: str = "--reasons") -> list[str]:
    """The contract on at most `room` lines of at most `width` columns; `more` is the flag that shows the rest."""
    found = sizes_of(contract)
    where = f", where {', '.join(contract.given)}" if contract.given else ""
    below = [*_values("takes", contract.inputs, width), *_values("gives", contract.outputs, width)]
    below += [_cut(f"  {line}", width) for line in (*_remarks(contract, found, more), *_boxed(contract, found))]
    table = _table(_rows(found, contract), width, max(room - len(below) - 1, _FEWEST), more)
    return [shown(line) for line in (_cut(f"{name} accepts{where}", width), *table, *below)]


class BlockRow(NamedTuple):
    """A row of the table: its sizes' names, the accepted values, the reason, and the sizes that fail."""

    about: str
    sizes: str
    reason: str = ""
    fails: str = ""


def _rows(found: AcceptedSizes, contract: Contract) -> list[BlockRow]:
    """The sizes with a condition of their own, in the order of the inputs, then conditions on several sizes. Unrestricted
    sizes share a row, and so do those that may be any but 0."""
    sets, tied = (*found.single, *found.own), [name for one in found.tied for name in one.names]
    why = _Reasons([*(one.name for one in sets), *tied])
    rows = [why.of_set(one) for one in sets if one in found.own or not _is_free(one)]
    rows += map(why.of_tied, found.tied)
    rows += [
        BlockRow(r.input, f"elements {r.least} to {r.most}", why.text([r.demand], r.input)) for r in contract.ranges
    ]
    for text in ("any", NOT_EMPTY):
        names = [one.name for one in found.single if _is_free(one) and one.text == text]
        rows += [BlockRow(", ".join(names), text)] if names else []
    rest = [name for name in dict.fromkeys(tied) if name not in {one.name for one in found.own}]
    rows += [BlockRow(", ".join(rest), AS_ALLOWED)] if rest else []
    return rows


def _is_free(one: Accepted) -> bool:
    return one.sizes.is_all or one.text == NOT_EMPTY


class _Reasons:
    """The reasons for restricted sizes; a repeated reason refers to the size that had it first."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        self.said: dict[tuple[str, str], str] = {}

    def of_set(self, one: Accepted) -> BlockRow:
        name, least = _short(one.name), one.sizes.parts[0].first - 1 if one.sizes.parts else 0
        outside = (n for n in (_first_outside(one), least) if any(_may_break(c, one.name, n) for c in one.clauses))
        fails = next(outside, None)  # without clauses, only the given sizes restrict it
        broken = [c for c in one.clauses if fails is not None and holds_at(c.condition, {one.name: fails}) is False]
        reason = self.text(_demands([*broken, *one.clauses]), one.name)
        count = len({d.node for c in one.clauses for d in c.demands})
        others = f" ({plural(count, 'reason')})" if count > 1 else ""
        text = "" if fails is None else f"fails at {_equal(one.name, fails)}"
        return BlockRow(one.name, one.sizes.said(name), reason + others, text)

    def of_tied(self, tied: Tied) -> BlockRow:
        witness = tied.clause.witness or {}
        fails = ", ".join(_equal(name, witness[name]) for name in tied.names if name in witness)
        reason = self.text(_demands([tied.clause]), tied.names[0])
        return BlockRow(", ".join(tied.names), tied.text, reason, f"fails at {fails}" if fails else "")

    def text(self, demands: Sequence[Demand], name: str) -> str:
        """The reason of a size: the demand that names it best, or a reference to an equal one."""
        best = min((d for d in demands if d.gist or d.needs), key=lambda d: self.off(d, name), default=None)
        if best is None:
            return ""
        words = best.gist or best.needs
        keys = [(best.node, words), (best.node, renamed(words, {name: "_"}))]
        before = next((self.said[key] for key in keys if key in self.said), None)
        self.said.update(dict.fromkeys(keys, before or name))
        return _demand(best) if before is None else f"as {before}"

    def off(self, demand: Demand, name: str) -> int:
        """The distance of a reason from a size, to rank reasons by."""
        names = self.names.intersection(names_in(demand.gist))
        return 0 if name in names or (demand.gist and not names) else 2 if demand.gist else 1


def _may_break(clause: Clause, name: str, size: int) -> bool:
    return size >= 0 and holds_at(clause.condition, {name: size}) is not True


def _demands(clauses: Iterable[Clause]) -> list[Demand]:
    return [d for clause in clauses for d in (*clause.demands, *((clause.fails,) if clause.fails else ()))]


def _short(name: str) -> str:
    """A name to repeat in its line, unless it is long."""
    return name if len(name) <= _SHORT else ""


def _equal(name: str, size: int) -> str:
    return f"{name} = {size}" if _short(name) else str(size)


def _first_outside(one: Accepted) -> int:
    """The smallest size above an accepted one that is not accepted, else the largest below them."""
    parts = one.sizes.parts
    if not parts:
        return 1
    if len(parts) == 1 and parts[0].last is None and parts[0].modulus == 1:
        return parts[0].first - 1
    starts = [part.first for part in parts if part.first] or [0]
    tried = (n for start in starts for n in range(start, start + _MOST_TRIED))
    ends = [part.last + 1 for part in parts if part.last is not None and part.last + 1 not in one.sizes]
    return next((n for n in tried if n not in one.sizes), min(ends, default=max(starts[0] - 1, 0)))


def _demand(demand: Demand) -> str:
    """The node, its place in the source, and the reason."""
    node = demand.node if len(demand.node) <= _NODE else f"node {ELLIPSIS}{demand.node[5 - _NODE :]}"
    place = [] if demand.trace in (None, demand.node) else [str(demand.trace).partition(", in ")[0].rpartition("/")[2]]
    return f"{', '.join(dict.fromkeys([node, *place]))}: {demand.gist or demand.needs}"


def _table(rows: Sequence[BlockRow], width: int, room: int, more: str) -> Iterator[str]:
    """Rows in columns, on at most `room` lines."""
    names = min(max((columns(row.about) for row in rows), default=0), _NAMES)
    sets = min(max((columns(row.sizes) for row in rows if row.reason), default=0), _SETS)
    made = [_row(row, names, sets, width) for row in rows]
    if sum(map(len, made)) <= room:
        yield from chain.from_iterable(made)
        return
    kept = takewhile(lambda count: count < room, accumulate(map(len, made)))
    count = len(list(kept))
    yield from chain.from_iterable(made[:count])
    yield f"  and {len(rows) - count} more: {more}"


def _row(row: BlockRow, names: int, sets: int, width: int) -> list[str]:
    """A row; a reason that does not fit beside the sizes goes below them."""
    indent = " " * (names + 5)
    line = f"  {row.about:<{names}}   {row.sizes:<{sets}}" if row.reason else f"  {row.about:<{names}}   {row.sizes}"
    room = width - columns(line) - 3
    if not row.reason:
        return _wrapped(line, width, indent)
    if room >= columns(row.reason) + columns(row.fails) + 2:
        return [f"{line}   {_with_end(row, room)}"]
    return [*_wrapped(line.rstrip(), width, indent), *_below(row, indent, width)]


def _below(row: BlockRow, indent: str, width: int) -> list[str]:
    """A reason on lines of its own, at most two."""
    whole = "; ".join(filter(None, (row.reason, row.fails)))
    lines = _wrapped(indent + whole, width, indent)
    return lines if len(lines) <= 2 else [indent + _with_end(row, width - len(indent))]


def _with_end(row: BlockRow, room: int) -> str:
    """A reason with the failing sizes, which stay uncut if both fit."""
    end = f"; {row.fails}" if row.fails else ""
    return f"{_cut(row.reason, room - columns(end))}{end}" if columns(end) + _LEAST <= room else _cut(row.reason, room)


def _cut(text: str, room: int) -> str:
    return text if columns(text) <= room else f"{text[: max(room - 1, 0)].rstrip()}{ELLIPSIS}"


def hanging(text: str, width: int) -> list[str]:
    """A separate line of a block, wrapped with an indent."""
    return _wrapped(f"  {text}", width, " " * 6)


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return wrap(text, width, subsequent_indent=indent, break_on_hyphens=False) or [text]


def _values(what: str, values: Sequence[Typed], width: int) -> Iterator[str]:
    """Inputs or outputs, several on a line; if there are too many, their number."""
    texts = [
        text.replace(" ", _KEPT) if columns(text) < width - 12 else text
        for text in chain.from_iterable(map(_typed, values))
    ]
    lines = _wrapped(f"  {what}   {', '.join(texts)}", width, " " * (len(what) + 5)) if texts else []
    if len(lines) > _MOST_VALUES:
        lines = [*lines[: _MOST_VALUES - 1], f"{' ' * (len(what) + 5)}... {len(values)} in all"]
    yield from (line.replace(_KEPT, " ") for line in lines)


def _typed(value: Typed) -> Iterator[str]:
    """A value with its type; if its rank depends on sizes, one for each case."""
    if "(" in (value.dtype or "") or value.dtype == SIZE:
        yield f"{value.name} : {value.dtype}"
        return
    for case in value.cases:
        yield f"{value.name} : {value.dtype or '?'}{shape_text(case.shape)} {case}"
    if not value.cases:
        shape = "[...]" if value.shape is None else shape_text(value.shape)
        yield f"{value.name} : {value.dtype or '?'}{shape}"


def _boxed(contract: Contract, found: AcceptedSizes) -> Iterator[str]:
    """Whether all given sizes are accepted, if they are bounded."""
    box = box_of(contract)
    if box is None:
        return
    outside = next(outside_of(box, found), None)
    if outside is None:
        yield "box   accepted whole"
        return
    near = f"; nearest accepted: {', '.join(outside.nearest)}" if outside.nearest else ""
    yield f"box   not whole: fails at {', '.join(f'{name} = {n}' for name, n in outside.sizes.items())}{near}"


def _remarks(contract: Contract, found: AcceptedSizes, more: str) -> Iterator[str]:
    """Further remarks, one for each line."""
    if contract.undecided:
        nodes = list(dict.fromkeys(d.node.removeprefix("node ") for d in contract.undecided[:2]))
        count, only = len(contract.undecided), contract.undecided[0].needs or "a check"
        said = f"{plural(count, 'check')} ({more}): {', '.join(nodes)}" if count > 1 else f"{nodes[0]}: {only}"
        yield f"checked when it runs, since data decides: {said}"
    if contract.operations:
        calls = ", ".join(dict.fromkeys(f"{o.op} ({o.file}:{o.line})" for o in contract.operations[:2]))
        yield f"supposed, since only PyTorch knows their results: {plural(len(contract.operations), 'call')}: {calls}"
    if not contract.exact:
        yield "sufficient, not necessary: some sizes beside these are accepted as well"
    if contract.sizes:
        yield f"names in the model: {', '.join(f'{name} is `{own}`' for name, own in contract.sizes.items())}"
    if contract.supposed:
        others = f" and {len(contract.supposed) - 1} more ({more})" if len(contract.supposed) > 1 else ""
        yield f"supposed, since the model keeps sizes in narrow integers: {contract.supposed[0]}{others}"
    empty = [one for one in found.single if one.text == NOT_EMPTY]
    by = dict.fromkeys(d.node for one in empty for d in _demands(one.clauses)[:1])
    remarks = [f"{' or '.join(one.name for one in empty)} = 0 is refused by {', '.join(by)}"] if by else []
    remarks += [f"where {size} = 0, {', '.join(free)} may be any" for size, free in found.empty.items()]
    if remarks:
        yield f"empty tensors: {'; '.join(remarks)}"
