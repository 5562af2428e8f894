"""Print and write the contracts of checked models, and compare them with expected ones."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ..lang import codes
from ..lang.cells import shown
from ..lang.diagnostics import Diagnostic, error
from ..lang.expressions import sizes_text
from ..lang.files import is_python, line_at
from ..lang.source import Source, Span
from ..model.block import MOST, WIDTH, block, hanging
from ..model.comparison import Comparison, compare
from ..model.contract import Contract
from ..model.contract_file import BadContract, contract_text, read_contract
from .contract import notes, reasons
from .examined import Examined
from .files import Unusable, reason, replace_file
from .terminal import columns_of

# The most fixes, and the most warnings, that are shown.
_MOST_TEXTS = 2


def concluded(one: Examined, name: str, written: str | None, expected: str | None) -> Examined:
    """A model's result after its contract was compared and written."""
    if one.model is None or one.contract is None:
        return one
    promised = one.model.promised
    sources = [(expected, _read(expected))] if expected is not None else []
    if promised is not None:
        sources.append((f"rx.contract of {name}", _parsed(promised, f"rx.contract of {name}")))
    said: list[Diagnostic] = []
    for source, old in sources:
        comparison = compare(old, one.contract, named=not is_python(name))
        said += _said(name, source, comparison)
        if source == expected and not said:
            click.echo(f"{name}: {_agreement(comparison)} {source}", err=True)
    if written is not None:
        replace_file(written, contract_text(one.contract).encode())
    return one._replace(diagnostics=(*one.diagnostics, *said), ok=one.ok and not said)


def _read(path: str) -> Contract:
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as wrong:
        raise Unusable(f"cannot read {path!r}: {reason(wrong)}") from wrong
    return _parsed(data, path)


def _parsed(data: str | bytes, where: str) -> Contract:
    try:
        return read_contract(data)
    except BadContract as wrong:
        raise Unusable(f"cannot use {where!r}: {wrong}") from None


def _agreement(comparison: Comparison) -> str:
    return "accepts more than" if comparison.relation == "wider" else "holds the contract"


def _said(name: str, source: str, comparison: Comparison) -> list[Diagnostic]:
    place = Span(Source(name, ""), 0, 0)
    found = []
    for one in comparison.refused:
        at = line_at(one.node) if is_python(name) and ":" in one.node else place
        found.append(error(codes.E250, f"narrower than {source}: {one}", at, witness=dict(one.witness) or None))
    found += [error(codes.E250, f"not as {source} says: {text}", place) for text in comparison.differences]
    found += [error(codes.E251, f"cannot be compared with {source}: {text}", place) for text in comparison.unknown]
    return found


def told(found: Sequence[Examined], names: Sequence[str], reasoned: bool, verbose: bool) -> None:
    """Print the contracts; the text about a model has at most 25 lines unless more is asked for."""
    for one, name in zip(found, names, strict=True):
        if one.model is None or one.contract is None:
            continue
        fixes = [f"fix (checked): {fix.text}" for fix in one.model.fixes]
        fixes += [f"no fix for {condition}: {why}" for condition, why in one.model.left.items()]
        is_short = not (verbose or is_python(name))  # diagnostics of Python code show its lines
        warned = [_in_a_line(d) for d in one.diagnostics if is_short and d.severity == "warning"]
        width = min(columns_of(sys.stdout), WIDTH)
        more = [
            line
            for text in (*_few(fixes, "--reasons", reasoned), *_few(warned, "--verbose", False))
            for line in hanging(shown(text), width)
        ]
        rest = [reasons(one.contract)] if reasoned else []
        taken = [f"{name}: takes {sizes_text(one.model.at)}"] if one.model.at is not None else []
        lines = [*block(name, one.contract, width, MOST - len(more) - len(taken) + 2), *rest, *more, *taken]
        for line in lines:
            click.echo(line)


def _in_a_line(warning: Diagnostic) -> str:
    place = warning.span.source.place(warning.span.start)
    return f"warning[{warning.code}]: {warning.message} ({place})"


def _few(texts: Sequence[str], more: str, is_whole: bool) -> list[str]:
    if is_whole or len(texts) <= _MOST_TEXTS:
        return list(texts)
    return [*texts[:_MOST_TEXTS], f"and {len(texts) - _MOST_TEXTS} more: {more}"]


def with_notes(one: Examined, name: str) -> Examined:
    """The contract as notes, for formats that have only diagnostics."""
    return one if one.contract is None else one._replace(diagnostics=(*one.diagnostics, *notes(name, one.contract)))
