"""The content of a large file as chunks that know their place, so that reading can resume where it stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from evenrank.errors import input_error
from evenrank.formats.bzip2 import read_bzip2_blocks
from evenrank.formats.compressed import TRY_AGAIN, Decompressed
from evenrank.formats.faults import FaultLog

CHUNK = 1 << 20
"""Bytes of content in one chunk of a plain or gzip file."""


HEAD = 1 << 16
"""Bytes of content that tell what a file is."""


class Position(NamedTuple):
    """A place in the content of a file, between two records; four numbers to keep and come back with."""

    offset: int = 0
    """Where decompression starts: a byte of a plain file, a bit of a bzip2 file, 0 of a gzip file."""
    skip: int = 0
    """Bytes of content to leave out from there."""
    line: int = 1
    """Line of the content that starts here."""
    byte: int = 0
    """Bytes of content before this place."""


START = Position()


class Chunk(NamedTuple):
    """Content from `offset` and `skip` (as in Position) on."""

    offset: int
    skip: int
    data: bytes
    n_file_bytes: int
    """Bytes of the file up to the end of this chunk."""


def read_head(path: str | os.PathLike[str]) -> bytes:
    """The first bytes of the content, enough to tell what it is."""
    head = b""
    with Decompressed(path) as source:
        while len(head) < HEAD and (piece := source.read_some(HEAD - len(head))):
            head += piece
    return head


def read_chunks(path: str | os.PathLike[str], start: Position, faults: FaultLog) -> Iterator[Chunk]:
    """Content from `start` on. Damaged blocks go to `faults`; InputError where nothing more can be read."""
    with Decompressed(path) as source:
        if source.compression != "bzip2":
            yield from _stream_chunks(source, start)
            return
        size_bytes = source.size_bytes
    yield from _bzip2_chunks(Path(path), start, size_bytes, faults)


def _stream_chunks(source: Decompressed, start: Position) -> Iterator[Chunk]:
    to_skip = start.offset + start.skip
    if source.compression == "plain":
        source.seek_plain(to_skip)
        done, to_skip = to_skip, 0
    else:
        done = 0
    while data := source.read_some(CHUNK):
        kept = data[to_skip:]
        done += len(data)
        to_skip = max(0, to_skip - len(data))
        if kept:
            yield Chunk(0, done - len(kept), kept, source.n_file_bytes)


def _bzip2_chunks(path: Path, start: Position, size_bytes: int, faults: FaultLog) -> Iterator[Chunk]:
    skip = start.skip
    n_blocks = 0
    for block in read_bzip2_blocks(path, start.offset):
        n_blocks += 1
        place = f"at byte {block.start_bit // 8:,} of {size_bytes:,}"
        if block.data is not None:
            yield Chunk(block.start_bit, skip, block.data[skip:], block.end_bit // 8)
        elif block.end_bit == 8 * size_bytes:
            found = f"the bzip2 data end in the middle: the file is cut off, {place}"
            raise input_error(path, 0, found, TRY_AGAIN)
        else:
            faults.add(path, 0, f"a block of bzip2 data is damaged, {place}; its records are left out", TRY_AGAIN)
        skip = 0
    if not n_blocks and start == START and size_bytes > EMPTY_BZIP2:
        raise input_error(path, 0, "bzip2 data without a single block: the file is cut off", TRY_AGAIN)


EMPTY_BZIP2 = 14
"""Bytes of a bzip2 file with no content."""
