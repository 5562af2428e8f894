"""Gradient rules that depend on the form of a call: the number of its axes, or their order."""

from __future__ import annotations

from collections.abc import Callable
from string import ascii_letters

from . import layers, windows
from .texts import Texts, Written, args_of, axes_of, items_of, list_of, moved

_MOVED = ("tile", "repeat_each", "diagonal", "gather_nd")


def _permuted(texts: Texts) -> str | None:
    axes = axes_of(texts["axes"])
    if axes is None:
        return "@permute_dims(g)" if texts["axes"] == "none" else None
    places = [a % len(axes) for a in axes]
    return f"@permute_dims(g, axes={[places.index(i) for i in range(len(axes))]})"


def _rolled(texts: Texts) -> str | None:
    shifts = items_of(texts["shift"])
    back = ", ".join(f"0 - (shift_{i})" for i in range(len(shifts or ())))
    return None if shifts is None else f"@roll(g, [{back}]<<, axis=axis>>)"


def _around(axis: int, middle: str) -> tuple[str, str, str]:
    """Return the sizes of x around an axis: the names of a pattern, the pattern, and the sizes with another one in the
    middle."""
    names = [f"d{i}" for i in range(axis if axis >= 0 else -axis - 1)]
    sides = [*names, "n", "*rest"] if axis >= 0 else ["*rest", "n", *names]
    made = [middle if s == "n" else s for s in sides]
    return ", ".join([*names, "n", "rest"]), ", ".join(sides), ", ".join(m for m in made if m)


def _taken(texts: Texts) -> str | None:
    """The gradient of rows taken by index: repeated rows add up."""
    axis = 0 if texts["axis"] == "none" else int(texts["axis"])
    kind = texts["indices kind"]
    if kind == "tensor" and axis == 0:
        return '@scatter_nd(@zeros(x.shape, x.dtype), @expand_dims(indices, axis=-1), g, reduction="add")'
    if kind == "tensor":
        bound, sides, made = _around(axis, "places.dim(0)")
        return (
            "let places = @reshape(indices, [-1])\n"
            f"match_shape(x, [{bound}], [{sides}])\n"
            f"let rows = @moveaxis(@reshape(g, [{made}]), {axis}, 0)\n"
            f"let whole = @zeros_like(@moveaxis(x, {axis}, 0))\n"
            f'@moveaxis(@scatter_nd(whole, @expand_dims(places, axis=-1), rows, reduction="add"), 0, {axis})'
        )
    index = texts["indices"]
    place = f"tensor([{index}], int64)" if kind == "number" else "@expand_dims(@size_to_tensor(indices), axis=0)"
    return f"@put(@zeros(x.shape, x.dtype), {place}, @expand_dims(g, axis={axis}), axis={axis})"


def _put_updates(texts: Texts) -> str:
    """The gradient of `updates`; the last of several updates of one place counts."""
    axis = int(texts["axis"])
    return (
        "let place = @arange(indices.dim(0))\n"
        f"let last = @take(@put(@zeros([x.dim({axis})], int64), indices, place), indices, axis=0)\n"
        f"let rows = @moveaxis(@take(g, indices, axis={axis}), {axis}, -1)\n"
        f"@moveaxis(@where(last == place, rows, 0.0), -1, {axis})"
    )


def _sliced(texts: Texts) -> str | None:
    """The gradient of a slice of one axis: the entries go back to their positions."""
    axes = [0] if texts["axes"] == "none" else axes_of(texts["axes"])
    if axes is None or len(axes) != 1 or not {"starts_0", "stops_0"} <= texts.keys():
        return None
    cut = f"@slice(@arange(x.dim({axes[0]})), starts=starts, stops=stops<<, steps=steps>>, forward=forward)"
    return f"@put(@zeros(x.shape, x.dtype), {cut}, g, axis={axes[0]})"


def _sliced_by_axes(texts: Texts) -> str | None:
    """A slice of several axes, one after the other."""
    starts, stops, steps = (items_of(texts[n]) for n in ("starts", "stops", "steps"))
    if starts is None or stops is None or len(starts) < 2 or (steps is None and texts["steps"] != "none"):
        return None
    axes = list(range(len(starts))) if texts["axes"] == "none" else axes_of(texts["axes"])
    made = "x"
    for i, axis in enumerate(axes or ()):
        step = "" if steps is None else f", steps=[steps_{i}]"
        made = f"@slice({made}, starts=[starts_{i}], stops=[stops_{i}], axes=[{axis}]{step}, forward=forward)"
    return made


