"""The small questions of benchmarks/peers.py: what Rx says of each is the truth. Its peers are not asked here."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest
from support.places import ROOT

BENCHMARKS = ROOT / "benchmarks"
RIGHT = {"all": "accepts", "some": "warns", "none": "refuses"}


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of the benchmarks, which import each other as scripts do."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "peers", raising=False)  # the folder of the sources may be called so
    return importlib.import_module


def test_rx_tells_what_always_fits_from_what_may_and_what_never_does(benchmark: Any) -> None:
    peers, notations = benchmark("peers"), benchmark("notations")
    said = {row.claim: notations.rx(row.program).verdict for row in peers.ROWS}
    assert said == {row.claim: RIGHT[row.fits] for row in peers.ROWS}
    assert {row.fits for row in peers.ROWS} == set(RIGHT)


def test_rx_sees_every_mistake_in_a_transformer_and_none_in_the_right_one(benchmark: Any) -> None:
    encoder, notations = benchmark("encoder"), benchmark("notations")
    assert notations.rx(encoder.encoder(2)).verdict == "accepts"
    unseen = [mistake for mistake in encoder.MISTAKES if notations.rx(encoder.encoder(2, mistake)).verdict == "accepts"]
    assert unseen == []


def test_what_is_not_installed_is_left_out_with_the_way_to_install_it(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notations = benchmark("notations")
    monkeypatch.setattr(notations, "find_spec", lambda name: None)
    assert notations.installed() == ["Rx"]
    assert "jax.export is not installed: pip install jax" in capsys.readouterr().out
