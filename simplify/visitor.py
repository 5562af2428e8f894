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
    """The walk over one function: its facts and its prover, and the methods that visit a piece of the program."""

    program: ProgramContext
    state: State
    prover: Prover
    bindings: Bindings
    outside: Env

    @property
    def depth(self) -> int:
        """The nesting depth of the function."""

    def stmt(self, frame: Frame, stmt: core.Stmt, env: Env) -> None:
        """Walk a statement: decide it, learn its facts, and write the rest of it to the frame's block."""

    def block(self, frame: Frame, block: core.Block, env: Env) -> tuple[Entry, core.Block]:
        """Walk a block; return its value, and its simplified form."""

    def value(self, frame: Frame, expr: core.Value, env: Env) -> tuple[Entry, core.Value]:
        """Walk an expression; return its abstract value, and its simplified form."""

    def values(self, frame: Frame, exprs: Iterable[core.Value], env: Env) -> list[tuple[Entry, core.Value]]:
        """Walk several expressions, in order."""

    def assume_all(
        self, frame: Frame, stmts: Iterable[core.Stmt], env: Env, *, name_dims: bool
    ) -> tuple[core.Stmt, ...]:
        """Take assertions as facts."""


class VisitorPart:
    """A part of a walk, which sees the others through the visitor."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.program, self.state = visitor.program, visitor.state
        self.prover, self.bindings = visitor.prover, visitor.bindings
