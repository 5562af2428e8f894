"""A model with its program, and the result of its check."""

from __future__ import annotations

from collections.abc import Callable

from ..frontends.onnx.model import Model
from ..frontends.onnx.translate import Translation
from ..lang.node import Node, replace
from ..pipeline import Loaded, Report, check_loaded
from ..simplify.known.outcome import Options


class Tried(Node):
    """A model with its program and the result of its check; `loaded` is the program, for checks with other options."""

    model: Model
    translation: Translation
    loaded: Loaded
    report: Report

    def checked(self, options: Options) -> Tried:
        """The same model, checked with other options."""
        return tried_as(self.model, self.translation, self.loaded, options)


def tried_as(model: Model, translation: Translation, loaded: Loaded, options: Options) -> Tried:
    """Check a model; mistakes in its nodes are reported with those of the program."""
    report = check_loaded(loaded, options)
    report = replace(report, diagnostics=(*translation.wrong, *report.diagnostics))
    return Tried(model, translation, loaded, report)


# Translates and checks a model; raises RxError.
Check = Callable[[Model], Tried]
