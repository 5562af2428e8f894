"""Rules that users register for functions: the result of a call follows from the rule, and is no longer supposed.

Nothing here imports torch: a rule may be registered without it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import CodeType, FunctionType
from typing import Any
from unittest.mock import patch

from ...lang import sweet
from ...lang.node import Node


class Rule(Node):
    """A rule for a function, whose parameters have `names`: its signature, parsed from `text`, or a function of shapes."""

    name: str
    target: Any
    names: tuple[str, ...]
    text: str = ""
    fn: sweet.Fn | None = None
    shapes: Callable[..., Any] | None = None
    dtype: str | None = None

    @property
    def params(self) -> tuple[str, ...]:
        return tuple(p.name.name for p in self.fn.params) if self.fn is not None else ()


RULES: dict[int, Rule] = {}
"""The rules, by the identity of the functions that they are for."""


def keys(rule: Rule) -> Iterator[Any]:
    """The objects by which a call of the function may arrive."""
    found = rule.target
    yield found
    for name in ("_opoverload", "default"):
        if getattr(found, name, None) is not None:
            yield getattr(found, name)
    packet = getattr(getattr(found, "_opoverload", found), "overloadpacket", None)
    if packet is not None:
        yield packet


def arguments(rule: Rule, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the names of its parameters."""
    return {**dict(zip(rule.names, args, strict=False)), **kwargs}


@contextmanager
def replaced(called: Callable[[Rule, Any, Any], Any], is_traced: Callable[[Any], bool]) -> Iterator[None]:
    """During this, Python functions with a rule ask it if an argument is traced."""
    with ExitStack() as during:
        for rule in RULES.values():
            target = rule.target
            if isinstance(target, FunctionType):
                during.callback(setattr, target, "__code__", target.__code__)
                target.__code__ = _stub(target, _asking(rule, _copy(target), called, is_traced))
            elif isinstance(target, type) and hasattr(target, "apply"):
                asking = _asking(rule, target.apply, called, is_traced)
                during.enter_context(patch.object(target, "apply", staticmethod(asking)))
        yield


def _asking(rule: Rule, own: Callable[..., Any], called: Any, is_traced: Any) -> Callable[..., Any]:
    def asks(*args: Any, **kwargs: Any) -> Any:
        return called(rule, args, kwargs) if is_traced((args, kwargs)) else own(*args, **kwargs)

    return asks


def _copy(function: FunctionType) -> FunctionType:
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


_ASK = "what is to be called"


def _stub(function: FunctionType, asked: Callable[..., Any]) -> CodeType:
    """The code of a function that passes its arguments on; it has the free names of the original."""
    free = function.__code__.co_freevars
    text = f"def around({', '.join(free)}):\n def stub(*args, **kwargs):\n  ask = {_ASK!r}\n"
    text += "".join(f"  if not ask: {name}\n" for name in free) + "  return ask(*args, **kwargs)\n"
    code = compile(ast.parse(text), __file__, "exec")
    for _ in range(2):
        code = next(c for c in code.co_consts if isinstance(c, CodeType))
    return code.replace(co_consts=tuple(asked if c == _ASK else c for c in code.co_consts), co_name=function.__name__)
