"""What the readers of articles give for one batch."""

from __future__ import annotations

from typing import NamedTuple

from evenrank.formats.content import Position
from evenrank.formats.faults import FaultLog
from evenrank.records import Article


class ParsedBatch(NamedTuple):
    """The articles of a batch of records, in the file's order."""

    articles: tuple[Article, ...]
    faults: FaultLog
    """Records that were left out or repaired."""
    end: Position
    """Where the next batch starts: reading can resume from here."""
    n_file_bytes: int
    """Bytes of the file read up to here."""
