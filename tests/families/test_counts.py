"""The families of random programs: how many are tried, what failed, and the table of it."""

from __future__ import annotations

import pytest
from support import fuzz


def test_as_many_programs_are_tried_as_are_promised() -> None:
    found = {family: count.all for family, count in fuzz.FAMILIES.items()}
    assert found["random programs"] + found["loops over sizes"] + found["loops"] >= 20_000
    assert sum(n for family, n in found.items() if family.startswith("questions")) >= 5 * 25_000
    assert (found["mutations"], found["damaged weights"], found["nested sizes"]) == (10_000, 2_000, 5_000)
    assert all(count.sample <= count.all for count in fuzz.FAMILIES.values())


def test_what_fails_is_told_with_its_number_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "FUZZ", 0.0)
    monkeypatch.setattr(fuzz, "SEED", None)
    with pytest.raises(ExceptionGroup) as caught:
        for case in fuzz.cases("residuals"):
            with case as seed:
                assert seed not in (3, 5)
    assert [p.__notes__ for p in caught.value.exceptions] == [["residuals: RX_SEED=3"], ["residuals: RX_SEED=5"]]
    head, row, whole = fuzz.table(fuzz.taken())
    tried = str(fuzz.FAMILIES["residuals"].sample)
    assert head.split()[:3] == ["family", "programs", "wrong"]
    assert (row.split()[:3], whole.split()[:3]) == (["residuals", tried, "2"], ["all", tried, "2"])


def test_one_program_is_tried_again_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "SEED", 4711)
    tried = []
    for part in range(3):
        for case in fuzz.cases("residuals", part, 3):
            with case as seed:
                tried.append(seed)
    fuzz.taken()
    assert tried == [4711]