def _padded(texts: Texts) -> str | None:
    pads = items_of(texts["pads"])
    if pads is None:
        return None
    if texts["mode"] != '"constant"':
        return moved("pad", value="none")(texts)
    axes = list(range(len(pads))) if texts["axes"] == "none" else axes_of(texts["axes"])
    befores = [f"pads_{i}_0" for i in range(len(pads))]
    if axes is None or not texts.keys() >= set(befores) or len(axes) != len(pads):
        return None
    ends = [f"{b} + x.dim({a})" for b, a in zip(befores, axes, strict=True)]
    return f"@slice(g, starts={list_of(befores)}, stops={list_of(ends)}, axes={axes})"


def _padding(texts: Texts) -> str | None:
    """The gradient of the padding value: the sum of the cotangent outside the middle."""
    if texts["mode"] != '"constant"':
        return "@zeros(value.shape, value.dtype)"
    middle = _padded(texts)
    return None if middle is None else f"@sum_to(@sum(g) - @sum({middle}), value.shape)"


def _repeated(texts: Texts) -> str | None:
    if texts["axis"] == "none":
        return moved("repeat")(texts)
    axis = int(texts["axis"])
    bound, sides, made = _around(axis, "n, repeats")
    summed = axis + 1 if axis >= 0 else axis
    return f"match_shape(x, [{bound}], [{sides}])\n@sum(@reshape(g, [{made}]), axis={summed})"


def _parts(join: str) -> Written:
    """The gradient of parts: the cotangents joined."""

    def rule(texts: Texts) -> str:
        handed = [n.replace("out", "g") for n in texts if n[:3] == "out" and n[3:].isdigit()]
        return f"@{join}({list_of(handed)}, axis=axis)"

    return rule


def _windows_written(texts: Texts) -> str | None:
    """The gradient of updates of windows, by the rank of x; the last of several updates of one place counts."""
    if texts["reduction"] not in ('"none"', '"add"'):
        return None
    gone = [] if texts["collapse"] == "none" else axes_of(texts["collapse"]) or []
    made = ""
    for rank in range(4, 0, -1):
        kept = [a for a in range(rank) if a not in [c % rank for c in gone]]
        sizes = list_of(f"updates.dim({kept.index(a) - len(kept)})" if a in kept else "1" for a in range(rank))
        read = f"@gather_slices({{}}, starts, {sizes}<<, collapse=collapse>>)"
        one = read.format("g")
        if texts["reduction"] == '"none"':
            one = f"@where({read.format('last')} == place, {one}, 0.0)"
        made = f"if (x.rank == {rank}) {{ {one} }} else {{ {made} }}" if made else one
    return (
        "let flat = @reshape(updates, [-1])\n"
        "let place = @reshape(@arange(flat.dim(0)), updates.shape)\n"
        f"let last = @scatter_slices(@zeros(x.shape, int64), starts, place<<, collapse=collapse>>)\n{made}"
    )


def _updated(texts: Texts) -> str | None:
    starts = items_of(texts["starts"])
    if starts is None:
        return None
    stops = [f"starts_{i} + update.dim({i})" for i in range(len(starts))]
    return f"@slice(g, starts=starts, stops={list_of(stops)})"


def _multiplied(texts: Texts) -> str | None:
    """The gradient of a product: the elements before times those behind, since an element may be zero."""
    axes = axes_of(texts["axis"])
    if axes is None or len(axes) != 1:
        return None
    others = [f"@cumulative_prod(x, axis={axes[0]}, exclusive=true, reverse={r})" for r in ("false", "true")]
    return f"g' * {others[0]} * {others[1]}"


def _multiplied_by_axes(texts: Texts) -> str | None:
    if texts["dtype"] != "none":
        return _in_dtype("prod")(texts)
    axes = axes_of(texts["axis"])
    if axes is None:
        made = "@prod(@reshape(x, [-1]), axis=0)"
        return f"@reshape({made}, @sum(x, keepdims=true).shape)" if texts["keepdims"] == "true" else made
    if len(axes) == 1:
        return None
    made = "x"
    for axis in axes:
        made = f"@prod({made}, axis={axis}, keepdims=true)"
    return made if texts["keepdims"] == "true" else f"@squeeze({made}, axis={axes})"


def _between(texts: Texts) -> str | None:
    """A quantile: a weighted mean of the two nearest elements in order, or one of them."""
    shares = {
        "linear": "place - low",
        "lower": "0.0",
        "higher": "1.0",
        "midpoint": "0.5",
        "nearest": "@round(place - low)",
    }
    share = shares[texts["method"].strip('"')]
    axes = None if texts["axis"] == "none" else axes_of(texts["axis"])
    if texts["axis"] != "none" and (axes is None or len(axes) != 1):
        return None
    rows = "@reshape(x, [-1])" if axes is None else f"@moveaxis(x, {axes[0]}, -1)"
    return (
        f"let rows = @sort({rows}, axis=-1)\n"
        "let place = @reshape(q, [-1]) * @size_to_tensor(rows.dim(-1) - 1, x.dtype)\n"
        "let low = @floor(place)\n"
        "let (first, second) = (@take(rows, @cast(low, int64), axis=-1), @take(rows, @cast(@ceil(place), int64), axis=-1))\n"
        f"let made = first + (second - first) * ({share})\n"
        "@reshape(@moveaxis(made, -1, 0), out.shape)"
    )


