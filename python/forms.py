"""Check a Python function whose annotations contain lists, unions, classes with fields and the like: the values of a call
decide which signature applies. One entry check is kept for each signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ..interp.shape_error import ShapeError
from ..lang import core
from . import reading
from .declared import AnnotationChecks, DeclaredText, Unfit, names_of
from .entry_check import EntryCheck, call_of, compiled, finished, refusing, tell, written
from .layout import MOST, ArgumentLeaf, Layout, ways
from .libraries import PREFIX
from .reading import Each, Tensor
from .text import RESULT, CheckLine, listing, told

# See written.py.
__tracebackhide__ = True

KEPT = 512
"""The most entry checks kept for a function."""


class Entered(NamedTuple):
    """A call whose arguments fit: the names for expressions in annotations, the tensors in the first way that fits, its entry
    check, and the other ways."""

    names: Mapping[str, Any]
    fit: Sequence[ArgumentLeaf]
    entry_check: EntryCheck | None
    others: Sequence[Sequence[ArgumentLeaf]]


class Forms:
    """A function that is checked against several signatures."""

    def __init__(self, function: Callable[..., Any], asked: AnnotationChecks) -> None:
        self.target, self.asked = function, asked
        self.parameters = inspect.signature(function)
        self._entry_checks: dict[object, EntryCheck] = {}
        self._items = dict(self._params())
        self._returns = asked.items.get("return")
        self._speaks_of_values = any("{" in t.dims for i in asked.items.values() for t in reading.tensors(i))
        self._of_example()
        self.function = finished(compiled(self._text(), self, (self._enter, self._leave, self._tell)), self)

    @property
    def name(self) -> str:
        return self.asked.name

    @property
    def unsigned(self) -> str:
        return f"@{self.name} has more than one signature: the values of a call decide which one applies"

    def _params(self) -> Iterator[tuple[str, reading.Item]]:
        for name, param in self.parameters.parameters.items():
            item = self.asked.items.get(name)
            if item is not None:
                star, stars = param.kind is param.VAR_POSITIONAL, param.kind is param.VAR_KEYWORD
                yield name, Each(item, tuple if star else dict) if star or stars else item

    def _text(self) -> str:
        given = ", ".join(self.parameters.parameters)
        lines = [
            CheckLine(0, f"{PREFIX}entered = {PREFIX}enter(({given}{',' * bool(given)}))"),
            CheckLine(0, f"{RESULT} = {call_of(self.parameters)}"),
            CheckLine(0, f"{PREFIX}leave({PREFIX}entered, {RESULT})"),
            CheckLine(0, f"return {RESULT}"),
        ]
        return written(self.parameters, ("enter", "leave", "tell"), list(listing(told(lines, 0), 2)))

    def _of_example(self) -> None:
        """Build an entry check of all annotations together; raises CheckError if no call could be checked."""
        result = core.Called("", core.Called(f"@{self.name}"))
        called = {n: core.Called(n) if n != "return" else result for n in self.asked.items}
        leaves = [
            ArgumentLeaf(called[n], n, item, None, size="" if isinstance(item, Tensor) else field or n)
            for n, of in self.asked.items.items()
            for field, item in reading.asked(of)
            if isinstance(item, Tensor) or (field or n) in self.asked.sizes
        ]
        results = [leaf for leaf in leaves if leaf.param == "return" and not leaf.size]
        self._entry_check(_distinct([leaf for leaf in leaves if leaf not in results]), _distinct(results))

    # A call

    def _enter(self, args: Sequence[Any]) -> Entered:
        __tracebackhide__ = True
        arguments = dict(zip(self.parameters.parameters, args, strict=True))
        names = {**names_of(self.target), **arguments} if self._speaks_of_values else arguments
        with refusing():
            layout = Layout(self.asked, names)
            for name, item in self._items.items():
                if arguments[name] is not None or self.parameters.parameters[name].default is not None:
                    layout.lay(item, arguments[name], core.Called(name), name, name)
            return self._first(layout, ((way, ()) for way in self._ways(layout)), names, {})

    def _leave(self, entered: Entered, result: Any) -> None:
        __tracebackhide__ = True
        with refusing():
            layout = Layout(self.asked, entered.names)
            layout.lay(self._returns, result, core.Called("", core.Called(f"@{self.name}")), "return")
            found = list(self._ways(layout))
            if layout.found:
                pairs = ((way, out) for way in chain([entered.fit], entered.others) for out in found)
                known = self._sizes(entered) if any(leaf.size for out in found for leaf in out) else {}
                self._first(layout, pairs, entered.names, known)

    def _ways(self, layout: Layout) -> Iterator[list[ArgumentLeaf]]:
        for i, way in enumerate(ways(layout.found)):
            if i == MOST:
                raise Unfit(f"the unions in a call of @{self.name} can be read in more than {MOST} ways")
            yield way

    def _first(
        self,
        layout: Layout,
        pairs: Iterator[tuple[Sequence[ArgumentLeaf], Sequence[ArgumentLeaf]]],
        names: Mapping[str, Any],
        known: Mapping[str, Any],
    ) -> Entered:
        """The first way to read arguments and result that fits; raises the error of the first way if none fits."""
        wrong: ShapeError | None = None
        for way, out in pairs:
            try:
                layout.agree(out or way, known)
                layout.broadcast([*way, *out])
                entry_check = self._passed(way, out)
            except ShapeError as problem:
                wrong = wrong or problem
            else:
                return Entered(names, way, entry_check, [other for other, _ in pairs])
        assert wrong is not None
        raise wrong

    def _passed(self, way: Sequence[ArgumentLeaf], out: Sequence[ArgumentLeaf]) -> EntryCheck | None:
        """The entry check that the tensors pass; an integer of the result that is a size is passed to it as an argument."""
        args = _distinct([*way, *(leaf for leaf in out if leaf.size)])
        results = _distinct([leaf for leaf in out if not leaf.size])
        if not args and not results:
            return None
        values = [leaf.value for leaf in results]
        entry_check = self._entry_check(args, results)
        entry_check.function(
            *(leaf.value for leaf in args), *[values[0] if len(values) == 1 else tuple(values)][: len(values)]
        )
        return entry_check

    def _tell(self, problem: BaseException, _: int, seen: Mapping[str, Any]) -> None:
        entered = seen.get(f"{PREFIX}entered")
        note = (
            ""
            if entered is None or entered.entry_check is None
            else entered.entry_check.authorities[0].note(_given(entered))
        )
        tell(problem, lambda: note)

    def _sizes(self, entered: Entered) -> Mapping[str, Any]:
        return {} if entered.entry_check is None else entered.entry_check.authorities[0].sizes(_given(entered))

    # The entry checks

    def _entry_check(self, args: Sequence[ArgumentLeaf], results: Sequence[ArgumentLeaf]) -> EntryCheck:
        key = tuple((x.called, x.param, x.size, x.said, x.form) for x in (*args, *results))
        if key not in self._entry_checks:
            if len(self._entry_checks) >= KEPT:
                self._entry_checks.clear()
            self._entry_checks[key] = self._made(args, results)
        return self._entry_checks[key]

    def _made(self, args: Sequence[ArgumentLeaf], results: Sequence[ArgumentLeaf]) -> EntryCheck:
        text = DeclaredText(self.asked, {*self.asked.sizes})
        names = _names(args)
        for name, leaf in zip(names, args, strict=True):
            text.param(name, leaf.param, leaf.said, leaf.shape)
            text.called[name] = leaf.called
        text.results = tuple(leaf.called for leaf in results)
        if results:
            text.result([leaf.said for leaf in results], [leaf.shape for leaf in results])
        text.shown = {leaf.called: leaf.said.shown for leaf in (*args, *results)}
        return EntryCheck(_target(self.target, [*names, *[RESULT][: len(results)]]), text.declared())


def _distinct(leaves: Sequence[ArgumentLeaf]) -> list[ArgumentLeaf]:
    """One leaf for each distinct `asked`."""
    found: dict[object, ArgumentLeaf] = {}
    for leaf in leaves:
        found.setdefault(leaf.asked, leaf)
    return list(found.values())


def _given(entered: Entered) -> dict[str, Any]:
    """The values passed to the entry check."""
    leaves = _distinct(entered.fit)
    return {name: leaf.value for name, leaf in zip(_names(leaves), leaves, strict=True)}


def _names(leaves: Sequence[ArgumentLeaf]) -> list[str]:
    """The names of a signature's parameters: sizes keep theirs, tensors get reserved names."""
    return [f"{PREFIX}a{i}" if isinstance(leaf.said, Tensor) else leaf.size for i, leaf in enumerate(leaves)]


def _target(function: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """The function behind an entry check of a call's values: it returns the last of them."""

    def last(*values: Any) -> Any:
        return values[-1] if values else None

    params = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    last.__signature__ = inspect.Signature(params)  # type: ignore[attr-defined]
    last.__wrapped__ = function  # type: ignore[attr-defined]
    return last
