"""Goldens: a test compares a text with a file beside it; RX_ACCEPT=1 writes the file instead. Figures of random tests."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from support import fuzz

# No test depends on what the user's cache holds: nothing is kept, but where a test says so.
os.environ["RX_CACHE_DIR"] = ""
settings.register_profile("rx", max_examples=200 if fuzz.FULL else 40, deadline=None)
settings.load_profile("rx")


@pytest.fixture
def golden() -> Callable[[Path, str], None]:
    """Compare a text with a golden file; a difference is shown with the command that accepts it."""

    def compare(path: Path, text: str) -> None:
        if os.environ.get("RX_ACCEPT"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        wanted = path.read_text() if path.exists() else ""
        diff = "".join(difflib.unified_diff(wanted.splitlines(True), text.splitlines(True), "golden", "now"))
        assert text == wanted, f"{path.name} differs; RX_ACCEPT=1 make test accepts it:\n{diff}"

    return compare


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """What a test counted of its random programs goes with its report, from whichever process."""
    try:
        yield
    finally:
        item.user_properties += fuzz.taken()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """All random programs take an hour and more: a failure is said when it happens, by the one process that tells."""
    if fuzz.FUZZ is not None and report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\n{report.nodeid} failed\n{report.longreprtext}", flush=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if fuzz.FUZZ is not None:
        reports = [r for found in terminalreporter.stats.values() for r in found if isinstance(r, pytest.TestReport)]
        for line in fuzz.table([p for report in reports if report.when == "call" for p in report.user_properties]):
            terminalreporter.write_line(line)