def _powered(texts: Texts) -> str | None:
    """A matrix power by repeated squaring; a negative one as the power of the inverse."""
    n = texts["n"]
    if not n.removeprefix("-").isdigit():
        return None
    if n.startswith("-"):
        return f"@matrix_power(@inv(x), {n[1:]})"
    if int(n) < 2:
        return "x" if n == "1" else "@sum_to(x * 0.0, x.shape) + @eye(x.dim(-1), dtype=x.dtype)"
    return (
        f"@matmul(x, @matrix_power(x, {int(n) - 1}))" if int(n) % 2 else f"@matrix_power(@matmul(x, x), {int(n) // 2})"
    )


def _differences(texts: Texts) -> str | None:
    """Repeated differences of neighbours."""
    parts = [p for p in ("prepend", "x", "append") if texts[p] != "none"]
    if len(parts) > 1:
        whole = f"@concat({list_of(parts)}, axis=axis)"
        return f"@diff({args_of(texts, x=whole, prepend='none', append='none')})"
    n = texts["n"]
    return f"@diff(@diff(x, axis=axis), axis=axis, n={int(n) - 1})" if n.isdigit() and int(n) > 1 else None


def _in_dtype(name: str) -> Written:
    def rule(texts: Texts) -> str | None:
        if texts["dtype"] == "none":
            return None
        return f"@{name}({args_of(texts, x='@cast(x, dtype)', dtype='none')})"

    return rule


def _running(name: str, step: str, first: str) -> Written:
    """A cumulative reduction as a loop."""

    def rule(texts: Texts) -> str | None:
        if texts.get("dtype", "none") != "none":
            return _in_dtype(f"cumulative_{name}")(texts)
        if texts.get("include_initial", "false") == "true":
            return None
        axis = texts["axis"] if texts["axis"] != "none" else "0"
        rows = f"@moveaxis(x, {axis}, 0)"
        rows = f"@flip({rows}, axis=0)" if texts["reverse"] == "true" else rows
        gives = "(@{0}(c', r'), c')" if texts.get("exclusive") == "true" else "(@{0}(c', r'), @{0}(c', r'))"
        made = "@flip(made, axis=0)" if texts["reverse"] == "true" else "made"
        return (
            f"let rows = {rows}\n"
            f"let first = @full_like(@sum(rows, axis=0), {first})\n"
            f"let (_, made) = @scan(fn(c', r') {{ {gives.format(step)} }}, first, rows)\n"
            f"@moveaxis({made}, 0, {axis})"
        )

    return rule


def _axis_by_axis(name: str) -> Written:
    """A transform of several axes, one after the other; from real numbers it comes first, to real numbers last."""

    def rule(texts: Texts) -> str | None:
        sizes = items_of(texts["s"])
        is_open = texts["axes"] == "none" or name in ("fftn", "ifftn")
        if sizes is None and (is_open or texts["s"] != "none"):
            return None
        axes = axes_of(texts["axes"]) or list(range(-len(sizes or ()), 0))
        inner = "ifft" if name in ("ifftn", "irfftn") else "fft"
        made = "x"
        for i, axis in list(enumerate(axes))[:: -1 if name == "rfftn" else 1]:
            n = f", s_{i}" if sizes is not None else ""
            made = f"@{name[:-1] if i == len(axes) - 1 else inner}({made}{n}, axis={axis}, norm=norm)"
        return made

    return rule


# Products of matrices, and lists of operands


def _dotted(which: str) -> Written:
    """The gradient of contracting the last axes of x with the first of y, as one matrix product."""

    def rule(texts: Texts) -> str | None:
        if texts["x_axes"] != "none" or not texts["axes"].isdigit():
            return None
        n = int(texts["axes"])
        x_size = " * ".join(f"x.dim({i - n})" for i in range(n)) or "1"
        text = (
            f"let rows = @reshape(x, [-1, {x_size}])\n"
            f"let columns = @reshape(y, [{x_size}, -1])\n"
            "let handed = @reshape(g, [rows.dim(0), columns.dim(1)])\n"
        )
        made = (
            "@matmul(handed, @matrix_transpose(columns))"
            if which == "x"
            else "@matmul(@matrix_transpose(rows), handed)"
        )
        return f"{text}@reshape({made}, {which}.shape)"

    return rule


def _dotted_apart(texts: Texts) -> str | None:
    """A contraction of named axes, which move to the end of x and to the front of y."""
    x, y = axes_of(texts["x_axes"]), axes_of(texts["y_axes"])
    if x is None or y is None:
        return None
    n = len(x)
    return f"@tensordot(@moveaxis(x, {x}, {list(range(-n, 0))}), @moveaxis(y, {y}, {list(range(n))}), axes={n})"


