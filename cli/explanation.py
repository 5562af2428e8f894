"""`rx check --explain NAME`: the known facts about a name, each with its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..desugar.errors import nearest
from ..lang.cells import shown
from ..lang.checked import Binding, Checked, Explanation, Fact
from ..lang.expressions import names_in
from ..lang.source import Span

_MOST = 12


def explanation(checked: Checked, name: str) -> str | None:
    """The explanation, or None if no function has the name."""
    found = checked.explain(name)
    return "\n".join(_one(e) for e in found) if found else None


def names(checked: Checked) -> tuple[str, ...]:
    """All names that can be explained, and the functions with their `@`."""
    functions = [f"@{f.name}" for f in checked.program.functions if f.kind != "private"]
    bindings = [b for f in checked.shapes for b in (*f.params, *f.bindings)]
    sizes = names_in(*(size for b in bindings for part in _parts(b) for size in part.shape or ()))
    consts = [c.name for c in checked.program.consts]
    return tuple(dict.fromkeys([*functions, *consts, *(b.name for b in bindings), *sizes]))


def _parts(binding: Binding) -> Iterator[Binding]:
    """A binding, and the parts of a tuple."""
    yield binding
    for item in binding.items:
        yield from _parts(item)


def unknown(name: str, known: Sequence[str]) -> str:
    """The answer for an unknown name, with a suggestion."""
    function = f"@{name.removeprefix('@')}"
    functions = [n for n in known if n == function or n.endswith(f".{function[1:]}")]
    if functions:
        return f"{functions[0]} is a function: `--signature` tells of it, `--explain` of sizes and bindings"
    others = [n for n in known if not n.startswith("@") and n.rstrip("'").isidentifier()]
    meant = nearest(name, others)
    if meant is not None:
        return f"no function knows a `{shown(name)}`; is `{meant}` meant?"
    listed = ", ".join(others[:_MOST]) + (", ..." if len(others) > _MOST else "")
    return f"no function knows a `{shown(name)}`" + (f"; known are {listed}" if others else "")


def _one(found: Explanation) -> str:
    place = _place(found.span)
    lines = [f"{found.name} in {found.function}: {found.known}{place and f'  ({place})'}"]
    lines.extend(_fact(fact) for fact in found.facts)
    return "\n".join(lines)


def _fact(fact: Fact) -> str:
    place = _place(fact.place)
    return f"  {fact.text}{place and f'  ({place})'}"


def _place(span: Span) -> str:
    return "" if not span.source.text else shown(span.source.place(span.start, span.end))
