"""Gradient rules of convolutions and pooling."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from .texts import Texts, Written, args_of, items_of, list_of, moved

# A text for each axis.
Sides = list[str]


def _window(texts: Texts, axes: int) -> list[Sides] | None:
    """Return the strides, the pads before and after, and the dilations of each axis."""
    if texts.get("auto_pad", '"notset"') not in ('"notset"', '"valid"') or texts["layout"] != '"channels_first"':
        return None
    found = []
    for name, default in (("strides", "1"), ("dilations", "1"), ("pads", "0")):
        said = [] if texts[name] == "none" else items_of(texts[name])
        if said is None or len(said) not in (0, 1, axes) or any(item.startswith("*") for item in said):
            return None
        places = range(axes) if len(said) > 1 else [0] * axes
        ends = [""] if name != "pads" else ["_0", "_1"]
        found += [[f"{name}_{i}{e}" if said else default for i in places] for e in ends]
    strides, dilations, before, after = found
    return [strides, dilations, before, after]


def _windowed(axes: int, make: Callable[[Texts, Sides, Sides, Sides, Sides], str]) -> Written:
    """Return a rule that is made of strides, dilations, and pads before and after."""

    def rule(texts: Texts) -> str | None:
        window = _window(texts, axes)
        return None if window is None else make(texts, *window)

    return rule


def _conv_x(axes: int) -> Written:
    """The gradient of x: a transposed convolution, without the padding of x."""
    spatial = range(axes)

    def made(texts: Texts, strides: Sides, dilations: Sides, before: Sides, after: Sides) -> str:
        full = (
            f"let full = @conv_transpose{axes}d(g, weight, strides={list_of(strides)}, dilations={list_of(dilations)}, "
            f"groups=groups)\n"
        )
        grown = "".join(
            f"let more{i} : Size = max(0, {before[i]} + x.dim({i + 2}) - full.dim({i + 2}))\n" for i in spatial
        )
        pads = list_of(f"(0, more{i})" for i in spatial)
        stops = list_of(f"{before[i]} + x.dim({i + 2})" for i in spatial)
        axes_ = [i + 2 for i in spatial]
        return (
            f"{full}{grown}let whole = @pad(full, {pads}, axes={axes_})\n"
            f"@slice(whole, starts={list_of(before)}, stops={stops}, axes={axes_})"
        )

    return _windowed(axes, made)


def _conv_weight(axes: int, x: str = "x", g: str = "g") -> Written:
    """The gradient of the weight: x convolved with the cotangent, with channels in the place of the batch."""
    spatial = range(axes)

    def made(texts: Texts, strides: Sides, dilations: Sides, before: Sides, after: Sides) -> str:
        rest = ", ".join(f"{x}.dim({i + 2})" for i in spatial)
        order = [1, 0, *(i + 2 for i in spatial)]
        if texts["groups"] == "1":
            rows = f"let rows = @permute_dims({x}, axes={order})\n"
        else:
            inner = [2, 1, 0, *(i + 3 for i in spatial)]
            rows = (
                f"let parts = @reshape({x}, [{x}.dim(0), groups, weight.dim(1), {rest}])\n"
                f"let rows = @reshape(@permute_dims(parts, axes={inner}), [weight.dim(1), groups * {x}.dim(0), {rest}])\n"
            )
        pads = list_of(f"({b}, {a})" for b, a in zip(before, after, strict=True))
        cut = list_of(f"weight.dim({i + 2})" for i in spatial)
        zeros = list_of("0" for _ in spatial)
        return (
            f"{rows}let kernels = @permute_dims({g}, axes={order})\n"
            f"let made = @conv{axes}d(rows, kernels, strides={list_of(dilations)}, dilations={list_of(strides)}, "
            f"pads={pads}, groups=groups)\n"
            f"@slice(@permute_dims(made, axes={order}), starts={zeros}, stops={cut}, axes={[i + 2 for i in spatial]})"
        )

    return _windowed(axes, made)


def _bias(axes: int) -> Written:
    return lambda texts: f"@sum(g, axis={[0, *range(2, axes + 2)]})" if texts["layout"] == '"channels_first"' else None


def _back_x(axes: int) -> Written:
    """The gradient of a transposed convolution's x: the convolution that it transposes."""

    def rule(texts: Texts) -> str | None:
        window = _window(texts, axes)
        if window is None or texts["output_shape"] != "none":
            return None
        kept = ("strides", "pads", "dilations", "groups")
        said = "".join(f", {n}={n}" for n in kept if texts[n] != "none")
        return f"@conv{axes}d(g, weight{said})"

    return rule


