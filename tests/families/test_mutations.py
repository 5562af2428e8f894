"""No traceback, whatever is written: programs of the project with bytes and tokens changed at random, through every phase."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rxlang import pipeline
from rxlang.interp.run import Machine
from rxlang.interp.shape_error import ShapeError
from rxlang.lang.diagnostics import RxError
from rxlang.lang.files import Files
from rxlang.lang.formatter import format_source
from rxlang.lang.parser import decode
from rxlang.lang.render import render_text
from support import fuzz
from support.places import ROOT

BLOCKS = 10
SLOWEST = 20.0  # seconds of CPU for one program: far beyond any, far below a loop without end
TOKEN = re.compile(
    rb"\s+|#[^\n]*|@?[A-Za-z_]\w*'*|\d+(?:\.\d+)?|\"[^\"\n]*\"|==|!=|<=|>=|&&|\|\||//|\.\.\.|.", re.DOTALL
)
STRAY = [
    b"\x00",
    b"\xff",
    b"\t",
    b"\r\n",
    "é".encode(),
    "−".encode(),
    b"(",
    b"}",
    b'"',
    b"\\",
    b"#",
    b"99999999999999999999",
]

PROGRAMS = sorted(
    path
    for folder in ("examples", "tests/notes")
    for path in (ROOT / folder).rglob("*.rx")
    if "load(" not in path.read_text(encoding="utf-8") and path.name != "minilm.rx"
)
TOKENS = sorted({token for path in PROGRAMS for token in TOKEN.findall(path.read_bytes())})

Mutation = Callable[[random.Random, bytes], bytes]


def cut_bytes(rng: random.Random, text: bytes) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.choice((1, 1, 2, 7, 40)) :]


def insert_bytes(rng: random.Random, text: bytes) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice((*STRAY, rng.randbytes(2))) + text[at:]


def truncate(rng: random.Random, text: bytes) -> bytes:
    return text[: rng.randrange(len(text) + 1)]


def repeat_part(rng: random.Random, text: bytes) -> bytes:
    begin, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    return text[:end] + text[begin:end] + text[end:]


def drop_token(rng: random.Random, text: bytes) -> bytes:
    tokens = TOKEN.findall(text)
    del tokens[rng.randrange(len(tokens))]
    return b"".join(tokens)


def swap_tokens(rng: random.Random, text: bytes) -> bytes:
    tokens = TOKEN.findall(text)
    i, j = (rng.randrange(len(tokens)) for _ in range(2))
    tokens[i], tokens[j] = tokens[j], tokens[i]
    return b"".join(tokens)


def replace_token(rng: random.Random, text: bytes) -> bytes:
    tokens = TOKEN.findall(text)
    tokens[rng.randrange(len(tokens))] = rng.choice(TOKENS)
    return b"".join(tokens)


def rename(rng: random.Random, text: bytes) -> bytes:
    """One word becomes another one of the program, wherever it stands: what parses and means nonsense."""
    words = sorted(set(re.findall(rb"[A-Za-z_]\w*|\d+", text))) or [b"n"]
    return re.sub(rb"\b" + rng.choice(words) + rb"\b", rng.choice(words), text)


MUTATIONS: tuple[Mutation, ...] = (
    cut_bytes, insert_bytes, truncate, repeat_part, drop_token, swap_tokens, replace_token, replace_token, rename, rename,
)  # fmt: skip


def mutated(seed: int) -> tuple[Path, bytes]:
    rng = random.Random(seed)
    path = rng.choice(PROGRAMS)
    text = path.read_bytes()
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        text = rng.choice(MUTATIONS)(rng, text) or b" "
    return path, text


def live(path: Path, text: bytes) -> None:
    """The life of a program, as `rx fmt`, `rx check` and `rx run` lead it."""
    source, broken = decode(text, path.name)
    if not broken:
        format_source(source)
    report = pipeline.check_bytes(text, path.name, path.parent)
    for diagnostic in report.diagnostics:
        assert render_text(diagnostic)
    if report.ok and report.checked is not None:
        run(report.checked, path.parent)


def run(checked: pipeline.Checked, base: Path) -> None:
    if checked.program.main is None or checked.program.main.params:
        return
    try:
        with np.errstate(all="ignore"):
            Machine(checked.program, Files(base, ())).script()
    except (ShapeError, RxError) as told:
        assert str(told)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_mutated_program_gives_a_diagnostic_or_works(block: int) -> None:
    for case in fuzz.cases("mutations", block, BLOCKS):
        with case as seed:
            path, text = mutated(seed)
            began = time.process_time()
            live(path, text)
            assert time.process_time() - began < SLOWEST, f"from {path.name}"


def test_mutations_reach_every_phase() -> None:
    """Enough of the mutants are broken text, enough are rejected later, and enough are still programs."""
    codes: list[str] = []
    for seed in range(60):
        path, text = mutated(seed)
        report = pipeline.check_bytes(text, path.name, path.parent)
        codes.append(next((d.code[:2] for d in report.diagnostics if d.severity == "error"), "ok"))
    assert {"E1", "E2", "E3", "ok"} <= set(codes)
