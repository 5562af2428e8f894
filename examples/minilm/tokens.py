"""Sentences to token numbers, and the mask that tells tokens from padding."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "minilm"
LONGEST = 256  # what the model was trained on; its position table has 512 rows


def load_tokenizer() -> Tokenizer:
    """The model's tokenizer. The stored one pads everything to 128 tokens and cuts there: neither is wanted."""
    tokenizer = Tokenizer.from_file(str(CACHE / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    return tokenizer


def encode(sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """`ids` of shape [b, t] and dtype int64, 0 where a sentence is shorter than the longest, and a boolean `mask`."""
    rows = [row.ids for row in load_tokenizer().encode_batch(list(sentences))]
    longest = max(len(row) for row in rows)
    ids = np.zeros((len(rows), longest), np.int64)
    mask = np.zeros((len(rows), longest), bool)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = True
    return ids, mask
