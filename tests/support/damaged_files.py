"""Random weights files that are damaged or say what cannot be: a generator to bytes, with the kind of file and the key."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from random import Random
from typing import Any

import numpy as np

SUFFIXES = (".npy", ".npz", ".safetensors")
_DTYPES = ("<f4", ">f4", "<f8", "<i8", ">i2", "|b1", "|u1", "<c8", "<U3", "<f2")
_SAFE = {"F32": 4, "I64": 8, "BF16": 2, "BOOL": 1, "F8_E5M2": 1, "F64": 8}
# What stands where a size should.
_ODD_SIZES = ("-3", "3.7", "3.0", "'3'", "None", "True", "2**70", "9" * 5000, str(2**63), str(2**62), "(3,)", "[]", "1e999",
              "nan", "-0", "0", "9**9**9", "x", "b'3'", "3j", "1L", "{}")  # fmt: skip
_ODD_SHAPES = ("3", "[2, 3]", "None", "'23'", "(2,)*3", "{2, 3}", "{}", "(2, 3, 10**30)", "(0, 2**70)", "(1,)*70",
               "(" * 300 + ")" * 300, "(2, (3,))", "()", "(2,", "-(2, 3)")  # fmt: skip
_ODD_TYPES = ("'|O'", "'O'", "[('a', '<f4')]", "[('a', '<f4'), ('b', '|O')]", "'<f16'", "'<M8[s]'", "'|V4'", "'|S5'", "'<f3'",
              "'<f'", "''", "None", "4", "'<f4'*2", "'>f4'", "('<f4', (2,))", "'float32'", "'<U0'", "'<U99999999999'", "'<f٤'",
              "'<i4'", "'|b2'", "'=f4'", "{'names': ['a'], 'formats': ['<f4']}", "'<f4\\0'", "'<f8'")  # fmt: skip
_JSON_SIZES = ("-3", "3.7", "3.0", '"3"', "null", "true", "1e999", "NaN", "9" * 5000, str(2**64), str(2**62), "[3]", "{}", "-0",
               "0", "Infinity")  # fmt: skip


def damaged(random: Random) -> tuple[str, str | None, bytes]:
    """A file's suffix, the key to load, and its bytes; some of them are whole."""
    suffix = random.choice(SUFFIXES)
    key = None if suffix == ".npy" else random.choice(["w", "w", "w", None, "v", "w.npy", "../w"])
    data = {".npy": _npy, ".npz": _npz, ".safetensors": _safetensors}[suffix](random)
    for _ in range(random.choice([0, 0, 0, 1, 1, 3])):
        data = random.choice(BYTES)(random, data)
    return suffix, key, data


# Bytes


def _cut(random: Random, data: bytes) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _flip(random: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.randint(1, 4) if data else 0):
        # The beginning and the end hold what describes the rest.
        at = random.choice(
            [random.randrange(len(data)), random.randrange(min(len(data), 16)), -random.randint(1, len(data))]
        )
        changed[at] ^= 1 << random.randrange(8)
    return bytes(changed)


