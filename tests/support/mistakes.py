"""A program's text, an operator and a seed to the text with one mistake in it: the slips that people make with shapes.

A mistake is stored as (program, operator, seed); `mutated` makes its text again, always the same one. Only bodies are changed,
never a signature: what a function is meant to do is what its signature says.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from rxlang.lang import sweet
from rxlang.lang.node import Node
from rxlang.lang.parser import parse
from rxlang.lang.source import Source, Span
from rxlang.lang.walk import children, walk
from rxlang.ops.elsewhere_args import integer
from rxlang.ops.model import PrimitiveParam
from rxlang.ops.registry import lookup

MOST_OF_ONE_OPERATOR = 0.12
AXES = ("axis", "axis1", "axis2", "source", "destination", "start", "end")
PRODUCTS = ("matmul", "vecdot", "tensordot", "outer", "einsum")
# Literals that an operator of their own changes.
OWN_OPERATOR = {*AXES, "axes", "pads", "strides", "dilations", "groups"}


class Mistake(NamedTuple):
    """One row of a corpus."""

    program: str
    operator: str
    seed: int


class Change(NamedTuple):
    """One replacement in a text."""

    start: int
    end: int
    text: str


class Mutant(NamedTuple):
    """The text with the mistake, and the line, from 1, that the mistake begins in: its number is the same in both texts."""

    text: str
    line: int


# What a program has in it


@dataclass
class Place:
    """A node of a body: what it lies in, from the inside, and the function."""

    node: Node
    above: tuple[Node, ...]
    scope: Scope


@dataclass
class Scope:
    """The names of one function with their sorts, and where each is bound."""

    fn: sweet.FnDecl
    sorts: dict[str, str] = field(default_factory=dict)
    bound: dict[str, int] = field(default_factory=dict)

    def bind(self, name: str, sort: str, place: int) -> None:
        if name != "_" and name not in self.sorts:
            self.sorts[name], self.bound[name] = sort, place

    def sort(self, expr: Node) -> str:
        match expr:
            case sweet.Name(name=name):
                return self.sorts.get(name, "")
            case sweet.IntLit():
                return "size"
            case sweet.Binary(left=left):
                return self.sort(left)
            case sweet.Unary(operand=operand):
                return self.sort(operand)
            case sweet.Call() | sweet.Index() | sweet.For():
                return "tensor"
            case sweet.ListExpr():
                return "list"
        return ""


def _scope(item: sweet.FnDecl) -> Scope:
    scope = Scope(item)
    for param in item.fn.params:
        scope.bind(param.name.name, _sort_of_type(param.type), 0)
        _bind_sizes(scope, param.type)
    assert item.fn.body is not None
    for node in walk(item.fn.body):
        if isinstance(node, sweet.Let):
            _bind_let(scope, node)
        elif isinstance(node, sweet.Carry):
            sort = scope.sort(node.init) if node.type is None else _sort_of_type(node.type)
            scope.bind(node.name.name, sort, node.span.end)
        elif isinstance(node, sweet.For):
            scope.bind(node.index.name, "size", node.iterable.span.end)
    return scope


def _bind_let(scope: Scope, let: sweet.Let) -> None:
    sort = "tensor" if let.is_tuple else scope.sort(let.value) if let.type is None else _sort_of_type(let.type)
    for name in let.names:
        scope.bind(name.name, sort, let.span.end)


def _sort_of_type(type: sweet.Type | None) -> str:
    match type:
        case sweet.NamedType(name=name, args=args):
            return "tuple" if args else {"Size": "size"}.get(name, "tensor")
        case sweet.TupleType():
            return "tuple"
    return "tensor"


def _bind_sizes(scope: Scope, node: Node | None) -> None:
    match node:
        case sweet.TensorType(shape=sweet.ListExpr() as shape):
            for dim in shape.items:
                _bind_sizes(scope, dim)
        case sweet.Name(name=name):
            scope.bind(name, "size", 0)
        case sweet.Binary(left=left, right=right):
            _bind_sizes(scope, left)
            _bind_sizes(scope, right)
        case sweet.TupleType(items=items) | sweet.NamedType(args=items):
            for item in items:
                _bind_sizes(scope, item)


@lru_cache(maxsize=32)
def places(text: str) -> tuple[Place, ...]:
    """The nodes of all bodies, in the order of the text."""
    module, problems = parse(Source("program.rx", text))
    assert not problems, text
    found: list[Place] = []
    for item in module.items:
        if isinstance(item, sweet.FnDecl) and item.fn.body is not None:
            _collect(item.fn.body, (), _scope(item), found)
    return tuple(found)


def _collect(node: Node, above: tuple[Node, ...], scope: Scope, found: list[Place]) -> None:
    found.append(Place(node, above, scope))
    for child in children(node):
        _collect(child, (node, *above), scope, found)


def _span(node: Node) -> Span:
    span: Span = node.span  # type: ignore[attr-defined]
    return span


def _text(node: Node) -> str:
    return _span(node).text


def _put(node: Node, text: str) -> Change:
    return Change(_span(node).start, _span(node).end, text)


def _swap(first: Node, second: Node) -> Change:
    a, b = _span(first), _span(second)
    between = a.source.text[a.end : b.start]
    return Change(a.start, b.end, b.text + between + a.text)


def _callee(node: Node) -> str:
    return node.callee.name if isinstance(node, sweet.Call) and isinstance(node.callee, sweet.FnName) else ""


def _named(call: Node) -> dict[str, sweet.Arg]:
    """The arguments of a primitive's call by the names of its parameters."""
    row = lookup(_callee(call))
    if row is None or not isinstance(call, sweet.Call):
        return {}
    names = [p.name for p in row.params]
    pairs = (
        (arg.name.name if arg.name else names[i] if i < len(names) else "", arg) for i, arg in enumerate(call.args)
    )
    return dict(pairs)