def _back_weight(axes: int) -> Written:
    rule = _conv_weight(axes, "g", "x")
    return lambda texts: None if texts["output_shape"] != "none" else rule(texts)


def _by_rank(one: Callable[[int], str], most: int = 3) -> str:
    """Return a choice by the rank of x, which gives the number of spatial axes."""
    made = one(most)
    for axes in range(most - 1, 0, -1):
        made = f"if (x.rank == {axes + 2}) {{ {one(axes)} }} else {{ {made} }}"
    return made


def _pooled(axes: int, kind: str) -> Written:
    """A pool: the positions of a window stacked, then their largest or mean."""

    def rule(texts: Texts) -> str | None:
        sizes = items_of(texts["kernel_shape"])
        is_same = "same" in texts["auto_pad"]
        window = _window(texts | _NO_PADS if is_same else texts, axes)
        if sizes is None or window is None or not all(s.isdigit() for s in sizes):
            return None
        sizes = sizes * axes if len(sizes) == 1 else sizes
        window[0] = sizes if texts["strides"] == "none" else window[0]
        lines: list[str] = []
        if is_same:
            lines, window[2:] = _same_pads(texts, [f"x.dim({i - axes})" for i in range(axes)], sizes, window)
        return "\n".join([*lines, _windows([int(s) for s in sizes], window, kind, texts)])

    return rule


def _windows(sizes: list[int], window: list[list[str]], kind: str, texts: Texts) -> str:
    """Pad x, and stack its windows; `cut` takes the elements of x, or of ones, at one position of the windows."""
    strides, dilations, before, after = window
    axes = list(range(-len(sizes), 0))
    pads = list_of(f"({b}, {a})" for b, a in zip(before, after, strict=True))
    places = list(product(*map(range, sizes)))
    lines = [f"let t{i} : Size = out.dim({a})" for i, a in enumerate(axes)]
    more = ""
    if texts["ceil_mode"] == "true":
        for i, (size, axis) in enumerate(zip(sizes, axes, strict=True)):
            reach = f"(t{i} - 1) * ({strides[i]}) + ({dilations[i]}) * {size - 1} + 1"
            lines.append(f"let m{i} : Size = max(0, {reach} - ({before[i]}) - x.dim({axis}) - ({after[i]}))")
        more = list_of(f"(0, m{i})" for i in range(len(sizes)))

    def around(of: str, value: str) -> str:
        beyond = "-1e999" if kind == "max" else "0.0"
        made = f"@pad({of}, {pads}, axes={axes}, value={beyond if kind == 'max' else value})"
        return f"@pad({made}, {more}, axes={axes}, value={beyond})" if more else made

    def cut(of: str, place: tuple[int, ...]) -> str:
        starts = [f"{p} * ({d})" for p, d in zip(place, dilations, strict=True)]
        stops = list_of(f"{s} + (t{i} - 1) * ({strides[i]}) + 1" for i, s in enumerate(starts))
        return f"@slice({of}, starts={list_of(starts)}, stops={stops}, axes={axes}, steps={list_of(strides)}, forward=true)"

    lines.append(f"let whole = {around('x', '0.0')}")
    met = f"@stack({list_of(cut('whole', p) for p in places)}, axis=0)"
    is_padding = texts.get("count_include_pad") == "true"
    if kind == "average" and (more or (not is_padding and {*before, *after} != {"0"})):
        lines.append(f"let ones = {around('@ones_like(x)', '1.0' if is_padding else '0.0')}")
        ones = f"@stack({list_of(cut('ones', p) for p in places)}, axis=0)"
        return "\n".join([*lines, f"@sum({met}, axis=0) / @sum({ones}, axis=0)"])
    result = {"max": "@max({}, axis=0)", "average": "@mean({}, axis=0)", "lp": "@vector_norm({}, axis=0, ord=p)"}
    return "\n".join([*lines, result[kind].format(met)])


