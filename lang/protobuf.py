"""The fields of a protocol buffer's bytes: numbers and ranges of bytes. Nothing is copied or decoded unless requested."""

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
    """A number, and its end."""
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
    """The fields of the message in `data[begin:end]`: number, kind, begin, and the range of the value. Consecutive numbers
    with a tag in `runs` form one field, as the pattern there finds them: there may be millions."""
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