def _without(call: sweet.Call, arg: sweet.Arg) -> Change:
    """The call without an argument that is not its first one."""
    before = call.args[call.args.index(arg) - 1]
    return Change(before.span.end, arg.span.end, "")


def _unwrapped(place: Place, names: tuple[str, ...]) -> Iterator[Change]:
    if _callee(place.node) in names and isinstance(place.node, sweet.Call):
        inner = place.node.args[0].value
        tight = isinstance(inner, sweet.Binary | sweet.Unary) and isinstance(
            place.above[0], sweet.Binary | sweet.Unary | sweet.Index
        )
        yield _put(place.node, f"({_text(inner)})" if tight else _text(inner))


# The operators: each yields what it could do at a place


def wrong_axis(place: Place) -> Iterator[Change]:
    for name, arg in _named(place.node).items():
        if name not in AXES:
            continue
        for expr in arg.value.items if isinstance(arg.value, sweet.ListExpr) else (arg.value,):
            axis = integer(expr)
            if axis is not None:
                others = (axis - 1, axis + 1, -1) if axis > 0 else (1, -1) if axis == 0 else (axis - 1, 1, 0)
                yield from (_put(expr, str(o)) for o in dict.fromkeys(others) if o != axis)


def swapped_operands(place: Place) -> Iterator[Change]:
    node = place.node
    if isinstance(node, sweet.Binary) and place.scope.sort(node) == "tensor":
        yield _swap(node.left, node.right)
    if _callee(node) not in PRODUCTS or not isinstance(node, sweet.Call):
        return
    operands = [a.value for a in node.args if a.name is None]
    if isinstance(operands[-1], sweet.ListExpr):
        operands = list(operands[-1].items)
    if len(operands) >= 2:
        yield _swap(operands[0], operands[1])


def transpose(place: Place) -> Iterator[Change]:
    yield from _unwrapped(place, ("matrix_transpose", "permute_dims", "swapaxes", "moveaxis"))
    operands = _named(place.node)
    if _callee(place.node) in ("matmul", "linear", "dense"):
        for name in ("x", "y", "weight"):
            if name in operands and _callee(operands[name].value) != "matrix_transpose":
                yield _put(operands[name].value, f"@matrix_transpose({_text(operands[name].value)})")


def wrong_permutation(place: Place) -> Iterator[Change]:
    axes = _named(place.node).get("axes")
    if _callee(place.node) == "permute_dims" and axes is not None and isinstance(axes.value, sweet.ListExpr):
        items = axes.value.items
        yield from (_swap(items[i], items[j]) for i in range(len(items)) for j in range(i + 1, len(items)))