# The arguments of a call without pads.
_NO_PADS = {"auto_pad": '"notset"', "pads": "none"}


def _same_pads(texts: Texts, sizes: Sides, kernel: Sides, window: list[Sides]) -> tuple[Sides, list[Sides]]:
    """Return the pads before and after that `auto_pad` stands for, and the lines that compute them."""
    lines = []
    for i, (size, n, stride, dilation) in enumerate(zip(sizes, kernel, *window[:2], strict=True)):
        extent = f"({dilation}) * ({n} - 1) + 1"
        lines.append(f"let p{i} : Size = max(0, (ceildiv({size}, {stride}) - 1) * ({stride}) + {extent} - {size})")
    less, more = ([f"{t.format(i)}" for i in range(len(sizes))] for t in ("p{0} // 2", "(p{0} - p{0} // 2)"))
    return lines, [less, more] if "upper" in texts["auto_pad"] else [more, less]


def _conv_made_of(axes: int) -> Written:
    """A convolution with channels in front, and with the pads that `auto_pad` stands for."""

    def rule(texts: Texts) -> str | None:
        if texts["layout"] == '"channels_last"':
            front = {"x": "@moveaxis(x, -1, 1)", "weight": "@moveaxis(weight, [-1, -2], [0, 1])", "layout": "none"}
            first = f"@conv{axes}d({args_of(texts, **front)})"
            return f"@moveaxis({first}, 1, -1)"
        if texts["auto_pad"] not in ('"same_upper"', '"same_lower"'):
            return None
        window = _window(texts | _NO_PADS, axes)
        if window is None:
            return None
        places = range(2, axes + 2)
        kernel = [f"weight.dim({i})" for i in places]
        lines, (before, after) = _same_pads(texts, [f"x.dim({i})" for i in places], kernel, window)
        pads = list_of(f"({b}, {a})" for b, a in zip(before, after, strict=True))
        return "\n".join([*lines, f"@conv{axes}d({args_of(texts, auto_pad='none', pads=pads)})"])

    return rule


def _turned(name: str, texts: Texts, channels: int = 1) -> str:
    """Return the call with channels in front."""
    first = f"@{name}({args_of(texts, x=f'@moveaxis(x, -1, {channels})', layout='none')})"
    return f"@moveaxis({first}, {channels}, -1)"


def _pool_made_of(kind: str, axes: int) -> Written:
    """A pool with channels in front."""
    pooled = _pooled(axes, kind)

    def rule(texts: Texts) -> str | None:
        if texts["layout"] != '"channels_last"':
            return pooled(texts)
        return _turned(f"{kind}_pool{axes}d", texts, -1 - axes)

    return rule


def _named_by_rank(name: str) -> Written:
    """A choice by the rank of x, for a call that does not show it."""

    def rule(texts: Texts) -> str:
        told = (len(items_of(texts.get(n, "")) or ()) for n in ("strides", "dilations", "pads", "kernel_shape"))
        most = max(told)
        return _by_rank(lambda n: f"@{name}{n if most < 2 else most}d({args_of(texts)})", 3 if most < 2 else 1)

    return rule


def _columns(texts: Texts) -> str:
    """The gradient of `unfold`: the columns folded into patches, by the rank of x."""

    def one(axes: int) -> str:
        sizes = list_of(f"x.dim({i + 2})" for i in range(axes))
        said = "kernel_shape=kernel_shape<<, strides=strides>><<, pads=pads>><<, dilations=dilations>>"
        return f"@fold(g, output_shape={sizes}, {said})"

    return _by_rank(one)


def _nearest(name: str) -> Written:
    """Return the rule for "nearest", with positions as floats, which hold them exactly."""

    def rule(texts: Texts) -> str | None:
        if texts["mode"] != '"nearest"':
            return None
        text = moved(name)(texts).replace(
            "@reshape(@arange(flat.dim(0)), x.shape)", "@reshape(@arange(flat.dim(0), dtype=float64), x.shape)"
        )
        return text.replace("@reshape(@segment_sum", "let places = @cast(from, int64)\n@reshape(@segment_sum").replace(
            ", from,", ", places,"
        )

    return rule


