"""The plugin for pytest: with `--rx-checks`, the checks of decorated functions that no test reached, or saw fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .counting import Row

_SENT = "rx_checks"
_counts = pytest.StashKey[Any]()
_rows = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    help_ = "count the checks of functions that rx.checked decorates: which no test reached, which none saw fail"
    parser.getgroup("rx").addoption("--rx-checks", action="store_true", default=False, help=help_)
    parser.addini("rx_checks", help_, type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--rx-checks") or config.getini("rx_checks"):
        from .counting import Counts  # who does not count does not wait for it

        config.stash[_counts] = Counts(config.rootpath)
        config.stash[_rows] = {}


def pytest_unconfigure(config: pytest.Config) -> None:
    if _counts in config.stash:
        config.stash[_counts].end()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of xdist sends what it counted."""
    sent = getattr(session.config, "workeroutput", None)
    if sent is not None and _counts in session.config.stash:
        sent[_SENT] = [(*row, *counts) for row, counts in session.config.stash[_counts].rows().items()]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    from .counting import Row

    for *row, reached, failed in getattr(node, "workeroutput", {}).get(_SENT, ()):
        _add(node.config.stash[_rows], Row(*row), reached, failed)


def _add(rows: dict[Row, tuple[int, int]], row: Row, reached: int, failed: int) -> None:
    before = rows.get(row, (0, 0))
    rows[row] = before[0] + reached, before[1] + failed


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if _counts not in config.stash:
        return
    from .counting import lines

    rows = dict(config.stash[_rows])
    for row, (reached, failed) in config.stash[_counts].rows().items():
        _add(rows, row, reached, failed)
    terminalreporter.section("rx: checks at doors")
    for line in lines(rows):
        terminalreporter.write_line(line)
