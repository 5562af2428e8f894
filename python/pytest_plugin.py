"""The pytest plugin. `--rx-checks` lists the checks, of decorated functions and inside programs, that no test reached or saw
fail; `--rx-trace` proves the signatures of functions with `body=True`. Each option's code is imported only if the option is
given, so other runs do not pay for it."""

from __future__ import annotations

from typing import Any

import pytest

_SENT = "rx_checks"
_PROVED = "rx_bodies"
_counts = pytest.StashKey[Any]()
_rows = pytest.StashKey[Any]()
_bodies = pytest.StashKey[dict[str, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    help_ = "report the checks of functions decorated with rx.checked, and inside programs, that no test reached or saw fail"
    parser.getgroup("rx").addoption("--rx-checks", action="store_true", default=False, help=help_)
    parser.addini("rx_checks", help_, type="bool", default=False)
    traced = "prove that the bodies of functions decorated with body=True keep their signatures"
    parser.getgroup("rx").addoption("--rx-trace", action="store_true", default=False, help=traced)
    parser.addini("rx_trace", traced, type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--rx-checks") or config.getini("rx_checks"):
        from .counting import ReachedCounts

        config.stash[_counts] = ReachedCounts(config.rootpath)
        config.stash[_rows] = {}

    if config.getoption("--rx-trace") or config.getini("rx_trace"):
        from .proofs import begin

        begin()
        config.stash[_bodies] = {}


def pytest_collection_finish(session: pytest.Session) -> None:
    """Prove the bodies that need no call; with xdist, only the first worker does."""
    worker = getattr(session.config, "workerinput", {}).get("workerid", "gw0")
    if _bodies in session.config.stash and worker == "gw0":
        from .proofs import prove

        prove()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _bodies in config.stash:
        from .proofs import end

        end()
    if _counts in config.stash:
        config.stash[_counts].end()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Finish the counts and proofs; a worker of xdist sends them."""
    sent = getattr(session.config, "workeroutput", None)
    if _bodies in session.config.stash:
        _tell_bodies(session, sent)
    if sent is not None and _counts in session.config.stash:
        sent[_SENT] = [(*row, *counts) for row, counts in session.config.stash[_counts].rows().items()]


def _tell_bodies(session: pytest.Session, sent: Any) -> None:
    from .proofs import merged, outcomes

    found = merged(session.config.stash[_bodies], outcomes())
    if sent is not None:
        sent[_PROVED] = found
    elif any(said.startswith("wrong") for said in found.values()) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    from .counting import CountedCheck, add

    if _bodies in node.config.stash:
        from .proofs import merged

        merged(node.config.stash[_bodies], getattr(node, "workeroutput", {}).get(_PROVED, {}))
    for *row, reached, failed in getattr(node, "workeroutput", {}).get(_SENT, ()):
        add(node.config.stash[_rows], CountedCheck(*row), reached, failed)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if _bodies in config.stash:
        terminalreporter.section("rx: bodies")
        for place, said in sorted(config.stash[_bodies].items()):
            terminalreporter.write_line(f"{place}: {said}")
    if _counts not in config.stash:
        return
    from .counting import add, lines

    rows = dict(config.stash[_rows])
    for row, (reached, failed) in config.stash[_counts].rows().items():
        add(rows, row, reached, failed)
    terminalreporter.section("rx: checks")
    for line in lines(rows):
        terminalreporter.write_line(line)
