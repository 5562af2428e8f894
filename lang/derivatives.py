"""The derivatives of a core program: which functions are derivatives of others, and the program's own rules."""

from __future__ import annotations

from .source import Placed


class Gradient(Placed):
    """The function `name` is the derivative of the function `of` in the parameters `wrt` of `of`; `kind` is grad,
    value_and_grad, vjp, jvp or hessian_vector. Its body is a stand-in until it is differentiated."""

    name: str
    kind: str
    of: str
    wrt: tuple[str, ...]


class Rule(Placed):
    """The function `name` computes the gradient of `of`, an item for each of `wrt`, from the parameters `params` and the
    gradient of the result. Without a name the rule is that of the body of `of`, which is computed again later. `made` are the
    rule as a function, and the function that calls it as the signature of `of` says."""

    of: str
    name: str | None = None
    params: tuple[str, ...] = ()
    wrt: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