def keepdims_dropped(place: Place) -> Iterator[Change]:
    keepdims = _named(place.node).get("keepdims")
    if keepdims is not None and isinstance(place.node, sweet.Call):
        yield _without(place.node, keepdims)


def pad(place: Place) -> Iterator[Change]:
    pads = _named(place.node).get("pads")
    if pads is None or not isinstance(pads.value, sweet.ListExpr) or not isinstance(place.node, sweet.Call):
        return
    if _callee(place.node) != "pad":
        yield _without(place.node, pads)
        for by in (-1, 1):
            yield _put(pads.value, f"[{', '.join(_moved_pair(p, by) for p in pads.value.items)}]")
    for pair in pads.value.items:
        if isinstance(pair, sweet.TupleExpr):
            for side in pair.items:
                yield from _off_by_one(side)


def _moved_pair(pair: Node, by: int) -> str:
    sides = pair.items if isinstance(pair, sweet.TupleExpr) else ()
    values = [integer(s) for s in sides]
    return f"({', '.join(_text(s) if v is None else str(max(v + by, 0)) for s, v in zip(sides, values, strict=True))})"


def _off_by_one(expr: Node) -> Iterator[Change]:
    match expr:
        case sweet.IntLit(value=value):
            yield from (_put(expr, str(v)) for v in (value - 1, value + 1) if v >= 0)
        case sweet.Binary(left=left, right=sweet.IntLit(value=1)):
            yield _put(expr, _text(left))


def stride(place: Place) -> Iterator[Change]:
    strides = _named(place.node).get("strides")
    if strides is None or not isinstance(strides.value, sweet.ListExpr) or not isinstance(place.node, sweet.Call):
        return
    yield _without(place.node, strides)
    values = [integer(i) or 1 for i in strides.value.items]
    for by in (-1, 1):
        if min(values) + by >= 1:
            yield _put(strides.value, f"[{', '.join(str(v + by) for v in values)}]")
    yield _put(strides.value.items[-1], str(values[-1] + 1))


def literal(place: Place) -> Iterator[Change]:
    """A literal size, count or bound is one too large or too small, or a `- 1` is forgotten."""
    if (
        isinstance(place.node, sweet.IntLit | sweet.Binary)
        and place.scope.sort(place.node) == "size"
        and not _has_own_operator(place)
    ):
        yield from _off_by_one(place.node)


def _has_own_operator(place: Place) -> bool:
    for above in (place.node, *place.above):
        if isinstance(above, sweet.Unary):
            return True
        for outer in place.above:
            if above in [arg for name, arg in _named(outer).items() if name in OWN_OPERATOR]:
                return True
    return False


def missing_repeat(place: Place) -> Iterator[Change]:
    yield from _unwrapped(place, ("repeat", "tile", "broadcast_to", "upsample", "resize"))


def missing_reshape(place: Place) -> Iterator[Change]:
    yield from _unwrapped(place, ("reshape", "flatten", "squeeze", "expand_dims"))


def wrong_name(place: Place) -> Iterator[Change]:
    node, scope = place.node, place.scope
    if isinstance(node, sweet.Name) and scope.sort(node) in ("tensor", "size"):
        for other, sort in scope.sorts.items():
            if other != node.name and sort == scope.sort(node) and scope.bound[other] < node.span.start:
                yield _put(node, other)


def swapped_arguments(place: Place) -> Iterator[Change]:
    if not isinstance(place.node, sweet.Call) or _callee(place.node) in ("", *PRODUCTS):
        return
    given = [a.value for a in place.node.args if a.name is None]
    for i, first in enumerate(given):
        for second in given[i + 1 :]:
            if place.scope.sort(first) == place.scope.sort(second) in ("tensor", "size"):
                yield _swap(first, second)


def range_off_by_one(place: Place) -> Iterator[Change]:
    if not isinstance(place.node, sweet.For) or not isinstance(place.node.iterable, sweet.Call):
        return
    bounds = [a.value for a in place.node.iterable.args]
    stop = bounds[0] if len(bounds) == 1 else bounds[1]
    yield from (_put(stop, f"{_text(stop)} {by}") for by in ("- 1", "+ 1"))
    yield from _off_by_one(stop)
    if len(bounds) == 1:
        yield _put(stop, f"1, {_text(stop)}")


