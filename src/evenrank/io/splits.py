"""Parts of a large file that several machines read at the same time, each with the complete records that belong to it.

A part is a range of the file's bytes. Its records start after the first record end at or after the range's first byte
(in a bzip2 file: at or after its first block) and continue to the first record end at or after the next range's. So
every record belongs to exactly one part, wherever the ranges cut it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from evenrank.errors import input_error
from evenrank.io.bzip2 import read_bzip2_blocks
from evenrank.io.compressed import LINE_LIMIT, Decompressed
from evenrank.io.content import (
    BATCH,
    START,
    Chunk,
    Pending,
    RawBatch,
    block_content,
    cut_batches,
    read_chunks,
    stream_chunks,
)
from evenrank.io.faults import FaultLog


class Split(NamedTuple):
    """A range of a file's bytes, compressed or not."""

    start: int
    end: int


class _Piece(NamedTuple):
    data: bytes
    is_beyond: bool
    """Whether it belongs to the next range: read only as far as the record that starts before it."""


def plan_splits(path: str | os.PathLike[str], n_bytes: int) -> list[Split]:
    """Ranges of about `n_bytes`; a gzip file can only be read as a whole."""
    with Decompressed(path) as source:
        size, is_whole = source.size_bytes, source.compression == "gzip"
    n_splits = 1 if is_whole else max(1, -(-size // max(n_bytes, 1)))
    ends = [size * number // n_splits for number in range(n_splits + 1)]
    return [Split(start, end) for start, end in pairwise(ends)]


def read_split(
    path: str | os.PathLike[str],
    split: Split,
    faults: FaultLog,
    *,
    record_end: bytes = b"\n",
    size: int = BATCH,
    record_limit: int = LINE_LIMIT,
) -> Iterator[RawBatch]:
    """The records of one part, in batches as `read_batches` gives them; places are counted from the part's start."""
    pieces = _pieces(path, split, faults)
    owned = _owned(path, pieces, record_end, record_limit, is_first=split.start == 0)
    chunks = (Chunk(0, 0, data, 0) for data in owned if data)
    return cut_batches(Pending(path, record_end, START, size, record_limit), chunks, faults)


def _pieces(path: str | os.PathLike[str], split: Split, faults: FaultLog) -> Iterator[_Piece]:
    """Content from the start of a range to the end of the file, divided where the range ends."""
    with Decompressed(path) as source:
        size, compression = source.size_bytes, source.compression
        if compression == "plain":
            yield from _plain_pieces(source, split)
            return
    if compression == "gzip":
        yield from (_Piece(chunk.data, False) for chunk in read_chunks(path, START, faults))
        return
    n_blocks = 0
    for block in read_bzip2_blocks(path, 8 * split.start, n_threads=1):
        n_blocks += 1
        is_beyond = block.start_bit >= 8 * split.end
        yield _Piece(block_content(path, block, size, FaultLog() if is_beyond else faults), is_beyond)
    if not n_blocks and split == Split(0, size):
        yield from (_Piece(chunk.data, False) for chunk in read_chunks(path, START, faults))


def _plain_pieces(source: Decompressed, split: Split) -> Iterator[_Piece]:
    for chunk in stream_chunks(source, START._replace(offset=split.start)):
        inside = max(0, split.end - chunk.skip)
        yield _Piece(chunk.data[:inside], False)
        yield _Piece(chunk.data[inside:], True)


def _owned(
    path: str | os.PathLike[str], pieces: Iterator[_Piece], record_end: bytes, record_limit: int, *, is_first: bool
) -> Iterator[bytes]:
    """The content between the ends of two records that bounds a part; nothing where both are the same end."""
    content, boundary, done = bytearray(), -1, 0
    is_inside = is_first
    for data, is_beyond in pieces:
        if not data:
            continue
        if is_beyond and boundary < 0:
            boundary = len(content)
        content += data
        if not is_inside:
            at = content.find(record_end, done)
            if at < 0:
                done = max(0, len(content) - len(record_end) + 1)
                _refuse_long(path, len(content), record_limit)
                continue
            if 0 <= boundary <= at:
                return
            is_inside = True
            del content[: at + len(record_end)]
            boundary = max(boundary - at - len(record_end), 0) if boundary >= 0 else -1
            done = 0
        if boundary < 0:
            yield bytes(content)
            content.clear()
            continue
        at = content.find(record_end, max(boundary, done))
        if at >= 0:
            yield bytes(content[: at + len(record_end)])
            return
        done = max(0, len(content) - len(record_end) + 1)
        _refuse_long(path, len(content) - boundary, record_limit)
    if is_inside:
        yield bytes(content)


def _refuse_long(path: str | os.PathLike[str], n_bytes: int, record_limit: int) -> None:
    if n_bytes > record_limit + BATCH:
        raise input_error(path, 0, f"a record of more than {record_limit:,} bytes", "is this file of the right kind?")
