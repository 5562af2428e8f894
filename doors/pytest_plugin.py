"""The plugin for pytest: with `--rx-checks`, the checks of decorated functions and inside programs that no test reached, or
saw fail. Who does not count waits for nothing: what counts is imported where it is asked for."""

from __future__ import annotations

from typing import Any

import pytest

_SENT = "rx_checks"
_counts = pytest.StashKey[Any]()
_rows = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    help_ = (
        "tell which checks of functions that rx.checked decorates, and inside programs, no test reached, or saw fail"
    )
    parser.getgroup("rx").addoption("--rx-checks", action="store_true", default=False, help=help_)
    parser.addini("rx_checks", help_, type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--rx-checks") or config.getini("rx_checks"):
        from .counting import Counts

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
    from .counting import Row, add

    for *row, reached, failed in getattr(node, "workeroutput", {}).get(_SENT, ()):
        add(node.config.stash[_rows], Row(*row), reached, failed)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if _counts not in config.stash:
        return
    from .counting import add, lines

    rows = dict(config.stash[_rows])
    for row, (reached, failed) in config.stash[_counts].rows().items():
        add(rows, row, reached, failed)
    terminalreporter.section("rx: checks")
    for line in lines(rows):
        terminalreporter.write_line(line)
