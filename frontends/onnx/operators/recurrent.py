"""Recurrent layers: primitives of Rx, or special ones for features that only ONNX has."""

from __future__ import annotations

from .registry import Reader, Untranslatable, listed, number, operator, rows

# The default functions of one direction, and the default parameters of functions that have any.
_USUAL = {"rnn": ["tanh"], "gru": ["sigmoid", "tanh"], "lstm": ["sigmoid", "tanh", "tanh"]}
_PARAMETERS = {
    "affine": (1.0, 0.0), "leakyrelu": (0.01,), "thresholdedrelu": (1.0,), "scaledtanh": (1.0, 1.0),
    "hardsigmoid": (0.2, 0.5), "elu": (1.0,),
}  # fmt: skip
_PLAIN = ("sigmoid", "tanh", "relu", "softsign", "softplus")


@operator("GRU", 7)
def gru(node: Reader) -> str:
    more = ", linear_before_reset=true" if node.integer("linear_before_reset", 0) else ""
    return _layer(node, "gru", ("initial_h",), 2, more)


def lstm_of(node: Reader, w: str, r: str, only: str = "") -> str:
    """An LSTM with these weights."""
    only += ", input_forget=true" if node.integer("input_forget", 0) else ""
    return _layer(node, "lstm", ("initial_h", "initial_c", "peepholes"), 3, only=only, weights=(w, r))


def recurrent(node: Reader, axis: int = 2) -> str:
    """The recurrent weights, one axis of which is as long as the state."""
    size = None if node.attribute("hidden_size") is None else node.integer("hidden_size")
    if size is not None and size < 1:
        raise Untranslatable(f"its attribute `hidden_size` is {size}; it is at least 1")
    return node.weights(2, "hidden_size", [size if at == axis else None for at in range(3)])


def _layer(
    node: Reader,
    kind: str,
    states: tuple[str, ...],
    count: int,
    more: str = "",
    only: str = "",
    weights: tuple[str, str] | None = None,
) -> str:
    """A layer; `only` are operands that only ONNX's primitive takes."""
    w, r = weights or (node.x(1), recurrent(node))
    given = node.optional(3, "b")
    only += node.optional(4, "lengths") + node.optional(7, "peepholes")
    given += "".join(node.optional(5 + at, name) for at, name in enumerate(states) if name != "peepholes")
    direction = node.word("direction", "forward")
    if direction != "forward":
        given += f', direction="{direction}"'
    if node.integer("layout", 0):
        given += ', layout="batch_first"'
    if node.attribute("clip") is not None:
        only += f", clip={_most(node)}"
    words = _activations(node, kind, 2 if direction == "bidirectional" else 1)
    if kind == "rnn" and set(words) == {"relu"} and not only:
        given += ', activation="relu"'
    elif words != _USUAL[kind] * (len(words) // len(_USUAL[kind])):
        only += f', activations="{" ".join(words)}"'
    name = f"onnx.{kind}" if only else kind
    return node.first_of(f"@{name}({node.x(0)}, {w}, {r}{given}{more}{only})", count)


def _most(node: Reader) -> str:
    """The bound to which the inputs of gates are clipped, on both sides of 0."""
    most = node.number("clip", 0.0)
    if most < 0:
        raise Untranslatable(f"its attribute `clip` is {most}; it is at least 0")
    return number(most)


def _activations(node: Reader, kind: str, directions: int) -> list[str]:
    """The names of all functions, each with its parameters after colons."""
    found = node.attribute("activations")
    names = [str(name).lower() for name in found] if isinstance(found, tuple) else _USUAL[kind] * directions
    if len(names) != len(_USUAL[kind]) * directions or not set(names) <= {*_PARAMETERS, *_PLAIN}:
        raise Untranslatable(f"has activations that are not known: {listed(names)}")
    alphas, betas = (_numbers(node, f"activation_{which}") for which in ("alpha", "beta"))
    return [_word(name, alphas, betas) for name in names]


def _numbers(node: Reader, name: str) -> list[float]:
    """The values of an attribute in reverse order."""
    found = node.attribute(name)
    return [v for v in reversed(found) if isinstance(v, int | float)] if isinstance(found, tuple) else []


def _word(name: str, alphas: list[float], betas: list[float]) -> str:
    """A function, with the next values if it has parameters."""
    usual = _PARAMETERS.get(name, ())
    given = [left.pop() if left else value for value, left in zip(usual, (alphas, betas), strict=False)]
    return ":".join([name, *map(number, given)])


rows(
    {
        "RNN@7": lambda node: _layer(node, "rnn", ("initial_h",), 2),
        "LSTM@7": lambda node: lstm_of(node, node.x(1), recurrent(node)),
    }
)
