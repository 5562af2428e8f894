"""Sizes as polynomials over interned-by-structure atoms, kept in one normal form, so that equal sizes are `==`.

A `Size` is an `int` or a `Term`; every operation returns an `int` if the result is constant. An atom is a variable, an
irreducible floor division, or a maximum; remainders, minima and ceilings are written with those:

    a % b == a - b * (a // b)        min(a, b) == -max(-a, -b)        ceildiv(a, b) == -(-a // b)

Identities of `//` hold for nonzero divisors, which is an obligation of the division's author; to be total, `evaluate` takes
`a // 0` as 0.

Each module uses those before it: polynomials, ranges, division, extrema, substitution.
"""

from .division import ceildiv, floordiv, merge_floors, mod
from .extrema import smax, smin
from .polynomials import (
    MOST_BITS,
    Atom,
    Floor,
    Max,
    Mono,
    Size,
    Term,
    Var,
    atom_key,
    close,
    common_atoms,
    divides,
    lead,
    mono_key,
    of_atom,
    shrink,
    size_key,
    term_key,
    term_vars,
    var,
    variables,
    weight,
    without,
)
from .ranges import Bounds, Ranges, at_least, bounds, is_nonneg, lower, mono_interval
from .steps import (
    A_CALL,
    A_FACT,
    A_TURN,
    AN_AXIS,
    AN_IF,
    Allowance,
    Apart,
    OutOfSteps,
    Share,
    StepBudget,
    TooLarge,
    again,
    charge,
    left,
    over,
    spend,
    spent,
    stride,
)
from .substitution import evaluate, replace_atom, substitute

__all__ = [
    "A_CALL",
    "A_FACT",
    "A_TURN",
    "AN_AXIS",
    "AN_IF",
    "again",
    "Allowance",
    "Apart",
    "at_least",
    "Atom",
    "atom_key",
    "Bounds",
    "bounds",
    "ceildiv",
    "charge",
    "close",
    "common_atoms",
    "divides",
    "evaluate",
    "Floor",
    "floordiv",
    "is_nonneg",
    "lead",
    "left",
    "lower",
    "Max",
    "merge_floors",
    "mod",
    "Mono",
    "mono_interval",
    "MOST_BITS",
    "mono_key",
    "of_atom",
    "OutOfSteps",
    "over",
    "StepBudget",
    "Ranges",
    "replace_atom",
    "Share",
    "Size",
    "shrink",
    "size_key",
    "smax",
    "smin",
    "spend",
    "spent",
    "stride",
    "substitute",
    "Term",
    "term_key",
    "term_vars",
    "TooLarge",
    "Var",
    "var",
    "variables",
    "weight",
    "without",
]
