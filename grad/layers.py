"""Gradient rules of losses, normalisation, recurrent layers and attention: their definitions by simpler primitives."""

from __future__ import annotations

from .texts import Texts, Written, args_of, list_of


def _reduced(name: str) -> Written:
    """Return the rule of a reduced loss: the mean or the sum of the elementwise loss."""

    def rule(texts: Texts) -> str | None:
        bare = '"none"'
        each = f"@{name}({args_of(texts, reduction=bare)})"
        match texts["reduction"]:
            case '"mean"':
                return f"@mean({each})"
            case '"sum"':
                return f"@sum({each})"
            case '"batchmean"':
                count = "if (x.rank == 0) { @ones_like(@sum(x)) } else { @size_to_tensor(x.dim(0), x.dtype) }"
                return f"@sum({each}) / ({count})"
        return None

    return rule


def _by_class(texts: Texts) -> str:
    """Return minus the logarithm at each target, times the weight of its class; ignored targets give 0."""
    axis, smoothing = texts["axis"], texts.get("label_smoothing", "0.0")
    logs = f"let logs = @log_softmax(x, axis={axis})\n" if "label_smoothing" in texts else "let logs = @identity(x)\n"
    is_used = texts["ignore_index"] != "none"
    used = (
        f"let used = target != {texts['ignore_index']}\nlet at = @where(used, target, 0)\n"
        if is_used
        else "let at = target\n"
    )
    weights = (
        "let w = @take(weight, at, axis=0)\n"
        if texts["weight"] != "none"
        else "let w = @ones_like(@sum(x, axis=AXIS))\n"
    )
    weights += "let w = @where(used, w, 0.0)\n" if is_used else ""
    each = (
        f"let each = -(@squeeze(@take_along_axis(logs, @expand_dims(at, axis={axis}), axis={axis}), axis={axis}) * w)\n"
    )
    if smoothing not in ("0.0", "0"):
        share = f"@moveaxis(logs, {axis}, -1)" + (" * weight" if texts["weight"] != "none" else "")
        whole = f"-@sum({share}, axis=-1)"
        whole = f"@where(used, {whole}, 0.0)" if is_used else whole
        each += f"let each = each * (1.0 - {smoothing}) + {whole} * ({smoothing} / @size_to_tensor(x.dim({axis}), x.dtype))\n"
    last = {'"mean"': "@sum(each) / @sum(w)", '"sum"': "@sum(each)"}.get(texts["reduction"], "each")
    return logs + used + weights.replace("AXIS", axis) + each + last


def _normalised(name: str) -> Written:
    """Return the rule of a normalisation over several axes, which are merged into one."""

    def rule(texts: Texts) -> str | None:
        axis = int(texts["axis"])
        if axis == -1:
            return None
        names = [f"d{i}" for i in range(axis if axis >= 0 else -axis)]
        bound, sides = [*names, "rest"], [*names, "*rest"] if axis >= 0 else ["*rest", *names]
        made = [*names, "-1"] if axis >= 0 else ["*rest", "-1"]
        bias = "let flat_bias = @reshape(bias, [-1])\n" if texts.get("bias", "none") != "none" else ""
        return (
            f"match_shape(x, {list_of(bound)}, {list_of(sides)})\n"
            f"let flat_scale = @reshape(scale, [-1])\n{bias}"
            f"let flat = @{name}(@reshape(x, {list_of(made)}), flat_scale{', flat_bias' if bias else ''}, epsilon=epsilon)\n"
            "@reshape(flat, x.shape)"
        )

    return rule


# For each layer its state and the other attribute of its cell.
_CELLS = {"rnn": ("h", "activation"), "lstm": ("hc", ""), "gru": ("h", "linear_before_reset")}


