"""The titles of a collection by their hashes, sorted: made with its index, so that a server only maps them."""

from __future__ import annotations

import hashlib
import logging
import unicodedata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.io.atomic import atomic_file
from evenrank.trec.arrays import TITLE_FILES
from evenrank.trec.checksums import check_file, known_checksums
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import own_version
from evenrank.trec.title_hashes import ROW_BITS, hash_titles

LOG = logging.getLogger("evenrank.trec")


def title_keys(collection: Collection) -> NDArray[np.uint64]:
    """Ascending: the hash of each title, then its row; nothing for a collection without titles."""
    titles = collection.titles
    hashes = hash_titles(titles.offsets, titles.text) if titles is not None else np.empty(0, np.uint64)
    keys = hashes << np.uint64(ROW_BITS) | np.arange(len(hashes), dtype=np.uint64)
    keys.sort()
    return keys


def write_title_keys(collection: Collection, folder: Path) -> None:
    """Keep the keys of a collection's titles in a folder, whose checksums are written afterwards."""
    if name := _file_name(collection):
        with atomic_file(folder / name) as file:
            np.save(file, title_keys(collection))


def read_title_keys(collection: Collection, folder: Path) -> NDArray[np.uint64]:
    """The keys of a collection's titles: a map of the file in a folder, or computed where it has no intact one."""
    name = _file_name(collection)
    if not name or not (folder / name).is_file():
        return title_keys(collection)
    try:
        check_file(folder, name, known_checksums(folder))
        keys: NDArray[np.uint64] = np.load(folder / name, mmap_mode="r").view(np.ndarray)
    except (OSError, ValueError) as error:
        LOG.warning("%s: not used, and computed again: %s", folder / name, error)
        return title_keys(collection)
    return keys


def _file_name(collection: Collection) -> str:
    """Changes with everything that decides the keys; empty where there are no titles, or no checksums of them."""
    known = collection.manifest.files
    if any(name not in known for name in TITLE_FILES):
        return ""
    made_of = (own_version(), unicodedata.unidata_version, *(known[name] for name in TITLE_FILES))
    return f"title-keys-{hashlib.sha256(repr(made_of).encode()).hexdigest()[:12]}.npy"
