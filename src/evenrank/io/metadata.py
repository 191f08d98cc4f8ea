"""Page metadata: `trec_metadata.json.gz` → arrays, one value per page, groups packed as bit masks."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.text_ids import TextIds
from evenrank.errors import Fault, InputError, input_error
from evenrank.io.compressed import Decompressed, line_blocks
from evenrank.io.faults import MAX_COUNTED, FaultLog
from evenrank.io.json_lines import MAX_FAULTS, load_record
from evenrank.io.metadata_fields import MaskField
from evenrank.io.metadata_lines import LineReader, ParsedBlock
from evenrank.io.name_lists import NameLists, PageNames

BLOCK_BYTES = 1 << 20
"""Text parsed at once; small enough to stay in the cache."""
FREE_PAGES = 2_000_000
"""Pages that a file of any size may hold; a larger file may hold one for every two bytes."""


@dataclass(frozen=True)
class Metadata:
    """The pages of a metadata file by ascending page id; the first line of a repeated page id counts."""

    page_ids: NDArray[np.int32]
    quality_class: NDArray[np.uint8]
    """Class in work order; `records.NO_CLASS` where the file has none."""
    quality_score: NDArray[np.float32]
    """NaN where the file has none."""
    masks: dict[str, NDArray[np.unsignedinteger]]
    """Group masks by dimension name."""
    counts: dict[str, NDArray[np.unsignedinteger]]
    """Of each dimension that counts: the counts of the groups in each page's mask, page after page."""
    fields: frozenset[str]
    """Keys that occur in the records."""
    n_lines: int
    n_repeated: int
    names: PageNames | None = None
    """Names in the field that was asked for; None when none was."""


class ForeignFieldError(InputError):
    """A field that has the name of a dimension's, but holds something else; raised where it is first seen."""

    def __init__(self, dimension: str, fault: Fault) -> None:
        super().__init__([fault])
        self.dimension = dimension