def _in_front(name: str, sizes: str, along: Callable[[Texts, str, str, int], list[str]]) -> Written:
    """Resize one spatial axis after the other, with channels in front; `along` gives the lines that compute `made` for a size
    and an axis."""

    def rule(texts: Texts) -> str | None:
        if texts.get("mode") == '"nearest"':
            return None
        if texts["layout"] == '"channels_last"':
            return _turned(name, texts)
        items = items_of(texts[sizes]) or []
        if len(items) != 1:
            lines = [
                line for i, n in enumerate(items) for line in along(texts, n, "made" if i else "x", i - len(items))
            ]
            return "\n".join([*lines, "made"]) if lines else None
        beside = {"x": "@expand_dims(x, axis=-1)", sizes: list_of([items[0], "1"])}
        one = f"@squeeze(@{name}({args_of(texts, **beside)}), axis=-1)"
        return _by_rank(lambda n: f"@{name}({args_of(texts, **{sizes: list_of(items * n)})})" if n > 1 else one, 5)

    return rule


# For each mode, the offsets of the elements from the one before a position, and their weights for a fraction t.
_SHARES = {
    '"linear"': ((0, "1.0 - t"), (1, "t")),
    '"cubic"': (
        (-1, "((-0.75 * (t + 1.0) + 3.75) * (t + 1.0) - 6.0) * (t + 1.0) + 3.0"), (0, "(1.25 * t - 2.25) * t * t + 1.0"),
        (1, "(1.25 * (1.0 - t) - 2.25) * (1.0 - t) * (1.0 - t) + 1.0"),
        (2, "((-0.75 * (2.0 - t) + 3.75) * (2.0 - t) - 6.0) * (2.0 - t) + 3.0"),
    ),
}  # fmt: skip


def _interpolated(texts: Texts, size: str, of: str, axis: int) -> list[str]:
    """Return the weighted sum of the elements around each position."""
    ends = "@arange(n, dtype=float64) * ((old - 1.0) / @size_to_tensor(max(n - 1, 1), float64))"
    middles = "(@arange(n, dtype=float64) + 0.5) * (old / @size_to_tensor(max(n, 1), float64)) - 0.5"
    places = ends if texts["align_corners"] == "true" else middles
    places = f"@clip({places}, 0.0, @maximum(old - 1.0, 0.0))" if texts["mode"] == '"linear"' else places
    beside = list_of(["-1", *["1"] * (-1 - axis)])
    parts = [
        f"@take({of}, @cast(@clip(low + {float(by)}, 0.0, old - 1.0), int64), axis={axis}) * ({share})"
        for by, share in _SHARES[texts["mode"]]
    ]
    return [
        f"let old = @size_to_tensor({of}.dim({axis}), float64)", f"let n : Size = {size}", f"let places = {places}",
        "let low = @floor(places)", f"let t = @reshape(@cast(places - low, x.dtype), {beside})",
        f"let made = {' + '.join(parts)}",
    ]  # fmt: skip


def _upsampled(texts: Texts) -> str | None:
    """Return an interpolation to sizes scaled by factors."""
    factors = items_of(texts["scales"])
    if texts["mode"] == '"nearest"' or factors is None:
        return None
    if texts["layout"] == '"channels_last"':
        return _turned("upsample", texts)

    def one(axes: int) -> str:
        scales = factors * axes if len(factors) == 1 else factors
        sizes = list_of(f"x.dim({i + 2}) * {n}" for i, n in enumerate(scales))
        return f"@resize({args_of(texts, scales='none', sizes=sizes)})"

    return one(len(factors)) if len(factors) > 1 else _by_rank(one, 5)


