"""Kernels of strings."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import numpy as np

from .registry import Array, kernel

_STRING = np.dtypes.StringDType()


def _strings(values: list[str], shape: tuple[int, ...]) -> Array:
    return np.array(values, _STRING).reshape(shape)


@kernel("onnx.string_concat")
def string_concat(x: Array, y: Array) -> Array:
    return np.asarray(np.strings.add(x.astype(_STRING), y.astype(_STRING)))


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.ASCII)


@kernel("onnx.regex_full_match")
def regex_full_match(x: Array, pattern: str) -> Array:
    matches = _pattern(pattern).fullmatch
    return np.array([matches(text) is not None for text in x.ravel().tolist()], np.bool_).reshape(x.shape)


@kernel("onnx.string_split")
def string_split(x: Array, delimiter: str | None, most: int | None) -> tuple[Array, Array]:
    rows = [text.split(delimiter or None, -1 if most is None else most) for text in x.ravel().tolist()]
    longest = max(map(len, rows), default=0)
    padded = [part for row in rows for part in (*row, *[""] * (longest - len(row)))]
    return _strings(padded, (*x.shape, longest)), np.array([len(row) for row in rows], np.int64).reshape(x.shape)


@kernel("onnx.string_normalizer")
def string_normalizer(x: Array, stop: Array | None, case: str, sensitive: bool) -> Array:
    words = set(stop.ravel().tolist()) if stop is not None else set()
    known = words if sensitive else {word.lower() for word in words}
    texts = [text for text in x.ravel().tolist() if (text if sensitive else text.lower()) not in known]
    changed = [_CASES[case](text) for text in texts] or [""]
    return _strings(changed, (*x.shape[:-1], len(changed)))


_CASES: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}


# The marks around the words of a marked string.
_BEGIN, _END = "\x02", "\x03"


@kernel("onnx.tokenizer")
def tokenizer(x: Array, pad: str, separators: Array | None, pattern: str | None, least: int, marked: bool) -> Array:
    if pattern is not None:
        rows = [_found(_pattern(pattern), text, least) for text in x.ravel().tolist()]
    elif separators is not None:
        rows = [_between(separators.ravel().tolist(), text, least) for text in x.ravel().tolist()]
    else:
        rows = [list(text) for text in x.ravel().tolist()]
    longest = max(map(len, rows), default=0)
    if marked and longest:
        rows, longest = [[_BEGIN, *row, _END] for row in rows], longest + 2
    padded = [word for row in rows for word in (*row, *[pad] * (longest - len(row)))]
    return _strings(padded, (*x.shape, longest))


def _found(pattern: re.Pattern[str], text: str, least: int) -> list[str]:
    """The matches of a pattern; if one is too short, the search goes on one character after its start."""
    words, at = [], 0
    while (found := pattern.search(text, at)) is not None:
        if len(found[0]) >= least:
            words.append(found[0])
        at = found.end() if len(found[0]) >= least else found.start() + 1
        if at > len(text):
            break
    return words


def _between(separators: list[str], text: str, least: int) -> list[str]:
    """The parts of a text between separators, one kind of them after the other."""
    words = [text]
    for separator in separators:
        words = [part for word in words for part in _pattern(separator).split(word) if len(part) >= least]
    return words
