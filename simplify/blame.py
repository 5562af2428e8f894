"""What to say when an obligation fails or stays open: the diagnostics of checking, in the user's names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from ..lang import core, sweet
from ..lang.core import Status
from ..lang.diagnostics import Diagnostic, Label, error, note, warning
from ..lang.dtypes import DTYPES
from ..lang.node import replace
from ..lang.source import Span
from ..ops.model import TensorInfo
from . import equations
from .aligned import Row, aligned
from .because import contradiction
from .conditions import all_of, ge
from .describe import annotation_text, dtype_text, size_text, type_text
from .judge import Options, Outcome
from .origins import place_of
from .shape_level import Obligation, Poisoned, ShapeLevel, sweet_size
from .spoken import argument as spoken_argument
from .spoken import operation, sizes_behind, what_is_needed
from .state import State
from .terms import Size, evaluate, mod, variables
from .values import DTypeValue, Entry, Env, NumberValue, ShapeValue, SizeValue, Undecided, plain

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


class Speaker(Protocol):
    """Who reports: the walker of a function."""

    state: State
    options: Options
    function: str

    def withdraw(self, said: Diagnostic) -> bool: ...


class CallLike(Protocol):
    """A primitive's call: where it stands, its name, and what each parameter got."""

    @property
    def span(self) -> Span: ...
    @property
    def name(self) -> str: ...
    @property
    def entries(self) -> tuple[tuple[str, Entry], ...]: ...
    @property
    def arguments(self) -> tuple[core.Value, ...]: ...
    def find(self, name: str) -> Entry | None: ...
    def is_tensor(self, name: str) -> bool: ...


_ONLY = "this holds only if "
_CHECKED = ", which is checked at run time"


def _finish(
    walker: Speaker,
    outcome: Outcome,
    code: str,
    needs: str,
    found: str,
    span: Span,
    caption: str = "",
    labels: tuple[Label, ...] = (),
    help_: str | None = None,
    remarks: tuple[str, ...] = (),
) -> Diagnostic:
    """One sentence with its verdict: always fails, works only on empty tensors, or is checked at run time."""
    but = f", but {found}" if found else ""
    labels = _distinct(span, labels)
    if outcome.status is Status.REFUTED:
        message = f"{needs}{but}: this always fails"
        return error(
            code, message, span, caption=caption, labels=labels, function=walker.function, help=help_,
            witness=outcome.witness, notes=remarks,
        )  # fmt: skip
    if outcome.only_empty:
        message = f"{needs}{but}: this works only on empty tensors"
        make = warning if walker.options.allow_empty else error
        said = any("holds only for" in remark for remark in remarks)
        only = (f"it holds only for {outcome.only}",) if outcome.only and not said else ()
        return make(
            "E310", message, span, caption=caption, labels=labels, function=walker.function, help=help_,
            witness=outcome.witness, notes=(*only, *remarks),
        )  # fmt: skip
    if outcome.only is not None:
        message = f"{needs}{but}: {_ONLY}{outcome.only}{_CHECKED}"
    else:
        message = f"{needs}{but}: this could not be proved and is checked at run time"
    return warning(
        "W311", message, span, caption=caption, labels=labels, function=walker.function, help=help_,
        witness=outcome.witness, notes=remarks,
    )  # fmt: skip


def with_others(said: Diagnostic, others: Mapping[str, str]) -> Diagnostic:
    """What the same call needs besides, where that is open too, as it is said and as it is written: one place, one
    warning."""
    subject = said.subject
    told = said if subject is None else replace(said, subject=replace(subject, also=tuple(others.values())))
    head, only_if, first = said.message.removesuffix(_CHECKED).rpartition(_ONLY)
    if not only_if:
        return replace(told, notes=(*said.notes, f"it needs {_together(list(others))} too"))
    return replace(told, message=f"{head}{_ONLY}{_together([first, *others])}{_CHECKED}")


def _together(conditions: list[str]) -> str:
    return ", and ".join(conditions) if any(" or " in c for c in conditions) else _listed(conditions)


def _distinct(span: Span, labels: tuple[Label, ...]) -> tuple[Label, ...]:
    """Each place once, the primary one not again."""
    kept: dict[Span, Label] = {}
    for label in labels:
        if label.span != span and label.span.source.text and label.span not in kept:
            kept[label.span] = label
    return tuple(kept.values())


# Primitives

_CODES = {"matmul": "E305", "linear": "E305", "reshape": "E307", "concat": "E308", "stack": "E308"}


