"""Runs the user's code once over symbolic sizes, and writes an Rx line for each torch function that it calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from types import FrameType
from typing import Any
from unittest.mock import patch

import sympy
import torch
from torch.overrides import TorchFunctionMode

from ...lang.dtypes import DTYPES
from ...lang.expressions import names_in
from ...lang.node import replace
from ...ops.model import TensorInfo
from ..onnx.literals import literal
from ..onnx.model import StoredInitializer
from ..onnx.names import ScopeNames
from . import places
from .data import Decided
from .impossible import instead
from .numbers import scalar
from .opening import opened
from .places import NO_PLACE, PythonPlace
from .ruled import is_traced, ruled, size_of
from .rules import RULES, Rule, keys, replaced
from .run import MOST_LINES, Input, ModuleCall, Step, Stopped, Trace, Unruled, brief
from .sizes import HINTED, PATCHES, SizeQuestion, TracedSizes, Unwritable, difference, hint_of, is_symbolic
from .strides import follow, once_each
from .tensors import VIEWS, NotTraced, TracedTensor, all_traced, paths, results, tensor_names, written_into
from .values import TORCH_DTYPES, Calls, Impossible, ListIndex, Reading, Value, is_static
from .wholes import standing

_FEW = 64  # larger constants are loaded; small ones are written out, since they may define shapes


@dataclass
class TracedLines:
    """The statements of one function of the program."""

    lines: list[tuple[str, Step]] = field(default_factory=list)


class Tracer(TorchFunctionMode):
    """One run of the user's code."""

    def __init__(
        self, hints: Mapping[str, int], rows: Mapping[Any, Callable[..., Any]], module: Any = None,
        otherwise: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        super().__init__()
        self.rows = rows
        self.rules = {id(key): rule for rule in RULES.values() for key in keys(rule)}
        self.hints = dict(hints)
        self.decided = Decided(otherwise)
        self.sizes = TracedSizes(self.asked)
        self.symbols = {name: self.sizes.symbol(name, hint) for name, hint in hints.items()}
        self.calls = Calls(Reading(self.sizes, self.fresh))
        self.names = ScopeNames(hints)
        self.body = TracedLines()
        self.externs: dict[str, str] = {}
        self.inputs: list[Input] = []
        self.weights: dict[tuple[int, int], Value] = {}
        self.kept: list[torch.Tensor] = []  # so that no id is used twice
        self.weight_types: dict[str, str] = {}
        self.weight_names, self.held = dict[str, str](), dict[str, torch.Tensor]()
        self.variables: dict[str, str] = {}
        self.fixed: dict[str, tuple[int, ...]] = {}
        self.supposed: list[Unruled] = []
        self.open_data: list[PythonPlace] = []
        self.firsts: dict[str, Any] = {}  # the number of packed sequences, by the text of their batch sizes
        self.facts: list[tuple[str, Step]] = []
        self.inside, self.impossible = 0, 0
        self.place: PythonPlace = NO_PLACE
        self.row: tuple[str, ...] = ()  # the variable that takes the current row of an iteration
        self.unread: set[Any] = set()
        self.module_calls: list[ModuleCall] = []
        self.within: tuple[int, ...] = ()
        self.types: dict[str, str] = {}
        self.module, self.paths = module, dict(paths(module))
        self.tensor_names = dict(tensor_names(module))
        self.op = ""
        self.promise, self.begin = tuple[str, ...](), NO_PLACE  # the types of the results, and where the code begins
        self.running: partial[Any] = partial(tuple)  # the call of the current row

    # Inputs

    def input(self, name: str, dtype: str, shape: Sequence[int | str], called: str) -> TracedTensor:
        """A tensor argument, whose sizes are numbers or names."""
        made = self.names.value(name)
        self.variables[made] = name
        self.inputs.append(Input(made, dtype, tuple(shape), called))
        self.types[made] = _type(map(str, shape), dtype)
        dims = tuple(size_of(d, self.symbols) if isinstance(d, str) else d for d in shape)
        return TracedTensor.made(self, Value(made, TensorInfo(dims, DTYPES[dtype]), is_name=True))

    def constant(self, tensor: torch.Tensor) -> Value:
        """A tensor with data: a parameter, a buffer or a number of the model's."""
        if _identity(tensor) in self.weights:
            return self.weights[_identity(tensor)]
        self.kept.append(tensor)
        dtype, shape = TORCH_DTYPES[tensor.dtype], tuple(tensor.shape)
        data = self._few(tensor)
        original = self.tensor_names.get(id(tensor), "")
        if data is not None and not original:
            text = literal(StoredInitializer("", dtype, shape, None, data, None))
            if text is not None:
                info = TensorInfo(shape, DTYPES[dtype], data if DTYPES[dtype].kind == "int" else None)
                return self._known(tensor, Value(text, info, is_weight=True))
        name = self.names.value(original or f"constant_{len(self.weight_names) + 1}")
        self.fixed[name] = shape
        self.types[name] = self.weight_types[name] = _type(map(str, shape), dtype)
        self.weight_names[name], self.held[name] = original or "a constant", tensor
        return self._known(tensor, Value(name, TensorInfo(shape, DTYPES[dtype]), is_name=True, is_weight=True))

    def _known(self, tensor: torch.Tensor, value: Value) -> Value:
        self.weights[_identity(tensor)] = value
        return value

    def _few(self, tensor: torch.Tensor) -> tuple[Any, ...] | None:
        most = 1 if tensor.is_floating_point() else _FEW  # floats may differ in another run
        if tensor.numel() > most or tensor.is_meta or tensor.is_complex():
            return None
        return tuple(tensor.detach().flatten().tolist())

    # For rows

    def let(self, value: Value, hints: Sequence[str] = ()) -> Any:
        """Bind a value by a line; return a Value, or a tuple of them."""
        if value.is_name and value.parts is None:
            return value
        infos = (value.info,) if value.parts is None else value.parts
        own = self.op.rpartition(".")[2].strip("_") or "v"
        hints = [hint or own for hint in (hints if len(hints) == len(infos) else ("",) * len(infos))]
        names = [self.names.fresh(hint) for hint in hints]
        self.variables.update(zip(names, hints, strict=True))
        head = names[0] if value.parts is None else f"({', '.join(names)}{',' * (len(names) == 1)})"
        self.write(f"let {head} = {value.text}")
        found = tuple(
            Value(name, info, is_name=True, is_weight=value.is_weight) for name, info in zip(names, infos, strict=True)
        )
        for one in found:
            self._read_back(one)
            self._fix(one)
            with suppress(Unwritable):
                self.types[one.text] = _type(map(self.sizes.text, one.shape), one.info.dtype)
        return found[0] if value.parts is None else found

    def fresh(self, hint: int) -> Any:
        """A size that only the program knows: it is read from the first value that has it."""
        name = self.names.fresh("n")
        found = self.sizes.symbol(name, hint)
        self.unread.add(found.node.expr)
        return found

    def _fix(self, value: Value) -> None:
        """Record that no size of a value is negative, and the sizes of the model's own values."""
        self.calls.reading.nonnegative |= {difference(n, 0) for n in value.shape if not isinstance(n, int)}
        if value.is_weight and all(map(is_static, value.shape)):
            self.fixed[value.text] = tuple(map(int, value.shape))

    def _read_back(self, value: Value) -> None:
        for axis, size in enumerate(value.shape):
            if isinstance(size, torch.SymInt) and size.node.expr in self.unread:
                self.unread.remove(size.node.expr)
                self.write(f"let {self.sizes.text(size)} = @item(@shape({value.text})[{axis}])")

    def scalar(self, value: Any, dtype: torch.dtype) -> Value:
        """A Python number as an operand beside tensors of a dtype."""
        return scalar(self, value, dtype)

    def write(self, text: str, kind: str = "call") -> None:
        if len(self.body.lines) == MOST_LINES:
            raise NotTraced(f"the code calls torch {MOST_LINES:,} times and goes on: does it end?")
        self.body.lines.append((text, self.step(kind)))

    def step(self, kind: str) -> Step:
        return Step(
            kind, self.op, self.place, self.module_calls[self.within[-1]].path if self.within else "", (), self.within
        )

    # Questions of the code

    def asked(self, question: SizeQuestion) -> Any:
        """Record a question that only a hint answers as a fact of this run, and return the answer."""
        place, frame = self.here()
        if question.is_truth and not self.is_input(question.expr):
            self.open_data.append(place)
            way = self.decided.way(bool(question.answer), place, frame)
            question = SizeQuestion(question.expr, sympy.sympify(way), True)
        before, self.place = self.place, place if not self.inside else self.place
        for kind, text in self._facts(self._kind(question, place), question):
            step = replace(self.step(kind), op=self.op if self.inside else self._asking())
            self.body.lines.append((f"assert {text}", step))
            self.facts.append((text, step))
        self.place = before
        return question.answer

    def here(self) -> tuple[PythonPlace, FrameType | None]:
        """The place that runs; if only torch runs, the place of the module's call."""
        place, frame = places.here()
        return self.module_calls[self.within[-1]].place if frame is None and self.within else place, frame

    def is_input(self, expr: Any) -> bool:
        """Whether an expression consists of sizes of the inputs alone."""
        return {str(s) for s in expr.free_symbols} <= set(self.hints)

    def _asking(self) -> str:
        """The module of torch that asks, if one does."""
        return self.module_calls[self.within[-1]].kind if self.within and places.is_of_torch() else ""

    def _facts(self, kind: str, question: SizeQuestion) -> list[tuple[str, str]]:
        """The fact that a question establishes; if Rx cannot express it, the numbers of its sizes."""
        try:
            return [(kind, self._fact(question))]
        except Unwritable:
            own = sorted({str(s) for s in question.expr.free_symbols})
            if set(own) <= set(self.hints):
                return [("number", f"{name} == {self.hints[name]}") for name in own]
            self.open_data.append(self.place)
            return []

    def _kind(self, question: SizeQuestion, place: PythonPlace) -> str:
        if not question.is_truth:
            return "number"
        if places.is_stating():
            return "stated"
        if self.inside:
            return "operation"
        asked = (step.place for _, step in self.facts)
        return "stated" if places.is_stated(place, bool(question.answer), asked) else "branch"

    def _fact(self, question: SizeQuestion) -> str:
        if not question.is_truth:
            return f"{self.sizes.text(question.expr)} == {int(question.answer)}"
        return self.sizes.text(question.expr if question.answer else sympy.Not(question.expr))

    def truth_of(self, x: TracedTensor) -> bool:
        """The truth of data: one path is taken, and reported."""
        place, frame = self.here()
        self.open_data.append(place)
        return self.decided.way(places.wanted(place) is not False, place, frame)

    def item_of(self, x: TracedTensor) -> Any:
        dtype = x.value.dtype
        with self.calling("item"):
            if dtype is torch.bool:
                return self.sizes.truth(self.names.fresh("truth"))
            if dtype.is_floating_point:
                return self.sizes.real(self.names.fresh("number"))
            return self.number_in(x.value)

    def number_in(self, value: Value) -> Any:
        """The only element of a tensor of integers, as a size."""
        if not value.rank and isinstance(value.info.sizes, (int, torch.SymInt)):
            return value.info.sizes
        found = sympy.Symbol(name := self.names.fresh((*filter(None, self._bound()), "n")[0]), integer=True)
        self.sizes.texts[found] = name
        self.write(f"let {name} = @item(@reshape({value.text}, []))")
        return self.sizes.number(found, 3)

    def _bound(self) -> tuple[str, ...]:
        """The names that take the result of the current call."""
        return self.row or places.bound_names(self.place)

    # Calls

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.called(func, args, kwargs or {})

    def called(self, func: Any, args: Any, kwargs: Any) -> Any:
        """One call of a torch function."""
        if getattr(func, "__name__", "") == "__get__" and func not in self.rows:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        is_of_sizes = getattr(func, "__name__", "").startswith(("sym_", "_sym_"))
        if is_of_sizes or not is_symbolic((args, kwargs)) and not any(True for _ in all_traced((args, kwargs))):
            return func(*args, **kwargs)  # on sizes, or on the model's own data alone
        if id(func) in self.rules:
            return self.by_rule(self.rules[id(func)], args, kwargs)
        if kwargs.get("out") is not None:
            return written_into(
                self, kwargs["out"], self.called(func, args, {k: v for k, v in kwargs.items() if k != "out"})
            )
        with self.calling(_name(func)):
            row = self.rows.get(func)
            return self._by_row(func, row, args, kwargs) if row is not None else self._supposed(func, args, kwargs)

    def by_rule(self, rule: Rule, args: Any, kwargs: Any) -> Any:
        """A call of a function with a user's rule."""
        with self.calling(rule.name):
            return ruled(self, rule, args, kwargs)

    @contextmanager
    def calling(self, op: str) -> Iterator[None]:
        before = self.place, self.op
        if not self.inside:
            self.place = self.here()[0]
            self.op = op
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1
            self.place, self.op = before

    def _by_row(self, func: Any, row: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        named = {_SAME.get(k, k): v for k, v in kwargs.items() if k not in _IGNORED}
        self.running = partial(func, *args, **kwargs)
        begun = len(self.body.lines)
        try:
            found = row(self, *map(self.taken, args), **{k: self.taken(v) for k, v in named.items()})
        except (NoRow, TypeError) as why:
            if isinstance(why, TypeError) and "argument" not in str(why):
                raise
            del self.body.lines[begun:]
            return self._supposed(func, args, kwargs)
        except Impossible as problem:
            return instead(self, problem, (args, kwargs))
        if getattr(row, "in_place", False) or named.get("inplace") is True:
            once_each(self, func, first := args[0] if args else None)
            return self.put(first, found)
        return self._viewed((func, args, kwargs), self.given(found))

    def put(self, target: Any, found: Value) -> Any:
        """Replace the value of a tensor by a result; its views keep only their shapes."""
        if not isinstance(target, TracedTensor):
            self.weights[_identity(target)] = self.let(found)
            return target
        if found is target.value:
            return target  # dropout may drop nothing
        hints = self._bound() or (self.variables.get(target.value.text, "v"),)
        target.value = self.let(found, hints)
        for other in target.family:
            if other is not target:
                call = "logical_xor" if other.value.dtype is torch.bool else "add"
                noise = self.scalar(self.sizes.real("number"), other.value.dtype)
                other.value = self.let(self.calls.call(call, other.value, noise))
        return target

    def _viewed(self, given: tuple[Any, Any, Any], found: Any) -> Any:
        func, args, _ = given
        follow(self, _name(func), given, found)
        base = args[0] if args else None
        if isinstance(base, TracedTensor) and getattr(func, "__name__", "") in VIEWS:
            for one in all_traced(found):
                one.joins(base)
        return found

    def taken(self, value: Any) -> Any:
        """An argument as rows take it: tensors as Values."""
        if isinstance(value, TracedTensor):
            return value.value
        if isinstance(value, torch.Tensor):
            return self.constant(value)
        if isinstance(value, slice):
            return slice(*(v.item() if hasattr(v, "item") else v for v in (value.start, value.stop, value.step)))
        if isinstance(value, (list, tuple)):
            return (ListIndex if isinstance(value, list) else tuple)(self.taken(v) for v in value)
        return value

    def given(self, found: Any) -> Any:
        """A row's result, as the user's code takes it."""
        hints = self._bound()
        if isinstance(found, Value):
            made = self.let(found, hints)
            return (
                tuple(TracedTensor.made(self, v) for v in made)
                if isinstance(made, tuple)
                else TracedTensor.made(self, made)
            )
        if isinstance(found, (list, tuple)):
            each = hints if len(hints) == len(found) else ("",) * len(found)
            made = tuple(
                TracedTensor.made(self, self.let(v, (h,) if h else ())) if isinstance(v, Value) else v
                for v, h in zip(found, each, strict=True)
            )
            return made if type(found) in (list, tuple) else type(found)(made)  # such as torch.return_types.max
        return found

    def _supposed(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The result of a call without a row, by torch's own symbolic shapes."""
        from .supposing import supposed  # it loads much of torch

        self.supposed.append(Unruled(self.op, self.place))
        found = supposed(self, func, args, kwargs)
        name = getattr(func, "__name__", "")
        if name.endswith("_") and not name.endswith("__") and isinstance(found, TracedTensor):
            return self.put(args[0], found.value)
        return self._viewed((func, args, kwargs), found)

    # The whole trace

    def run_user_code(self, code: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        return code(*args, **kwargs)

    def entered(self, module: Any, *_: Any) -> None:
        kind = type(module).__name__
        self.within += (len(self.module_calls),)
        place, frame = places.here()
        place = place if frame is not None else places.made(module)
        self.module_calls.append(ModuleCall(self.paths.get(id(module), kind), kind, place))

    def left(self, *_: Any) -> None:
        self.within = self.within[:-1]

    def trace(self, code: Callable[..., Any], args: Any, kwargs: Any) -> Trace:
        """The program of the code, as far as it runs."""
        stopped, result = None, None
        hooks = torch.nn.modules.module
        with ExitStack() as during:
            for name, value in PATCHES.items():
                during.enter_context(patch.object(torch.SymInt, name, value, create=True))
            during.enter_context(patch.dict(HINTED, clear=True))
            during.enter_context(opened(self.rows))
            during.enter_context(standing(self.module))
            during.enter_context(replaced(self.by_rule, is_traced))
            for hook in (
                hooks.register_module_forward_pre_hook(self.entered),
                hooks.register_module_forward_hook(self.left, always_call=True),
            ):
                during.callback(hook.remove)
            during.enter_context(torch.no_grad())
            during.enter_context(torch.random.fork_rng(devices=[]))
            torch.manual_seed(0)  # random numbers are the same in each run
            during.enter_context(self)
            try:
                result = self.run_user_code(code, args, kwargs)
            except Impossible:
                pass  # the program contains the call
            except Exception as problem:  # noqa: BLE001  # whatever the user's code raises
                stopped = self._stopped(problem)
        return self._whole(result, Stopped("", NO_PLACE) if self.impossible else stopped)

    def _stopped(self, problem: Exception) -> Stopped:
        place = places.of_traceback(problem)
        last = self.facts[-1] if self.facts else None
        said = str(problem) if isinstance(problem, NotTraced) else f"{type(problem).__name__}: {brief(problem)}"
        is_own = last is not None and last[1].kind in ("stated", "branch")
        is_unread = isinstance(problem, NotImplementedError) or not isinstance(problem, _REFUSALS)
        return Stopped(said, place, last[0] if is_own and last is not None else None, is_unread)

    def _promised(self, values: Sequence[Value]) -> None:
        """Write the types to prove of the results, at the lines that make them."""
        for value, kind in ((v, k) for v, k in zip(values, self.promise, strict=False) if k):
            made = (s for line, s in reversed(self.body.lines) if line.startswith(f"let {value.text} "))
            step = replace(next(made, Step("", "", self.begin)), kind="result")
            self.body.lines.append((f"let {self.names.fresh('result')} : {kind} = {value.text}", step))

    def _whole(self, result: Any, stopped: Stopped | None) -> Trace:
        values = [self.let(self.taken(t)) for t in results(result)] if stopped is None else []
        self._promised(values)
        names = [v.text for v in values] or [i.name for i in self.inputs[:1]]
        held = set(names_in(*(size for i in self.inputs for size in i.shape)))
        params = [f"{name} : Size" for name in self.symbols if name not in held]
        params += [f"{i.name} : Tensor([{', '.join(map(str, i.shape))}], {i.dtype})" for i in self.inputs]
        params += [f"{name} : {kind}" for name, kind in self.weight_types.items()]
        head = [*self.externs.values(), f"@main = fn({', '.join(params)}) {{"]
        end = [f"  {names[0]}" if len(names) == 1 else f"  ({', '.join(names)})", "}"]
        text = "\n".join([*head, *(f"  {line}" for line, _ in self.body.lines), *end]) + "\n"
        steps = {n: step for n, (_, step) in enumerate(self.body.lines, len(head) + 1)}
        return Trace(
            text, steps, tuple(self.inputs), self.weight_names, self.variables, tuple(v.text for v in values),
            tuple(self.supposed), tuple(dict.fromkeys(self.open_data)), tuple(self.facts), stopped, self.hints, self.fixed,
            tuple(tuple(map(self.sizes.text, v.shape)) for v in values),
            tuple(tuple(map(hint_of, v.shape)) for v in values), self.types, tuple(self.module_calls), self.held,
        )  # fmt: skip


# Exceptions with which code refuses its sizes.
_REFUSALS = (AssertionError, ValueError, RuntimeError, IndexError)


class NoRow(Exception):
    """Raised by a row for arguments that it has no expression for."""


_SAME = {"axis": "dim", "keepdims": "keepdim", "x": "input", "other_": "other"}
_IGNORED = frozenset({"device", "layout", "pin_memory", "requires_grad", "memory_format", "non_blocking", "generator"})


def _type(dims: Iterable[str], dtype: object) -> str:
    return f"Tensor([{', '.join(dims)}], {dtype})"


def _identity(tensor: torch.Tensor) -> tuple[int, int]:
    """A key of a tensor that changes when it is written into."""
    return id(tensor), tensor._version


@cache
def _name(func: Any) -> str:
    """The name of a torch function: `torch.cat`."""
    found = torch.overrides.resolve_name(func) if callable(func) else None
    return str(found or getattr(func, "__name__", func)).replace("torch.functional.", "torch.").removesuffix(".__get__")
