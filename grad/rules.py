"""What a primitive hands back to its operands, as Rx: by rules.txt, or by how the call is written."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from ..lang import core
from ..lang.core_printer import print_expr

# The operands and attributes of a call by the names of their parameters, as text; absent ones are left out.
Texts = dict[str, str]
Rule = Callable[[Texts, core.Call], str | None]


@cache
def table() -> tuple[dict[str, dict[str, str]], frozenset[str]]:
    """The expressions of rules.txt by primitive and operand, and the primitives that hand nothing back."""
    rules: dict[str, dict[str, str]] = {}
    still: set[str] = set()
    for line in Path(__file__).with_name("rules.txt").read_text(encoding="utf-8").splitlines():
        head, _, text = line.partition(" = ")
        if not line or line.startswith("#"):
            continue
        name, _, operand = head.partition(".")
        if operand:
            rules.setdefault(name, {})[operand] = text
        else:
            still.add(name)
    return rules, frozenset(still)


def _kept(texts: Texts, what: str) -> str:
    """What a reduction gives, with the axes that it left out as axes of one element."""
    if texts.get("keepdims") == "true" or "axis" not in texts:
        return what
    return f"@expand_dims({what}, axis={texts['axis']})"


def _axes(texts: Texts) -> str:
    """The axes of a reduction, as its arguments say them."""
    return f", axis={texts['axis']}" if "axis" in texts else ""


def _sum(texts: Texts, call: core.Call) -> str:
    return "@broadcast_to(" + _kept(texts, "g") + ", x.shape)"


def _mean(texts: Texts, call: core.Call) -> str:
    return f"@broadcast_to({_kept(texts, 'g')} / @sum(@ones_like(x){_axes(texts)}, keepdims=true), x.shape)"


def _extreme(texts: Texts, call: core.Call) -> str:
    """Those that are equal share."""
    hit = f"@cast(x == {_kept(texts, 'out')}, g.dtype)"
    return f"{hit} * ({_kept(texts, 'g')} / @sum({hit}{_axes(texts)}, keepdims=true))"


def _logsumexp(texts: Texts, call: core.Call) -> str:
    return f"{_kept(texts, 'g')} * @exp(x - {_kept(texts, 'out')})"


def _var(texts: Texts, call: core.Call) -> str:
    count = f"(@sum(@ones_like(x){_axes(texts)}, keepdims=true) - {texts.get('correction', '0.0')})"
    return f"{_kept(texts, 'g')} * 2.0 * (x - @mean(x{_axes(texts)}, keepdims=true)) / {count}"


def _permuted(texts: Texts, call: core.Call) -> str:
    if "axes" not in texts:
        return "@permute_dims(g)"
    axes = [int(a) for a in texts["axes"].strip("[]").split(",")]
    places = [a % len(axes) for a in axes]
    return f"@permute_dims(g, axes={[places.index(i) for i in range(len(axes))]})"


def _gelu(texts: Texts, call: core.Call) -> str | None:
    if texts.get("approximate", '"none"') != '"none"':
        return None
    return "g * (0.5 * (1.0 + @erf(x * 0.7071067811865476)) + x * 0.3989422804014327 * @exp(-0.5 * x * x))"


def _cast(texts: Texts, call: core.Call) -> str:
    return "@cast(g, x.dtype)"


def _take(texts: Texts, call: core.Call) -> str | None:
    """Rows by index: what was taken more than once is added up."""
    if texts.get("axis") != "0":
        return None
    places = f"@size_to_tensor({texts['indices']})" if texts.get("indices kind") == "size" else texts["indices"]
    if texts.get("indices kind") == "number":
        return f"@put(@zeros_like(x), tensor([{texts['indices']}], int64), @expand_dims(g, axis=0), axis=0)"
    if texts.get("indices kind") == "size":
        return f"@put(@zeros_like(x), @expand_dims({places}, axis=0), @expand_dims(g, axis=0), axis=0)"
    return f'@scatter_nd(@zeros_like(x), @expand_dims({places}, axis=-1), g, reduction="add")'


def _embedding(texts: Texts, call: core.Call) -> str:
    return f'@scatter_nd(@zeros_like(table), @expand_dims({texts["ids"]}, axis=-1), g, reduction="add")'


WRITTEN: dict[tuple[str, str], Rule] = {
    ("sum", "x"): _sum, ("mean", "x"): _mean, ("max", "x"): _extreme, ("min", "x"): _extreme, ("var", "x"): _var,
    ("logsumexp", "x"): _logsumexp, ("permute_dims", "x"): _permuted, ("gelu", "x"): _gelu, ("cast", "x"): _cast,
    ("take", "x"): _take, ("embedding", "table"): _embedding,
}  # fmt: skip


def is_still(name: str) -> bool:
    """Whether a primitive hands nothing back to any operand."""
    return name in table()[1]


def expression(name: str, operand: str, texts: Texts, call: core.Call) -> str | None:
    """What is handed back to an operand, or None where there is no rule."""
    written = WRITTEN.get((name, operand))
    return written(texts, call) if written is not None else table()[0].get(name, {}).get(operand)


def printed(value: core.Value) -> str:
    """A value of a call as text."""
    return print_expr(value)