def read_metadata(
    path: str | os.PathLike[str],
    dimensions: Sequence[MaskField],
    on_bytes: Callable[[int], object] = lambda n_file_bytes: None,
    optional: Collection[str] = (),
    ids: TextIds | None = None,
    names: NameLists | None = None,
) -> Metadata:
    """The metadata in a JSON-lines file, plain or compressed; InputError lists all faults of the file.

    `on_bytes` receives how many bytes of the file were consumed since it was last called. A value that one of the
    `optional` dimensions does not know ends the reading at once, with ForeignFieldError. With `ids` page ids are text.
    The field of `names` is read as well; it is optional if its name is among `optional`.
    """
    reader = LineReader([*dimensions, *([names] if names else [])], ids)
    blocks: list[ParsedBlock] = []
    faults = FaultLog(MAX_FAULTS)
    n_lines = n_pages = 0
    max_pages = max(FREE_PAGES, os.stat(path).st_size // 2 if os.path.exists(path) else 0)
    for block in _parsed(path, reader, on_bytes, n_threads=2 if ids is None else 1):
        for name, (line, found) in block.first_unknown.items():
            if name in optional:
                raise ForeignFieldError(name, Fault(str(path), n_lines + line, found))
        found_here = block.faults.faults
        found_here[:] = [replace(fault, path=str(path), line=n_lines + fault.line) for fault in found_here]
        faults.merge(block.faults)
        n_lines += block.n_lines
        n_pages += len(block.page_ids)
        blocks.append(block)
        if n_pages > max_pages:
            faults.add(path, n_lines, f"more than {max_pages:,} pages", "is this file of the right kind?")
        if faults.n_faults >= MAX_COUNTED or n_pages > max_pages:
            break
    faults.raise_if_any()
    if not sum(len(block.page_ids) for block in blocks):
        raise input_error(path, 0, "no metadata in it", "give JSON lines with a page_id each")
    return _joined(blocks, dimensions, reader.fields, n_lines, names)


def metadata_of_lines(
    path: str | os.PathLike[str],
    lines: Sequence[bytes],
    line_numbers: Sequence[int],
    dimensions: Sequence[MaskField],
    names: NameLists | None,
    faults: FaultLog,
) -> Metadata | None:
    """The metadata of records that are lines of some file, by their numbers there; None when one is wrong.

    Of a repeated page id the first record counts. What is wrong goes to `faults`.
    """
    reader = LineReader([*dimensions, *([names] if names else [])])
    parsed = reader.parse(b"\n".join(lines))
    found = parsed.faults
    for fault in found.faults:
        faults.add(path, line_numbers[fault.line - 1], fault.found, fault.fix)
    faults.n_faults += found.n_faults - len(found.faults)
    return None if found.n_faults else _joined([parsed], dimensions, reader.fields, len(lines), names)


def leading_fields(path: str | os.PathLike[str]) -> frozenset[str]:
    """Keys of the records at the beginning of a metadata file."""
    with Decompressed(path) as source:
        reader = LineReader(())
        for block in line_blocks(source, BLOCK_BYTES):
            reader.parse(block)
            break
    return frozenset(reader.fields)


def has_text_ids(path: str | os.PathLike[str]) -> bool:
    """Whether the page ids of a metadata file are text, by its first record that has one."""
    with Decompressed(path) as source:
        for block in line_blocks(source, BLOCK_BYTES):
            for line in block.split(b"\n"):
                with suppress(ValueError):
                    if (value := load_record(line).get("page_id")) is not None:
                        return isinstance(value, str)
            break
    return False


def _parsed(
    path: str | os.PathLike[str], reader: LineReader, on_bytes: Callable[[int], object], n_threads: int
) -> Iterator[ParsedBlock]:
    """Parsed blocks in order; decompression and parsing overlap in threads (both release the lock).

    Ids that are text get their numbers in the order of the file, so one thread parses them.
    """
    pending: deque[Future[ParsedBlock]] = deque()
    with Decompressed(path) as source, ThreadPoolExecutor(max_workers=n_threads) as pool:
        n_told = 0
        for block in line_blocks(source, BLOCK_BYTES):
            pending.append(pool.submit(reader.parse, block))
            on_bytes(source.n_file_bytes - n_told)
            n_told = source.n_file_bytes
            if len(pending) > 8:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _joined(
    blocks: list[ParsedBlock],
    dimensions: Sequence[MaskField],
    fields: set[str],
    n_lines: int,
    names: NameLists | None = None,
) -> Metadata:
    page_ids = np.concatenate([block.page_ids for block in blocks])
    order = _ascending_first(page_ids)

    def column(name: str) -> NDArray[Any]:
        joined = np.concatenate([block.columns[name] for block in blocks])
        return joined if order is None else joined[order]

    return Metadata(
        page_ids=page_ids if order is None else page_ids[order],
        quality_class=column("class"),
        quality_score=column("score"),
        masks={dimension.name: column(dimension.name) for dimension in dimensions},
        counts={name: _joined_counts(blocks, name, order) for name in (blocks[0].counts if blocks else ())},
        fields=frozenset(fields),
        n_lines=n_lines,
        n_repeated=0 if order is None else len(page_ids) - len(order),
        names=None if names is None else names.of_pages(column(names.name)),
    )


def _joined_counts(blocks: list[ParsedBlock], name: str, order: NDArray[np.intp] | None) -> NDArray[np.unsignedinteger]:
    """The counts of one dimension, pages in the order asked for, in the narrowest type that holds them."""
    values = np.concatenate([block.counts[name] for block in blocks])
    if order is not None:
        sizes = np.bitwise_count(np.concatenate([block.columns[name] for block in blocks])).astype(np.int64)
        starts = np.cumsum(sizes) - sizes
        kept = sizes[order]
        within = np.arange(kept.sum()) - np.repeat(np.cumsum(kept) - kept, kept)
        values = values[np.repeat(starts[order], kept) + within]
    narrow: NDArray[np.unsignedinteger] = values.astype(np.min_scalar_type(int(values.max(initial=0))))
    return narrow


def _ascending_first(page_ids: NDArray[np.int32]) -> NDArray[np.intp] | None:
    """Positions of the first occurrence of each page id, ids ascending; None when nothing has to move."""
    if np.all(page_ids[1:] > page_ids[:-1]):
        return None
    order = np.argsort(page_ids, kind="stable")
    ordered = page_ids[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    kept: NDArray[np.intp] = order[is_first]
    return kept