def kept_size(place: Place) -> Iterator[Change]:
    """What a loop carries is said to stay as it is, where it grows; or nothing is said of it."""
    node, loop = place.node, place.above[0] if place.above else None
    if not isinstance(node, sweet.Carry) or not isinstance(loop, sweet.For) or node.type is None:
        return
    for dim in [n for n in walk(node.type) if isinstance(n, sweet.Binary)]:
        for side, other in ((dim.left, dim.right), (dim.right, dim.left)):
            if isinstance(other, sweet.Name) and other.name == loop.index.name:
                yield _put(dim, _text(side))
                yield Change(node.name.span.end, node.type.span.end, "")


def wrong_index(place: Place) -> Iterator[Change]:
    """`x[:, i]` for `x[i]` or the other way round, or another place than the one that is meant."""
    if not isinstance(place.node, sweet.Index):
        return
    items = place.node.items
    for k, item in enumerate(items):
        if isinstance(item, sweet.SliceItem | sweet.Dots):
            continue
        yield Change(_span(item).start, _span(item).start, ":, ")
        if k > 0 and _text(items[k - 1]) == ":":
            yield Change(_span(items[k - 1]).start, _span(item).start, "")
        if isinstance(item, sweet.Name):
            yield _put(item, f"{_text(item)} + 1")
        yield from _off_by_one(item)


OPERATORS: dict[str, Callable[[Place], Iterator[Change]]] = {
    "wrong axis": wrong_axis,
    "swapped operands": swapped_operands,
    "missing or extra transpose": transpose,
    "wrong permutation": wrong_permutation,
    "keepdims dropped": keepdims_dropped,
    "pad": pad,
    "stride": stride,
    "literal off by one": literal,
    "missing repeat": missing_repeat,
    "missing reshape": missing_reshape,
    "wrong name of the same sort": wrong_name,
    "swapped arguments": swapped_arguments,
    "range off by one": range_off_by_one,
    "carry keeps its size": kept_size,
    "wrong index": wrong_index,
}


# Operators of round 9: what the rounds before do not have


def layout(place: Place) -> Iterator[Change]:
    """The axes of an operand are moved that had the right order."""
    operand = _named(place.node).get("x")
    if operand is None:
        return
    if _callee(place.node) in ("conv1d", "max_pool1d"):
        yield _put(operand.value, f"@swapaxes({_text(operand.value)}, 1, 2)")
    elif _callee(place.node) in ("conv2d", "max_pool2d"):
        for axes in ("[0, 3, 1, 2]", "[0, 2, 3, 1]"):
            yield _put(operand.value, f"@permute_dims({_text(operand.value)}, {axes})")


def batch_first(place: Place) -> Iterator[Change]:
    """A function of the program is given the first two axes of an argument in the other order."""
    if _callee(place.node) and lookup(_callee(place.node)) is None and isinstance(place.node, sweet.Call):
        for arg in place.node.args:
            if place.scope.sort(arg.value) == "tensor":
                inner = _named(arg.value).get("x")
                swaps = _callee(arg.value) == "swapaxes" and inner is not None
                yield _put(arg.value, _text(inner.value) if swaps and inner else f"@swapaxes({_text(arg.value)}, 0, 1)")


def not_shifted(place: Place) -> Iterator[Change]:
    """A slice that shifts by one is forgotten."""
    node = place.node
    if isinstance(node, sweet.Index) and any(isinstance(i, sweet.SliceItem) and _text(i) != ":" for i in node.items):
        yield _put(node, _text(node.value))


def dimension(place: Place) -> Iterator[Change]:
    """A parameter is declared with another size of the signature."""
    if place.above:
        return
    names = [n for n, sort in place.scope.sorts.items() if sort == "size" and place.scope.bound[n] == 0]
    for param in place.scope.fn.fn.params:
        for name in [n for n in walk(param.type) if isinstance(n, sweet.Name) and n.name in names]:
            yield from (_put(name, other) for other in names if other != name.name)


def column(place: Place) -> Iterator[Change]:
    """An operand has a last axis of one element too many, or the other way round."""
    if not isinstance(place.node, sweet.Binary) and not _callee(place.node).endswith("_loss"):
        return
    operands = [a.value for n, a in _named(place.node).items() if n in ("x", "target")]
    if isinstance(place.node, sweet.Binary):
        operands = [place.node.left, place.node.right]
    for operand in operands:
        if place.scope.sort(operand) == "tensor":
            yield _put(operand, f"@expand_dims({_text(operand)}, axis=-1)")


