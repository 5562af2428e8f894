"""What a core program says of derivatives: which functions are derivatives of others, and rules of the program's own."""

from __future__ import annotations

from .source import Placed


class Gradient(Placed):
    """The function called `name` is the derivative of the one called `of` in some of its parameters, as they are named there;
    `kind` is grad, value_and_grad, vjp, jvp or hessian_vector. Its body is a stand-in until it is differentiated."""

    name: str
    kind: str
    of: str
    wrt: tuple[str, ...]


class Rule(Placed):
    """What `of` hands back is what the function called `name` gives for its parameters `params` and what was handed to its
    result: an item for each of `wrt`. Without a name it is that of its body, which is computed again later. `made` are
    the rule as a function, and the function that calls it as what it is a rule of says."""

    of: str
    name: str | None = None
    params: tuple[str, ...] = ()
    wrt: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
