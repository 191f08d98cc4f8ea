"""bzip2 files block by block: decompressed on all cores, from any block, around damaged ones.

A bzip2 file is a row of blocks of at most 900 kB that start at any bit with a magic number of 48 bits and can be
decompressed alone, whether the file is one stream or many. The magic number appears by chance in compressed data
once in 35 TB.
"""

from __future__ import annotations

import bz2
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from io import FileIO
from typing import NamedTuple

BLOCK_MAGIC = 0x314159265359
END_MAGIC = 0x177245385090
WINDOW = 1 << 22
"""Bytes searched for magic numbers at once."""
MAGIC_BYTES = 7
"""Bytes that a magic number of 48 bits touches."""


class Bzip2Block(NamedTuple):
    """One block: its place in bits, and its content; None when it is damaged or cut off."""

    start_bit: int
    end_bit: int
    data: bytes | None


def read_bzip2_blocks(path: str | os.PathLike[str], start_bit: int = 0, n_threads: int = 2) -> Iterator[Bzip2Block]:
    """The blocks that start at `start_bit` or later, in order, decompressed by threads a few blocks ahead."""
    with open(path, "rb", buffering=0) as file, ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[tuple[int, int, Future[bytes | None]]] = deque()
        try:
            for start, end in _block_places(file, start_bit):
                piece = _read_at(file, start // 8, (end + 7) // 8 - start // 8)
                waiting.append((start, end, pool.submit(decompress_block, piece, start % 8, end - start)))
                if len(waiting) > 2 * n_threads:
                    yield _finished(*waiting.popleft())
            while waiting:
                yield _finished(*waiting.popleft())
        finally:
            pool.shutdown(cancel_futures=True)


def _finished(start: int, end: int, future: Future[bytes | None]) -> Bzip2Block:
    return Bzip2Block(start, end, future.result())


def _read_at(file: FileIO, offset: int, size: int) -> bytes:
    """Bytes of the file; read, not mapped, so that memory does not grow with the file."""
    file.seek(offset)
    return file.read(size)


def _block_places(file: FileIO, start_bit: int) -> Iterator[tuple[int, int]]:
    """First and last bit of each block; the end of the file ends a block that is cut off."""
    size_bytes = os.fstat(file.fileno()).st_size
    open_block: int | None = None
    for place, is_block in _magic_places(file, size_bytes, start_bit):
        if open_block is not None:
            yield open_block, place
        open_block = place if is_block else None
    if open_block is not None:
        yield open_block, 8 * size_bytes


def _magic_places(file: FileIO, size_bytes: int, start_bit: int) -> Iterator[tuple[int, bool]]:
    """Bits where a magic number starts, in order, and whether it starts a block (or ends a stream)."""
    for window in range(start_bit // 8, size_bytes, WINDOW):
        data = _read_at(file, window, WINDOW + MAGIC_BYTES - 1)
        places = [
            (8 * window + bit, is_block)
            for magic, is_block in ((BLOCK_MAGIC, True), (END_MAGIC, False))
            for bit in _find_magic(data, magic)
            if bit < 8 * WINDOW
        ]
        yield from (place for place in sorted(places) if place[0] >= start_bit)


def _find_magic(data: bytes, magic: int) -> Iterator[int]:
    """Bits of `data` where `magic` starts: five whole bytes are searched for, the bits around them compared."""
    for shift in range(8):
        middle = (magic >> shift & (1 << 40) - 1).to_bytes(5, "big")
        at = data.find(middle, 1)
        while at > 0:
            around = int.from_bytes(data[at - 1 : at + 6].ljust(7, b"\0"), "big")
            if around >> 8 - shift & (1 << 48) - 1 == magic:
                yield 8 * (at - 1) + shift
            at = data.find(middle, at + 1)


def decompress_block(piece: bytes, skip_bits: int, n_bits: int) -> bytes | None:
    """Content of the block in the `n_bits` of `piece` after `skip_bits`, as a stream of its own; None if damaged."""
    unused = 8 * len(piece) - skip_bits - n_bits
    block = int.from_bytes(piece, "big") >> unused & (1 << n_bits) - 1
    checksum = block >> n_bits - 80 & 0xFFFFFFFF if n_bits >= 80 else 0
    stream = (((int.from_bytes(b"BZh9", "big") << n_bits | block) << 48 | END_MAGIC) << 32) | checksum
    n_stream_bits = 32 + n_bits + 80
    padding = -n_stream_bits % 8
    try:
        return bz2.decompress((stream << padding).to_bytes((n_stream_bits + padding) // 8, "big"))
    except (OSError, ValueError):
        return None