def keepdims_added(place: Place) -> Iterator[Change]:
    given = _named(place.node)
    if "axis" in given and "keepdims" not in given and any(p.name == "keepdims" for p in _params(place.node)):
        yield Change(given["axis"].span.end, given["axis"].span.end, ", keepdims=true")


def _params(node: Node) -> Sequence[PrimitiveParam]:
    row = lookup(_callee(node))
    return row.params if row is not None else ()


def equation(place: Place) -> Iterator[Change]:
    """Two letters of an equation, beside each other, changed places."""
    text = _named(place.node).get("equation")
    if text is None:
        return
    start, letters = text.value.span.start, _text(text.value)
    for i in range(len(letters) - 1):
        if letters[i].isalpha() and letters[i + 1].isalpha():
            yield Change(start + i, start + i + 2, letters[i + 1] + letters[i])


def joined(place: Place) -> Iterator[Change]:
    """Tensors are joined along an axis for put beside each other along a new one, or the other way round."""
    other = {"stack": "concat", "concat": "stack"}.get(_callee(place.node))
    if other is not None and isinstance(place.node, sweet.Call):
        yield _put(place.node.callee, f"@{other}")


def fewer_axes(place: Place) -> Iterator[Change]:
    """Of several axes only one is reduced, or added."""
    axis = _named(place.node).get("axis")
    if axis is not None and isinstance(axis.value, sweet.ListExpr):
        yield from (_put(axis.value, _text(item)) for item in axis.value.items)


def next_turn(place: Place) -> Iterator[Change]:
    """A loop that looks ahead or back has a turn too many."""
    node = place.node
    if isinstance(node, sweet.For) and isinstance(node.iterable, sweet.Call):
        stop = node.iterable.args[-1].value
        if isinstance(stop, sweet.Binary) and stop.op == "-":
            yield _put(stop, _text(stop.left))
            yield from _off_by_one(stop.right)


def results_exchanged(place: Place) -> Iterator[Change]:
    """Two names of a tuple changed places, or two of its parts."""
    if isinstance(place.node, sweet.Let) and len(place.node.names) == 2:
        yield _swap(*place.node.names)
    if isinstance(place.node, sweet.TupleExpr) and len(place.node.items) == 2:
        yield _swap(*place.node.items)


LATER_OPERATORS: dict[str, Callable[[Place], Iterator[Change]]] = {
    "layout moved": layout,
    "batch first": batch_first,
    "not shifted": not_shifted,
    "wrong dimension in the signature": dimension,
    "column for a row": column,
    "keepdims added": keepdims_added,
    "letters of an equation": equation,
    "stack for concat": joined,
    "fewer axes": fewer_axes,
    "one turn too many": next_turn,
    "results exchanged": results_exchanged,
}


def changes(text: str, operator: str) -> list[Change]:
    """All that an operator could do to a program, in the order of the text."""
    makes = {**OPERATORS, **LATER_OPERATORS}[operator]
    return [change for place in places(text) for change in makes(place)]


def mutated(text: str, operator: str, seed: int) -> Mutant | None:
    """The program with the mistake that the seed picks; None where there is no place for it, or where it changes nothing."""
    found = changes(text, operator)
    if not found:
        return None
    change = random.Random(f"{operator} {seed}").choice(found)
    after = text[: change.start] + change.text + text[change.end :]
    return Mutant(after, _first_difference(text, after)) if after != text else None


def _first_difference(text: str, after: str) -> int:
    same = next((i for i, (a, b) in enumerate(zip(text, after, strict=False)) if a != b), min(len(text), len(after)))
    return text.count("\n", 0, same) + 1


# Corpora

ROOT = Path(__file__).resolve().parents[2]


class Corpus(NamedTuple):
    """A file of rows; and for who draws others the programs, their paths below the root, how many mistakes, the first seed."""

    file: Path
    programs: tuple[str, ...]
    count: int
    first_seed: int
    operators: Collection[str] = tuple(OPERATORS)


def _below(folder: str, names: str) -> list[str]:
    return [f"{folder}/{name}.rx" for name in names.split()]


def _all_of(folder: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / folder).glob("*.rx"))


