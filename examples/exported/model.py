"""A small language model in PyTorch: `rx check model.py:GPT` reads it as it stands; export.py makes gpt.onnx of it."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (part.view(b, t, self.heads, d // self.heads).transpose(1, 2) for part in self.qkv(x).split(d, dim=2))
        scores = q @ k.transpose(2, 3) / (d // self.heads) ** 0.5
        later = torch.ones(t, t, dtype=torch.bool).triu(1)
        mixed = torch.softmax(scores.masked_fill(later, -1e9), dim=3) @ v
        return self.out(mixed.transpose(1, 2).reshape(b, t, d))


class GPT(nn.Module):
    def __init__(self, words=97, length=64, width=24, heads=4):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.head = nn.Linear(width, words)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        return self.head(x + self.attention(self.norm(x)))