def _adaptive(kind: str) -> Written:
    """Pool the parts of an axis, laid side by side; shorter parts repeat their last element."""

    def along(texts: Texts, size: str, of: str, axis: int) -> list[str]:
        met = f"@take({of}, @minimum(at, ends - 1), axis={axis})"
        ones = ["1"] * (-1 - axis)
        counts = f"@reshape(@cast(at < ends, x.dtype), {list_of([size, '-1', *ones])})"
        mean = f"@sum({met} * {counts}, axis={axis}) / @reshape(@cast(ends - first, x.dtype), {list_of([size, *ones])})"
        return [
            f"let n : Size = {of}.dim({axis})", f"let turns = @expand_dims(@arange({size}), axis=1)",
            f"let first = (turns * @size_to_tensor(n)) // @size_to_tensor(max({size}, 1))",
            f"let ends = -((-(turns + 1) * @size_to_tensor(n)) // @size_to_tensor(max({size}, 1)))",
            f"let at = first + @arange(ceildiv(n, max({size}, 1)) + 1)",
            f"let made = {f'@max({met}, axis={axis})' if kind == 'max' else mean}",
        ]  # fmt: skip

    to_one, to_several = (
        f"@global_{kind}_pool(x, layout=layout)",
        _in_front(f"adaptive_{kind}_pool", "output_shape", along),
    )
    return lambda texts: to_one if set(items_of(texts["output_shape"]) or ()) == {"1"} else to_several(texts)


def _sampled(texts: Texts) -> str | None:
    """Return the weighted sum of the pixels around each position; outside the image, positions move to its border or pixels
    are 0."""
    lines = ["let image = @moveaxis(x, 1, -1)"]
    for name, axis, size in (("rows", 1, 2), ("columns", 0, 3)):
        at = f"((grid[..., {axis}] + 1.0) * 0.5)"
        lines.append(f"let {name}_size = @size_to_tensor(x.dim({size}), x.dtype)")
        at = f"{at} * ({name}_size - 1.0)" if texts["align_corners"] == "true" else f"{at} * {name}_size - 0.5"
        if "reflection" in texts["padding"]:
            low, span = ("0.0", "1.0") if texts["align_corners"] == "true" else ("-0.5", "0.0")
            lines.append(f"let {name}_span = {name}_size - {span}")
            lines.append(f"let {name}_away = @remainder(@abs({at} - {low}), 2.0 * @maximum({name}_span, 0.5))")
            at = f"@minimum({name}_away, 2.0 * {name}_span - {name}_away) + {low}"
        at = f"@clip({at}, 0.0, {name}_size - 1.0)" if "zeros" not in texts["padding"] else at
        lines.append(f"let {name} = {at}")
        lines.append(f"let {name}_low = {'@round' if 'nearest' in texts['mode'] else '@floor'}({name})")
    lines.append("let batch = @broadcast_to(@reshape(@arange(x.dim(0)), [x.dim(0), 1, 1]), rows.shape)")
    met = _met(lines, "linear" in texts["mode"])
    return "\n".join([*lines, f"@moveaxis({met}, -1, 1)"])


def _met(lines: list[str], is_linear: bool) -> str:
    """Return the weighted sum of the pixels at `rows` and `columns` of the images of `batch`; append the lines for it."""
    found = []
    for i, j in product((0, 1), (0, 1)) if is_linear else ((0, 0),):
        row, column = f"(rows_low + {i}.0)", f"(columns_low + {j}.0)"
        there = " && ".join(f"({p} >= 0.0) && ({p} < {n}_size)" for p, n in ((row, "rows"), (column, "columns")))
        lines.append(f"let there{i}{j} = {there}")
        places = ", ".join(f"@cast(@where(there{i}{j}, {p}, 0.0), int64)" for p in (row, column))
        one = f"@gather_nd(image, @stack([batch, {places}], axis=-1))"
        parts = [f"(1.0 - @abs({n} - {p}))" for n, p in (("rows", row), ("columns", column))]
        share = f"@where(there{i}{j}, {' * '.join(parts) if is_linear else '1.0'}, 0.0)"
        found.append(f"{one} * @expand_dims({share}, axis=-1)")
    return " + ".join(found)


