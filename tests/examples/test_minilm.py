"""The sentence encoder against reference values that PyTorch computed from the same weights."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from support.places import ROOT

MINILM = ROOT / "examples" / "minilm"
CACHE = ROOT / ".cache" / "minilm"
ASKED = json.loads((MINILM / "reference.json").read_text(encoding="utf-8"))
REFERENCE = np.load(MINILM / "reference.npy")

needs_weights = pytest.mark.skipif(
    not (CACHE / "model.safetensors").is_file(), reason="the weights are not there: `make weights` fetches them"
)


@pytest.fixture(scope="module")
def encode() -> Any:
    sys.path.insert(0, str(MINILM))
    try:
        import tokens
    finally:
        sys.path.remove(str(MINILM))
    return tokens.encode


@pytest.fixture(scope="module")
def model() -> Any:
    return rx.load(MINILM / "minilm.rx", roots=[CACHE])


def apart(got: np.ndarray, expected: np.ndarray) -> float:
    assert got.shape == expected.shape
    assert got.dtype == np.float32
    return float(np.abs(got - expected).max())


@needs_weights
def test_one_sentence_agrees_with_pytorch(encode: Any, model: Any) -> None:
    assert apart(model.embed(*encode([ASKED["single"]])), REFERENCE[:1]) < 1e-5


@needs_weights
def test_a_padded_batch_agrees_with_pytorch(encode: Any, model: Any) -> None:
    ids, mask = encode(ASKED["batch"])
    assert not mask.all(axis=1).all()
    assert apart(model.embed(ids, mask), REFERENCE[1:]) < 1e-5


@needs_weights
def test_padding_changes_nothing(encode: Any, model: Any) -> None:
    ids, mask = encode([ASKED["single"]])
    wider = np.pad(ids, ((0, 0), (0, 7))), np.pad(mask, ((0, 0), (0, 7)))
    assert apart(model.embed(*wider), REFERENCE[:1]) < 1e-5


@needs_weights
def test_the_tokenizer_does_not_pad_to_its_stored_length(encode: Any) -> None:
    ids, mask = encode(["Rain"])
    assert ids.tolist() == [[101, 4542, 102]]
    assert mask.all()


@needs_weights
def test_everything_inside_is_proved_for_every_batch_and_length() -> None:
    text = (MINILM / "minilm.rx").read_text(encoding="utf-8")
    report = rx.check_source(text, filename=str(MINILM / "minilm.rx"), roots=[CACHE], strict=True)
    assert report.diagnostics == ()
    counts = report.counts
    assert (counts.refuted, counts.residual) == (0, 0)
    assert counts.total == counts.proved + counts.entry > 1000


@needs_weights
@pytest.mark.parametrize("ids, mask", [((2, 513), (2, 513)), ((2, 7), (2, 6)), ((2, 7), (3, 7)), ((7,), (7,))])
def test_what_the_signature_excludes_is_refused(model: Any, ids: tuple[int, ...], mask: tuple[int, ...]) -> None:
    with pytest.raises(rx.ShapeError):
        model.embed(np.zeros(ids, np.int64), np.ones(mask, bool))


@needs_weights
def test_the_table_is_printed_to_three_decimals() -> None:
    command = [sys.executable, str(MINILM / "embed.py"), "Rain", "Rain", "The new film is great!"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    proved, ran, head, *rows = done.stdout.splitlines()
    assert "assertions are proved" in proved
    assert ran.endswith("7 of its arguments, 0 inside.")
    assert head.split() == ["1", "2", "3"]
    assert rows[0].split()[-3:-1] == ["1.000", "1.000"]
    assert rows[2].split()[-3:] == ["0.031", "0.031", "1.000"]
