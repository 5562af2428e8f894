"""Renames of gradients, and of the parameters that they are taken by."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rxlang.editor.analysis import Analyst, Settings
from rxlang.editor.lookup import Lookup
from rxlang.editor.rename import edited, renamed


@pytest.mark.parametrize(("old", "new"), [("dloss", "slope"), ("w", "v"), ("loss", "cost")])
def test_a_gradient_and_what_it_is_taken_by_can_be_renamed(old: str, new: str) -> None:
    path, analyst = Path(__file__).parent / "slope.rx", Analyst()
    text = (
        "@loss = fn(w : Tensor([n], float32)) : Tensor([], float32) { @sum(w) }\n"
        "@dloss = grad @loss wrt w\n@use = fn(x : Tensor([n], float32)) { @dloss(x) }\n"
    )
    analyst.edit(path, text)
    lookup = Lookup(analyst.facts(path).program)
    symbol = next(s for o in lookup.occurrences() for s in (lookup.symbol(o),) if o.name == old)
    assert symbol is not None
    changed = edited(text, renamed(analyst, [path], symbol, new, Settings()), new)
    assert changed == re.sub(rf"\b{old}\b", new, text)
