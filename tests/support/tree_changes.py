"""Any program to one that means the same, by its tree: what is unused in every function, other names, arms; and what is said
of it, without places."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rxlang import pipeline
from rxlang.lang import sweet
from rxlang.lang.node import Node, replace
from rxlang.lang.parser import parse
from rxlang.lang.source import Source
from rxlang.lang.walk import rewrite, walk

from support.sweet_printer import print_module

from . import inlining, metamorphic


class Changed(NamedTuple):
    """A program that means the same, and what a word of it was before."""

    text: str
    word: Callable[[str], str] = lambda word: word
    files: tuple[tuple[str, str], ...] = ()


class Told(NamedTuple):
    """What is said of a program; `shapes` of the bindings of each function."""

    ok: bool
    counts: tuple[int, ...]
    found: Counter[tuple[str, str]]
    shapes: dict[str, dict[str, Any]]
    steps: int


def told(changed: Changed, base: Path, roots: tuple[Path, ...] = ()) -> Told | None:
    """In the words of the program that was changed; None where it is not checked at all."""
    report = pipeline.check_text(changed.text, "changed.rx", base, roots)
    if report.checked is None:
        return None

    def words(text: str) -> str:
        return metamorphic.SPOKEN.sub(lambda m: changed.word(m[0]), text)

    numbers = report.counts
    counts = (numbers.total, numbers.proved, numbers.refuted, numbers.residual, numbers.entry)
    found = Counter((str(d.code), words(d.message)) for d in report.diagnostics if d.severity != "note")
    shapes = {
        f.name: {words(b.name): metamorphic.shape_of(b, words) for b in f.bindings} for f in report.checked.shapes
    }
    return Told(report.ok, counts, found, shapes, report.checked.steps)


def _module(text: str) -> sweet.Module:
    module, problems = parse(Source("changed.rx", text))
    assert not problems
    return replace(module, comments=())


def same(text: str, rng: random.Random) -> Changed:
    """As it is printed."""
    return Changed(print_module(_module(text)))


def unused_binding(text: str, rng: random.Random) -> Changed:
    return _inserted(text, rng, rng.choice(("let _unused = 7 * 5", "let _unused = @ones([2, 3], float32)")))


def unused_import(text: str, rng: random.Random) -> Changed:
    files = (("unused_lib.rx", metamorphic.UNUSED),)
    return Changed(f'import "unused_lib.rx" as unused_lib\n{same(text, rng).text}', files=files)


def renamed(text: str, rng: random.Random) -> Changed:
    """Every name of a function's own begins with a capital, or with a small letter."""
    module = _module(text)
    kept = inlining.WORDS | inlining.names_outside(module)
    kept |= {n.name.name for n in walk(module) if isinstance(n, sweet.Arg) and n.name is not None}
    kept |= {n for i in module.items if isinstance(i, sweet.TypeDecl) for n in inlining.names_of(i)}
    every = inlining.names_of(module) | {"Tensor", "Size", "Shape", "DType", "Bool"}
    own: dict[str, str] = {}

    def new(item: sweet.Item) -> sweet.Item:
        if not isinstance(item, sweet.FnDecl) or item.prefixes:
            return item
        names = {n for n in inlining.names_of(item.fn) - kept if _other(n) not in every}
        own.update((_other(n), n) for n in names)
        return replace(item, fn=inlining.with_names(item.fn, names, _other))

    after = print_module(replace(module, items=tuple(map(new, module.items))))

    def back(word: str) -> str:
        """As it was called; the parts of a tuple are `p_0` and `p_1`."""
        name, low, part = word.removeprefix("@").rpartition("_")
        plain = own.get(word.removeprefix("@"), word.removeprefix("@"))
        return "@" * word.startswith("@") + (f"{own[name]}{low}{part}" if name in own and part.isdigit() else plain)

    return Changed(after, back)


def _other(name: str) -> str:
    return name[0].swapcase() + name[1:]


def wrapped(text: str, rng: random.Random) -> Changed:
    """A call in both arms of an `if` that the data decides, in every function that has one."""
    module = _module(text)

    def new(node: Node) -> Node:
        if not isinstance(node, sweet.Fn) or node.body is None or node.checks is not None:
            return node
        tensors = [
            p.name.name for p in node.params if isinstance(p.type, sweet.TensorType) and p.type.shape is not None
        ]
        at = [
            i for i, s in enumerate(node.body.stmts)
            if isinstance(s, sweet.Let) and not s.is_tuple and s.type is None
            and isinstance(s.value, sweet.Call) and isinstance(s.value.callee, sweet.FnName)
            and s.value.callee.name not in ("item", "shape")
        ]  # fmt: skip
        if not tensors or not at:
            return node
        i = rng.choice(at)
        let = node.body.stmts[i]
        assert isinstance(let, sweet.Let)
        cond = _expression(f"@sum(@cast({tensors[0]}, float32)) > 3.0")
        arm = sweet.Block(let.span, (), let.value)
        value = sweet.If(let.span, cond, arm, arm)
        stmts = (*node.body.stmts[:i], replace(let, value=value), *node.body.stmts[i + 1 :])
        return replace(node, body=replace(node.body, stmts=stmts))

    return Changed(print_module(rewrite(module, new)))


def _expression(text: str) -> sweet.Expr:
    [item] = _module(f"let _ = {text}\n").items
    assert isinstance(item, sweet.Let)
    return item.value


def _inserted(text: str, rng: random.Random, line: str) -> Changed:
    module = _module(text)
    [let] = _module(f"{line}\n").items
    assert isinstance(let, sweet.Let)

    def new(item: sweet.Item) -> sweet.Item:
        if not isinstance(item, sweet.FnDecl) or item.fn.body is None or item.prefixes:
            return item
        stmts = item.fn.body.stmts
        at = rng.randint(0, len(stmts))
        body = replace(item.fn.body, stmts=(*stmts[:at], let, *stmts[at:]))
        return replace(item, fn=replace(item.fn, body=body))

    return Changed(print_module(replace(module, items=tuple(map(new, module.items)))))


Change = Callable[[str, random.Random], Changed]
SAME: tuple[Change, ...] = (unused_binding, unused_import, renamed)
WEAKER: tuple[Change, ...] = (wrapped,)


def differences(before: Told, after: Told, change: Change) -> list[object]:
    """What is said otherwise; an import has assertions of its own, but none that is left."""
    part = slice(2, 4) if change is unused_import else slice(None)
    found: list[object] = [(before.ok, after.ok)] if before.ok != after.ok else []
    found += [(before.counts, after.counts)] if before.counts[part] != after.counts[part] else []
    found += [*(before.found - after.found).items(), *(after.found - before.found).items()]
    for function, shapes in before.shapes.items():
        now = after.shapes.get(function, {})
        found += [(function, name, shape, now.get(name)) for name, shape in shapes.items() if now.get(name) != shape]
    return found


def contradict(before: Told, after: Told) -> bool:
    """Whether one is proved and the other refuted."""
    return any(not a.ok and b.ok and b.counts[3] == 0 for a, b in ((before, after), (after, before)))
