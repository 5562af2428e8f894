"""Write a signature's checks as the Python text of an entry check: straight lines over the shapes and dtypes of arguments and
result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, assert_never

from ..interp.generated import GeneratedModule
from ..interp.names import mangle
from ..interp.shape_text import ShapeTexts
from ..lang import core
from ..lang.dtypes import CLASSES, DTYPES, members
from ..sizes.evaluate import Literal
from .libraries import LIBRARIES, PREFIX, dtype_names, set_names

RESULT = PREFIX + "result"
# The dtypes of most arrays: the first of these in a class is tested before the full sets.
_COMMON = ("float32", "int64", "bool")
# The axes of a tensor of this rank or more get no local variables.
_AXES = 12
_EXACT = [f"{PREFIX}exact_{library.module}" for library in LIBRARIES]


Check = core.Assert | core.MatchShape


class CheckLine(NamedTuple):
    """A line of an entry check: its text, its depth of indentation, the check that is `reached` there, and the check that has
    `failed` if the line after it runs."""

    depth: int
    text: str
    reached: Check | None = None
    failed: Check | None = None


class Checks(ShapeTexts):
    """The lines that check values against a declaration. `locals` maps each value to its local variable."""

    def __init__(self, values: Mapping[str, str], refused: str) -> None:
        super().__init__(GeneratedModule({}))
        self.locals.update(values)
        self.refused = refused
        # Whether the checks are known to hold: then the lines only name sizes.
        self.decided = False
        self.lines: list[CheckLine] = []
        # Tuples that no statement has taken apart yet, with their numbers of parts.
        self.whole: dict[str, int] = {}
        # Whether a line may evaluate a size expression without a value.
        self.may_fail = False

    def taken(self) -> list[CheckLine]:
        """The lines so far, inside a `try` if one of them may divide by 0; start again with none."""
        lines, self.lines = self.lines, []
        if self.may_fail:
            self.may_fail = False
            inside = [line._replace(depth=line.depth + 1) for line in lines]
            lines = [
                CheckLine(0, "try:"),
                *inside,
                CheckLine(0, f"except {PREFIX}Undefined:"),
                CheckLine(1, self.refused),
            ]
        return lines

    def write(self, text: str, depth: int = 0, *, reached: Check | None = None, failed: Check | None = None) -> None:
        self.lines.append(CheckLine(depth, text, reached, failed))

    # Values

    def value(self, name: str, sort: core.Sort | None) -> None:
        """Write the lines that read a value for its checks."""
        if isinstance(sort, core.TupleSort):
            self._tuple(name, sort.items)
            return
        if isinstance(sort, core.FnSort):
            self.write(f"if not {PREFIX}callable({self.local(name)}):")
            self.write(self.refused, 1)
            return
        match sort:
            case core.BaseSort(name="Tensor"):
                self._tensor(name)
            case core.BaseSort(name="Size"):
                self._shape_level(name, "int", "size_of")
            case core.BaseSort(name="Bool"):
                self._shape_level(name, "bool", "bool_of")
            case core.BaseSort(name="Shape"):
                self._shape_level(name, "NoArray", "shape_of")
            case core.BaseSort(name="DType"):
                self._shape_level(name, "NoArray", "as_dtype")

    def _tensor(self, name: str) -> None:
        value, shape, dtype = self.local(name), self.shape_local(name), self.dtype_local(name)
        kind = f"{PREFIX}kind"
        tests = [f"{kind} is {exact}" for exact in _EXACT]
        self.write(f"{kind} = {PREFIX}type({value})")
        self.write(f"if {' or '.join(tests)} or {PREFIX}isinstance({value}, {PREFIX}ARRAYS):")
        self.write(f"{shape} = {value}.shape", 1)
        self.write(f"{dtype} = {value}.dtype", 1)
        self.write("else:")
        self._read(f"{shape}, {dtype} = {PREFIX}read({value})", 1)

    def _shape_level(self, name: str, kind: str, convert: str) -> None:
        local = self._own(name)
        self.write(f"{local} = {self.local(name)}")
        self.write(f"if {PREFIX}type({local}) is not {PREFIX}{kind}:")
        self._read(f"{local} = {PREFIX}{convert}({local})", 1)
        self.locals[name] = local

    def _tuple(self, name: str, items: Sequence[core.Sort]) -> None:
        value = self.local(name)
        kind = f"{PREFIX}isinstance({value}, ({PREFIX}tuple, {PREFIX}list))"
        self.write(f"if not {kind} or {PREFIX}len({value}) != {len(items)}:")
        self.write(self.refused, 1)
        self.whole[name] = len(items)

    def _read(self, text: str, depth: int) -> None:
        self.write("try:", depth)
        self.write(text, depth + 1)
        self.write(f"except {PREFIX}NoArray:", depth)
        self.write(self.refused, depth + 1)

    def _own(self, name: str) -> str:
        return f"{PREFIX}v_{mangle(name)}"

    def shape_local(self, name: str) -> str:
        return f"{PREFIX}s_{mangle(name)}"

    def dtype_local(self, name: str) -> str:
        return f"{PREFIX}d_{mangle(name)}"

    # Statements

    def statements(self, stmts: Iterable[core.Stmt], sorts: Mapping[str, core.Sort]) -> None:
        """Write the checks in order; the parts of a tuple are read where a statement names them, else at the end."""
        sorts = dict(sorts)
        for stmt in stmts:
            match stmt:
                case core.Let():
                    self._bound(stmt, sorts)
                case core.Assert():
                    self._asserted(stmt)
                case core.MatchShape():
                    self._match(stmt)
                case core.ExprStmt():
                    pass  # an expression statement has no effect in a signature
                case _:
                    assert_never(stmt)
        while self.whole and not self.decided:
            whole, count = next(iter(self.whole.items()))
            self._unpacked([f"{whole}.{at}" for at in range(count)], whole, sorts)

    def _bound(self, stmt: core.Let, sorts: dict[str, core.Sort]) -> None:
        match stmt:
            case core.Let(is_tuple=True, names=names, value=core.Var(name=whole)):
                self._unpacked(names, whole, sorts)
            case core.Let(names=(name,), value=value) if isinstance(value, core.ShapeLevel):
                text, self.locals[name] = self.shape_level(value), self._own(name)
                self.write(f"{self.locals[name]} = {text}")

    def _asserted(self, stmt: core.Assert) -> None:
        match stmt.cond:
            case core.Compare(op="==", left=core.RankOf(tensor=name), right=core.SizeLit(value=rank)) if (
                0 < rank < _AXES
            ):
                self._axes(name, rank, stmt)
            case _:
                self._failing(self.negated(stmt.cond), stmt)

    def _unpacked(self, names: Sequence[str], whole: str, sorts: dict[str, core.Sort]) -> None:
        sort = sorts[whole]
        assert isinstance(sort, core.TupleSort)
        self.whole.pop(whole, None)
        for at, (name, item) in enumerate(zip(names, sort.items, strict=True)):
            self.locals[name] = self._own(name)
            self.write(f"{self._own(name)} = {self.local(whole)}[{at}]")
            sorts[name] = item
            self.value(name, item)

    def _failing(self, text: str, check: Check) -> None:
        if not self.decided:
            self.write(f"if {text}:", reached=check, failed=check)
            self.write(self.refused, 1)

    def _axes(self, name: str, rank: int, check: Check) -> None:
        """Unpack the shape into one local per axis; a shape of another rank fails to unpack."""
        own = [f"{self.shape_local(name)}_{axis}" for axis in range(rank)]
        self.write("try:", reached=None if self.decided else check)
        self.write(f"{', '.join(own)}{',' if rank == 1 else ''} = {self.shape_local(name)}", 1)
        self.write(f"except {PREFIX}ValueError:", failed=None if self.decided else check)
        self.write(self.refused, 1)
        for axis, local in enumerate(own):
            self.dims[name, axis] = self.dims[name, axis - rank] = local

    def _match(self, stmt: core.MatchShape) -> None:
        self.locals.update((name, self._own(name)) for name in stmt.binds)
        fits, binds, tests = self.pattern(stmt, self.shape_local(stmt.tensor))
        self._failing(f"not {fits}", stmt)
        for name, part in binds:
            self.write(f"{self.local(name)} = {part}")
        for test in tests:
            self._failing(f"not {test}", stmt)

    def count(self, shape: str) -> str:
        return PREFIX + super().count(shape)

    # Shape-level expressions over the values read

    def rank(self, e: core.RankOf) -> str:
        return f"{PREFIX}len({self.shape_local(e.tensor)})"

    def dimension(self, e: core.DimOf) -> str:
        return self.dims.get((e.tensor, e.axis)) or f"{self.shape_local(e.tensor)}[{e.axis}]"

    def helper(self, name: str) -> str:
        self.may_fail = self.may_fail or name not in ("min", "max")
        return PREFIX + name

    def shape_of(self, tensor: str) -> str:
        return self.shape_local(tensor)

    def literal(self, e: Literal) -> str:
        return dtype_names(e.dtype.name)[0] if isinstance(e, core.DTypeLit) else super().literal(e)

    def dtype_of(self, tensor: str) -> str:
        return self.dtype_local(tensor)

    def compare(self, e: core.Compare, left: str, right: str) -> str:
        return f"not ({self.negated(e)})" if _is_of_dtypes(e) else super().compare(e, left, right)

    def in_class(self, e: core.InClass, item: str) -> str:
        return f"not ({self._outside(e)})"

    def negated(self, e: core.BoolExpr) -> str:
        match e:
            case core.Compare(op="!=") if _is_of_dtypes(e):
                first, second = (f"{PREFIX}own({self.shape_level(side)})" for side in (e.left, e.right))
                return f"not {PREFIX}differs({first}, {second})"
            case core.Compare() if _is_of_dtypes(e):
                return self._other_dtype(e)
            case core.InClass():
                return self._outside(e)
        return super().negated(e)

    def _other_dtype(self, e: core.Compare) -> str:
        """A test that is true if two dtypes differ; identical objects are compared first."""
        sides = [e.left, e.right] if not isinstance(e.left, core.DTypeLit) else [e.right, e.left]
        first, second = (self.shape_level(side) for side in sides)
        same = [second]
        if isinstance(sides[1], core.DTypeLit):
            same, second = dtype_names(sides[1].dtype.name), repr(sides[1].dtype.name)
        return " and ".join([*(f"{first} is not {s}" for s in same), f"{PREFIX}differs({first}, {second})"])

    def _outside(self, e: core.InClass) -> str:
        names = tuple(
            d.name for c in e.choices for d in (members(c) if c in CLASSES and not e.braces else (DTYPES[c],))
        )
        item = self.dtype(e.item)
        likely = next((name for name in _COMMON if name in names), None)
        common = [f"{item} is not {n}" for n in dtype_names(likely)] if likely is not None else []
        *sets, of_numpy = set_names(names)
        return " and ".join(
            [*common, *(f"{item} not in {s}" for s in sets), f"{PREFIX}outside({item}, {names!r}, {of_numpy})"]
        )


def _is_of_dtypes(e: core.BoolExpr) -> bool:
    return isinstance(e, core.InClass) or isinstance(e, core.Compare) and isinstance(e.left, core.DTypeExpr)


class Variant(NamedTuple):
    """One entry check of a function: the parameters that are None, and the checks of the others and of the result."""

    absent: frozenset[str]
    function: core.Function
    place: int


def variant_lines(variant: Variant, call: str, *, result_may_be_none: bool, decided: bool = False) -> list[CheckLine]:
    """The checks of the arguments (omitted if they are `decided`), the call, the checks of its result."""
    function = variant.function
    names = [p.name for p in function.params]
    given = f"({', '.join(names)}{',' if len(names) == 1 else ''})"
    text = Checks({name: name for name in names}, f"return {PREFIX}refuse({variant.place}, {given})")
    text.decided = decided
    for param in function.params:
        text.value(param.name, param.sort)
    text.statements(function.checks, {p.name: p.sort for p in function.params})
    text.decided = False
    text.whole.clear()
    lines = text.taken()
    lines.append(CheckLine(0, f"{RESULT} = {call}"))
    if function.result is not None:
        if result_may_be_none:
            lines += [CheckLine(0, f"if {RESULT} is None:"), CheckLine(1, f"return {RESULT}")]
        [out] = _out(function)
        text.refused = f"return {PREFIX}reject({variant.place}, {given}, {RESULT})"
        text.locals[out] = RESULT
        text.value(out, function.result)
        text.statements(function.promises, {out: function.result})
        lines += text.taken()
    return told([*lines, CheckLine(0, f"return {RESULT}")], variant.place)


def told(lines: Iterable[CheckLine], place: object) -> list[CheckLine]:
    """The lines inside a `try`; an exception there is passed to the entry check, with the local variables."""
    problem = f"{PREFIX}problem"
    return [
        CheckLine(0, "try:"),
        *(line._replace(depth=line.depth + 1) for line in lines),
        CheckLine(0, f"except {PREFIX}BaseException as {problem}:"),
        CheckLine(1, f"{PREFIX}tell({problem}, {place}, {PREFIX}locals())"),
        CheckLine(1, "raise"),
    ]


def _out(function: core.Function) -> tuple[str, ...]:
    """The name of the result in the core."""
    [let] = [s for s in function.body.stmts if isinstance(s, core.Let)]
    return let.names


class Counted(NamedTuple):
    """The place of the counts: the entry check's number, and an index in its counts for each check."""

    entry_check: int
    places: Mapping[int, int]


def listing(lines: Iterable[CheckLine], depth: int, counted: Counted | None = None) -> Iterator[str]:
    """The lines as Python text."""
    for line in lines:
        indent = "    " * (depth + line.depth)
        places = counted.places if counted is not None else {}
        entry_check = counted.entry_check if counted is not None else 0
        if id(line.reached) in places:
            yield f"{indent}{PREFIX}reached_{entry_check}[{places[id(line.reached)]}] += 1"
        yield indent + line.text
        if id(line.failed) in places:
            yield f"{indent}    {PREFIX}failed_{entry_check}[{places[id(line.failed)]}] += 1"
