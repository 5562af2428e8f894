"""Diagnostics in the formats for other programs, as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..lang.checked import Counts
from ..lang.choices import Choice
from ..lang.diagnostics import Diagnostic
from ..lang.formats import check_object, github_lines, sarif_object
from ..lang.installed import __version__

if TYPE_CHECKING:
    from ..model.contract import Contract, Supposed


def written(
    form: str,
    files: Sequence[str],
    diagnostics: Sequence[Diagnostic],
    counts: Counts,
    guards: Sequence[Choice] | None = None,
    contracts: Mapping[str, Contract] | None = None,
    supposed: Sequence[Supposed] | None = None,
) -> Iterator[str]:
    """The diagnostics in the format json, sarif or github; each text is printed on lines of its own."""
    if form == "github":
        yield from github_lines(diagnostics)
    elif form == "sarif":
        yield json.dumps(sarif_object(diagnostics, __version__), indent=2)
    else:
        found = check_object(files, diagnostics, counts, guards)
        if contracts:
            from ..model.contract_file import contract_object  # few programs are models

            found["contracts"] = {name: contract_object(contract) for name, contract in contracts.items()}
        if supposed is not None:
            from ..model.contract_file import supposed_object

            found["supposed"] = [supposed_object(one) for one in supposed]
        yield json.dumps(found, indent=2)
