"""One gzip member from parts that were compressed apart, so that several processes can share the work."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import cache
from typing import BinaryIO

LEVEL = 6
POLYNOMIAL = 0xEDB88320
"""Of CRC-32, bits reversed."""


@dataclass(frozen=True, slots=True)
class GzipPart:
    """A piece of a gzip stream."""

    deflated: bytes
    crc: int
    size: int
    """Bytes before compression."""


NO_PART = GzipPart(b"", 0, 0)


def compress_part(data: bytes) -> GzipPart:
    """`data` as deflate blocks that end on a byte and are not the last."""
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
    deflated = compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)
    return GzipPart(deflated, zlib.crc32(data), len(data))


class GzipWriter:
    """Joins parts into one gzip member without time or name; the caller closes the file."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.crc = 0
        self.size = 0
        file.write(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff")

    def write(self, part: GzipPart) -> None:
        """Append one part."""
        self.file.write(part.deflated)
        self.crc = combine_crc(self.crc, part.crc, part.size)
        self.size += part.size

    def finish(self) -> None:
        """Write the end of the member: an empty last block, checksum and size."""
        self.file.write(b"\x03\x00" + struct.pack("<II", self.crc, self.size & 0xFFFFFFFF))


def combine_crc(first: int, second: int, second_size: int) -> int:
    """CRC-32 of two byte strings in a row, from their own CRC-32s: x^(8·size)·first + second over GF(2)."""
    shift = 1 << 31
    power = 3
    size = second_size
    while size:
        if size & 1:
            shift = _multiply(_x_to_two_to(power & 31), shift)
        size >>= 1
        power += 1
    return _multiply(shift, first) ^ second


@cache
def _x_to_two_to(power: int) -> int:
    """x^(2^power) modulo the polynomial."""
    if power == 0:
        return 1 << 30
    root = _x_to_two_to(power - 1)
    return _multiply(root, root)


def _multiply(a: int, b: int) -> int:
    """Product of two polynomials modulo the CRC polynomial; the highest bit is the lowest power."""
    product = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            product ^= b
        b = (b >> 1) ^ POLYNOMIAL if b & 1 else b >> 1
    return product
