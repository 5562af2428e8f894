"""A random program to one that means the same, and what is said of a program in a form in which the two can be compared."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rxlang import pipeline

from . import random_programs

BOUND = re.compile(r"  let (?:\(([^)]*)\)|(\w+))")
WORD = re.compile(r'"[^"]*"|@?[A-Za-z_]\w*')
SPOKEN = re.compile(r"@?[A-Za-z_][\w]*")
CALL = re.compile(r"  let (\w+) = (@\w+\(.*\)|\w+ [-+*] [\w.]+)$")
LIBRARY_NAMES = re.findall(r"^@(\w+) =", random_programs.LIBRARY, re.MULTILINE)
UNUSED = "@sure = fn(x : Tensor([n, m], float32)) : Tensor([n, m], float32) { x }\n"
_KEYWORDS = {
    "for",
    "in",
    "range",
    "while",
    "with",
    "stack",
    "const",
    "type",
    "fn",
    "let",
    "if",
    "else",
    "assert",
    "where",
    "match_shape",
    "true",
    "false",
    "min",
    "max",
    "ceildiv",
}


class Changed(NamedTuple):
    """A program that means the same: what it is called in the messages about it, and the lines that stand elsewhere."""

    text: str
    line: Callable[[int], int | None] = lambda line: line
    word: Callable[[str], str] = lambda word: word
    files: tuple[tuple[str, str], ...] = ()


class Said(NamedTuple):
    """What is said of a program: counts, what is wrong where, the shapes of @main's bindings."""

    counts: tuple[int, ...]
    found: list[tuple[str, int | None, str]]
    shapes: dict[str, Any]
    ok: bool
    steps: int


def said(changed: Changed, base: Path = Path(".")) -> Said:
    """In the words and lines of the program that was changed."""
    report = pipeline.check_text(changed.text, "changed.rx", base)
    assert report.checked is not None, [d.message for d in report.diagnostics]
    counts = report.counts
    found = [
        (d.code, changed.line(_line(d)) if d.span.source.name == "changed.rx" else None, _words(d.message, changed))
        for d in report.diagnostics
        if d.severity != "note"
    ]
    main = [f for f in report.checked.shapes if f.name == "@main"]  # none where no sizes fit its signature
    shapes = {changed.word(b.name): shape_of(b, lambda text: _words(text, changed)) for f in main for b in f.bindings}
    numbers = (counts.total, counts.proved, counts.refuted, counts.residual, counts.entry)
    return Said(numbers, sorted(found, key=str), shapes, report.ok, report.checked.steps)


def _line(diagnostic: Any) -> int:
    return int(diagnostic.span.line)


def _words(text: str, changed: Changed) -> str:
    return SPOKEN.sub(lambda m: changed.word(m[0]), text)


def shape_of(binding: Any, words: Callable[[str], str]) -> Any:
    """What is known of a binding, in the words of the program that was changed."""
    if binding.items:
        return tuple(shape_of(item, words) for item in binding.items)
    dims = None if binding.shape is None else tuple(words(str(d)) for d in binding.shape)
    return binding.sort, dims, binding.exactness, binding.dtype and words(str(binding.dtype))


def in_a_folder(changed: Changed, folder: Path) -> str:
    """Its text, once the other files are there."""
    for name, content in changed.files:
        (folder / name).write_text(content)
    return changed.text


# What changes nothing


def program(seed: int) -> str:
    return random_programs.Maker(seed).source


def renamed(text: str, rng: random.Random) -> Changed:
    """Every name of the program's own gets that of another one."""
    primitives = set(re.findall(r"@(\w+)", text)) - set(re.findall(r"^@(\w+) =", text, re.MULTILINE))
    kept = {
        *_KEYWORDS,
        "Tensor",
        "Size",
        "Shape",
        "DType",
        "a",
        "float32",
        "int64",
        "bool",
        "dim",
        "rank",
        "shape",
        "dtype",
    }
    kept |= {*re.findall(r"[(,] ?(\w+)=(?!=)", text), "main", "@main", *(f"@{p}" for p in primitives)}
    words = {m[0] for m in WORD.finditer(text) if not m[0].startswith('"') and text[m.end() : m.end() + 1] != "="}
    own = sorted(words - kept)
    new: dict[str, str] = {}
    for kind in {_kind(word) for word in own}:
        alike = [word for word in own if _kind(word) == kind]
        new.update(zip(alike, rng.sample(alike, len(alike)), strict=True))

    def other(match: re.Match[str]) -> str:
        is_keyword = match.string[match.end() : match.end() + 1] == "="
        return match[0] if is_keyword else new.get(match[0], match[0])

    changed = WORD.sub(other, text)
    old = {n: o for o, n in new.items()}
    return Changed(changed, word=lambda w: old.get(w, w))


def _kind(word: str) -> tuple[int, bool, bool]:
    """Names of one length are as long in messages, those of nobody stay such."""
    return len(word), word.startswith("@"), word.startswith("_")


