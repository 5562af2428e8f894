"""Gradient rules of convolutions and pooling."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from .texts import Texts, Written, args_of, items_of, list_of, moved

# A text for each axis.
Sides = list[str]


def _window(texts: Texts, axes: int) -> list[Sides] | None:
    """Strides, pads before and after, and dilations of each axis."""
    if texts.get("auto_pad", '"notset"') not in ('"notset"', '"valid"') or texts["layout"] != '"channels_first"':
        return None
    found = []
    for name, default in (("strides", "1"), ("dilations", "1"), ("pads", "0")):
        said = [] if texts[name] == "none" else items_of(texts[name])
        if said is None:
            return None
        if len(said) not in (0, 1, axes):
            return None
        places = range(axes) if len(said) > 1 else [0] * axes
        ends = [""] if name != "pads" else ["_0", "_1"]
        if said and any(f"{name}_0{e}" not in texts for e in ends):
            return None
        found += [[f"{name}_{i}{e}" if said else default for i in places] for e in ends]
    strides, dilations, before, after = found
    return [strides, dilations, before, after]


def _windowed(axes: int, make: Callable[[Texts, Sides, Sides, Sides, Sides], str]) -> Written:
    """A rule that is made of strides, dilations, and pads before and after."""

    def rule(texts: Texts) -> str | None:
        window = _window(texts, axes)
        return None if window is None else make(texts, *window)

    return rule


def _conv_x(axes: int) -> Written:
    """A transposed convolution, without what was put around x."""
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
    """The convolution of x with what was handed back, channels in the place of the batch."""
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
    """The convolution that a transposed one is the transpose of."""

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


def _pooled(axes: int, kind: str) -> Written:
    """The places of a window one upon the other, which the largest or the mean is taken of."""

    def rule(texts: Texts) -> str | None:
        sizes = items_of(texts["kernel_shape"])
        window = _window(texts, axes)
        if sizes is None or window is None or texts["ceil_mode"] != "false":
            return None
        sizes = sizes * axes if len(sizes) == 1 else sizes
        if not all(s.isdigit() for s in sizes):
            return None
        window[0] = sizes if texts["strides"] == "none" else window[0]
        return _windows([int(s) for s in sizes], window, kind, texts)

    return rule


def _windows(sizes: list[int], window: list[list[str]], kind: str, texts: Texts) -> str:
    """What is around x is put there; `cut` takes the elements of x, or of ones, that one place of the windows meets."""
    strides, dilations, before, after = window
    axes = list(range(-len(sizes), 0))
    pads = list_of(f"({b}, {a})" for b, a in zip(before, after, strict=True))
    places = list(product(*map(range, sizes)))
    lines = [f"let whole = @pad(x, {pads}, axes={axes}{', value=-1e999' if kind == 'max' else ''})"]
    lines += [f"let t{i} : Size = out.dim({a})" for i, a in enumerate(axes)]

    def cut(of: str, place: tuple[int, ...]) -> str:
        starts = [f"{p} * ({d})" for p, d in zip(place, dilations, strict=True)]
        stops = list_of(f"{s} + (t{i} - 1) * ({strides[i]}) + 1" for i, s in enumerate(starts))
        return f"@slice({of}, starts={list_of(starts)}, stops={stops}, axes={axes}, steps={list_of(strides)}, forward=true)"

    met = f"@stack({list_of(cut('whole', p) for p in places)}, axis=0)"
    if kind == "average" and texts["count_include_pad"] == "false" and {*before, *after} != {"0"}:
        lines.append(f"let ones = @pad(@ones_like(x), {pads}, axes={axes})")
        ones = f"@stack({list_of(cut('ones', p) for p in places)}, axis=0)"
        return "\n".join([*lines, f"@sum({met}, axis=0) / @sum({ones}, axis=0)"])
    result = {"max": "@max({}, axis=0)", "average": "@mean({}, axis=0)", "lp": "@vector_norm({}, axis=0, ord=p)"}
    return "\n".join([*lines, result[kind].format(met)])


def _conv_made_of(axes: int) -> Written:
    """With channels in front, and with the pads that `auto_pad` stands for."""

    def rule(texts: Texts) -> str | None:
        if texts["layout"] == '"channels_last"':
            front = {"x": "@moveaxis(x, -1, 1)", "weight": "@moveaxis(weight, [-1, -2], [0, 1])", "layout": "none"}
            first = f"@conv{axes}d({args_of(texts, **front)})"
            return f"@moveaxis({first}, 1, -1)"
        if texts["auto_pad"] not in ('"same_upper"', '"same_lower"'):
            return None
        window = _window(texts | {"auto_pad": '"notset"', "pads": "none"}, axes)
        if window is None:
            return None
        lines, pads = [], []
        for i, (stride, dilation) in enumerate(zip(window[0], window[1], strict=True)):
            size, extent = f"x.dim({i + 2})", f"({dilation}) * (weight.dim({i + 2}) - 1) + 1"
            lines.append(f"let p{i} : Size = max(0, (ceildiv({size}, {stride}) - 1) * ({stride}) + {extent} - {size})")
            ends = [f"p{i} // 2", f"p{i} - p{i} // 2"]
            pads.append(f"({', '.join(ends if 'upper' in texts['auto_pad'] else ends[::-1])})")
        return "\n".join([*lines, f"@conv{axes}d({args_of(texts, auto_pad='none', pads=list_of(pads))})"])

    return rule


def _pool_made_of(kind: str, axes: int) -> Written:
    """With channels in front."""
    pooled = _pooled(axes, kind)

    def rule(texts: Texts) -> str | None:
        if texts["layout"] != '"channels_last"':
            return pooled(texts)
        front = f"@moveaxis(x, -1, {-1 - axes})"
        first = f"@{kind}_pool{axes}d({args_of(texts, x=front, layout='none')})"
        return f"@moveaxis({first}, {-1 - axes}, -1)"

    return rule


def _conv_by_rank(name: str) -> Written:
    """By the rank of x, where the name does not tell it."""

    def rule(texts: Texts) -> str:
        one, two, three = (f"@{name}{n}d({args_of(texts)})" for n in _SPATIAL)
        told = {len(items_of(texts[n]) or ()) for n in ("strides", "dilations", "pads")} - {0, 1}
        if told:
            return f"@{name}{max(told)}d({args_of(texts)})"
        return f"if (x.rank == 3) {{ {one} }} else {{ if (x.rank == 4) {{ {two} }} else {{ {three} }} }}"

    return rule


def _pooled_by_rank(kind: str) -> Written:
    def rule(texts: Texts) -> str | None:
        axes = len(items_of(texts["kernel_shape"]) or ())
        return _pooled(axes, kind)(texts) if axes > 1 else None

    return rule


def _columns(texts: Texts) -> str:
    """The columns as patches again, by the rank of x."""

    def one(axes: int) -> str:
        sizes = list_of(f"x.dim({i + 2})" for i in range(axes))
        said = "kernel_shape=kernel_shape<<, strides=strides>><<, pads=pads>><<, dilations=dilations>>"
        return f"@fold(g, output_shape={sizes}, {said})"

    return f"if (x.rank == 3) {{ {one(1)} }} else {{ if (x.rank == 4) {{ {one(2)} }} else {{ {one(3)} }} }}"


def _nearest(name: str) -> Written:
    """The places are floats there, which have them exactly."""

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


def _to_one(name: str) -> Written:
    return lambda texts: f"@{name}(x, layout=layout)" if set(items_of(texts["output_shape"]) or ()) == {"1"} else None


def _sampled(texts: Texts) -> str | None:
    """What stands around each place, in its shares; a place beyond the image is moved to its border, or has 0 around it."""
    if texts["padding"] not in ('"zeros"', '"border"') or texts["mode"] not in ('"linear"', '"nearest"'):
        return None
    lines = ["let image = @moveaxis(x, 1, -1)"]
    for name, axis, size in (("rows", 1, 2), ("columns", 0, 3)):
        at = f"((grid[..., {axis}] + 1.0) * 0.5)"
        lines.append(f"let {name}_size = @size_to_tensor(x.dim({size}), x.dtype)")
        at = f"{at} * ({name}_size - 1.0)" if texts["align_corners"] == "true" else f"{at} * {name}_size - 0.5"
        at = f"@clip({at}, 0.0, {name}_size - 1.0)" if "border" in texts["padding"] else at
        lines.append(f"let {name} = {at}")
        lines.append(f"let {name}_low = {'@round' if 'nearest' in texts['mode'] else '@floor'}({name})")
    lines.append("let batch = @broadcast_to(@reshape(@arange(x.dim(0)), [x.dim(0), 1, 1]), rows.shape)")
    found = []
    for i, j in product((0, 1), (0, 1)) if "linear" in texts["mode"] else ((0, 0),):
        row, column = f"(rows_low + {i}.0)", f"(columns_low + {j}.0)"
        there = " && ".join(f"({p} >= 0.0) && ({p} < {n}_size)" for p, n in ((row, "rows"), (column, "columns")))
        lines.append(f"let there{i}{j} = {there}")
        places = ", ".join(f"@cast(@where(there{i}{j}, {p}, 0.0), int64)" for p in (row, column))
        one = f"@gather_nd(image, @stack([batch, {places}], axis=-1))"
        parts = [f"(1.0 - @abs({n} - {p}))" for n, p in (("rows", row), ("columns", column))]
        share = f"@where(there{i}{j}, {' * '.join(parts) if 'linear' in texts['mode'] else '1.0'}, 0.0)"
        found.append(f"{one} * @expand_dims({share}, axis=-1)")
    return "\n".join([*lines, f"@moveaxis({' + '.join(found)}, -1, 1)"])


def _neighbours(texts: Texts) -> str | None:
    """By the squares of the channels around each."""
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
    **{n: _conv_by_rank(n) for n in ("conv", "conv_transpose")},
    **{f"conv{n}d": _conv_made_of(n) for n in _SPATIAL},
    **{f"{n}_pool{axes}d": _pool_made_of(n, axes) for n in ("max", "average", "lp") for axes in _SPATIAL},
    **{f"{n}_pool": _pooled_by_rank(n) for n in ("max", "average", "lp")}, "lrn": _neighbours, "grid_sample": _sampled,
    **{f"adaptive_{n}_pool": _to_one(f"global_{n}_pool") for n in ("max", "average")},
}  # fmt: skip