def _concatenated(texts: Texts, items: list[str], place: int) -> str:
    sizes = ", ".join(f"{n}.dim({texts['axis']})" for n in items)
    return f"@split(g, sizes=[{sizes}], axis={texts['axis']})[{place}]"


def _stacked(texts: Texts, items: list[str], place: int) -> str:
    return f"@take(g, {place}, axis={texts['axis']})"


def _meshed(texts: Texts, items: list[str], place: int) -> str:
    """The gradient of a grid's axis: the sum over the other axes; the first two axes are swapped for "xy"."""
    axis = 1 - place if place < 2 <= len(items) and texts["indexing"] == '"xy"' else place
    return f"@sum(g{place}, axis={[i for i in range(len(items)) if i != axis]})" if len(items) > 1 else f"g{place}"


def _broadcast(texts: Texts, items: list[str], place: int) -> str:
    return f"@sum_to(g{place}, {items[place]}.shape)"


def _summed(texts: Texts, items: list[str], place: int) -> str | None:
    """The same einsum with the cotangent in the operand's place."""
    said, arrow, made = texts["equation"].strip('"').replace(" ", "").partition("->")
    terms = said.split(",")
    if not arrow:
        letters = "".join(terms).replace(".", "")
        made = ("..." if "..." in said else "") + "".join(sorted(c for c in letters if letters.count(c) == 1))
    own = terms[place]
    others = [(t, n) for i, (t, n) in enumerate(zip(terms, items, strict=True)) if i != place]
    gets = own if "..." in own or "..." not in said else "..." + own
    left = ",".join([made, *(t for t, _ in others), own])
    operands = ", ".join(["g", *(n for _, n in others), f"@ones_like({items[place]})"])
    return f'@sum_to(@einsum("{left}->{gets}", [{operands}]), {items[place]}.shape)'


def _with_diagonals(texts: Texts) -> str | None:
    """A repeated letter in one operand becomes a second letter, with a factor that is 1 where both are equal."""
    said, arrow, made = texts["equation"].strip('"').replace(" ", "").partition("->")
    terms, items = said.split(","), items_of(texts["xs"]) or []
    letters = iter(c for c in ascii_letters if c not in said)
    for k, term in enumerate(terms[: len(items)]):
        again = next((i for i, c in enumerate(term) if c != "." and c in term[:i]), None)
        if again is not None:
            letter = next(letters)
            axis = again - len(term) if "." in term[:again] else again
            terms[k] = f"{term[:again]}{letter}{term[again + 1 :]}"
            eye = f"@eye({items[k]}.dim({axis}), dtype={items[k]}.dtype)"
            equation = ",".join([*terms, f"{term[again]}{letter}"]) + arrow + made
            return f'@einsum("{equation}", {list_of([*items, eye])})'
    return None


WRITTEN: dict[str, Written] = {
    **{f"{n}.x": moved(n) for n in _MOVED}, "permute_dims.x": _permuted, "split.x": _parts("concat"),
    "unstack.x": _parts("stack"), "pad.x": _padded, "pad.value": _padding, "roll.x": _rolled, "take.x": _taken,
    "put.updates": _put_updates, "slice.x": _sliced, "repeat.x": _repeated, "prod.x": _multiplied,
    "update_slice.update": _updated, "scatter_slices.updates": _windows_written, "tensordot.x": _dotted("x"),
    "tensordot.y": _dotted("y"), **windows.WRITTEN,
}  # fmt: skip
COMPOSED: dict[str, Written] = {
    "quantile": _between, "einsum": _with_diagonals, "matrix_power": _powered, "diff": _differences,
    "slice": _sliced_by_axes,
    "prod": _multiplied_by_axes, "sum": _in_dtype("sum"), "cumulative_sum": _in_dtype("cumulative_sum"),
    "cumulative_prod": _running("prod", "multiply", "1.0"), "cumulative_max": _running("max", "maximum", "-1e999"),
    "cumulative_min": _running("min", "minimum", "1e999"), "tensordot": _dotted_apart,
    "cumulative_logsumexp": _running("logsumexp", "logaddexp", "-1e999"),
    **{n: _axis_by_axis(n) for n in ("fftn", "ifftn", "rfftn", "irfftn")}, **layers.COMPOSED, **windows.COMPOSED,
}  # fmt: skip
LISTS: dict[tuple[str, str], Callable[[Texts, list[str], int], str | None]] = {
    ("concat", "xs"): _concatenated, ("stack", "xs"): _stacked, ("broadcast_arrays", "xs"): _broadcast,
    ("einsum", "xs"): _summed, ("meshgrid", "xs"): _meshed,
}  # fmt: skip