def _in_boxes(texts: Texts) -> str | None:
    """Sample the cells of boxes; samples more than one pixel outside the image are 0."""
    sizes = items_of(texts["output_shape"])
    if sizes is None:
        return None
    cells = (sizes * 2)[:2]
    half = "0.5" if texts["aligned"] == "true" else "0.0"
    lines = ["let image = @moveaxis(x, 1, -1)", "let corners = boxes * scale"]
    for name, axis, n in (("rows", 1, cells[0]), ("columns", 0, cells[1])):
        span = f"corners[:, {axis + 2}:{axis + 3}] - corners[:, {axis}:{axis + 1}]"
        span = span if texts["aligned"] == "true" else f"@maximum({span}, 1.0)"
        lines += [
            f"let {name}_size = @size_to_tensor(x.dim({3 - axis}), x.dtype)",
            f"let middles = (@arange({n} * samples, dtype=x.dtype) + 0.5) / @size_to_tensor(max({n} * samples, 1), x.dtype)",
            f"let {name}_all = corners[:, {axis}:{axis + 1}] - {half} + ({span}) * middles",
        ]
    lines += [
        "let (rows, columns) = @broadcast_arrays([@expand_dims(rows_all, axis=2), @expand_dims(columns_all, axis=1)])",
        "let inside = (rows >= -1.0) && (rows <= rows_size) && (columns >= -1.0) && (columns <= columns_size)",
    ]
    for name in ("rows", "columns"):
        lines += [f"let {name} = @clip({name}, 0.0, {name}_size - 1.0)", f"let {name}_low = @floor({name})"]
    lines.append("let batch = @broadcast_to(@reshape(@cast(batch_indices, int64), [-1, 1, 1]), rows.shape)")
    met = f"@where(@expand_dims(inside, axis=-1), {_met(lines, True)}, 0.0)"
    shape = f"[boxes.dim(0), {cells[0]}, samples, {cells[1]}, samples, x.dim(1)]"
    kind = texts["mode"].strip('"')
    return "\n".join([*lines, f"@moveaxis(@{kind}(@reshape({met}, {shape}), axis=[2, 4]), -1, 1)"])


def _neighbours(texts: Texts) -> str | None:
    """Normalise by the squares of the neighbouring channels."""
    if not texts["size"].isdigit():
        return None
    size, axis = int(texts["size"]), 1 if texts["layout"] == '"channels_first"' else -1
    before = (size - 1) // 2
    cuts = [f"@slice(around, starts=[{i}], stops=[{i} + x.dim({axis})], axes=[{axis}])" for i in range(size)]
    return (
        f"let around = @pad(x * x, [({before}, {size - 1 - before})], axes=[{axis}])\n"
        f"x / (bias + alpha / {size}.0 * ({' + '.join(cuts)})) ** beta"
    )


_SPATIAL = (1, 2, 3)
WRITTEN: dict[str, Written] = {
    **{f"conv{n}d.x": _conv_x(n) for n in _SPATIAL}, **{f"conv{n}d.weight": _conv_weight(n) for n in _SPATIAL},
    **{f"conv{n}d.bias": _bias(n) for n in _SPATIAL}, **{f"conv_transpose{n}d.bias": _bias(n) for n in _SPATIAL},
    **{f"conv_transpose{n}d.x": _back_x(n) for n in _SPATIAL},
    **{f"conv_transpose{n}d.weight": _back_weight(n) for n in _SPATIAL}, "unfold.x": _columns,
    **{f"{n}.x": _nearest(n) for n in ("upsample", "resize")},
}  # fmt: skip
COMPOSED: dict[str, Written] = {
    **{n: _named_by_rank(n) for n in ("conv", "conv_transpose", "max_pool", "average_pool", "lp_pool")},
    **{f"conv{n}d": _conv_made_of(n) for n in _SPATIAL},
    **{f"{n}_pool{axes}d": _pool_made_of(n, axes) for n in ("max", "average", "lp") for axes in _SPATIAL},
    "lrn": _neighbours, "grid_sample": _sampled,
    **{f"adaptive_{n}_pool": _adaptive(n) for n in ("max", "average")}, "roi_align": _in_boxes,
    "resize": _in_front("resize", "sizes", _interpolated), "upsample": _upsampled,
}  # fmt: skip