def precondition(
    walker: Speaker,
    call: CallLike,
    what: str,
    at: tuple[tuple[str, int | None], ...],
    outcome: Outcome,
    code: str | None,
) -> Diagnostic:
    """`@matmul needs axis 1 of `x` and axis 0 of `y` to be equal, but they are 3 and 4: this always fails`."""
    state = walker.state
    reshapes = call.name == "reshape" and "elements" in what
    totals = _elements(state, call) if reshapes else None
    said = [(p, _size_at(state, call, p, a)) for p, a in at if a is not None]
    sizes = {} if reshapes else sizes_behind(what, [*_scalars(state, call, what), *said])
    found = "" if sizes else _sizes_at(state, call, at)
    if code == "E313":
        found = _dtypes(state, call) if "one dtype" in what else _own_dtype(state, call, at)
    if reshapes:
        found = "" if totals is None else f"they are {size_text(totals[0], state)} and {size_text(totals[1], state)}"
        at = _changed(state, call, at)
    labels = [_came_from(state, call, param, axis) for param, axis in at]
    if totals is not None and len(labels) > 1:
        labels = [_made_of(state, call, totals[1])]
    broadcast = "or one of them 1" in what or "broadcast" in what
    if code is None:
        code = _CODES.get(call.name, "E306" if broadcast else "E304")
    shapes = _aligned(state, call, at, from_the_end=broadcast or call.name in ("matmul", "linear"))
    shown = {label.message for label in labels if label}
    types = _argument_types(state, call, [p for p, _ in at])
    caption = "" if shapes or shown.issuperset(types) else ", ".join(types)
    help_ = _dtype_help(walker, call, what, at) if code == "E313" and outcome.status is Status.RESIDUAL else None
    equation = _equation(state, call, at, totals, outcome, "" if broadcast else what)
    if equation and outcome.witness is None:
        outcome = replace(outcome, witness=_smallest(state, [d for p, _ in at for d in _dims(state, call, p)]))
    example = _example(state, totals or _two_sizes(state, call, at), outcome)
    return _finish(
        walker, outcome, code, f"{operation(call)} needs {what_is_needed(call, what, state, sizes)}", found, call.span, caption,
        tuple(label for label in labels if label), help_, tuple(filter(None, (shapes, equation, example))),
    )  # fmt: skip


def _scalars(state: State, call: CallLike, what: str) -> Iterator[tuple[str, str]]:
    """The sizes among the arguments that a rule speaks of: `k` of "`k` to be at most axis 1 of `x`"."""
    for name, entry in call.entries:
        if isinstance(entry.value, SizeValue) and f"`{name}`" in what:
            yield name, size_text(entry.value.size, state)
        elif isinstance(entry.value, NumberValue) and f"`{name}`" in what:
            yield name, str(entry.value.value)


def _own_dtype(state: State, call: CallLike, at: tuple[tuple[str, int | None], ...]) -> str:
    """`it has int32`, of the one tensor that is not of the right dtype."""
    entry = call.find(at[0][0]) if at else None
    known = dtype_text(entry.value.dtype, state) if entry is not None and isinstance(entry.value, TensorInfo) else "?"
    return f"it has {known}" if known in DTYPES else ""


def _dtypes(state: State, call: CallLike) -> str:
    """`they are int32 and float32`, of the tensors."""
    found = [dtype_text(e.value.dtype, state) for _, e in call.entries if isinstance(e.value, TensorInfo)]
    return f"they have {_listed(found)}" if len(set(found)) > 1 and "?" not in found else ""