def _recurrent(name: str) -> Written:
    """Return the rule of a recurrent layer: its cell, step by step."""

    def rule(texts: Texts) -> str | None:
        state, attribute = _CELLS[name]
        if texts["layout"] != '"time_first"' or texts["direction"] == '"bidirectional"':
            return _as_time_first(name, state, texts)
        first, said = "@zeros([x.dim(1), r.dim(-1)], x.dtype)", f", {attribute}={attribute}" if attribute else ""
        starts = [f"initial_{s}[0]" if texts[f"initial_{s}"] != "none" else first for s in state]
        held = ", ".join(
            f"{s}' : Tensor([x.dim(1), r.dim(-1)], x.dtype) = {i}" for s, i in zip(state, starts, strict=True)
        )
        made, ends = ", ".join(f"{s}_next'" for s in state), ", ".join(f"last_{s}" for s in state)
        cell = f"@{name}_cell(rows[i'], {', '.join(f'{s}{chr(39)}' for s in state)}, w[0], r[0]<<, b=b[0]>>{said})"
        turn = f"let {f'({made})' if len(state) > 1 else made} = {cell}; ({made}, h_next')"
        is_back = texts["direction"] == '"reverse"'
        results = ", ".join(f"@expand_dims(last_{s}, axis=0)" for s in state)
        return (
            f"let rows = {'@flip(x, axis=0)' if is_back else '@identity(x)'}\n"
            f"let ({ends}, every) = for i' in range(x.dim(0)) with ({held}) stack (y' : Tensor(?, ?)) {{ {turn} }}\n"
            f"(@expand_dims({'@flip(every, axis=0)' if is_back else 'every'}, axis=1), {results})"
        )

    return rule


def _as_time_first(name: str, state: str, texts: Texts) -> str:
    """Return the layer with time as the first axis, and each direction on its own."""
    inputs = [n for n in ("w", "r", "b", "initial_h", "initial_c") if texts.get(n, "none") != "none"]
    if texts["layout"] != '"time_first"':
        turned = {n: f"@swapaxes({n}, 0, 1)" for n in ("x", *inputs) if n == "x" or "initial" in n}
        ends = ", ".join(f"last_{s}" for s in state)
        back = ", ".join(f"@swapaxes(last_{s}, 0, 1)" for s in state)
        return f"let (every, {ends}) = @{name}({args_of(texts, layout='none', **turned)})\n(@moveaxis(every, 2, 0), {back})"
    lines = []
    for i, way in enumerate(('"forward"', '"reverse"')):
        ends = ", ".join(f"last_{s}{i}" for s in state)
        own = {n: f"{n}[{i}:{i + 1}]" for n in inputs}
        lines.append(f"let (every{i}, {ends}) = @{name}({args_of(texts, direction=way, **own)})")
    both = ", ".join(f"@concat([last_{s}0, last_{s}1], axis=0)" for s in state)
    return "\n".join([*lines, f"(@concat([every0, every1], axis=1), {both})"])


def _attended(texts: Texts) -> str:
    """Return attention; the result is 0 for a query that sees no position."""
    scale = texts["scale"] if texts["scale"] != "none" else "(1.0 / @sqrt(@size_to_tensor(q.dim(-1), q.dtype)))"
    text = f"let s = @matmul(q, @matrix_transpose(k)) * {scale}\n"
    if texts["mask"] != "none":
        text += "let s = if (mask.dtype == bool) { @where(mask, s, -1e999) } else { s + mask }\n"
    if texts["causal"] == "true":
        text += f"let s = @where(@tril(@ones([q.dim(-2), k.dim(-2)], bool), {'past' if 'past' in texts else '0'}), s, -1e999)\n"
    if texts["mask"] == "none" and texts["causal"] == "false":
        return f"{text}@matmul(@softmax(s), v)"
    return (
        f"{text}let counts = s > -1e999\nlet p = @where(counts, @softmax(@where(counts, s, -1e30)), 0.0)\n@matmul(p, v)"
    )


def _grouped(texts: Texts) -> str:
    heads = "let k = @repeat(k, q.dim(-3) // k.dim(-3), axis=-3)\nlet v = @repeat(v, q.dim(-3) // v.dim(-3), axis=-3)\n"
    return heads + _attended(texts)


_LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "kl_div",
           "binary_cross_entropy_with_logits", "softmax_cross_entropy")  # fmt: skip
COMPOSED: dict[str, Written] = {
    "layer_norm": _normalised("layer_norm"), "rms_norm": _normalised("rms_norm"), "nll_loss": _by_class,
    "cross_entropy_loss": _by_class, "attention": _attended, "grouped_query_attention": _grouped,
    **{n: _reduced(n) for n in _LOSSES}, **{n: _recurrent(n) for n in ("rnn", "lstm", "gru")},
}  # fmt: skip