def _inserted(text: str, rng: random.Random, line: str) -> Changed:
    lines = text.split("\n")
    end = end_of(lines)
    at = rng.randint(1, end)
    return Changed("\n".join([*lines[:at], line, *lines[at:]]), line=lambda n: n if n <= at else n - 1)


def unused_binding(text: str, rng: random.Random) -> Changed:
    return _inserted(text, rng, f"  let _unused = {rng.choice(('1.0', '@ones([2, 3])', '7 * 5'))}")


def unused_lambda(text: str, rng: random.Random) -> Changed:
    return _inserted(text, rng, "  let _unused = fn(_z : Tensor([_w], float32)) : Tensor { _z + 1.0 }")


def unused_import(text: str, rng: random.Random) -> Changed:
    return Changed(f'import "lib.rx" as lib\n{text}', line=lambda n: n - 1, files=(("lib.rx", UNUSED),))


def split(text: str, rng: random.Random) -> Changed:
    """What it calls of the library in a file of its own."""
    library = random_programs.library_of(text)
    moved = re.sub(rf"@({'|'.join(LIBRARY_NAMES)})\b", r"@lib.\1", text.removesuffix(library))
    return Changed(f'import "lib.rx" as lib\n{moved}', line=lambda n: n - 1, files=(("lib.rx", library),))


def swapped(text: str, rng: random.Random) -> Changed | None:
    """Two bindings one after the other of which neither speaks of the other, and one asks for nothing."""
    lines = text.split("\n")
    end = end_of(lines)
    free = [i for i in range(1, end - 1) if _is_plain(lines[i]) or _is_plain(lines[i + 1])]
    free = [i for i in free if BOUND.match(lines[i]) and BOUND.match(lines[i + 1])]
    free = [i for i in free if not _shares(lines[i], lines[i + 1]) and not _shares(lines[i + 1], lines[i])]
    if not free:
        return None
    at = rng.choice(free)
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return Changed("\n".join(lines), line=lambda n: {at + 1: at + 2, at + 2: at + 1}.get(n, n))


# Calls that ask for nothing of the sizes.
_PLAIN = re.compile(r"  let (\w+) = (?:@(?:shape|flatten|permute_dims|expand_dims|same|ones)\(.*\)|\w+ [-+*] [0-9.]+)$")


def _is_plain(line: str) -> bool:
    return _PLAIN.match(line) is not None and not re.search(r"[-/%]", line.partition("=")[2])


def _shares(one: str, other: str) -> bool:
    """Whether a line speaks of what another one binds."""
    bound = BOUND.match(one)
    assert bound is not None
    return bool(set((bound[1] or bound[2]).split(", ")) & set(re.findall(r"\w+", other)))


# What may leave more to the run


def end_of(lines: list[str]) -> int:
    """The line where what gives the result of the first function begins."""
    close = lines.index("}")
    return next((i for i in range(close) if lines[i].startswith("  let out")), close - 1)


def moved(text: str, rng: random.Random) -> Changed | None:
    """A statement as a call of an unannotated function that has it as its body."""
    lines = text.split("\n")
    end = end_of(lines)
    fits = [
        i
        for i in range(1, end)
        if CALL.match(lines[i]) and not re.search(r"fn\(|\[.*[nmkpq]|dim|@same|@apply|@rec", lines[i])
    ]
    if not fits:
        return None
    at = rng.choice(fits)
    match = CALL.match(lines[at])
    assert match is not None
    used = sorted(set(re.findall(r"(?<![@\w])[a-z]\d+\b(?!=)", match[2])))
    sized = re.search(r"(?<![@\w.])[a-z]\b(?!=)", match[2])
    if not used or sized or not _are_tensors(lines, used):
        return None
    params = ", ".join(f"{w} : Tensor" for w in used)
    lines[at] = f"  let {match[1]} = @moved({', '.join(used)})"
    return Changed("\n".join(lines) + f"\n@moved = fn({params}) {{ {match[2]} }}\n")


def _are_tensors(lines: list[str], names: list[str]) -> bool:
    text = "\n".join(lines)
    return all(re.search(rf"let \(?(\w+, )*{n}\b", text) or f"{n} : Tensor" in lines[0] for n in names) and not any(
        re.search(rf"let {n} : Size|let {n} = (@item|fn)", text) for n in names
    )


def wrapped(text: str, rng: random.Random) -> Changed | None:
    """A binding in both arms of an `if` that the data decides."""
    lines = text.split("\n")
    end = end_of(lines)
    fits = [i for i in range(1, end) if CALL.match(lines[i])]
    if not fits:
        return None
    at = rng.choice(fits)
    match = CALL.match(lines[at])
    assert match is not None
    cond = "@sum(@cast(x0, float32)) > 3.0"
    lines[at] = f"  let {match[1]} = if ({cond}) {{ {match[2]} }} else {{ {match[2]} }}"
    return Changed("\n".join(lines))


Change = Callable[[str, random.Random], Changed | None]
SAME: tuple[Change, ...] = (renamed, unused_binding, unused_lambda, unused_import, split, swapped)
WEAKER: tuple[Change, ...] = (moved, wrapped)
