"""docs/torch-functions.md lists the rows of torch functions; RX_ACCEPT=1 writes the page anew."""

from __future__ import annotations

import os
from collections.abc import Iterator

from support.places import ROOT
from support.torch_cases import needs_torch
from support.torch_row_cases import KNOWN

PAGE = ROOT / "docs" / "torch-functions.md"
PREFACE = """# PyTorch functions

The functions of PyTorch that `rx check model.py:NAME` reads: each call of one of them becomes an Rx expression, which gives
the shape and dtype of the result and the conditions of the call on sizes. Elements are followed only where sizes are made of
them, so an expression may have other elements than torch computes. A function of torch that is written in Python and not
listed is read through; any other unlisted function is *supposed*: its shape is the one that torch's own symbolic shapes give,
and the report names the line.

`.add` is `torch.add` and `torch.Tensor.add`; a method whose name ends in `_` is the same in place. `F` is
`torch.nn.functional`. Rows without an expression are functions in `frontends/torch/rows.py`.
"""
DIFFERENT = """## Where the rows differ from torch

Found by running torch at sizes of 0 to 5; all are calls with empty tensors or sizes of 1.
"""


def page() -> str:
    from rxlang.frontends.torch.rows import FUNCTIONS
    from rxlang.frontends.torch.table import ROWS, rows

    rows()
    lines = [PREFACE, "| functions | parameters | Rx |", "|---|---|---|"]
    for line in ROWS.strip().replace("\n    ", " ").splitlines():
        names, parameters, expression = (part.replace("|", "\\|") for part in line.split(" | "))
        lines.append(f"| {_quoted(names)} | `{parameters}` | `{expression}` |")
    lines += [f"| {_quoted(names)} | | |" for names, _ in FUNCTIONS]
    return "\n".join([*lines, "", DIFFERENT, *(f"- `{call}...`: {why}" for call, why in KNOWN.items())]) + "\n"


def _quoted(names: str) -> str:
    return " ".join(f"`{name}`" for name in names.split())


@needs_torch
def test_the_page_lists_the_rows() -> None:
    text = page()
    if os.environ.get("RX_ACCEPT"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text


def unresolved() -> Iterator[str]:
    from rxlang.frontends.torch.rows import FUNCTIONS
    from rxlang.frontends.torch.table import ROWS, _full, _resolved, rows

    rows()
    listed = [line.split(" | ")[0] for line in ROWS.strip().replace("\n    ", " ").splitlines()]
    for name in " ".join([*listed, *(names for names, _ in FUNCTIONS)]).split():
        if all(_resolved(full) is None for full in (*_full(name), f"torch.Tensor{name}_")):
            yield name


@needs_torch
def test_each_name_is_one_of_torch() -> None:
    # Names of other releases of torch, and operators without a name of their own there.
    assert set(unresolved()) <= {".__div__", ".__truediv__", ".__rdiv__"}
