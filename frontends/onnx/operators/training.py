"""Optimisers: one step of each, for any number of tensors. The operands are the rate, the step's number, and a group of
tensors for each kind of state."""

from __future__ import annotations

from collections.abc import Sequence

from .registry import Reader, Untranslatable, number, operator

DOMAIN = "ai.onnx.preview.training"


def _groups(node: Reader, kinds: int) -> list[tuple[str, ...]]:
    """The operands of each trained tensor, one of each kind."""
    names = node.xs()[2:]
    if len(names) % kinds:
        raise Untranslatable(f"has {len(names)} tensors, which is no multiple of {kinds}")
    count = len(names) // kinds
    return [tuple(names[i::count]) for i in range(count)]


def _rate(node: Reader) -> tuple[str, str]:
    """The rate and the step's number, as numbers of one dtype."""
    rate = node.let("rate", f"@reshape({node.x(0)}, [])")
    return rate, node.let("step", f"@cast(@reshape({node.x(1)}, []), {rate}.dtype)")


def _gradient(node: Reader, x: str, g: str) -> str:
    coefficient = node.number("norm_coefficient", 0.0)
    return node.let("gradient", f"{number(coefficient)} * {x} + {g}") if coefficient else g


def _joined(found: Sequence[tuple[str, ...]]) -> str:
    names = [name for kind in zip(*found, strict=True) for name in kind]
    return f"({', '.join(names)})"


@operator("Adagrad", 1, DOMAIN)
def adagrad(node: Reader) -> str:
    rate, step = _rate(node)
    decayed = node.let("rate", f"{rate} / (1.0 + {step} * {number(node.number('decay_factor', 0.0))})")
    found = []
    for x, g, h in _groups(node, 3):
        gradient = _gradient(node, x, g)
        square = node.let("squares", f"{h} + {gradient} * {gradient}")
        adapted = f"@sqrt({square}) + {number(node.number('epsilon', 0.0))}"
        found.append((node.let("trained", f"{x} - {decayed} * {gradient} / ({adapted})"), square))
    return _joined(found)


@operator("Adam", 1, DOMAIN)
def adam(node: Reader) -> str:
    rate, step = _rate(node)
    alpha, beta = node.number("alpha", 0.9), node.number("beta", 0.999)
    a, b = number(alpha), number(beta)
    adjusted = f"{rate} * @sqrt(1.0 - @pow({b}, {step})) / (1.0 - @pow({a}, {step}))"
    adjusted = node.let("rate", f"@where({step} > 0.0, {adjusted}, {rate})")
    post = node.number("norm_coefficient_post", 0.0)
    found = []
    for x, g, v, h in _groups(node, 4):
        gradient = _gradient(node, x, g)
        mean = node.let("means", f"{a} * {v} + {number(1 - alpha)} * {gradient}")
        square = node.let("squares", f"{b} * {h} + {number(1 - beta)} * ({gradient} * {gradient})")
        adapted = f"@sqrt({square}) + {number(node.number('epsilon', 0.0))}"
        made = node.let("trained", f"{x} - {adjusted} * {mean} / ({adapted})")
        found.append((node.let("trained", f"{number(1 - post)} * {made}") if post else made, mean, square))
    return _joined(found)


@operator("Momentum", 1, DOMAIN)
def momentum(node: Reader) -> str:
    rate, step = _rate(node)
    alpha, beta = number(node.number("alpha", 0.0)), number(node.number("beta", 0.0))
    adjusted = node.let("weight", f"@cast(@where({step} > 0.0, {beta}, 1.0), {rate}.dtype)")
    nesterov = node.word("mode", "standard") == "nesterov"
    found = []
    for x, g, v in _groups(node, 3):
        gradient = _gradient(node, x, g)
        mean = node.let("means", f"{alpha} * {v} + {adjusted} * {gradient}")
        by = f"({gradient} + {alpha} * {mean})" if nesterov else mean
        found.append((node.let("trained", f"{x} - {rate} * {by}"), mean))
    return _joined(found)
