"""Checksums of a collection's files: written by the import, compared when a file is first read.

CRC-32 finds every damage of up to four adjacent bytes, and any other but for one in four thousand million. It is fast
enough to be computed at every opening: 150 MB of arrays, those of six million pages, take about 20 ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from evenrank.errors import DamagedCollectionError, reason_of
from evenrank.io.atomic import write_json

FILE_NAME = "checksums.json"
LOCKS = frozenset({".tantivy-meta.lock", ".tantivy-writer.lock"})
NOT_CHECKED = LOCKS | {FILE_NAME, "build.json"}
"""Files that change without harm."""


PART_BYTES = 1 << 20
"""Bytes of a file that are read at once."""


@dataclass(frozen=True)
class FileFacts:
    """Size and checksum of one file."""

    size_bytes: int
    crc32: str


class ChecksumError(ValueError):
    """A corrupted file."""


def file_facts(path: Path) -> FileFacts:
    """Size and checksum of a file, which is read part by part: a map of it would count as memory of the process."""
    from isal.isal_zlib import crc32

    size, checksum, buffer = 0, 0, memoryview(bytearray(PART_BYTES))
    with path.open("rb", buffering=0) as file:
        while n_read := file.readinto(buffer):
            size += n_read
            checksum = crc32(buffer[:n_read], checksum)
    return FileFacts(size, f"{checksum:08x}")


def folder_facts(
    folder: Path, earlier: Path | None = None, known: Mapping[str, FileFacts] | None = None
) -> dict[str, FileFacts]:
    """Size and checksum of every file below a folder, by its path from there.

    Those of files that are one with files of an `earlier` folder are taken over from what is `known` of it.
    """
    facts = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        before = (known or {}).get(name)
        is_shared = before is not None and earlier is not None and (earlier / name).samefile(path)
        facts[name] = before if before is not None and is_shared else file_facts(path)
    return facts


def check_file(folder: Path, name: str, known: dict[str, FileFacts]) -> None:
    """ChecksumError when the file is corrupted. `known` is empty for collections without checksums."""
    if not known:
        return
    if name not in known:
        raise ChecksumError(f"{name} does not belong to this collection")
    expected = known[name]
    found = file_facts(folder / name)
    if found.size_bytes != expected.size_bytes:
        raise ChecksumError(f"{name} has {found.size_bytes:,} bytes, not {expected.size_bytes:,}")
    if found.crc32 != expected.crc32:
        raise ChecksumError(f"{name} has the checksum {found.crc32}, not {expected.crc32}")


def write_checksums(folder: Path, earlier: Path | None = None) -> None:
    """Keep size and checksum of every file of a folder in a file of it (see `folder_facts`)."""
    facts = folder_facts(folder, earlier, None if earlier is None else known_checksums(earlier))
    checked = {name: asdict(one) for name, one in facts.items() if Path(name).name not in NOT_CHECKED}
    write_json(folder / FILE_NAME, checked)


def known_checksums(folder: Path) -> dict[str, FileFacts]:
    """What `write_checksums` wrote; ChecksumError when there is none."""
    try:
        return {name: FileFacts(**facts) for name, facts in orjson.loads((folder / FILE_NAME).read_bytes()).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ChecksumError(f"its checksums cannot be read: {reason_of(error)}") from error


def folder_faults(folder: Path) -> dict[str, str]:
    """What is wrong with the files of a folder that `write_checksums` saw, by name; ChecksumError without its list."""
    known = known_checksums(folder)
    return {name: fault for name in known if (fault := file_fault(folder, name, known))}


def file_fault(folder: Path, name: str, known: dict[str, FileFacts]) -> str:
    """What is wrong with a file; empty when it is intact."""
    try:
        check_file(folder, name, known)
    except OSError as error:
        return reason_of(error)
    except ValueError as error:
        return str(error).removeprefix(f"{name} ")
    return ""


def record_checksum(record: dict[str, Any]) -> str:
    """A checksum of a JSON record, whatever the order of its keys and the blanks between them."""
    from isal.isal_zlib import crc32

    return f"{crc32(orjson.dumps(record, option=orjson.OPT_SORT_KEYS)):08x}"


def damaged(folder: Path, error: Exception) -> DamagedCollectionError:
    """The error to raise about a collection whose files are corrupted."""
    name = f"{Path(error.filename).name}: " if isinstance(error, OSError) and error.filename else ""
    return DamagedCollectionError(f"{folder}: damaged collection: {name}{reason_of(error)} (import it again)")
