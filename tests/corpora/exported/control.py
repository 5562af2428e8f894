"""Control flow, and sizes that the data decides."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .export import Axes, Export, export


class Branches(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: y.relu() + 1, lambda y: y.tanh() * 2, (x,))


@export
def branches() -> Export:
    return Export(Branches(), {"x": torch.randn(3, 4)}, {"x": {0: "batch", 1: "width"}})


@torch.jit.script
def _summed(x: Tensor) -> Tensor:
    total = torch.zeros_like(x[0])
    for i in range(x.shape[0]):
        total = total * 0.5 + x[i]
    return total


class Scripted(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return _summed(x)


@export
def scripted_loop() -> Export:
    return Export(Scripted(), {"x": torch.randn(5, 4)}, {"x": {0: "steps", 1: "width"}})


@torch.jit.script
def _grown(x: Tensor, count: int) -> Tensor:
    made = x[:1]
    for _ in range(count):
        made = torch.cat([made, made[-1:] * 2.0], dim=0)
    return made


class Growing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return _grown(x, x.shape[0])


@export
def scripted_growth() -> Export:
    return Export(Growing(), {"x": torch.randn(5, 4)}, {"x": {0: "steps", 1: "width"}})


class Chosen(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[x > 0.0] * 2.0


@export
def chosen() -> Export:
    return Export(Chosen(), {"x": torch.randn(3, 4)}, {"x": {0: "batch", 1: "width"}})


class Einsums(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        mixed = torch.einsum("bhqd,bhkd->bhqk", x, y)
        best = mixed.argmax(-1)
        return mixed.cumsum(-1), F.one_hot(best, 9).float().sum((1, 2)), torch.where(mixed > 0, mixed, mixed.mean())


@export
def einsums() -> Export:
    inputs = {"x": torch.randn(2, 3, 4, 5), "y": torch.randn(2, 3, 6, 5)}
    axes: dict[str, Axes] = {"x": {0: "b", 2: "q"}, "y": {0: "b", 2: "k"}}
    return Export(Einsums(), inputs, axes, 3)


@torch.jit.script
def _spelled(state: Tensor, into: Tensor, out: Tensor, most: int) -> tuple[Tensor, Tensor]:
    letters = torch.zeros([state.shape[0], 1], dtype=torch.long)
    turn = 0
    ended = torch.zeros([state.shape[0]], dtype=torch.bool)
    while turn < most and not bool(ended.all()):
        state = torch.tanh(state + into[letters[:, -1]])
        best = (state @ out).argmax(-1)
        letters = torch.cat([letters, best.unsqueeze(1)], dim=1)
        ended = ended | (best == 3)
        turn += 1
    return letters, state


class Speller(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.into, self.out = nn.Parameter(torch.randn(9, 6)), nn.Parameter(torch.randn(6, 9))

    def forward(self, state: Tensor) -> Any:
        return _spelled(state, self.into, self.out, 5)


@export
def greedy_letters() -> Export:
    return Export(Speller(), {"state": torch.randn(2, 6)}, {"state": {0: "batch"}}, 2)


@torch.jit.script
def _evened(x: Tensor) -> Tensor:
    if x.shape[1] % 2 == 1:
        x = torch.cat([x, x[:, :1]], 1)
    if x.shape[1] > 10:
        x = x[:, :10]
    return x.reshape(x.shape[0], -1, 2)


class Evened(nn.Module):
    """Pairs of elements, at most five."""

    def forward(self, x: Tensor) -> Tensor:
        return _evened(x)


@export
def evened() -> Export:
    return Export(Evened(), {"x": torch.randn(3, 7)}, {"x": {0: "batch", 1: "seq"}})


class Bags(nn.Module):
    """Words in bags that begin at given places, the mean of each bag."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.EmbeddingBag(40, 5, mode="mean")

    def forward(self, ids: Tensor) -> Tensor:
        return self.words(ids) * 2


@export
def bags_of_rows() -> Export:
    return Export(Bags(), {"ids": torch.randint(0, 40, (3, 7))}, {"ids": {0: "batch", 1: "seq"}})
