"""Compute examples/minilm/reference.npy with PyTorch: an embedding of the single sentence of reference.json, then one per row.

Run once, in an environment with torch, safetensors and tokenizers:
`PYTHONPATH=examples/minilm python tests/examples/make_minilm_reference.py`.
The forward pass is written out here, independently of the Rx program; only the weights and the tokens are shared.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from tokens import CACHE, encode
from torch import Tensor
from torch.nn import functional as F

HERE = Path(__file__).resolve().parents[2] / "examples" / "minilm"
WEIGHTS = load_file(CACHE / "model.safetensors")
LAYERS, HEADS, EPSILON = 6, 12, 1e-12


def linear(x: Tensor, name: str) -> Tensor:
    return F.linear(x, WEIGHTS[f"{name}.weight"], WEIGHTS[f"{name}.bias"])


def norm(x: Tensor, name: str) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], WEIGHTS[f"{name}.weight"], WEIGHTS[f"{name}.bias"], EPSILON)


def attention(x: Tensor, mask: Tensor, name: str) -> Tensor:
    batch, length, width = x.shape

    def heads(part: str) -> Tensor:
        return linear(x, f"{name}.self.{part}").view(batch, length, HEADS, width // HEADS).transpose(1, 2)

    scores = heads("query") @ heads("key").transpose(2, 3) / math.sqrt(width // HEADS)
    weights = scores.masked_fill(~mask[:, None, None, :], float("-inf")).softmax(-1)
    return (weights @ heads("value")).transpose(1, 2).reshape(batch, length, width)


def layer(x: Tensor, mask: Tensor, name: str) -> Tensor:
    attended = linear(attention(x, mask, f"{name}.attention"), f"{name}.attention.output.dense")
    x = norm(x + attended, f"{name}.attention.output.LayerNorm")
    hidden = F.gelu(linear(x, f"{name}.intermediate.dense"))
    return norm(x + linear(hidden, f"{name}.output.dense"), f"{name}.output.LayerNorm")


def embed(sentences: list[str]) -> np.ndarray:
    ids, mask = (torch.from_numpy(a) for a in encode(sentences))
    x = WEIGHTS["embeddings.word_embeddings.weight"][ids]
    x = x + WEIGHTS["embeddings.position_embeddings.weight"][: ids.shape[1]]
    x = x + WEIGHTS["embeddings.token_type_embeddings.weight"][0]
    x = norm(x, "embeddings.LayerNorm")
    for i in range(LAYERS):
        x = layer(x, mask, f"encoder.layer.{i}")
    kept = mask[:, :, None].to(x.dtype)
    mean = (x * kept).sum(1) / kept.sum(1)
    return F.normalize(mean, dim=1).numpy()


if __name__ == "__main__":
    asked = json.loads((HERE / "reference.json").read_text(encoding="utf-8"))
    rows = np.concatenate([embed([asked["single"]]), embed(asked["batch"])])
    np.save(HERE / "reference.npy", rows)
    print(f"reference.npy: {rows.shape[0]} embeddings of {rows.shape[1]} numbers")
