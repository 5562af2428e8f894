"""Random PyTorch code that branches on sizes of two inputs: the contract against what torch takes, at all sizes of a box."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from support import fuzz
from support.torch_cases import checked, needs_torch

CONDITIONS = (
    "{v}.shape[{n}] == 1", "{v}.shape[{n}] > 1", "{v}.shape[{n}] > {k}", "{v}.shape[{n}] != {k}", "{v}.numel() == 0",
    "{v}.shape[{n}] * {v}.shape[1 - {n}] > {k}", "x.shape[1] > 1 and y.shape[1] > 1", "x.shape[1] == y.shape[1]",
    "x.shape[1] + y.shape[1] > {k}", "{v}.shape[{n}] % 2 == 0",
)  # fmt: skip
CHANGES = (
    "{v} = {v}.view({v}.shape[0], {v}.shape[1], -1, 4).flatten(2)", "{v} = {v}[:, :{k}]", "{v} = {v}[:, 1:]",
)  # fmt: skip
WAYS = (
    *CHANGES, "{v} = {v} * 2", "{v} = {v} + 1", "pass", "{v} = {v} - {v}.mean(2, keepdim=True)", "raise ValueError('no')",
    "{v} = {v} + {v}[:, -1:]", "{v} = {v} + {v}[:1]", "{v} = torch.cat([{v}, {v}], 1)", "{v} = {v}.double()",
    "{v} = {v}.squeeze(1)[:, None]", "{v} = torch.nn.functional.pad({v}, (0, 0, 0, 1))",
)  # fmt: skip
DEMANDS = (
    *CHANGES, "{v} = {v} + {v}[:, -1].unsqueeze(1)", "{v} = {v}.relu()", "{v} = {v} + {v}[0]",
    "{v} = {v} + torch.nn.functional.avg_pool1d({v}.mT, 2, 1).mean(2).unsqueeze(1)",
)  # fmt: skip


def function(random: Random) -> str:
    lines = ["import torch", "def f(x, y):"]
    for _ in range(random.randint(1, 3)):
        given = {"v": random.choice("xy"), "n": random.choice([0, 1, 1]), "k": random.randint(2, 4)}
        if random.random() < 0.6:
            lines += [f"    if {random.choice(CONDITIONS)}:".format(**given)]
            lines += [f"        {random.choice(WAYS)}".format(**given)]
            if random.random() < 0.3:
                lines += ["    else:", f"        {random.choice(WAYS)}".format(**given)]
        else:
            lines += [f"    {random.choice(DEMANDS)}".format(**given)]
    return "\n".join([*lines, "    return x, y"])


def results(code: Any, b: int, t: int, s: int) -> list[tuple[str, tuple[int, ...]]] | None:
    """The types of the results; None where torch refuses the sizes."""
    import torch

    try:
        found = code(torch.ones(b, t, 8), torch.ones(b, s, 8))
    except (RuntimeError, ValueError, IndexError):
        return None
    return [(str(one.dtype).removeprefix("torch."), tuple(one.shape)) for one in found]


def differences(text: str, folder: Path, name: str) -> list[str]:
    """The sizes at which torch says something else than what is told."""
    from rxlang.simplify.solver.numbers import holds_at

    (folder / f"{name}.py").write_text(text)
    scope: dict[str, Any] = {}
    exec(text, scope)
    found = checked(folder, f"{name}.py:f", "x=float32[b, t, 8]", "y=float32[b, s, 8]")
    wrong, contract = [], found.contract
    for b, t, s in product(range(4), range(6), range(6)):
        sizes, there = {"b": b, "t": t, "s": s}, results(scope["f"], b, t, s)
        if contract is None:
            wrong += [f"{sizes}: an error"] if there is not None and min(b, t, s) > 0 else []
        elif all(holds_at(way, sizes) for way in contract.given):
            told = all(holds_at(c.condition, sizes) for c in contract.conditions)
            is_left = contract.undecided if told else min(b, t, s) == 0  # what works on empty tensors alone is refused
            if told != (there is not None) and not is_left:
                wrong.append(f"{sizes}: {'taken' if told else 'refused'}, {[c.condition for c in contract.conditions]}")
            elif told and there is not None and not is_left:
                wrong += [
                    f"{sizes}: {own}, {one}"
                    for own, one in zip(contract.outputs, there, strict=True)
                    if differs(own, one, sizes)
                ]
    return wrong


def differs(told: Any, there: tuple[str, tuple[int, ...]], sizes: dict[str, int]) -> bool:
    """Whether a result has another type than the one that is told of it, as far as that says one."""
    from rxlang.simplify.solver.numbers import holds_at, size_at

    dtype, shape = there
    here = [case.shape for case in told.cases if holds_at(case.when, sizes)]
    said = [*here, told.shape] if told.shape is not None else here
    if told.dtype not in (None, dtype) or told.cases and not here:
        return True
    known = [[None if size == "?" else size_at(size, sizes) for size in one] for one in said]
    return any(
        len(one) != len(shape) or any(a not in (None, b) for a, b in zip(one, shape, strict=True)) for one in known
    )


@needs_torch
def test_contracts_of_code_that_branches_on_sizes_are_what_torch_takes(tmp_path: Path) -> None:
    for seed in range(fuzz.tries("branches on sizes of PyTorch code")):
        text = function(Random(seed))
        assert differences(text, tmp_path, f"branches_{seed}") == [], text
