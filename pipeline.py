"""The life of a program: bytes -> text -> sweet tree -> core tree -> checked and simplified core -> results.

    open        bytes to text; a model is translated to it                lang/parser.py, frontends/onnx/
    load        text to sweet trees, imports included                     lang/modules.py, lang/parser.py
    desugar     sweet trees to one core program                           desugar/desugar.py
    derive      the bodies of gradients, core to core                     grad/differentiate.py
    check       assertions proved, refuted or left; shapes of everything  simplify/propagate.py
    lower       what is left, to steps over slots, with their last uses   interp/lower.py
    compile     steps to Python source over NumPy, and that to functions  interp/text.py, interp/compile.py
    run         the consts are evaluated; then functions are called       interp/run.py

Each phase takes values and returns values with diagnostics; a phase runs only if nothing before it went wrong in a way that
would make its answers meaningless. Files are opened by lang/files.py, below the program's folder and the roots only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .desugar.desugar import desugar
from .desugar.symbols import ProgramPart
from .lang import codes, core
from .lang.checked import Checked, Counts
from .lang.diagnostics import Diagnostic, RxError, error, in_order, likeliest_first, warning
from .lang.display import Displayed
from .lang.dtypes import DTYPES
from .lang.files import Files, is_model
from .lang.given import Given
from .lang.modules import Loaded as Parsed, Modules, load_program
from .lang.node import Node, replace
from .lang.parser import decode, parse
from .lang.pause import collector_paused
from .lang.source import Source
from .lang.stored import BadWeights, Header
from .lang.styled import Line, said
from .lang.summary import summary
from .lang.walk import rewrite, walk
from .ops.model import TensorInfo
from .ops.registry import lookup
from .simplify.inlined import inlined as inline_wrappers
from .simplify.known.outcome import Options
from .simplify.on_shapes import (
    ArgumentShape,
    CallResult,
    ShapeCases,
    cases_of_shapes,
    first_failure,
    result_shapes,
)
from .simplify.propagate import KnownConsts, check
from .simplify.solver.conditions import Cond

if TYPE_CHECKING:
    from .interp.run import Fast, Machine
    from .interp.shape_error import Explain


class Report(Displayed, Node):
    """The result of checking a program: `ok`, the `diagnostics`, and the `counts` of proved, refuted and remaining
    assertions. `str` is the report of `rx check`. `checked` is None if the program could not be checked at all."""

    files: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    counts: Counts
    checked: Checked | None
    # The given conditions that apply to no function of the program.
    unmet: tuple[str, ...] = ()
    # Make the same report with helps, which are computed on demand.
    helped: Callable[[], Report] | None = None

    def __str__(self) -> str:
        """The report of `rx check`."""
        from .lang.render import render_text  # few reports are printed

        return "".join(render_text(d) + "\n" for d in likeliest_first(self.told)) + self.summary

    @property
    def told(self) -> tuple[Diagnostic, ...]:
        """The diagnostics with their helps."""
        return self.diagnostics if self.helped is None else self.helped().diagnostics

    @property
    def summary(self) -> str:
        """The last line of the report of `rx check`."""
        counts = self.counts if self.checked is not None else None
        return summary(self.files[:1], not self.ok, counts, self.diagnostics)

    def __repr__(self) -> str:
        return f"<rx report {summary(self.files[:1], not self.ok, self.counts, self.diagnostics)}>"

    def _lines(self) -> list[Line]:
        from .lang.render import diagnostics_lines  # few are shown in notebooks

        told = likeliest_first(self.told)
        return [*diagnostics_lines(told), *([()] if told else ()), *said(self.summary)]

    @property
    def ok(self) -> bool:
        """Whether the program may run: no error among the diagnostics."""
        return all(d.severity != "error" for d in self.diagnostics)


@collector_paused
def check_bytes(
    data: bytes, name: str, base: Path | Files, roots: tuple[Path, ...] = (), options: Options | None = None
) -> Report:
    """Check a program read from a file called `name`; `base` is its folder, or the Files that open its other files."""
    source, diagnostics = opened(data, name, base.base if isinstance(base, Files) else base)
    if any(d.severity == "error" for d in diagnostics):
        return Report((name,), diagnostics, Counts(), None)
    return check_source(source, base, roots, options)


def opened(data: bytes, name: str, base: Path) -> tuple[Source, tuple[Diagnostic, ...]]:
    """The text of a program; a model is translated, and only its own reader opens its file."""
    if not is_model(name):
        return decode(data, name)
    from .frontends.onnx.translate import opened as translated  # few programs are models

    return translated(name, base)


def check_text(
    text: str, name: str, base: Path, roots: tuple[Path, ...] = (), options: Options | None = None
) -> Report:
    """Check a program given as text."""
    return check_source(Source(name, text), base, roots, options)


@collector_paused
def check_source(
    source: Source, base: Path | Files, roots: tuple[Path, ...] = (), options: Options | None = None
) -> Report:
    """Check a program given as a source; `base` may be the Files that open its other files."""
    return check_loaded(loaded(source, base, roots), options or Options())


class Loaded(Node):
    """A parsed program with its imports, which can be checked repeatedly."""

    modules: Modules
    diagnostics: tuple[Diagnostic, ...]
    files: Files


@collector_paused
def loaded(source: Source, base: Path | Files, roots: tuple[Path, ...] = ()) -> Loaded:
    """Parse a program given as a source, with its imports; `base` may be the Files that open its other files."""
    files = base if isinstance(base, Files) else Files(base, roots)
    return Loaded(*load_program(source, files), files)


@collector_paused
def check_loaded(given: Loaded, options: Options) -> Report:
    """Check a loaded program."""
    if is_model(
        given.modules.entry.module.source.name
    ):  # a claim that holds only for empty tensors, or in one arm, is a condition on the inputs
        options = replace(options, allow_empty=True, spare_arms=True)
    program, sorts = _derived(*desugar(given.modules, lookup, options.given))
    return _checked(given.modules, program, (*given.diagnostics, *sorts), given.files, options)


@collector_paused
def check_in_doubles(given: Loaded, change: Callable[[core.Program], core.Program], options: Options) -> Report:
    """Check a loaded program after `change`, with float64 in place of other floats."""
    program, diagnostics = _derived(*desugar(given.modules, lookup))
    own = {f.name for f in program.functions}
    doubles = rewrite(change(program), lambda node: _in_doubles(node, own))
    return _checked(given.modules, doubles, diagnostics, given.files, options)


def _in_doubles(node: Node, own: set[str]) -> Node:
    double = DTYPES["float64"]
    if isinstance(node, core.DTypeLit | core.TensorLit) and node.dtype.kind == "float":
        return replace(node, dtype=double)
    if isinstance(node, core.InClass):
        named = (n if n not in DTYPES or DTYPES[n].kind != "float" else double.name for n in node.choices)
        return replace(node, choices=tuple(named))
    if isinstance(node, core.Load):
        args = (core.Arg(node.span, None, node), core.Arg(node.span, None, core.DTypeLit(node.span, double)))
        return core.Call(node.span, core.FnRef(node.span, "cast"), args)
    if isinstance(node, core.Call) and node.callee.name not in own:
        row = lookup(node.callee.name.removeprefix("prelude."))
        if row is not None and row.dtypes.endswith("float32=dtype"):
            given = {a.name or row.params[i].name for i, a in enumerate(node.args)}
            more = core.Arg(node.span, "dtype", core.DTypeLit(node.span, double))
            return node if "dtype" in given else replace(node, args=(*node.args, more))
    return node


@collector_paused
def check_part(
    modules: Modules, part: ProgramPart, files: Files, options: Options, consts: KnownConsts | None = None
) -> Report:
    """Check some items of a loaded program against the signatures of others. Known `consts` produce no diagnostics."""
    program, diagnostics = _derived(*desugar(modules, lookup, options.given, part))
    heads = frozenset(f.name for f in program.functions if f.span.source in part.heads)
    options = replace(options, believed=options.believed | heads)
    return _checked(modules, program, diagnostics, files, options, consts)


def _derived(program: core.Program, diagnostics: tuple[Diagnostic, ...]) -> tuple[core.Program, tuple[Diagnostic, ...]]:
    """The program with the bodies of its gradients."""
    if not program.gradients:
        return program, diagnostics
    from .grad.differentiate import differentiate  # few programs have gradients

    derived, problems = differentiate(program, _in_core, any(d.severity == "error" for d in diagnostics))
    return derived, tuple(in_order([*diagnostics, *problems]))


def _in_core(text: str) -> core.Program | None:
    """One of our own texts as a core program; None if it has errors."""
    module, wrong = parse(Source("<gradient>", text))
    program, problems = desugar(Modules(Parsed("", "", module, ())), lookup)
    return None if any(d.severity == "error" for d in (*wrong, *problems)) else program


def _checked(
    modules: Modules,
    program: core.Program,
    diagnostics: tuple[Diagnostic, ...],
    files: Files,
    options: Options,
    consts: KnownConsts | None = None,
) -> Report:
    names = tuple(loaded.module.source.name for loaded in (modules.entry, *modules.imports))
    weights = _Weights(files)
    checked = replace(check(program, lookup, options, weights.header, consts), headers=weights.headers)
    everything = [*diagnostics, *weights.diagnostics, *_written(program, checked.diagnostics)]
    if options.strict:
        everything = [_strict(d) for d in everything]
    unmet = () if any(d.severity == "error" for d in diagnostics) else _unmet(program, options.given)
    return Report(names, tuple(in_order(everything)), checked.counts, checked, unmet)


def _written(program: core.Program, diagnostics: tuple[Diagnostic, ...]) -> list[Diagnostic]:
    """The diagnostics about text that a user wrote: those of a generated gradient are dropped if they are notes, or if the
    original function already has them."""
    made = {f"@{name}" for name in program.derived}
    told = {(d.code, d.span) for d in diagnostics if d.function not in made}
    return [d for d in diagnostics if d.function not in made or (d.severity != "note" and (d.code, d.span) not in told)]


@collector_paused
def ready(
    checked: Checked,
    files: Files,
    *,
    allow_extern: bool = False,
    instrument: bool = False,
    dps: bool = False,
    explain: Explain | None = None,
    fast: Fast | None = None,
) -> Machine:
    """Lower and compile a checked program and evaluate its consts; then its functions can be called. `explain` finds the
    reason and a fix when a check fails; `fast` gives the programs to try first when a function is called: this program under
    hints.

    Raises RxError if weights cannot be read, and ShapeError if a const contradicts its annotation.
    """
    from .interp.compile import Options as RunOptions
    from .interp.run import Machine  # checking alone loads no NumPy

    options = RunOptions(allow_extern, instrument=instrument, dps=dps)
    return Machine(checked.program, files, options, checked.headers, explain, fast)


def hinted(checked: Checked, hints: tuple[Given, ...], recheck: Callable[[Given], Report]) -> Fast:
    """A function that gives the programs specialised by the hints for a function's name; `recheck` checks the program with
    one more condition.

    A hint must not change results. For a function that others call it would: their calls would have to satisfy it, and lists
    of implementations would choose by it. Such a function has no fast path; neither has one whose program contradicts the
    hint.
    """
    program = checked.program
    called = {n.name for n in walk(program.functions, program.consts, program.main) if isinstance(n, core.FnRef)}
    called |= {choice for impls in program.impls for choice in impls.choices}

    def fast(name: str) -> Iterator[core.Program]:
        for hint in hints if name not in called else ():
            report = recheck(replace(hint, pattern=name)) if hint.is_for(name) else None
            if report is not None and report.ok and report.checked is not None and not report.unmet:
                yield report.checked.program

    return fast


@collector_paused
def desugar_source(
    source: Source, base: Path, roots: tuple[Path, ...] = ()
) -> tuple[core.Program, tuple[Diagnostic, ...]]:
    """The core program as produced by desugaring."""
    given = loaded(source, base, roots)
    program, sorts = _derived(*desugar(given.modules, lookup))
    return program, (*given.diagnostics, *sorts)


def inlined(checked: Checked) -> core.Program:
    """The simplified program with its wrappers inlined. See simplify.inlined."""
    return inline_wrappers(checked.before, checked.program)


def call_on_shapes(
    checked: Checked, function: str, arguments: Mapping[str, ArgumentShape | int | str]
) -> tuple[CallResult, tuple[Cond, ...]]:
    """The result of a function for given argument shapes, and the conditions under which the call works; no data is needed.
    See simplify.on_shapes.result_shapes."""
    return result_shapes(checked, function, arguments)


def cases_on_shapes(checked: Checked, function: str, arguments: Mapping[str, ArgumentShape | int | str]) -> ShapeCases:
    """The cases of the result's shape if sizes decide its rank, and the conditions under which the call works. See
    simplify.on_shapes.cases_of_shapes."""
    return cases_of_shapes(checked, function, arguments)


def failure_on_shapes(
    checked: Checked, function: str, arguments: Mapping[str, ArgumentShape | int]
) -> Diagnostic | None:
    """The first check that certainly fails for these arguments, at its place. See simplify.on_shapes.first_failure."""
    return first_failure(checked, function, arguments)


def _unmet(program: core.Program, given: tuple[Given, ...]) -> tuple[str, ...]:
    """The given conditions whose function does not exist or has no such sizes."""
    asked = {id(c.span.source) for f in program.functions for c in f.checks} if given else set()
    return tuple(g.source.text for g in given if id(g.source) not in asked)


def _strict(diagnostic: Diagnostic) -> Diagnostic:
    """Under --strict, an unproved claim is an error."""
    return replace(diagnostic, severity="error") if diagnostic.code.is_unproved else diagnostic


def _missing(diagnostic: Diagnostic) -> Diagnostic:
    """Report weights that are missing as a warning: their annotation is trusted until they are loaded, and only a run needs
    them."""
    if not diagnostic.code.is_absent:
        return diagnostic
    message = f"{diagnostic.message}; its annotation is checked when it is loaded"
    return warning(codes.W312, message, diagnostic.span)


class _Weights:
    """The headers of weights files; an unreadable file is reported once."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.diagnostics: list[Diagnostic] = []
        self.headers: dict[tuple[str, str | None], Header] = {}
        self._read: set[tuple[str, str | None]] = set()
        self._unread: set[str] = set()
        self._found: dict[str, Path] = {}

    def header(self, load: core.Load) -> TensorInfo | None:
        key = (load.path, load.key)
        if key not in self._read:
            self._read.add(key)
            found = self._header(load)
            if found is not None:
                self.headers[key] = found
        known = self.headers.get(key)
        return None if known is None else TensorInfo(known.shape, known.dtype)

    def _header(self, load: core.Load) -> Header | None:
        if load.path in self._unread:
            return None
        try:
            if load.path not in self._found:
                self._found[load.path] = self.files.find(load.path, span=load.span, linked=True)
            return self.files.header(self._found[load.path], load.key)
        except RxError as problem:
            self._unread.add(load.path)
            self.diagnostics.extend(map(_missing, problem.diagnostics))
            return None
        except BadWeights as problem:
            self.diagnostics.append(error(codes.E245, f'"{load.path}" {problem}', load.span))
            return None
