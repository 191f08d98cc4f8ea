"""The content of a large file cut into batches of whole records; each can be read alone, by any process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from evenrank.errors import InputError, input_error
from evenrank.formats.compressed import LINE_LIMIT
from evenrank.formats.content import START, Chunk, Position, read_chunks
from evenrank.formats.faults import FaultLog

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
    pending = _Pending(str(path), record_end, start, size, record_limit)
    try:
        for chunk in read_chunks(path, start, faults):
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

    def __init__(self, path: str, record_end: bytes, start: Position, size: int, record_limit: int) -> None:
        self.path, self.record_end, self.start, self.size = path, record_end, start, size
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
        data = bytes(self.content[:n_bytes])
        inside = max(index for index, (before, _, _) in enumerate(self.chunks) if before <= n_bytes)
        before, offset, skip = self.chunks[inside]
        line, byte = self.start.line + data.count(b"\n"), self.start.byte + n_bytes
        end = Position(offset, skip + n_bytes - before, line, byte)
        batch = RawBatch(self.path, self.start, end, data, self.n_file_bytes)
        del self.content[:n_bytes]
        self.chunks = [(0, offset, end.skip), *((b - n_bytes, o, s) for b, o, s in self.chunks[inside + 1 :])]
        self.start = end
        return batch