def _round(number: int, count: int, *others: str) -> Corpus:
    """Mistakes that measure fixes which were made before them (tests/corpora/mistakes/README.md)."""
    folder = f"tests/corpora/mistakes/round_{number}"
    return Corpus(ROOT / folder / "mistakes.jsonl", (*_all_of(folder), *others), count, 1000 * number)


CORPORA = {
    "own": Corpus(ROOT / "tests" / "data" / "mistakes.jsonl", (
        *_all_of("tests/data/architectures"),
        *_below("examples", "decoder/decoder search/search unet/unet"),
        *_below("tests/programs", "beam_step cross_attention gpt_loss graph_convolution greedy_decoding"),
        *_below("tests/programs", "lstm_by_cell mixture_of_experts rnnt_joint state_space wavenet"),
    ), 160, 0),
    "round_1": _round(
        1, 150,
        *_below("examples", "detect/detect resnet/resnet"),
        *_below("tests/programs", "ctc diffusion gan kalman_filter mel_spectrogram ragged_batches swin vit"),
    ),
    "round_2": _round(
        2, 150,
        *_below("examples", "ffn/ffn gpt minilm/attention mlp"),
        *_below("tests/programs", "batch_norm_training contrastive cross_entropy flash_attention gaussian_mixture"),
        *_below("tests/programs", "k_means lstm_by_sequence mobilenet nms pointnet sinkhorn viterbi vq_vae"),
    ),
    "round_3": _round(3, 150),
    "round_4": _round(4, 100),
    "round_5": _round(5, 200),
    "round_6": _round(6, 120),
    "round_7": _round(7, 100),
    "round_8": _round(8, 100),
    "round_9": _round(9, 110)._replace(operators=(*LATER_OPERATORS, "wrong axis", "wrong index")),
}  # fmt: skip


def read_programs(corpus: Corpus) -> dict[str, str]:
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in corpus.programs}


def read_mistakes(corpus: Corpus) -> list[Mistake]:
    lines = corpus.file.read_text(encoding="utf-8").splitlines()
    return [Mistake(row["program"], row["operator"], row["seed"]) for row in map(json.loads, lines)]


def written(mistakes: list[Mistake], programs: dict[str, str]) -> str:
    """The lines of a corpus: what makes each mistake, and for a reader (and the test) its line before and after."""
    rows = []
    for mistake in mistakes:
        text = programs[mistake.program]
        mutant = mutated(text, mistake.operator, mistake.seed)
        assert mutant is not None, mistake
        was, becomes = (t.split("\n")[mutant.line - 1].strip() for t in (text, mutant.text))
        rows.append({**mistake._asdict(), "line": mutant.line, "was": was, "becomes": becomes})
    return "".join(json.dumps(row) + "\n" for row in rows)


def drawn(corpus: Corpus, is_wrong: Callable[[str, str], bool], tries: int = 120) -> list[Mistake]:
    """Different mistakes, the operators in turn; `is_wrong(program, text)` leaves out those that keep shapes."""
    programs, count, first_seed = read_programs(corpus), corpus.count, corpus.first_seed
    seeds = {operator: iter(range(first_seed, first_seed + tries)) for operator in corpus.operators}
    found: dict[str, Mistake] = {}
    while len(found) < count and seeds:
        for operator in [o for o in corpus.operators if o in seeds]:
            most = sum(m.operator == operator for m in found.values()) + 1 > MOST_OF_ONE_OPERATOR * count
            mistake = None if most else _next(programs, operator, seeds[operator], found, is_wrong)
            if mistake is None:
                del seeds[operator]
            elif len(found) < count:
                found[_mutant_text(programs, mistake)] = mistake
    return sorted(found.values())


def _next(
    programs: dict[str, str],
    operator: str,
    seeds: Iterator[int],
    found: dict[str, Mistake],
    is_wrong: Callable[[str, str], bool],
) -> Mistake | None:
    for seed in seeds:
        program = random.Random(f"program {operator} {seed}").choice(sorted(programs))
        mutant = mutated(programs[program], operator, seed)
        if mutant is not None and mutant.text not in found and is_wrong(program, mutant.text):
            return Mistake(program, operator, seed)
    return None


def _mutant_text(programs: dict[str, str], mistake: Mistake) -> str:
    mutant = mutated(programs[mistake.program], mistake.operator, mistake.seed)
    assert mutant is not None
    return mutant.text
