"""Names by beam search: counts how letters follow each other in some names, and asks search.rx for the likeliest new ones."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import rxlang as rx

HERE = Path(__file__).resolve().parent
NAMES = [
    *("anna", "berta", "clara", "dora", "emma", "frieda", "greta", "hanna", "ida", "johanna", "klara", "lena", "marta"),
    *(
        "nora",
        "olga",
        "paula",
        "rosa",
        "sara",
        "thea",
        "ulla",
        "vera",
        "wanda",
        "zora",
        "alma",
        "elsa",
        "erna",
        "hilda",
    ),
    *("irma", "linda", "minna", "selma", "tilda", "martha", "bertha", "herta"),
]
LETTERS = "." + "".join(sorted(set("".join(NAMES))))
END = np.array(0)


def model() -> np.ndarray:
    """The logarithm of how likely each letter follows two others; `.` stands before and behind a name."""
    counts = np.full((len(LETTERS),) * 3, 0.01)
    for name in NAMES:
        letters = [LETTERS.index(letter) for letter in f"..{name}."]
        for triple in zip(letters, letters[1:], letters[2:], strict=False):
            counts[triple] += 1
    return np.log(counts / counts.sum(axis=-1, keepdims=True)).astype(np.float32)


def begun(letters: str) -> np.ndarray:
    """The start of a name: a text that ends with `.` has ended, so it begins with at least one letter."""
    return np.array([LETTERS.index(letter) for letter in f".{letters}"])


def main() -> int:
    search = rx.load(HERE / "search.rx").search
    for start in sys.argv[1:] or ("h", "ma", "o"):
        texts, scores = search(begun(start), model(), END, 4, 12)
        names = ("".join(LETTERS[letter] for letter in text).strip(".") for text in texts)
        print(f"{start}: " + ", ".join(f"{name} ({np.exp(s):.2f})" for name, s in zip(names, scores, strict=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
