"""A protocol buffer's bytes to its fields, where they stand: numbers and ranges of bytes, nothing copied and nothing decoded
that is not asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from mmap import mmap
from re import Pattern

Bytes = bytes | mmap

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_WIDTHS = {FIXED64: 8, FIXED32: 4}


class Damaged(ValueError):
    """The bytes are no message; the text completes a sentence."""


def varint(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """A number and where it ends."""
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (2**64 - 1), at
        shift += 7
    raise Damaged(f"a number is {'cut off' if shift < 70 else 'too long'} at byte {at}")


def signed(value: int) -> int:
    """A number as an int64."""
    return value - 2**64 if value >= 2**63 else value


def written(value: int) -> bytes:
    """A number as a varint."""
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def fields(
    data: Bytes, begin: int, end: int, runs: Mapping[int, Pattern[bytes]] = {}
) -> Iterator[tuple[int, int, int, int, int]]:
    """Each field of the message in `data[begin:end]`: its number, its kind, where it begins, and its value's range. Numbers
    that follow each other with a tag of `runs` are one field, as the pattern there finds them: they may be millions."""
    at = begin
    while at < end:
        begin = at
        tag, at = varint(data, at, end)
        number, kind = tag >> 3, tag & 7
        start = at
        if kind == VARINT:
            _, at = varint(data, at, end)
        elif kind == BYTES:
            length, start = varint(data, at, end)
            at = start + length
        elif kind in _WIDTHS and number:
            at += _WIDTHS[kind]
        else:
            raise Damaged(f"byte {begin} begins no field")
        if at > end or not number:
            raise Damaged(f"the field at byte {begin} is cut off" if number else f"byte {begin} begins no field")
        if tag in runs and (more := runs[tag].match(data, at, end)):
            at = more.end()
        yield number, kind, begin, start, at
