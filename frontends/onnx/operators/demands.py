"""The standard's conditions on the shapes of an operator's inputs, where our primitives accept more.

The shape of a constant, or of an input of the model, is known here, and a wrong one is refused. Other shapes are asserted,
and the check decides; with a ~ the primitive imposes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .registry import Reader, Untranslatable, listed, quoted

# name@version: the inputs in order, each with its shape. A ? is any size, an r the rank of input 0, an o the number of
# outputs; after a | stands another shape that the standard allows, or that exporters write.
_LINES = """
AffineGrid@20: theta; size ~[?]
BlackmanWindow@17: size []
CenterCropPad@18: input_data; shape ~[?]
Clip@11: input; min [] | [1]; max [] | [1]
ConstantOfShape@9: input ~[?]
ConvInteger@10: x; w; x_zero_point [] | [1]
Col2Im@18: input; image_shape ~[?]; block_shape ~[?]
CumProd@26: x; axis [] | [1]
CumSum@11: x; axis [] | [1]
DFT@17: input; dft_length []
DFT@20: input; dft_length []; axis []
Dropout@12: data; ratio []; training_mode []
Expand@8: input; shape ~[?]
Gemm@7: A [?, ?]; B [?, ?]
HammingWindow@17: size []
HannWindow@17: size []
MelWeightMatrix@17: num_mel_bins []; dft_length []; sample_rate []; lower_edge_hertz []; upper_edge_hertz []
NonMaxSuppression@10: boxes; scores; max_output_boxes_per_class [1] | []; iou_threshold [1] | []; score_threshold [1] | []
OneHot@9: indices; depth [1] | []
Pad@11: data; pads [2 * r]; constant_value [] | [1]
Pad@18: data; pads [?]; constant_value [] | [1]; axes [?]
Range@11: start [] | [1]; limit [] | [1]; delta [] | [1]
ReduceL1@18: data; axes [?]
ReduceL2@18: data; axes [?]
ReduceLogSum@18: data; axes [?]
ReduceLogSumExp@18: data; axes [?]
ReduceMax@18: data; axes [?]
ReduceMean@18: data; axes [?]
ReduceMin@18: data; axes [?]
ReduceProd@18: data; axes [?]
ReduceSum@13: data; axes [?]
ReduceSumSquare@18: data; axes [?]
Reshape@5: data; shape ~[?]
Resize@10: X; scales [?]
Resize@11: X; roi; scales [?]; sizes [?]
STFT@17: signal; frame_step [] | [1]; window; frame_length [] | [1]
Slice@10: data; starts ~[?]; ends ~[?]; axes ~[?]; steps ~[?]
Split@13: input; split [o]
Squeeze@13: data; axes [?]
Tile@6: input; repeats [r]
TopK@10: X; K [1]
Trilu@14: X; k [] | [1]
Unsqueeze@13: data; axes [?] | []
Upsample@9: X; scales [?]
com.microsoft.BiasGelu: A; B [?]
com.microsoft.ExpandDims: X; axis [] | [1]
com.microsoft.FusedGemm: A [?, ?]; B [?, ?]
com.microsoft.Range: start [] | [1]; limit [] | [1]; delta [] | [1]
com.microsoft.SkipLayerNormalization: input [?, ?, ?] | [?, ?]; skip [?, ?, ?] | [?, ?]
com.microsoft.SkipSimplifiedLayerNormalization: input [?, ?, ?] | [?, ?]; skip [?, ?, ?] | [?, ?]
com.microsoft.Trilu: X; k [] | [1]
"""
Sizes = tuple[str, ...]


class Form(NamedTuple):
    """An input's name and its possible shapes, the standard's first; `late` if a primitive imposes them. `why` names another
    reason."""

    name: str
    shapes: tuple[Sizes, ...]
    late: bool = False
    why: str = ""


def _form(text: str) -> Form:
    name, _, rest = text.strip().partition(" ")
    shapes = rest.removeprefix("~").split(" | ") if rest else []
    return Form(name, tuple(tuple(s[1:-1].split(", ")) if s != "[]" else () for s in shapes), rest.startswith("~"))


_FORMS: dict[str, list[tuple[int, list[Form]]]] = {}
for _line in _LINES.strip().splitlines():
    _head, _, _text = _line.partition(": ")
    _name, _, _since = _head.partition("@")
    _FORMS.setdefault(_name, []).insert(0, (int(_since or 1), [_form(part) for part in _text.split(";")]))


def ask(node: Reader) -> None:
    """Refuse a node whose inputs have shapes that its operator does not take, or assert the right ones."""
    domain, name = node.operation.domain, node.operation.op_type
    of_version = _FORMS.get(f"{domain}.{name}" if domain else name, ())
    forms: Sequence[Form] = next((forms for since, forms in of_version if since <= node.version), ())
    for at, form in enumerate(forms):
        if form.shapes and node.has(at):
            demand(node, at, form)


def demand(node: Reader, at: int, form: Form) -> None:
    """Refuse or assert the shape of one input."""
    shape, wanted = node.shape(at), [_counted(node, sizes) for sizes in form.shapes]
    if shape is None:
        possible = [] if form.late else wanted
    elif any(_fits(shape, sizes) for sizes in wanted):
        return
    else:
        possible = [sizes for sizes in wanted[:1] if _may_fit(shape, sizes)]
        if not possible:
            own = listed(["?" if size is None else size for size in shape])
            said = f"`{form.name}` has to be {_words(node, form)}, but `{node.operation.inputs[at]}` is {own}"
            raise Untranslatable(said)
    if possible:
        text = " || ".join(_condition(node.x(at), sizes) for sizes in possible)
        node.scope.demand(f"{text}, {quoted(f'{form.name} is {_words(node, form)}')}")


def of_rank(node: Reader, rank: int, why: str) -> None:
    """Refuse or assert the rank of input 0, which follows from attributes."""
    demand(node, 0, Form("X", (("?",) * rank,), why=why))


def _counted(node: Reader, sizes: Sizes) -> Sizes:
    """The sizes with numbers for known properties of the node, and with the program's text for the rank of input 0."""
    first = node.shape(0)
    rank = f"{node.x(0)}.rank" if first is None else str(len(first))
    said = {
        "o": str(len(node.operation.outputs)),
        "r": rank,
        "2 * r": f"{rank} * 2" if first is None else str(2 * len(first)),
    }
    return tuple(said.get(size, size) for size in sizes)


def _fits(shape: Sequence[object], sizes: Sizes) -> bool:
    return len(shape) == len(sizes) and all(s in ("?", str(own)) for own, s in zip(shape, sizes, strict=True))


def _may_fit(shape: Sequence[object], sizes: Sizes) -> bool:
    """Whether a shape fits if its symbolic sizes have the right values."""
    pairs = zip(shape, sizes, strict=False)
    return len(shape) == len(sizes) and not any(
        isinstance(own, int) and s.isdecimal() and s != str(own) for own, s in pairs
    )


def _condition(x: str, sizes: Sizes) -> str:
    return f"{x}.rank == {len(sizes)}" if set(sizes) <= {"?"} else f"{x}.shape == {listed(sizes)}"


def _words(node: Reader, form: Form) -> str:
    """The standard's description of an input."""
    match form.shapes[0]:
        case ():
            return "one number"
        case ("1",):
            return "a row of one number"
        case ("o",):
            return "a row of one number for each output"
        case ("r" | "2 * r" as count,):
            return f"a row of {'one number' if count == 'r' else 'two numbers'} for each axis of `{node.operation.inputs[0]}`"
        case sizes:
            return f"a tensor of rank {len(sizes)}{form.why}"