def _listed(texts: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def _smallest(state: State, sizes: list[Size]) -> dict[str, int] | None:
    """The smallest sizes that satisfy what is known, those of tensors from 1."""
    symbolic = [s for s in sizes if not isinstance(s, int)]
    inside = {v for s in symbolic for v in variables(s)}
    point = state.facts.witness(all_of(*(ge(s, 1) for s in symbolic)), True, symbolic)
    if point is None:
        return None
    named = sorted(((v, n) for v, n in point.items() if v in inside), key=lambda item: item[0].serial)
    return {v.name: n for v, n in named if v.name.isidentifier()} or None


def _equation(
    state: State,
    call: CallLike,
    at: tuple[tuple[str, int | None], ...],
    totals: tuple[Size, Size] | None,
    outcome: Outcome,
    what: str,
) -> str:
    """The equation between sizes that fails, with its reason."""
    if totals is not None:
        say = equations.only_empty if outcome.only_empty else equations.without_solution
        return say(state, *totals) if outcome.only_empty or outcome.status is Status.REFUTED else ""
    sizes = _two_sizes(state, call, at)
    if outcome.status is Status.REFUTED and sizes is not None and what.endswith("to be equal"):
        return equations.without_solution(state, *sizes)
    return ""


def _two_sizes(state: State, call: CallLike, at: tuple[tuple[str, int | None], ...]) -> tuple[Size, Size] | None:
    """The two sizes that conflict, if it is two."""
    sizes = [_dims(state, call, p)[axis] for p, axis in at if axis is not None and _has(state, call, p, axis)]
    return (sizes[0], sizes[1]) if len(at) == len(sizes) == 2 else None


def _example(state: State, sizes: tuple[Size, Size] | None, outcome: Outcome) -> str:
    """`with B = 1 they are 16 and 15`: what the two sizes come to in the smallest case; nothing where they are names."""
    witness = outcome.witness
    if sizes is None or not witness or outcome.status is Status.PROVED:
        return ""
    settled = [state.settled(s) for s in sizes]
    inside = {v for s in settled if not isinstance(s, int) for v in variables(s)}
    if not all(v.name in witness for v in inside) or all(size_text(s, state).isalnum() for s in settled):
        return ""
    point = {v: witness[v.name] for v in inside}
    assigned = ", ".join(f"{name} = {value}" for name, value in witness.items())
    values = [str(evaluate(s, point)) for s in settled]
    return f"with {assigned} they are {_listed(values)}" if values[0] != values[1] else ""


def _has(state: State, call: CallLike, param: str, axis: int) -> bool:
    rank = len(_dims(state, call, param))
    return -rank <= axis < rank


def _aligned(state: State, call: CallLike, at: tuple[tuple[str, int | None], ...], *, from_the_end: bool) -> str:
    """The shapes of the tensors that do not fit each other, with the axes marked; nothing where one is not known."""
    bad: dict[str, list[int]] = {}
    for param, axis in at:
        if axis is not None and call.is_tensor(param):
            bad.setdefault(param, []).append(axis)
    rows = []
    for param, axes in bad.items():
        entry = call.find(param)
        shape = state.resolve(entry.value.shape) if entry is not None and isinstance(entry.value, TensorInfo) else ()
        if not shape or not plain(shape) or not all(-len(shape) <= a < len(shape) for a in axes):
            return ""
        sizes = tuple(size_text(d, state) for d in shape)
        rows.append(Row(spoken_argument(call, param), sizes, tuple(a % len(shape) for a in axes)))
    if len(rows) < 2 or max(len(row.sizes) for row in rows) < 2:
        return ""
    return aligned(rows, from_the_end=from_the_end)


def _dims(state: State, call: CallLike, param: str) -> tuple[Size, ...]:
    """The sizes of a tensor or a shape; none where they are not all known."""
    entry = call.find(param)
    value = entry.value if entry is not None else None
    dims = value.dims if isinstance(value, ShapeValue) else value.shape if isinstance(value, TensorInfo) else ()
    dims = state.resolve(dims)
    return dims if plain(dims) else ()


def _is_known(state: State, call: CallLike, param: str) -> bool:
    """Whether it is known how many sizes a tensor or a shape has."""
    entry = call.find(param)
    value = entry.value if entry is not None else None
    dims = value.dims if isinstance(value, ShapeValue) else value.shape if isinstance(value, TensorInfo) else None
    return dims is not None and plain(state.resolve(dims))


def _changed(
    state: State, call: CallLike, at: tuple[tuple[str, int | None], ...]
) -> tuple[tuple[str, int | None], ...]:
    """The axes of a reshape's operand that its result has not; beside a -1 only those that are no numbers."""
    target, dims = _dims(state, call, "shape"), _dims(state, call, "x")
    if -1 in target:
        return tuple((p, a) for p, a in at if a is None or (a < len(dims) and not isinstance(dims[a], int)))
    return tuple((p, a) for p, a in at if a is None or (a < len(dims) and dims[a] not in target))


def _elements(state: State, call: CallLike) -> tuple[Size, Size] | None:
    """The two numbers of elements of a reshape."""
    totals = []
    for param in ("shape", "x"):
        if not _is_known(state, call, param):
            return None
        dims = _dims(state, call, param)
        if any(isinstance(d, int) and d < 0 for d in dims):
            return None
        total: Size = 1
        for dim in dims:
            total = total * dim
        totals.append(total)
    return totals[0], totals[1]


def rooted(walker: Speaker, said: Diagnostic, sizes: Iterable[tuple[Entry | None, int | None]]) -> Diagnostic:
    """An error about a size that an earlier call made with a doubt of its own belongs there: the doubt becomes the error,
    and where the size is used is the reason."""
    if said.severity != "error":
        return said
    for entry, axis in sizes:
        made = place_of(walker.state, entry, axis).made if entry is not None and axis is not None else None
        if made is None or made.doubt is None:
            continue
        if not walker.withdraw(made.doubt):
            continue
        text, _, verdict = said.message.rpartition(": ")
        own = made.doubt.message.rpartition(": ")[0]
        label = Label(said.span, f"here {text}")
        return replace(
            made.doubt, code=said.code, severity="error", message=f"{own}: {verdict}", labels=(label,),
            witness=said.witness, notes=tuple(n for n in said.notes if "\n" not in n),
        )  # fmt: skip
    return said


def _dtype_help(walker: Speaker, call: CallLike, what: str, at: tuple[tuple[str, int | None], ...]) -> str | None:
    """A dtype variable of the signature can be confined there."""
    found = re.search(r"to have an? (\w+) dtype", what)
    entry = call.find(at[0][0]) if at else None
    if found is None or entry is None or not isinstance(entry.value, TensorInfo):
        return None
    name = dtype_text(entry.value.dtype, walker.state)
    return None if name == "?" else f"`where {name} in {found[1]}` in the signature of {walker.function} makes it hold"


def _sizes_at(state: State, call: CallLike, at: tuple[tuple[str, int | None], ...]) -> str:
    sizes = [_size_at(state, call, param, axis) for param, axis in at if axis is not None]
    known = [s for s in sizes if s is not None]
    if not known or len(known) != len(sizes):
        return ""
    return f"{'it is' if len(known) == 1 else 'they are'} {_listed(known)}"


def _size_at(state: State, call: CallLike, param: str, axis: int | None) -> str | None:
    """The size of a tensor's axis, or the entry of a shape that was passed."""
    entry = call.find(param)
    if entry is None or axis is None:
        return None
    if isinstance(entry.value, ShapeValue):
        shape = state.resolve(entry.value.dims)
    elif isinstance(entry.value, TensorInfo) and call.is_tensor(param):
        shape = state.resolve(entry.value.shape)
    elif isinstance(entry.value, TensorInfo) and isinstance(entry.value.data, tuple):
        shape = entry.value.data
    else:
        return None
    if not plain(shape) or not -len(shape) <= axis < len(shape):
        return None
    return size_text(shape[axis], state)


def _came_from(state: State, call: CallLike, param: str, axis: int | None) -> Label | None:
    entry = call.find(param)
    if entry is None:
        return None
    text = _size_at(state, call, param, axis)
    if text is None or axis is None:
        if call.span.start <= entry.span.start <= entry.span.end <= call.span.end:
            return None
        return Label(entry.span, f"{spoken_argument(call, param)} is {type_text(entry.value, state)}")
    return Label(place_of(state, entry, axis).span, f"{text} comes from here")


def _argument_types(state: State, call: CallLike, params: list[str]) -> list[str]:
    """`x` is Tensor([3], int8), for each of the parameters that is a tensor."""
    shown = []
    for param in dict.fromkeys(params):
        entry = call.find(param)
        if entry is not None and isinstance(entry.value, TensorInfo):
            shown.append(f"{spoken_argument(call, param)} is {type_text(entry.value, state)}")
    return shown


def _made_of(state: State, call: CallLike, total: Size) -> Label | None:
    entry = call.find("x")
    return None if entry is None else Label(entry.span, f"this has {size_text(total, state)} elements")


def bad_call(walker: Speaker, message: str, span: Span) -> Diagnostic:
    return error("E314", message, span, function=walker.function)


def wrong_number(walker: Speaker, stmt: core.Let, parts: int) -> Diagnostic:
    """`let (a, b, c) = @split(x, sections=2)`."""
    message = f"this gives {parts} values; here are {len(stmt.names)} names"
    return error("E206", message, stmt.value.span, function=walker.function)


# Parameters


class SiteLike(Protocol):
    """A call of a function: where it stands, the function, what its arguments are and where they stand."""

    @property
    def span(self) -> Span: ...
    @property
    def function(self) -> core.Function: ...
    @property
    def entries(self) -> tuple[Entry, ...]: ...
    @property
    def arguments(self) -> tuple[Span, ...]: ...


def argument(
    walker: Speaker, stmt: core.Assert | core.MatchShape, env: Env, site: SiteLike, outcome: Outcome
) -> Diagnostic:
    """A callee's door at a call: `@ff needs axis 1 of `x` to be a multiple of 4, but it is 15`."""
    origin, declared = stmt.origin, stmt.origin.declared
    function, span, entries = site.function, site.span, site.entries
    if declared is None or origin.what == "where":
        return _condition_at_call(walker, stmt, env, function, span, entries, outcome)
    position = _position(function, declared)
    subject = declared.subject
    if len(function.params) > 1 and position is not None and position < len(_ORDINALS):
        subject = f"{declared.subject}` ({_ORDINALS[position]} argument)"
    else:
        subject = f"{declared.subject}`"
    needs, found = _wording(walker.state, stmt, env, f"`{subject}")
    entry = entries[position] if position is not None and position < len(entries) else None
    caption, labels = "", [Label(origin.span, _why(walker.state, stmt, env))]
    tensor = env.get(declared.tensor)
    if entry is not None and tensor is not None:
        wanted = filled_type(walker.state, declared, env)
        name = _argument_name(site, position)
        caption = f"{name} is {type_text(tensor.value, walker.state)}, the parameter is {wanted}"
        if origin.axis is not None:
            place = place_of(walker.state, entry, origin.axis).span
            labels.append(Label(place, _size_label(walker.state, tensor, origin.axis)))
    code = "E313" if origin.what == "dtype" else "E301"
    return _finish(
        walker, outcome, code, f"{_called(site)} needs {needs}", found, span, caption,
        tuple(label for label in labels if label.message),
    )  # fmt: skip


def _called(site: SiteLike) -> str:
    """`@ff`; a function that has no name of its own by the name that stands in the call."""
    name = re.match(r"\w+", site.span.text)
    return f"`{name[0]}`" if site.function.name == "fn" and name else f"@{site.function.name}"


def _position(function: core.Function, declared: core.Declared) -> int | None:
    if declared.position is not None:
        return declared.position
    return next((i for i, p in enumerate(function.params) if p.name == declared.tensor), None)


def sizes_of(stmt: core.Assert | core.MatchShape, site: SiteLike) -> Iterable[tuple[Entry, int]]:
    """The sizes that a check at a door speaks of; of a whole shape, those of all arguments."""
    names = {param.name: entry for param, entry in zip(site.function.params, site.entries, strict=True)}
    whole = isinstance(stmt, core.MatchShape) or (
        isinstance(stmt.cond, core.Compare) and isinstance(stmt.cond.left, core.ShapeExpr)
    )
    if whole:
        for entry in names.values():
            if isinstance(entry.value, TensorInfo):
                yield from ((entry, axis) for axis in range(len(entry.value.shape)))
    elif isinstance(stmt, core.Assert):
        stack: list[object] = [stmt.cond]
        while stack:
            node = stack.pop()
            if isinstance(node, core.DimOf):
                if node.tensor in names:
                    yield names[node.tensor], node.axis
            elif isinstance(node, core.Compare | core.Logic | core.SizeOp):
                stack.extend((node.right, node.left))


def _argument_name(site: SiteLike, position: int | None) -> str:
    text = site.arguments[position].text if position is not None and position < len(site.arguments) else ""
    return f"`{text}`" if text.isidentifier() else "the argument"


def _size_label(state: State, entry: Entry, axis: int) -> str:
    shape = state.resolve(entry.value.shape) if isinstance(entry.value, TensorInfo) else ()
    if not plain(shape) or not -len(shape) <= axis < len(shape):
        return ""
    return f"{size_text(shape[axis], state)} comes from here"


def _wording(state: State, stmt: core.Assert | core.MatchShape, env: Env, subject: str) -> tuple[str, str]:
    """What an assertion of an annotation wants and what is there: ("axis 1 of `x` to be 4", "it is 15")."""
    if isinstance(stmt, core.MatchShape):
        tensor = env.get(stmt.tensor)
        found = f"it is {type_text(tensor.value, state)}" if tensor else ""
        return f"{subject} to have a shape like {_pattern_text(stmt)}", found
    what, cond = stmt.origin.what, stmt.cond
    if isinstance(cond, core.Compare):
        if what == "rank":
            rank = _side(state, cond.left, env)
            if not rank.isdigit() and (pattern := _shape_pattern(stmt)):
                return f"{subject} to have a shape like {pattern}", "its rank is not known"
            found = f"it has rank {rank}" if rank.isdigit() else "its rank is not known"
            return f"{subject} to have rank {_side(state, cond.right, env)}", found
        if what == "dtype":
            return f"{subject} to have dtype {_side(state, cond.right, env)}", f"it has {_side(state, cond.left, env)}"
        if what == "dim":
            axis = f"axis {stmt.origin.axis} of {subject}"
            found = "" if _is_about_factor(stmt, cond) else f"it is {_dim_found(state, stmt, env)}"
            return f"{axis} {_wanted(state, stmt, cond, env)}", found
        if what == "shape":
            return f"{subject} to have shape {_side(state, cond.right, env)}", f"it has {_side(state, cond.left, env)}"
    return f"`{stmt.origin.text or 'the condition'}` to hold", _values_text(state, cond, env)


def _is_about_factor(stmt: core.Assert, cond: core.Compare) -> bool:
    """Whether the condition is about a factor of `n * m` that has to be at least 1, and not about the dimension itself."""
    return cond.op == ">=" and not (isinstance(cond.left, core.SizeOp) and cond.left.op == "-")


def _wanted(state: State, stmt: core.Assert, cond: core.Compare, env: Env) -> str:
    left = cond.left
    if isinstance(left, core.SizeOp) and left.op == "%" and cond.op == "==":
        return f"to be a multiple of {_side(state, left.right, env)}"
    if cond.op == "==":
        wanted = _side(state, cond.right, env)
        text = stmt.origin.text
        return f"to be {wanted}" if not text or text == wanted else f"to be {wanted} (`{text}`)"
    if cond.op == ">=" and isinstance(left, core.SizeOp) and left.op == "-":
        return f"to be at least {_side(state, left.right, env)}"
    factor = _side(state, left, env)
    return f"to fit `{stmt.origin.text}`, whose factor {factor} has to be at least 1"


def _dim_found(state: State, stmt: core.Assert, env: Env) -> str:
    declared = stmt.origin.declared
    assert declared is not None
    entry = env.get(declared.tensor)
    if entry is None or not isinstance(entry.value, TensorInfo) or stmt.origin.axis is None:
        return "something else"
    shape = state.resolve(entry.value.shape)
    axis = stmt.origin.axis
    if not plain(shape) or not -len(shape) <= axis < len(shape):
        return "not known"
    text = size_text(shape[axis], state)
    return "not known" if "?" in text else text


def _side(state: State, expr: core.ShapeLevel, env: Env) -> str:
    """One side of a comparison as it stands: its value in the user's names."""
    level = ShapeLevel(state, env)
    try:
        if isinstance(expr, core.SizeExpr):
            return size_text(level.size(expr), state)
        if isinstance(expr, core.DTypeExpr):
            return dtype_text(level.dtype(expr), state)
        if isinstance(expr, core.ShapeExpr):
            return type_text(TensorInfo(level.shape(expr), None), state).removeprefix("Tensor(").removesuffix(", ?)")
    except Poisoned:
        pass
    return "?"


def _values_text(state: State, cond: core.BoolExpr, env: Env) -> str:
    """What a condition comes to with what is known: `8 <= 3 is false`."""
    level = ShapeLevel(state, env)
    try:
        truth = level.truth(cond)
    except Poisoned:
        return ""
    if isinstance(truth, Undecided):
        return ""
    sizes = _sizes_in(state, cond, env)
    if isinstance(truth, bool):
        return _listed([f"{n} is {size_text(e, state)}" for n, e in sizes if n != size_text(e, state)])
    return _listed([known for n, e in sizes if (known := _known_range(state, n, e))])


def _known_range(state: State, name: str, size: Size) -> str:
    """What is known of a size: `n is at least 6`."""
    low, high = state.facts.bounds(size)
    text = size_text(size, state)
    shown = name if name == text else f"{name} = {text}"
    if low is not None and low == high:
        return f"{name} is {low}"
    if high is not None:
        return f"{shown} is at most {high}"
    return f"{shown} is at least {low}" if low else ""


def _sizes_in(state: State, cond: core.BoolExpr, env: Env) -> list[tuple[str, Size]]:
    """The sizes that a condition speaks of, as it speaks of them."""
    found: dict[str, Size] = {}
    stack: list[object] = [cond]
    while stack:
        node = stack.pop()
        if isinstance(node, core.SizeVar | core.DimOf | core.RankOf):
            text = node.span.text or (node.name if isinstance(node, core.SizeVar) else "")
            try:
                if text:
                    found.setdefault(text, ShapeLevel(state, env).size(node))
            except Poisoned:
                continue
        elif isinstance(node, core.Compare | core.Logic | core.SizeOp):
            stack.extend((node.right, node.left))
        elif isinstance(node, core.Not):
            stack.append(node.operand)
    return list(found.items())


def _pattern_text(stmt: core.MatchShape) -> str:
    return _shape_pattern(stmt) or stmt.origin.text or "the pattern"


def _shape_pattern(stmt: core.Assert | core.MatchShape) -> str:
    """The shape of the annotation that an assertion was made of, as it is written."""
    declared = stmt.origin.declared
    if declared is not None and isinstance(declared.type, sweet.TensorType) and declared.type.shape is not None:
        return " ".join(declared.type.shape.span.text.split())
    return ""


def _why(state: State, stmt: core.Assert | core.MatchShape, env: Env) -> str:
    """The equation that fails, at the annotation: `m * 4 = 15 has no integer solution (15 mod 4 = 3)`."""
    if isinstance(stmt, core.Assert) and isinstance(stmt.cond, core.Compare) and stmt.origin.what in ("rank", "dtype"):
        return f"{stmt.origin.what} {_side(state, stmt.cond.right, env)} is wanted here"
    if not isinstance(stmt, core.Assert) or stmt.origin.what != "dim" or not isinstance(stmt.cond, core.Compare):
        return "this is wanted here"
    left, text = stmt.cond.left, stmt.origin.text
    if isinstance(left, core.SizeOp) and left.op == "%":
        level = ShapeLevel(state, env)
        size, factor = level.size(left.left), level.size(left.right)
        if isinstance(size, int) and isinstance(factor, int) and factor > 0 and size % factor:
            return f"{text} = {size} has no integer solution ({size} mod {factor} = {size % factor})"
        rest = mod(size, factor)
        if isinstance(rest, int) and rest:
            shown = size_text(size, state)
            return f"{text} = {shown} has no integer solution ({shown} mod {factor} = {rest})"
        return f"{text} = {size_text(size, state)}"
    if stmt.cond.op != "==":
        return f"{text} is wanted here"
    wanted = _side(state, stmt.cond.right, env)
    return f"{text} is {wanted} here" if text and text != wanted else f"{wanted} is wanted here"


def filled_type(state: State, declared: core.Declared, env: Env) -> str:
    """The annotation with what is known filled in: `Tensor([3, n], int8)`."""
    if not isinstance(declared.type, sweet.TensorType):
        return declared.type.span.text if declared.type is not None else "Tensor"
    sizes, dtypes = _known_names(state, declared, env)
    return annotation_text(declared.type, sizes, dtypes, state)


def _known_names(state: State, declared: core.Declared, env: Env) -> tuple[dict[str, Size], dict[str, str]]:
    """What the names of an annotation stand for: sizes, and dtypes as text."""
    sizes: dict[str, Size] = {}
    dtypes: dict[str, str] = {}
    level = ShapeLevel(state, env)
    for name, expr in declared.bound:
        try:
            if isinstance(expr, core.SizeExpr):
                sizes[name] = level.size(expr)
            elif isinstance(expr, core.DTypeExpr):
                dtypes[name] = dtype_text(level.dtype(expr), state)
        except Poisoned:
            continue
    for name in env:
        value = env[name].value
        if isinstance(value, SizeValue):
            sizes.setdefault(name, value.size)
        elif isinstance(value, DTypeValue):
            dtypes.setdefault(name, dtype_text(value.dtype, state))
    return sizes, dtypes


def _condition_at_call(
    walker: Speaker,
    stmt: core.Assert | core.MatchShape,
    env: Env,
    function: core.Function,
    span: Span,
    entries: tuple[Entry, ...],
    outcome: Outcome,
) -> Diagnostic:
    text = stmt.origin.text or stmt.span.text
    found = _values_text(walker.state, stmt.cond, env) if isinstance(stmt, core.Assert) else ""
    label = Label(stmt.origin.span, f"@{function.name} asks for this")
    needs = f"@{function.name} needs `{text}` to hold"
    message = stmt.message if isinstance(stmt, core.Assert) else None
    if message:
        needs += f" ({message})"
    types = ", ".join(type_text(e.value, walker.state) for e in entries)
    labels = [label]
    if isinstance(stmt, core.Assert):
        spoken = _tensors_in(stmt.cond)
        given = zip(function.params, entries, strict=False)
        labels += [Label(e.span, f"this is {type_text(e.value, walker.state)}") for p, e in given if p.name in spoken]
    return _finish(walker, outcome, "E309", needs, found, span, f"called with {types}" if types else "", tuple(labels))


def _tensors_in(cond: core.BoolExpr) -> set[str]:
    """The tensors whose rank or dimensions a condition speaks of."""
    found: set[str] = set()
    stack: list[object] = [cond]
    while stack:
        node = stack.pop()
        if isinstance(node, core.DimOf | core.RankOf):
            found.add(node.tensor)
        elif isinstance(node, core.Compare | core.Logic | core.SizeOp):
            stack.extend((node.right, node.left))
        elif isinstance(node, core.Not):
            stack.append(node.operand)
    return found


# Assertions in a body


def assertion(walker: Speaker, stmt: core.Assert | core.MatchShape, env: Env, outcome: Outcome) -> Diagnostic:
    """A claim, an assertion or a declared result."""
    origin, declared = stmt.origin, stmt.origin.declared
    if declared is None:
        return _condition(walker, stmt, env, outcome)
    is_result = declared.kind == "result"
    entry = env.get(declared.tensor)
    subject = "its result" if is_result else f"`{declared.subject}`"
    if is_result and declared.subject not in ("result", "the result") and "result" not in declared.subject:
        subject = f"`{declared.subject}`"
    needs, found = _wording(walker.state, stmt, env, subject)
    speaker = walker.function if is_result else "the annotation" if origin.claim else "the assertion"
    speaker = "match_shape" if declared.kind == "match_shape" else speaker
    code = "E313" if origin.what == "dtype" else "E302" if origin.claim else "E303"
    if entry is None:
        return _finish(walker, outcome, code, f"{speaker} needs {needs}", found, origin.span)
    wanted = declared.type.span.text if declared.type is not None else "this"
    text = type_text(entry.value, walker.state)
    rows = _beside_declared(walker.state, stmt, env, entry, subject if subject != "its result" else "result")
    remarks = tuple(filter(None, (rows, _unsolvable(walker.state, stmt, env, outcome))))
    if is_result:
        span, caption = entry.span, "" if rows else f"{_short(entry)} is {text}"
        labels = [Label(origin.span, f"declared as {wanted}")]
    else:
        span, caption = origin.span, "" if rows else f"declared as {wanted}"
        labels = []
    size = _size_label(walker.state, entry, origin.axis) if origin.what == "dim" and origin.axis is not None else ""
    if size and origin.axis is not None:
        labels.append(Label(place_of(walker.state, entry, origin.axis).span, size))
    elif not is_result:
        labels.append(Label(entry.span, f"this is {text}"))
    labels += _named_sizes(walker.state, stmt, env)
    return _finish(
        walker, outcome, code, f"{speaker} needs {needs}", found, span, caption, tuple(labels), None, remarks
    )


def _beside_declared(state: State, stmt: core.Assert | core.MatchShape, env: Env, entry: Entry, subject: str) -> str:
    """A tensor's shape above the annotation that does not fit it."""
    declared, axis = stmt.origin.declared, stmt.origin.axis
    shape = state.resolve(entry.value.shape) if isinstance(entry.value, TensorInfo) else ()
    pattern = declared.type.shape if declared is not None and isinstance(declared.type, sweet.TensorType) else None
    if declared is None or stmt.origin.what != "dim" or axis is None or not isinstance(pattern, sweet.ListExpr):
        return ""
    if len(shape) < 2 or not plain(shape) or len(shape) != len(pattern.items):
        return ""
    known, _ = _known_names(state, declared, env)
    wanted = [sweet_size(item, known) for item in pattern.items]
    differ = [w is not None and isinstance(w - d, int) and w != d for w, d in zip(wanted, shape, strict=True)]
    bad = tuple(i for i, d in enumerate(differ) if d or i == axis % len(shape))
    rows = (
        Row(subject, tuple(size_text(d, state) for d in shape), bad),
        Row("declared", tuple(item.span.text for item in pattern.items), bad),
    )
    return aligned(rows, from_the_end=False)


def _unsolvable(state: State, stmt: core.Assert | core.MatchShape, env: Env, outcome: Outcome) -> str:
    """The equation of an assertion about one dimension that never holds."""
    if outcome.status is not Status.REFUTED or not isinstance(stmt, core.Assert) or stmt.origin.what != "dim":
        return ""
    cond = stmt.cond
    if isinstance(cond, core.Compare) and cond.op == "==" and isinstance(cond.left, core.DimOf):
        level = ShapeLevel(state, env)
        try:
            if isinstance(cond.right, core.SizeExpr):
                return equations.without_solution(state, level.size(cond.left), level.size(cond.right))
        except Poisoned:
            pass
    return ""


def _named_sizes(state: State, stmt: core.Assert | core.MatchShape, env: Env) -> list[Label]:
    """Where a name got its size that an assertion asks for, if it has been given one."""
    found: list[Label] = []
    stack: list[object] = [stmt.cond] if isinstance(stmt, core.Assert) else []
    while stack:
        node = stack.pop()
        if isinstance(node, core.SizeVar):
            entry = env.get(node.name)
            if entry is not None and isinstance(entry.value, SizeValue):
                text = size_text(entry.value.size, state)
                if text != node.name:
                    found.append(Label(entry.span, f"`{node.name}` is {text} from here"))
        elif isinstance(node, core.Compare | core.SizeOp):
            stack.extend((node.right, node.left))
    return found


def _condition(walker: Speaker, stmt: core.Assert | core.MatchShape, env: Env, outcome: Outcome) -> Diagnostic:
    """An `assert` of the user's; where it contradicts earlier ones, all are shown."""
    text = stmt.origin.text or stmt.span.text
    message = stmt.message if isinstance(stmt, core.Assert) else None
    spoken = f"`{text}`" + (f" ({message})" if message else "")
    earlier = contradiction(outcome.reasons)
    if earlier is not None:
        return error("E312", f"{spoken} contradicts {earlier}", stmt.span, function=walker.function)
    found = _values_text(walker.state, stmt.cond, env) if isinstance(stmt, core.Assert) else ""
    speaker = "the signature" if stmt.origin.what == "where" else "the assertion"
    return _finish(walker, outcome, "E303", f"{speaker} needs {spoken}", found, stmt.span)


def _short(entry: Entry) -> str:
    text = entry.span.text
    return f"`{text}`" if text.isidentifier() else "this"


def obligation(walker: Speaker, span: Span, needs: list[Obligation], outcome: Outcome) -> Diagnostic:
    """An expression that may have no value: a divisor that may be 0, a division that may leave a rest."""
    what = next((n.text for n in needs if n.cond is False), needs[0].text if needs else "a value")
    code = "E314" if "axis" in what else "E303"
    return _finish(walker, outcome, code, f"`{span.text}` needs {what}", "", span)


def condition(walker: Speaker, span: Span, value: TensorInfo, what: str, outcome: Outcome) -> Diagnostic:
    """A tensor that is no single truth value in the condition of an `if`."""
    needs = f"the condition of `if` needs to have {what}"
    return _finish(walker, outcome, "E304", needs, f"it is {type_text(value, walker.state)}", span)


def impossible_signature(function: core.Function, door: tuple[core.Stmt, ...]) -> Diagnostic:
    """No sizes satisfy what a function asks of its parameters."""
    conditions = [s for s in door if isinstance(s, core.Assert) and s.origin.declared is None]
    span = conditions[-1].origin.span if conditions else function.span
    labels = tuple(Label(c.origin.span, "together with this") for c in conditions[:-1])
    return error(
        "E311", f"no sizes satisfy the signature of @{function.name}", span, labels=labels,
        function=f"@{function.name}",
    )  # fmt: skip


def dropped(walker: Speaker, block: core.Block, cond: Span, known: bool) -> Diagnostic:
    """An arm that no execution reaches."""
    label = Label(cond, f"this is always {'true' if known else 'false'} here")
    return note(
        "N301", "no execution reaches this arm; it is dropped", block.span, labels=_distinct(block.span, (label,)),
        function=walker.function,
    )  # fmt: skip
