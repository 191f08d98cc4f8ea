"""The content of a large file, or of a part of it: chunks that know their place, and batches of whole records."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from evenrank.core.records import Article
from evenrank.errors import InputError, input_error
from evenrank.io.compressed import LINE_LIMIT, TRY_AGAIN, Bzip2Block, Decompressed, read_bzip2_blocks
from evenrank.io.faults import FaultLog

CHUNK = 1 << 20
"""Bytes of content in one chunk of a plain or gzip file."""


HEAD = 1 << 16
"""Bytes of content that tell what a file is."""


class Position(NamedTuple):
    """A place in the content of a file, between two records; numbers to keep and come back with."""

    offset: int = 0
    """Where decompression starts: a byte of a plain file, a bit of a bzip2 file, 0 of a gzip file."""
    skip: int = 0
    """Bytes of content to leave out from there."""
    line: int = 1
    """Line of the content that starts here."""
    byte: int = 0
    """Bytes of content before this place."""
    file: int = 0
    """Which file, of a corpus in several: 0 the corpus itself, then those that changed it."""


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
    """Content of an open plain or gzip file from `start` on."""
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
        if data := _block_content(path, block, size_bytes, faults):
            yield Chunk(block.start_bit, skip, data[skip:], block.end_bit // 8)
        skip = 0
    if not n_blocks and start == START and size_bytes > EMPTY_BZIP2:
        raise input_error(path, 0, "bzip2 data without a single block: the file is cut off", TRY_AGAIN)


def _block_content(path: str | os.PathLike[str], block: Bzip2Block, size_bytes: int, faults: FaultLog) -> bytes:
    """Content of a block; a damaged one has none and goes to `faults`, one that is cut off raises InputError."""
    if block.data is not None:
        return block.data
    place = f"at byte {block.start_bit // 8:,} of {size_bytes:,}"
    if block.end_bit == 8 * size_bytes:
        raise input_error(path, 0, f"the bzip2 data end in the middle: the file is cut off, {place}", TRY_AGAIN)
    faults.add(path, 0, f"a block of bzip2 data is damaged, {place}; its records are left out", TRY_AGAIN)
    return b""


EMPTY_BZIP2 = 14
"""Bytes of a bzip2 file with no content."""


BATCH = 1 << 22
"""Bytes of content in a batch."""


class RawBatch(NamedTuple):
    """Whole records as bytes, with their place in the file."""

    path: str
    start: Position
    """Where the first record starts."""
    end: Position
    """Where the next batch starts: reading can resume from here."""
    data: bytes
    n_file_bytes: int
    """Bytes of the file read up to here."""


def read_batches(
    path: str | os.PathLike[str],
    faults: FaultLog,
    *,
    record_end: bytes = b"\n",
    start: Position = START,
    size: int = BATCH,
    record_limit: int = LINE_LIMIT,
) -> Iterator[RawBatch]:
    """Batches that end with `record_end`; the last holds what is left. A file that is cut off ends in a fault."""
    return _cut_batches(_Pending(path, record_end, start, size, record_limit), read_chunks(path, start, faults), faults)


def _cut_batches(pending: _Pending, chunks: Iterator[Chunk], faults: FaultLog) -> Iterator[RawBatch]:
    """Content that comes in any chunks as `read_batches` gives it."""
    try:
        for chunk in chunks:
            pending.add(chunk)
            yield from pending.take_records()
    except InputError as error:
        yield from pending.take_whole()
        faults.merge(error)
        faults.is_cut_off = True
    else:
        yield from pending.take_all()


class _Pending:
    """Content that waits for the end of its last record."""

    def __init__(
        self, path: str | os.PathLike[str], record_end: bytes, start: Position, size: int, record_limit: int
    ) -> None:
        self.path, self.record_end, self.start, self.size = str(path), record_end, start, size
        self.record_limit = record_limit
        self.content = bytearray()
        self.chunks: list[tuple[int, int, int]] = []
        """For each chunk: bytes of `content` before it, and its offset and skip."""
        self.try_at = size
        self.n_file_bytes = 0

    def add(self, chunk: Chunk) -> None:
        self.chunks.append((len(self.content), chunk.offset, chunk.skip))
        self.content += chunk.data
        self.n_file_bytes = chunk.n_file_bytes
        if len(self.content) > self.size + self.record_limit:
            found = f"a record of more than {self.record_limit:,} bytes"
            raise input_error(self.path, self.start.line, found, "is this file of the right kind?")

    def take_records(self) -> Iterator[RawBatch]:
        """Batches of about `size`; where a record is longer, its end is looked for when twice as much has come."""
        while len(self.content) >= self.try_at:
            at = self.content.rfind(self.record_end, 0, self.size)
            if at < 0:
                at = self.content.find(self.record_end)
            if at < 0:
                self.try_at = 2 * len(self.content)
                return
            self.try_at = self.size
            yield self._take(at + len(self.record_end))

    def take_whole(self) -> Iterator[RawBatch]:
        """What is left where the file is cut off, without the record that is not whole."""
        if end := self.content.rfind(self.record_end) + 1:
            yield self._take(end - 1 + len(self.record_end))

    def take_all(self) -> Iterator[RawBatch]:
        """What is left at the end of the file."""
        if self.content:
            yield self._take(len(self.content))

    def _take(self, n_bytes: int) -> RawBatch:
        with memoryview(self.content) as content:
            data = bytes(content[:n_bytes])
        inside = max(index for index, (before, _, _) in enumerate(self.chunks) if before <= n_bytes)
        before, offset, skip = self.chunks[inside]
        line, byte = self.start.line + data.count(b"\n"), self.start.byte + n_bytes
        end = Position(offset, skip + n_bytes - before, line, byte)
        batch = RawBatch(self.path, self.start, end, data, self.n_file_bytes)
        del self.content[:n_bytes]
        self.chunks = [(0, offset, end.skip), *((b - n_bytes, o, s) for b, o, s in self.chunks[inside + 1 :])]
        self.start = end
        return batch


class ParsedBatch(NamedTuple):
    """The articles of a batch of records, in the file's order."""

    articles: tuple[Article, ...]
    faults: FaultLog
    """Records that were left out or repaired."""
    end: Position
    """Where the next batch starts: reading can resume from here."""
    n_file_bytes: int
    """Bytes of the file read up to here."""


class Split(NamedTuple):
    """A range of a file's bytes, compressed or not, which one machine of several reads.

    Its records start after the first record end at or after the range's first byte (in a bzip2 file: at or after its
    first block) and continue to the first record end at or after the next range's. So every record belongs to exactly
    one range, wherever the ranges cut it.
    """

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
    return _cut_batches(_Pending(path, record_end, START, size, record_limit), chunks, faults)


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
        yield _Piece(_block_content(path, block, size, FaultLog() if is_beyond else faults), is_beyond)
    if not n_blocks and split == Split(0, size):
        yield from (_Piece(chunk.data, False) for chunk in read_chunks(path, START, faults))


def _plain_pieces(source: Decompressed, split: Split) -> Iterator[_Piece]:
    for chunk in _stream_chunks(source, START._replace(offset=split.start)):
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
