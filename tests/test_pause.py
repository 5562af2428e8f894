"""The garbage collector stands still during a phase, and afterwards it is as it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from rxlang.lang.pause import collector_paused, collector_spared


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


@collector_paused
def phase(fail: bool = False) -> bool:
    if fail:
        raise ValueError("broken off")
    return gc.isenabled()


def test_nothing_is_collected_during_a_phase_and_all_is_again_after_it() -> None:
    assert not phase()
    assert gc.isenabled()


def test_a_phase_that_fails_leaves_the_collector_running() -> None:
    with pytest.raises(ValueError, match="broken off"):
        phase(fail=True)
    assert gc.isenabled()


def test_a_collector_that_somebody_switched_off_stays_off() -> None:
    gc.disable()
    assert not phase()
    assert not gc.isenabled()


def test_an_inner_phase_does_not_end_the_pause_of_an_outer_one() -> None:
    @collector_paused
    def outer() -> tuple[bool, bool]:
        return phase(), gc.isenabled()

    assert outer() == (False, False)


def test_what_a_phase_made_is_not_visited_until_the_next_one_begins() -> None:
    @collector_spared
    def making() -> tuple[list[int], int]:
        return [1, 2, 3], gc.get_freeze_count()

    try:
        made, before = making()
        assert (before, gc.isenabled()) == (0, True)
        assert gc.get_freeze_count() > 0
        assert making()[1] == 0
    finally:
        gc.unfreeze()
    assert made == [1, 2, 3]
