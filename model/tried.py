"""A model with its program, and the result of its check."""

from __future__ import annotations

from collections.abc import Callable

from ..frontends.onnx.model import Model
from ..frontends.onnx.translate import Translation
from ..lang.node import Node, replace
from ..pipeline import Loaded, Report, check_loaded
from ..simplify.known.outcome import Options


class Tried(Node):
    """A model with its program and what checking that gave; `loaded` is the program, to be checked with other options."""

    model: Model
    translation: Translation
    loaded: Loaded
    report: Report

    def checked(self, options: Options) -> Tried:
        """The same, checked with other options."""
        return tried_as(self.model, self.translation, self.loaded, options)


def tried_as(model: Model, translation: Translation, loaded: Loaded, options: Options) -> Tried:
    """A model checked, with what is wrong with its nodes among what is said of the program."""
    report = check_loaded(loaded, options)
    report = replace(report, diagnostics=(*translation.wrong, *report.diagnostics))
    return Tried(model, translation, loaded, report)


# What translates and checks a model; raises RxError.
Check = Callable[[Model], Tried]