def _drop(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + data[at + random.randint(1, 40) :]


def _grow(random: Random, data: bytes) -> bytes:
    at = random.choice([0, len(data), random.randrange(len(data) + 1)])
    return data[:at] + random.randbytes(random.randint(1, 40)) + data[at:]


def _swap(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[at:] + data[:at]


BYTES = (_cut, _flip, _drop, _grow, _swap)


# NumPy's own


def _array(random: Random) -> Any:
    shape = random.choice([(), (0,), (3,), (2, 3), (2, 0, 5), (2, 3, 5)])
    made = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(random.choice(_DTYPES))
    return np.asfortranarray(made) if random.random() < 0.3 else made


def _npy(random: Random) -> bytes:
    if random.random() < 0.3:
        buffer = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.lib.format.write_array(buffer, _array(random), random.choice([None, (1, 0), (2, 0), (3, 0)]))
        return buffer.getvalue()
    return _described(random)


def _described(random: Random) -> bytes:
    """A header made of parts, most of them right, and data of about the right length."""
    odd = random.random
    sizes = [random.choice(_ODD_SIZES) if odd() < 0.15 else str(n) for n in (2, 3)]
    shape = random.choice(_ODD_SHAPES) if odd() < 0.15 else f"({sizes[0]}, {sizes[1]})"
    descr = random.choice(_ODD_TYPES) if odd() < 0.3 else repr(random.choice(_DTYPES))
    order = random.choice(["None", "1", "'no'", "[]"]) if odd() < 0.1 else random.choice(["True", "False"])
    parts = [f"'descr': {descr}", f"'fortran_order': {order}", f"'shape': {shape}"]
    if odd() < 0.1:
        parts.remove(random.choice(parts))
    if odd() < 0.1:
        parts.append(
            random.choice(["'extra': 1", "'shape': (3,)", "'descr': '<i8'", "**{}", "1: 2", "'a': __import__('os')"])
        )
    random.shuffle(parts)
    text = "{" + ", ".join(parts) + ", }" + " " * random.choice([0, 7, 20]) + random.choice(["\n", "", "\0", "\n\n"])
    if odd() < 0.05:
        text = random.choice(["[" * 20000, "-" * 9000 + "1", "", "1", "(" * 900 + ")" * 900, "9**9**9", "'a'" * 3000])
    header = text.encode("utf-8")
    version = random.choice([b"\1\0", b"\1\0", b"\2\0", b"\3\0", b"\0\0", b"\1\1", b"\4\0"])
    length = len(header) if odd() < 0.9 else random.choice([0, 1, 65535, len(header) + 1, len(header) - 1])
    size = struct.pack("<H", max(length, 0) % 65536) if version == b"\1\0" else struct.pack("<I", max(length, 0))
    data = random.randbytes(random.choice([24, 24, 24, 48, 6, 12, 0, 23, 96]))
    return b"\x93NUMPY" + version + size + header + data


# Archives


def _npz(random: Random) -> bytes:
    buffer = io.BytesIO()
    names = random.choice(
        [["w.npy"], ["w.npy", "v.npy"], ["w.npy", "w"], ["w", "w.npy"], ["w.npy", "w.npy"], ["w"], [], ["w.npy.npy"],
         ["../w.npy"], ["/w.npy"], ["W.npy"], ["w.npy/"],
         ["w.npy", "w.npy.npy"], ["a\x1b]0;t\x07.npy", "b\nc.npy"], [".npy"], ["é.npy"]]
    )  # fmt: skip
    method = random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as archive:
        warnings.simplefilter("ignore")
        for name in names:
            archive.writestr(name, _npy(random) if random.random() < 0.9 else _bomb(random))
    data = buffer.getvalue()
    return data if random.random() < 0.6 else _directory_edited(random, data)


def _bomb(random: Random) -> bytes:
    """A header that asks for more than there is, or much of nothing."""
    shape = random.choice([(2**40,), (2**31, 2**31), (10**6,), (0, 2**62, 4)])
    header = repr({"descr": "<f4", "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + b"\0" * random.choice([0, 4 * 10**6])


def _directory_edited(random: Random, data: bytes) -> bytes:
    """A field of the central directory, or of a member's own head, that is not true: flags, method, sizes, offsets."""
    changed = bytearray(data)
    at = data.rfind(b"PK\1\2") if random.random() < 0.7 else data.find(b"PK\3\4")
    field = random.choice([6, 8, 10, 16, 20, 24, 28, 30, 32, 42])
    value = random.choice([0, 1, 8, 9, 12, 14, 99, 0xFFFF])
    if 0 <= at < len(data) - 50:
        changed[at + field : at + field + 2] = struct.pack("<H", value)
    return bytes(changed)


# Safetensors


def _safetensors(random: Random) -> bytes:
    odd = random.random
    entries, at = [], 0
    for name in random.choice([["w"], ["w", "v"], ["v", "w", "u"], ["w", "w"], []]):
        dtype = random.choice(sorted(_SAFE))
        length = 6 * _SAFE[dtype]
        begin, end = at, at + length
        at = end
        if odd() < 0.15:
            begin, end = random.choice([(end, begin), (0, length), (begin - 1, end), (begin, end + 1), (begin, end - 1),
                                        (begin + 10**9, end + 10**9), (-length, 0), (2**64, 2**64 + length)])  # fmt: skip
        offsets = f"[{begin}, {end}]" if odd() < 0.9 else f"[{random.choice(_JSON_SIZES)}, {end}]"
        shape = f"[{random.choice(_JSON_SIZES) if odd() < 0.15 else 2}, {random.choice(_JSON_SIZES) if odd() < 0.15 else 3}]"
        shape = random.choice(["null", "[]", '"23"', "6", "{}", "[6.0]", "[1, 6]"]) if odd() < 0.1 else shape
        shown = (
            random.choice(['"F4"', '"f32"', "null", "4", '"\\u001b[31m"', '["F32"]']) if odd() < 0.1 else f'"{dtype}"'
        )
        parts = [f'"dtype": {shown}', f'"shape": {shape}', f'"data_offsets": {offsets}']
        if odd() < 0.08:
            parts.append(random.choice(parts))
        if odd() < 0.08:
            parts.remove(random.choice(parts))
        entries.append(f'"{name}": {{{", ".join(parts)}}}')
    if odd() < 0.2:
        entries.append(
            random.choice(['"__metadata__": {"a": "b"}', '"__metadata__": 1', '"x": 1', '"x": null', '"": {}'])
        )
    text = "{" + ", ".join(entries) + "}" + " " * random.choice([0, 0, 8])
    if odd() < 0.05:
        text = random.choice(["[" * 50000, '{"a":' * 50000, "null", "[]", '"w"', "{", "", "\ud800x", '{"w": NaN}'])
    header = text.encode("utf-8", "surrogatepass")
    length = (
        len(header) if odd() < 0.9 else random.choice([0, len(header) - 1, len(header) + 1, 2**63, 2**64 - 1, 10**8])
    )
    return (
        struct.pack("<Q", max(length, 0))
        + header
        + random.randbytes(at + random.choice([0, 0, 0, 0, 5, -3 if at else 0]))
    )


__all__ = ["SUFFIXES", "damaged"]
