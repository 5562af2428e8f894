"""A requirement in a few words, with its sizes: the reason in a line of a contract."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import requirements as r

# The operation of a primitive on two sizes that have to fit.
_PAIRS = {
    "add": "adds {} and {}", "subtract": "subtracts {} and {}", "multiply": "multiplies {} and {}",
    "divide": "divides {} and {}", "concat": "joins {} with {}", "stack": "stacks {} with {}",
    "matmul": "multiplies rows of {} by columns of {}", "where": "selects from {} and {}",
}  # fmt: skip

Text = Callable[[Any], str | None]


def gist(asked: r.Requirement, name: str, text: Text) -> str:
    """The requirement of the primitive `name` in a few words; empty if it takes a whole sentence."""
    match asked:
        case r.Equal(left=left, right=right) | r.Broadcast(left=left, right=right):
            return _with(_PAIRS.get(name, "{} has to equal {}"), text, left, right)
        case r.Is(left=left, right=right) | r.BroadcastTo(left=left, right=right):
            return _with("{} has to be {}", text, left, right)
        case r.AtLeast(left=left, least=least, reason=reason):
            window = reason.removeprefix("for a kernel of extent ").partition(",")[0]
            return _with(
                f"windows of {window} over {{}}" if window.isdecimal() else f"{{}} has to be at least {least}",
                text,
                left,
            )
        case r.AtMost(left=left, right=right):
            return _with("{} has to be at most {}", text, left, right)
        case r.InRange(of=(_, axis, *_)):
            return _with("{} positions", text, axis)
        case r.Multiple(left=left, of=of):
            return _with("divides {} into parts of {}", text, left, of)
        case r.SameElements(counts=counts):
            texts = [text(count) for count in counts]
            return f"reshapes {texts[0]} elements into {texts[1]}" if all(map(_is_said, texts)) else ""
        case r.RankIs(rank=rank, found=found):
            return f"takes rank {rank}, not {found}"
    return ""


def _with(words: str, text: Text, *of: r.Quantity) -> str:
    texts = [text(getattr(quantity, "size", None)) for quantity in of]
    return words.format(*texts) if all(map(_is_said, texts)) else ""


def _is_said(text: str | None) -> bool:
    return bool(text) and "?" not in (text or "")
