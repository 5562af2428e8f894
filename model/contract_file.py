"""Contracts as objects for JSON: writing and reading."""

from __future__ import annotations

import json
from typing import Any

from ..lang.checked import Case
from ..lang.formats import case_object
from .accepted import Accepted, sizes_of
from .contract import SIZE, Clause, Contract, Demand, IndexRange, Supposed, Typed

VERSION = 1


class BadContract(ValueError):
    """An object that is no contract."""


def contract_object(contract: Contract) -> dict[str, Any]:
    return {
        "version": VERSION,
        "inputs": [_typed_object(v) for v in contract.inputs],
        "sizes": dict(contract.sizes),
        "conditions": [
            {
                "condition": c.condition,
                "sizes": list(c.sizes),
                "demands": [_demand_object(d) for d in c.demands],
                "witness": None if c.witness is None else dict(c.witness),
                "fails": None if c.fails is None else _demand_object(c.fails),
            }
            for c in contract.conditions
        ],
        "ranges": [
            {"input": r.input, "least": r.least, "most": r.most, "demand": _demand_object(r.demand)}
            for r in contract.ranges
        ],
        "declared": list(contract.declared),
        "undecided": [_demand_object(d) for d in contract.undecided],
        "outputs": [_typed_object(v) for v in contract.outputs],
        "exact": contract.exact,
        "supposed": [*contract.supposed, *map(supposed_object, contract.operations)],
        "given": list(contract.given),
        "accepted": {one.name: _set_object(one) for one in sizes_of(contract).single},
    }


def _set_object(one: Accepted) -> dict[str, Any]:
    """A set in words, and in parts with one remainder each; `to` is None where there is no bound."""
    parts = [
        {"from": first, "to": part.last, "modulus": part.modulus, "remainder": remainder}
        for part in one.sizes.parts
        for remainder in part.remainders
        for first in [part.first + (remainder - part.first) % part.modulus]
    ]
    return {"text": one.text, "parts": parts}


def supposed_object(one: Supposed) -> dict[str, Any]:
    return {"op": one.op, "file": one.file, "line": one.line}


def contract_text(contract: Contract) -> str:
    return json.dumps(contract_object(contract), indent=2) + "\n"


def _typed_object(value: Typed) -> dict[str, Any]:
    shape = None if value.shape is None else [] if value.dtype == SIZE else list(value.shape)
    rank = None if shape is None else len(shape)
    cases = {"cases": [case_object(case) for case in value.cases]} if value.cases else {}
    return {"name": value.name, "dtype": value.dtype, "rank": rank, "shape": shape, **cases}


def _demand_object(demand: Demand) -> dict[str, Any]:
    gist = {"gist": demand.gist} if demand.gist else {}
    return {"node": demand.node, "needs": demand.needs, **gist, "trace": demand.trace, "way": list(demand.way)}


def read_contract(text: str | bytes) -> Contract:
    """Parse a contract. Raises BadContract."""
    try:
        found = json.loads(text)
        if found["version"] != VERSION:
            raise BadContract(f"it has version {found['version']!r}, and this rx reads {VERSION}")
        return _contract(found)
    except BadContract:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as wrong:
        raise BadContract("it is no contract that `rx check --write-contract` wrote") from wrong


def _contract(found: dict[str, Any]) -> Contract:
    return Contract(
        tuple(map(_typed, found["inputs"])),
        {str(k): str(v) for k, v in found["sizes"].items()},
        tuple(
            Clause(
                str(c["condition"]), tuple(map(str, c["sizes"])), tuple(map(_demand, c["demands"])),
                None if c["witness"] is None else {str(k): int(v) for k, v in c["witness"].items()},
                None if c["fails"] is None else _demand(c["fails"]),
            )
            for c in found["conditions"]
        ),
        tuple(IndexRange(str(r["input"]), _size(r["least"]), _size(r["most"]), _demand(r["demand"])) for r in found["ranges"]),
        tuple(map(str, found["declared"])),
        tuple(map(_demand, found["undecided"])),
        tuple(map(_typed, found["outputs"])),
        bool(found["exact"]),
        tuple(str(one) for one in found["supposed"] if not isinstance(one, dict)),
        tuple(map(str, found.get("given", ()))),
        tuple(
            Supposed(str(one["op"]), str(one["file"]), int(one["line"]))
            for one in found["supposed"] if isinstance(one, dict)
        ),
    )  # fmt: skip


def _typed(found: dict[str, Any]) -> Typed:
    shape = None if found["shape"] is None else tuple(map(_size, found["shape"]))
    shape = (str(found["name"]),) if found["dtype"] == SIZE else shape
    cases = (
        Case(None if c["when"] is None else str(c["when"]), tuple(map(_size, c["shape"])))
        for c in found.get("cases", ())
    )
    return Typed(str(found["name"]), None if found["dtype"] is None else str(found["dtype"]), shape, tuple(cases))


def _size(found: object) -> int | str:
    if isinstance(found, bool) or not isinstance(found, int | str):
        raise BadContract(f"{found!r} is no size")
    return found


def _demand(found: dict[str, Any]) -> Demand:
    trace = None if found["trace"] is None else str(found["trace"])
    return Demand(
        str(found["node"]), str(found["needs"]), trace, tuple(map(str, found["way"])), str(found.get("gist", ""))
    )
