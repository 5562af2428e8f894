"""Protocols between the parts of a walk: one handles assertions, one arms, one calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ..lang import core
from .bindings import Bindings
from .frame import Frame
from .known.state import State
from .known.values import Entry, Env
from .program import ProgramContext
from .prover import Prover


class Visitor(Protocol):
    """The walk over one function: what is known and proved there, and how it visits a piece of the program."""

    program: ProgramContext
    state: State
    prover: Prover
    bindings: Bindings
    outside: Env

    @property
    def depth(self) -> int:
        """How deeply the function is nested."""

    def stmt(self, frame: Frame, stmt: core.Stmt, env: Env) -> None:
        """A statement: what it says is decided and known afterwards, what stays of it is written to the frame's block."""

    def block(self, frame: Frame, block: core.Block, env: Env) -> tuple[Entry, core.Block]:
        """A block: its value, and itself simplified."""

    def value(self, frame: Frame, expr: core.Value, env: Env) -> tuple[Entry, core.Value]:
        """An expression: its abstract value, and itself simplified."""

    def values(self, frame: Frame, exprs: Iterable[core.Value], env: Env) -> list[tuple[Entry, core.Value]]:
        """Several expressions, in order."""

    def assume_all(
        self, frame: Frame, stmts: Iterable[core.Stmt], env: Env, *, name_dims: bool
    ) -> tuple[core.Stmt, ...]:
        """Take assertions as facts."""


class VisitorPart:
    """What looks after some of a walk: it sees the others through the visitor."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.program, self.state = visitor.program, visitor.state
        self.prover, self.bindings = visitor.prover, visitor.bindings
