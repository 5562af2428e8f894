"""Views of tensors that do not lie in memory row by row: the contract against what torch takes, at all sizes of a box."""

from __future__ import annotations

from itertools import permutations, product
from pathlib import Path
from random import Random
from typing import Any

from support import fuzz
from support.torch_cases import checked, holds, needs_torch

MOVES = (
    "x.transpose(0, 1)", "x.transpose(-1, 1)", "x.permute(2, 0, 1)", "x.movedim(0, -1)", "x.mT", "x.swapaxes(0, 2)",
    "x[:, 1:]", "x[..., :-1]", "x[::2]", "x[:, :, None].squeeze(2)", "x.unsqueeze(1).expand(-1, 3, -1, -1)[:, 1]",
    "x.unsqueeze(1).expand(-1, 2, -1, -1).select(1, 0)", "x.relu()", "x + 1", "x + x", "x * x.sum(0)", "x.contiguous()",
    "x.clone()", "torch.softmax(x, -1)", "x.mT @ x.relu()", "x @ x.mT.relu()", "torch.cat([x, x], 1)",
    "x.split([1, x.shape[1] - 1], 1)[1]",
 "torch.stack([x, x], 1).unbind(1)[1]", "x.flatten(1).unsqueeze(1)",
    "x.to(torch.float64)", "x.narrow(0, 0, 1)", "torch.where(x > 0, x, x + 1)", "torch.dropout(x, 0.5, False)",
    "torch.nn.functional.layer_norm(x, x.shape[2:])", "x.sum(1, keepdim=True)", "torch.einsum('abc->bca', x)",
    "x.tril()", "x.flip(0)", "x.chunk(2, 2)[0]", "x[0][None]", "torch.zeros_like(x)", "x.masked_fill(x > 1, 0.0)",
)  # fmt: skip
VIEWS = (
    "x.view(-1)", "x.view(x.shape[0], -1)", "x.view(-1, x.shape[2])", "x.view(x.shape[1], -1)", "x.view(*x.shape[:2], 1, -1)",
    "x.view(x.shape[0] * x.shape[1], x.shape[2])", "x.view(x.shape[0], x.shape[1] * x.shape[2])", "x.view(x.size())",
    "x.view(1, *x.shape)", "x.view_as(x)", "x.view(x.shape[1], x.shape[0], x.shape[2])",
)  # fmt: skip


def function(random: Random) -> str:
    moves = [random.choice(MOVES) for _ in range(random.randint(1, 3))]
    return "\n".join(["def f(x):", *(f"    x = {move}" for move in moves), f"    return {random.choice(VIEWS)}"])


def outcome(code: Any, sizes: tuple[int, ...]) -> bool:
    import torch

    try:
        code(torch.ones(sizes))
    except (RuntimeError, ValueError, IndexError):
        return False
    return True


def differences(text: str, folder: Path, name: str) -> list[tuple[int, ...]]:
    (folder / f"{name}.py").write_text(f"import torch\n\n{text}\n")
    scope: dict[str, Any] = {}
    exec(f"import torch\n{text}", scope)
    found = checked(folder, f"{name}.py:f", "x=float32[a, b, c]")
    # A reshape that copies may be a view where an axis has one entry or two are equal; it is taken to copy.
    copies = "reshape" in text or "flatten" in text
    box = permutations((3, 4, 5, 7), 3) if copies else product((1, 2, 3, 4), repeat=3)
    takes = {sizes: outcome(scope["f"], sizes) for sizes in box}
    return [s for s, taken in takes.items() if not is_right(found, dict(zip("abc", s, strict=True)), taken)]


def is_right(found: Any, sizes: dict[str, int], is_taken: bool) -> bool:
    """Whether a contract takes sizes as torch does. What an error says is needed holds where torch takes sizes of several
    entries; on the way of others it may be another condition."""
    from rxlang.simplify.solver.numbers import holds_at

    if found.contract is not None:
        return holds(found, sizes) == is_taken
    told = [d.message.partition("holds only if ")[2] for d in found.report.diagnostics if d.severity == "error"]
    if not is_taken or min(sizes.values()) < 3:
        return bool(told)
    return all(not text or holds_at(text, sizes) for text in told)


@needs_torch
def test_a_view_is_taken_where_torch_takes_it(tmp_path: Path) -> None:
    for seed in range(fuzz.tries("views of strided tensors")):
        text = function(Random(seed))
        assert differences(text, tmp_path, f"views_{seed}") == [], text


@needs_torch
def test_four_sizes_heads_nothing_and_keywords_are_followed(tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text(
        "import torch\n\n"
        "def four(x):\n    return x.permute(0, 2, 3, 1).view(x.shape[0], -1)\n\n"
        "def heads(x):\n    return x[:, 1:].view(x.shape[0], x.shape[1] - 1, x.shape[2], 11, -1)\n\n"
        "def nothing(x):\n    return x.view(0, -1)\n\n"
        "def named(x):\n    return torch.transpose(input=x, dim0=1, dim1=2).flatten(0)\n"
    )
    for name, is_error in (("four", True), ("heads", False), ("nothing", True), ("named", False)):
        found = checked(tmp_path, f"more.py:{name}", "x=float32[b, c, h, w]")
        assert [d.severity for d in found.report.diagnostics if d.severity == "error"] == ["error"] * is_error, name


@needs_torch
def test_only_the_ways_that_add_something_are_told(tmp_path: Path) -> None:
    (tmp_path / "ways.py").write_text("def f(x):\n    return x.transpose(0, 1).view(-1)\n")
    (said,) = checked(tmp_path, "ways.py:f", "x=float32[a, b, c]").report.diagnostics
    assert said.message.endswith("holds only if a <= 1 || b <= 1 || c == 0")
